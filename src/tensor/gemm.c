/* The matrix product c (m, n) = a (m, k) b (k, n), or c += a b, on any row and column strides.
 *
 * Compiled as kernels.c is. The columns of b are cut into panels of two vectors, and k into blocks of KC:
 *
 *               2 vectors              a panel is packed once, so that its rows lie one behind
 *          b   |  |##|  |  |  KC       the other in the first-level cache, transposed in registers
 *                  ||                  if b is; then tiles of MR rows are summed in registers down
 *      a  ____    _vv_                 the panel, and go to c from there. a is read where it lies,
 *     MR |____|  |tile|                by rows or by columns: each of its numbers meets two vectors.
 *
 * MR x 2 sums are enough to hide the latency of a multiply-add, with its operands beside them in the
 * registers. Rows that are left over get tiles of 4, 2 and 1; columns, panels that are filled up with
 * zeros, whose tiles go to c through a buffer.
 *
 * Small products of f32 are summed in double, which costs little there: their results are rounded once,
 * and are the same with every instruction set, but for a bit now and then. A dot product has no tiles: it
 * is summed like a line. A single row needs no panels.
 *
 * The order of the sums depends on the shape alone, but for a single row: there on how b lies as well. */
#include <assert.h>
#include <string.h>

#include "tensor/kernels_dtype.h"

#if defined __AVX512F__
#define VECTOR_BYTES 64
enum { MR = 8 };
#elif defined __AVX__
#define VECTOR_BYTES 32
enum { MR = 6 };
#else
#define VECTOR_BYTES 16
enum { MR = 4 };
#endif

/* FEW_ROWS: of a for which packing b does not pay. SMALL: multiplications. */
enum { KC = 256, FEW_ROWS = 4 * MR, SMALL = 2048 };

#include "tensor/gemm_transpose.h"

/* to (kc, MR): `rows` rows of a as columns, where neither its rows nor its columns are adjacent. */
static void gather_rows(const heed_gemm *call, const T *a, int64_t rows, int64_t kc, T *to)
{
    for (int64_t p = 0; p < kc; p++, a += call->a_col, to += MR) {
        for (int64_t i = 0; i < rows; i++) {
            to[i] = a[i * call->a_row];
        }
    }
}

#define SUM     T
#define NAME(x) x##_plain
#include "tensor/gemm_tiles.h"

#ifdef T_IS_F32
#define SUM     TOTAL
#define NAME(x) x##_in_double
#include "tensor/gemm_tiles.h"

/* The limits come first, so that nothing overflows. */
static bool is_small(const heed_gemm *call)
{
    return call->k <= KC && call->m <= SMALL && call->n <= SMALL && call->k * call->n <= SMALL &&
           call->m * call->k * call->n <= SMALL;
}
#endif

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
    if (call->bias != NULL) {
        *c += *(const T *)call->bias;
    }
}

/* ---- a row times a matrix: b is read once, so that packing it would cost as much as the product ---- */

enum { LANES = 2 * VECTOR_BYTES / (int)sizeof(T), COLUMNS = 4 };

static T sum_lanes(const T *part)
{
    T sum = 0;
    for (int i = 0; i < LANES; i++) {
        sum += part[i];
    }
    return sum;
}

/* Some columns of b, each of which lies in one piece: a dot product each, in lanes. */
static void multiply_row_by_columns(const heed_gemm *call, const T *b, int columns, T *c)
{
    const T *a = call->a;
    T part[COLUMNS][LANES] = {{0}}, rest[COLUMNS] = {0};
    int64_t p = 0;
    for (; p + LANES <= call->k; p += LANES) {
        for (int j = 0; j < columns; j++) {
            for (int i = 0; i < LANES; i++) {
                part[j][i] += a[p + i] * b[j * call->b_col + p + i];
            }
        }
    }
    for (; p < call->k; p++) {
        for (int j = 0; j < columns; j++) {
            rest[j] += a[p] * b[j * call->b_col + p];
        }
    }
    for (int j = 0; j < columns; j++) {
        const T sum = sum_lanes(part[j]) + rest[j];
        c[j] = call->accumulate ? c[j] + sum : sum;
    }
}

/* b lies row by row: the sums of a stretch of columns are kept while all rows go by, KC at a time. */
static void multiply_row_by_rows(const heed_gemm *call, const T *b, int columns, T *c)
{
    const T *a = call->a;
    /* An empty sum is zero, and written. */
    for (int64_t first = 0; first == 0 || first < call->k; first += KC) {
        const int64_t end = first + KC < call->k ? first + KC : call->k;
        T sum[LANES] = {0};
        for (int64_t p = first; p < end; p++) {
            for (int j = 0; j < columns; j++) {
                sum[j] += a[p * call->a_col] * b[p * call->b_row + j];
            }
        }
        for (int j = 0; j < columns; j++) {
            c[j] = first > 0 || call->accumulate ? c[j] + sum[j] : sum[j];
        }
    }
}

/* False: b lies in neither way. The constant counts let the compiler unroll what nearly all columns take. */
static bool multiply_row(const heed_gemm *call)
{
    const T *b = call->b;
    T *c = call->c;
    int64_t j = 0;
    if (call->a_col == 1 && call->b_row == 1) {
        for (; j + COLUMNS <= call->n; j += COLUMNS) {
            multiply_row_by_columns(call, b + j * call->b_col, COLUMNS, c + j);
        }
        for (; j < call->n; j++) {
            multiply_row_by_columns(call, b + j * call->b_col, 1, c + j);
        }
    } else if (call->b_col == 1) {
        for (; j + LANES <= call->n; j += LANES) {
            multiply_row_by_rows(call, b + j, LANES, c + j);
        }
        if (j < call->n) {
            multiply_row_by_rows(call, b + j, (int)(call->n - j), c + j);
        }
    } else {
        return false;
    }
    const T *bias = call->bias;
    for (j = 0; bias != NULL && j < call->n; j++) {
        c[j] += bias[j];
    }
    return true;
}

void KERNELS_GEMM(const heed_gemm *given)
{
    heed_gemm with_strides = *given;
    const heed_gemm *call = &with_strides;
    assert(call->bias == NULL || !call->accumulate);
    if (call->m == 1 && call->n == 1) {
        multiply_line(call);
        return;
    }
    if (call->k == 1) {
        with_strides.a_col = 1;
    } else if (call->m == 1) {
        with_strides.a_row = 1;
    }
#ifdef T_IS_F32
    if (is_small(call)) {
        multiply_in_double(call);
        return;
    }
#endif
    if (call->m > 1 || !multiply_row(call)) {
        multiply_plain(call);
    }
}
