/* Large inputs, which are cut into chunks, tiles and blocks, and shared among threads: many rows
 * give what a few at a time give, and the same bits for any number of threads. Products have a
 * suite of their own (batch_gemm.c). */
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/reference.h"

/* ---- functions of the rows of x (n, c), and of w (TABLE, c) ---- */

enum { TABLE = 11 };

static heed_tensor *turn(heed_tensor *x)
{
    return heed_contiguous(heed_transpose(x, 0, 1));
}

static heed_tensor *ids(heed_tensor *x)
{
    heed_tensor *sizes = heed_abs(heed_select(heed_detach(x), 1, 0)); /* below 2 */
    return heed_to(heed_mul_scalar(sizes, TABLE / 2), HEED_I64);
}

static heed_tensor *write_through_view(heed_tensor *x)
{
    heed_tensor *y = heed_zeros(HEED_SHAPE(x->shape[1], x->shape[0]), x->dtype);
    heed_copy_into(heed_transpose(y, 0, 1), x);
    return heed_transpose(y, 0, 1);
}

/* The loss of the rows is a mean, so it is multiplied by their number. */
static heed_tensor *loss(heed_tensor *x, double smoothing)
{
    heed_tensor *mean =
        heed_cross_entropy(x, heed_argmax_dim(x, 1, false), .label_smoothing = smoothing);
    return heed_mul_scalar(mean, (double)x->shape[0]);
}

#define ROW       heed_select(w, 0, 1)
#define ROW_SHAPE HEED_SHAPE(x->shape[1])
#define EACH_CASE(X)                                                                               \
    X(broadcast, false, heed_add(heed_mul(x, ROW), heed_mul_scalar(x, 3)))                         \
    X(column, false, heed_mul(heed_gelu(x), heed_narrow(x, 1, 0, 1)))                              \
    X(mixed, false, heed_mul(x, heed_unsqueeze(ids(x), 1)))                                        \
    X(compare, false, heed_lt(x, ROW))                                                             \
    X(masked, false, heed_masked_fill(x, heed_gt_scalar(x, 1), -1))                                \
    X(cast, false, heed_to(x, HEED_F64))                                                           \
    X(copied, false, heed_transpose(turn(x), 0, 1))                                                \
    X(written, false, write_through_view(x))                                                       \
    X(row_sums, false, heed_sum_dim(x, 1, true))                                                   \
    X(row_maxima, false, heed_amax_dim(x, 1, false))                                               \
    X(column_maxima, false, heed_amax_dim(turn(x), 0, false))                                      \
    X(column_sums, true, heed_sum_dim(x, 0, false))                                                \
    X(sums_of_turned, true, heed_sum_dim(turn(x), 1, false))                                       \
    X(total, true, heed_sum(x))                                                                    \
    X(softmax, false, heed_softmax(x, -1))                                                         \
    X(softmax_of_columns, false, heed_transpose(heed_softmax(turn(x), 0), 0, 1))                   \
    X(safe_softmax, false, heed_safe_softmax(x, 1))                                                \
    X(log_softmax, false, heed_log_softmax(x, -1))                                                 \
    X(layer_norm, false, heed_layer_norm(x, ROW_SHAPE, ROW, ROW, 1e-5))                            \
    X(cross_entropy, true, loss(x, 0))                                                             \
    X(smoothed, true, loss(x, 0.1))                                                                \
    X(embedding, false, heed_embedding(ids(x), w))                                                 \
    X(gather, false, heed_gather(x, 1, heed_unsqueeze(heed_argmax_dim(x, 1, false), 1)))           \
    X(attention, false, heed_scaled_dot_product_attention(x, w, w))

#define FUNCTION(name, is_sum, expression)                                                         \
    static heed_tensor *f_##name(heed_tensor *x, heed_tensor *w)                                   \
    {                                                                                              \
        (void)w;                                                                                   \
        return expression;                                                                         \
    }
EACH_CASE(FUNCTION)

#define NAMED(name, is_sum, expression) {#name, is_sum, f_##name},
static const struct function {
    const char *name;
    bool is_sum; /* over the rows; else there is a row of the result for each row of x */
    heed_tensor *(*f)(heed_tensor *x, heed_tensor *w);
} functions[] = {EACH_CASE(NAMED)};
enum { FUNCTIONS = sizeof functions / sizeof *functions, RESULTS = 3 };

/* The result, and the gradients by x and w of a sum over its rows. */
static void run(const struct function *f, heed_tensor *x, heed_tensor *w, heed_tensor **results)
{
    heed_tensor *xs[] = {heed_set_requires_grad(heed_detach(x), true),
                         heed_set_requires_grad(heed_detach(w), true)};
    heed_tensor *y = results[0] = f->f(xs[0], xs[1]);
    results[1] = results[2] = heed_scalar(0, HEED_F32);
    if (y != NULL && y->requires_grad) {
        heed_tensor *g = f->is_sum ? noise(heed_shape_of_tensor(y), y->dtype, ROWS, 9) : y;
        heed_grad(heed_sum(heed_mul(y, g)), xs, 2, results + 1, false);
    }
    expect_no_error();
}

static const int64_t sizes[][2] = {{17, 15},   {65, 37},    {130, 200}, {2049, 8},
                                   {20011, 5}, {1031, 333}, {16, 8193}, {3, 70001}};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- in parts ---- */

static heed_tensor *joined(heed_tensor *const *parts, int count, bool is_sum)
{
    if (!is_sum && parts[0]->ndim > 0) {
        return heed_cat(parts, count, 0);
    }
    heed_tensor *sum = heed_to(parts[0], HEED_F64);
    for (int i = 1; i < count; i++) {
        sum = heed_add(sum, heed_to(parts[i], HEED_F64));
    }
    return sum;
}

static void expect_near(const char *what, int result, heed_tensor *x, heed_tensor *goal)
{
    const double tolerance = x->dtype == HEED_F32 ? 1e-4 : 1e-10;
    heed_tensor *a = heed_to(x, HEED_F64), *b = heed_to(goal, HEED_F64);
    expect_shape(a, heed_shape_of_tensor(b));
    const double off = heed_item(heed_amax(heed_abs(heed_sub(a, b))));
    const double size = heed_item(heed_amax(heed_abs(b)));
    EXPECT(off <= tolerance * (1 + size), "%s: result %d is off by %g", what, result, off);
}

START_TEST(many_rows_are_as_a_few_at_a_time)
{
    enum { MOST_PARTS = 300 };
    const struct function *f = &functions[_i];
    heed_tensor *whole[RESULTS], *parts[RESULTS][MOST_PARTS], *results[RESULTS];
    for (int i = 0; i < 2 * SIZES; i++) {
        HEED_SCOPE(scope);
        const int64_t n = sizes[i / 2][0], c = sizes[i / 2][1], few = c < 200 ? 1500 / c : 7;
        const heed_dtype dtype = i % 2 == 0 ? HEED_F32 : HEED_F64;
        heed_tensor *x = noise(HEED_SHAPE(n, c), dtype, i / 2 % 2 == 0 ? ROWS : STEPPED, 1);
        heed_tensor *w = noise(HEED_SHAPE(TABLE, c), dtype, ROWS, 2);
        int count = 0;
        run(f, x, w, whole);
        for (int64_t first = 0; first < n; first += few, count++) {
            run(f, heed_narrow(x, 0, first, first + few < n ? few : n - first), w, results);
            for (int k = 0; k < RESULTS; k++) {
                parts[k][count] = results[k];
            }
        }
        for (int k = 0; k < RESULTS; k++) {
            expect_near(f->name, k, whole[k], joined(parts[k], count, k == 0 ? f->is_sum : k == 2));
        }
    }
}
END_TEST

/* ---- on several threads ---- */

START_TEST(bits_are_the_same_for_any_number_of_threads)
{
    const struct function *f = &functions[_i];
    heed_tensor *alone[RESULTS], *together[RESULTS];
    for (int i = 6; i < 2 * SIZES; i++) { /* the smallest stay on one thread */
        HEED_SCOPE(scope);
        const heed_shape shape = HEED_SHAPE(sizes[i / 2][0], sizes[i / 2][1]);
        const heed_dtype dtype = i % 2 == 0 ? HEED_F32 : HEED_F64;
        heed_tensor *x = noise(shape, dtype, i / 2 % 2 == 0 ? STEPPED : ROWS, 1);
        heed_tensor *w = noise(HEED_SHAPE(TABLE, shape.size[1]), dtype, ROWS, 2);
        heed_set_num_threads(1);
        run(f, x, w, alone);
        for (int threads = 2; threads <= 3; threads++) {
            heed_set_num_threads(threads);
            run(f, x, w, together);
            for (int k = 0; k < RESULTS; k++) {
                expect_same_bits(heed_detach(together[k]), heed_detach(alone[k]));
            }
        }
    }
}
END_TEST

/* ---- without an input ---- */

START_TEST(fills_reach_the_end_and_keep_to_their_place)
{
    static const int64_t counts[] = {1, 255, 257, 16383, 16385, 40001, 80001};
    for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            HEED_SCOPE(scope);
            const int64_t n = counts[i];
            heed_tensor *x = heed_full(HEED_SHAPE(n, 2), 1, dtype);
            ck_assert_double_eq(heed_item(heed_sum(x)), 2.0 * (double)n);
            heed_fill_into(heed_select(x, 1, 1), 0);
            ck_assert_double_eq(heed_item(heed_sum(x)), (double)n);
            ck_assert_double_eq(heed_item(heed_sum(heed_select(x, 1, 0))), (double)n);
            heed_fill_into(x, 0);
            ck_assert(heed_equal(x, heed_zeros(HEED_SHAPE(n, 2), dtype)));
        }
    }
}
END_TEST

/* From some size, the chunks of a sum become longer rather than more numerous. */
START_TEST(the_longest_sums_are_exact)
{
    const double n = CHUNK * 16384 + 3;
    ck_assert_double_eq(heed_item(heed_sum(heed_arange(0, n, 1, HEED_F64))), n * (n - 1) / 2);
}
END_TEST

void add_limits_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "limits");
    tcase_add_loop_test(tests, many_rows_are_as_a_few_at_a_time, 0, FUNCTIONS);
    tcase_add_loop_test(tests, bits_are_the_same_for_any_number_of_threads, 0, FUNCTIONS);
    tcase_add_test(tests, fills_reach_the_end_and_keep_to_their_place);
    tcase_add_test(tests, the_longest_sums_are_exact);
}
