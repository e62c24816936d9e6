/* Attention of one head, y = softmax(scale q k^T, masked) v, one block of queries at a time (Rabe
 * and Staats, 2021; Dao et al., 2022), so that memory is linear in the number of keys. Operands are
 * strided matrices; products use gemm.
 *
 *                    keys
 *                0    j0        end          Forward: visits the tiles of a block from the left
 *               +----+----+----+- - - - +    with a running softmax (Milakov and Gimelshein,
 *    a block    |    |tile|   \|            2018): y accumulates the sum of exp(s - max) v. When
 *    of queries |    |    |    | \ skipped  a tile raises max, y and the total so far are scaled
 *               +----+----+----+- -\- - +    by exp(old max - new max). At the end, y is divided
 *                                            by the total, the sum of exp(s - max).
 *
 * A single tile needs no correction. Backward: recomputes the weights p of a block of queries, for
 * all keys at once. It takes five products per block: s, g v^T, and
 *
 *     dv += p^T g         ds = p (g v^T - mean of g v^T under p)
 *     dk += ds^T scale q  dq = scale ds k
 *
 * With is_causal, keys that come after all queries of a block are skipped, unless their values are
 * NaN or infinite: multiplying those by a weight of 0 gives NaN, as in the definition. */
#include "attention_tiles.h"

#include "softmax_rows.h"

static T *row_of(const heed_matrix *m, int64_t i)
{
    return (T *)m->data + i * m->row;
}

/* ---- products ---- */

/* c (m, n) = a b or, with `add`, c += a b. */
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
    KERNEL(gemm)(&product);
}

static heed_matrix transposed(heed_matrix m)
{
    return (heed_matrix){m.data, m.col, m.row};
}

static heed_matrix rows_from(heed_matrix m, int64_t i)
{
    return (heed_matrix){row_of(&m, i), m.row, m.col};
}

/* ---- rows ---- */

/* True if all elements of these rows are finite. NaN and infinities give NaN when multiplied by
 * 0. */
static bool is_finite(const heed_matrix *m, int64_t first, int64_t end, int64_t columns)
{
    vector all = {0};
    T rest = 0;
    int64_t j = 0;
    for (; m->col == 1 && j + WIDTH <= columns; j += WIDTH) {
        for (int64_t i = first; i < end; i++) {
            all += load(row_of(m, i) + j) * 0;
        }
    }
    for (; j < columns; j++) {
        for (int64_t i = first; i < end; i++) {
            rest += row_of(m, i)[j * m->col] * 0;
        }
    }
    return sum_of_vector(all) + (double)rest == 0;
}

/* ---- a block of queries ---- */

typedef struct query_block {
    int64_t first, rows, end; /* queries first ... first + rows; they attend to keys before `end` */
    heed_matrix q, s;         /* scaled q (rows, E); scores, later weights */
    TOTAL *total;             /* (rows): the sum of weights so far */
    T *max, *factor;          /* (rows): the largest score so far; the latest correction factor */
} query_block;

/* Divides up the workspace, scales the queries and finds the last key they attend to. `width`:
 * elements per row of scores. */
static query_block begin_block(const heed_one_head *call, int64_t index, int64_t width,
                               bool is_gradient)
{
    const int64_t first = index * call->rows, left = call->queries - first, keys = call->keys;
    query_block b = {.first = first, .rows = left < call->rows ? left : call->rows, .end = keys};
    b.total = call->workspace;
    b.max = (T *)(b.total + call->rows);
    b.factor = b.max + call->rows;
    b.q = (heed_matrix){b.factor + call->rows, call->features, 1};
    b.s = (heed_matrix){row_of(&b.q, call->rows), width, 1};
    for (int64_t i = 0; i < b.rows; i++) {
        const T *from = row_of(&call->q, first + i), factor = (T)call->scale;
        T *to = row_of(&b.q, i);
        if (call->q.col == 1) {
            for (int64_t j = 0; j < call->features; j++) {
                to[j] = from[j] * factor;
            }
        } else {
            for (int64_t j = 0; j < call->features; j++) {
                to[j] = from[j * call->q.col] * factor;
            }
        }
    }
    const int64_t end = first + b.rows;
    if (call->is_causal && end < keys && is_finite(&call->v, end, keys, call->values) &&
        (!is_gradient || (is_finite(&call->k, end, keys, call->features) &&
                          is_finite(&b.q, 0, b.rows, call->features) &&
                          is_finite(&call->g, first, end, call->values)))) {
        b.end = end;
    }
    return b;
}

/* Sets the elements of `row`, which starts at key j0, to `value` for each key that is masked for
 * query i. */
static void block_row(const heed_one_head *call, int64_t i, int64_t j0, int64_t columns, T *row,
                      T value)
{
    const int64_t seen = call->is_causal && i + 1 > j0 ? i + 1 - j0 : 0;
    if (call->keep.data != NULL) {
        const bool *keep = (const bool *)call->keep.data + i * call->keep.row + j0 * call->keep.col;
        for (int64_t j = 0; j < columns; j++) {
            row[j] = keep[j * call->keep.col] ? row[j] : value;
        }
    }
    for (int64_t j = seen; call->is_causal && j < columns; j++) {
        row[j] = value;
    }
}

/* s = q k^T, masked, for the keys starting at j0. */
static void find_scores(const heed_one_head *call, const query_block *b, int64_t j0,
                        int64_t columns)
{
    multiply(b->rows, columns, call->features, b->q, transposed(rows_from(call->k, j0)), b->s,
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

/* Turns scores into weights, exp(s - max), and adds them to the total, which is first multiplied by
 * exp(old max - new max). A block starts with max = -inf and total = 0. */
static void weigh(const query_block *b, int64_t columns)
{
    for (int64_t i = 0; i < b->rows; i++) {
        const T here = largest(columns, row_of(&b->s, i)), before = b->max[i];
        b->max[i] = here > before ? here : before;
        b->factor[i] = here > before ? before - here : 0;
    }
    weights(b->rows, b->factor, 0, b->factor);
    for (int64_t i = 0; i < b->rows; i++) {
        T *s = row_of(&b->s, i);
        /* In a row that is all -inf, computes exp(-inf - 0) instead of exp(-inf + inf). */
        weights(columns, s, b->max[i] == LOWEST ? 0 : b->max[i], s);
    }
    for (int64_t i = 0; i < b->rows; i++) {
        b->total[i] =
            b->total[i] * (TOTAL)b->factor[i] + sum_of_positive(columns, row_of(&b->s, i));
    }
}

static void begin_sums(const query_block *b)
{
    for (int64_t i = 0; i < b->rows; i++) {
        b->max[i] = LOWEST;
        b->total[i] = 0;
    }
}

/* All weights of a block at once. A row of b->s must have space for b->end keys. */
static void find_weights(const heed_one_head *call, const query_block *b)
{
    begin_sums(b);
    find_scores(call, b, 0, b->end);
    weigh(b, b->end);
    for (int64_t i = 0; i < b->rows; i++) {
        divide(b->end, row_of(&b->s, i), (T)b->total[i]);
    }
}

/* y of a block whose keys need several tiles. */
static void attend_in_tiles(const heed_one_head *call, const query_block *b, heed_matrix y)
{
    begin_sums(b);
    for (int64_t j0 = 0; j0 < b->end; j0 += call->columns) {
        const int64_t left = b->end - j0, columns = left < call->columns ? left : call->columns;
        find_scores(call, b, j0, columns);
        weigh(b, columns);
        for (int64_t i = 0; i < b->rows && j0 > 0; i++) {
            if (b->factor[i] != 1) {
                KERNEL(scale)(call->values, row_of(&y, i), (double)b->factor[i]);
            }
        }
        multiply(b->rows, call->values, columns, b->s, rows_from(call->v, j0), y, j0 > 0);
    }
    for (int64_t i = 0; i < b->rows; i++) {
        const T total = (T)b->total[i];
        T *mean = row_of(&y, i);
        for (int64_t j = 0; j < call->values && total != 0; j++) {
            mean[j] /= total;
        }
    }
}

static void attend(const heed_one_head *call, int64_t index)
{
    const query_block b = begin_block(call, index, call->columns, false);
    const heed_matrix y = rows_from(call->y, b.first);
    if (b.end > call->columns) {
        attend_in_tiles(call, &b, y);
        return;
    }
    find_weights(call, &b);
    multiply(b.rows, call->values, b.end, b.s, call->v, y, false);
}

/* ---- gradients ---- */

static void clear_rows(const heed_matrix *m, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        memset(row_of(m, i), 0, (size_t)columns * sizeof(T));
    }
}

/* ds = p (g v^T - its mean under p), overwriting g v^T. */
static void find_score_gradients(const heed_one_head *call, const query_block *b, heed_matrix ds)
{
    T *mean = b->max; /* reused */
    for (int64_t i = 0; i < b->rows; i++) {
        mean[i] = (T)sum_of_products(b->end, row_of(&b->s, i), row_of(&ds, i));
    }
    for (int64_t i = 0; i < b->rows; i++) {
        const T *p = row_of(&b->s, i);
        T *d = row_of(&ds, i);
        for (int64_t j = 0; j < b->end; j++) {
            d[j] = p[j] * (d[j] - mean[i]);
        }
        block_row(call, b->first + i, 0, b->end, d, 0);
    }
}

/* Computes dq of a block, and adds its contributions to dk and dv. */
static void add_block(const heed_one_head *call, query_block *b, heed_matrix ds)
{
    const int64_t rows = b->rows, features = call->features, values = call->values;
    const heed_matrix g = rows_from(call->g, b->first), dq = rows_from(call->dq, b->first);
    find_weights(call, b);
    if (b->end < call->keys && !is_finite(&b->s, 0, rows, b->end)) {
        b->end = call->keys; /* in a row of NaN, even masked keys have weight NaN */
        find_weights(call, b);
    }
    multiply(rows, b->end, values, g, transposed(call->v), ds, false);
    find_score_gradients(call, b, ds);
    multiply(rows, features, b->end, ds, call->k, dq, false);
    multiply(b->end, features, rows, transposed(ds), b->q, call->dk, true);
    multiply(b->end, values, rows, transposed(b->s), g, call->dv, true);
    for (int64_t i = 0; i < rows; i++) {
        KERNEL(scale)(features, row_of(&dq, i), call->scale);
    }
}

/* The pieces get one block each in order, then one each in reverse order, and so on, because the
 * cost of a causal block grows with its index. */
static void attend_gradient(const heed_one_head *call, int64_t piece, int64_t pieces)
{
    const int64_t width = heed_attention_width(call->keys);
    clear_rows(&call->dk, call->keys, call->features);
    clear_rows(&call->dv, call->keys, call->values);
    for (int64_t turn = 0; turn * pieces * call->rows < call->queries; turn++) {
        const int64_t i = turn * pieces + (turn % 2 == 0 ? piece : pieces - 1 - piece);
        if (i * call->rows < call->queries) {
            query_block b = begin_block(call, i, width, true);
            add_block(call, &b, (heed_matrix){row_of(&b.s, call->rows), width, 1});
        }
    }
}

extern const heed_attention_kernels KERNEL(attention);
const heed_attention_kernels KERNEL(attention) = {attend, attend_gradient};
