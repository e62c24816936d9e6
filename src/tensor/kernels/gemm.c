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
 * Other shapes: small products (gemm_small.h), and few rows of a (gemm_few.h).
 *
 * Threads share the packing of panels, then the tiles. The sum of an element is never split. The
 * order of its terms depends on the shape of the whole product and, for few rows, on strides. */
#include <assert.h>
#include <string.h>

#include "../parallel.h"
#include "gemm_transpose.h"

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
    TILES = 16 / sizeof(T), /* tiles of a packed at once: whole cache lines, unless MR is 6 */
    BLOCK_BYTES = VECTOR_BYTES == 64 ? 1 << 20 : 1 << 18,
    AHEAD = 8,       /* prefetch distance in rows of b */
    SMALL = 2048,    /* maximum multiplications in a product summed in double */
    SMALL_K = 256,   /* maximum k of such a product */
    SMALL_ROW = 512, /* maximum multiplications if a has a single row */
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
    if (left >= MR && !(MR == 12 && left == 16)) { /* 8 and 8 are faster than 12 and 4 */
        return MR;
    }
    return left >= 8 && MR > 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
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

/* Packs the next tiles of the `left` rows of a at `a`, one after another, and returns their number:
 * TILES if a is stored transposed and enough rows are left, to read whole cache lines; else 1. */
static int64_t pack_tiles(const heed_gemm *call, const T *a, int64_t left, int64_t kc, T *to)
{
    if (call->a_row != 1 || left < TILES * MR) {
        pack_rows(call, a, rows_of_tile(left), kc, to);
        return 1;
    }
    for (int64_t p = 0; p < kc; p++, a += call->a_col, to += MR) {
        for (int64_t i = 0; i < TILES * MR; i += 64 / sizeof *a) {
            __builtin_prefetch(a + 2 * AHEAD * call->a_col + i);
        }
        for (int64_t tile = 0; tile < TILES; tile++) {
            memcpy(to + tile * kc * MR, a + tile * MR, MR * sizeof *to);
        }
    }
    return TILES;
}

/* ---- tiles ---- */

#define SUM     T
#define NAME(x) x##_plain
#include "gemm_tiles.h"

#ifdef T_IS_F32
#define SUM     TOTAL
#define NAME(x) x##_in_double
#include "gemm_tiles.h"
#endif

static int64_t parts_of(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

/* The first column of a panel. The last two panels divide their columns so that the last has a full
 * vector. */
static int64_t edge_of(int64_t panel, int64_t columns, int64_t lanes)
{
    const int64_t edge = panel * 2 * lanes, rest = columns - edge;
    return rest <= 0 ? columns : rest < lanes && panel > 0 ? columns - lanes : edge;
}

#ifdef T_IS_F32
#include "gemm_small.h"
#endif
#include "gemm_few.h"

/* ---- one block ---- */

/* A block of b: rows p0 ... p0 + kc, columns j0 ... j0 + columns, packed or in place. A row of
 * tiles may be cut into pieces of a few panels to keep all threads busy. */
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
        const int64_t j = edge_of(i, at->columns, WIDTH);
        const int64_t columns = edge_of(i + 1, at->columns, WIDTH) - j;
        const T *b = (const T *)call->b + at->p0 * call->b_row + (at->j0 + j) * call->b_col;
        pack_panel(call, b, at->kc, columns, at->packed + i * at->kc * PANEL);
    }
}

/* Multiplies rows first ... end of a by panels `panel` ... `end_panel`. */
static void multiply_rows(const block *at, int64_t first, int64_t end, int64_t panel,
                          int64_t end_panel)
{
    const heed_gemm *call = at->call;
    const T *bias = at->p0 + at->kc == call->k ? call->bias : NULL;
    const T *b = (const T *)call->b + at->p0 * call->b_row + at->j0;
    _Alignas(64) T packed[TILES * KC * MR + WIDTH];
    tile_plain t = {.a_row = call->a_row, .a_col = call->a_col, .kc = at->kc};
    t.b_row = at->in_place ? call->b_row : PANEL;
    t.c_row = call->c_row;
    t.add = call->accumulate || at->p0 > 0;
    for (int64_t i = first, rows, tiles = 0, tile = 0; i < end; i += rows) {
        rows = rows_of_tile(end - i);
        t.a = (const T *)call->a + i * call->a_row + at->p0 * call->a_col;
        if (at->packs_a) {
            if (++tile >= tiles) {
                tiles = pack_tiles(call, t.a, end - i, at->kc, packed);
                tile = 0;
            }
            t.a = packed + tile * at->kc * MR;
            t.a_row = 1;
            t.a_col = MR;
        }
        T *c = (T *)call->c + i * call->c_row + at->j0;
        int64_t j = edge_of(panel, at->columns, WIDTH);
        for (int64_t k = panel; k < end_panel; k++, j += t.columns) {
            t.columns = edge_of(k + 1, at->columns, WIDTH) - j;
            t.b = at->in_place ? b + j : at->packed + k * at->kc * PANEL;
            t.c = c + j;
            t.bias = bias != NULL ? bias + at->j0 + j : NULL;
            multiply_tile_plain(&t, rows);
        }
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

/* Minimum work per thread: PACKING_GRAIN elements to pack, FEW_GRAIN elements of b if a has few
 * rows, GRAIN multiplications. PIECES: with this many rows of tiles or more, rows are not cut. */
enum { PACKING_GRAIN = 1 << 13, FEW_GRAIN = 1 << 14, GRAIN = 1 << 20, PIECES = 32 };

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
    plan p = {.kc = call->k, .nc = call->n};
    if (call->k > KC) {
        p.kc = least(KC, parts_of(parts_of(call->k, parts_of(call->k, KC)), 16) * 16);
    }
    p.in_place = call->b_col == 1 && call->n >= WIDTH && (call->m <= 4 * MR || !is_far);
    p.packs_a = (call->a_row != 1 && call->a_col != 1) ||
                (call->a_col != 1 && panels > 2 && call->a_col * size >= 1024) ||
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
    _Alignas(64) T own[OWN_WORKSPACE];
    block at = {.call = call, .in_place = p.in_place, .packs_a = p.packs_a};
    at.packed = call->workspace != NULL ? call->workspace : own;
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
    return is_few_dots(call) || is_row(call) ? FEW : BLOCKS;
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
