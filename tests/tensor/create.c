/* Creation: filled tensors and copies of arrays; arange; eye; the *_like functions. What they
 * refuse is in tests/misuse/tensor.def. */
#include <math.h>
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/reference.h"

/* ---- arange ---- */

/* Compares with long double, to an ulp of the largest number. */
START_TEST(ranges_are_near_the_line)
{
    static const double lines[][2] = {{0, 0.1},   {0, 1},       {-1, 0.03},     {0.1, -1.0 / 3},
                                      {1e3, 1.7}, {-0.5, 1e-5}, {16777216, 0.5}};
    const double start = lines[_i][0], by = lines[_i][1];
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        for (int64_t n = 0; n < 300; n += 7) {
            const double end = n == 0 ? start : start + by * ((double)n - 0.5);
            heed_tensor *t = heed_arange(start, end, by, dtype);
            expect_kind(t, dtype, HEED_SHAPE(n));
            const double ulp = dtype == HEED_F32 ? 0x1p-23 : 0x1p-52;
            const double most = ulp * fmax(fabs(start), fabs(start + by * (double)n));
            for (int64_t i = 0; i < n; i++) {
                const double goal = (double)((long double)start + (long double)by * i);
                EXPECT(fabs(element(t, HEED_INDEX(i)) - goal) <= most, "%g, %g: %.17g, not %.17g",
                       start, by, element(t, HEED_INDEX(i)), goal);
            }
        }
    }
}
END_TEST

START_TEST(arange_counts_in_integers)
{
    EXPECT_VALUES(heed_arange(5, 0, -2, HEED_I64), 0, 5, 3, 1);
    EXPECT_VALUES(heed_arange(0, 2.5, 1, HEED_I64), 0, 0, 1, 2);
    EXPECT_VALUES(heed_arange(0x1p53 - 1, 0x1p53 + 2, 1, HEED_I64), 0, 0x1p53 - 1, 0x1p53,
                  0x1p53 + 1);
    heed_tensor *t = heed_arange(-0x1p63, 0x1p63 - 1024, 0x1p60, HEED_I64);
    expect_kind(t, HEED_I64, HEED_SHAPE(16));
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(heed_const_data_i64(t)[i], (i - 8) * (INT64_C(1) << 60));
    }
    EXPECT_VALUES(heed_arange(0x1p62, -0x1p63, -0x1p62, HEED_I64), 0, 0x1p62, 0, -0x1p62);
}
END_TEST

/* ---- eye ---- */

START_TEST(eye_is_one_on_the_diagonal)
{
    for (int64_t n = 0; n < 4; n++) {
        for (int64_t m = 0; m < 4; m++) {
            heed_tensor *t = heed_eye(n, m, (heed_dtype)_i);
            const heed_shape shape = HEED_SHAPE(n, m);
            expect_kind(t, (heed_dtype)_i, shape);
            for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
                expect_element("eye", element(t, at), at.size[0] == at.size[1], 0, t->dtype);
            }
        }
    }
}
END_TEST

/* ---- filled tensors ---- */

static const struct made {
    heed_shape shape;
    int64_t strides[HEED_MAX_DIMS];
} all_made[] = {
    {{0, {0}}, {0}},
    {{1, {1000}}, {1}},
    {{2, {3, 1}}, {1, 1}},
    {{3, {2, 0, 3}}, {3, 3, 1}},
    {{5, {1, 2, 1, 2, 1}}, {4, 2, 2, 1, 1}},
    {{8, {2, 1, 2, 1, 2, 1, 2, 3}}, {24, 24, 12, 12, 6, 6, 3, 1}},
};
enum { MADE = sizeof all_made / sizeof *all_made };

static void expect_filled(heed_tensor *t, const struct made *made, heed_dtype dtype, double value)
{
    expect_kind(t, dtype, made->shape);
    ck_assert_int_eq(t->storage->version, 0);
    ck_assert_uint_eq(t->storage->bytes, (size_t)t->numel * heed_dtype_size(dtype));
    ck_assert(t->data == t->storage->data && t->grad == NULL);
    for (int i = 0; i < t->ndim; i++) {
        ck_assert_int_eq(t->strides[i], made->strides[i]);
    }
    for (heed_shape at = first_index(made->shape); at.ndim >= 0; next_index(made->shape, &at)) {
        expect_element("filled", element(t, at), value, 0, dtype);
    }
}

START_TEST(created_tensors_hold_their_value)
{
    const struct made *m = &all_made[_i];
    for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
        const bool is_bool = dtype == HEED_BOOL;
        /* Reused memory must not show through. */
        memset(heed_empty(m->shape, dtype)->data, 1, (size_t)count_of(m->shape));
        expect_filled(heed_zeros(m->shape, dtype), m, dtype, 0);
        expect_filled(heed_ones(m->shape, dtype), m, dtype, 1);
        expect_filled(heed_full(m->shape, 2.75, dtype), m, dtype,
                      heed_is_float(dtype) ? 2.75
                      : is_bool            ? 1
                                           : 2);
        expect_filled(heed_scalar(-5, dtype), &all_made[0], dtype, is_bool ? 1 : -5);
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            heed_tensor *x = noise(m->shape, dtype, layout, 1);
            expect_filled(heed_zeros_like(x), m, dtype, 0);
            expect_filled(heed_ones_like(x), m, dtype, 1);
        }
    }
}
END_TEST

/* The result never requires a gradient, and x's value may have been freed. */
START_TEST(likes_read_no_value)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *leaf = heed_set_requires_grad(heed_ones(HEED_SHAPE(2, 3), HEED_F64), true);
    heed_tensor *sum = heed_sum(heed_add_scalar(heed_transpose(leaf, 0, 1), 1));
    const heed_tensor *x = heed_scope_end_with(&scope, sum)->inputs[0];
    ck_assert(x->storage == NULL && x->requires_grad);
    expect_kind(heed_zeros_like(x), HEED_F64, HEED_SHAPE(3, 2));
}
END_TEST

START_TEST(full_takes_what_the_dtype_can_hold)
{
    const heed_shape two = HEED_SHAPE(2);
    EXPECT_VALUES(heed_full(two, (double)NAN, HEED_F32), 0, (double)NAN, (double)NAN);
    EXPECT_VALUES(heed_full(two, 1e300, HEED_F32), 0, HUGE_VAL, HUGE_VAL);
    ck_assert(signbit(heed_at(heed_full(two, -0.0, HEED_F32), HEED_INDEX(1))) != 0);
    EXPECT_VALUES(heed_full(two, (double)NAN, HEED_BOOL), 0, 1, 1);
    EXPECT_VALUES(heed_full(two, -0x1p63, HEED_I64), 0, -0x1p63, -0x1p63);
    ck_assert_ptr_null(heed_full(two, 0x1p63, HEED_I64));
    expect_error(HEED_ERR_VALUE, "full: i64 cannot hold");
}
END_TEST

/* ---- from values ---- */

START_TEST(from_copies_row_by_row)
{
    enum { N = 24 };
    float f32[N];
    double f64[N];
    int64_t i64[N];
    bool bools[N];
    for (int i = 0; i < N; i++) {
        f32[i] = 0.1f * (float)i;
        f64[i] = 0.1 * i;
        i64[i] = (INT64_C(1) << 60) - i;
        bools[i] = i % 3 == 0;
    }
    const heed_shape shape = HEED_SHAPE(2, 3, 4);
    heed_tensor *a = heed_from_f32(f32, shape), *b = heed_from_f64(f64, shape);
    heed_tensor *c = heed_from_i64(i64, shape), *d = heed_from_bool(bools, shape);
    expect_kind(c, HEED_I64, shape);
    ck_assert(a->data != (void *)f32 && memcmp(heed_const_data_f32(a), f32, sizeof f32) == 0);
    ck_assert_mem_eq(heed_const_data_f64(b), f64, sizeof f64);
    ck_assert_mem_eq(heed_const_data_i64(c), i64, sizeof i64);
    ck_assert_mem_eq(heed_const_data_bool(d), bools, sizeof bools);
    expect_kind(heed_from_f32(NULL, HEED_SHAPE(0, 3)), HEED_F32, HEED_SHAPE(0, 3));
}
END_TEST

/* The compiler tells the length of an array, or of the rest of one. */
START_TEST(arrays_may_be_longer_or_of_unknown_length)
{
    static const int64_t table[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const int64_t *volatile unknown = table[0];
    heed_tensor *whole = heed_from_i64(table[0], HEED_SHAPE(2, 3));
    ck_assert(heed_equal(whole, heed_from_i64(unknown, HEED_SHAPE(2, 3))));
    ck_assert(heed_equal(heed_select(whole, 0, 0), heed_from_i64(table[0], HEED_SHAPE(3))));
    ck_assert_ptr_null(heed_from_i64(table[1], HEED_SHAPE(4)));
    expect_error(HEED_ERR_SHAPE, "from_i64: values has 3 elements, but shape (4) needs 4");
}
END_TEST

void add_create_cases(Suite *suite)
{
    TCase *create = heed_case(suite, "create");
    tcase_add_loop_test(create, ranges_are_near_the_line, 0, 7);
    tcase_add_test(create, arange_counts_in_integers);
    tcase_add_loop_test(create, eye_is_one_on_the_diagonal, 0, HEED_DTYPES);
    tcase_add_loop_test(create, created_tensors_hold_their_value, 0, MADE);
    tcase_add_test(create, likes_read_no_value);
    tcase_add_test(create, full_takes_what_the_dtype_can_hold);
    tcase_add_test(create, from_copies_row_by_row);
    tcase_add_test(create, arrays_may_be_longer_or_of_unknown_length);
}
