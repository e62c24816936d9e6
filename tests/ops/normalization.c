/* layer_norm beyond its rows: accuracy in f32, for large means too; what gradients read. */
#include <math.h>

#include "tests/common/reference.h"

static heed_tensor *wanted(heed_tensor *x)
{
    return heed_set_requires_grad(x, true);
}

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
    tcase_add_loop_test(tests, normalized_in_f32_as_in_f64, 0, 9 * KINDS);
    tcase_add_test(tests, a_bias_alone_needs_no_x);
}
