/* allclose and equal. */
#include <math.h>

#include "tests/common/reference.h"

#define INF HUGE_VAL
#define NaN (double)NAN

static const struct close {
    double a, b, rtol, atol;
    bool equal_nan, is_close;
} closes[] = {
    {1, 1, 0, 0, false, true},           {1, 1.0001, 1e-5, 1e-8, false, false},
    {1, 1.0001, 1e-3, 0, false, true},   {0, 1e-9, 1e-5, 1e-8, false, true},
    {0, 1e-7, 1e-5, 1e-8, false, false}, {1, 2, 0.5, 0, false, true}, /* rtol is a part of b */
    {2, 1, 0.5, 0, false, false},        {-1, 1, 1e-3, 0, false, false},
    {-0.0, 0, 0, 0, false, true},        {INF, INF, 0, 0, false, true},
    {INF, -INF, 0, INF, false, false},   {1, INF, 1e-3, 0, false, false},
    {NaN, NaN, 0, INF, false, false},    {NaN, NaN, 0, 0, true, true},
    {NaN, 1, 0, INF, true, false},
};
enum { CLOSES = sizeof closes / sizeof *closes };

START_TEST(allclose_is_torchs)
{
    for (int i = 0; i < CLOSES; i++) {
        const struct close *c = &closes[i];
        heed_tensor *a = lay_out((double[]){3, c->a}, HEED_SHAPE(2), HEED_F64, STEPPED);
        heed_tensor *b = heed_from_f64((double[]){3, c->b}, HEED_SHAPE(2));
        EXPECT(heed_allclose(a, b, c->rtol, c->atol, c->equal_nan) == c->is_close,
               "%g and %g, rtol %g, atol %g", c->a, c->b, c->rtol, c->atol);
        expect_no_error();
    }
}
END_TEST

START_TEST(allclose_broadcasts)
{
    heed_tensor *a = heed_full(HEED_SHAPE(3, 1), 2, HEED_F32),
                *b = heed_full(HEED_SHAPE(4), 2, HEED_I64);
    ck_assert(heed_allclose(a, b, 0, 0, false));
    ck_assert(!heed_allclose(a, heed_arange(2, 6, 1, HEED_F32), 0, 1, false));
    ck_assert(heed_allclose(heed_zeros(HEED_SHAPE(0), HEED_F32), a, 0, 0, false));
}
END_TEST

START_TEST(equal_compares_shape_dtype_and_elements)
{
    for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
        const heed_shape shape = HEED_SHAPE(3, 4, 100);
        heed_tensor *x = noise(shape, dtype, ROWS, 5), *y = noise(shape, dtype, ROTATED, 5);
        ck_assert(heed_equal(x, y));
        for (int place = 0; place < 1200; place += 1199) {
            heed_tensor *z = heed_clone(x);
            heed_tensor *one = heed_slice(heed_reshape(z, HEED_SHAPE(-1)), 0, place, place + 1, 1);
            heed_fill_into(one, heed_item(one) == 0);
            ck_assert(!heed_equal(x, z) && !heed_equal(z, y));
        }
        ck_assert(!heed_equal(x, heed_reshape(y, HEED_SHAPE(4, 3, 100))));
        ck_assert(!heed_equal(x, heed_to(x, (dtype + 1) % HEED_DTYPES)));
        ck_assert(
            heed_equal(heed_zeros(HEED_SHAPE(2, 0), dtype), heed_zeros(HEED_SHAPE(2, 0), dtype)));
        ck_assert(
            !heed_equal(heed_zeros(HEED_SHAPE(2, 0), dtype), heed_zeros(HEED_SHAPE(0, 2), dtype)));
    }
    heed_tensor *nan = heed_full(HEED_SHAPE(2), NaN, HEED_F32);
    ck_assert(!heed_equal(nan, nan));
    ck_assert(heed_equal(heed_scalar(-0.0, HEED_F32), heed_scalar(0, HEED_F32)));
}
END_TEST

void add_compare_cases(Suite *suite)
{
    TCase *compare = heed_case(suite, "compare");
    tcase_add_test(compare, allclose_is_torchs);
    tcase_add_test(compare, allclose_broadcasts);
    tcase_add_test(compare, equal_compares_shape_dtype_and_elements);
}
