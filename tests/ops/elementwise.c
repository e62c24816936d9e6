/* Elementwise operations beyond their rows: dtypes of results, accuracy over the whole range of
 * f32, extreme i64 values, and results near overflow. */
#include <math.h>

#include "tests/common/reference.h"

/* ---- dtypes of results ---- */

enum kind { FLOAT, NUMBER, ANY };

/* torch's promotion; f32 with f64 is refused (HEED_DTYPES). */
static heed_dtype promoted(heed_dtype a, heed_dtype b)
{
    return a + b == HEED_F32 + HEED_F64 ? HEED_DTYPES : a < b ? a : b;
}

/* The dtype of a result whose operands compute in `common`; HEED_DTYPES if it is refused. */
static heed_dtype result_of(enum kind kind, heed_dtype common)
{
    return kind == FLOAT && (common == HEED_I64 || common == HEED_BOOL) ? HEED_F32
           : kind == NUMBER && common == HEED_BOOL                      ? HEED_DTYPES
                                                                        : common;
}

static void expect_dtype(heed_tensor *y, heed_dtype expected, const char *name)
{
    if (expected == HEED_DTYPES) {
        ck_assert_ptr_null(y);
        expect_error(HEED_ERR_DTYPE, name);
    } else {
        expect_kind(y, expected, HEED_SHAPE(2));
    }
}

static const struct unary {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *x);
    enum kind kind;
} unaries[] = {
    {"neg", heed_neg, NUMBER},       {"exp", heed_exp, FLOAT},     {"log", heed_log, FLOAT},
    {"sqrt", heed_sqrt, FLOAT},      {"tanh", heed_tanh, FLOAT},   {"sigmoid", heed_sigmoid, FLOAT},
    {"relu", heed_relu, NUMBER},     {"abs", heed_abs, NUMBER},    {"sign", heed_sign, ANY},
    {"floor", heed_floor, NUMBER},   {"rsqrt", heed_rsqrt, FLOAT}, {"sin", heed_sin, FLOAT},
    {"square", heed_square, NUMBER}, {"cos", heed_cos, FLOAT},     {"erf", heed_erf, FLOAT},
};

static const struct binary {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *a, heed_tensor *b);
    heed_tensor *(*apply_scalar)(heed_tensor *a, double b);
    enum kind kind;
    bool compares;
} binaries[] = {
    {"add", heed_add, heed_add_scalar, ANY, false},
    {"sub", heed_sub, heed_sub_scalar, NUMBER, false},
    {"mul", heed_mul, heed_mul_scalar, ANY, false},
    {"div", heed_div, heed_div_scalar, FLOAT, false},
    {"pow", heed_pow, heed_pow_scalar, NUMBER, false},
    {"maximum", heed_maximum, heed_maximum_scalar, ANY, false},
    {"minimum", heed_minimum, heed_minimum_scalar, ANY, false},
    {"eq", heed_eq, heed_eq_scalar, ANY, true},
    {"lt", heed_lt, heed_lt_scalar, ANY, true},
};

START_TEST(dtypes_of_results)
{
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++) {
        const struct unary *u = &unaries[i];
        for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
            expect_dtype(u->apply(heed_ones(HEED_SHAPE(2), dtype)), result_of(u->kind, dtype),
                         u->name);
        }
    }
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        const struct binary *op = &binaries[i];
        for (int pair = 0; pair < HEED_DTYPES * HEED_DTYPES; pair++) {
            const heed_dtype of_a = (heed_dtype)(pair / HEED_DTYPES);
            const heed_dtype of_b = (heed_dtype)(pair % HEED_DTYPES);
            heed_tensor *a = heed_ones(HEED_SHAPE(2), of_a), *b = heed_ones(HEED_SHAPE(2), of_b);
            const heed_dtype common = promoted(of_a, of_b);
            heed_dtype expected = common == HEED_DTYPES ? HEED_DTYPES : result_of(op->kind, common);
            expected = op->compares && expected != HEED_DTYPES ? HEED_BOOL : expected;
            expect_dtype(op->apply(a, b), expected, op->name);
            if (of_b == HEED_I64) { /* a whole number counts as an i64 scalar */
                expect_dtype(op->apply_scalar(a, 1), expected, op->name);
            }
        }
    }
}
END_TEST

/* ---- accuracy ---- */

static double sigmoid_of(double x)
{
    return 1 / (1 + exp(-x));
}

static double rsqrt_of(double x)
{
    return 1 / sqrt(x);
}

static const struct curve {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *x);
    double (*reference)(double x);
    double ulps;
} curves[] = {
    {"exp", heed_exp, exp, 2},
    {"log", heed_log, log, 2},
    {"sqrt", heed_sqrt, sqrt, ROUNDED_ONCE},
    {"tanh", heed_tanh, tanh, 2},
    {"sigmoid", heed_sigmoid, sigmoid_of, 4},
    {"rsqrt", heed_rsqrt, rsqrt_of, 2},
    {"sin", heed_sin, sin, 2},
    {"cos", heed_cos, cos, 2},
    {"erf", heed_erf, erf, 2},
};
enum { CURVES = sizeof curves / sizeof *curves };

/* x over the whole range in which f32 results vary, down to the smallest. */
START_TEST(f32_is_accurate_everywhere)
{
    enum { COUNT = 40000 };
    const struct curve *u = &curves[_i];
    bool roots = u->apply == heed_log || u->apply == heed_sqrt || u->apply == heed_rsqrt;
    /* Below -88 e^-x in torch's sigmoid overflows, and so does ours. */
    const float range = u->apply == heed_sigmoid ? 176 : 210;
    heed_tensor *x = heed_empty(HEED_SHAPE(COUNT), HEED_F32);
    float *values = heed_data_f32(x);
    for (int i = 0; i < COUNT; i++) {
        float place = (float)i / COUNT;
        values[i] = roots ? exp2f(place * 276 - 149) : place * range - range / 2;
    }
    const float *y = heed_const_data_f32(u->apply(x));
    for (int i = 0; i < COUNT; i++) {
        double goal = u->reference((double)values[i]);
        EXPECT(within_ulps((double)y[i], goal, u->ulps, HEED_F32), "%s(%.9g) is %.9g, not %.17g",
               u->name, (double)values[i], (double)y[i], goal);
    }
}
END_TEST

/* ---- extreme i64 values ---- */

START_TEST(whole_numbers_wrap)
{
    heed_tensor *min = heed_from_i64((int64_t[]){INT64_MIN}, HEED_SCALAR);
    heed_tensor *max = heed_from_i64((int64_t[]){INT64_MAX}, HEED_SCALAR);
    heed_tensor *odd = heed_from_i64((int64_t[]){(INT64_C(1) << 62) + 1}, HEED_SCALAR);
    ck_assert_int_eq(heed_item_i64(heed_neg(min)), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_pow(heed_scalar(-1, HEED_I64), odd)), -1);
    ck_assert_int_eq(heed_item_i64(heed_add_scalar(max, 1)), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_sub(min, max)), 1);
    ck_assert_int_eq(heed_item_i64(heed_mul(max, max)), 1);
    ck_assert_int_eq(heed_item_i64(heed_maximum(max, min)), INT64_MAX);
    ck_assert_int_eq(heed_item_i64(heed_minimum(max, min)), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_relu(min)), 0);
    ck_assert_int_eq(heed_item_i64(heed_abs(min)), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_abs(heed_add_scalar(min, 1))), INT64_MAX);
    ck_assert_int_eq(heed_item_i64(heed_floor(max)), INT64_MAX); /* not converted to double */
    ck_assert_int_eq(heed_item_i64(heed_square(heed_scalar(-3, HEED_I64))), 9);
    ck_assert_int_eq(heed_item_i64(heed_add(heed_sub_scalar(max, 7), heed_scalar(7, HEED_I64))),
                     INT64_MAX);
}
END_TEST

/* Steps have gradient 0, whatever comes from above. */
START_TEST(steps_stop_nan)
{
    heed_tensor *(*const steps[])(heed_tensor *) = {heed_sign, heed_floor};
    heed_tensor *x = heed_set_requires_grad(noise(HEED_SHAPE(3), HEED_F32, ROWS, 1), true), *dx;
    for (int i = 0; i < 4; i++) {
        heed_tensor *y = heed_sum(heed_mul_scalar(steps[i / 2](x), (double)NAN));
        heed_grad(y, &x, 1, &dx, i % 2 != 0);
        EXPECT_VALUES(heed_detach(dx), 0, 0, 0, 0);
    }
}
END_TEST

/* The table of special points in docs/pytorch.md; parity.c has those that are PyTorch's. */
START_TEST(special_points_are_as_documented)
{
    const heed_dtype dtype = (heed_dtype)_i;
    const double inf = (double)INFINITY, nan = (double)NAN;
    heed_tensor *at = heed_to(heed_from_f64((double[]){inf, -inf, nan}, HEED_SHAPE(3)), dtype);
    heed_tensor *x = heed_set_requires_grad(at, true), *dx;
    heed_tensor *(*const gelus[])(heed_tensor *) = {heed_gelu, heed_gelu_tanh};
    for (int i = 0; i < 2; i++) {
        heed_tensor *y = gelus[i](x);
        EXPECT_VALUES(heed_detach(y), 0, inf, nan, nan);
        heed_grad(heed_sum(y), &x, 1, &dx, false);
        EXPECT_VALUES(dx, 0, nan, nan, nan);
    }
    EXPECT_VALUES(heed_to(heed_detach(x), HEED_BOOL), 0, 1, 1, 1);
    heed_set_grad(x, heed_full(HEED_SHAPE(3), dtype == HEED_F32 ? 1e30 : 1e155, dtype));
    const double norm = heed_clip_grad_norm((heed_tensor_list){1, &x, NULL}, inf);
    ck_assert(dtype == HEED_F32 ? fabs(norm / 1e30 - sqrt(3)) < 1e-6 : norm == inf);
    heed_tensor *y = heed_pow_scalar(heed_from_f64((double[]){-0.0, -inf}, HEED_SHAPE(2)), 0.5);
    EXPECT_VALUES(y, 0, 0, inf);
    ck_assert(!signbit(heed_at(y, HEED_INDEX(0))));
}
END_TEST

/* Integers above 2^53, which double cannot represent, are compared exactly. */
START_TEST(large_whole_numbers_are_compared_exactly)
{
    const int64_t two53 = INT64_C(1) << 53;
    heed_tensor *a = heed_from_i64((int64_t[]){two53 - 1, two53, two53 + 1}, HEED_SHAPE(3));
    heed_tensor *b = heed_from_i64((int64_t[]){two53}, HEED_SHAPE(1));
    EXPECT_VALUES(heed_eq(a, b), 0, 0, 1, 0);
    EXPECT_VALUES(heed_gt(a, b), 0, 0, 0, 1);
    EXPECT_VALUES(heed_eq_scalar(a, 0x1p53), 0, 0, 1, 0);
    EXPECT_VALUES(heed_gt_scalar(a, 0x1p53), 0, 0, 0, 1);
    EXPECT_VALUES(heed_le_scalar(a, 0x1p53), 0, 1, 1, 0);
    /* Scalars that i64 cannot represent can still be compared. */
    EXPECT_VALUES(heed_lt_scalar(a, 0.5), 0, 0, 0, 0);
    EXPECT_VALUES(heed_lt_scalar(a, 1e30), 0, 1, 1, 1);
    EXPECT_VALUES(heed_gt_scalar(a, -HUGE_VAL), 0, 1, 1, 1);
    EXPECT_VALUES(heed_ne_scalar(a, (double)NAN), 0, 1, 1, 1);
    EXPECT_VALUES(heed_ge_scalar(a, (double)NAN), 0, 0, 0, 0);
}
END_TEST

static double slope(heed_tensor *(*f)(heed_tensor *x), double at, double g, bool create_graph)
{
    heed_tensor *x = heed_set_requires_grad(heed_scalar(at, HEED_F32), true), *dx;
    heed_grad(heed_mul_scalar(f(x), g), &x, 1, &dx, create_graph);
    expect_no_error();
    return heed_item(dx);
}

/* Intermediate values do not overflow if the result fits f32. */
START_TEST(no_overflow_on_the_way)
{
    EXPECT_VALUES(heed_gelu(heed_scalar(HUGE_VAL, HEED_F32)), 0, HUGE_VAL);
    EXPECT_VALUES(heed_gelu(heed_scalar(3e38, HEED_F32)), 1e32, 3e38);
    EXPECT_VALUES(heed_gelu_tanh(heed_scalar(3e38, HEED_F32)), 1e32, 3e38);
    /* torch reports an error for this fill value */
    heed_tensor *one = heed_ones(HEED_SHAPE(1), HEED_F32);
    EXPECT_VALUES(heed_masked_fill(one, heed_ones(HEED_SHAPE(1), HEED_BOOL), 1e300), 0, HUGE_VAL);
    for (int create_graph = 0; create_graph < 2; create_graph++) {
        expect_element("erf", slope(heed_erf, 1, 3.2e38, create_graph), 1.3283439713e38, 4,
                       HEED_F32);
        for (double x = 10; x < 1e38; x *= 10) {
            ck_assert_double_eq(slope(heed_gelu_tanh, x, 1, create_graph), 1);
            expect_element("gelu_tanh", slope(heed_gelu_tanh, -x, 1, create_graph) + 1, 1, 0,
                           HEED_F32);
        }
    }
}
END_TEST

void add_elementwise_cases(Suite *suite)
{
    TCase *elementwise = heed_case(suite, "elementwise");
    tcase_add_test(elementwise, dtypes_of_results);
    tcase_add_loop_test(elementwise, f32_is_accurate_everywhere, 0, CURVES);
    tcase_add_test(elementwise, whole_numbers_wrap);
    tcase_add_test(elementwise, steps_stop_nan);
    tcase_add_loop_test(elementwise, special_points_are_as_documented, 0, 2);
    tcase_add_test(elementwise, large_whole_numbers_are_compared_exactly);
    tcase_add_test(elementwise, no_overflow_on_the_way);
}
