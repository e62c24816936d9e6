/* The matrix product c (m, n) = a (m, k) b (k, n) + bias, or c += a b, with any row and column
 * strides.
 *
 * k and n are cut into blocks so that the current block of b stays in L2. A block of b is cut into
 * panels two vectors wide, and the part of c below it into tiles of MR rows by one panel:
 *
 *                     columns                  A block of b is packed once, panel by panel and
 *               |  |  |##|  |  |  |            row by row, transposed in registers if necessary.
 *          b    |  |  |##|  |  |  | kc         If few rows of a use it, it is read in place.
 *               |  |  |##|  |  |  |
 *                      ||                      MR rows of a are packed as columns if many panels
 *      a   kc         _vv_                     use them or their strides are slow. They stay in L1
 *     MR |####|------>|tile| ---> next panel   while the panels stream from L2, prefetched AHEAD
 *        |    |                                rows before use; KC is small enough for both to fit.
 *
 * The sums of a tile, MR x 2 vectors, stay in registers for the whole panel. They are enough to
 * hide the latency of multiply-adds and leave registers for a row of the panel and an element of a.
 * They are then stored to c, or added to the sums of earlier blocks of k; after the last block, the
 * bias is added as well. Remaining rows use tiles of 8, 4, 2 and 1. Remaining columns need no
 * padding: the two vectors of a panel overlap and store equal values there; if less than a vector
 * remains, the previous panel gives up columns. Rows of b are padded only in a block narrower than
 * a vector, whose results go to c through a buffer.
 *
 * Small products and products with few rows of a take other ways, below.
 *
 * Threads share the packing of panels, then the tiles. The sum of an element is never split. The
 * order of its terms depends on the shape of the whole product and, for few rows, on strides. */

/* MR: rows per tile. AVX-512 and aarch64 have 32 vector registers, the others 16. */
#if VECTOR_BYTES == 64
#define MOST_ROWS 12
#elif VECTOR_BYTES == 32
#define MOST_ROWS 6
#elif defined __aarch64__
#define MOST_ROWS 8
#else
#define MOST_ROWS 4
#endif
enum {
    MR = MOST_ROWS,
    PANEL = 2 * WIDTH,
    KC = 256,
    BLOCK_BYTES = VECTOR_BYTES == 64 ? 1 << 20 : 1 << 18,
    AHEAD = 8,       /* prefetch distance in rows of b */
    SMALL = 1000,    /* maximum multiplications in a product summed in double: more are slower */
    SMALL_ROW = 512, /* the same if a has a single row */
    SMALL_K = 256,   /* maximum k of such a product */
    FEW_B = 2048,    /* minimum elements of b for dot products with several rows of a */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- packing ---- */

/* The start of the block of WIDTH numbers after the one at p. If the last block would be
 * incomplete, it overlaps the previous one. */
static int64_t next_block(int64_t p, int64_t count)
{
    p += WIDTH;
    return p < count && count < p + WIDTH ? count - WIDTH : p;
}

/* Copies `count` < PANEL elements without a loop. */
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

/* Pads the last vector of a row with zeros. The padding is multiplied but not used; arbitrary
 * values could be subnormal and slow. */
static void fill_vector(T *to, int64_t columns)
{
    for (int64_t j = columns; j % WIDTH != 0; j++) {
        to[j] = 0;
    }
}

/* to (kc, PANEL) = `columns` columns of b (kc, n), each contiguous, transposed block by block. */
static void pack_columns(const T *b, int64_t b_col, int64_t kc, int64_t columns, T *to)
{
    int64_t p = 0;
    while (p < kc && kc >= WIDTH) {
        for (int64_t j = 0; j < columns; j += WIDTH) {
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

/* to (kc, PANEL) = `columns` columns of b (kc, n), with any strides. */
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

/* Rows in the next tile. */
static int64_t rows_of_tile(int64_t left)
{
    return left >= MR ? MR : left >= 8 && MR > 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* to (kc, MR) = `rows` rows of a as columns. After them, `to` needs space for a vector: each vector
 * written overlaps the next row of `to`, which is written later. */
static void pack_rows(const heed_gemm *call, const T *a, int64_t rows, int64_t kc, T *to)
{
    int64_t p = 0;
    if (call->a_col == 1 && WIDTH >= MR) {
        while (p < kc && kc >= WIDTH) {
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

/* ---- tiles ---- */

#include "gemm_tiles.h"

static int64_t parts_of(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

/* The first column of a panel. The last two panels divide their columns so that the last has a full
 * vector. */
static int64_t edge_of(int64_t panel, int64_t columns)
{
    const int64_t edge = panel * PANEL, rest = columns - edge;
    return rest <= 0 ? columns : rest < WIDTH && panel > 0 ? columns - WIDTH : edge;
}

#ifdef T_IS_F32
/* ---- small products ---- */

/* They are summed in double: this costs little, rounds once, and gives almost bit-identical results
 * on all instruction sets. m, n and k are limited first so that their products do not overflow. */
static bool is_small(const heed_gemm *call)
{
    return call->k <= SMALL_K && call->m <= SMALL && call->n <= SMALL &&
           call->k * call->n <= (call->m == 1 ? SMALL_ROW : SMALL) &&
           call->m * call->k * call->n <= SMALL;
}

/* Maximum multiplications in a product that converts operands as it multiplies them: preparing
 * vectors would cost more than such a product. */
enum { TINY = 128 };

typedef TOTAL pair __attribute__((vector_size(2 * sizeof(TOTAL))));
typedef T narrow_pair __attribute__((vector_size(2 * sizeof(T))));

static inline pair widen_pair(T x, T y)
{
    return __builtin_convertvector(((narrow_pair){x, y}), pair);
}

/* Computes `rows` rows of c, two columns at a time; the last of an odd number twice. */
static inline __attribute__((always_inline)) void multiply_pairs(const heed_gemm *t, const T *first,
                                                                 T *row, const int rows)
{
    const int64_t a_row = t->a_row, a_col = t->a_col, b_row = t->b_row, c_row = t->c_row;
    for (int64_t j = 0; j < t->n; j += 2) {
        const bool both = j + 1 < t->n, accumulate = t->accumulate;
        const int64_t next = both ? t->b_col : 0;
        const T *a = first, *b = (const T *)t->b + j * t->b_col, *bias = t->bias;
        T *c = row + j;
        pair sum[4] = {{0}};
        for (int64_t p = t->k; p > 0; p--, a += a_col, b += b_row) {
            const pair y = widen_pair(b[0], b[next]);
            UNROLL for (int r = 0; r < rows; r++)
            {
                sum[r] += widen_pair(a[r * a_row], a[r * a_row]) * y;
            }
        }
        narrow_pair add = {-(T)0, -(T)0}; /* keeps zeros of both signs */
        if (bias != NULL) {
            add = (narrow_pair){bias[j], bias[j + both]};
        }
        UNROLL for (int r = 0; r < rows; r++, c += c_row)
        {
            if (accumulate) {
                sum[r] += widen_pair(c[0], c[both]);
            }
            const narrow_pair y = __builtin_convertvector(sum[r], narrow_pair) + add;
            if (both) {
                memcpy(c, &y, sizeof y);
            } else {
                c[0] = y[0];
            }
        }
    }
}

static __attribute__((noinline)) void multiply_4_rows(const heed_gemm *t, const T *a, T *c)
{
    multiply_pairs(t, a, c, 4);
}

static __attribute__((noinline)) void multiply_2_rows(const heed_gemm *t, const T *a, T *c)
{
    multiply_pairs(t, a, c, 2);
}

static void multiply_tiny(const heed_gemm *t)
{
    const T *a = t->a;
    T *c = t->c;
    int64_t left = t->m;
    for (; left >= 4; left -= 4, a += 4 * t->a_row, c += 4 * t->c_row) {
        multiply_4_rows(t, a, c);
    }
    for (; left >= 2; left -= 2, a += 2 * t->a_row, c += 2 * t->c_row) {
        multiply_2_rows(t, a, c);
    }
    if (left > 0) {
        multiply_pairs(t, a, c, 1);
    }
}

/* Each row of b takes whole vectors, padded with zeros. */
typedef TOTAL total_vector __attribute__((vector_size(VECTOR_BYTES)));
enum { DOUBLES = VECTOR_BYTES / sizeof(TOTAL), SMALL_B = SMALL + SMALL_K * DOUBLES };

/* Writes `columns` sums to c, or adds them. */
static inline __attribute__((always_inline)) void
finish_sums(total_vector sums, const T *bias, bool accumulate, int64_t columns, T *c)
{
    TOTAL sum[DOUBLES];
    memcpy(sum, &sums, sizeof sum);
    for (int64_t j = 0; j < columns; j++) {
        const T y = (T)(accumulate ? (TOTAL)c[j] + sum[j] : sum[j]);
        c[j] = bias != NULL ? y + bias[j] : y;
    }
}

/* Converts b first, and elements of a as it multiplies by them. Not inlined, so that other products
 * do not pay for its large stack frame. */
static __attribute__((noinline)) void multiply_small(const heed_gemm *call)
{
    const heed_gemm t = *call; /* cannot alias c */
    const int64_t width = parts_of(t.n, DOUBLES) * DOUBLES;
    _Alignas(VECTOR_BYTES) TOTAL b[SMALL_B];
    for (int64_t p = 0; p < t.k; p++) {
        const T *from = (const T *)t.b + p * t.b_row;
        TOTAL *to = b + p * width;
        memset(to + width - DOUBLES, 0, DOUBLES * sizeof *to);
        for (int64_t j = 0; j < t.n; j++) {
            to[j] = (TOTAL)from[j * t.b_col];
        }
    }
    for (int64_t i = 0; i < t.m; i++) {
        T *c = (T *)t.c + i * t.c_row;
        for (int64_t j = 0; j < t.n; j += DOUBLES) {
            const T *a = (const T *)t.a + i * t.a_row, *bias = t.bias;
            total_vector sum = {0};
            for (int64_t p = 0; p < t.k; p++, a += t.a_col) {
                total_vector row;
                memcpy(&row, b + p * width + j, sizeof row);
                sum += (TOTAL)*a * row;
            }
            bias = bias != NULL ? bias + j : NULL;
            if (j + DOUBLES <= t.n) { /* a constant, for the compiler to vectorise */
                finish_sums(sum, bias, t.accumulate, DOUBLES, c + j);
            } else {
                finish_sums(sum, bias, t.accumulate, t.n - j, c + j);
            }
        }
    }
}
#endif

/* ---- few rows of a ---- */

/* Each element of b is used only a few times, so packing b does not pay off.
 *
 * If the columns of b are contiguous, as in y = x weight^T, each element of c is a dot product
 * summed in lanes; 8 columns are computed at a time, at the speed of the cache that contains b. A
 * single dot product is summed in double. */

/* A dot product, summed in double like the sums of rows. */
static void multiply_dot(const heed_gemm *call)
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

/* FEW_ROWS: with more rows, packing b is cheaper. DOTS: dot products at a time. Several rows times
 * a small b take the general path, whose sums have the same order on all instruction sets. */
enum { FEW_ROWS = 16, DOTS = 8 };

static bool is_few_dots(const heed_gemm *call)
{
    return call->m <= FEW_ROWS && call->a_col == 1 && call->b_row == 1 &&
           (call->m == 1 || (double)call->k * (double)call->n > FEW_B);
}

/* total[j] += the sum of the lanes of sum[j]. Each step adds two vectors into one that interleaves
 * their partial sums; with 4 lanes:
 *
 *     a a a a  +  b b b b  ->  a b a b
 *     c c c c  +  d d d d  ->  c d c d      a b a b  +  c d c d  ->  a b c d */
static inline void sum_lanes(vector sum[DOTS], T total[DOTS])
{
    T all[DOTS] = {0};
#ifdef HAS_SHUFFLE
#define MERGED(D, x, y)                                                                            \
    (__builtin_shufflevector(x, y, EACH_LANE(FIRST_##D)) +                                         \
     __builtin_shufflevector(x, y, EACH_LANE(SECOND_##D)))
    UNROLL for (int j = 0; j < DOTS / 2; j++)
    {
        sum[j] = MERGED(1, sum[2 * j], sum[2 * j + 1]);
    }
#if WIDTH > 2
    sum[0] = MERGED(2, sum[0], sum[1]);
    sum[1] = MERGED(2, sum[2], sum[3]);
#endif
#if WIDTH > 4
    sum[0] = MERGED(4, sum[0], sum[1]);
#endif
#if WIDTH > 8
    sum[0] = MERGED(8, sum[0], sum[0]);
#endif
#undef MERGED
    memcpy(all, sum, sizeof all);
#else
    for (int j = 0; j < DOTS; j++) {
        for (int i = 0; i < WIDTH; i++) {
            all[j] += sum[j][i];
        }
    }
#endif
    for (int j = 0; j < DOTS; j++) {
        total[j] += all[j];
    }
}

/* Computes a tile of c, `rows` by `columns`, at row i0 and column j0; columns is at most `most`.
 * The order of a sum does not depend on the tile. */
static inline __attribute__((always_inline)) void multiply_dots(const int rows, const int most,
                                                                const heed_gemm *call, int64_t i0,
                                                                int64_t j0, int64_t columns)
{
    const T *a = (const T *)call->a + i0 * call->a_row, *bias = call->bias, *b[DOTS];
    T *c = (T *)call->c + i0 * call->c_row + j0;
    const int64_t ahead = most * call->b_col; /* to the same rows of the next columns */
    vector sum[2 * DOTS] = {0};               /* sum[i * most + j] */
    T total[2 * DOTS] = {0};
    for (int j = 0; j < most; j++) { /* a missing column repeats the last one */
        b[j] = (const T *)call->b + (j0 + (j < columns ? j : columns - 1)) * call->b_col;
    }
    int64_t p = 0;
    for (; p + WIDTH <= call->k; p += WIDTH) {
        vector x[4], y;
        UNROLL for (int i = 0; i < rows; i++)
        {
            memcpy(&x[i], a + i * call->a_row + p, sizeof *x);
        }
        UNROLL for (int j = 0; j < most; j++)
        {
            memcpy(&y, b[j] + p, sizeof y);
            if (rows == 1) {
                __builtin_prefetch(b[j] + p + ahead);
            }
            UNROLL for (int i = 0; i < rows; i++)
            {
                sum[i * most + j] += x[i] * y;
            }
        }
    }
    for (; p < call->k; p++) {
        UNROLL for (int i = 0; i < rows * most; i++)
        {
            total[i] += a[i / most * call->a_row + p] * b[i % most][p];
        }
    }
    for (int i = 0; i < rows * most; i += DOTS) {
        sum_lanes(sum + i, total + i);
    }
    for (int i = 0; i < rows; i++, c += call->c_row) {
        for (int64_t j = 0; j < columns; j++) {
            const T dot = total[i * most + j], y = call->accumulate ? c[j] + dot : dot;
            c[j] = bias != NULL ? y + bias[j0 + j] : y;
        }
    }
}

/* Computes columns j0 ... j1 of c. DOTS columns of b at a time stay in L1 for all rows of a. */
static void multiply_columns(const heed_gemm *call, int64_t j0, int64_t j1)
{
    enum { ACROSS = MR >= 8 ? 4 : 2 }; /* with 16 registers, 4 would spill */
    for (; j0 < j1; j0 += DOTS) {
        const int64_t end = least(j0 + DOTS, j1);
        int64_t i = 0;
        for (; i + 4 <= call->m; i += 4) {
            for (int64_t j = j0; j < end; j += ACROSS) {
                multiply_dots(4, ACROSS, call, i, j, least(end - j, ACROSS));
            }
        }
        for (; i < call->m; i++) {
            multiply_dots(1, DOTS, call, i, j0, end - j0);
        }
    }
}

enum { STRETCH = 2 * WIDTH }; /* columns of b that one thread takes */

/* Computes columns [first * STRETCH, end * STRETCH) of c. */
static void multiply_few(void *context, int64_t first, int64_t end)
{
    const heed_gemm *call = context;
    multiply_columns(call, first * STRETCH, least(end * STRETCH, call->n));
}

/* ---- one block ---- */

/* A block of b: rows p0 ... p0 + kc, columns j0 ... j0 + columns, packed or in place. A row of
 * tiles stays on one thread. */
typedef struct block {
    const heed_gemm *call;
    int64_t p0, kc, j0, columns;
    bool in_place, packs_a;
    T *packed;
} block;

static void pack_panels(void *context, int64_t first, int64_t end)
{
    const block *at = context;
    const heed_gemm *call = at->call;
    for (int64_t i = first; i < end; i++) {
        const int64_t j = edge_of(i, at->columns);
        const int64_t columns = edge_of(i + 1, at->columns) - j;
        const T *b = (const T *)call->b + at->p0 * call->b_row + (at->j0 + j) * call->b_col;
        pack_panel(call, b, at->kc, columns, at->packed + i * at->kc * PANEL);
    }
}

/* Multiplies tiles [first, end) of rows. */
static void multiply_rows(void *context, int64_t first, int64_t end)
{
    const block *at = context;
    const heed_gemm *call = at->call;
    const int64_t stop = least(end * MR, call->m);
    const T *bias = at->p0 + at->kc == call->k ? call->bias : NULL;
    const T *b = (const T *)call->b + at->p0 * call->b_row + at->j0;
    _Alignas(64) T packed[KC * MR + WIDTH];
    output_tile t = {.a_row = call->a_row, .a_col = call->a_col, .kc = at->kc};
    t.b_row = at->in_place ? call->b_row : PANEL;
    t.c_row = call->c_row;
    t.add = call->accumulate || at->p0 > 0;
    for (int64_t i = first * MR, rows; i < stop; i += rows) {
        rows = rows_of_tile(stop - i);
        t.a = (const T *)call->a + i * call->a_row + at->p0 * call->a_col;
        if (at->packs_a) {
            pack_rows(call, t.a, rows, at->kc, packed);
            t.a = packed;
            t.a_row = 1;
            t.a_col = MR;
        }
        T *c = (T *)call->c + i * call->c_row + at->j0;
        for (int64_t k = 0, j = 0; j < at->columns; k++, j += t.columns) {
            t.columns = edge_of(k + 1, at->columns) - j;
            t.b = at->in_place ? b + j : at->packed + k * at->kc * PANEL;
            t.c = c + j;
            t.bias = bias != NULL ? bias + at->j0 + j : NULL;
            multiply_tile(&t, rows);
        }
    }
}

/* Minimum work per thread: PACKING_GRAIN elements to pack, FEW_GRAIN elements of b if a has few
 * rows, GRAIN multiplications. */
enum { PACKING_GRAIN = 1 << 13, FEW_GRAIN = 1 << 14, GRAIN = 1 << 20 };

static void share(int64_t count, double cost, double grain, heed_parallel_work *work, void *context)
{
    heed_parallel_for(count, (int64_t)(grain / cost) + 1, work, context);
}

static void multiply_block(block *at)
{
    const int64_t rows = parts_of(at->call->m, MR), panels = parts_of(at->columns, PANEL);
    const double of_row = MR * (double)at->columns * (double)at->kc;
    if ((double)rows * of_row < 2 * GRAIN) {
        if (!at->in_place) {
            pack_panels(at, 0, panels);
        }
        multiply_rows(at, 0, rows);
        return;
    }
    if (!at->in_place) {
        share(panels, PANEL * (double)at->kc, PACKING_GRAIN, pack_panels, at);
    }
    share(rows, of_row, GRAIN, multiply_rows, at);
}

/* ---- all blocks ---- */

/* Maximum elements of a packed block of b. OWN_WORKSPACE: on the stack; WORKSPACE: from the
 * caller. */
enum { OWN_WORKSPACE = KC * PANEL, WORKSPACE = BLOCK_BYTES / sizeof(T) };

/* How k and n are cut: evenly, so that no block is small. */
typedef struct plan {
    int64_t kc, nc, workspace;
    bool in_place, packs_a;
} plan;

static plan plan_of(const heed_gemm *call, int64_t workspace)
{
    const int64_t panels = parts_of(call->n, PANEL), size = (int64_t)sizeof(T);
    const bool is_far = call->b_row * size > 2048;
    const bool few = panels <= (call->a_col * size % 4096 == 0 ? 2 : 4);
    plan p = {.kc = call->k, .nc = call->n};
    if (call->k > KC) {
        p.kc = least(KC, parts_of(parts_of(call->k, parts_of(call->k, KC)), 16) * 16);
    }
    p.in_place = call->b_col == 1 && call->n >= WIDTH && (call->m <= 4 * MR || !is_far);
    p.packs_a = (call->a_row != 1 && call->a_col != 1) ||
                (call->a_col != 1 && !few && call->a_col * size >= 1024) ||
                (call->a_col == 1 && panels > 8 && call->a_row * size % 4096 == 0);
    p.workspace = panels * p.kc * PANEL;
    if (p.in_place) {
        p.workspace = 0;
    } else if (p.workspace > workspace) {
        p.nc = parts_of(panels, parts_of(panels, workspace / PANEL / p.kc)) * PANEL;
        p.workspace = p.kc * p.nc;
    }
    return p;
}

static void multiply_blocks(const heed_gemm *call)
{
    const plan p = plan_of(call, call->workspace != NULL ? WORKSPACE : OWN_WORKSPACE);
    _Alignas(64) T on_stack[OWN_WORKSPACE];
    block at = {.call = call, .in_place = p.in_place, .packs_a = p.packs_a};
    at.packed = call->workspace != NULL ? call->workspace : on_stack;
    /* With k = 0, one empty block still writes zeros to c. */
    do {
        at.kc = least(p.kc, call->k - at.p0);
        for (at.j0 = 0; at.j0 < call->n; at.j0 += p.nc) {
            at.columns = least(p.nc, call->n - at.j0);
            multiply_block(&at);
        }
        at.p0 += p.kc;
    } while (at.p0 < call->k);
}

/* ---- choosing by shape ---- */

enum way { DOT, SMALL_ONE, FEW, BLOCKS };

static enum way way_of(const heed_gemm *call)
{
    if (call->m == 1 && call->n == 1) {
        return DOT;
    }
#ifdef T_IS_F32
    if (is_small(call)) {
        return SMALL_ONE;
    }
#endif
    return is_few_dots(call) ? FEW : BLOCKS;
}

int64_t KERNEL(gemm_workspace)(const heed_gemm *call)
{
    const int64_t workspace = way_of(call) == BLOCKS ? plan_of(call, WORKSPACE).workspace : 0;
    return workspace <= OWN_WORKSPACE ? 0 : workspace * (int64_t)sizeof(T);
}

void KERNEL(gemm)(const heed_gemm *call)
{
    assert(call->bias == NULL || !call->accumulate);
    if (call->m == 0 || call->n == 0) {
        return;
    }
    switch (way_of(call)) {
    case DOT:
        multiply_dot(call);
        break;
    case SMALL_ONE:
#ifdef T_IS_F32
        if (call->m * call->k * call->n <= TINY) {
            multiply_tiny(call);
        } else {
            multiply_small(call);
        }
#endif
        break;
    case FEW:
        share(parts_of(call->n, STRETCH), (double)(call->k + 1) * STRETCH, FEW_GRAIN, multiply_few,
              (void *)call);
        break;
    case BLOCKS:
        multiply_blocks(call);
    }
}
