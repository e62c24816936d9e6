/* The tiles of gemm.c, for one type that sums are kept in (internal): included with SUM, and with NAME to
 * call what is here by. No include guard: gemm.c includes it more than once. */

#define VECTOR  NAME(vector)
#define RESULTS NAME(results)
#define LANES   NAME(lanes)
#define COLUMNS NAME(columns)
#define TILE    NAME(tile)

typedef SUM VECTOR __attribute__((vector_size(VECTOR_BYTES)));
enum { LANES = VECTOR_BYTES / sizeof(SUM), COLUMNS = 2 * LANES };
typedef T RESULTS
    __attribute__((vector_size(LANES * sizeof(T)))); /* what a vector of sums is rounded to */

/* Where the operands of a tile lie, and where its results go. */
typedef struct TILE {
    const SUM *a;
    int64_t a_row, a_col;
    const SUM *b; /* kc rows of adjacent columns */
    int64_t b_row, kc;
    T *c;
    int64_t c_row, columns;
    const T *bias; /* a row to add to each, or NULL */
    bool add;      /* to what c holds */
} TILE;

/* c (rows, columns) of a tile whose last vector is not full, from sums (rows, COLUMNS). */
static void NAME(finish_part)(const TILE *t, int rows, const SUM *restrict sum)
{
    for (int i = 0; i < rows; i++, sum += COLUMNS) {
        T *restrict c = t->c + i * t->c_row;
        for (int64_t j = 0; j < t->columns; j++) {
            const T y = (T)(t->add ? sum[j] + (SUM)c[j] : sum[j]);
            c[j] = t->bias != NULL ? y + t->bias[j] : y;
        }
    }
}

/* c (rows, vectors) from the sums in registers. */
static inline __attribute__((always_inline)) void
NAME(finish)(const int rows, const int vectors, const TILE *t, VECTOR (*const sum)[2])
{
    RESULTS bias[2] = {0};
    for (int v = 0; v < vectors && t->bias != NULL; v++) {
        memcpy(&bias[v], t->bias + v * LANES, sizeof *bias);
    }
    UNROLL for (int i = 0; i < rows; i++)
    {
        for (int v = 0; v < vectors; v++) {
            T *c = t->c + i * t->c_row + v * LANES;
            VECTOR all = sum[i][v];
            RESULTS y;
            if (t->add) {
                memcpy(&y, c, sizeof y);
                all += __builtin_convertvector(y, VECTOR);
            }
            y = __builtin_convertvector(all, RESULTS);
            if (t->bias != NULL) {
                y += bias[v];
            }
            memcpy(c, &y, sizeof y);
        }
    }
}

/* c (rows, vectors) = a b. It is inlined with constants for all but the tile, and becomes a loop without a
 * branch whose sums stay in registers. */
static inline __attribute__((always_inline)) void NAME(sum_tile)(const int rows, const int vectors,
                                                                 const int64_t a_row,
                                                                 const int64_t a_col, const TILE *t)
{
    VECTOR sum[MR][2] = {0};
    const SUM *a = t->a, *b = t->b;
    for (int64_t p = 0; p < t->kc; p++, a += a_col, b += t->b_row) {
        VECTOR x[2];
        for (int v = 0; v < vectors; v++) {
            memcpy(&x[v], b + v * LANES, sizeof *x);
            __builtin_prefetch(b + AHEAD * t->b_row + v * LANES);
        }
        UNROLL for (int i = 0; i < rows; i++)
        {
            for (int v = 0; v < vectors; v++) {
                sum[i][v] += a[i * a_row] * x[v];
            }
        }
    }
    if (t->columns == vectors * LANES) {
        NAME(finish)(rows, vectors, t, sum);
        return;
    }
    SUM part[MR * COLUMNS];
    UNROLL for (int i = 0; i < rows; i++)
    {
        for (int v = 0; v < vectors; v++) {
            const VECTOR all = sum[i][v];
            memcpy(part + i * COLUMNS + v * LANES, &all, sizeof all);
        }
    }
    NAME(finish_part)(t, rows, part);
}

/* Of a the columns of a row are adjacent in memory, or else the rows of a column. */
#define EITHER_WAY(rows, vectors)                                                                  \
    if (t->a_col == 1) {                                                                           \
        NAME(sum_tile)(rows, vectors, t->a_row, 1, t);                                             \
    } else {                                                                                       \
        NAME(sum_tile)(rows, vectors, 1, t->a_col, t);                                             \
    }
#define TILES_OF(name, rows)                                                                       \
    static void name(const TILE *t)                                                                \
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

/* A tile of `rows`, which is what rows_of_tile says. */
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
#undef COLUMNS
#undef TILE
#undef SUM
#undef NAME
