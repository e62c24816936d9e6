/* The matrix product of gemm.c, for one type that its sums are kept in (internal): included with SUM, and
 * with NAME to call what is here by. No include guard: gemm.c includes it more than once. */

#define VECTOR  NAME(vector)
#define LANES   NAME(lanes)
#define COLUMNS NAME(columns)
#define TILE    NAME(tile)

typedef SUM VECTOR __attribute__((vector_size(VECTOR_BYTES)));
enum { LANES = VECTOR_BYTES / sizeof(SUM), COLUMNS = 2 * LANES };

/* Where the operands of a tile lie, and where its results go. */
typedef struct TILE {
    const T *a;
    int64_t a_row, a_col;
    const SUM *b; /* kc rows of adjacent columns */
    int64_t b_row, kc;
    SUM *c;
    int64_t c_row;
    bool add;        /* to what c holds */
    const SUM *bias; /* a row to add to each in the end, or NULL */
} TILE;

/* ---- a tile ---- */

/* c (rows, vectors) = a b. It is inlined with constants for all but the tile, and becomes a loop without a
 * branch whose sums stay in registers. */
static inline __attribute__((always_inline)) void NAME(sum_tile)(const int rows, const int vectors,
                                                                 const int64_t a_row,
                                                                 const int64_t a_col, const TILE *t)
{
    VECTOR sum[MR][2] = {0};
    const T *a = t->a;
    const SUM *b = t->b;
    for (int64_t p = 0; p < t->kc; p++, a += a_col, b += t->b_row) {
        VECTOR x[2];
        memcpy(x, b, (size_t)vectors * sizeof *x);
        UNROLL for (int i = 0; i < rows; i++)
        {
            for (int v = 0; v < vectors; v++) {
                sum[i][v] += (SUM)a[i * a_row] * x[v];
            }
        }
    }
    UNROLL for (int i = 0; i < rows; i++)
    {
        VECTOR old[2] = {0};
        if (t->add) {
            memcpy(old, t->c + i * t->c_row, (size_t)vectors * sizeof *old);
        }
        for (int v = 0; v < vectors; v++) {
            old[v] += sum[i][v];
        }
        if (t->bias != NULL) {
            VECTOR bias[2];
            memcpy(bias, t->bias, (size_t)vectors * sizeof *bias);
            for (int v = 0; v < vectors; v++) {
                old[v] += bias[v];
            }
        }
        memcpy(t->c + i * t->c_row, old, (size_t)vectors * sizeof *old);
    }
}

/* Of a the columns of a row are adjacent in memory, or else the rows of a column. */
#define EITHER_WAY(rows, vectors)                                                                  \
    if (t->a_col == 1) {                                                                           \
        NAME(sum_tile)(rows, vectors, t->a_row, 1, t);                                             \
    } else {                                                                                       \
        NAME(sum_tile)(rows, vectors, 1, t->a_col, t);                                             \
    }
#define TILES_OF(name, rows)                                                                       \
    static void name(const TILE *t, int vectors)                                                   \
    {                                                                                              \
        if (vectors == 2) {                                                                        \
            EITHER_WAY(rows, 2)                                                                    \
        } else {                                                                                   \
            EITHER_WAY(rows, 1)                                                                    \
        }                                                                                          \
    }
TILES_OF(NAME(multiply_most), MR)
TILES_OF(NAME(multiply_4), 4)
TILES_OF(NAME(multiply_2), 2)
TILES_OF(NAME(multiply_1), 1)
#undef TILES_OF
#undef EITHER_WAY

/* The tile with the most rows, at most `left`; returns how many. */
static int64_t NAME(multiply_tile)(const TILE *t, int vectors, int64_t left)
{
    if (left >= MR) {
        NAME(multiply_most)(t, vectors);
        return MR;
    }
    if (left >= 4) {
        NAME(multiply_4)(t, vectors);
        return 4;
    }
    if (left >= 2) {
        NAME(multiply_2)(t, vectors);
        return 2;
    }
    NAME(multiply_1)(t, vectors);
    return 1;
}

/* ---- a panel ---- */

/* What of b one panel holds: rows p0 ... p0 + kc, columns j0 ... j0 + columns. */
typedef struct NAME(panel) {
    int64_t p0, kc, j0, columns;
} NAME(panel);

/* to (kc, COLUMNS) = that of b, with zeros behind the last column. */
static void NAME(pack)(const heed_gemm *call, const NAME(panel) * at, SUM *to)
{
    const T *b = (const T *)call->b + at->p0 * call->b_row + at->j0 * call->b_col;
    int64_t j0 = 0;
    if (sizeof(SUM) == sizeof(T) && call->b_row == 1 && call->b_col != 1) {
        for (; j0 + LANES <= at->columns; j0 += LANES) {
            int64_t p = 0;
            for (; p + LANES <= at->kc; p += LANES) {
                transpose_block(b + j0 * call->b_col + p, call->b_col, (T *)to + p * COLUMNS + j0,
                                COLUMNS);
            }
            for (; p < at->kc; p++) {
                for (int64_t j = j0; j < j0 + LANES; j++) {
                    to[p * COLUMNS + j] = (SUM)b[j * call->b_col + p];
                }
            }
        }
    }
    for (int64_t p = 0; p < at->kc; p++, b += call->b_row, to += COLUMNS) {
        int64_t j = j0;
        for (; j < at->columns; j++) {
            to[j] = (SUM)b[j * call->b_col];
        }
        for (; j < COLUMNS; j++) {
            to[j] = 0;
        }
    }
}

/* c += what a tile at row i0 has, of which `rows` rows and the panel's columns are there. */
static void NAME(store)(const heed_gemm *call, const NAME(panel) * at, int64_t i0, int64_t rows,
                        const SUM *tile)
{
    const bool add = call->accumulate || at->p0 > 0;
    const T *bias = at->p0 + at->kc == call->k ? call->bias : NULL;
    for (int64_t i = 0; i < rows; i++, tile += COLUMNS) {
        T *c = (T *)call->c + (i0 + i) * call->c_row + at->j0;
        for (int64_t j = 0; j < at->columns; j++) {
            c[j] = (T)(add ? (SUM)c[j] + tile[j] : tile[j]);
            if (bias != NULL) {
                c[j] += bias[at->j0 + j];
            }
        }
    }
}

/* All tiles of a panel, which lies at `b`. Whole ones go to c directly. */
static void NAME(multiply_panel)(const heed_gemm *call, const NAME(panel) * at, const SUM *b,
                                 int64_t b_row)
{
    _Alignas(64) SUM tile[MR * COLUMNS];
    T gathered[KC * MR];
    const bool adjacent = call->a_row == 1 || call->a_col == 1;
    const int vectors = at->columns > LANES ? 2 : 1;
    const bool direct = sizeof(SUM) == sizeof(T) && at->columns == vectors * LANES;
    TILE t = {.a_row = call->a_row, .a_col = call->a_col, .b = b, .b_row = b_row, .kc = at->kc};
    t.c_row = direct ? call->c_row : COLUMNS;
    t.add = direct && (call->accumulate || at->p0 > 0);
    if (direct && call->bias != NULL && at->p0 + at->kc == call->k) {
        t.bias = (const SUM *)call->bias + at->j0;
    }
    for (int64_t i = 0, rows; i < call->m; i += rows) {
        t.a = (const T *)call->a + i * call->a_row + at->p0 * call->a_col;
        t.c = direct ? (SUM *)call->c + i * call->c_row + at->j0 : tile;
        if (!adjacent) {
            gather_rows(call, t.a, call->m - i < MR ? call->m - i : MR, at->kc, gathered);
            t.a = gathered;
            t.a_row = 1;
            t.a_col = MR;
        }
        rows = NAME(multiply_tile)(&t, vectors, call->m - i);
        if (!direct) {
            NAME(store)(call, at, i, rows, tile);
        }
    }
}

static void NAME(multiply)(const heed_gemm *call)
{
    _Alignas(64) SUM packed[KC * COLUMNS];
    /* An empty sum is zero: with k = 0 one block without rows still writes c. */
    for (int64_t p0 = 0; p0 == 0 || p0 < call->k; p0 += KC) {
        const int64_t kc = call->k - p0 < KC ? call->k - p0 : KC;
        for (int64_t j0 = 0; j0 < call->n; j0 += COLUMNS) {
            const int64_t columns = call->n - j0 < COLUMNS ? call->n - j0 : COLUMNS;
            const NAME(panel) at = {p0, kc, j0, columns};
            const bool in_place = sizeof(SUM) == sizeof(T) && call->b_col == 1 &&
                                  columns % LANES == 0 && call->m <= FEW_ROWS;
            if (in_place) {
                NAME(multiply_panel)
                (call, &at, (const SUM *)call->b + p0 * call->b_row + j0, call->b_row);
            } else {
                NAME(pack)(call, &at, packed);
                NAME(multiply_panel)(call, &at, packed, COLUMNS);
            }
        }
    }
}

#undef VECTOR
#undef LANES
#undef COLUMNS
#undef TILE
#undef SUM
#undef NAME
