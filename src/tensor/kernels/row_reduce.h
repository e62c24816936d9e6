/* Reductions of a row of n contiguous elements to a number (internal to the kernels): maxima, sums,
 * and two macros that define others. Elements are distributed over lanes, which are reduced
 * separately and joined at the end, so that the compiler can vectorise. The order of operations
 * depends only on n. */
#ifndef HEED_TENSOR_KERNELS_ROW_REDUCE_H
#define HEED_TENSOR_KERNELS_ROW_REDUCE_H

#include <math.h>
#include <string.h>

#include "element.h"

#define ROW (int64_t n, const T *row)

/* The steps on one row depend on each other, so kernels take a group of short rows through each
 * step together, which hides latency. A group is as many rows as fit in L1, at most GROUP. */
enum { GROUP = 8 };

static inline int64_t group_of(int64_t n, int64_t left)
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
#define JOIN_8(type, join)                                                                         \
    for (int next = 1; next < 8; next++) {                                                         \
        JOIN_TO(type, 1, next, join)                                                               \
    }
#define JOIN_32(type, join)                                                                        \
    for (int next = 1; next < 32; next++) {                                                        \
        JOIN_TO(type, 1, next, join)                                                               \
    }
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
FOLD(TOTAL, sum_of_row, ROW, 0, all + (TOTAL)x, all + x)

/* ---- sums of terms that do not cancel ---- */

#if defined T_IS_F32 || defined T_IS_F64
enum { VECTORS = 4, BLOCK = 512 };

static inline vector load(const T *x)
{
    vector v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline T sum_of_vector(vector v)
{
    T lane[WIDTH];
    memcpy(lane, &v, sizeof v);
    UNROLL for (int half = WIDTH / 2; half > 0; half /= 2)
    {
        for (int j = 0; j < half; j++) {
            lane[j] += lane[j + half];
        }
    }
    return lane[0];
}

/* Defines a function that sums a term over a row: in lanes of T within a block, in double across
 * blocks. `read` names the operands of the term: x, y, z from `row`, `other`, `third`. */
#define READ_X(type, get)   const type x = get(row);
#define READ_XY(type, get)  const type x = get(row), y = get(other);
#define READ_XYZ(type, get) const type x = get(row), y = get(other), z = get(third);
#define VECTOR_AT(x)        load((x) + i)
#define ELEMENT_AT(x)       (x)[i]
#define SUM_OF(name, parameters, read, term)                                                       \
    static __attribute__((noinline, unused)) double name parameters                                \
    {                                                                                              \
        double total = 0;                                                                          \
        int64_t i = 0;                                                                             \
        while (i + WIDTH <= n) {                                                                   \
            const int64_t end = n - i < BLOCK ? n : i + BLOCK;                                     \
            vector sum[VECTORS] = {0};                                                             \
            while (i + VECTORS * WIDTH <= end) {                                                   \
                UNROLL for (int k = 0; k < VECTORS; k++, i += WIDTH)                               \
                {                                                                                  \
                    read(vector, VECTOR_AT) sum[k] += term;                                        \
                }                                                                                  \
            }                                                                                      \
            for (; i + WIDTH <= end; i += WIDTH) {                                                 \
                read(vector, VECTOR_AT) sum[0] += term;                                            \
            }                                                                                      \
            total += (double)sum_of_vector((sum[0] + sum[2]) + (sum[1] + sum[3]));                 \
        }                                                                                          \
        T rest = 0;                                                                                \
        for (; i < n; i++) {                                                                       \
            read(T, ELEMENT_AT) rest += term;                                                      \
        }                                                                                          \
        return total + (double)rest;                                                               \
    }
SUM_OF(sum_of_products, (int64_t n, const T *row, const T *other), READ_XY, x *y)
#endif

#endif
