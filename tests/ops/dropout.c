/* When dropout draws nothing. tests/tensor/random_numbers.c compares what it draws, in every
 * layout. */
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/reference.h"

static bool same_state(const heed_generator *a)
{
    const heed_generator b = heed_get_generator();
    return a->next == b.next && memcmp(a->state, b.state, sizeof b.state) == 0;
}

START_TEST(nothing_is_drawn_where_nothing_is_left_to_chance)
{
    heed_manual_seed(1);
    const heed_generator before = heed_get_generator();
    for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
        heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), dtype),
                    *none = heed_ones(HEED_SHAPE(0), dtype);
        ck_assert_ptr_eq(heed_dropout(x, 0, true), x);
        ck_assert_ptr_eq(heed_dropout(x, 0.5, false), x);
        ck_assert_ptr_eq(heed_dropout(x, 1, false), x);
        ck_assert_ptr_eq(heed_dropout(none, 0.5, true), none);
    }
    ck_assert_ptr_null(heed_dropout(heed_ones(HEED_SHAPE(2), HEED_F32), 1.1, true));
    expect_error(HEED_ERR_VALUE, "dropout: p is");
    heed_dropout(heed_ones(HEED_SHAPE(2), HEED_F32), 1, true);
    ck_assert(same_state(&before));
}
END_TEST

START_TEST(draws_follow_the_memory)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(5, 7), HEED_F32);
    heed_manual_seed(1);
    heed_tensor *y = heed_dropout(x, 0.5, true);
    heed_manual_seed(1);
    expect_same_bits(heed_dropout(heed_transpose(x, 0, 1), 0.5, true), heed_transpose(y, 0, 1));
}
END_TEST

void add_dropout_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "dropout");
    tcase_add_test(tests, nothing_is_drawn_where_nothing_is_left_to_chance);
    tcase_add_test(tests, draws_follow_the_memory);
}
