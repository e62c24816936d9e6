/* The matrix product c (m, n) = a (m, k) b (k, n), or c += a b, on any row and column strides.
 *
 * Compiled as kernels.c is. k and n are cut into blocks, so that what of b is in work stays in the second-level
 * cache; a block of b into panels of two vectors; c below it into tiles of MR rows and a panel:
 *
 *                     columns                  a block of b is packed once, panel behind panel, each with its
 *               |  |  |##|  |  |  |            rows one behind the other, transposed in registers if b is;
 *          b    |  |  |##|  |  |  | kc         or it is read where it lies, if few rows of a meet it
 *               |  |  |##|  |  |  |
 *                      ||                      MR rows of a are packed as well, as columns, where many panels
 *      a   kc         _vv_                     meet them or they lie badly, and stay in the first-level cache
 *     MR |####|------>|tile| ---> next panel   while the panels go by: from the second level, asked for AHEAD
 *        |    |                                rows before
 *
 * A tile's MR x 2 sums stay in registers down the whole panel, and go to c from there: with what c holds from
 * the block of rows before, and with the bias from the last one. They are enough to hide the latency of a
 * multiply-add, and leave registers for a row of the panel and one number of a, which meets two vectors. Rows
 * that are left over get tiles of 8, 4, 2 and 1. Columns that are left over need no zeros: the two vectors of a
 * panel overlap, and both write the same where they do; where less than a vector is left, the panel before
 * gives it some of its own. Only a block that is narrower than a vector has room behind its rows of b, and goes
 * to c through a buffer.
 *
 * Small products of f32 are summed in double, which costs little there: their results are rounded once,
 * and are the same with every instruction set, but for a bit now and then. A dot product has no tiles: it
 * is summed like a line. A single row needs no panels (gemm_row.h).
 *
 * Threads share the panels to be packed, and then the tiles: an element's sum is never divided, and its order
 * depends on the shape of the whole product alone, but for a single row: there on how b lies as well. */
#include <assert.h>
#include <string.h>

#include "../parallel.h"
#include "element.h"

/* MR: rows of a tile. */
#if VECTOR_BYTES == 64
#define MOST_ROWS 12
#elif VECTOR_BYTES == 32
#define MOST_ROWS 6
#else
#define MOST_ROWS 4
#endif
enum {
    MR = MOST_ROWS,
    PANEL = 2 * VECTOR_BYTES / (int)sizeof(T),
    KC = sizeof(T) == 4 ? 384 : 256,
    BLOCK_BYTES = VECTOR_BYTES == 64 ? 1 << 20 : 1 << 18,
    AHEAD = 8,     /* how many rows of b ahead its cache lines are asked for */
    SMALL = 2048,  /* multiplications of a product that is summed in double, */
    SMALL_K = 256, /* and length of its sums */
};

#include "gemm_pack.h"
#include "gemm_row.h"

#define SUM     T
#define NAME(x) x##_plain
#include "gemm_tiles.h"

#ifdef T_IS_F32
#define SUM     TOTAL
#define NAME(x) x##_in_double
#include "gemm_tiles.h"
#endif

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t parts_of(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

/* Of so many rows that are left, how many the next tile takes. */
static int64_t rows_of_tile(int64_t left)
{
    if (left >= MR && !(MR == 12 && left == 16)) { /* 8 and 8 are better than 12 and 4 */
        return MR;
    }
    return left >= 8 && MR > 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* Where a panel of two vectors begins, or ends. The last two share their columns so that the last has a full
 * vector. */
static int64_t edge_of(int64_t panel, int64_t columns, int64_t lanes)
{
    const int64_t edge = panel * 2 * lanes, rest = columns - edge;
    return rest <= 0 ? columns : rest < lanes && panel > 0 ? columns - lanes : edge;
}

/* ---- small products of f32 ---- */

#ifdef T_IS_F32
/* The limits come first, so that nothing overflows. */
static bool is_small(const heed_gemm *call)
{
    return call->k <= SMALL_K && call->m <= SMALL && call->n <= SMALL &&
           call->k * call->n <= SMALL && call->m * call->k * call->n <= SMALL;
}

static void to_doubles(const T *from, int64_t rows, int64_t columns, int64_t row, int64_t column,
                       TOTAL *to, int64_t to_row)
{
    if (column == 1 && row == columns && to_row == columns) {
        columns *= rows; /* all in one piece */
        rows = 1;
    }
    for (int64_t i = 0; i < rows; i++, from += row, to += to_row) {
        for (int64_t j = 0; j < columns; j++) {
            to[j] = (TOTAL)from[j * column];
        }
    }
}

/* Both are turned into doubles first. What of b fills a vector up is zero: it could be slow to multiply. */
static void multiply_small(const heed_gemm *call)
{
    enum { LANES = lanes_in_double };
    TOTAL a[SMALL], b[SMALL_K * LANES > SMALL ? SMALL_K * LANES : SMALL];
    const int64_t b_row = call->n > LANES ? call->n : LANES;
    to_doubles(call->a, call->m, call->k, call->a_row, call->a_col, a, call->k);
    to_doubles(call->b, call->k, call->n, call->b_row, call->b_col, b, b_row);
    for (int64_t p = 0; p < call->k; p++) {
        for (int64_t j = call->n; j < LANES; j++) {
            b[p * b_row + j] = 0;
        }
    }
    tile_in_double t = {.a_row = call->k, .a_col = 1, .b_row = b_row, .kc = call->k};
    t.c_row = call->c_row;
    t.add = call->accumulate;
    for (int64_t i = 0, rows; i < call->m; i += rows) {
        rows = rows_of_tile(call->m - i);
        t.a = a + i * call->k;
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

/* ---- a block ---- */

/* What of b is in work: rows p0 ... p0 + kc, columns j0 ... j0 + columns, packed panel behind panel, or in
 * place. A row of tiles may be cut into pieces of some panels, so that there is enough for all threads. */
typedef struct block {
    const heed_gemm *call;
    int64_t p0, kc, j0, columns;
    int64_t pieces, panels_of_piece;
    bool in_place, packs_a;
    T *packed;
} block;

static void pack_panels(void *context, int64_t first, int64_t end)
{
    const block *at = context;
    const heed_gemm *call = at->call;
    for (int64_t i = first; i < end; i++) {
        const int64_t j = edge_of(i, at->columns, LANES_OF_T);
        const int64_t columns = edge_of(i + 1, at->columns, LANES_OF_T) - j;
        const T *b = (const T *)call->b + at->p0 * call->b_row + (at->j0 + j) * call->b_col;
        pack_panel(call, b, at->kc, columns, at->packed + i * at->kc * PANEL);
    }
}

/* A row of tiles, from the rows of a that t has, by panels first ... end. */
static void multiply_panels(const block *at, tile_plain *t, int64_t i, int64_t rows, int64_t first,
                            int64_t end)
{
    const heed_gemm *call = at->call;
    const T *bias = at->p0 + at->kc == call->k ? call->bias : NULL;
    const T *b = (const T *)call->b + at->p0 * call->b_row + at->j0;
    T *c = (T *)call->c + i * call->c_row + at->j0;
    t->b_row = at->in_place ? call->b_row : PANEL;
    int64_t j = edge_of(first, at->columns, LANES_OF_T);
    for (int64_t panel = first; panel < end; panel++, j += t->columns) {
        t->columns = edge_of(panel + 1, at->columns, LANES_OF_T) - j;
        t->b = at->in_place ? b + j : at->packed + panel * at->kc * PANEL;
        t->c = c + j;
        t->bias = bias != NULL ? bias + at->j0 + j : NULL;
        multiply_tile_plain(t, rows);
    }
}

/* Rows first ... end of a, by some panels. */
static void multiply_rows(const block *at, int64_t first, int64_t end, int64_t panel,
                          int64_t end_panel)
{
    const heed_gemm *call = at->call;
    _Alignas(64) T packed[KC * MR + LANES_OF_T];
    tile_plain t = {.a_row = call->a_row, .a_col = call->a_col, .kc = at->kc};
    t.c_row = call->c_row;
    t.add = call->accumulate || at->p0 > 0;
    for (int64_t i = first, rows; i < end; i += rows) {
        rows = rows_of_tile(end - i);
        t.a = (const T *)call->a + i * call->a_row + at->p0 * call->a_col;
        if (at->packs_a) {
            pack_rows(call, t.a, rows, at->kc, packed);
            t.a = packed;
            t.a_row = 1;
            t.a_col = MR;
        }
        multiply_panels(at, &t, i, rows, panel, end_panel);
    }
}

static void multiply_pieces(void *context, int64_t first, int64_t end)
{
    const block *at = context;
    const int64_t panels = parts_of(at->columns, PANEL);
    if (at->pieces == 1) {
        multiply_rows(at, first * MR, least(end * MR, at->call->m), 0, panels);
        return;
    }
    for (int64_t i = first; i < end; i++) {
        const int64_t row = i / at->pieces * MR, panel = i % at->pieces * at->panels_of_piece;
        multiply_rows(at, row, least(row + MR, at->call->m), panel,
                      least(panel + at->panels_of_piece, panels));
    }
}

/* Least work for another thread: elements that are packed, multiplications. */
enum { PACKING_GRAIN = 1 << 13, GRAIN = 1 << 20, PIECES = 32 };

static void share(int64_t count, double cost, double grain, heed_parallel_work *work, void *context)
{
    heed_parallel_for(count, (int64_t)(grain / cost) + 1, work, context);
}

static void multiply_block(block *at)
{
    const int64_t m = at->call->m, rows = parts_of(m, MR), panels = parts_of(at->columns, PANEL);
    if ((double)m * (double)at->columns * (double)at->kc < 2 * GRAIN) {
        if (!at->in_place) {
            pack_panels(at, 0, panels);
        }
        multiply_rows(at, 0, m, 0, panels);
        return;
    }
    const int64_t pieces = rows < PIECES ? least(panels, PIECES / rows) : 1;
    at->panels_of_piece = parts_of(panels, pieces);
    at->pieces = parts_of(panels, at->panels_of_piece);
    const double of_panel = (double)PANEL * (double)at->kc;
    if (!at->in_place) {
        share(panels, of_panel, PACKING_GRAIN, pack_panels, at);
    }
    share(rows * at->pieces, MR * of_panel * (double)at->panels_of_piece, GRAIN, multiply_pieces,
          at);
}

/* ---- all blocks ---- */

/* OWN_ROOM: elements on the stack. ROOM: of a block of b for which the caller finds room. */
enum { OWN_ROOM = KC * PANEL, ROOM = BLOCK_BYTES / sizeof(T) };

/* How k and n are cut: evenly, so that no block is a small one. */
typedef struct plan {
    int64_t kc, nc, room;
    bool in_place, packs_a;
} plan;

static plan plan_of(const heed_gemm *call, int64_t room)
{
    const int64_t panels = parts_of(call->n, PANEL), size = (int64_t)sizeof(T);
    const bool is_far = call->b_row * size > 2048;
    plan p = {.kc = call->k, .nc = call->n};
    if (call->k > KC) {
        p.kc = least(KC, parts_of(parts_of(call->k, parts_of(call->k, KC)), 16) * 16);
    }
    p.in_place = call->b_col == 1 && call->n >= LANES_OF_T && (call->m <= 4 * MR || !is_far);
    p.packs_a = (call->a_row != 1 && call->a_col != 1) ||
                (call->a_col != 1 && panels > 2 && call->a_col * size >= 1024) ||
                (call->a_col == 1 && panels > 8 && call->a_row * size % 4096 == 0);
    p.room = panels * p.kc * PANEL;
    if (p.in_place) {
        p.room = 0;
    } else if (p.room > room) {
        p.nc = parts_of(panels, parts_of(panels, room / PANEL / p.kc)) * PANEL;
        p.room = p.kc * p.nc;
    }
    return p;
}

static void multiply_blocks(const heed_gemm *call)
{
    const plan p = plan_of(call, call->room != NULL ? ROOM : OWN_ROOM);
    _Alignas(64) T own[OWN_ROOM];
    block at = {.call = call, .in_place = p.in_place, .packs_a = p.packs_a};
    at.packed = call->room != NULL ? call->room : own;
    /* An empty sum is zero: with k = 0 one block without rows still writes c. */
    do {
        at.kc = least(p.kc, call->k - at.p0);
        for (at.j0 = 0; at.j0 < call->n; at.j0 += p.nc) {
            at.columns = least(p.nc, call->n - at.j0);
            multiply_block(&at);
        }
        at.p0 += p.kc;
    } while (at.p0 < call->k);
}

/* ---- which way ---- */

enum way { LINE, SMALL_ONE, ROW, BLOCKS };

static enum way way_of(const heed_gemm *call)
{
    if (call->m == 1 && call->n == 1) {
        return LINE;
    }
#ifdef T_IS_F32
    if (is_small(call)) {
        return SMALL_ONE;
    }
#endif
    return takes_row(call) ? ROW : BLOCKS;
}

int64_t KERNELS_GEMM_ROOM(const heed_gemm *call)
{
    const int64_t room = way_of(call) == BLOCKS ? plan_of(call, ROOM).room : 0;
    return room <= OWN_ROOM ? 0 : room * (int64_t)sizeof(T);
}

void KERNELS_GEMM(const heed_gemm *call)
{
    assert(call->bias == NULL || !call->accumulate);
    if (call->m == 0 || call->n == 0) {
        return;
    }
    switch (way_of(call)) {
    case LINE:
        multiply_line(call);
        break;
    case SMALL_ONE:
#ifdef T_IS_F32
        multiply_small(call);
#endif
        break;
    case ROW:
        share(parts_of(call->n, STRETCH), (double)(call->k + 1) * STRETCH, PACKING_GRAIN,
              multiply_row, (void *)call);
        break;
    case BLOCKS:
        multiply_blocks(call);
    }
}
