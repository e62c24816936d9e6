/* The matrix product c (m, n) = a (m, k) b (k, n), or c += a b, on any row and column strides.
 *
 * Compiled as kernels.c is. The columns of b are cut into panels of NR, and k into blocks of KC:
 *
 *                  NR                  a panel is packed once, so that its rows lie one behind
 *          b   |  |##|  |  |  KC       the other in the first-level cache; then tiles of MR x NR
 *                  ||                  results are summed in registers down the panel, MR rows
 *      a  ____    _vv_                 of a at a time. a is read where it lies, whatever its
 *     MR |____|  |tile|                strides: each of its elements is used NR times.
 *
 * The order of the sums depends on the shape alone. A dot product has no tiles: it is summed like a
 * line. */
#include <string.h>

#include "tensor/kernels_dtype.h"

#if defined __AVX512F__
enum { VECTOR_BYTES = 64 };
#elif defined __AVX__
enum { VECTOR_BYTES = 32 };
#else
enum { VECTOR_BYTES = 16 };
#endif
typedef T vector __attribute__((vector_size(VECTOR_BYTES)));

enum { LANES = VECTOR_BYTES / sizeof(T), MR = 6, NR = 2 * LANES, KC = 256 };

/* panel (kc, NR) = b's rows p0 ... and columns j0 ..., with zeros past the last column. */
static void pack(const heed_gemm *call, int64_t p0, int64_t kc, int64_t j0, T *panel)
{
    int64_t columns = call->n - j0 < NR ? call->n - j0 : NR;
    const T *b = (const T *)call->b + p0 * call->b_row + j0 * call->b_col;
    for (int64_t p = 0; p < kc; p++, b += call->b_row, panel += NR) {
        int64_t j = 0;
        for (; j < columns; j++) {
            panel[j] = b[j * call->b_col];
        }
        for (; j < NR; j++) {
            panel[j] = 0;
        }
    }
}

/* tile (MR, NR) = MR rows of a times the panel. Rows past the last repeat it; nobody reads them. */
static void multiply_tile(const T *a, const int64_t *row, int64_t a_col, int64_t kc, const T *panel,
                          T tile[MR][NR])
{
    vector sum[MR][2] = {0};
    for (int64_t p = 0; p < kc; p++, a += a_col, panel += NR) {
        vector b[2];
        memcpy(b, panel, sizeof b);
        for (int i = 0; i < MR; i++) {
            sum[i][0] += a[row[i]] * b[0];
            sum[i][1] += a[row[i]] * b[1];
        }
    }
    memcpy(tile, sum, sizeof sum);
}

static void store_tile(const heed_gemm *call, int64_t i0, int64_t j0, bool add, T tile[MR][NR])
{
    int64_t rows = call->m - i0 < MR ? call->m - i0 : MR;
    int64_t columns = call->n - j0 < NR ? call->n - j0 : NR;
    for (int64_t i = 0; i < rows; i++) {
        T *c = (T *)call->c + (i0 + i) * call->c_row + j0;
        for (int64_t j = 0; j < columns; j++) {
            c[j] = add ? c[j] + tile[i][j] : tile[i][j];
        }
    }
}

/* A single result is the sum of one line of products, kept as all sums of lines are. */
static void multiply_line(const heed_gemm *call)
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
}

void KERNELS_GEMM(const heed_gemm *call)
{
    if (call->m == 1 && call->n == 1) {
        multiply_line(call);
        return;
    }
    _Alignas(64) T panel[KC * NR];
    _Alignas(64) T tile[MR][NR];
    /* An empty sum is zero: with k = 0 one block without rows still writes c. */
    for (int64_t p0 = 0; p0 == 0 || p0 < call->k; p0 += KC) {
        int64_t kc = call->k - p0 < KC ? call->k - p0 : KC;
        for (int64_t j0 = 0; j0 < call->n; j0 += NR) {
            pack(call, p0, kc, j0, panel);
            for (int64_t i0 = 0; i0 < call->m; i0 += MR) {
                int64_t row[MR];
                for (int64_t i = 0; i < MR; i++) {
                    row[i] = (i0 + i < call->m ? i0 + i : call->m - 1) * call->a_row;
                }
                multiply_tile((const T *)call->a + p0 * call->a_col, row, call->a_col, kc, panel,
                              tile);
                store_tile(call, i0, j0, call->accumulate || p0 > 0, tile);
            }
        }
    }
}
