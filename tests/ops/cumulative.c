/* prod and cumsum, compared with plain loops in double over every choice of dims. Literal
 * numbers are PyTorch's. */
#include <math.h>

#include "tests/common/reductions.h"
#include "tests/common/reference.h"

#define NaN ((double)NAN)
#define INF ((double)INFINITY)

/* ---- prod ---- */

/* Integers wrap. */
static double prod_of(const double *line, int64_t n, heed_dtype dtype)
{
    double product = 1;
    uint64_t whole = 1;
    for (int64_t i = 0; i < n; i++) {
        product *= line[i];
        whole *= (uint64_t)(int64_t)line[i];
    }
    return dtype == HEED_F32 || dtype == HEED_F64 ? product : (double)(int64_t)whole;
}

START_TEST(products_over_all_choices_of_dims)
{
    static const heed_shape shapes[] = {{0, {0}},       {1, {0}},          {1, {1}},
                                        {1, {7}},       {2, {3, 5}},       {2, {9, 4}},
                                        {3, {2, 0, 3}}, {4, {2, 3, 2, 3}}, {5, {1, 2, 1, 3, 2}}};
    const reduction prod = {
        "prod", heed_prod_dims, prod_of, {HEED_F32, HEED_F64, HEED_I64, HEED_I64}, false,
        64,     {0, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
                check_all_reductions(&prod, noise(shapes[i], dtype, layout, 13));
                check_all_reductions(&prod, alike(shapes[i], dtype, layout, false));
            }
        }
    }
}
END_TEST

START_TEST(products_of_special_values)
{
    EXPECT_VALUES(heed_prod_dim(heed_zeros(HEED_SHAPE(2, 0), HEED_F32), 1, true), 0, 1, 1);
    ck_assert_int_eq(heed_item_i64(heed_prod(heed_ones(HEED_SHAPE(0), HEED_BOOL))), 1);
    EXPECT_VALUES(heed_prod(heed_from_f64((double[]){INF, 0, 3}, HEED_SHAPE(3))), 0, NaN);
    heed_tensor *x = heed_from_f64((double[]){7}, HEED_SHAPE(1)), *y = heed_prod(x);
    heed_data_f64(x)[0] = 8;
    EXPECT_VALUES(y, 0, 7); /* a copy, although nothing is multiplied */
}
END_TEST

START_TEST(gradients_of_products_with_zeros)
{
    static const double at[][2][3] = {{{2, 0, 3}, {0, 6, 0}},
                                      {{0, 0, 3}, {0, 0, 0}},
                                      {{INF, 0, 3}, {0, INF, NaN}},
                                      {{NaN, 0, 3}, {0, NaN, NaN}}};
    for (int k = 0; k < 4; k++) {
        heed_tensor *x = heed_from_f64(at[k][0], HEED_SHAPE(3)), *dx;
        heed_set_requires_grad(x, true);
        heed_grad(heed_prod(x), &x, 1, &dx, false);
        expect_values(dx, at[k][1], 3, 0);
    }
    heed_tensor *x =
        heed_set_requires_grad(heed_from_f64((double[]){INF, 2, 0}, HEED_SHAPE(3)), true);
    heed_backward(heed_sum(heed_cumprod(x, 0)));
    EXPECT_VALUES(x->grad, 0, 3, INF, INF); /* 1 + 2 + 2 * 0, INF * (1 + 0), INF * 2 */
}
END_TEST

/* d^2 prod / dx_i dx_j is the product of the others, also with zeros. */
START_TEST(products_are_differentiated_twice_at_zeros)
{
    static const double at[][3] = {{2, 0, 3}, {0, 0, 3}, {0, 0, 0}};
    for (int k = 0; k < 3; k++) {
        heed_tensor *x = heed_from_f64(at[k], HEED_SHAPE(3)), *dx, *ddx;
        heed_set_requires_grad(x, true);
        heed_grad(heed_prod(x), &x, 1, &dx, true);
        heed_tensor *weights = heed_from_f64((double[]){1, 2, 3}, HEED_SHAPE(3));
        heed_grad(heed_sum(heed_mul(dx, weights)), &x, 1, &ddx, false);
        const double a = at[k][0], b = at[k][1], c = at[k][2];
        EXPECT_VALUES(ddx, 0, 2 * c + 3 * b, c + 3 * a, b + 2 * a);
    }
}
END_TEST

/* ---- cumsum ---- */

static void check_cumsum(heed_tensor *x, int dim)
{
    const heed_shape shape = heed_shape_of_tensor(x);
    const bool is_float = x->dtype == HEED_F32 || x->dtype == HEED_F64;
    heed_tensor *y = heed_cumsum(x, dim % 2 ? dim : dim - shape.ndim);
    expect_kind(y, is_float ? x->dtype : HEED_I64, shape);
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        double total = 0;
        heed_shape from = at;
        for (from.size[dim] = 0; from.size[dim] <= at.size[dim]; from.size[dim]++) {
            total += element(x, from);
        }
        expect_element("cumsum", element(y, at), total, ROUNDED_ONCE, y->dtype);
    }
}

START_TEST(cumsum_over_all_dims)
{
    for (int i = 1; i < REDUCTION_SHAPES; i++) {
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
                for (int dim = 0; dim < reduction_shapes[i].ndim; dim++) {
                    check_cumsum(noise(reduction_shapes[i], dtype, layout, 14), dim);
                }
            }
        }
    }
    expect_kind(heed_cumsum(heed_scalar(3, HEED_BOOL), -1), HEED_I64, HEED_SCALAR);
    heed_tensor *x = heed_from_f32((float[]){1, INFINITY, -INFINITY, 2}, HEED_SHAPE(4));
    EXPECT_VALUES(heed_cumsum(x, 0), 0, 1, INF, NaN, NaN);
    heed_tensor *ones = heed_from_f32((float[]){0x1p24f, 1, 1, 1}, HEED_SHAPE(4));
    EXPECT_VALUES(heed_cumsum(ones, 0), 0, 0x1p24, 0x1p24, 0x1p24 + 2, 0x1p24 + 4);
}
END_TEST

void add_cumulative_cases(Suite *suite)
{
    TCase *product = heed_case(suite, "product");
    tcase_add_test(product, products_over_all_choices_of_dims);
    tcase_add_test(product, products_of_special_values);
    tcase_add_test(product, gradients_of_products_with_zeros);
    tcase_add_test(product, products_are_differentiated_twice_at_zeros);
    tcase_add_test(product, cumsum_over_all_dims);
}
