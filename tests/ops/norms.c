/* norm and logsumexp compared with plain loops in double over every choice of dims.
 * Literal numbers are PyTorch's. */
#include <math.h>

#include "tests/common/reductions.h"
#include "tests/common/reference.h"

#define NaN ((double)NAN)
#define INF ((double)INFINITY)

/* ---- compared with plain loops ---- */

static double norm_of(const double *line, int64_t n, double p)
{
    double total = p == -INF ? INF : 0;
    for (int64_t i = 0; i < n; i++) {
        const double size = fabs(line[i]);
        total = p == INF    ? fmax(total, size)
                : p == -INF ? fmin(total, size)
                : p == 0    ? total + (size != 0)
                            : total + pow(size, p);
    }
    return isinf(p) || p == 0 || n == 0 ? total : pow(total, 1 / p);
}

static double logsumexp_of(const double *line, int64_t n, heed_dtype dtype)
{
    double total = 0;
    (void)dtype;
    for (int64_t i = 0; i < n; i++) {
        total += exp(line[i]);
    }
    return log(total);
}

/* A form of an operation, and its reference. */
#define FORM(name, call, reference)                                                                \
    static heed_tensor *name(heed_tensor *x, heed_dims dims, bool keepdim)                         \
    {                                                                                              \
        return call;                                                                               \
    }                                                                                              \
    static double name##_of(const double *line, int64_t n, heed_dtype dtype)                       \
    {                                                                                              \
        (void)dtype;                                                                               \
        return reference;                                                                          \
    }
FORM(norm2, heed_norm_dims(x, 2, dims, keepdim), norm_of(line, n, 2))
FORM(norm1, heed_norm_dims(x, 1, dims, keepdim), norm_of(line, n, 1))
FORM(norm0, heed_norm_dims(x, 0, dims, keepdim), norm_of(line, n, 0))
FORM(norm_half, heed_norm_dims(x, 0.5, dims, keepdim), norm_of(line, n, 0.5))
FORM(norm_inf, heed_norm_dims(x, INF, dims, keepdim), norm_of(line, n, INF))
FORM(norm_least, heed_norm_dims(x, -INF, dims, keepdim), norm_of(line, n, -INF))

#define FLOATS                                                                                     \
    {                                                                                              \
        HEED_F32, HEED_F64, HEED_DTYPES, HEED_DTYPES                                               \
    }
static const reduction rows[] = {
    {"norm", norm2, norm2_of, FLOATS, false, 64, {0, 0}},
    {"norm", norm1, norm1_of, FLOATS, false, 64, {0, 0}},
    {"norm", norm0, norm0_of, FLOATS, false, 0, {0, 0}},
    {"norm", norm_half, norm_half_of, FLOATS, false, 64, {0, 0}},
    {"norm", norm_inf, norm_inf_of, FLOATS, true, 0, {0, 0}},
    {"norm", norm_least, norm_least_of, FLOATS, true, 0, {0, 0}},
    {"logsumexp",
     heed_logsumexp_dims,
     logsumexp_of,
     {HEED_F32, HEED_F64, HEED_F32, HEED_F32},
     false,
     1,
     {4, 64}},
};
enum { ROWS_ = sizeof rows / sizeof *rows };

START_TEST(folds_over_all_choices_of_dims)
{
    check_reduction_everywhere(&rows[_i]);
}
END_TEST

/* ---- special values ---- */

START_TEST(norms_of_special_values)
{
    static const struct {
        double p, x[2], y;
    } of[] = {
        {2, {NaN, 1}, NaN},
        {2, {INF, 1}, INF},
        {1, {-INF, 0}, INF},
        {0, {NaN, 0}, 1},
        {INF, {NaN, 1}, NaN},
        {INF, {0, 0}, 0},
        {-INF, {NaN, 1}, NaN},
        {-INF, {INF, 1}, 1},
        {-1, {0, 2}, 0},
        {-1, {INF, 1}, 1},
        {-2, {2, -2}, 1.4142135623730951},
        {NaN, {1, 2}, NaN},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        heed_tensor *y = heed_norm(lay_out(of[i].x, HEED_SHAPE(2), HEED_F64, STEPPED), of[i].p);
        expect_element("norm", element(y, HEED_SCALAR), of[i].y, 4, HEED_F64);
    }
    /* f32 whose squares would overflow f32 */
    heed_tensor *large = heed_from_f32((float[]){3e30f, 4e30f}, HEED_SHAPE(2));
    expect_element("norm", heed_item(heed_norm(large, 2)), 5e30, 1, HEED_F32);
    heed_tensor *small = heed_from_f32((float[]){3e-30f, 4e-30f}, HEED_SHAPE(2));
    expect_element("norm", heed_item(heed_norm_dim(small, 2, 0, true)), 5e-30, 1, HEED_F32);
}
END_TEST

START_TEST(logsumexp_of_special_values)
{
    static const double lines[][3] = {{-INF, -INF, -INF}, {-INF, 1, 1},     {INF, 1, INF},
                                      {INF, -INF, INF},   {NaN, 1, NaN},    {1000, 1000, 0},
                                      {-1e4, -1e4, 0},    {NaN, -INF, NaN}, {INF, NaN, NaN}};
    for (int i = 0; i < 9; i++) {
        const bool doubled = fabs(lines[i][0]) >= 1000 && isfinite(lines[i][0]);
        const double goal = doubled ? lines[i][0] + log(2) : lines[i][2];
        for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
            heed_tensor *x = lay_out(lines[i], HEED_SHAPE(2), dtype, STEPPED);
            expect_element("logsumexp", heed_item(heed_logsumexp(x)), goal, 2, dtype);
        }
    }
    EXPECT_VALUES(heed_logsumexp_dim(heed_zeros(HEED_SHAPE(2, 0), HEED_F32), 1, false), 0, -INF,
                  -INF);
    EXPECT_VALUES(heed_logsumexp_dim(heed_scalar(3, HEED_F64), -1, true), 0, 3);
}
END_TEST

/* ---- gradients, as in PyTorch ---- */

static heed_tensor *apply_logsumexp(heed_tensor *x, double p)
{
    (void)p;
    return heed_logsumexp(x);
}

static const struct gradient {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *x, double argument);
    double argument;
    double x[3], dx[3];
} gradients[] = {
    {"norm 2", heed_norm, 2, {0, -3, 4}, {0, -.6, .8}},
    {"norm 2 of 0", heed_norm, 2, {0, 0, 0}, {0, 0, 0}},
    {"norm 2 of inf", heed_norm, 2, {-INF, 0, 1}, {NaN, 0, 0}},
    {"norm 1", heed_norm, 1, {0, -3, NaN}, {0, -1, 0}},
    {"norm 0", heed_norm, 0, {0, -3, 3}, {0, 0, 0}},
    {"norm inf", heed_norm, INF, {0, -3, 3}, {0, -.5, .5}},
    {"norm inf of NaN", heed_norm, INF, {NaN, -3, 3}, {0, 0, 0}},
    {"norm -inf", heed_norm, -INF, {5, -3, 3}, {0, -.5, .5}},
    {"norm 3", heed_norm, 3, {0, -2, 2}, {0, -0.6299605249474366, 0.6299605249474366}},
    {"norm 3 of 0", heed_norm, 3, {0, 0, 0}, {0, 0, 0}},
    {"norm 1.5 of 0", heed_norm, 1.5, {0, 0, 0}, {0, 0, 0}},
    {"norm 1.5", heed_norm, 1.5, {0, -3, 3}, {0, -0.7937005259840998, 0.7937005259840998}},
    {"norm 1.5 of NaN", heed_norm, 1.5, {0, -3, NaN}, {NaN, NaN, NaN}},
    {"norm 1/2", heed_norm, 0.5, {0, -3, 3}, {0, -2, 2}},
    {"norm 1/2 of NaN", heed_norm, 0.5, {0, -3, NaN}, {NaN, NaN, NaN}},
    {"norm -1", heed_norm, -1, {0, -3, 3}, {0, 0, 0}},
    {"norm 3 of NaN", heed_norm, 3, {0, -3, NaN}, {NaN, NaN, NaN}},
    {"norm -1 of inf", heed_norm, -1, {INF, INF, 1}, {0, 0, 1}},
    {"logsumexp", apply_logsumexp, 0, {-INF, 1, -INF}, {0, 1, 0}},
    {"logsumexp of -inf", apply_logsumexp, 0, {-INF, -INF, -INF}, {NaN, NaN, NaN}},
    {"logsumexp of inf", apply_logsumexp, 0, {INF, 1, 2}, {NaN, 0, 0}},
};
enum { GRADIENTS = sizeof gradients / sizeof *gradients };

START_TEST(gradients_at_kinks_and_ends)
{
    const struct gradient *row = &gradients[_i];
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *x = lay_out(row->x, HEED_SHAPE(3), dtype, STEPPED);
        heed_set_requires_grad(x, true);
        heed_backward(row->apply(x, row->argument));
        expect_no_error();
        for (int i = 0; i < 3; i++) {
            const double found =
                x->grad != NULL ? element(x->grad, HEED_INDEX(i)) : 0; /* norm 0 has no gradient */
            expect_element(row->name, found, row->dx[i], 8, dtype);
        }
    }
}
END_TEST

/* Elements whose ratio overflows f32 although its root does not. */
START_TEST(norm_gradients_of_distant_elements)
{
    heed_tensor *x = heed_from_f32((float[]){1e30f, -1e-30f}, HEED_SHAPE(2)), *dx;
    heed_set_requires_grad(x, true);
    for (int create_graph = 0; create_graph < 2; create_graph++) {
        heed_grad(heed_norm(x, 1.5), &x, 1, &dx, create_graph);
        expect_element("norm 1.5", element(dx, HEED_INDEX(0)), 1, 4, HEED_F32);
        expect_element("norm 1.5", element(dx, HEED_INDEX(1)), -1e-30, 4, HEED_F32);
        heed_grad(heed_norm(x, 0.5), &x, 1, &dx, create_graph);
        expect_element("norm 1/2", element(dx, HEED_INDEX(0)), 1, 4, HEED_F32);
        expect_element("norm 1/2", element(dx, HEED_INDEX(1)), -1e30, 4, HEED_F32);
    }
}
END_TEST

/* Where std is 0, torch takes its derivative as 0; second derivatives follow from that. For norms,
 * where torch gives NaN, we do the same (reductions.c has std). */
START_TEST(second_derivatives_at_kinks_are_0)
{
    static const struct {
        heed_tensor *(*apply)(heed_tensor *x, double argument);
        double argument, x;
    } of[] = {{heed_norm, 2, 0}, {heed_norm, 1.5, 0}, {heed_norm, 0.5, 0}};
    for (int k = 0; k < 3; k++) {
        heed_tensor *x = heed_full(HEED_SHAPE(2), of[k].x, HEED_F64), *dx, *ddx;
        heed_set_requires_grad(x, true);
        heed_grad(of[k].apply(x, of[k].argument), &x, 1, &dx, true);
        EXPECT_VALUES(dx, 0, 0, 0);
        heed_tensor *weights = heed_from_f64((double[]){1, 2}, HEED_SHAPE(2));
        heed_grad(heed_sum(heed_mul(dx, weights)), &x, 1, &ddx, false);
        EXPECT_VALUES(ddx, 0, 0, 0);
    }
}
END_TEST

/* A zero next to tiny elements: 1 / y would overflow. */
START_TEST(norm_of_tiny_elements_and_a_zero)
{
    static const double ps[] = {2.5, 3, 7};
    for (int i = 0; i < 3; i++) {
        const double p = ps[i], y = 1e-20 * pow(1 + pow(2, p), 1 / p);
        heed_tensor *x = heed_from_f32((float[]){0, 1e-20f, -2e-20f}, HEED_SHAPE(3)), *dx, *ddx;
        heed_set_requires_grad(x, true);
        heed_grad(heed_norm(x, p), &x, 1, &dx, true);
        EXPECT_VALUES(dx, 1e-6, 0, pow(1e-20 / y, p - 1), -pow(2e-20 / y, p - 1));
        heed_grad(heed_sum(heed_mul(dx, dx)), &x, 1, &ddx, false);
        EXPECT(heed_item_i64(heed_all(heed_isfinite(ddx))) == 1, "p = %g", p);
    }
}
END_TEST

START_TEST(the_norm_of_order_0_has_no_gradient)
{
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(3), HEED_F32), true);
    heed_backward(heed_norm(x, 0));
    expect_no_error();
    ck_assert_ptr_null(x->grad);
}
END_TEST

void add_norms_cases(Suite *suite)
{
    TCase *norms = heed_case(suite, "norms");
    tcase_add_loop_test(norms, folds_over_all_choices_of_dims, 0, ROWS_);
    tcase_add_test(norms, norms_of_special_values);
    tcase_add_test(norms, logsumexp_of_special_values);
    tcase_add_loop_test(norms, gradients_at_kinks_and_ends, 0, GRADIENTS);
    tcase_add_test(norms, norm_gradients_of_distant_elements);
    tcase_add_test(norms, second_derivatives_at_kinks_are_0);
    tcase_add_test(norms, norm_of_tiny_elements_and_a_zero);
    tcase_add_test(norms, the_norm_of_order_0_has_no_gradient);
}
