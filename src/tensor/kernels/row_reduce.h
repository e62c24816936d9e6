/* Folding a line to one number in lanes of their own, so that vectors work (internal to the kernels). */
#ifndef HEED_TENSOR_FOLDS_H
#define HEED_TENSOR_FOLDS_H

#include <string.h>

#include "element.h"

#define LINE (int64_t n, const T *line)

/* Each step with a line waits for the one before, so short lines take a step together, as many as leave room for each
 * other in the first-level cache: the processor works at one while it waits for another. */
enum { GROUP = 8 };

static inline int64_t group_of(int64_t n, int64_t left)
{
    const int64_t fit = 2048 / (n + 1) + 1, most = fit < GROUP ? fit : GROUP;
    return left < most ? left : most;
}

/* ---- any fold ---- */

/* What all lanes become. By halves vectors work, which short lines want; f64 takes them in order, because
 * lessons print its sums to the last digit. */
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

/* Folds what is left of a line, so many elements at a time; `result` is then all of it. */
#define FOLD_BY(count, type, start, f, join)                                                       \
    if (i + (count) <= n) {                                                                        \
        type lane[count];                                                                          \
        for (int j = 0; j < (count); j++) {                                                        \
            lane[j] = start;                                                                       \
        }                                                                                          \
        for (; i + (count) <= n; i += (count)) {                                                   \
            for (int j = 0; j < (count); j++) {                                                    \
                const T x = line[i + j];                                                           \
                const type all = lane[j];                                                          \
                lane[j] = f;                                                                       \
            }                                                                                      \
        }                                                                                          \
        JOIN_##count(type, join);                                                                  \
        const type x = lane[0], all = result;                                                      \
        result = join;                                                                             \
    }

/* Defines a function that folds a line, from `start` on: f tells what `all` so far becomes with the element
 * x, `join` what two of them become. Inside of other functions compilers make nothing good of the lanes. */
#define FOLD(type, name, parameters, start, f, join)                                               \
    static __attribute__((noinline)) type name parameters                                          \
    {                                                                                              \
        type result = start;                                                                       \
        int64_t i = 0;                                                                             \
        FOLD_BY(32, type, start, f, join)                                                          \
        FOLD_BY(8, type, start, f, join)                                                           \
        for (; i < n; i++) {                                                                       \
            const T x = line[i];                                                                   \
            const type all = result;                                                               \
            result = f;                                                                            \
        }                                                                                          \
        return result;                                                                             \
    }

/* ---- sums of what does not cancel ---- */

#if defined T_IS_F32 || defined T_IS_F64
typedef T vector __attribute__((vector_size(VECTOR_BYTES)));
enum { WIDTH = VECTOR_BYTES / sizeof(T), VECTORS = 4, BLOCK = 512 };

static inline vector load(const T *x)
{
    vector v;
    memcpy(&v, x, sizeof v);
    return v;
}

/* In halves, as long as they are vectors themselves. */
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

/* Defines a function that adds up a term of each element: of vectors or of single elements, in the lanes of
 * their own dtype as long as a block is, and the blocks in double. `read` says what the term is made of. */
#define READ_X(type, get)   const type x = get(line);
#define READ_XY(type, get)  const type x = get(line), y = get(other);
#define READ_XYZ(type, get) const type x = get(line), y = get(other), z = get(third);
#define VECTOR_AT(x)        load((x) + i)
#define ELEMENT_AT(x)       (x)[i]
#define SUM_OF(name, parameters, read, term)                                                       \
    static __attribute__((noinline)) double name parameters                                        \
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
#endif

#endif
