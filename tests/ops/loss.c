/* mse_loss. Values and gradients are compared with PyTorch's by the parity cases. */
#include <math.h>

#include "tests/common/reference.h"

#define NaN (double)NAN

START_TEST(of_nothing_and_of_whole_numbers)
{
    heed_tensor *none = heed_ones(HEED_SHAPE(0, 2), HEED_F64);
    EXPECT_VALUES(heed_mse_loss(none, none), 0, NaN);
    const double ones[] = {1, 0, 1, 1, 0, 0}, scores[] = {0.3, -0.4, 2, -3, 0.5, 0};
    const heed_shape shape = HEED_SHAPE(2, 3);
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *x = lay_out(scores, shape, dtype, COLUMNS);
        heed_tensor *goal = heed_mse_loss(x, lay_out(ones, shape, dtype, ROWS));
        for (heed_dtype whole = HEED_I64; whole <= HEED_BOOL; whole++) {
            heed_tensor *t = lay_out(ones, shape, whole, STEPPED);
            expect_kind(heed_mse_loss(x, t), dtype, HEED_SCALAR);
            ck_assert(heed_allclose(heed_mse_loss(x, t), goal, 0, 0, false));
            expect_kind(heed_mse_loss(t, x), dtype, HEED_SCALAR);
            ck_assert_ptr_null(heed_mse_loss(t, t));
            expect_error(HEED_ERR_DTYPE, "one of them must be a float");
        }
    }
}
END_TEST

void add_loss_cases(Suite *suite)
{
    TCase *loss = heed_case(suite, "pair_loss");
    tcase_add_test(loss, of_nothing_and_of_whole_numbers);
}
