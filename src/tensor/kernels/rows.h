/* Reductions of contiguous rows, and of columns:
 *
 *   amax, amin, argmax                     one element per row; NaN is both largest and smallest
 *   sum, sum_columns, from_totals          totals += sums of rows, of columns; y = totals / divisor
 *   norm                                   sqrt(sum x^2)
 *
 * Floats are summed in double, integers in i64. */

#define ROW (int64_t n, const T *row)

/* The steps on one row depend on each other, so kernels take a group of short rows through each
 * step together, which hides latency. A group is as many rows as fit in L1, at most GROUP. */
enum { GROUP = 8 };

static inline __attribute__((unused)) int64_t group_of(int64_t n, int64_t left)
{
    const int64_t fit = 2048 / (n + 1) + 1, most = fit < GROUP ? fit : GROUP;
    return left < most ? left : most;
}

/* ---- any reduction ---- */

/* Joins all lanes into lane 0: by halves, which is vectorised and faster for short rows; for f64,
 * in order, because the lessons print f64 sums to the last digit. */
#define JOIN_TO(type, count, first, join)                                                          \
    for (int j = 0; j < (count); j++) {                                                            \
        const type x = lane[(first) + j];                                                          \
        const type all = lane[j];                                                                  \
        lane[j] = join;                                                                            \
    }
#ifdef T_IS_F64
#define JOIN_IN_ORDER(count, type, join)                                                           \
    for (int next = 1; next < (count); next++) {                                                   \
        JOIN_TO(type, 1, next, join)                                                               \
    }
#define JOIN_8(type, join)  JOIN_IN_ORDER(8, type, join)
#define JOIN_32(type, join) JOIN_IN_ORDER(32, type, join)
#else
#define JOIN_8(type, join)                                                                         \
    JOIN_TO(type, 4, 4, join)                                                                      \
    JOIN_TO(type, 2, 2, join)                                                                      \
    JOIN_TO(type, 1, 1, join)
#define JOIN_32(type, join)                                                                        \
    JOIN_TO(type, 16, 16, join)                                                                    \
    JOIN_TO(type, 8, 8, join)                                                                      \
    JOIN_8(type, join)
#endif

/* Reduces the rest of a row into `result`, `count` elements at a time. */
#define FOLD_BY(count, type, start, f, join)                                                       \
    if (i + (count) <= n) {                                                                        \
        type lane[count];                                                                          \
        for (int j = 0; j < (count); j++) {                                                        \
            lane[j] = start;                                                                       \
        }                                                                                          \
        for (; i + (count) <= n; i += (count)) {                                                   \
            for (int j = 0; j < (count); j++) {                                                    \
                const T x = row[i + j];                                                            \
                const type all = lane[j];                                                          \
                lane[j] = f;                                                                       \
            }                                                                                      \
        }                                                                                          \
        JOIN_##count(type, join);                                                                  \
        const type x = lane[0], all = result;                                                      \
        result = join;                                                                             \
    }

/* Defines a function that reduces a row: `f` combines the result so far, `all`, with an element x;
 * `join` combines two results. Not inlined, so that the lanes stay in registers. */
#define FOLD(type, name, parameters, start, f, join)                                               \
    static __attribute__((noinline, unused)) type name parameters                                  \
    {                                                                                              \
        type result = start;                                                                       \
        int64_t i = 0;                                                                             \
        FOLD_BY(32, type, start, f, join)                                                          \
        FOLD_BY(8, type, start, f, join)                                                           \
        for (; i < n; i++) {                                                                       \
            const T x = row[i];                                                                    \
            const type all = result;                                                               \
            result = f;                                                                            \
        }                                                                                          \
        return result;                                                                             \
    }

/* The smallest and the largest value of T. */
#if defined T_IS_I64
#define LOWEST  INT64_MIN
#define HIGHEST INT64_MAX
#elif defined T_IS_BOOL
#define LOWEST  false
#define HIGHEST true
#else
#define LOWEST  (-(T)INFINITY)
#define HIGHEST ((T)INFINITY)
#endif

/* `largest` skips NaN, which fails every comparison. */
FOLD(T, largest, ROW, LOWEST, x > all ? x : all, x > all ? x : all)

/* ---- sums ---- */

#if defined T_IS_F32 && ISA >= 3
/* f32 elements are added in double, WIDE at a time, so that sums that cancel stay exact. Elements
 * are converted as they are loaded, then added by fused multiply-adds with the factor `one`: on AMD
 * processors, additions compete with conversions for the same units, and fused multiply-adds do
 * not. `one` is volatile so that the compiler does not simplify them. */
#define WIDENS
enum { WIDE = VECTOR_BYTES / sizeof(double) };
typedef double wide __attribute__((vector_size(VECTOR_BYTES)));
static const volatile double one = 1;

static inline wide widen(const float *x)
{
#if ISA == 4
    return (wide)_mm512_cvtps_pd(_mm256_loadu_ps(x));
#else
    return (wide)_mm256_cvtps_pd(_mm_loadu_ps(x));
#endif
}

static __attribute__((noinline, unused)) double sum_of_row ROW
{
    enum { LANES = 32 };
    const double factor = one;
    wide lane[LANES / WIDE];
    int64_t i = 0;
    UNROLL for (int k = 0; k < LANES / WIDE; k++)
    {
        lane[k] = (wide){0};
    }
    for (; i + LANES <= n; i += LANES) {
        UNROLL for (int k = 0; k < LANES / WIDE; k++)
        {
            lane[k] += widen(row + i + k * WIDE) * factor;
        }
    }
    UNROLL for (int half = LANES / WIDE / 2; half > 0; half /= 2)
    {
        UNROLL for (int k = 0; k < half; k++)
        {
            lane[k] += lane[k + half];
        }
    }
    for (; i + WIDE <= n; i += WIDE) {
        lane[0] += widen(row + i) * factor;
    }
    double rest = 0, sum[WIDE];
    memcpy(sum, &lane[0], sizeof sum);
    UNROLL for (int half = WIDE / 2; half > 0; half /= 2)
    {
        for (int k = 0; k < half; k++) {
            sum[k] += sum[k + half];
        }
    }
    for (; i < n; i++) {
        rest += (double)row[i];
    }
    return sum[0] + rest;
}
#else
FOLD(TOTAL, sum_of_row, ROW, 0, all + (TOTAL)x, all + x)
#endif

/* ---- sums in lanes of T ---- */

#ifdef IS_FLOAT
/* For sums whose error may be proportional to the sum of magnitudes. A block is summed in lanes of
 * T, which are then added by halves; blocks are added in double. In f32, a lane adds 8 terms and is
 * combined with 3 others, or adds 16 and is combined with 1; the halves of up to 16 lanes take 4
 * more additions. So the error is at most 21 * 2^-24 times the sum of magnitudes, for any length of
 * the row. */
enum { VECTORS = 4, BLOCK = sizeof(T) == 4 ? 8 * VECTORS * WIDTH : 512 };

static inline vector load(const T *x)
{
    vector v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline void store(T *x, vector v)
{
    memcpy(x, &v, sizeof v);
}

static inline double sum_of_vector(vector v)
{
    T lane[WIDTH];
    memcpy(lane, &v, sizeof v);
    UNROLL for (int half = WIDTH / 2; half > 0; half /= 2)
    {
        for (int j = 0; j < half; j++) {
            lane[j] += lane[j + half];
        }
    }
    return (double)lane[0];
}

/* Defines a function that sums `count` terms (the last arguments) over a row in one pass and
 * returns `result`, an expression in total[0], total[1], and so on. `read` names the operands of
 * the terms: x and y from `row` and `other`. */
#define READ_X(type, get)  const type x = get(row);
#define READ_XY(type, get) const type x = get(row), y = get(other);
#define VECTOR_AT(x)       load((x) + i)
#define ELEMENT_AT(x)      (x)[i]
#define SUMS_OF(name, type, result, parameters, count, read, ...)                                  \
    static __attribute__((noinline, unused)) type name parameters                                  \
    {                                                                                              \
        enum { CHAINS = (count) > 2 ? VECTORS / 2 : VECTORS };                                     \
        double total[count] = {0};                                                                 \
        int64_t i = 0;                                                                             \
        while (i + WIDTH <= n) {                                                                   \
            const int64_t end = n - i < BLOCK ? n : i + BLOCK;                                     \
            vector sum[CHAINS][count] = {{{0}}};                                                   \
            while (i + CHAINS * WIDTH <= end) {                                                    \
                UNROLL for (int k = 0; k < CHAINS; k++, i += WIDTH)                                \
                {                                                                                  \
                    read(vector, VECTOR_AT) const vector term[] = {__VA_ARGS__};                   \
                    UNROLL for (int t = 0; t < (count); t++)                                       \
                    {                                                                              \
                        sum[k][t] += term[t];                                                      \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
            for (; i + WIDTH <= end; i += WIDTH) {                                                 \
                read(vector, VECTOR_AT) const vector term[] = {__VA_ARGS__};                       \
                UNROLL for (int t = 0; t < (count); t++)                                           \
                {                                                                                  \
                    sum[0][t] += term[t];                                                          \
                }                                                                                  \
            }                                                                                      \
            UNROLL for (int t = 0; t < (count); t++)                                               \
            {                                                                                      \
                UNROLL for (int half = CHAINS / 2; half > 0; half /= 2)                            \
                {                                                                                  \
                    UNROLL for (int k = 0; k < half; k++)                                          \
                    {                                                                              \
                        sum[k][t] += sum[k + half][t];                                             \
                    }                                                                              \
                }                                                                                  \
                total[t] += sum_of_vector(sum[0][t]);                                              \
            }                                                                                      \
        }                                                                                          \
        T rest[count] = {0};                                                                       \
        for (; i < n; i++) {                                                                       \
            read(T, ELEMENT_AT) const T term[] = {__VA_ARGS__};                                    \
            UNROLL for (int t = 0; t < (count); t++)                                               \
            {                                                                                      \
                rest[t] += term[t];                                                                \
            }                                                                                      \
        }                                                                                          \
        UNROLL for (int t = 0; t < (count); t++)                                                   \
        {                                                                                          \
            total[t] += (double)rest[t];                                                           \
        }                                                                                          \
        return result;                                                                             \
    }
#define SUM_OF(name, parameters, read, term)                                                       \
    SUMS_OF(name, double, total[0], parameters, 1, read, term)
SUM_OF(sum_of_products, (int64_t n, const T *row, const T *other), READ_XY, x *y)
#endif

#ifdef IS_FLOAT
#define IS_NAN(x) ((x) != (x))
#else
#define IS_NAN(x) false
#endif

/* ---- extremes ---- */

FOLD(T, smallest, ROW, HIGHEST, x < all ? x : all, x < all ? x : all)

/* A kernel that reduces a row x of n elements to `result`. */
#define REDUCE(name, type, result)                                                                 \
    void KERNEL(name)(int64_t n, const void *x, void *y)                                           \
    {                                                                                              \
        *(type *)y = (result);                                                                     \
    }

/* NaN if the row contains NaN, else `extreme`, which ignores NaN. */
static T with_nan(int64_t n, const T *row, T extreme)
{
#ifdef IS_FLOAT
    int found = 0;
    for (int64_t i = 0; i < n; i++) {
        found |= IS_NAN(row[i]);
    }
    return found ? (T)NAN : extreme;
#else
    (void)n, (void)row;
    return extreme;
#endif
}

REDUCE(amax, T, with_nan(n, x, largest(n, x)))
REDUCE(amin, T, with_nan(n, x, smallest(n, x)))

#ifndef T_IS_BOOL
/* The first index of the row's extreme, which may be NaN. */
static int64_t place_of(T extreme, const T *row)
{
    int64_t i = 0;
    while (row[i] != extreme && !(IS_NAN(extreme) && IS_NAN(row[i]))) {
        i++;
    }
    return i;
}

REDUCE(argmax, int64_t, place_of(with_nan(n, x, largest(n, x)), x))
#endif

/* ---- sums ---- */

void KERNEL(sum)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals)
{
    for (int64_t i = 0; i < rows; i++) {
        totals[i].OF_TOTAL += sum_of_row(n, (const T *)x + i * step);
    }
}

/* Adds rows in order, eight at a time, so that each total is loaded and stored only once per eight
 * rows. */
void KERNEL(sum_columns)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals)
{
    enum { AT_ONCE = 8 };
    const T *from = x;
    TOTAL *restrict to = (TOTAL *)totals; /* access through a union is not vectorised */
    for (; rows >= AT_ONCE; rows -= AT_ONCE, from += AT_ONCE * step) {
        int64_t i = 0;
#ifdef WIDENS
        for (const double factor = one; i + WIDE <= n; i += WIDE) {
            wide total;
            memcpy(&total, to + i, sizeof total);
            UNROLL for (int j = 0; j < AT_ONCE; j++)
            {
                total += widen(from + j * step + i) * factor;
            }
            memcpy(to + i, &total, sizeof total);
        }
#endif
        for (; i < n; i++) {
            TOTAL total = to[i];
            UNROLL for (int j = 0; j < AT_ONCE; j++)
            {
                total += (TOTAL)from[j * step + i];
            }
            to[i] = total;
        }
    }
    for (; rows > 0; rows--, from += step) {
        for (int64_t i = 0; i < n; i++) {
            to[i] += (TOTAL)from[i];
        }
    }
}

void KERNEL(from_totals)(int64_t n, const heed_total *totals, double divisor, void *y)
{
    const TOTAL *from = (const TOTAL *)totals, by = (TOTAL)divisor;
    T *restrict to = y;
    for (int64_t i = 0; i < n; i++) { /* without divisions for sums: they would take a tenth */
        to[i] = (T)(by == 1 ? from[i] : from[i] / by);
    }
}

#ifdef IS_FLOAT
/* ---- norm ---- */

FOLD(double, sum_of_squares, ROW, 0, all + (double)x * (double)x, all + x)

/* In double, so that squares of f32 neither overflow nor underflow. */
REDUCE(norm, T, (T)sqrt(sum_of_squares(n, x)))
#endif
