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
 * that are left over get tiles of 8, 4, 2 and 1; columns, a last panel of one or two vectors that is filled up
 * with zeros, whose tiles go to c through a buffer.
 *
 * Small products of f32 are summed in double, which costs little there: their results are rounded once,
 * and are the same with every instruction set, but for a bit now and then. A dot product has no tiles: it
 * is summed like a line. A single row needs no panels (gemm_row.h).
 *
 * Threads share the panels to be packed, and then the tiles: an element's sum is never divided, and its order
 * depends on the shape of the whole product alone, but for a single row: there on how b lies as well. */
#include <assert.h>
#include <string.h>

#include "tensor/kernels_dtype.h"
#include "tensor/parallel.h"

/* MR: rows of a tile. */
#if defined __AVX512F__
#define VECTOR_BYTES 64
#define MOST_ROWS    12
#elif defined __AVX__
#define VECTOR_BYTES 32
#define MOST_ROWS    6
#else
#define VECTOR_BYTES 16
#define MOST_ROWS    4
#endif
enum {
    MR = MOST_ROWS,
    PANEL = 2 * VECTOR_BYTES / (int)sizeof(T),
    KC = sizeof(T) == 4 ? 384 : 256,
    BLOCK_BYTES = VECTOR_BYTES == 64 ? 1 << 20 : 1 << 18,
    AHEAD = 8, /* how many rows of b ahead its cache lines are asked for */
    SMALL = 2048,
};

#include "tensor/gemm_pack.h"
#include "tensor/gemm_row.h"

#define SUM     T
#define NAME(x) x##_plain
#include "tensor/gemm_tiles.h"

#ifdef T_IS_F32
#define SUM     TOTAL
#define NAME(x) x##_in_double
#include "tensor/gemm_tiles.h"
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
    return left >= MR ? MR : left >= 8 && MR > 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* ---- small products of f32 ---- */

#ifdef T_IS_F32
/* The limits come first, so that nothing overflows. */
static bool is_small(const heed_gemm *call)
{
    return call->k <= SMALL && call->m <= SMALL && call->n <= SMALL && call->k * call->n <= SMALL &&
           call->m * call->k * call->n <= SMALL;
}

static void to_doubles(const T *from, int64_t rows, int64_t columns, int64_t row, int64_t column,
                       int64_t to_row, TOTAL *to)
{
    for (int64_t i = 0; i < rows; i++, from += row, to += to_row) {
        for (int64_t j = 0; j < columns; j++) {
            to[j] = (TOTAL)from[j * column];
        }
    }
}

/* Both are turned into doubles first. */
static void multiply_small(const heed_gemm *call)
{
    enum { STEP = columns_in_double };
    TOTAL a[SMALL], b[SMALL * STEP];
    const int64_t b_row = parts_of(call->n, STEP) * STEP;
    to_doubles(call->a, call->m, call->k, call->a_row, call->a_col, call->k, a);
    to_doubles(call->b, call->k, call->n, call->b_row, call->b_col, b_row, b);
    tile_in_double t = {
        .a_row = call->k, .a_col = 1, .b_row = b_row, .kc = call->k, .c_row = call->c_row};
    t.add = call->accumulate;
    for (int64_t i = 0, rows; i < call->m; i += rows) {
        rows = rows_of_tile(call->m - i);
        for (int64_t j = 0; j < call->n; j += STEP) {
            t.a = a + i * call->k;
            t.b = b + j;
            t.c = (T *)call->c + i * call->c_row + j;
            t.columns = least(call->n - j, STEP);
            t.bias = call->bias != NULL ? (const T *)call->bias + j : NULL;
            multiply_tile_in_double(&t, rows);
        }
    }
}
#endif

/* ---- blocks ---- */

/* What of b is packed at a time: rows p0 ... p0 + kc, columns j0 ... j0 + columns, in panels one behind the
 * other. Only the last panel is, if others are read where they lie. */
typedef struct block {
    const heed_gemm *call;
    int64_t p0, kc, j0, columns;
    int64_t pieces, panels; /* that a row of tiles is cut into, and panels of a piece */
    bool in_place, packs_a;
    T *packed;
} block;

enum { GRAIN = 1 << 20, PACKING_GRAIN = 1 << 15 }; /* multiplications, elements */

/* Work below two grains is not worth a look at the pool. */
static void share(int64_t count, double cost, double grain, heed_parallel_work *work, void *context)
{
    if ((double)count * cost < 2 * grain) {
        work(context, 0, count);
        return;
    }
    heed_parallel_for(count, (int64_t)(grain / cost) + 1, work, context);
}

/* Vectors that are not full are read from packed panels alone. */
static bool is_packed(const block *at, int64_t panel)
{
    return !at->in_place || ((panel + 1) * PANEL > at->columns && at->columns % LANES_OF_T != 0);
}

static T *packed_panel(const block *at, int64_t panel)
{
    return at->packed + (at->in_place ? 0 : panel * at->kc * PANEL);
}

static void pack_panels(void *context, int64_t first, int64_t end)
{
    const block *at = context;
    const heed_gemm *call = at->call;
    for (int64_t i = first; i < end; i++) {
        if (is_packed(at, i)) {
            const int64_t j = i * PANEL;
            const T *b = (const T *)call->b + at->p0 * call->b_row + (at->j0 + j) * call->b_col;
            pack_panel(call, b, at->kc, least(at->columns - j, PANEL), packed_panel(at, i));
        }
    }
}

/* Rows of a, by panels first ... end of the block. */
static void multiply_rows(const block *at, tile_plain *t, int64_t i, int64_t rows, int64_t first,
                          int64_t end)
{
    const heed_gemm *call = at->call;
    const bool is_last = at->p0 + at->kc == call->k;
    for (int64_t panel = first; panel < end; panel++) {
        const int64_t j = at->j0 + panel * PANEL;
        if (is_packed(at, panel)) {
            t->b = packed_panel(at, panel);
            t->b_row = PANEL;
        } else {
            t->b = (const T *)call->b + at->p0 * call->b_row + j;
            t->b_row = call->b_row;
        }
        t->c = (T *)call->c + i * call->c_row + j;
        t->columns = least(at->j0 + at->columns - j, PANEL);
        t->bias = is_last && call->bias != NULL ? (const T *)call->bias + j : NULL;
        multiply_tile_plain(t, rows);
    }
}

/* Pieces first ... end: a row of tiles has at->pieces. */
static void multiply_pieces(void *context, int64_t first, int64_t end)
{
    const block *at = context;
    const heed_gemm *call = at->call;
    _Alignas(64) T packed[KC * MR + LANES_OF_T];
    const int64_t panels = parts_of(at->columns, PANEL);
    tile_plain t = {.a_row = call->a_row, .a_col = call->a_col, .kc = at->kc};
    t.c_row = call->c_row;
    t.add = call->accumulate || at->p0 > 0;
    for (int64_t piece = first; piece < end; piece++) {
        const int64_t i0 = piece / at->pieces * MR, i1 = least(i0 + MR, call->m);
        const int64_t panel = piece % at->pieces * at->panels;
        for (int64_t i = i0, rows; i < i1; i += rows) {
            rows = rows_of_tile(i1 - i);
            t.a = (const T *)call->a + i * call->a_row + at->p0 * call->a_col;
            if (at->packs_a) {
                pack_rows(call, t.a, rows, at->kc, packed);
                t.a = packed;
                t.a_row = 1;
                t.a_col = MR;
            }
            multiply_rows(at, &t, i, rows, panel, least(panel + at->panels, panels));
        }
    }
}

static void multiply_block(block *at)
{
    const int64_t panels = parts_of(at->columns, PANEL), row_tiles = parts_of(at->call->m, MR);
    const int64_t pieces = row_tiles >= 32 ? 1 : least(panels, 32 / row_tiles);
    at->panels = parts_of(panels, pieces);
    at->pieces = parts_of(panels, at->panels);
    if (!at->in_place) {
        share(panels, (double)at->kc * PANEL, PACKING_GRAIN, pack_panels, at);
    } else {
        pack_panels(at, panels - 1, panels);
    }
    share(row_tiles * at->pieces, (double)MR * at->kc * at->panels * PANEL, GRAIN, multiply_pieces,
          at);
}

/* How k and n are cut into blocks. */
typedef struct plan {
    int64_t kc, nc, room; /* room: elements of a block of b */
    bool in_place, packs_a;
} plan;

static plan plan_of(const heed_gemm *call, int64_t room)
{
    plan p = {.kc = call->k};
    if (call->k > KC) {
        p.kc = least(KC, parts_of(parts_of(call->k, parts_of(call->k, KC)), 16) * 16);
    }
    const int64_t panels = parts_of(call->n, PANEL);
    const int64_t most = room / PANEL / (p.kc > 0 ? p.kc : 1);
    const int64_t each = most >= panels ? panels : parts_of(panels, parts_of(panels, most));
    const int64_t stride = call->b_row * (int64_t)sizeof(T);
    p.nc = least(call->n, each * PANEL);
    p.in_place = call->b_col == 1 && (call->m <= 4 * MR || (stride <= 2048 && call->m <= 16 * MR));
    p.packs_a = (call->a_row != 1 && call->a_col != 1) || (call->a_col != 1 && panels > 2) ||
                (panels > 4 && call->a_row * (int64_t)sizeof(T) % 2048 == 0) || panels > 8;
    if (p.in_place) {
        p.nc = call->n;
    }
    p.room = p.in_place ? 0 : p.kc * each * PANEL;
    return p;
}

enum { OWN_ROOM = KC * PANEL, ROOM = BLOCK_BYTES / sizeof(T) }; /* OWN_ROOM: on the stack */

static void multiply_blocks(const heed_gemm *call)
{
    const plan p = plan_of(call, call->room != NULL ? ROOM : OWN_ROOM);
    _Alignas(64) T own[OWN_ROOM];
    block at = {.call = call, .in_place = p.in_place, .packs_a = p.packs_a};
    at.packed = call->room != NULL ? call->room : own;
    /* An empty sum is zero: with k = 0 one block without rows still writes c. */
    for (at.p0 = 0; at.p0 == 0 || at.p0 < call->k; at.p0 += p.kc) {
        at.kc = least(p.kc, call->k - at.p0);
        for (at.j0 = 0; at.j0 < call->n; at.j0 += p.nc) {
            at.columns = least(p.nc, call->n - at.j0);
            multiply_block(&at);
        }
        if (at.kc == 0) {
            break;
        }
    }
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

/* Of dims of size 1 the stride is any: one that says that elements are adjacent. */
static heed_gemm with_strides(const heed_gemm *given)
{
    heed_gemm call = *given;
    if (call.k == 1) {
        call.a_col = 1;
    } else if (call.m == 1) {
        call.a_row = 1;
    }
    return call;
}

int64_t KERNELS_GEMM_ROOM(const heed_gemm *given)
{
    const heed_gemm call = with_strides(given);
    if (way_of(&call) != BLOCKS) {
        return 0;
    }
    const int64_t room = plan_of(&call, ROOM).room;
    return room <= OWN_ROOM ? 0 : room * (int64_t)sizeof(T);
}

void KERNELS_GEMM(const heed_gemm *given)
{
    heed_gemm call = with_strides(given);
    assert(call.bias == NULL || !call.accumulate);
    switch (way_of(&call)) {
    case LINE:
        multiply_line(&call);
        break;
    case SMALL_ONE:
#ifdef T_IS_F32
        multiply_small(&call);
#endif
        break;
    case ROW:
        share(parts_of(call.n, STRETCH), (double)call.k * STRETCH, PACKING_GRAIN, multiply_row,
              &call);
        break;
    case BLOCKS:
        multiply_blocks(&call);
    }
}
