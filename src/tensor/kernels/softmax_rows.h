/* The softmax family, on rows of n floats:
 *
 *   softmax        y = e^(x - max) / sum(e^(x - max))     dx = y (g - sum(g y))
 *   safe_softmax   the same, but zeros for a row that is all -inf
 *   log_softmax    y = x - max - ln sum(e^(x - max))      dx = g - e^y sum(g)
 *
 * The maximum ignores NaN; exp propagates it. */

/* ---- steps: out = exp(x - shift), total = sum(out), out / total ---- */

#ifdef T_IS_F32
#define exp(x) exp_f32(x)
#define log(x) log_f32(x)
#endif

#ifdef T_IS_F64
static inline double sum_of_positive ROW
{
    return sum_of_row(n, row);
}
#else
SUM_OF(sum_of_positive, ROW, READ_X, x)
#endif

/* out = exp(x - shift), for exponentials that are only summed or multiplied by values. Scores below
 * LEAST_SCORE get weight 0. This avoids slow subnormal numbers in later steps: quotients, their
 * remainders, and products with numbers of ordinary size. The largest weight of a row is 1, so a
 * sum of up to 2^40 weights rounds to the same double with and without the tiny ones.
 *
 * Scores are at most 0, or NaN, unless the maximum of the row, and so the sum, is infinite. */
#ifdef T_IS_F32
#define LEAST_SCORE (-69)
static inline T weight_of(T score, const T least)
{
    const exp_parts e = exp_parts_of(score < least ? least : score);
    const T y = times_power(exp_of_rest(e), e.exponent);
    const T weight = score < least ? 0 : y;
    return score <= 0 ? weight : score + INFINITY;
}
#else
#define LEAST_SCORE (-660)
static inline T weight_of(T score, const T least)
{
    return score < least ? 0 : exp(score);
}
#endif

static void weights(int64_t n, const T *x, T shift, T *out)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = weight_of(x[i] - shift, LEAST_SCORE);
    }
}

/* row /= total, for finite numbers. A total of 0, from a fully masked row, gives zeros. */
static void divide(int64_t n, T *row, T total)
{
    const T inverse = total != 0 ? 1 / total : 0;
    for (int64_t i = 0; i < n; i++) {
        const T y = row[i] * inverse;
        row[i] = y + (row[i] - y * total) * inverse; /* a Newton step: as accurate as a division */
    }
}

/* ---- the kernels ---- */

#if defined T_IS_F32 && ISA >= 3
/* Multiplying subnormal numbers, those below 2^-126, takes 50 ns on many processors. So scores from
 * -104 to LEAST_NORMAL_SCORE, -126 ln 2, are left out at first, and their quotients are computed in
 * units of 2^-149 afterwards, with fused multiply-adds. */
#define LEAST_NORMAL_SCORE (-0x1.5d589ep+6f)

/* Distance of the bits of a score to those of LEAST_NORMAL_SCORE; at most gap_of(-104) for these.
 */
static inline uint32_t gap_of(T score)
{
    return (uint32_t)bits_of(score) - (uint32_t)bits_of(LEAST_NORMAL_SCORE) - 1;
}

/* out = exp(x - shift) / total for these scores. Each step rounds as in exp_f32 and divide(): to an
 * integer, because results of 2^23 ... 2^24 have no fraction. All numbers are less than 2^23. */
static __attribute__((noinline)) void divide_subnormal(int64_t n, const T *x, T shift, T total,
                                                       T *restrict out)
{
    static const volatile float more = 1.5f * FLT_MIN;
    if (bits_of(more - FLT_MIN) == 0) {
        return; /* in this mode, subnormal results are 0 */
    }
    const float unit = 0x1p23f, either = total < unit ? 0x1.8p23f : 0, inverse = 1 / total;
    for (int64_t i = 0; i < n; i++) {
        const bool chosen = gap_of(x[i] - shift) <= gap_of(-104);
        const exp_parts e = exp_parts_of(chosen ? x[i] - shift : bounds.exp_least);
        const float row = times_power(exp_of_rest(e), e.exponent + 149 * (1 << 23)) + unit - unit;
        const float shifted = row * inverse + unit;
        const float rest = row - (shifted - unit) * total + either - either;
        const int32_t bits = bits_of(rest * inverse + shifted) - bits_of(unit);
        out[i] = chosen ? of_bits(bits) : out[i];
    }
}
#endif

/* out = exp(x - max) for a group of rows. In rows of at least a vector, leaves 0 for subnormal
 * ones, and notes whether there are any. */
static __attribute__((noinline)) void exps(const heed_rows *rows, int64_t first, int64_t group,
                                           const T *max, bool *subnormal)
{
    for (int64_t i = 0; i < group; i++) {
        const int64_t n = rows->n;
        const T *x = IN(rows, 0, first + i), shift = max[i];
        T *restrict out = OUT(rows, first + i);
        subnormal[i] = false;
#ifdef LEAST_NORMAL_SCORE
        if (n >= WIDTH) {
            uint32_t least = UINT32_MAX;
            for (int64_t j = 0; j < n; j++) {
                const uint32_t gap = gap_of(x[j] - shift);
                out[j] = weight_of(x[j] - shift, LEAST_NORMAL_SCORE);
                least = gap < least ? gap : least;
            }
            subnormal[i] = least <= gap_of(-104);
            continue;
        }
#endif
        for (int64_t j = 0; j < n; j++) {
            out[j] = exp(x[j] - shift);
        }
    }
}

static double sum_of_exps(int64_t n, const T *row, T shift)
{
    double total = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t part = n - i < BLOCK ? n - i : BLOCK;
        T exponentials[BLOCK];
        weights(part, row + i, shift, exponentials);
        total += sum_of_row(part, exponentials);
    }
    return total;
}

/* Loops over groups of rows, to apply each step to a whole group. */
#define FOR_GROUPS(rows, first, group)                                                             \
    for (int64_t first = 0, group;                                                                 \
         group = group_of((rows)->n, (rows)->count - first), first < (rows)->count;                \
         first += group)

void KERNEL(softmax)(const heed_rows *rows)
{
    const int64_t n = rows->n;
    FOR_GROUPS(rows, first, group)
    {
        T max[GROUP], total[GROUP];
        bool subnormal[GROUP];
        for (int64_t i = 0; i < group; i++) {
            max[i] = largest(n, IN(rows, 0, first + i));
        }
        exps(rows, first, group, max, subnormal);
        for (int64_t i = 0; i < group; i++) {
            total[i] = (T)sum_of_positive(n, OUT(rows, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            divide(n, OUT(rows, first + i), total[i]);
#ifdef LEAST_NORMAL_SCORE
            if (subnormal[i] && total[i] >= 1) { /* else all are NaN */
                divide_subnormal(n, IN(rows, 0, first + i), max[i], total[i], OUT(rows, first + i));
            }
#endif
        }
    }
}

void KERNEL(safe_softmax)(const heed_rows *rows)
{
    KERNEL(softmax)(rows);
    for (int64_t i = 0; i < rows->count; i++) {
        const T *x = IN(rows, 0, i);
        int64_t blocked = 0;
        while (blocked < rows->n && x[blocked] == -(T)INFINITY) {
            blocked++;
        }
        if (blocked == rows->n) {
            memset(OUT(rows, i), 0, sizeof(T) * (size_t)blocked);
        }
    }
}

void KERNEL(log_softmax)(const heed_rows *rows)
{
    const int64_t n = rows->n;
    FOR_GROUPS(rows, first, group)
    {
        T max[GROUP], shift[GROUP];
        for (int64_t i = 0; i < group; i++) {
            max[i] = largest(n, IN(rows, 0, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            shift[i] = log((T)sum_of_exps(n, IN(rows, 0, first + i), max[i]));
        }
        for (int64_t i = 0; i < group; i++) {
            const T *x = IN(rows, 0, first + i);
            T *restrict out = OUT(rows, first + i);
            for (int64_t j = 0; j < n; j++) {
                out[j] = x[j] - max[i] - shift[i];
            }
        }
    }
}

/* Two doubles per row: its maximum, and the sum of e^(x - max). */
void KERNEL(exp_totals)(const heed_rows *rows)
{
    double *out = rows->out;
    FOR_GROUPS(rows, first, group)
    {
        T max[GROUP];
        for (int64_t i = 0; i < group; i++) {
            max[i] = largest(rows->n, IN(rows, 0, first + i));
            out[(first + i) * rows->out_step] = (double)max[i];
        }
        for (int64_t i = 0; i < group; i++) {
            out[(first + i) * rows->out_step + 1] =
                sum_of_exps(rows->n, IN(rows, 0, first + i), max[i]);
        }
    }
}

void KERNEL(scaled_exps)(int64_t n, const void *x, double shift, double scale, void *out)
{
    const T *from = x, by = (T)shift, factor = (T)scale;
    T *restrict to = out;
    for (int64_t i = 0; i < n; i++) {
        to[i] = exp(from[i] - by) * factor;
    }
}

/* ---- gradients, from g and y ---- */

void KERNEL(softmax_gradient)(const heed_rows *rows)
{
    const int64_t n = rows->n;
    FOR_GROUPS(rows, first, group)
    {
        T along[GROUP];
        for (int64_t i = 0; i < group; i++) {
            along[i] = (T)sum_of_products(n, IN(rows, 0, first + i), IN(rows, 1, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            const T *g = IN(rows, 0, first + i), *y = IN(rows, 1, first + i);
            T *restrict dx = OUT(rows, first + i);
            for (int64_t j = 0; j < n; j++) {
                dx[j] = y[j] * (g[j] - along[i]);
            }
        }
    }
}

void KERNEL(log_softmax_gradient)(const heed_rows *rows)
{
    const int64_t n = rows->n;
    FOR_GROUPS(rows, first, group)
    {
        T along[GROUP];
        for (int64_t i = 0; i < group; i++) {
            along[i] = (T)sum_of_row(n, IN(rows, 0, first + i));
        }
        for (int64_t i = 0; i < group; i++) {
            const T *g = IN(rows, 0, first + i), *y = IN(rows, 1, first + i);
            T *restrict dx = OUT(rows, first + i);
            for (int64_t j = 0; j < n; j++) {
                dx[j] = g[j] - exp(y[j]) * along[i];
            }
        }
    }
}
