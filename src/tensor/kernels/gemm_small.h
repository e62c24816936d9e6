/* Small products of f32 (internal to gemm.c), summed in double: this costs little, rounds once, and
 * gives almost bit-identical results on all instruction sets. */
#ifndef HEED_TENSOR_KERNELS_GEMM_SMALL_H
#define HEED_TENSOR_KERNELS_GEMM_SMALL_H

/* m, n and k are limited first so that their products do not overflow. */
static bool is_small(const heed_gemm *call)
{
    return call->k <= SMALL_K && call->m <= SMALL && call->n <= SMALL &&
           call->k * call->n <= (call->m == 1 ? SMALL_ROW : SMALL) &&
           call->m * call->k * call->n <= SMALL;
}

static void to_doubles(const T *from, int64_t rows, int64_t columns, int64_t row, int64_t column,
                       TOTAL *to, int64_t to_row)
{
    if (column == 1 && row == columns && to_row == columns) {
        columns *= rows; /* contiguous */
        rows = 1;
    }
    for (int64_t i = 0; i < rows; i++, from += row, to += to_row) {
        for (int64_t j = 0; j < columns; j++) {
            to[j] = (TOTAL)from[j * column];
        }
    }
}

enum { TINY = 128 }; /* maximum multiplications in a product without vectors */

/* Computes columns j ... j + columns of row i of c. */
static inline __attribute__((always_inline)) void multiply_scalars(const heed_gemm *t, int64_t i,
                                                                   int64_t j, const int columns)
{
    const T *a = (const T *)t->a + i * t->a_row, *b = (const T *)t->b + j * t->b_col;
    T *c = (T *)t->c + i * t->c_row + j;
    TOTAL sum[2] = {0};
    for (int64_t p = 0; p < t->k; p++, a += t->a_col, b += t->b_row) {
        for (int k = 0; k < columns; k++) {
            sum[k] += (TOTAL)*a * (TOTAL)b[k * t->b_col];
        }
    }
    for (int k = 0; k < columns; k++) {
        const T y = (T)(t->accumulate ? (TOTAL)c[k] + sum[k] : sum[k]);
        c[k] = t->bias != NULL ? y + ((const T *)t->bias)[j + k] : y;
    }
}

/* Converts operands as it multiplies them: preparing tiles would cost more than such a small
 * product. */
static __attribute__((noinline)) void multiply_tiny(const heed_gemm *call)
{
    const heed_gemm t = *call; /* cannot alias c */
    for (int64_t i = 0; i < t.m; i++) {
        int64_t j = 0;
        for (; j + 2 <= t.n; j += 2) {
            multiply_scalars(&t, i, j, 2);
        }
        if (j < t.n) {
            multiply_scalars(&t, i, j, 1);
        }
    }
}

/* Converts both operands to double first, and pads rows of b with zeros to a full vector. Not
 * inlined, so that other products do not pay for its large stack frame. */
static __attribute__((noinline)) void multiply_small(const heed_gemm *call)
{
    enum { LANES = lanes_in_double };
    TOTAL a[SMALL], b[SMALL_K * LANES > SMALL ? SMALL_K * LANES : SMALL];
    const int64_t b_row = call->n > LANES ? call->n : LANES;
    const bool turned = call->a_row == 1 && call->a_col != 1; /* columns of a are contiguous */
    if (turned) {
        to_doubles(call->a, call->k, call->m, call->a_col, 1, a, call->m);
    } else {
        to_doubles(call->a, call->m, call->k, call->a_row, call->a_col, a, call->k);
    }
    to_doubles(call->b, call->k, call->n, call->b_row, call->b_col, b, b_row);
    for (int64_t p = 0; p < call->k; p++) {
        for (int64_t j = call->n; j < LANES; j++) {
            b[p * b_row + j] = 0;
        }
    }
    tile_in_double t = {.a_row = turned ? 1 : call->k, .a_col = turned ? call->m : 1};
    t.b_row = b_row;
    t.kc = call->k;
    t.c_row = call->c_row;
    t.add = call->accumulate;
    for (int64_t i = 0, rows; i < call->m; i += rows) {
        rows = rows_of_tile(call->m - i);
        t.a = a + i * t.a_row;
        for (int64_t panel = 0, j = 0; j < call->n; j += t.columns) {
            t.columns = edge_of(++panel, call->n, LANES) - j;
            t.b = b + j;
            t.c = (T *)call->c + i * call->c_row + j;
            t.bias = call->bias != NULL ? (const T *)call->bias + j : NULL;
            multiply_tile_in_double(&t, rows);
        }
    }
}

#endif
