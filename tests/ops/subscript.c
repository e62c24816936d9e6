/* heed_index, which takes an index in Python's notation as a string. */

#include "tests/common/reference.h"

static const heed_shape whole = {3, {2, 6, 4}};

/* ---- index ---- */

START_TEST(index_reads_the_string)
{
    heed_tensor *x = noise(whole, HEED_F32, COLUMNS, 10), *y = heed_index(x, "1, ::3, -1");
    EXPECT_VALUES(y, 0, heed_at(x, HEED_INDEX(1, 0, 3)), heed_at(x, HEED_INDEX(1, 3, 3)));
    ck_assert(y->storage == x->storage);
    static const char *const same[][2] = {{" 1 ,: : 3,  -1 ", "1,::3,-1"},
                                          {"1:", "1:,..."},
                                          {"...,...,2", "...,2"},
                                          {" ... , 2", "...,2"},
                                          {"None , 1", "None,1"},
                                          {":-1:", ":-1:1"},
                                          {"0:4:2", ":4:2"},
                                          {"-99:99", ":"},
                                          {"-2, -6, -4", "0, 0, 0"},
                                          {"1::9223372036854775808", "1:2"},
                                          {"...,0,0", ":,0,0"},
                                          {"0,0,0,...", "0,0,0"},
                                          {"1,", "1"},
                                          {"-2, -6", "0, 0"},
                                          {"..., ::2 , ", "...,::2"},
                                          {"None,...,", "None"}};
    for (int i = 0; i < (int)(sizeof same / sizeof *same); i++) {
        heed_tensor *left = heed_index(x, same[i][0]), *right = heed_index(x, same[i][1]);
        EXPECT(left != NULL && right != NULL && heed_equal(left, right), "\"%s\", \"%s\"",
               same[i][0], same[i][1]);
    }
    ck_assert_ptr_eq(heed_index(x, "..., :"), x);
    heed_copy_into(heed_index(x, "1, ::3, -1"), heed_from_f32((float[]){7, 8}, HEED_SHAPE(2)));
    EXPECT_VALUES(y, 0, 7, 8);
    EXPECT_VALUES(heed_index(heed_arange(0, 24, 1, HEED_I64), "10::12"), 0, 10, 22);
    heed_tensor *scalar = heed_scalar(1, HEED_F32);
    ck_assert_ptr_eq(heed_index(scalar, "..."), scalar);
    expect_kind(heed_index(x, "None, ..., None, None, 0, None"), HEED_F32,
                (heed_shape){6, {1, 2, 6, 1, 1, 1}});
}
END_TEST

START_TEST(index_leaves_one_tensor)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(3, 3, 3), HEED_F32);
    const int64_t before = heed_live_tensors();
    heed_index(x, "0, 1:, None, ::2");
    ck_assert_int_eq(heed_live_tensors(), before + 1);
    ck_assert_ptr_null(heed_index(x, "3"));
    expect_error(HEED_ERR_INDEX, "column 1: index 3 is outside dim 0");
    ck_assert_ptr_null(heed_index(x, "0, 1:, None, 5"));
    expect_error(HEED_ERR_INDEX, "column 14: index 5 is outside dim 2");
    for (int n = 0; n < 5; n++) {
        heed_fail_allocation(n);
        ck_assert_ptr_null(heed_index(x, "0, 1:, None, ::2"));
        expect_error(HEED_ERR_MEMORY, "out of memory");
    }
    ck_assert_int_eq(heed_live_tensors(), before + 1);
}
END_TEST

void add_subscript_cases(Suite *suite)
{
    TCase *subscript = heed_case(suite, "subscript");
    tcase_add_test(subscript, index_reads_the_string);
    tcase_add_test(subscript, index_leaves_one_tensor);
}
