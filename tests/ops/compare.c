/* allclose and equal. */

#include <math.h>

#include "tests/common/reference.h"

struct close {
    double a[2], b[2], rtol, atol;
    bool equal_nan, is_close;
};

#include "tests/fixtures/ops_close.h"

enum { CLOSES = sizeof closes / sizeof *closes };

START_TEST(allclose_is_torchs)
{
    for (int i = 0; i < CLOSES; i++) {
        const struct close *c = &closes[i];
        heed_tensor *a = lay_out(c->a, HEED_SHAPE(2), HEED_F64, STEPPED);
        heed_tensor *b = lay_out(c->b, HEED_SHAPE(2), HEED_F64, ROWS);
        EXPECT(heed_allclose(a, b, c->rtol, c->atol, c->equal_nan) == c->is_close,
               "(%g, %g) and (%g, %g), rtol %g, atol %g", c->a[0], c->a[1], c->b[0], c->b[1],
               c->rtol, c->atol);
        expect_no_error();
    }
}
END_TEST

START_TEST(allclose_broadcasts_and_refuses)
{
    heed_tensor *a = heed_full(HEED_SHAPE(3, 1), 2, HEED_F32),
                *b = heed_full(HEED_SHAPE(4), 2, HEED_I64);
    ck_assert(heed_allclose(a, b, 0, 0, false));
    ck_assert(!heed_allclose(a, heed_arange(2, 6, 1, HEED_F32), 0, 1, false));
    ck_assert(heed_allclose(heed_zeros(HEED_SHAPE(0), HEED_F32), a, 0, 0, false));
    ck_assert(!heed_allclose(a, heed_full(HEED_SHAPE(4), 2, HEED_F64), 1, 1, false));
    expect_error(HEED_ERR_DTYPE, "allclose: f32 with f64");
    ck_assert(!heed_allclose(b, heed_ones(HEED_SHAPE(3), HEED_I64), 1, 1, false));
    expect_error(HEED_ERR_SHAPE, "allclose");
    ck_assert(!heed_allclose(a, a, -1, 0, false));
    expect_error(HEED_ERR_VALUE, "allclose: tolerances");
    ck_assert(!heed_allclose(a, a, 0, NaN, false));
    expect_error(HEED_ERR_VALUE, "allclose: tolerances");
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
    tcase_add_test(compare, allclose_broadcasts_and_refuses);
    tcase_add_test(compare, equal_compares_shape_dtype_and_elements);
}
