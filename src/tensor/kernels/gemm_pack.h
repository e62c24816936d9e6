/* What gemm.c copies so that it lies as a tile reads it: panels of b, and rows of a (internal). */
#include "gemm_transpose.h"

/* Where the next LANES_OF_T numbers begin: the last ones overlap with those before, if they are too few. */
static int64_t next_block(int64_t p, int64_t count)
{
    p += LANES_OF_T;
    return p < count && count < p + LANES_OF_T ? count - LANES_OF_T : p;
}

/* Less than a panel, without a loop. */
static inline void copy_part(T *to, const T *from, int64_t count)
{
    UNROLL for (int part = PANEL / 2; part > 0; part /= 2)
    {
        if ((count & part) != 0) {
            memcpy(to, from, (size_t)part * sizeof *to);
            to += part;
            from += part;
        }
    }
}

/* Behind the last column, to the end of its vector: what stands there is not used, but must not be slow to
 * multiply with, as tiny numbers are. */
static void fill_vector(T *to, int64_t columns)
{
    for (int64_t j = columns; j % LANES_OF_T != 0; j++) {
        to[j] = 0;
    }
}

/* to (kc, PANEL) = `columns` columns of b (kc, n), which lie in one piece each, in blocks of LANES_OF_T. */
static void pack_columns(const T *b, int64_t b_col, int64_t kc, int64_t columns, T *to)
{
    int64_t p = 0;
    while (p < kc && kc >= LANES_OF_T) {
        for (int64_t j = 0; j < columns; j += LANES_OF_T) {
            transpose_block(b + j * b_col + p, b_col, columns - j, to + p * PANEL + j, PANEL);
        }
        p = next_block(p, kc);
    }
    for (; p < kc; p++) {
        for (int64_t j = 0; j < columns; j++) {
            to[p * PANEL + j] = b[j * b_col + p];
        }
        fill_vector(to + p * PANEL, columns);
    }
}

/* to (kc, PANEL) = that many columns of b (kc, n); what stands behind them is any. */
static void pack_panel(const heed_gemm *call, const T *b, int64_t kc, int64_t columns, T *to)
{
    if (call->b_row == 1 && call->b_col != 1) {
        pack_columns(b, call->b_col, kc, columns, to);
        return;
    }
    for (int64_t p = 0; p < kc; p++, b += call->b_row, to += PANEL) {
        if (columns == PANEL && call->b_col == 1) {
            memcpy(to, b, PANEL * sizeof *to);
            continue;
        }
        if (call->b_col == 1) {
            copy_part(to, b, columns);
        } else {
            for (int64_t j = 0; j < columns; j++) {
                to[j] = b[j * call->b_col];
            }
        }
        fill_vector(to, columns);
    }
}

/* to (kc, MR) = `rows` rows of a as columns, with room for a vector behind them. Each vector that is written
 * overlaps with the next row, which is written after it. */
static void pack_rows(const heed_gemm *call, const T *a, int64_t rows, int64_t kc, T *to)
{
    int64_t p = 0;
    if (call->a_col == 1 && LANES_OF_T >= MR) {
        while (p < kc && kc >= LANES_OF_T) {
            transpose_block(a + p, call->a_row, rows, to + p * MR, MR);
            p = next_block(p, kc);
        }
    }
    for (; p < kc; p++) {
        const T *from = a + p * call->a_col;
        if (rows == MR && call->a_row == 1) {
            __builtin_prefetch(from + 2 * AHEAD * call->a_col);
            __builtin_prefetch(from + 2 * AHEAD * call->a_col + MR - 1);
            memcpy(to + p * MR, from, MR * sizeof *to);
            continue;
        }
        for (int64_t i = 0; i < rows; i++) {
            to[p * MR + i] = from[i * call->a_row];
        }
    }
}
