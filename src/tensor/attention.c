/* Attention of one head, a block of queries at a time (Rabe and Staats, 2021; Dao et al., 2022), so that what it
 * takes grows with the number of keys, not with its square. Compiled as kernels.c is.
 *
 *                    keys
 *                0    j0        end          Forward: the tiles of a block go by from the left. The softmax of
 *               +----+----+----+- - - - +    what has been seen so far is corrected as a larger score comes along
 *    a block    |    |tile|   \|            (Milakov and Gimelshein, 2018): y holds sum(exp(s - max) v), which is
 *    of queries |    |    |    | \ skipped  multiplied by exp(max - new max), and divided by sum(exp(s - max))
 *               +----+----+----+- -\- - +    in the end.
 *
 * Where one tile holds all keys there is nothing to correct.
 *
 * Backward: the weights p of a block are found again, for all its keys at once, and so is what is to be known of
 * their gradients; for moderate numbers of keys both stay in the second-level cache. That is five products for
 * each block: s, g v^T, and what they give dq, dk and dv.
 *
 * What is_causal blocks for a whole block has the weight 0 and is skipped. Only where what it would be multiplied
 * by is NaN or infinite, it is not: 0 times that is NaN, and the result that of the definition. */
#include <math.h>
#include <string.h>

#include "tensor/attention.h"
#include "tensor/kernels_dtype.h"
#include "tensor/kernels_math.h"

#ifdef T_IS_F32
#define EXP(x) exp_f32(x)
#else
#define EXP(x) exp(x)
#endif
#define LOWEST (-(T)INFINITY)

/* LANES: sums that stand side by side; rows of scores are filled up to multiples of it. */
#if defined __AVX512F__
enum { LANES = 128 / sizeof(T) };
#elif defined __AVX__
enum { LANES = 64 / sizeof(T) };
#else
enum { LANES = 32 / sizeof(T) };
#endif

static int64_t filled_up(int64_t columns)
{
    return (columns + LANES - 1) / LANES * LANES;
}

static T *row_of(const heed_matrix *m, int64_t i)
{
    return (T *)m->data + i * m->row;
}

/* ---- products ---- */

/* c (m, n) = a b, or += */
static void multiply(int64_t m, int64_t n, int64_t k, heed_matrix a, heed_matrix b, heed_matrix c,
                     bool add)
{
    const heed_gemm product = {.m = m,
                               .n = n,
                               .k = k,
                               .a = a.data,
                               .a_row = a.row,
                               .a_col = a.col,
                               .b = b.data,
                               .b_row = b.row,
                               .b_col = b.col,
                               .c = c.data,
                               .c_row = c.row,
                               .accumulate = add};
    KERNELS_GEMM(&product);
}

static heed_matrix transposed(heed_matrix m)
{
    return (heed_matrix){m.data, m.col, m.row};
}

static heed_matrix from_row(heed_matrix m, int64_t i)
{
    return (heed_matrix){row_of(&m, i), m.row, m.col};
}

/* ---- rows ---- */

static T largest(int64_t n, const T *s)
{
    T part[LANES];
    for (int j = 0; j < LANES; j++) {
        part[j] = s[j];
    }
    for (int64_t i = LANES; i < n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            part[j] = s[i + j] > part[j] ? s[i + j] : part[j];
        }
    }
    T max = LOWEST; /* NaN is passed over: it comes back through exp */
    for (int j = 0; j < LANES; j++) {
        max = part[j] > max ? part[j] : max;
    }
    return max;
}

/* s = exp(s - max), and the sum of that. */
static TOTAL exponentiate(int64_t n, T *s, T max)
{
    T part[LANES] = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            s[i + j] = EXP(s[i + j] - max);
            part[j] += s[i + j];
        }
    }
    TOTAL sum = 0;
    for (int j = 0; j < LANES; j++) {
        sum += (TOTAL)part[j];
    }
    return sum;
}

static void scale_row(int64_t n, T *x, T factor)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] *= factor;
    }
}

static void divide_row(int64_t n, T *x, TOTAL by)
{
    const T divisor = (T)by;
    for (int64_t i = 0; i < n; i++) {
        x[i] /= divisor;
    }
}

/* One row of a tile becomes its weights, as yet to be divided by *total; the return is by what the sums that
 * were made before are to be multiplied. */
static T soften(int64_t n, T *s, T *max, TOTAL *total)
{
    const T here = largest(n, s), new_max = here > *max ? here : *max;
    if (new_max == LOWEST) { /* nothing but -inf, whose weight is 0, and NaN */
        for (int64_t i = 0; i < n; i++) {
            s[i] = s[i] == LOWEST ? 0 : s[i];
            *total += (TOTAL)s[i];
        }
        return 1;
    }
    const T factor = new_max > *max ? EXP(*max - new_max) : 1;
    *total = *total * (TOTAL)factor + exponentiate(n, s, new_max);
    *max = new_max;
    return factor;
}

static T dot(int64_t n, const T *a, const T *b)
{
    T part[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            part[j] += a[i + j] * b[i + j];
        }
    }
    for (; i < n; i++) {
        sum += a[i] * b[i];
    }
    for (int j = 0; j < LANES; j++) {
        sum += part[j];
    }
    return sum;
}

static bool is_finite(const heed_matrix *m, int64_t first, int64_t end, int64_t columns)
{
    bool finite = true;
    for (int64_t i = first; i < end && finite; i++) {
        const T *x = row_of(m, i);
        int others = 0;
        if (m->col == 1) {
            for (int64_t j = 0; j < columns; j++) {
                others |= x[j] - x[j] != 0;
            }
        } else {
            for (int64_t j = 0; j < columns; j++) {
                others |= x[j * m->col] - x[j * m->col] != 0;
            }
        }
        finite = others == 0;
    }
    return finite;
}

/* ---- a block of queries ---- */

typedef struct block {
    int64_t first, rows, end; /* queries; and the keys that they see are before this one */
    heed_matrix q, s;         /* scaled q, (rows, E); scores, then weights */
    TOTAL *total;             /* (rows), for tiles: the sum of the weights so far */
    T *max;                   /* (rows), and the largest score so far */
} block;

/* Shares the room out, scales the queries and finds out how far they see; `width`: room for so many scores. */
static block begin_block(const heed_attention *call, int64_t index, int64_t width, bool is_gradient)
{
    const int64_t first = index * call->rows, left = call->queries - first;
    block b = {.first = first, .rows = left < call->rows ? left : call->rows, .end = call->keys};
    b.total = call->room;
    b.max = (T *)(b.total + call->rows);
    b.q = (heed_matrix){b.max + call->rows, call->features, 1};
    b.s = (heed_matrix){row_of(&b.q, call->rows), width, 1};
    for (int64_t i = 0; i < b.rows; i++) {
        const T *from = row_of(&call->q, first + i);
        T *to = row_of(&b.q, i);
        for (int64_t j = 0; j < call->features; j++) {
            to[j] = from[j * call->q.col] * (T)call->scale;
        }
        b.max[i] = LOWEST;
        b.total[i] = 0;
    }
    const int64_t end = first + b.rows, keys = call->keys;
    if (call->is_causal && end < keys && is_finite(&call->v, end, keys, call->values) &&
        (!is_gradient || (is_finite(&call->k, end, keys, call->features) &&
                          is_finite(&b.q, 0, b.rows, call->features) &&
                          is_finite(&call->g, first, end, call->values)))) {
        b.end = end;
    }
    return b;
}

/* Puts `value` where query i may not look, in a row for the keys from j0 on, and behind its end. */
static void block_row(const heed_attention *call, int64_t i, int64_t j0, int64_t columns, T *row,
                      T value)
{
    int64_t seen = columns;
    if (call->is_causal && i + 1 - j0 < columns) {
        seen = i + 1 > j0 ? i + 1 - j0 : 0;
    }
    if (call->keep.data != NULL) {
        const bool *keep = (const bool *)call->keep.data + i * call->keep.row + j0 * call->keep.col;
        for (int64_t j = 0; j < seen; j++) {
            row[j] = keep[j * call->keep.col] ? row[j] : value;
        }
    }
    for (int64_t j = seen; j < filled_up(columns); j++) {
        row[j] = value;
    }
}

/* s = q k^T, masked, for the keys from j0 on. */
static void find_scores(const heed_attention *call, const block *b, int64_t j0, int64_t columns)
{
    multiply(b->rows, columns, call->features, b->q, transposed(from_row(call->k, j0)), b->s,
             false);
    for (int64_t i = 0; i < b->rows; i++) {
        T *s = row_of(&b->s, i);
        if (call->bias.data != NULL) {
            const T *bias = row_of(&call->bias, b->first + i) + j0 * call->bias.col;
            for (int64_t j = 0; j < columns; j++) {
                s[j] += bias[j * call->bias.col];
            }
        }
        block_row(call, b->first + i, j0, columns, s, LOWEST);
    }
}

/* Scores become weights, where they are those of all keys. */
static void find_weights(const block *b, int64_t columns)
{
    const heed_lines rows = {.count = b->rows,
                             .n = filled_up(columns),
                             .in = {b->s.data},
                             .step = {b->s.row},
                             .out = b->s.data,
                             .out_step = b->s.row};
    LINES(safe_softmax)(&rows);
}

/* y of a block whose keys are more than one tile. */
static void attend_in_tiles(const heed_attention *call, const block *b, heed_matrix y)
{
    for (int64_t j0 = 0; j0 < b->end; j0 += call->columns) {
        const int64_t left = b->end - j0, columns = left < call->columns ? left : call->columns;
        find_scores(call, b, j0, columns);
        for (int64_t i = 0; i < b->rows; i++) {
            const T factor = soften(filled_up(columns), row_of(&b->s, i), b->max + i, b->total + i);
            if (j0 > 0 && factor != 1) {
                scale_row(call->values, row_of(&y, i), factor);
            }
        }
        multiply(b->rows, call->values, columns, b->s, from_row(call->v, j0), y, j0 > 0);
    }
    for (int64_t i = 0; i < b->rows; i++) {
        if (b->total[i] != 0) { /* else there is nothing that the query may look at */
            divide_row(call->values, row_of(&y, i), b->total[i]);
        }
    }
}

void LINES(attend)(const heed_attention *call, int64_t index)
{
    const block b = begin_block(call, index, call->columns, false);
    const heed_matrix y = from_row(call->y, b.first);
    if (b.end > call->columns) {
        attend_in_tiles(call, &b, y);
        return;
    }
    find_scores(call, &b, 0, b.end);
    find_weights(&b, b.end);
    multiply(b.rows, call->values, b.end, b.s, call->v, y, false);
}

/* ---- gradients ---- */

static void clear_rows(const heed_matrix *m, int64_t first, int64_t end, int64_t columns)
{
    for (int64_t i = first; i < end; i++) {
        memset(row_of(m, i), 0, (size_t)columns * sizeof(T));
    }
}

/* ds = p (g v^T - its mean under p), over g v^T. */
static void find_score_gradients(const heed_attention *call, const block *b, heed_matrix ds)
{
    for (int64_t i = 0; i < b->rows; i++) {
        const T *p = row_of(&b->s, i);
        T *d = row_of(&ds, i);
        const T mean = dot(b->end, p, d);
        for (int64_t j = 0; j < b->end; j++) {
            d[j] = p[j] * (d[j] - mean);
        }
        block_row(call, b->first + i, 0, b->end, d, 0);
    }
}

/* A row of NaN has that weight for what is blocked, too. */
static void find_all_weights(const heed_attention *call, block *b)
{
    find_scores(call, b, 0, b->end);
    find_weights(b, b->end);
    if (b->end < call->keys && !is_finite(&b->s, 0, b->rows, b->end)) {
        b->end = call->keys;
        find_scores(call, b, 0, b->end);
        find_weights(b, b->end);
    }
}

/* What a block adds to dk and dv, and its dq. */
static void add_block(const heed_attention *call, block *b, heed_matrix ds)
{
    const int64_t rows = b->rows, features = call->features, values = call->values;
    const heed_matrix g = from_row(call->g, b->first), dq = from_row(call->dq, b->first);
    find_all_weights(call, b);
    multiply(rows, b->end, values, g, transposed(call->v), ds, false);
    find_score_gradients(call, b, ds);
    multiply(rows, features, b->end, ds, call->k, dq, false);
    multiply(b->end, features, rows, transposed(ds), b->q, call->dk, true);
    multiply(b->end, values, rows, transposed(b->s), g, call->dv, true);
    for (int64_t i = 0; i < rows; i++) {
        scale_row(features, row_of(&dq, i), (T)call->scale);
    }
}

void LINES(attend_gradient)(const heed_attention *call)
{
    const int64_t width = heed_attention_width(call->keys);
    clear_rows(&call->dk, 0, call->keys, call->features);
    clear_rows(&call->dv, 0, call->keys, call->values);
    for (int64_t i = 0; i * call->rows < call->queries; i++) {
        block b = begin_block(call, i, width, true);
        add_block(call, &b, (heed_matrix){row_of(&b.s, call->rows), width, 1});
    }
}
