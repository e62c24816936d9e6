/* Moving elements (internal to table.c); strides are in elements:
 *
 *   gather        to[i] = from[i * stride], cast       gather_rows   a plane of two dims, cast
 *   scatter       to[i * stride] = from[i]             add_into      y += x
 *   look_up       y[i] = x[p(i)]                       add_at        y[p(i)] += x[i]
 *
 * The position p(i) depends on an index. Planes are copied in tiles to use whole cache lines; if
 * the dtypes match, tiles are transposed in registers. */
#ifndef HEED_TENSOR_KERNELS_MOVE_H
#define HEED_TENSOR_KERNELS_MOVE_H

#include <string.h>

#include "element.h"

#ifndef T_IS_BOOL
#include "gemm_transpose.h"
#endif

/* ---- casts ---- */

#ifdef T_IS_I64
/* C leaves casts of NaN and out-of-range floats undefined; x86 gives INT64_MIN, and so does torch.
 */
static T from_float(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (T)x : INT64_MIN;
}
#define FROM_FLOAT(x) from_float((double)(x))
#else
#define FROM_FLOAT(x) ((T)(x))
#endif
#define FROM_INTEGER(x) ((T)(x))

/* Strides 1 and 0 have separate loops, which are vectorised. */
#define GATHER(name, type, CAST)                                                                   \
    static void KERNEL(name)(int64_t n, const void *from, int64_t stride, void *to)                \
    {                                                                                              \
        const type *x = from;                                                                      \
        T *restrict y = to;                                                                        \
        if (stride == 1) {                                                                         \
            for (int64_t i = 0; i < n; i++) {                                                      \
                y[i] = CAST(x[i]);                                                                 \
            }                                                                                      \
        } else if (stride == 0) {                                                                  \
            for (int64_t i = 0; i < n; i++) {                                                      \
                y[i] = CAST(x[0]);                                                                 \
            }                                                                                      \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++) {                                                      \
                y[i] = CAST(x[i * stride]);                                                        \
            }                                                                                      \
        }                                                                                          \
    }
GATHER(gather_f32, float, FROM_FLOAT)
GATHER(gather_f64, double, FROM_FLOAT)
GATHER(gather_i64, int64_t, FROM_INTEGER)
GATHER(gather_bool, bool, FROM_INTEGER)

/* ---- planes ---- */

/* Rows and columns per tile: its cache lines stay in L1 for any strides. */
enum { COPIED_TILE = 32, TRANSPOSED_TILE = 128 };

/* The tile at (row, column), clipped to the plane. */
static heed_plane tile_of(const heed_plane *p, int64_t row, int64_t column, int64_t size,
                          size_t from_size)
{
    heed_plane tile = *p;
    tile.rows = p->rows - row < size ? p->rows - row : size;
    tile.columns = p->columns - column < size ? p->columns - column : size;
    tile.from =
        (const char *)p->from + (row * p->from_row + column * p->from_column) * (int64_t)from_size;
    tile.to = (T *)p->to + row * p->to_row + column;
    return tile;
}

#ifndef T_IS_BOOL
/* to = from transposed: full blocks in registers, edges element by element. */
static void transpose_tile(const heed_plane *p)
{
    const T *from = p->from;
    T *to = p->to;
    const int64_t rows = p->rows - p->rows % WIDTH;
    const int64_t columns = p->columns - p->columns % WIDTH;
    for (int64_t r = 0; r < rows; r += WIDTH) {
        for (int64_t c = 0; c < columns; c += WIDTH) {
            transpose_block(from + r + c * p->from_column, p->from_column, WIDTH,
                            to + r * p->to_row + c, p->to_row);
        }
    }
    for (int64_t r = 0; r < p->rows; r++) {
        for (int64_t c = r < rows ? columns : 0; c < p->columns; c++) {
            to[r * p->to_row + c] = from[r + c * p->from_column];
        }
    }
}

static void transpose_plane(const heed_plane *p)
{
    for (int64_t r = 0; r < p->rows; r += TRANSPOSED_TILE) {
        for (int64_t c = 0; c < p->columns; c += TRANSPOSED_TILE) {
            const heed_plane tile = tile_of(p, r, c, TRANSPOSED_TILE, sizeof(T));
            transpose_tile(&tile);
        }
    }
}
#endif

/* True if planes of the source's dtype are transposed: if it is T, and has vectors. */
#if defined T_IS_F32
#define IS_T(dtype) (HEED_##dtype == HEED_F32)
#elif defined T_IS_F64
#define IS_T(dtype) (HEED_##dtype == HEED_F64)
#elif defined T_IS_I64
#define IS_T(dtype) (HEED_##dtype == HEED_I64)
#else
#define IS_T(dtype) false
static void transpose_plane(const heed_plane *p)
{
    (void)p;
}
#endif

#define GATHER_ROWS(dtype, DTYPE, type, CAST)                                                      \
    static void KERNEL(gather_tile_##dtype)(const heed_plane *p)                                   \
    {                                                                                              \
        for (int64_t r = 0; r < p->rows; r++) {                                                    \
            const type *x = (const type *)p->from + r * p->from_row;                               \
            T *restrict y = (T *)p->to + r * p->to_row;                                            \
            for (int64_t c = 0; c < p->columns; c++) {                                             \
                y[c] = CAST(x[c * p->from_column]);                                                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void KERNEL(gather_rows_##dtype)(const heed_plane *p)                                   \
    {                                                                                              \
        if (p->from_column == 0 || p->from_column == 1) {                                          \
            const type *x = p->from;                                                               \
            T *y = p->to;                                                                          \
            for (int64_t r = 0; r < p->rows; r++, x += p->from_row, y += p->to_row) {              \
                KERNEL(gather_##dtype)(p->columns, x, p->from_column, y);                          \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        if (IS_T(DTYPE) && p->from_row == 1) {                                                     \
            transpose_plane(p);                                                                    \
            return;                                                                                \
        }                                                                                          \
        for (int64_t r = 0; r < p->rows; r += COPIED_TILE) {                                       \
            for (int64_t c = 0; c < p->columns; c += COPIED_TILE) {                                \
                const heed_plane tile = tile_of(p, r, c, COPIED_TILE, sizeof(type));               \
                KERNEL(gather_tile_##dtype)(&tile);                                                \
            }                                                                                      \
        }                                                                                          \
    }
GATHER_ROWS(f32, F32, float, FROM_FLOAT)
GATHER_ROWS(f64, F64, double, FROM_FLOAT)
GATHER_ROWS(i64, I64, int64_t, FROM_INTEGER)
GATHER_ROWS(bool, BOOL, bool, FROM_INTEGER)

/* ---- indexed elements ---- */

static void KERNEL(scatter)(int64_t n, const void *from, void *to, int64_t stride)
{
    const T *restrict x = from;
    T *y = to;
    for (int64_t i = 0; i < n; i++) {
        y[i * stride] = x[i];
    }
}

static void KERNEL(add_into)(int64_t n, const void *x, void *y)
{
    const T *from = x;
    T *to = y;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (T)(to[i] + from[i]);
    }
}

static void KERNEL(look_up)(int64_t n, const int64_t *index, int64_t index_step, const void *x,
                            int64_t step, int64_t along, void *y)
{
    const T *from = x;
    T *restrict to = y;
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i * step + index[i * index_step] * along];
    }
}

static void KERNEL(add_at)(int64_t n, const int64_t *index, int64_t index_step, const void *x,
                           void *y, int64_t step, int64_t along)
{
    const T *from = x;
    T *to = y;
    for (int64_t i = 0; i < n; i++) {
        T *place = to + (i * step + index[i * index_step] * along);
        *place = (T)(*place + from[i]);
    }
}

#endif
