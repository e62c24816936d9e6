/* Products with few rows of a (internal to gemm.c). Each element of b is used only a few times, so
 * packing b does not pay off.
 *
 * If the columns of b are contiguous, as in y = x weight^T, each element of c is a dot product
 * summed in lanes; 8 columns are computed at a time, at the speed of the cache that contains b. If
 * the rows of b are contiguous and a has a single row, the sums stay in registers. A single dot
 * product is summed in double. */
#ifndef HEED_TENSOR_KERNELS_GEMM_FEW_H
#define HEED_TENSOR_KERNELS_GEMM_FEW_H

/* ---- a single element ---- */

/* A dot product, summed in double like the sums of rows. */
static void multiply_dot(const heed_gemm *call)
{
    enum { PARTS = 8 };
    const T *a = call->a, *b = call->b;
    TOTAL part[PARTS] = {0}, sum = 0;
    for (int64_t p = 0; p < call->k; p++, a += call->a_col, b += call->b_row) {
        part[p % PARTS] += (TOTAL)*a * (TOTAL)*b;
    }
    for (int i = 0; i < PARTS; i++) {
        sum += part[i];
    }
    T *c = call->c;
    *c = (T)(call->accumulate ? (TOTAL)*c + sum : sum);
    if (call->bias != NULL) {
        *c += *(const T *)call->bias;
    }
}

/* ---- contiguous columns of b: dot products ---- */

/* FEW_ROWS: with more rows, packing b is cheaper. DOTS: dot products at a time. Several rows times
 * a small b take the general path, whose sums have the same order on all instruction sets. */
enum { FEW_ROWS = 16, DOTS = 8 };

static bool is_few_dots(const heed_gemm *call)
{
    return call->m <= FEW_ROWS && call->a_col == 1 && call->b_row == 1 &&
           (call->m == 1 || (double)call->k * (double)call->n > SMALL);
}

/* total[j] += the sum of the lanes of sum[j]. Each step adds two vectors into one that interleaves
 * their partial sums; with 4 lanes:
 *
 *     a a a a  +  b b b b  ->  a b a b
 *     c c c c  +  d d d d  ->  c d c d      a b a b  +  c d c d  ->  a b c d */
static inline void sum_lanes(vector sum[DOTS], T total[DOTS])
{
    T all[DOTS] = {0};
#ifdef HAS_SHUFFLE
#define MERGED(D, x, y)                                                                            \
    (__builtin_shufflevector(x, y, EACH_LANE(FIRST_##D)) +                                         \
     __builtin_shufflevector(x, y, EACH_LANE(SECOND_##D)))
    UNROLL for (int j = 0; j < DOTS / 2; j++)
    {
        sum[j] = MERGED(1, sum[2 * j], sum[2 * j + 1]);
    }
#if WIDTH > 2
    sum[0] = MERGED(2, sum[0], sum[1]);
    sum[1] = MERGED(2, sum[2], sum[3]);
#endif
#if WIDTH > 4
    sum[0] = MERGED(4, sum[0], sum[1]);
#endif
#if WIDTH > 8
    sum[0] = MERGED(8, sum[0], sum[0]);
#endif
#undef MERGED
    memcpy(all, sum, sizeof all);
#else
    for (int j = 0; j < DOTS; j++) {
        for (int i = 0; i < WIDTH; i++) {
            all[j] += sum[j][i];
        }
    }
#endif
    for (int j = 0; j < DOTS; j++) {
        total[j] += all[j];
    }
}

/* Computes a tile of c, `rows` by `columns`, at row i0 and column j0; columns is at most `most`.
 * The order of a sum does not depend on the tile. */
static inline __attribute__((always_inline)) void multiply_dots(const int rows, const int most,
                                                                const heed_gemm *call, int64_t i0,
                                                                int64_t j0, int64_t columns)
{
    const T *a = (const T *)call->a + i0 * call->a_row, *bias = call->bias, *b[DOTS];
    T *c = (T *)call->c + i0 * call->c_row + j0;
    const int64_t ahead = most * call->b_col; /* to the same rows of the next columns */
    vector sum[2 * DOTS] = {0};               /* sum[i * most + j] */
    T total[2 * DOTS] = {0};
    for (int j = 0; j < most; j++) { /* a missing column repeats the last one */
        b[j] = (const T *)call->b + (j0 + (j < columns ? j : columns - 1)) * call->b_col;
    }
    int64_t p = 0;
    for (; p + WIDTH <= call->k; p += WIDTH) {
        vector x[4], y;
        UNROLL for (int i = 0; i < rows; i++)
        {
            memcpy(&x[i], a + i * call->a_row + p, sizeof *x);
        }
        UNROLL for (int j = 0; j < most; j++)
        {
            memcpy(&y, b[j] + p, sizeof y);
            if (rows == 1) {
                __builtin_prefetch(b[j] + p + ahead);
            }
            UNROLL for (int i = 0; i < rows; i++)
            {
                sum[i * most + j] += x[i] * y;
            }
        }
    }
    for (; p < call->k; p++) {
        UNROLL for (int i = 0; i < rows * most; i++)
        {
            total[i] += a[i / most * call->a_row + p] * b[i % most][p];
        }
    }
    for (int i = 0; i < rows * most; i += DOTS) {
        sum_lanes(sum + i, total + i);
    }
    for (int i = 0; i < rows; i++, c += call->c_row) {
        for (int64_t j = 0; j < columns; j++) {
            const T dot = total[i * most + j], y = call->accumulate ? c[j] + dot : dot;
            c[j] = bias != NULL ? y + bias[j0 + j] : y;
        }
    }
}

/* Computes columns j0 ... j1 of c. DOTS columns of b at a time stay in L1 for all rows of a. */
static void multiply_columns(const heed_gemm *call, int64_t j0, int64_t j1)
{
    enum { ACROSS = MR >= 8 ? 4 : 2 }; /* with 16 registers, 4 would spill */
    for (; j0 < j1; j0 += DOTS) {
        const int64_t end = least(j0 + DOTS, j1);
        int64_t i = 0;
        for (; i + 4 <= call->m; i += 4) {
            for (int64_t j = j0; j < end; j += ACROSS) {
                multiply_dots(4, ACROSS, call, i, j, least(end - j, ACROSS));
            }
        }
        for (; i + 2 <= call->m; i += 2) {
            for (int64_t j = j0; j < end; j += 4) {
                multiply_dots(2, 4, call, i, j, least(end - j, 4));
            }
        }
        if (i < call->m) {
            multiply_dots(1, DOTS, call, i, j0, end - j0);
        }
    }
}

/* ---- a single row of a, contiguous rows of b ---- */

/* STRETCH, ROW_BLOCK: columns and rows of b taken at a time. CHAINS: partial sums per column, to
 * hide the latency of multiply-adds. */
enum { STRETCH = 2 * WIDTH, ROW_BLOCK = 256, CHAINS = 4 };

static bool is_row(const heed_gemm *call)
{
    return call->m == 1 && call->b_col == 1;
}

/* The sums of up to STRETCH columns stay in registers for ROW_BLOCK rows. */
static inline __attribute__((always_inline)) void multiply_stretch(const heed_gemm *call,
                                                                   int64_t j0, int64_t columns)
{
    const T *a = call->a, *b = (const T *)call->b + j0, *bias = call->bias;
    T *c = (T *)call->c + j0;
    /* With k = 0, zeros are still written. */
    for (int64_t first = 0; first == 0 || first < call->k; first += ROW_BLOCK) {
        const int64_t end = first + ROW_BLOCK < call->k ? first + ROW_BLOCK : call->k;
        T sum[CHAINS][STRETCH] = {{0}};
        int64_t p = first;
        for (; p + CHAINS <= end; p += CHAINS) {
            UNROLL for (int i = 0; i < CHAINS; i++)
            {
                for (int64_t j = 0; j < columns; j++) {
                    sum[i][j] += a[(p + i) * call->a_col] * b[(p + i) * call->b_row + j];
                }
            }
        }
        for (; p < end; p++) {
            for (int64_t j = 0; j < columns; j++) {
                sum[0][j] += a[p * call->a_col] * b[p * call->b_row + j];
            }
        }
        for (int64_t j = 0; j < columns; j++) {
            const T all = (sum[0][j] + sum[1][j]) + (sum[2][j] + sum[3][j]);
            c[j] = first > 0 || call->accumulate ? c[j] + all : all;
        }
    }
    for (int64_t j = 0; bias != NULL && j < columns; j++) {
        c[j] += bias[j0 + j];
    }
}

/* ---- sharing ---- */

/* Computes columns [first * STRETCH, end * STRETCH) of c. */
static void multiply_few(void *context, int64_t first, int64_t end)
{
    const heed_gemm *call = context;
    const int64_t stop = least(end * STRETCH, call->n);
    if (is_few_dots(call)) {
        multiply_columns(call, first * STRETCH, stop);
        return;
    }
    for (int64_t j = first * STRETCH; j < stop; j += STRETCH) {
        if (j + STRETCH <= stop) { /* a constant, so that the compiler unrolls the common case */
            multiply_stretch(call, j, STRETCH);
        } else {
            multiply_stretch(call, j, stop - j);
        }
    }
}

#endif
