/* The tiles of gemm.h: c (rows, columns) = a b, with sums in registers. Part of gemm.h. */

/* The operands and results of a tile. If WIDTH < columns <= 2 * WIDTH, a row takes two vectors,
 * which overlap if columns < 2 * WIDTH, so that nothing is accessed past the last column. Fewer
 * columns take one vector, and rows of b are padded to it. */
typedef struct output_tile {
    const T *a;
    int64_t a_row, a_col;
    const T *b; /* kc rows of contiguous columns */
    int64_t b_row, kc;
    T *c;
    int64_t c_row, columns;
    const T *bias; /* added to each row, or NULL */
    bool add;      /* add to c instead of overwriting it */
} output_tile;

/* Writes c (rows, columns), with less than a vector per row, from sums (rows, WIDTH). */
static void finish_part(const output_tile *t, int rows, const T *sum)
{
    vector y, old, bias = {0};
    T part[PANEL] = {0}; /* copy_part copies less than a panel */
    if (t->bias != NULL) {
        copy_part(part, t->bias, t->columns);
        memcpy(&bias, part, sizeof bias);
    }
    for (int i = 0; i < rows; i++, sum += WIDTH) {
        T *c = t->c + i * t->c_row;
        memcpy(&y, sum, sizeof y);
        if (t->add) {
            copy_part(part, c, t->columns);
            memcpy(&old, part, sizeof old);
            y += old;
        }
        if (t->bias != NULL) {
            y += bias;
        }
        memcpy(part, &y, sizeof y);
        copy_part(c, part, t->columns);
    }
}

/* Writes c (rows, vectors) from the sums in registers. A row is read before it is written; where
 * vectors overlap, both write the same values. */
static inline __attribute__((always_inline)) void finish(const int rows, const int vectors,
                                                         const bool add, const bool has_bias,
                                                         const output_tile *t,
                                                         vector (*const sum)[2])
{
    const int64_t step = t->columns - WIDTH, c_row = t->c_row;
    T *c = t->c;
    vector bias[2] = {0}, old[2] = {0};
    for (int v = 0; v < vectors && has_bias; v++) {
        memcpy(&bias[v], t->bias + v * step, sizeof *bias);
    }
    UNROLL for (int i = 0; i < rows; i++, c += c_row)
    {
        for (int v = 0; v < vectors && add; v++) {
            memcpy(&old[v], c + v * step, sizeof *old);
        }
        for (int v = 0; v < vectors; v++) {
            vector y = add ? sum[i][v] + old[v] : sum[i][v];
            if (has_bias) {
                y += bias[v];
            }
            memcpy(c + v * step, &y, sizeof y);
        }
    }
}

/* c (rows, vectors) = a b. Inlined with constants for all arguments but the tile, it compiles to a
 * loop without branches that keeps its sums in registers. */
static inline __attribute__((always_inline)) void sum_tile(const int rows, const int vectors,
                                                           const int64_t a_row, const int64_t a_col,
                                                           const output_tile *t)
{
    vector sum[MR][2] = {0};
    /* One pointer per 4 rows: more would spill. */
    const T *a[] = {t->a, t->a + 4 * a_row, t->a + 8 * a_row};
    const T *b = t->b;
    const int64_t b_row = t->b_row, ahead = AHEAD * b_row;
    const int64_t step = t->columns - WIDTH; /* distance between the two vectors */
    UNROLL_BY_4 for (int64_t p = t->kc; p > 0; p--, b += b_row)
    {
        vector x[2];
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
    if (t->columns >= WIDTH) {
        if (t->bias != NULL) {
            finish(rows, vectors, t->add, true, t, sum);
        } else if (t->add) {
            finish(rows, vectors, true, false, t, sum);
        } else {
            finish(rows, vectors, false, false, t, sum);
        }
        return;
    }
    T part[MR * WIDTH];
    UNROLL for (int i = 0; i < rows; i++)
    {
        const vector all = sum[i][0];
        memcpy(part + i * WIDTH, &all, sizeof all);
    }
    finish_part(t, rows, part);
}

/* Either a_col or a_row is 1. */
#define EITHER_WAY(rows, vectors)                                                                  \
    if (t->a_col == 1) {                                                                           \
        sum_tile(rows, vectors, t->a_row, 1, t);                                                   \
    } else {                                                                                       \
        sum_tile(rows, vectors, 1, t->a_col, t);                                                   \
    }
#define TILES_OF(name, rows)                                                                       \
    static __attribute__((noinline)) void name(const output_tile *t)                               \
    {                                                                                              \
        if (t->columns > WIDTH) {                                                                  \
            EITHER_WAY(rows, 2)                                                                    \
        } else {                                                                                   \
            EITHER_WAY(rows, 1)                                                                    \
        }                                                                                          \
    }
TILES_OF(multiply_most, MR)
#if MOST_ROWS > 8
TILES_OF(multiply_8, 8)
#endif
#if MOST_ROWS > 4
TILES_OF(multiply_4, 4)
#endif
TILES_OF(multiply_2, 2)
TILES_OF(multiply_1, 1)
#undef TILES_OF
#undef EITHER_WAY

/* Computes a tile; `rows` comes from rows_of_tile. */
static void multiply_tile(const output_tile *t, int64_t rows)
{
    switch (rows) {
    case MR:
        multiply_most(t);
        break;
#if MOST_ROWS > 8
    case 8:
        multiply_8(t);
        break;
#endif
#if MOST_ROWS > 4
    case 4:
        multiply_4(t);
        break;
#endif
    case 2:
        multiply_2(t);
        break;
    default:
        multiply_1(t);
    }
}
