/* Elementwise operations: every line of ops.def with all dtypes, layouts and broadcast shapes,
 * compared with plain loops; where; extreme i64 values, bools, bounds and infinities, which the
 * comparison with PyTorch does not cover. */
#include <math.h>

#include "tests/common/reference.h"

#define INF HUGE_VAL
#define NaN (double)NAN

enum kind { FLOAT, NUMBER, ANY };

static const heed_dtype no_dtype = HEED_DTYPES;

/* torch's promotion, except that f32 with f64 is an error. */
static heed_dtype promoted(heed_dtype a, heed_dtype b)
{
    static const heed_dtype common[HEED_DTYPES][HEED_DTYPES] = {
        {HEED_F32, HEED_DTYPES, HEED_F32, HEED_F32},
        {HEED_DTYPES, HEED_F64, HEED_F64, HEED_F64},
        {HEED_F32, HEED_F64, HEED_I64, HEED_I64},
        {HEED_F32, HEED_F64, HEED_I64, HEED_BOOL},
    };
    return common[a][b];
}

/* The dtype of a result whose operands compute in `common`; no_dtype if unsupported. */
static heed_dtype result_of(enum kind kind, heed_dtype common)
{
    bool whole = common == HEED_I64 || common == HEED_BOOL;
    return kind == FLOAT && whole                  ? HEED_F32
           : kind == NUMBER && common == HEED_BOOL ? no_dtype
                                                   : common;
}

/* ---- one operand ---- */

#define OF_ONE(name, formula)                                                                      \
    static double name##_of(double x)                                                              \
    {                                                                                              \
        return formula;                                                                            \
    }
OF_ONE(neg, -x)
OF_ONE(sigmoid, 1 / (1 + exp(-x)))
OF_ONE(relu, x < 0 ? 0 : x)
OF_ONE(sign, (x > 0) - (x < 0))
OF_ONE(rsqrt, 1 / sqrt(x))
OF_ONE(square, x *x)

static const struct unary {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *x);
    double (*reference)(double x);
    enum kind kind;
    double ulps;
} unaries[] = {
    {"neg", heed_neg, neg_of, NUMBER, 0},
    {"exp", heed_exp, exp, FLOAT, 2},
    {"log", heed_log, log, FLOAT, 2},
    {"sqrt", heed_sqrt, sqrt, FLOAT, ROUNDED_ONCE},
    {"tanh", heed_tanh, tanh, FLOAT, 2},
    {"sigmoid", heed_sigmoid, sigmoid_of, FLOAT, 4},
    {"relu", heed_relu, relu_of, NUMBER, 0},
    {"abs", heed_abs, fabs, NUMBER, 0},
    {"sign", heed_sign, sign_of, ANY, 0},
    {"floor", heed_floor, floor, NUMBER, 0},
    {"rsqrt", heed_rsqrt, rsqrt_of, FLOAT, 2},
    {"square", heed_square, square_of, NUMBER, ROUNDED_ONCE},
    {"sin", heed_sin, sin, FLOAT, 2},
    {"cos", heed_cos, cos, FLOAT, 2},
    {"erf", heed_erf, erf, FLOAT, 2},
};
enum { UNARIES = sizeof unaries / sizeof *unaries };

/* clang-format off */
static const heed_shape shapes[] = {
    {0, {0}}, {1, {0}}, {1, {1}}, {1, {7}}, {1, {300}}, {2, {3, 4}}, {2, {2, 700}}, {2, {513, 2}},
    {3, {2, 0, 3}}, {3, {1, 5, 1}}, {4, {2, 3, 4, 5}}, {8, {1, 2, 1, 2, 3, 2, 1, 3}},
};
/* clang-format on */
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void check_unary(const struct unary *u, heed_shape shape, heed_dtype dtype,
                        enum layout layout)
{
    heed_tensor *x = noise(shape, dtype, layout, (uint64_t)shape.ndim);
    heed_tensor *y = u->apply(x);
    const heed_dtype expected = result_of(u->kind, dtype);
    if (expected == no_dtype) {
        ck_assert_ptr_null(y);
        expect_error(HEED_ERR_DTYPE, u->name);
        return;
    }
    expect_kind(y, expected, shape);
    EXPECT(heed_is_contiguous(y), "%s: not contiguous", u->name);
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        double in = element(x, at), goal = u->reference(in), found = element(y, at);
        EXPECT(within_ulps(found, goal, u->ulps, expected), "%s(%.17g) is %.17g, not %.17g",
               u->name, in, found, goal);
    }
}

START_TEST(unary_on_all_shapes_layouts_and_dtypes)
{
    for (int shape = 0; shape < SHAPES; shape++) {
        for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
            for (enum layout layout = 0; layout < LAYOUTS; layout++) {
                check_unary(&unaries[_i], shapes[shape], dtype, layout);
            }
        }
    }
}
END_TEST

/* x over the whole range in which f32 results vary, down to the smallest. */
START_TEST(unary_is_accurate_everywhere)
{
    enum { COUNT = 40000 };
    const struct unary *u = &unaries[_i];
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

/* ---- two operands ---- */

#define OF_TWO(name, formula)                                                                      \
    static double name##_of(double a, double b)                                                    \
    {                                                                                              \
        return formula;                                                                            \
    }
OF_TWO(add, a + b)
OF_TWO(sub, a - b)
OF_TWO(mul, a *b)
OF_TWO(div, a / b)
OF_TWO(maximum, isnan(a) ? a : isnan(b) || b > a ? b : a)
OF_TWO(minimum, -maximum_of(-a, -b))
OF_TWO(eq, a == b)
OF_TWO(ne, a != b)
OF_TWO(lt, a < b)
OF_TWO(le, a <= b)
OF_TWO(gt, a > b)
OF_TWO(ge, a >= b)

static const struct binary {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *a, heed_tensor *b);
    heed_tensor *(*apply_scalar)(heed_tensor *a, double b);
    double (*reference)(double a, double b);
    enum kind kind;
    double ulps;
    bool compares;
} binaries[] = {
    {"add", heed_add, heed_add_scalar, add_of, ANY, ROUNDED_ONCE, false},
    {"sub", heed_sub, heed_sub_scalar, sub_of, NUMBER, ROUNDED_ONCE, false},
    {"mul", heed_mul, heed_mul_scalar, mul_of, ANY, ROUNDED_ONCE, false},
    {"div", heed_div, heed_div_scalar, div_of, FLOAT, ROUNDED_ONCE, false},
    {"pow", heed_pow, heed_pow_scalar, pow, NUMBER, 2, false},
    {"maximum", heed_maximum, heed_maximum_scalar, maximum_of, ANY, 0, false},
    {"minimum", heed_minimum, heed_minimum_scalar, minimum_of, ANY, 0, false},
    {"eq", heed_eq, heed_eq_scalar, eq_of, ANY, 0, true},
    {"ne", heed_ne, heed_ne_scalar, ne_of, ANY, 0, true},
    {"lt", heed_lt, heed_lt_scalar, lt_of, ANY, 0, true},
    {"le", heed_le, heed_le_scalar, le_of, ANY, 0, true},
    {"gt", heed_gt, heed_gt_scalar, gt_of, ANY, 0, true},
    {"ge", heed_ge, heed_ge_scalar, ge_of, ANY, 0, true},
};
enum { BINARIES = sizeof binaries / sizeof *binaries };

/* clang-format off */
static const struct pair {
    heed_shape a, b, y;
} pairs[] = {
    {{0, {0}}, {0, {0}}, {0, {0}}},
    {{0, {0}}, {1, {3}}, {1, {3}}},
    {{1, {1}}, {0, {0}}, {1, {1}}},
    {{1, {300}}, {1, {300}}, {1, {300}}},
    {{1, {300}}, {1, {1}}, {1, {300}}},
    {{1, {0}}, {1, {1}}, {1, {0}}},
    {{0, {0}}, {2, {3, 0}}, {2, {3, 0}}},
    {{2, {2, 3}}, {1, {3}}, {2, {2, 3}}},
    {{2, {4, 1}}, {2, {1, 3}}, {2, {4, 3}}},
    {{2, {2, 300}}, {2, {2, 1}}, {2, {2, 300}}},
    {{2, {300, 2}}, {2, {1, 2}}, {2, {300, 2}}},
    {{3, {4, 1, 3}}, {2, {2, 1}}, {3, {4, 2, 3}}},
    {{3, {2, 0, 3}}, {2, {1, 3}}, {3, {2, 0, 3}}},
    {{3, {2, 3, 4}}, {3, {2, 3, 4}}, {3, {2, 3, 4}}},
    {{1, {5}}, {4, {2, 3, 4, 1}}, {4, {2, 3, 4, 5}}},
    {{8, {1, 2, 1, 2, 1, 2, 1, 3}}, {7, {1, 3, 1, 4, 1, 1, 1}}, {8, {1, 2, 3, 2, 4, 2, 1, 3}}},
};
/* clang-format on */
enum { PAIRS = sizeof pairs / sizeof *pairs };

/* i64 powers: 1 / a^-b truncated, for negative exponents. */
static double whole_power(double a, double b)
{
    return a == 0 && b < 0 ? 0 : trunc(pow(a, b));
}

static double binary_goal(const struct binary *op, heed_dtype dtype, double a, double b)
{
    if (dtype == HEED_BOOL) {
        return op->reference(a, b) != 0;
    }
    return dtype == HEED_I64 && op->apply == heed_pow ? whole_power(a, b) : op->reference(a, b);
}

static void check_binary(const struct binary *op, const struct pair *pair, heed_tensor *a,
                         heed_tensor *b)
{
    const heed_dtype common = promoted(a->dtype, b->dtype);
    heed_dtype expected = common == no_dtype ? common : result_of(op->kind, common);
    heed_tensor *y = op->apply(a, b);
    if (expected == no_dtype) {
        ck_assert_ptr_null(y);
        expect_error(HEED_ERR_DTYPE, op->name);
        return;
    }
    expected = op->compares ? HEED_BOOL : expected;
    expect_kind(y, expected, pair->y);
    EXPECT(heed_is_contiguous(y), "%s: not contiguous", op->name);
    for (heed_shape at = first_index(pair->y); at.ndim >= 0; next_index(pair->y, &at)) {
        double x1 = element(a, at), x2 = element(b, at), found = element(y, at);
        double goal = binary_goal(op, expected, x1, x2);
        EXPECT(within_ulps(found, goal, op->ulps, expected), "%s(%.17g, %.17g) is %.17g, not %.17g",
               op->name, x1, x2, found, goal);
    }
}

START_TEST(binary_broadcasts_and_promotes)
{
    for (int i = 0; i < PAIRS; i++) {
        for (int dtypes = 0; dtypes < HEED_DTYPES * HEED_DTYPES; dtypes++) {
            for (int layouts = 0; layouts < LAYOUTS * LAYOUTS; layouts++) {
                heed_scope scope;
                heed_scope_begin(&scope);
                heed_tensor *a = noise(pairs[i].a, (heed_dtype)(dtypes / HEED_DTYPES),
                                       (enum layout)(layouts / LAYOUTS), 1);
                heed_tensor *b = noise(pairs[i].b, (heed_dtype)(dtypes % HEED_DTYPES),
                                       (enum layout)(layouts % LAYOUTS), 2);
                check_binary(&binaries[_i], &pairs[i], a, b);
                check_binary(&binaries[_i], &pairs[i], b, a);
                heed_scope_end(&scope);
            }
        }
    }
}
END_TEST

START_TEST(binary_refuses_shapes_that_do_not_meet)
{
    static const heed_shape apart[][2] = {{{1, {2}}, {1, {3}}},
                                          {{1, {0}}, {1, {2}}},
                                          {{2, {2, 3}}, {1, {2}}},
                                          {{3, {2, 1, 3}}, {3, {3, 1, 3}}}};
    for (int i = 0; i < 4; i++) {
        heed_tensor *a = heed_ones(apart[i][0], HEED_F32), *b = heed_ones(apart[i][1], HEED_F32);
        ck_assert_ptr_null(binaries[_i].apply(a, b));
        expect_error(HEED_ERR_SHAPE, binaries[_i].name);
    }
}
END_TEST

/* ---- a scalar as right operand ---- */

static void check_scalar(const struct binary *op, heed_dtype dtype, double b)
{
    const heed_shape shape = HEED_SHAPE(3, 101);
    heed_tensor *a = noise(shape, dtype, STEPPED, 3), *y = op->apply_scalar(a, b);
    const bool whole = dtype == HEED_I64 || dtype == HEED_BOOL;
    heed_dtype expected = result_of(op->kind, dtype == HEED_BOOL ? HEED_I64 : dtype);
    const bool refused = whole && expected == HEED_I64 && !op->compares &&
                         (b != floor(b) || (op->apply == heed_pow && b < 0));
    if (refused) {
        ck_assert_ptr_null(y);
        expect_error(HEED_ERR_VALUE, op->name);
        return;
    }
    expected = op->compares ? HEED_BOOL : expected;
    expect_kind(y, expected, shape);
    const double number = dtype == HEED_F32 || expected == HEED_F32 ? (double)(float)b : b;
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        double in = element(a, at), goal = op->reference(in, number), found = element(y, at);
        EXPECT(within_ulps(found, goal, op->ulps, expected),
               "%s_scalar(%.17g, %.17g) is %.17g, not %.17g", op->name, in, number, found, goal);
    }
}

START_TEST(binary_takes_numbers)
{
    static const double numbers[] = {0, 1, 2, 7, -3, 0.5, -0.1, 1.0 / 3};
    for (int i = 0; i < 8; i++) {
        for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
            check_scalar(&binaries[_i], dtype, numbers[i]);
        }
    }
}
END_TEST

/* ---- extreme i64 values, bools, bounds and infinities ---- */

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
    EXPECT_VALUES(heed_gt_scalar(a, -INF), 0, 1, 1, 1);
    EXPECT_VALUES(heed_ne_scalar(a, NaN), 0, 1, 1, 1);
    EXPECT_VALUES(heed_ge_scalar(a, NaN), 0, 0, 0, 0);
}
END_TEST

START_TEST(numbers_that_i64_cannot_take)
{
    static const double numbers[] = {INF, -INF, NaN, 0x1p63, 1e300, 0.25};
    heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_I64), *b = heed_ones(HEED_SHAPE(2), HEED_BOOL);
    for (int i = 0; i < 6; i++) {
        ck_assert_ptr_null(heed_add_scalar(x, numbers[i]));
        expect_error(HEED_ERR_VALUE, "add_scalar");
        ck_assert_ptr_null(heed_maximum_scalar(b, numbers[i]));
        expect_error(HEED_ERR_VALUE, "maximum_scalar");
        expect_kind(heed_div_scalar(x, numbers[i]), HEED_F32, HEED_SHAPE(2));
    }
}
END_TEST

/* Bools are logical: + is or, * is and; with a number they count as i64. */
START_TEST(bools_are_logic)
{
    heed_tensor *a = heed_from_bool((bool[]){0, 0, 1, 1}, HEED_SHAPE(4));
    heed_tensor *b = heed_from_bool((bool[]){0, 1, 0, 1}, HEED_SHAPE(4));
    EXPECT_VALUES(heed_add(a, b), 0, 0, 1, 1, 1);
    EXPECT_VALUES(heed_mul(a, b), 0, 0, 0, 0, 1);
    EXPECT_VALUES(heed_maximum(a, b), 0, 0, 1, 1, 1);
    EXPECT_VALUES(heed_minimum(a, b), 0, 0, 0, 0, 1);
    EXPECT_VALUES(heed_lt(a, b), 0, 0, 1, 0, 0);
    EXPECT_VALUES(heed_sign(a), 0, 0, 0, 1, 1);
    expect_kind(heed_sign(a), HEED_BOOL, HEED_SHAPE(4));
    EXPECT_VALUES(heed_div(a, b), 0, NaN, 0, INF, 1);
    EXPECT_VALUES(heed_add_scalar(a, 2), 0, 2, 2, 3, 3);
    EXPECT_VALUES(heed_eq_scalar(a, 1), 0, 0, 0, 1, 1);
}
END_TEST

START_TEST(truth_of_any_dtype)
{
    heed_tensor *x =
        heed_from_f32((float[]){0, -0.0f, 2, NAN, INFINITY, -INFINITY, 0x1p-149f}, HEED_SHAPE(7));
    EXPECT_VALUES(heed_logical_not(x), 0, 1, 1, 0, 0, 0, 0, 0);
    expect_kind(heed_logical_not(x), HEED_BOOL, HEED_SHAPE(7));
    for (heed_dtype dtype = HEED_I64; dtype <= HEED_BOOL; dtype++) {
        heed_tensor *whole = heed_to(heed_from_i64((int64_t[]){0, 3}, HEED_SHAPE(2)), dtype);
        EXPECT_VALUES(heed_logical_not(whole), 0, 1, 0);
    }
    ck_assert_ptr_null(heed_logical_and(x, heed_ones(HEED_SHAPE(1), HEED_F64)));
    expect_error(HEED_ERR_DTYPE, "logical_and");
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
    EXPECT_VALUES(heed_gelu(heed_scalar(INF, HEED_F32)), 0, INF);
    EXPECT_VALUES(heed_gelu(heed_scalar(3e38, HEED_F32)), 1e32, 3e38);
    EXPECT_VALUES(heed_gelu_tanh(heed_scalar(3e38, HEED_F32)), 1e32, 3e38);
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

/* torch reports an error for these. */
START_TEST(numbers_beyond_f32_become_infinite)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(1), HEED_F32);
    heed_tensor *yes = heed_ones(HEED_SHAPE(1), HEED_BOOL);
    EXPECT_VALUES(heed_masked_fill(x, yes, 1e300), 0, INF);
    heed_tensor *filled = heed_clone(x);
    heed_fill_into(filled, 1e300);
    EXPECT_VALUES(filled, 0, INF);
}
END_TEST

/* ---- where ---- */

/* clang-format off */
static const struct triple {
    heed_shape condition, a, b, y;
} triples[] = {
    {{0, {0}}, {0, {0}}, {0, {0}}, {0, {0}}},
    {{1, {300}}, {1, {300}}, {1, {300}}, {1, {300}}},
    {{1, {300}}, {0, {0}}, {1, {1}}, {1, {300}}},
    {{2, {3, 1}}, {2, {1, 4}}, {0, {0}}, {2, {3, 4}}},
    {{0, {0}}, {2, {3, 4}}, {1, {4}}, {2, {3, 4}}},
    {{3, {2, 1, 5}}, {2, {3, 1}}, {4, {4, 1, 1, 1}}, {4, {4, 2, 3, 5}}},
    {{2, {0, 1}}, {1, {3}}, {0, {0}}, {2, {0, 3}}},
};
/* clang-format on */
enum { TRIPLES = sizeof triples / sizeof *triples };

static void check_where(const struct triple *t, heed_dtype of_a, heed_dtype of_b,
                        enum layout layout)
{
    heed_tensor *condition = noise(t->condition, HEED_BOOL, layout, 1);
    heed_tensor *a = noise(t->a, of_a, (layout + 1) % LAYOUTS, 2);
    heed_tensor *b = noise(t->b, of_b, (layout + 2) % LAYOUTS, 3);
    heed_tensor *y = heed_where(condition, a, b);
    if (of_a != of_b && of_a <= HEED_F64 && of_b <= HEED_F64) {
        ck_assert_ptr_null(y);
        expect_error(HEED_ERR_DTYPE, "where");
        return;
    }
    expect_kind(y, of_a < of_b ? of_a : of_b, t->y);
    for (heed_shape at = first_index(t->y); at.ndim >= 0; next_index(t->y, &at)) {
        double goal = element(condition, at) != 0 ? element(a, at) : element(b, at);
        expect_element("where", element(y, at), goal, 0, y->dtype);
    }
}

START_TEST(where_chooses)
{
    for (int dtypes = 0; dtypes < HEED_DTYPES * HEED_DTYPES; dtypes++) {
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            check_where(&triples[_i], (heed_dtype)(dtypes / HEED_DTYPES),
                        (heed_dtype)(dtypes % HEED_DTYPES), layout);
        }
    }
}
END_TEST

START_TEST(where_passes_no_nan_of_the_other_side)
{
    heed_tensor *c = heed_from_bool((bool[]){1, 0}, HEED_SHAPE(2));
    heed_tensor *a = heed_from_f32((float[]){1, NAN}, HEED_SHAPE(2));
    heed_tensor *b = heed_from_f32((float[]){INFINITY, 2}, HEED_SHAPE(2));
    EXPECT_VALUES(heed_where(c, a, b), 0, 1, 2);
    ck_assert_ptr_null(heed_where(a, a, b));
    expect_error(HEED_ERR_DTYPE, "where: condition is f32, not bool");
    ck_assert_ptr_null(heed_where(c, heed_ones(HEED_SHAPE(3), HEED_F32), b));
    expect_error(HEED_ERR_SHAPE, "where");
}
END_TEST

void add_elementwise_cases(Suite *suite)
{
    TCase *elementwise = heed_case(suite, "elementwise");
    tcase_add_loop_test(elementwise, unary_on_all_shapes_layouts_and_dtypes, 0, UNARIES);
    tcase_add_loop_test(elementwise, unary_is_accurate_everywhere, 0, UNARIES);
    tcase_add_loop_test(elementwise, binary_broadcasts_and_promotes, 0, BINARIES);
    tcase_add_loop_test(elementwise, binary_refuses_shapes_that_do_not_meet, 0, BINARIES);
    tcase_add_loop_test(elementwise, binary_takes_numbers, 0, BINARIES);
    TCase *special = heed_case(suite, "special");
    tcase_add_test(special, whole_numbers_wrap);
    tcase_add_test(special, large_whole_numbers_are_compared_exactly);
    tcase_add_test(special, numbers_that_i64_cannot_take);
    tcase_add_test(special, bools_are_logic);
    tcase_add_test(special, truth_of_any_dtype);
    tcase_add_test(special, no_overflow_on_the_way);
    tcase_add_test(special, numbers_beyond_f32_become_infinite);
    TCase *where = heed_case(suite, "where");
    tcase_add_loop_test(where, where_chooses, 0, TRIPLES);
    tcase_add_test(where, where_passes_no_nan_of_the_other_side);
}
