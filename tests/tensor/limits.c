/* Code that runs only above some size: chunks, tiles, blocks, threads, packed panels. Each limit is
 * tested just below, at and above it, and with an odd size, against plain loops in double. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/reference.h"

/* ---- helpers ---- */

static double at(const heed_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case HEED_F32:
        return (double)((const float *)t->data)[i];
    case HEED_F64:
        return ((const double *)t->data)[i];
    case HEED_I64:
        return (double)((const int64_t *)t->data)[i];
    default:
        return ((const bool *)t->data)[i] ? 1 : 0;
    }
}

/* Element i of the contiguous t equals `goal` up to the rounding of its dtype. */
static void expect_at(const char *what, const heed_tensor *t, int64_t i, double goal)
{
    const double found = at(t, i), tolerance = t->dtype == HEED_F32 ? 2e-5 : 1e-12;
    EXPECT(fabs(found - goal) <= tolerance * (1 + fabs(goal)), "%s: element %lld is %.9g, not %.9g",
           what, (long long)i, found, goal);
}

/* t, which must have `numel` elements, contiguous. */
static heed_tensor *dense(heed_tensor *t, int64_t numel)
{
    expect_no_error();
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(t->numel, numel);
    return heed_contiguous(t);
}

/* The gradients of the sum of y g with respect to `count` tensors xs. */
static void gradients(heed_tensor *y, heed_tensor *g, heed_tensor **xs, int count,
                      heed_tensor **grads)
{
    heed_grad(heed_sum(heed_mul(y, g)), xs, count, grads, false);
    expect_no_error();
}

static heed_tensor *leaf(heed_shape shape, heed_dtype dtype, uint64_t seed)
{
    return heed_set_requires_grad(noise(shape, dtype, ROWS, seed), true);
}

/* n class ids or row numbers below `count`. */
static heed_tensor *numbers(int64_t n, int64_t count, uint64_t seed)
{
    heed_tensor *ids = heed_zeros(HEED_SHAPE(n), HEED_I64);
    int64_t *to = heed_data_i64(ids);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        to[i] = (int64_t)(seed >> 33) % count;
    }
    return ids;
}

/* ---- element by element ---- */

static void check_elements(int64_t n, heed_dtype dtype)
{
    const heed_tensor *a = noise(HEED_SHAPE(n), dtype, ROWS, 1);
    const heed_tensor *b = noise(HEED_SHAPE(n), dtype, ROWS, 2);
    heed_tensor *x = noise(HEED_SHAPE(n), dtype, ROWS, 1);
    heed_tensor *stepped = noise(HEED_SHAPE(n), dtype, STEPPED, 2);
    heed_tensor *ids = numbers(n, 9, 3), *one = heed_full(HEED_SHAPE(1), 2.5, dtype);
    heed_tensor *both = dense(heed_mul(x, noise(HEED_SHAPE(n), dtype, ROWS, 2)), n);
    heed_tensor *strided = dense(heed_mul(stepped, x), n);
    heed_tensor *number = dense(heed_sub(heed_mul_scalar(x, 3), one), n);
    heed_tensor *cast = dense(heed_add(x, ids), n);
    heed_tensor *turned =
        dense(heed_mul(noise(HEED_SHAPE(n, 3), dtype, COLUMNS, 4), heed_unsqueeze(x, 1)), 3 * n);
    const heed_tensor *c = noise(HEED_SHAPE(n, 3), dtype, ROWS, 4);
    for (int64_t i = 0; i < n; i++) {
        expect_at("a * b", both, i, at(a, i) * at(b, i));
        expect_at("strided * a", strided, i, at(a, i) * at(b, i));
        expect_at("3 a - 2.5", number, i, 3 * at(a, i) - 2.5);
        expect_at("a + id", cast, i, at(a, i) + at(ids, i));
        for (int64_t j = 3 * i; j < 3 * i + 3; j++) {
            expect_at("columns * a", turned, j, at(c, j) * at(a, i));
        }
    }
}

static void check_copies(int64_t n, heed_dtype dtype)
{
    static const int64_t others[] = {1, 3, 37};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        const int64_t m = others[k];
        const heed_tensor *x = noise(HEED_SHAPE(n, m), dtype, ROWS, 1);
        heed_tensor *columns = noise(HEED_SHAPE(n, m), dtype, COLUMNS, 1);
        heed_tensor *stepped = noise(HEED_SHAPE(n, m), dtype, STEPPED, 1);
        heed_tensor *y = dense(columns, n * m), *z = dense(heed_to(stepped, HEED_F64), n * m);
        heed_tensor *into = noise(HEED_SHAPE(n, m), dtype, STEPPED, 2);
        heed_copy_into(into, columns);
        into = dense(heed_transpose(into, 0, 1), n * m);
        for (int64_t i = 0; i < n * m; i++) {
            expect_at("rows of columns", y, i, at(x, i));
            expect_at("cast", z, i, at(x, i));
            expect_at("copied into gaps", into, i % m * n + i / m, at(x, i));
        }
    }
}

static void check_fills(int64_t n, heed_dtype dtype)
{
    heed_tensor *filled = heed_full(HEED_SHAPE(n), 2.5, dtype);
    heed_tensor *cleared = heed_full(HEED_SHAPE(n), 7, dtype);
    heed_fill_into(cleared, 0);
    heed_tensor *outer = heed_full(HEED_SHAPE(n, 2), 7, dtype);
    heed_fill_into(heed_select(outer, 1, 1), -1);
    for (int64_t i = 0; i < n; i++) {
        expect_at("full", filled, i, 2.5);
        expect_at("zeros", cleared, i, 0);
        expect_at("unchanged", outer, 2 * i, 7);
        expect_at("filled with steps", outer, 2 * i + 1, -1);
    }
}

/* Adds to an existing gradient, to all of it and to a part. */
static void check_accumulation(int64_t n, heed_dtype dtype)
{
    heed_tensor *x = leaf(HEED_SHAPE(n, 2), dtype, 1), *w = noise(HEED_SHAPE(n, 2), dtype, ROWS, 2);
    heed_tensor *turned = noise(HEED_SHAPE(n, 2), dtype, COLUMNS, 2);
    heed_set_grad(x, noise(HEED_SHAPE(n, 2), dtype, ROWS, 3));
    const heed_tensor *before = noise(HEED_SHAPE(n, 2), dtype, ROWS, 3);
    heed_backward(heed_sum(heed_mul(x, w)));
    heed_backward(heed_sum(heed_mul(x, turned)));
    heed_backward(heed_sum(heed_mul(heed_select(x, 1, 1), heed_select(w, 1, 0))));
    dense(x->grad, 2 * n);
    for (int64_t i = 0; i < 2 * n; i++) {
        const double part = i % 2 == 1 ? at(w, i - 1) : 0;
        expect_at(".grad", x->grad, i, at(before, i) + 2 * at(w, i) + part);
    }
}

/* ---- reductions ---- */

static void check_long_sums(int64_t n, heed_dtype dtype)
{
    heed_tensor *x = whole_noise(HEED_SHAPE(n), dtype, ROWS, 1);
    heed_tensor *ids = numbers(n, 9, 3);
    double sum = 0, id_sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += at(x, i);
        id_sum += at(ids, i);
    }
    expect_at("sum", dense(heed_sum(x), 1), 0, sum);
    expect_at("mean", dense(heed_mean(x), 1), 0, sum / (double)n);
    expect_at("sum of ids", dense(heed_sum(ids), 1), 0, id_sum);
    expect_at("strided sum", dense(heed_sum(whole_noise(HEED_SHAPE(n), dtype, STEPPED, 1)), 1), 0,
              sum);
}

/* Millions of elements: from some size, chunks become longer rather than more numerous. */
static void check_longest_sum(int64_t n, heed_dtype dtype)
{
    heed_tensor *x = heed_arange(0, (double)n, 1, dtype);
    expect_at("sum", dense(heed_sum(x), 1), 0, (double)n * (double)(n - 1) / 2);
}

/* Sums and maxima of (n, 3) or (n, 20) and of their transposes over either dim, in each layout. */
static void check_sums(int64_t n, heed_dtype dtype)
{
    for (int k = 0; k < 2 * LAYOUTS; k++) {
        const int64_t other = k / 2 % 2 == 0 ? 3 : 20;
        const int64_t r = k % 2 == 0 ? n : other, c = k % 2 == 0 ? other : n;
        const heed_tensor *x = whole_noise(HEED_SHAPE(r, c), dtype, ROWS, 1);
        heed_tensor *laid = whole_noise(HEED_SHAPE(r, c), dtype, (enum layout)(k / 2), 1);
        heed_tensor *by_row = dense(heed_sum_dim(laid, 1, false), r);
        heed_tensor *by_column = dense(heed_sum_dim(laid, 0, false), c);
        heed_tensor *largest = dense(heed_amax_dim(laid, 0, false), c);
        double *sums = calloc((size_t)c, sizeof *sums), *most = calloc((size_t)c, sizeof *most);
        for (int64_t i = 0; i < r; i++) {
            double sum = 0;
            for (int64_t j = 0; j < c; j++) {
                const double value = at(x, i * c + j);
                sum += value;
                sums[j] += value;
                most[j] = i == 0 || value > most[j] ? value : most[j];
            }
            expect_at("sum of a row", by_row, i, sum);
        }
        for (int64_t j = 0; j < c; j++) {
            expect_at("sum of a column", by_column, j, sums[j]);
            expect_at("maximum of a column", largest, j, most[j]);
        }
        free(sums);
        free(most);
    }
}

static void check_cumsum_and_softmax(int64_t n, heed_dtype dtype)
{
    for (int dim = 0; dim < 2; dim++) {
        const heed_shape shape = dim == 0 ? HEED_SHAPE(n, 3) : HEED_SHAPE(3, n);
        heed_tensor *x = noise(shape, dtype, ROWS, 1);
        heed_tensor *sums = dense(heed_cumsum(x, dim), 3 * n);
        heed_tensor *p = dense(heed_softmax(x, dim), 3 * n);
        heed_tensor *log_p = dense(heed_log_softmax(x, dim), 3 * n);
        for (int64_t line = 0; line < 3; line++) {
            const int64_t first = dim == 0 ? line : line * n, step = dim == 0 ? 3 : 1;
            double total = 0, sum = 0, sum_of_sizes = 1;
            for (int64_t i = 0; i < n; i++) {
                total += exp(at(x, first + i * step));
            }
            for (int64_t i = 0; i < n; i++) {
                const int64_t place = first + i * step;
                sum += at(x, place);
                sum_of_sizes += fabs(at(x, place));
                const double e = exp(at(x, place)), error = fabs(at(sums, place) - sum);
                EXPECT(error <= 1e-6 * sum_of_sizes, "cumsum: element %d", (int)place);
                EXPECT(fabs(at(p, place) / (e / total) - 1) < 2e-5, "softmax: element %d",
                       (int)place);
                expect_at("log_softmax", log_p, place, at(x, place) - log(total));
            }
        }
    }
}

/* ---- rows ---- */

enum { FEATURES = 64 };

/* n rows of layer_norm, and all gradients. */
static void check_norm(int64_t n, heed_dtype dtype)
{
    heed_tensor *xs[] = {leaf(HEED_SHAPE(n, FEATURES), dtype, 1),
                         leaf(HEED_SHAPE(FEATURES), dtype, 2),
                         leaf(HEED_SHAPE(FEATURES), dtype, 3)};
    heed_tensor *g = noise(HEED_SHAPE(n, FEATURES), dtype, ROWS, 4), *grads[3];
    const heed_shape shape = HEED_SHAPE(FEATURES);
    heed_tensor *y = heed_layer_norm(xs[0], shape, xs[1], xs[2], 1e-5);
    gradients(y, g, xs, 3, grads);
    double dweight[FEATURES] = {0}, dbias[FEATURES] = {0};
    for (int64_t i = 0; i < n; i++) {
        const int64_t start = i * FEATURES;
        double mean = 0, squares = 0, mean_h = 0, mean_hz = 0, z[FEATURES], h[FEATURES];
        for (int j = 0; j < FEATURES; j++) {
            mean += at(xs[0], start + j) / FEATURES;
        }
        for (int j = 0; j < FEATURES; j++) {
            z[j] = at(xs[0], start + j) - mean;
            squares += z[j] * z[j] / FEATURES;
        }
        const double scale = 1 / sqrt(squares + 1e-5);
        for (int j = 0; j < FEATURES; j++) {
            z[j] *= scale;
            h[j] = at(g, start + j) * at(xs[1], j);
            mean_h += h[j] / FEATURES;
            mean_hz += h[j] * z[j] / FEATURES;
            dweight[j] += at(g, start + j) * z[j];
            dbias[j] += at(g, start + j);
        }
        for (int j = 0; j < FEATURES; j++) {
            expect_at("norm", y, start + j, z[j] * at(xs[1], j) + at(xs[2], j));
            expect_at("dx", grads[0], start + j, (h[j] - mean_h - z[j] * mean_hz) * scale);
        }
    }
    for (int j = 0; j < FEATURES; j++) {
        expect_at("dweight", grads[1], j, dweight[j]);
        expect_at("dbias", grads[2], j, dbias[j]);
    }
}

static void check_loss(int64_t n, int64_t classes, heed_dtype dtype)
{
    heed_tensor *x = leaf(HEED_SHAPE(n, classes), dtype, 1), *t = numbers(n, classes, 2), *dx;
    heed_tensor *loss = heed_cross_entropy(x, t);
    heed_grad(loss, &x, 1, &dx, false);
    expect_no_error();
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double total = 0;
        for (int64_t j = 0; j < classes; j++) {
            total += exp(at(x, i * classes + j));
        }
        sum += log(total) - at(x, i * classes + (int64_t)at(t, i));
        for (int64_t j = 0; j < classes; j++) {
            const double p = exp(at(x, i * classes + j)) / total, one = at(t, i) == (double)j;
            const double error = at(dx, i * classes + j) - (p - one) / (double)n;
            EXPECT(fabs(error) <= 2e-6 / (double)n, "dx of row %d, class %d", (int)i, (int)j);
        }
    }
    expect_at("cross_entropy", loss, 0, sum / (double)n);
}

static void check_loss_rows(int64_t n, heed_dtype dtype)
{
    check_loss(n, FEATURES, dtype);
}

static void check_loss_classes(int64_t n, heed_dtype dtype)
{
    check_loss(3, n, dtype);
}

static void check_table(int64_t n, int64_t columns, heed_dtype dtype)
{
    enum { TABLE = 11 };
    heed_tensor *table = leaf(HEED_SHAPE(TABLE, columns), dtype, 1), *ids = numbers(n, TABLE, 2);
    heed_tensor *g = whole_noise(HEED_SHAPE(n, columns), dtype, ROWS, 3), *dtable;
    heed_tensor *y = heed_embedding(ids, table);
    gradients(y, g, &table, 1, &dtable);
    double *goal = calloc((size_t)(TABLE * columns), sizeof *goal);
    for (int64_t i = 0; i < n * columns; i++) {
        const int64_t place = (int64_t)at(ids, i / columns) * columns + i % columns;
        expect_at("embedding", y, i, at(table, place));
        goal[place] += at(g, i);
    }
    for (int64_t i = 0; i < TABLE * columns; i++) {
        expect_at("dweight", dtable, i, goal[i]);
    }
    free(goal);
}

static void check_table_ids(int64_t n, heed_dtype dtype)
{
    check_table(n, 40, dtype);
}

static void check_table_columns(int64_t n, heed_dtype dtype)
{
    check_table(7, n, dtype);
}

/* Selecting and adding by an index. */
static void check_indexed(int64_t n, heed_dtype dtype)
{
    heed_tensor *x = whole_noise(HEED_SHAPE(5, n), dtype, ROWS, 1), *ids = numbers(n, 5, 2);
    heed_tensor *turned = heed_transpose(x, 0, 1);
    heed_tensor *chosen = dense(heed_index_select(x, 0, ids), n * n);
    heed_tensor *sum = dense(heed_scatter_add(heed_zeros(HEED_SHAPE(n, 5), dtype), 1,
                                              heed_expand(ids, HEED_SHAPE(n, n)),
                                              whole_noise(HEED_SHAPE(n, n), dtype, COLUMNS, 3)),
                             5 * n);
    heed_tensor *gathered = dense(heed_gather(turned, 1, heed_unsqueeze(ids, 1)), n);
    const heed_tensor *added = whole_noise(HEED_SHAPE(n, n), dtype, ROWS, 3);
    for (int64_t i = 0; i < n; i++) {
        double goal[5] = {0};
        for (int64_t j = 0; j < n; j++) {
            expect_at("index_select", chosen, i * n + j, at(x, (int64_t)at(ids, i) * n + j));
            goal[(int64_t)at(ids, j)] += at(added, i * n + j);
        }
        for (int j = 0; j < 5; j++) {
            expect_at("scatter_add", sum, 5 * i + j, goal[j]);
        }
        expect_at("gather", gathered, i, at(x, (int64_t)at(ids, i) * n + i));
    }
}

static void check_sort(int64_t n, heed_dtype dtype)
{
    heed_tensor *x = whole_noise(HEED_SHAPE(2, n), dtype, ROWS, 1), *places, *top;
    heed_tensor *sorted = dense(heed_sort(x, 1, false, &places), 2 * n);
    heed_tensor *largest = dense(heed_topk(x, n / 2 + 1, 1, true, &top), 2 * (n / 2 + 1));
    for (int64_t line = 0; line < 2; line++) {
        for (int64_t i = 0; i < n; i++) {
            int64_t before = 0; /* elements that come before x[i]: the sort is stable */
            for (int64_t j = 0; j < n; j++) {
                const double a = at(x, line * n + j), b = at(x, line * n + i);
                before += a < b || (a == b && j < i);
            }
            expect_at("sort", sorted, line * n + before, at(x, line * n + i));
            expect_at("places", places, line * n + before, (double)i);
        }
        for (int64_t i = 0; i <= n / 2; i++) {
            expect_at("topk", largest, line * (n / 2 + 1) + i, at(sorted, line * n + n - 1 - i));
        }
    }
}

/* ---- matrix products ---- */

enum { PLAIN, WITH_BIAS, ADDED, MODES };

/* c (batch, m, n) of matrices a and b in one of four layouts; integers, so the sums are exact. */
static void check_product(int64_t batch, int64_t m, int64_t n, int64_t k, heed_dtype dtype, int how)
{
    const int mode = batch == 1 ? how % MODES : PLAIN;
    const heed_shape of_a = HEED_SHAPE(batch, m, k), of_b = HEED_SHAPE(batch, k, n);
    heed_tensor *a = whole_noise(of_a, dtype, how & 1 ? COLUMNS : ROWS, 1);
    heed_tensor *b =
        how & 2 ? heed_transpose(whole_noise(HEED_SHAPE(batch, n, k), dtype, ROWS, 2), 1, 2)
                : whole_noise(of_b, dtype, ROWS, 2);
    heed_tensor *bias = whole_noise(HEED_SHAPE(n), dtype, ROWS, 3);
    heed_tensor *y = whole_noise(HEED_SHAPE(batch, m, n), dtype, ROWS, 4);
    const heed_tensor *before = heed_clone(y);
    if (mode == PLAIN) {
        heed_multiply(a, b, y);
    } else {
        multiply_by_kernel(a, b, mode == WITH_BIAS ? bias : NULL, y, mode == ADDED);
    }
    a = dense(a, batch * m * k);
    b = dense(b, batch * n * k);
    double *sums = malloc((size_t)n * sizeof *sums);
    for (int64_t i = 0; i < batch * m; i++) {
        for (int64_t j = 0; j < n; j++) {
            sums[j] = mode == WITH_BIAS ? at(bias, j) : mode == ADDED ? at(before, i * n + j) : 0;
        }
        for (int64_t p = 0; p < k; p++) {
            const double factor = at(a, i * k + p);
            const int64_t row = (i / m * k + p) * n;
            for (int64_t j = 0; j < n; j++) {
                sums[j] += factor * at(b, row + j);
            }
        }
        for (int64_t j = 0; j < n; j++) {
            EXPECT(at(y, i * n + j) == sums[j], "%d (%d, %d) x (%d, %d), case %d: element %d, %d",
                   (int)batch, (int)m, (int)k, (int)k, (int)n, how, (int)i, (int)j);
        }
    }
    free(sums);
}

static void check_products_by_k(int64_t k, heed_dtype dtype)
{
    for (int how = 0; how < 12; how++) {
        check_product(1, 1, 1, k, dtype, how);
        check_product(1, 1, 37, k, dtype, how);
        check_product(1, 14, 37, k, dtype, how);
    }
}

static void check_products_by_n(int64_t n, heed_dtype dtype)
{
    for (int how = 0; how < 12; how++) {
        check_product(1, 1, n, 65, dtype, how);
        check_product(1, 14, n, 65, dtype, how);
        check_product(2, 3, n, 5, dtype, how);
    }
}

static void check_products_by_m(int64_t m, heed_dtype dtype)
{
    for (int how = 0; how < 12; how++) {
        check_product(1, m, 37, 65, dtype, how);
        check_product(1, m, 8, 16, dtype, how);
    }
}

static void check_tiny_products(int64_t m, heed_dtype dtype)
{
    for (int how = 0; how < 12; how++) {
        check_product(1, m, 5, 6, dtype, how);
        check_product(1, m, 8, 4, dtype, how);
    }
}

static void check_packed_products(int64_t n, heed_dtype dtype)
{
    check_product(1, 61, n, 300, dtype, 2);
    check_product(1, 61, n, 300, dtype, 7);
}

static void check_shared_products(int64_t m, heed_dtype dtype)
{
    for (int how = 0; how < 4; how++) {
        check_product(1, m, 128, 128, dtype, how);
    }
}

static void check_pieces(int64_t m, heed_dtype dtype)
{
    check_product(1, m, 170, 130, dtype, 2);
}

static void check_batches(int64_t k, heed_dtype dtype)
{
    check_product(9, 64, 64, k, dtype, 2);
    check_product(1, 64, 64, k, dtype, 2);
}

static void check_large_products(int64_t m, heed_dtype dtype)
{
    check_product(2, m, 512, 256, dtype, 2);
}

/* ---- attention ---- */

enum { DEPTH = 5, VALUES = 3 };
enum mask { NO_MASK, KEEP, CAUSAL, MASKS };

static void check_heads(int heads, int64_t queries, int64_t keys, heed_dtype dtype, enum mask mask)
{
    heed_tensor *in[] = {leaf(HEED_SHAPE(heads, queries, DEPTH), dtype, 1),
                         leaf(HEED_SHAPE(heads, keys, DEPTH), dtype, 2),
                         leaf(HEED_SHAPE(heads, keys, VALUES), dtype, 3)};
    heed_tensor *keep = noise(HEED_SHAPE(keys), HEED_BOOL, ROWS, 5), *grads[3];
    heed_tensor *g = noise(HEED_SHAPE(heads, queries, VALUES), dtype, ROWS, 4);
    heed_tensor *y = heed_scaled_dot_product_attention(
        in[0], in[1], in[2], mask == KEEP ? keep : NULL, 0, mask == CAUSAL, 0.5);
    gradients(y, g, in, 3, grads);
    double *p = malloc((size_t)keys * sizeof *p), *dp = malloc((size_t)keys * sizeof *dp);
    double *dk = calloc((size_t)(keys * DEPTH), sizeof *dk);
    double *dv = calloc((size_t)(keys * VALUES), sizeof *dv);
    const heed_tensor *q = in[0], *k = in[1], *v = in[2];
    for (int head = 0; head < heads; head++) {
        memset(dk, 0, (size_t)(keys * DEPTH) * sizeof *dk);
        memset(dv, 0, (size_t)(keys * VALUES) * sizeof *dv);
        for (int64_t i = head * queries; i < (head + 1) * queries; i++) {
            double total = 0, mean = 0, goal[VALUES] = {0}, dq[DEPTH] = {0};
            for (int64_t j = 0; j < keys; j++) {
                double score = 0;
                for (int e = 0; e < DEPTH; e++) {
                    score += at(q, i * DEPTH + e) * at(k, (head * keys + j) * DEPTH + e);
                }
                const bool seen =
                    mask == NO_MASK || (mask == KEEP ? at(keep, j) != 0 : j <= i - head * queries);
                total += p[j] = seen ? exp(0.5 * score) : 0;
            }
            for (int64_t j = 0; j < keys; j++) {
                p[j] /= total;
                dp[j] = 0;
                for (int e = 0; e < VALUES; e++) {
                    const double value = at(v, (head * keys + j) * VALUES + e);
                    goal[e] += p[j] * value;
                    dp[j] += at(g, i * VALUES + e) * value;
                    dv[j * VALUES + e] += p[j] * at(g, i * VALUES + e);
                }
                mean += p[j] * dp[j];
            }
            for (int64_t j = 0; j < keys; j++) {
                const double ds = 0.5 * p[j] * (dp[j] - mean);
                for (int e = 0; e < DEPTH; e++) {
                    dq[e] += ds * at(k, (head * keys + j) * DEPTH + e);
                    dk[j * DEPTH + e] += ds * at(q, i * DEPTH + e);
                }
            }
            for (int e = 0; e < VALUES; e++) {
                expect_at("attention", y, i * VALUES + e, goal[e]);
            }
            for (int e = 0; e < DEPTH; e++) {
                expect_at("dq", grads[0], i * DEPTH + e, dq[e]);
            }
        }
        for (int64_t j = 0; j < keys * DEPTH; j++) {
            expect_at("dk", grads[1], head * keys * DEPTH + j, dk[j]);
        }
        for (int64_t j = 0; j < keys * VALUES; j++) {
            expect_at("dv", grads[2], head * keys * VALUES + j, dv[j]);
        }
    }
    free(p);
    free(dp);
    free(dk);
    free(dv);
}

static void check_masked_attention(int64_t queries, int64_t keys, heed_dtype dtype, enum mask mask)
{
    check_heads(2, queries, keys, dtype, mask);
}

static void check_queries(int64_t n, heed_dtype dtype)
{
    for (int mask = 0; mask < MASKS; mask++) {
        check_masked_attention(n, 70, dtype, (enum mask)mask);
    }
}

static void check_keys(int64_t n, heed_dtype dtype)
{
    for (int mask = 0; mask < MASKS; mask++) {
        check_masked_attention(65, n, dtype, (enum mask)mask);
    }
}

/* Rows of scores that do not fit in the cache: gradients take fewer queries at a time. */
static void check_many_keys(int64_t n, heed_dtype dtype)
{
    check_masked_attention(33, n, dtype, NO_MASK);
    check_masked_attention(129, n, dtype, CAUSAL);
}

/* ---- optimisers ---- */

static void check_updates(int64_t n, heed_dtype dtype)
{
    const heed_shape shape = HEED_SHAPE(n);
    heed_tensor *p = heed_set_requires_grad(heed_clone(noise(shape, dtype, ROWS, 1)), true);
    heed_tensor *q = heed_set_requires_grad(heed_clone(noise(shape, dtype, ROWS, 1)), true);
    const heed_tensor *g = noise(shape, dtype, ROWS, 3);
    heed_tensor *grad = noise(shape, dtype, ROWS, 3); /* is clipped below */
    const heed_tensor *old_p = heed_clone(p);
    heed_tensor *b = noise(shape, dtype, ROWS, 2);
    heed_optimizer *sgd = heed_sgd_new((heed_tensor_list){1, &p, NULL}, 0.1);
    heed_optimizer *adam = heed_adam_new((heed_tensor_list){1, &q, NULL}, 0.1);
    sgd->momentum = 0.9;
    sgd->weight_decay = 0.01;
    adam->betas[1] = 0.99;
    adam->eps = 1e-3;
    make_moments(sgd);
    heed_copy_into(sgd->slots[0].state[0], b);
    step_with_gradient(sgd, grad);
    step_with_gradient(adam, grad);
    heed_clip_grad_norm((heed_tensor_list){1, &p, NULL}, 1e-3);
    expect_no_error();
    double squares = 0;
    for (int64_t i = 0; i < n; i++) {
        squares += at(g, i) * at(g, i);
    }
    for (int64_t i = 0; i < n; i++) {
        const double step = 0.9 * at(b, i) + at(g, i) + 0.01 * at(old_p, i);
        expect_at("momentum", sgd->slots[0].state[0], i, step);
        expect_at("sgd", p, i, at(old_p, i) - 0.1 * step);
        const double root = fabs(at(g, i));
        expect_at("adam", q, i, at(old_p, i) - 0.1 * at(g, i) / (root + 1e-3));
        expect_at("clipped", p->grad, i, at(g, i) * 1e-3 / (sqrt(squares) + 1e-6));
    }
    heed_optimizer_free(sgd);
    heed_optimizer_free(adam);
}

/* ---- random numbers ---- */

/* randn draws all uniform numbers, then turns blocks of 16 into normal numbers: 8 give radii, 8
 * give angles. For an incomplete block, it draws the last 16 again. */
static void check_normal_blocks(int64_t n, heed_dtype dtype)
{
    if (n < 16) {
        return; /* drawn one by one: suite random_numbers */
    }
    heed_manual_seed(5);
    const heed_tensor *u = heed_rand(HEED_SHAPE(n), dtype),
                      *last = heed_rand(HEED_SHAPE(16), dtype);
    heed_manual_seed(5);
    const heed_tensor *found = heed_randn(HEED_SHAPE(n), dtype);
    for (int64_t i = 0; i < n; i++) {
        const bool again = n % 16 != 0 && i >= n - 16;
        const int64_t place = again ? i - (n - 16) : i, j = place % 8 + place / 16 * 16;
        const double radius = sqrt(-2 * log1p(-at(again ? last : u, j)));
        const double angle = 2 * acos(-1) * at(again ? last : u, j + 8);
        const double goal = radius * (place % 16 < 8 ? cos(angle) : sin(angle));
        EXPECT(fabs(at(found, i) - goal) <= 1e-5, "randn(%d): element %d is %g, not %g", (int)n,
               (int)i, at(found, i), goal);
    }
}

/* Without replacement, categories are drawn in the order of p / q, where q is exponential. In f32,
 * some of these ratios are equal; then the lower category comes first. */
static void check_race(int64_t n, heed_dtype dtype)
{
    heed_tensor *p = heed_ones(HEED_SHAPE(n), dtype), *q = heed_empty(HEED_SHAPE(n), dtype);
    heed_manual_seed(5);
    const double *u = heed_const_data_f64(heed_rand(HEED_SHAPE(n), HEED_F64));
    for (int64_t i = 0; i < n; i++) {
        heed_set_number_at(q, i, -log1p(-u[i]));
    }
    heed_manual_seed(5);
    const heed_tensor *drawn = heed_multinomial(p, n);
    expect_no_error();
    int64_t equal = 0;
    for (int64_t i = 1; i < n; i++) {
        const int64_t a = (int64_t)at(drawn, i - 1), b = (int64_t)at(drawn, i);
        double fast = 1 / at(q, a), slow = 1 / at(q, b);
        if (dtype == HEED_F32) {
            fast = (double)(float)fast;
            slow = (double)(float)slow;
        }
        EXPECT(fast > slow || (fast == slow && a < b), "draws %d and %d", (int)i - 1, (int)i);
        equal += fast == slow;
    }
    EXPECT(equal > 0 || dtype == HEED_F64, "no two are equal");
}

/* ---- printing ---- */

static void check_summary(int64_t n, heed_dtype dtype)
{
    char *text = malloc(1 << 20);
    const heed_tensor *ones = heed_full(HEED_SHAPE(n), 1, dtype);
    const size_t length = heed_snprint(text, 1 << 20, ones);
    int64_t shown = 0;
    for (size_t i = 0; i < length; i++) {
        shown += text[i] == '1';
    }
    EXPECT(shown == (n > 1000 ? 6 : n), "%d of %d elements are printed", (int)shown, (int)n);
    EXPECT((strstr(text, "...") != NULL) == (n > 1000), "%d elements", (int)n);
    free(text);
}

/* ---- the limits ---- */

typedef struct limit {
    const char *topic; /* the test case */
    const char *place; /* file and name of the limit */
    int64_t at;        /* in the size that check varies */
    void (*check)(int64_t n, heed_dtype dtype);
} limit;

/* The number of rows of n elements from which heed_share_rows uses threads. */
#define SHARED_ROWS(grain, n) (2 * ((grain) / ((n) + 1) + 1))

static const limit limits[] = {
    {"elements", "map.c: REPEATED", 32, check_elements},
    {"elements", "tensor.h: CHUNK", CHUNK, check_elements},
    {"elements", "map.c: 2 HEED_GRAIN_OF_ELEMENTS", 2 * HEED_GRAIN_OF_ELEMENTS, check_elements},
    {"elements", "move.h: TILE", 32, check_copies},
    {"elements", "tensor.h: CHUNK", CHUNK, check_copies},
    {"elements", "map.c: 2 HEED_GRAIN_OF_ELEMENTS", 2 * HEED_GRAIN_OF_ELEMENTS, check_copies},
    {"elements", "map.c: 2 HEED_GRAIN_OF_ELEMENTS", 2 * HEED_GRAIN_OF_ELEMENTS, check_fills},
    {"elements", "map.c: clear_bytes, f64", 4 * HEED_GRAIN_OF_ELEMENTS, check_fills},
    {"elements", "map.c: clear_bytes, f32", 8 * HEED_GRAIN_OF_ELEMENTS, check_fills},
    {"elements", "map.c: heed_add_elements", HEED_GRAIN_OF_ELEMENTS, check_accumulation},
    {"elements", "map.c: 2 HEED_GRAIN_OF_ELEMENTS", 2 * HEED_GRAIN_OF_ELEMENTS, check_accumulation},
    {"reductions", "reduce.c: 2 CHUNK_OF_LINE", 2 * 16384, check_long_sums},
    {"reductions", "reduce.c: lengths of chunks", CHUNK * 16384, check_longest_sum},
    {"reductions", "reduce.c: LINES_AT_ONCE", 16, check_sums},
    {"reductions", "reduce.c: BY_COLUMNS, CHUNK / 4", CHUNK / 4, check_sums},
    {"reductions", "reduce.c: CHUNK", CHUNK, check_sums},
    {"reductions", "rows.h: WIDE rows", 8, check_sums},
    {"reductions", "rows.h: MOST", 16 * 8, check_sums},
    {"reductions", "reduce.c: 2 CHUNK", 2 * CHUNK, check_sums},
    {"reductions", "reduce.c: HEED_GRAIN_OF_SUMS, 20 per row", 2 * HEED_GRAIN_OF_SUMS / 20,
     check_sums},
    {"reductions", "reduce.c: HEED_GRAIN_OF_SUMS, 3 per row", 2 * HEED_GRAIN_OF_SUMS / 3,
     check_sums},
    {"reductions", "reduce.c: heed_map_rows", 2 * HEED_GRAIN_OF_ROWS / 3, check_cumsum_and_softmax},
    {"reductions", "tensor.h: CHUNK", CHUNK, check_cumsum_and_softmax},
    {"rows", "reduce.c: 2 chunks", 2 * HEED_GRAIN_OF_ROWS / FEATURES, check_norm},
    {"rows", "reduce.c: MOST_CHUNKS", 32 * HEED_GRAIN_OF_ROWS / FEATURES, check_norm},
    {"rows", "reduce.c: the last chunk", 2051, check_norm},
    {"rows", "loss.c: rows", SHARED_ROWS(HEED_GRAIN_OF_ROWS, FEATURES), check_loss_rows},
    {"rows", "loss.c: classes", HEED_GRAIN_OF_ROWS, check_loss_classes},
    {"rows", "loss.c: a large vocabulary", 50257, check_loss_classes},
    {"rows", "indexed.c: rows", SHARED_ROWS(HEED_GRAIN_OF_TABLE_ROWS, 40), check_table_ids},
    {"rows", "indexed.c: groups", 2 * HEED_GRAIN_OF_TABLE_ROWS / 16, check_table_ids},
    {"rows", "indexed.c: GROUP", 16, check_table_columns},
    {"rows", "indexed.c: shared groups", 2 * HEED_GRAIN_OF_TABLE_ROWS / 8, check_table_columns},
    {"rows", "tensor.h: CHUNK", CHUNK, check_indexed},
    {"rows", "sort.c: merged runs", 128, check_sort},
    {"products", "gemm.h: PARTS", 8, check_products_by_k},
    {"products", "gemm.h: SMALL_K, ROW_BLOCK, KC", 256, check_products_by_k},
    {"products", "gemm.h: two blocks", 512, check_products_by_k},
    {"products", "gemm.h: DOTS", 8, check_products_by_n},
    {"products", "gemm.h: FEW_ROWS", 16, check_products_by_m},
    {"products", "gemm.h: SMALL", 2048 / 65, check_products_by_n},
    {"products", "gemm.h: SMALL_ROW", 512 / 65, check_products_by_n},
    {"products", "gemm.h: panels of the baseline", 8, check_products_by_n},
    {"products", "gemm.h: panels of AVX2", 16, check_products_by_n},
    {"products", "gemm.h: panels of AVX-512", 32, check_products_by_n},
    {"products", "gemm.h: packs_a, columns", 4 * 32, check_products_by_n},
    {"products", "gemm.h: packs_a", 8 * 32, check_products_by_n},
    {"products", "gemm.h: FEW_GRAIN", 2 * (1 << 14) / 66, check_products_by_n},
    {"products", "gemm.h: MR of the baseline", 4, check_products_by_m},
    {"products", "gemm.h: MR of AVX2", 6, check_products_by_m},
    {"products", "gemm.h: MR of aarch64", 8, check_products_by_m},
    {"products", "gemm.h: MR of AVX-512", 12, check_products_by_m},
    {"products", "gemm.h: TINY", 128 / 8 / 4, check_tiny_products},
    {"products", "gemm.h: SMALL; 16 rows", 2048 / 8 / 16, check_products_by_m},
    {"products", "gemm.h: 4 MR and TILES of AVX2", 4 * 6, check_products_by_m},
    {"products", "gemm.h: 4 MR and TILES of AVX-512", 4 * 12, check_products_by_m},
    {"products", "gemm.h: WORKSPACE of f64", (1 << 18) / 8 / 300, check_packed_products},
    {"products", "gemm.h: WORKSPACE of f32", (1 << 18) / 4 / 300, check_packed_products},
    {"products", "gemm.h: WORKSPACE of AVX-512", (1 << 20) / 4 / 300, check_packed_products},
    {"products", "gemm.h: 2 GRAIN", 128, check_shared_products},
    {"products", "gemm.h: PIECES of the baseline", 32 * 4, check_pieces},
    {"products", "gemm.h: PIECES of AVX2", 32 * 6, check_pieces},
    {"products", "gemm.h: PIECES of AVX-512", 32 * 12, check_pieces},
    {"products", "batch_gemm.c: HEED_LITTLE_PRODUCT", HEED_LITTLE_PRODUCT / 64 / 64, check_batches},
    {"products", "batch_gemm.c: HEED_LARGE_PRODUCT", HEED_LARGE_PRODUCT / 512 / 256,
     check_large_products},
    {"attention", "attention_heads.c: rows of a block", 32, check_queries},
    {"attention", "attention_heads.c: larger blocks", 128, check_queries},
    {"attention", "attention_heads.c: three larger blocks", 192, check_queries},
    {"attention", "kernels.h: heed_head_width", 32, check_keys},
    {"attention", "attention_heads.c: CACHE, f64", (1 << 21) / 8 / 128, check_many_keys},
    {"attention", "attention_heads.c: CACHE, f32", (1 << 21) / 4 / 128, check_many_keys},
    {"updates", "optimizer.c: PIECE", 2048, check_updates},
    {"updates", "optimizer.c: 2 HEED_GRAIN_OF_UPDATES", 2 * HEED_GRAIN_OF_UPDATES, check_updates},
    {"others", "random.c: BLOCK", 16, check_normal_blocks},
    {"others", "random.c: BLOCK", 64, check_normal_blocks},
    {"others", "random.c: equal speeds", 20000, check_race},
    {"others", "print.c: THRESHOLD", 1000, check_summary},
};
enum { LIMITS = sizeof limits / sizeof *limits };

START_TEST(around_each_limit)
{
    const limit *l = &limits[_i];
    const int64_t sizes[] = {l->at - 1, l->at, l->at + 1, (l->at + l->at / 3) | 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
            heed_scope scope;
            heed_scope_begin(&scope);
            l->check(sizes[i], (heed_dtype)dtype);
            expect_no_error();
            heed_scope_end(&scope);
        }
    }
}
END_TEST

void add_limits_cases(Suite *suite)
{
    for (int first = 0, end; first < LIMITS; first = end) {
        for (end = first; end < LIMITS && strcmp(limits[end].topic, limits[first].topic) == 0;) {
            end++;
        }
        tcase_add_loop_test(heed_case(suite, limits[first].topic), around_each_limit, first, end);
    }
}
