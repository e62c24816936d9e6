/* Sets of tensors. */
#include "tools/observe/tensor_set.h"
#include "tests/common/observe_util.h"

START_TEST(a_set_has_each_tensor_once)
{
    enum { COUNT = 5000 };
    heed_tensor_set set = {0};
    heed_tensor *first = leaf(1);
    ck_assert_int_eq(heed_tensor_set_find(&set, first), -1);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(heed_tensor_set_add(&set, i == 0 ? first : heed_neg(first)), i);
        ck_assert_int_eq(heed_tensor_set_add(&set, set.tensors[i / 2]), i / 2);
    }
    ck_assert_int_eq(set.count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(heed_tensor_set_find(&set, set.tensors[i]), i);
    }
    ck_assert_int_eq(heed_tensor_set_find(&set, leaf(1)), -1);
    heed_tensor_set_free(&set);
    ck_assert_int_eq(set.count, 0);
    ck_assert_int_eq(heed_tensor_set_find(&set, first), -1);
}
END_TEST

void add_tensor_set_cases(Suite *suite)
{
    TCase *sets = heed_case(suite, "sets");
    tcase_add_test(sets, a_set_has_each_tensor_once);
}
