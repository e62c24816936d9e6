/* cat and stack of many tensors, and of one twice. */
#include "tests/common/test_util.h"

START_TEST(many_are_joined_and_one_twice)
{
    heed_tensor *lines[300], *scalars[300];
    for (int i = 0; i < 300; i++) {
        lines[i] = heed_full(HEED_SHAPE(1), i, HEED_F32);
        scalars[i] = heed_full(HEED_SCALAR, i, HEED_I64);
    }
    ck_assert(heed_equal(heed_cat(lines, 300, 0), heed_arange(0, 300, 1, HEED_F32)));
    ck_assert(heed_equal(heed_stack(scalars, 300, -1), heed_arange(0, 300, 1, HEED_I64)));
    lines[0] = lines[1] =
        heed_transpose(heed_reshape(heed_arange(0, 4, 1, HEED_I64), HEED_SHAPE(2, 2)), 0, 1);
    EXPECT_VALUES(heed_cat(lines, 2, 1), 0, 0, 2, 0, 2, 1, 3, 1, 3);
    lines[0] = lines[1] = heed_arange(0, 2, 1, HEED_F32);
    heed_tensor *y = heed_stack(lines, 2, 1);
    EXPECT_VALUES(y, 0, 0, 0, 1, 1);
    heed_fill_into(y, 5); /* a copy, even of a single tensor */
    heed_fill_into(heed_stack(lines, 1, 0), 5);
    EXPECT_VALUES(lines[0], 0, 0, 1);
}
END_TEST

void add_cat_cases(Suite *suite)
{
    tcase_add_test(heed_case(suite, "cat"), many_are_joined_and_one_twice);
}
