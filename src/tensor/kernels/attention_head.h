/* Attention of one head, y = softmax(scale q k^T, masked) v, and its gradients, for one block of
 * queries at a time, so that memory is linear in the number of keys (Rabe and Staats, 2021). The
 * gradient computes the weights p again. It takes five products per block: s, g v^T, and
 *
 *     dv += p^T g         ds = p (g v^T - mean of g v^T under p)
 *     dk += ds^T scale q  dq = scale ds k
 *
 * Operands are strided matrices; products use gemm. With is_causal, keys that come after all
 * queries of a block are skipped. */

static T *row_of(const heed_matrix *m, int64_t i)
{
    return (T *)m->data + i * m->row;
}

static heed_matrix rows_from(heed_matrix m, int64_t i)
{
    return (heed_matrix){row_of(&m, i), m.row, m.col};
}

static heed_matrix transposed(heed_matrix m)
{
    return (heed_matrix){m.data, m.col, m.row};
}

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

/* ---- a block of queries ---- */

typedef struct query_block {
    int64_t first, rows, end; /* queries first ... first + rows; they attend to keys before `end` */
    heed_matrix q, p, ds;     /* scaled q (rows, E); weights; the gradient of the scores */
} query_block;

/* Divides up the workspace and scales the queries. */
static query_block begin_block(const heed_head *call, int64_t index)
{
    const int64_t first = index * call->rows, left = call->queries - first, keys = call->keys;
    const int64_t rows = left < call->rows ? left : call->rows, width = heed_head_width(keys);
    query_block b = {.first = first, .rows = rows};
    b.end = call->is_causal && first + rows < keys ? first + rows : keys;
    b.q = (heed_matrix){call->workspace, call->features, 1};
    b.p = (heed_matrix){row_of(&b.q, call->rows), width, 1};
    b.ds = (heed_matrix){row_of(&b.p, call->rows), width, 1};
    for (int64_t i = 0; i < rows; i++) {
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
    return b;
}

/* Sets the elements of a row of query i to `value` for each masked key. */
static void block_row(const heed_head *call, int64_t i, int64_t columns, T *row, T value)
{
    if (call->keep.data != NULL) {
        const bool *keep = (const bool *)call->keep.data + i * call->keep.row;
        for (int64_t j = 0; j < columns; j++) {
            row[j] = keep[j * call->keep.col] ? row[j] : value;
        }
    }
    for (int64_t j = i + 1; call->is_causal && j < columns; j++) {
        row[j] = value;
    }
}

/* p = softmax(q k^T, masked), one step for all rows at a time. */
static void find_weights(const heed_head *call, const query_block *b)
{
    T of_row[HEED_MOST_QUERIES]; /* the maximum, then the total */
    multiply(b->rows, b->end, call->features, b->q, transposed(call->k), b->p, false);
    for (int64_t i = 0; i < b->rows; i++) {
        T *s = row_of(&b->p, i);
        if (call->bias.data != NULL) {
            const T *bias = row_of(&call->bias, b->first + i);
            for (int64_t j = 0; j < b->end; j++) {
                s[j] += bias[j * call->bias.col];
            }
        }
        block_row(call, b->first + i, b->end, s, LOWEST);
    }
    for (int64_t i = 0; i < b->rows; i++) {
        of_row[i] = largest(b->end, row_of(&b->p, i));
    }
    for (int64_t i = 0; i < b->rows; i++) {
        T *s = row_of(&b->p, i);
        /* In a row that is all -inf, computes exp(-inf - 0) instead of exp(-inf + inf). */
        weights(b->end, s, of_row[i] == LOWEST ? 0 : of_row[i], s);
    }
    for (int64_t i = 0; i < b->rows; i++) {
        of_row[i] = (T)sum_of_positive(b->end, row_of(&b->p, i));
    }
    for (int64_t i = 0; i < b->rows; i++) {
        divide(b->end, row_of(&b->p, i), of_row[i]);
    }
}

void KERNEL(attend)(const heed_head *call, int64_t block)
{
    const query_block b = begin_block(call, block);
    find_weights(call, &b);
    multiply(b.rows, call->values, b.end, b.p, call->v, rows_from(call->y, b.first), false);
}

/* ---- gradients ---- */

static void clear_rows(const heed_matrix *m, int64_t first, int64_t end, int64_t columns)
{
    for (int64_t i = first; i < end; i++) {
        memset(row_of(m, i), 0, (size_t)columns * sizeof(T));
    }
}

/* ds = p (g v^T - its mean under p), overwriting g v^T. */
static void find_score_gradients(const heed_head *call, const query_block *b)
{
    T mean[HEED_MOST_QUERIES];
    for (int64_t i = 0; i < b->rows; i++) {
        mean[i] = (T)sum_of_products(b->end, row_of(&b->p, i), row_of(&b->ds, i));
    }
    for (int64_t i = 0; i < b->rows; i++) {
        const T *p = row_of(&b->p, i);
        T *d = row_of(&b->ds, i);
        for (int64_t j = 0; j < b->end; j++) {
            d[j] = p[j] * (d[j] - mean[i]);
        }
        block_row(call, b->first + i, b->end, d, 0);
    }
}

void KERNEL(attend_gradient)(const heed_head *call)
{
    const int64_t features = call->features, values = call->values;
    for (int64_t i = 0; i == 0 || i * call->rows < call->queries; i++) {
        const query_block b = begin_block(call, i);
        if (i == 0) { /* the first block writes dk and dv, the others add to them */
            clear_rows(&call->dk, b.end, call->keys, features);
            clear_rows(&call->dv, b.end, call->keys, values);
        }
        const heed_matrix g = rows_from(call->g, b.first), dq = rows_from(call->dq, b.first);
        find_weights(call, &b);
        multiply(b.rows, b.end, values, g, transposed(call->v), b.ds, false);
        find_score_gradients(call, &b);
        multiply(b.rows, features, b.end, b.ds, call->k, dq, false);
        multiply(b.end, features, b.rows, transposed(b.ds), b.q, call->dk, i > 0);
        multiply(b.end, values, b.rows, transposed(b.p), g, call->dv, i > 0);
        for (int64_t row = 0; row < b.rows; row++) {
            KERNEL(scale)(features, row_of(&dq, row), call->scale);
        }
    }
}
