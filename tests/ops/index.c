/* index_select, gather and scatter_add beyond their rows: many elements, the order of sums, and
 * what gradients read. */
#include "tests/common/reference.h"

/* More rows than one thread takes, and columns, in every layout. */
START_TEST(many_elements_are_looked_up_and_added)
{
    enum { LINES = 700, WIDTH = 90 };
    const heed_shape shape = HEED_SHAPE(LINES, WIDTH);
    heed_tensor *x = whole_noise(shape, HEED_F32, (enum layout)_i, 1);
    for (int dim = 0; dim < 2; dim++) {
        heed_tensor *flipped = heed_flip(x, HEED_DIMS(dim));
        heed_tensor *order =
            heed_flip(heed_arange(0, (double)x->shape[dim], 1, HEED_I64), HEED_DIMS(0));
        heed_tensor *places = heed_expand(heed_unsqueeze(order, 1 - dim), shape);
        ck_assert(heed_equal(heed_index_select(x, dim, order), flipped));
        ck_assert(heed_equal(heed_gather(x, dim, places), flipped));
        ck_assert(heed_equal(heed_scatter_add(x, dim, places, x), heed_add(x, flipped)));
    }
}
END_TEST

START_TEST(sums_come_in_the_order_of_the_index)
{
    /* In f32 these sums depend on the order; index 1 gets the same numbers in reverse. */
    heed_tensor *index = heed_from_i64((int64_t[]){0, 1, 0, 1, 0, 1}, HEED_SHAPE(6));
    heed_tensor *source = heed_from_f32((float[]){1e8f, 1, -1e8f, -1e8f, 1, 1e8f}, HEED_SHAPE(6));
    heed_tensor *zeros = heed_zeros(HEED_SHAPE(2), HEED_F32);
    EXPECT_VALUES(heed_scatter_add(zeros, 0, index, source), 0, 1, 0);
}
END_TEST

START_TEST(a_gradient_needs_the_index_and_nothing_else)
{
    heed_tensor *index = heed_zeros(HEED_SHAPE(2), HEED_I64);
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(3), HEED_F32), true),
                *values = heed_mul_scalar(x, 2);
    heed_tensor *ys[] = {heed_index_select(values, 0, index), heed_gather(values, 0, index),
                         heed_scatter_add(values, 0, index, heed_slice(values, 0, 0, 2, 1))};
    heed_fill_into(values, 7); /* not read by any gradient */
    for (int i = 0; i < 3; i++) {
        heed_backward_retain(heed_sum(ys[i]));
        expect_no_error();
    }
    heed_fill_into(index, 1);
    for (int i = 0; i < 3; i++) {
        heed_backward(heed_sum(ys[i]));
        expect_error(HEED_ERR_VERSION, "was changed in place");
    }
}
END_TEST

void add_index_cases(Suite *suite)
{
    TCase *index = heed_case(suite, "index");
    tcase_add_loop_test(index, many_elements_are_looked_up_and_added, 0, LAYOUTS);
    tcase_add_test(index, sums_come_in_the_order_of_the_index);
    tcase_add_test(index, a_gradient_needs_the_index_and_nothing_else);
}
