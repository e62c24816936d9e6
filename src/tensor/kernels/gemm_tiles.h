/* The tiles of gemm.h: c (rows, columns) = a b, with sums in registers. A template without an
 * include guard: gemm.h includes it once for each type SUM of the sums; NAME(x) adds a suffix for
 * the type. */

#define VECTOR  NAME(vector)
#define RESULTS NAME(results)
#define LANES   NAME(lanes)
#define TILE    NAME(tile)

typedef SUM VECTOR __attribute__((vector_size(VECTOR_BYTES)));
enum { LANES = VECTOR_BYTES / sizeof(SUM) };
/* A vector of sums rounded to T. */
typedef T RESULTS __attribute__((vector_size(LANES * sizeof(T))));

/* The operands and results of a tile. If LANES < columns <= 2 * LANES, a row takes two vectors,
 * which overlap if columns < 2 * LANES, so that nothing is accessed past the last column. Fewer
 * columns take one vector, and rows of b are padded to it. */
typedef struct TILE {
    const SUM *a;
    int64_t a_row, a_col;
    const SUM *b; /* kc rows of contiguous columns */
    int64_t b_row, kc;
    T *c;
    int64_t c_row, columns;
    const T *bias; /* added to each row, or NULL */
    bool add;      /* add to c instead of overwriting it */
} TILE;

/* Writes c (rows, columns), with less than a vector per row, from sums (rows, LANES). */
static void NAME(finish_part)(const TILE *t, int rows, const SUM *sum)
{
    RESULTS y, bias = {0};
    VECTOR all;
    T part[PANEL] = {0}; /* copy_part copies less than a panel */
    if (t->bias != NULL) {
        copy_part(part, t->bias, t->columns);
        memcpy(&bias, part, sizeof bias);
    }
    for (int i = 0; i < rows; i++, sum += LANES) {
        T *c = t->c + i * t->c_row;
        memcpy(&all, sum, sizeof all);
        if (t->add) {
            copy_part(part, c, t->columns);
            memcpy(&y, part, sizeof y);
            all += __builtin_convertvector(y, VECTOR);
        }
        y = __builtin_convertvector(all, RESULTS);
        if (t->bias != NULL) {
            y += bias;
        }
        memcpy(part, &y, sizeof y);
        copy_part(c, part, t->columns);
    }
}

/* Writes c (rows, vectors) from the sums in registers. A row is read before it is written; where
 * vectors overlap, both write the same values. */
static inline __attribute__((always_inline)) void NAME(finish)(const int rows, const int vectors,
                                                               const bool add, const bool has_bias,
                                                               const TILE *t,
                                                               VECTOR (*const sum)[2])
{
    const int64_t step = t->columns - LANES, c_row = t->c_row;
    T *c = t->c;
    RESULTS bias[2] = {0}, old[2] = {0};
    for (int v = 0; v < vectors && has_bias; v++) {
        memcpy(&bias[v], t->bias + v * step, sizeof *bias);
    }
    UNROLL for (int i = 0; i < rows; i++, c += c_row)
    {
        for (int v = 0; v < vectors && add; v++) {
            memcpy(&old[v], c + v * step, sizeof *old);
        }
        for (int v = 0; v < vectors; v++) {
            VECTOR all = sum[i][v];
            if (add) {
                all += __builtin_convertvector(old[v], VECTOR);
            }
            RESULTS y = __builtin_convertvector(all, RESULTS);
            if (has_bias) {
                y += bias[v];
            }
            memcpy(c + v * step, &y, sizeof y);
        }
    }
}

/* c (rows, vectors) = a b. Inlined with constants for all arguments but the tile, it compiles to a
 * loop without branches that keeps its sums in registers. */
static inline __attribute__((always_inline)) void NAME(sum_tile)(const int rows, const int vectors,
                                                                 const int64_t a_row,
                                                                 const int64_t a_col, const TILE *t)
{
    VECTOR sum[MR][2] = {0};
    /* One pointer per 4 rows: more would spill. */
    const SUM *a[] = {t->a, t->a + 4 * a_row, t->a + 8 * a_row};
    const SUM *b = t->b;
    const int64_t b_row = t->b_row, ahead = AHEAD * b_row;
    const int64_t step = t->columns - LANES; /* distance between the two vectors */
    for (int i = 0; i < rows; i++) {         /* prefetch c while computing the sums */
        for (int v = 0; v < vectors; v++) {
            __builtin_prefetch(t->c + i * t->c_row + v * LANES, 1);
        }
    }
    UNROLL_BY_4 for (int64_t p = t->kc; p > 0; p--, b += b_row)
    {
        VECTOR x[2];
        for (int v = 0; v < vectors; v++) {
            memcpy(&x[v], b + v * step, sizeof *x);
            /* once per cache line; with one vector, b is small */
            if (vectors == 2 && v * VECTOR_BYTES % 64 == 0) {
                __builtin_prefetch(b + ahead + v * step);
            }
        }
        if (a_col != 1) {
            __builtin_prefetch(a[0] + AHEAD * a_col);
        }
        UNROLL for (int i = 0; i < rows; i++)
        {
            for (int v = 0; v < vectors; v++) {
                sum[i][v] += a[i / 4][i % 4 * a_row] * x[v];
            }
        }
        for (int i = 0; i < rows; i += 4) {
            a[i / 4] += a_col;
        }
    }
    if (t->columns >= LANES) {
        if (t->bias != NULL) {
            NAME(finish)(rows, vectors, t->add, true, t, sum);
        } else if (t->add) {
            NAME(finish)(rows, vectors, true, false, t, sum);
        } else {
            NAME(finish)(rows, vectors, false, false, t, sum);
        }
        return;
    }
    SUM part[MR * LANES];
    UNROLL for (int i = 0; i < rows; i++)
    {
        const VECTOR all = sum[i][0];
        memcpy(part + i * LANES, &all, sizeof all);
    }
    NAME(finish_part)(t, rows, part);
}

/* Either a_col or a_row is 1. */
#define EITHER_WAY(rows, vectors)                                                                  \
    if (t->a_col == 1) {                                                                           \
        NAME(sum_tile)(rows, vectors, t->a_row, 1, t);                                             \
    } else {                                                                                       \
        NAME(sum_tile)(rows, vectors, 1, t->a_col, t);                                             \
    }
#define TILES_OF(name, rows)                                                                       \
    static __attribute__((noinline)) void name(const TILE *t)                                      \
    {                                                                                              \
        if (t->columns > LANES) {                                                                  \
            EITHER_WAY(rows, 2)                                                                    \
        } else {                                                                                   \
            EITHER_WAY(rows, 1)                                                                    \
        }                                                                                          \
    }
TILES_OF(NAME(multiply_most), MR)
#if MOST_ROWS > 8
TILES_OF(NAME(multiply_8), 8)
#endif
#if MOST_ROWS > 4
TILES_OF(NAME(multiply_4), 4)
#endif
TILES_OF(NAME(multiply_2), 2)
TILES_OF(NAME(multiply_1), 1)
#undef TILES_OF
#undef EITHER_WAY

/* Computes a tile; `rows` comes from rows_of_tile. */
static void NAME(multiply_tile)(const TILE *t, int64_t rows)
{
    switch (rows) {
    case MR:
        NAME(multiply_most)(t);
        break;
#if MOST_ROWS > 8
    case 8:
        NAME(multiply_8)(t);
        break;
#endif
#if MOST_ROWS > 4
    case 4:
        NAME(multiply_4)(t);
        break;
#endif
    case 2:
        NAME(multiply_2)(t);
        break;
    default:
        NAME(multiply_1)(t);
    }
}

#undef VECTOR
#undef RESULTS
#undef LANES
#undef TILE
#undef SUM
#undef NAME
