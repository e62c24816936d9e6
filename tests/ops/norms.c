/* norm and logsumexp compared with plain loops in double over every choice of dims.
 * Literal numbers are PyTorch's. */
#include <math.h>

#include "tests/common/reductions.h"
#include "tests/common/reference.h"

#define NaN ((double)NAN)
#define INF ((double)INFINITY)

/* ---- compared with plain loops ---- */

static double norm_of(const double *line, int64_t n, heed_dtype dtype)
{
    double total = 0;
    (void)dtype;
    for (int64_t i = 0; i < n; i++) {
        total += line[i] * line[i];
    }
    return sqrt(total);
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

#define FLOATS                                                                                     \
    {                                                                                              \
        HEED_F32, HEED_F64, HEED_DTYPES, HEED_DTYPES                                               \
    }
static const reduction rows[] = {
    {"norm", heed_norm_dims, norm_of, FLOATS, false, 64, {0, 0}},
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

START_TEST(norms_beyond_the_range_of_squares)
{
    /* f32 whose squares would overflow f32 */
    heed_tensor *large = heed_from_f32((float[]){3e30f, 4e30f}, HEED_SHAPE(2));
    expect_element("norm", heed_item(heed_norm(large)), 5e30, 1, HEED_F32);
    heed_tensor *small = heed_from_f32((float[]){3e-30f, 4e-30f}, HEED_SHAPE(2));
    expect_element("norm", heed_item(heed_norm_dim(small, 0, true)), 5e-30, 1, HEED_F32);
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

static const struct gradient {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *x);
    double x[3], dx[3];
} gradients[] = {
    {"norm", heed_norm, {0, -3, 4}, {0, -.6, .8}},
    {"norm of 0", heed_norm, {0, 0, 0}, {0, 0, 0}},
    {"norm of inf", heed_norm, {-INF, 0, 1}, {NaN, 0, 0}},
    {"logsumexp", heed_logsumexp, {-INF, 1, -INF}, {0, 1, 0}},
    {"logsumexp of -inf", heed_logsumexp, {-INF, -INF, -INF}, {NaN, NaN, NaN}},
    {"logsumexp of inf", heed_logsumexp, {INF, 1, 2}, {NaN, 0, 0}},
};
enum { GRADIENTS = sizeof gradients / sizeof *gradients };

START_TEST(gradients_at_kinks_and_ends)
{
    const struct gradient *row = &gradients[_i];
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *x = lay_out(row->x, HEED_SHAPE(3), dtype, STEPPED);
        heed_set_requires_grad(x, true);
        heed_backward(row->apply(x));
        expect_no_error();
        for (int i = 0; i < 3; i++) {
            expect_element(row->name, element(x->grad, HEED_INDEX(i)), row->dx[i], 8, dtype);
        }
    }
}
END_TEST

/* Where std is 0, torch takes its derivative as 0; second derivatives follow from that. For the
 * norm, where torch gives NaN, we do the same (reductions.c has std). */
START_TEST(second_derivatives_at_kinks_are_0)
{
    heed_tensor *x = heed_zeros(HEED_SHAPE(2), HEED_F64), *dx, *ddx;
    heed_set_requires_grad(x, true);
    heed_grad(heed_norm(x), &x, 1, &dx, true);
    EXPECT_VALUES(dx, 0, 0, 0);
    heed_tensor *weights = heed_from_f64((double[]){1, 2}, HEED_SHAPE(2));
    heed_grad(heed_sum(heed_mul(dx, weights)), &x, 1, &ddx, false);
    EXPECT_VALUES(ddx, 0, 0, 0);
}
END_TEST

void add_norms_cases(Suite *suite)
{
    TCase *norms = heed_case(suite, "norms");
    tcase_add_loop_test(norms, folds_over_all_choices_of_dims, 0, ROWS_);
    tcase_add_test(norms, norms_beyond_the_range_of_squares);
    tcase_add_test(norms, logsumexp_of_special_values);
    tcase_add_loop_test(norms, gradients_at_kinks_and_ends, 0, GRADIENTS);
    tcase_add_test(norms, second_derivatives_at_kinks_are_0);
}
