/* layer_norm: accuracy for large means, and rejected arguments. Values and gradients
 * are compared with PyTorch's by the parity cases. */
#include <math.h>
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/reference.h"

#define NaN (double)NAN

static heed_tensor *wanted(heed_tensor *x)
{
    return heed_set_requires_grad(x, true);
}

/* Compared with f64 loops over the same floats. torch's own error is 4e-7 at a mean of 0, 1e-3 at
 * 1e4 and 0.1 at 1e6. */
START_TEST(layer_norm_is_accurate_far_from_0)
{
    enum { N = 256 };
    static const float means[] = {0, 100, -1e4f, 1e6f};
    for (int m = 0; m < 4; m++) {
        float values[N];
        double mean = 0, square = 0;
        heed_tensor *small = noise(HEED_SHAPE(N), HEED_F64, ROWS, 11);
        for (int i = 0; i < N; i++) {
            values[i] = means[m] + (float)heed_at(small, HEED_INDEX(i));
            mean += (double)values[i] / N;
        }
        for (int i = 0; i < N; i++) {
            square += pow((double)values[i] - mean, 2) / N;
        }
        heed_tensor *x = heed_from_f32(values, HEED_SHAPE(N));
        heed_tensor *y = heed_layer_norm(x, HEED_SHAPE(N), NULL, NULL, 1e-5);
        for (int i = 0; i < N; i++) {
            const double goal = ((double)values[i] - mean) / sqrt(square + 1e-5);
            const double found = heed_at(y, HEED_INDEX(i));
            EXPECT(fabs(found - goal) < 6e-7, "mean %g: %g off", (double)means[m], found - goal);
        }
    }
}
END_TEST

/* weight z + bias by elementary operations. */
static heed_tensor *plainly(heed_tensor *x, heed_tensor *weight, heed_tensor *bias)
{
    heed_tensor *c = heed_sub(x, heed_mean_dim(x, -1, true));
    heed_tensor *square = heed_add_scalar(heed_mean_dim(heed_square(c), -1, true), 1e-5);
    heed_tensor *y = heed_div(c, heed_sqrt(square));
    y = weight != NULL ? heed_mul(y, weight) : y;
    return bias != NULL ? heed_add(y, bias) : y;
}

static void expect_near(heed_tensor *found, heed_tensor *goal, int64_t n, const char *what)
{
    const double most = heed_item(heed_amax(heed_abs(goal)));
    const double off = heed_item(heed_amax(heed_abs(heed_sub(found, goal))));
    EXPECT(off <= 1e-13 * (1 + most), "%s of %lld: %g off", what, (long long)n, off);
}

/* Values and all gradients, in f64, of rows that do and do not fill the kernels' lanes. */
START_TEST(normalized_by_kernels_and_plainly)
{
    static const int64_t sizes[] = {1, 2, 31, 32, 33, 64, 100, 257};
    const int64_t n = sizes[_i % 8];
    const bool weighted = _i / 8 == 0;
    const heed_shape row = HEED_SHAPE(n);
    heed_tensor *x = wanted(noise(HEED_SHAPE(5, n), HEED_F64, COLUMNS, 3));
    heed_tensor *w = wanted(noise(row, HEED_F64, ROWS, 4)),
                *b = wanted(noise(row, HEED_F64, ROWS, 5));
    heed_tensor *g = noise(HEED_SHAPE(5, n), HEED_F64, COLUMNS, 6), *xs[] = {x, w, b};
    heed_tensor *weight = weighted ? w : NULL, *bias = weighted ? b : NULL;
    heed_tensor *y = heed_layer_norm(x, row, weight, bias, 1e-5);
    heed_tensor *goal = plainly(x, weight, bias), *found[3], *goals[3];
    expect_near(y, goal, n, "y");
    heed_grad(heed_sum(heed_mul(goal, g)), xs, 3, goals, false);
    for (int graph = 1; graph >= 0; graph--) {
        heed_grad(heed_sum(heed_mul(y, g)), xs, 3, found, graph);
        expect_near(found[0], goals[0], n, "dx");
        expect_near(found[1], goals[1], n, "dweight");
        expect_near(found[2], goals[2], n, "dbias");
    }
    expect_no_error();
}
END_TEST

/* Kinds of rows: with a large mean, or misleading first elements. */
enum { ORDINARY, FAR, MISLEADING, KINDS };

static float hard_value(int kind, int64_t place, float noise)
{
    switch (kind) {
    case FAR:
        return -1e4f + noise;
    case MISLEADING:
        return place < 16 ? 1000 + noise : noise;
    default:
        return noise;
    }
}

static void expect_within(heed_tensor *found, heed_tensor *goal, double most, const char *what)
{
    const double size = heed_item(heed_amax(heed_abs(goal)));
    const double off = heed_item(heed_amax(heed_abs(heed_sub(heed_to(found, HEED_F64), goal))));
    EXPECT(off <= most * 0x1p-23 * size, "%s: off by %g ulp of the largest", what,
           off / size * 0x1p23);
}

/* Values and all gradients in f32, compared with those of the same floats in f64. There are more
 * rows, and columns, than are processed together. One row in three is of the given kind. */
START_TEST(normalized_in_f32_as_in_f64)
{
    static const int64_t sizes[] = {1, 3, 4, 15, 16, 17, 100, 1024, 2100};
    enum { COUNT = sizeof sizes / sizeof *sizes, LINES = 19 };
    const int64_t n = sizes[_i % COUNT];
    const int kind = _i / COUNT;
    const heed_shape row = HEED_SHAPE(n), shape = HEED_SHAPE(LINES, n);
    heed_tensor *x = noise(shape, HEED_F32, ROWS, 3), *g = noise(shape, HEED_F32, ROWS, 6);
    for (int64_t i = 0; i < LINES * n; i++) {
        float *at = heed_data_f32(x) + i;
        *at = i / n % 3 == 1 ? hard_value(kind, i % n, *at) : *at;
    }
    heed_tensor *in[] = {wanted(x), wanted(noise(row, HEED_F32, ROWS, 4)),
                         wanted(noise(row, HEED_F32, ROWS, 5))};
    heed_tensor *found[2][4];
    for (int wide = 0; wide < 2; wide++) {
        heed_tensor *as[3];
        for (int i = 0; i < 3; i++) {
            as[i] = wide ? wanted(heed_to(heed_detach(in[i]), HEED_F64)) : in[i];
        }
        heed_tensor *y = heed_layer_norm(as[0], row, as[1], as[2], 1e-5);
        heed_grad(heed_sum(heed_mul(y, heed_to(g, as[0]->dtype))), as, 3, found[wide], false);
        found[wide][3] = heed_detach(y);
    }
    expect_within(found[0][3], found[1][3], 3, "y");
    expect_within(found[0][1], found[1][1], 4, "dweight");
    expect_within(found[0][2], found[1][2], 3, "dbias");
    /* dx of short rows is a small difference of large terms, and 0 for one element. */
    for (int64_t i = 0; i < LINES && n > 1; i++) {
        heed_tensor *dx[] = {heed_select(found[0][0], 0, i), heed_select(found[1][0], 0, i)};
        expect_within(dx[0], dx[1], n < 15 ? 64 : 8, "dx");
    }
    expect_no_error();
}
END_TEST

START_TEST(lines_of_one_value_of_infinity_and_of_nothing)
{
    const heed_shape three = HEED_SHAPE(3), none = HEED_SHAPE(0);
    heed_tensor *same = heed_full(HEED_SHAPE(2, 3), 7, HEED_F32);
    heed_tensor *half = heed_full(three, 0.5, HEED_F32);
    EXPECT_VALUES(heed_layer_norm(same, three, NULL, NULL, 1e-5), 0, 0, 0, 0, 0, 0, 0);
    EXPECT_VALUES(heed_layer_norm(same, three, half, half, 1e-5), 0, .5, .5, .5, .5, .5, .5);
    EXPECT_VALUES(heed_layer_norm(same, three, NULL, NULL, 0), 0, 0, 0, 0, 0, 0, 0); /* eps 1e-5 */
    heed_tensor *infinite = heed_from_f32((float[]){INFINITY, 1, 2}, three);
    EXPECT_VALUES(heed_layer_norm(infinite, three, NULL, NULL, 1e-5), 0, NaN, NaN, NaN);
    heed_tensor *no_rows = heed_ones(HEED_SHAPE(0, 3), HEED_F32);
    expect_kind(heed_layer_norm(no_rows, three, half, half, 1e-5), HEED_F32, HEED_SHAPE(0, 3));
    heed_tensor *empty = heed_ones(HEED_SHAPE(2, 0), HEED_F32),
                *nothing = heed_ones(none, HEED_F32);
    expect_kind(heed_layer_norm(empty, none, nothing, nothing, 1e-5), HEED_F32, HEED_SHAPE(2, 0));
}
END_TEST

START_TEST(normalized_shapes_are_checked)
{
    static const heed_shape wrong[] = {{0, {0}},       {1, {2}},  {1, {1}}, {2, {2, 3}},
                                       {3, {1, 2, 3}}, {-1, {0}}, {9, {0}}, {1, {INT64_MAX}}};
    heed_tensor *x = heed_ones(HEED_SHAPE(3, 3), HEED_F32), *scalar = heed_scalar(1, HEED_F32);
    for (int i = 0; i < 8; i++) {
        ck_assert_ptr_null(heed_layer_norm(x, wrong[i], NULL, NULL, 1e-5));
        expect_error(HEED_ERR_SHAPE, "layer_norm: x (3, 3) does not end with the normalized shape");
    }
    ck_assert_ptr_null(heed_layer_norm(scalar, HEED_SHAPE(1), NULL, NULL, 1e-5));
    expect_error(HEED_ERR_SHAPE, "layer_norm: x () does not end with");
    heed_tensor *parameters[] = {heed_ones(HEED_SHAPE(1, 3), HEED_F32), scalar,
                                 heed_ones(HEED_SHAPE(2), HEED_F32)};
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_null(heed_layer_norm(x, HEED_SHAPE(3), parameters[i], NULL, 1e-5));
        expect_error(HEED_ERR_SHAPE, "does not fit x (3, 3): takes x (..., n), weight? (n)");
        ck_assert_ptr_null(heed_layer_norm(x, HEED_SHAPE(3), NULL, parameters[i], 1e-5));
        expect_error(HEED_ERR_SHAPE, "layer_norm: bias");
    }
    heed_tensor *ones = wanted(heed_ones(HEED_SHAPE(3), HEED_F32)),
                *inputs[] = {x, ones, ones, ones};
    const heed_tensor *norm = heed_layer_norm(x, HEED_SHAPE(3), ones, ones, 0);
    ck_assert_ptr_null(heed_apply(norm->op, inputs, 4, norm->args, norm->args_size));
    expect_error(HEED_ERR_VALUE, "layer_norm: got 4 tensors; takes x");
}
END_TEST

/* The derivative by the bias does not read x, whose value is already freed. */
START_TEST(a_bias_alone_needs_no_x)
{
    heed_tensor *bias = heed_set_requires_grad(heed_zeros(HEED_SHAPE(3), HEED_F32), true);
    for (int graph = 0; graph < 2; graph++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_tensor *x = heed_from_f32((float[]){1, 2, 4, 8, 16, 32}, HEED_SHAPE(2, 3));
        heed_tensor *y = heed_layer_norm(heed_neg(x), HEED_SHAPE(3), NULL, bias, 0);
        y = heed_scope_end_with(&scope, heed_sum(y));
        heed_tensor *g = NULL;
        heed_grad(y, &bias, 1, &g, graph == 1);
        EXPECT_VALUES(g, 0, 2, 2, 2);
    }
}
END_TEST

void add_normalization_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "normalize");
    tcase_add_test(tests, layer_norm_is_accurate_far_from_0);
    tcase_add_loop_test(tests, normalized_by_kernels_and_plainly, 0, 16);
    tcase_add_test(tests, lines_of_one_value_of_infinity_and_of_nothing);
    tcase_add_loop_test(tests, normalized_in_f32_as_in_f64, 0, 9 * KINDS);
    tcase_add_test(tests, normalized_shapes_are_checked);
    tcase_add_test(tests, a_bias_alone_needs_no_x);
}
