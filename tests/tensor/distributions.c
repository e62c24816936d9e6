/* Random numbers: empty tensors, ranges, views, and calls that fail without drawing. */
#include "heed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/random_util.h"

/* ---- edges ---- */

START_TEST(nothing_is_drawn_for_an_empty_tensor)
{
    heed_generator before = heed_get_generator();
    heed_shape none = HEED_SHAPE(3, 0, 2);
    ck_assert_int_eq(heed_rand(none, HEED_F32)->numel, 0);
    ck_assert_int_eq(heed_randn(none, HEED_F64)->numel, 0);
    ck_assert_int_eq(heed_randint(0, 5, none)->numel, 0);
    ck_assert_int_eq(heed_randperm(0)->numel, 0);
    ck_assert_int_eq(heed_randperm(1)->numel, 1);
    heed_tensor *t = heed_empty(none, HEED_F32);
    ck_assert_int_eq(heed_uniform_into(t, 0, 1), HEED_OK);
    ck_assert_int_eq(heed_normal_into(t, 0, 1), HEED_OK);
    heed_tensor *drawn = heed_multinomial(heed_empty(HEED_SHAPE(0, 4), HEED_F32), 2);
    ck_assert_int_eq(heed_size(drawn, 0), 0);
    ck_assert_int_eq(heed_size(drawn, 1), 2);
    heed_generator after = heed_get_generator();
    ck_assert(same_generator(&before, &after));
}
END_TEST

START_TEST(numbers_stay_in_their_range)
{
    heed_tensor *t = heed_randint(INT64_MIN, INT64_MAX, HEED_SHAPE(1000));
    int64_t below = 0;
    for (int64_t i = 0; i < t->numel; i++) {
        ck_assert_int_lt(heed_const_data_i64(t)[i], INT64_MAX);
        below += heed_const_data_i64(t)[i] < 0;
    }
    ck_assert(below > 400 && below < 600);
    EXPECT_I64(heed_randint(INT64_MAX - 1, INT64_MAX, HEED_SHAPE(2)), INT64_MAX - 1, INT64_MAX - 1);
    EXPECT_I64(heed_randint(INT64_MIN, INT64_MIN + 1, HEED_SHAPE(1)), INT64_MIN);
    t = heed_empty(HEED_SHAPE(3), HEED_F32);
    heed_uniform_into(t, 2, 2);
    EXPECT_F32(t, 2, 2, 2);
    heed_normal_into(t, -3, 0);
    EXPECT_F32(t, -3, -3, -3);
}
END_TEST

START_TEST(moments_are_those_of_the_distribution)
{
    enum { N = 20000 };
    static float x[N];
    heed_manual_seed(1);
    heed_copy_out(heed_randn(HEED_SHAPE(N), HEED_F32), x, N);
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    ck_assert_double_lt(fabs(sum / N), 0.03);
    ck_assert_double_lt(fabs(squares / N - 1), 0.05);
}
END_TEST

/* Categories of probability 0 are never drawn, even if the others are tiny or all drawn. */
START_TEST(what_has_no_probability_is_never_drawn)
{
    heed_tensor *p = heed_from_f64((double[]){0, 1, 0, 1e-300, 0, 5e299, 0, 0}, HEED_SHAPE(8));
    for (int i = 0; i < 100; i++) {
        EXPECT_I64(heed_multinomial(p, 1), 5);
        const int64_t *all = heed_const_data_i64(heed_multinomial(p, 3));
        ck_assert(all[0] == 5 && all[1] == 1 && all[2] == 3);
    }
}
END_TEST

START_TEST(categories_come_as_often_as_their_probability_says)
{
    enum { N = 4000 };
    heed_tensor *p = heed_from_f32((float[]){10, 0, 30, 60}, HEED_SHAPE(4));
    heed_tensor *rows = heed_expand(p, HEED_SHAPE(N, 4));
    heed_manual_seed(2);
    heed_tensor *drawn = heed_multinomial(rows, 1);
    int count[4] = {0};
    for (int n = 0; n < N; n++) {
        count[heed_const_data_i64(drawn)[n]]++;
    }
    ck_assert_int_eq(count[1], 0);
    ck_assert_int_lt(abs(count[0] - N / 10), N / 50);
    ck_assert_int_lt(abs(count[2] - N * 3 / 10), N / 50);
}
END_TEST

START_TEST(filling_raises_the_version_and_may_meet_a_leaf)
{
    heed_tensor *t = heed_zeros(HEED_SHAPE(4), HEED_F64);
    t->requires_grad = true;
    uint32_t version = t->storage->version;
    heed_uniform_into(t, 0, 1);
    heed_normal_into(t, 0, 1);
    ck_assert_uint_eq(t->storage->version, version + 2);
    ck_assert(!heed_rand(HEED_SHAPE(1), HEED_F32)->requires_grad);
    heed_uniform_into(t, 0, 1);
    ck_assert(!heed_multinomial(t, 2)->requires_grad);
}
END_TEST

/* ---- misuse ---- */

START_TEST(dtypes_without_these_numbers_are_refused)
{
    heed_tensor *i64 = heed_zeros(HEED_SHAPE(2), HEED_I64);
    heed_tensor *flags = heed_zeros(HEED_SHAPE(2), HEED_BOOL);
    EXPECT_ERROR(heed_rand(HEED_SHAPE(2), HEED_I64), HEED_ERR_DTYPE, "rand: dtype i64");
    EXPECT_ERROR(heed_randn(HEED_SHAPE(2), HEED_BOOL), HEED_ERR_DTYPE, "randn: dtype bool");
    EXPECT_ERROR(heed_rand(HEED_SHAPE(2), (heed_dtype)17), HEED_ERR_DTYPE, "rand: ");
    EXPECT_ERROR(heed_uniform_into(i64, 0, 1), HEED_ERR_DTYPE,
                 "uniform_into: t, i64 of shape (2), must be f32");
    EXPECT_ERROR(heed_normal_into(flags, 0, 1), HEED_ERR_DTYPE, "normal_into: t, bool");
}
END_TEST

START_TEST(arguments_outside_their_range_are_refused)
{
    heed_tensor *t = heed_zeros(HEED_SHAPE(2), HEED_F32);
    heed_tensor *d = heed_zeros(HEED_SHAPE(2), HEED_F64);
    EXPECT_ERROR(heed_randint(5, 5, HEED_SHAPE(0)), HEED_ERR_VALUE, "low 5 is not below high 5");
    EXPECT_ERROR(heed_randint(INT64_MAX, INT64_MIN, HEED_SHAPE(1)), HEED_ERR_VALUE, "randint: low");
    EXPECT_ERROR(heed_randperm(-1), HEED_ERR_VALUE, "randperm: n is -1");
    EXPECT_ERROR(heed_uniform_into(t, 1, 0.5), HEED_ERR_VALUE, "uniform_into: from 1 to 0.5");
    EXPECT_ERROR(heed_uniform_into(t, (double)NAN, 0), HEED_ERR_VALUE, "uniform_into: from nan");
    EXPECT_ERROR(heed_uniform_into(t, 0, (double)INFINITY), HEED_ERR_VALUE, "uniform_into: from 0");
    EXPECT_ERROR(heed_uniform_into(t, 0, 1e39), HEED_ERR_VALUE, "in f32");
    EXPECT_ERROR(heed_uniform_into(t, -3e38, 3e38), HEED_ERR_VALUE, "high - low must be finite");
    EXPECT_ERROR(heed_uniform_into(d, -1e308, 1e308), HEED_ERR_VALUE, "in f64");
    ck_assert_int_eq(heed_uniform_into(d, 0, 1e39), HEED_OK);
    EXPECT_ERROR(heed_normal_into(t, 0, -1), HEED_ERR_VALUE, "normal_into: mean 0 and std -1");
    EXPECT_ERROR(heed_normal_into(t, 0, (double)NAN), HEED_ERR_VALUE, "std nan");
    EXPECT_ERROR(heed_normal_into(d, (double)INFINITY, 1), HEED_ERR_VALUE, "mean inf");
    heed_tensor *p = heed_from_f32((float[]){0, 0.5f, NAN, 2}, HEED_SHAPE(2, 2));
    EXPECT_ERROR(heed_multinomial(p, 1), HEED_ERR_VALUE, "category 0 in row 1 of p (2, 2)");
    EXPECT_ERROR(heed_multinomial(t, 1), HEED_ERR_VALUE, "where 0 probabilities are above 0");
}
END_TEST

START_TEST(null_and_expanded_tensors_are_refused)
{
    EXPECT_ERROR(heed_uniform_into(NULL, 0, 1), HEED_ERR_NULL, "uniform_into: t");
    EXPECT_ERROR(heed_normal_into(NULL, 0, 1), HEED_ERR_NULL, "normal_into: t");
    heed_tensor *wide =
        view(heed_zeros(HEED_SHAPE(3), HEED_F32), HEED_SHAPE(2, 3), HEED_SHAPE(0, 1));
    EXPECT_ERROR(heed_uniform_into(wide, 0, 1), HEED_ERR_SHAPE,
                 "uniform_into: t, f32 of shape (2, 3)");
    EXPECT_ERROR(heed_normal_into(wide, 0, 1), HEED_ERR_SHAPE, "and contiguous");
    ck_assert_uint_eq(wide->storage->version, 0);
    heed_tensor *one = view(wide, HEED_SHAPE(1, 3), HEED_SHAPE(0, 1));
    ck_assert_int_eq(heed_uniform_into(one, 0, 1), HEED_OK);
}
END_TEST

START_TEST(shapes_and_memory_beyond_reach_are_refused)
{
    heed_shape huge = HEED_SHAPE(INT64_MAX, 2), negative = HEED_SHAPE(2, -1);
    EXPECT_ERROR(heed_rand(huge, HEED_F32), HEED_ERR_OVERFLOW, "rand: ");
    EXPECT_ERROR(heed_randn(negative, HEED_F32), HEED_ERR_SHAPE, "randn: ");
    EXPECT_ERROR(heed_randint(0, 1, huge), HEED_ERR_OVERFLOW, "randint: ");
    EXPECT_ERROR(heed_randperm(INT64_MAX), HEED_ERR_OVERFLOW, "randperm: ");
    EXPECT_ERROR(heed_randperm(INT64_C(1) << 57), HEED_ERR_MEMORY, "memory");
    for (int n = 0; n < 3; n++) { /* a handle, a storage, the values */
        heed_fail_allocation(n);
        EXPECT_ERROR(heed_randn(HEED_SHAPE(100), HEED_F32), HEED_ERR_MEMORY, "memory");
    }
    heed_tensor *ones = heed_ones(HEED_SHAPE(100), HEED_F32);
    for (int n = 0; n < 6; n++) { /* the result and the speeds */
        heed_fail_allocation(n);
        EXPECT_ERROR(heed_multinomial(ones, 90), HEED_ERR_MEMORY, "memory");
    }
    heed_fail_allocation(-1);
    ck_assert_ptr_nonnull(heed_randn(HEED_SHAPE(100), HEED_F32));
}
END_TEST

START_TEST(without_a_scope_nothing_is_drawn)
{
    heed_tensor *p = heed_retain(heed_zeros(HEED_SHAPE(2), HEED_F32));
    ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
    EXPECT_ERROR(heed_rand(HEED_SHAPE(2), HEED_F32), HEED_ERR_SCOPE, "rand: no scope");
    EXPECT_ERROR(heed_randn(HEED_SHAPE(2), HEED_F32), HEED_ERR_SCOPE, "randn: no scope");
    EXPECT_ERROR(heed_randint(0, 9, HEED_SHAPE(2)), HEED_ERR_SCOPE, "randint: no scope");
    EXPECT_ERROR(heed_randperm(9), HEED_ERR_SCOPE, "randperm: no scope");
    EXPECT_ERROR(heed_multinomial(p, 1), HEED_ERR_SCOPE, "multinomial: no scope");
    ck_assert_int_eq(heed_uniform_into(p, 0, 1), HEED_OK); /* parameters need no scope */
    heed_release(p);
    heed_scope_begin(&scope);
}
END_TEST

START_TEST(while_an_error_is_pending_nothing_is_drawn)
{
    heed_tensor *t = heed_zeros(HEED_SHAPE(2), HEED_F32);
    heed_generator before = heed_get_generator();
    heed_fail(HEED_ERR_VALUE, "a test");
    ck_assert_ptr_null(heed_rand(HEED_SHAPE(2), HEED_F32));
    ck_assert_ptr_null(heed_randn(HEED_SHAPE(2), HEED_I64));
    ck_assert_ptr_null(heed_randint(1, 0, HEED_SHAPE(2)));
    ck_assert_ptr_null(heed_randperm(-5));
    ck_assert_ptr_null(heed_multinomial(NULL, 0));
    ck_assert_int_eq(heed_uniform_into(t, 0, 1), HEED_ERR_VALUE);
    ck_assert_int_eq(heed_normal_into(NULL, 0, 1), HEED_ERR_VALUE);
    ck_assert_str_eq(heed_error_message(), "a test");
    heed_generator after = heed_get_generator();
    ck_assert(same_generator(&before, &after));
    heed_manual_seed(9); /* seeding works even then */
    ck_assert_int_eq(heed_error(), HEED_ERR_VALUE);
    EXPECT_F32(t, 0, 0);
    after = heed_get_generator();
    heed_manual_seed(9);
    before = heed_get_generator();
    ck_assert(same_generator(&before, &after));
}
END_TEST

void add_distributions_cases(Suite *suite)
{
    TCase *tests = tcase_create("random_misuse");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, nothing_is_drawn_for_an_empty_tensor);
    tcase_add_test(tests, numbers_stay_in_their_range);
    tcase_add_test(tests, moments_are_those_of_the_distribution);
    tcase_add_test(tests, what_has_no_probability_is_never_drawn);
    tcase_add_test(tests, categories_come_as_often_as_their_probability_says);
    tcase_add_test(tests, filling_raises_the_version_and_may_meet_a_leaf);
    tcase_add_test(tests, dtypes_without_these_numbers_are_refused);
    tcase_add_test(tests, arguments_outside_their_range_are_refused);
    tcase_add_test(tests, null_and_expanded_tensors_are_refused);
    tcase_add_test(tests, shapes_and_memory_beyond_reach_are_refused);
    tcase_add_test(tests, without_a_scope_nothing_is_drawn);
    tcase_add_test(tests, while_an_error_is_pending_nothing_is_drawn);
    suite_add_tcase(suite, tests);
}
