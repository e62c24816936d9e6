/* Creation: filled tensors and copies of arrays; arange; eye; the
 * *_like functions; array lengths. */
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
            heed_tensor *t = heed_arange(start, start + by * ((double)n - 0.5), by, dtype);
            if (n == 0) {
                t = heed_arange(start, start, by, dtype);
            }
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

START_TEST(arange_goes_from_one_end_of_i64_to_the_other)
{
    heed_tensor *t = heed_arange(-0x1p63, 0x1p63 - 1024, 0x1p60, HEED_I64);
    expect_kind(t, HEED_I64, HEED_SHAPE(16));
    const int64_t *values = heed_const_data_i64(t);
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(values[i], (i - 8) * (INT64_C(1) << 60));
    }
    t = heed_arange(0x1p62, -0x1p63, -0x1p62, HEED_I64);
    EXPECT_VALUES(t, 0, 0x1p62, 0, -0x1p62);
    EXPECT_VALUES(heed_arange(-0.5, 1.1, 0.5, HEED_F64), 0, -0.5, 0, 0.5, 1);
    EXPECT_VALUES(heed_arange(1, 0, -0.25, HEED_F32), 0, 1, 0.75, 0.5, 0.25);
}
END_TEST

/* ---- eye ---- */

START_TEST(eye_is_one_on_the_diagonal)
{
    for (int64_t n = 0; n < 6; n++) {
        for (int64_t m = 0; m < 6; m++) {
            heed_tensor *t = heed_eye(n, m, (heed_dtype)_i);
            const heed_shape shape = HEED_SHAPE(n, m);
            expect_kind(t, (heed_dtype)_i, shape);
            ck_assert(heed_is_contiguous(t));
            for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
                expect_element("eye", element(t, at), at.size[0] == at.size[1], 0, t->dtype);
            }
        }
    }
}
END_TEST

/* ---- like another tensor ---- */

static void expect_all(const heed_tensor *t, const heed_tensor *x, double value)
{
    const heed_shape shape = heed_shape_of_tensor(x);
    expect_kind(t, x->dtype, shape);
    ck_assert(heed_is_contiguous(t) && t->storage != x->storage);
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        expect_element("like", element(t, at), value, 0, x->dtype);
    }
}

START_TEST(likes_take_shape_and_dtype)
{
    static const heed_shape shapes[] = {{0, {0}}, {1, {1}}, {3, {2, 3, 4}}, {2, {0, 3}}};
    const heed_dtype dtype = (heed_dtype)_i;
    for (int i = 0; i < 4; i++) {
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            heed_tensor *x = noise(shapes[i], dtype, layout, 1), *copy = heed_clone(x);
            expect_all(heed_zeros_like(x), x, 0);
            expect_all(heed_ones_like(x), x, 1);
            ck_assert(heed_equal(x, copy));
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
    sum = heed_scope_end_with(&scope, sum);
    const heed_tensor *x = sum->inputs[0];
    ck_assert(x->storage == NULL && x->requires_grad);
    expect_kind(heed_zeros_like(x), HEED_F64, HEED_SHAPE(3, 2));
}
END_TEST

/* ---- from values ---- */

static void expect_short(heed_tensor *t, const char *message)
{
    ck_assert_ptr_null(t);
    expect_error(HEED_ERR_SHAPE, message);
}

START_TEST(short_arrays_are_refused)
{
    static const int64_t table[2][3] = {{1, 2, 3}, {4, 5, 6}};
    expect_short(heed_from_f32((float[]){1, 2, 3, 4, 5}, HEED_SHAPE(2, 3)),
                 "from_f32: values has 5 elements, but shape (2, 3) needs 6");
    expect_short(heed_from_f64((double[]){1, 2}, HEED_SHAPE(3)),
                 "from_f64: values has 2 elements, but shape (3) needs 3");
    expect_short(heed_from_i64(table[1], HEED_SHAPE(4)),
                 "from_i64: values has 3 elements, but shape (4) needs 4");
    expect_short(heed_from_bool(&(bool[]){true, false}[1], HEED_SHAPE(2)),
                 "from_bool: values has 1 elements, but shape (2) needs 2");
}
END_TEST

START_TEST(arrays_may_be_longer_or_of_unknown_length)
{
    static const int64_t table[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const int64_t *volatile unknown = table[0];
    heed_tensor *whole = heed_from_i64(table[0], HEED_SHAPE(2, 3));
    ck_assert_int_eq(heed_item_i64(heed_select(heed_select(whole, 0, 1), 0, 2)), 6);
    ck_assert(heed_equal(whole, heed_from_i64(unknown, HEED_SHAPE(2, 3))));
    ck_assert(heed_equal(heed_select(whole, 0, 0), heed_from_i64(table[0], HEED_SHAPE(3))));
    ck_assert_int_eq(heed_size(heed_from_f32(NULL, HEED_SHAPE(0, 4)), 1), 4);
}
END_TEST

/* ---- creation ---- */

/* clang-format off */
static const struct made {
    heed_shape shape;
    int64_t strides[HEED_MAX_DIMS];
} all_made[] = {
    {{0, {0}}, {0}},
    {{1, {0}}, {1}},
    {{1, {1}}, {1}},
    {{1, {1000}}, {1}},
    {{2, {3, 4}}, {4, 1}},
    {{2, {3, 1}}, {1, 1}},
    {{3, {2, 0, 3}}, {3, 3, 1}},
    {{4, {2, 3, 4, 5}}, {60, 20, 5, 1}},
    {{5, {1, 2, 1, 2, 1}}, {4, 2, 2, 1, 1}},
    {{8, {2, 1, 2, 1, 2, 1, 2, 3}}, {24, 24, 12, 12, 6, 6, 3, 1}},
};
/* clang-format on */
enum { MADE = sizeof all_made / sizeof *all_made };

static void expect_filled(heed_tensor *t, const struct made *made, heed_dtype dtype, double value)
{
    expect_kind(t, dtype, made->shape);
    ck_assert(heed_is_contiguous(t));
    ck_assert_int_eq(t->storage->version, 0);
    ck_assert_uint_eq(t->storage->bytes, (size_t)t->numel * heed_dtype_size(dtype));
    ck_assert(t->data == t->storage->data && (uintptr_t)t->data % 8 == 0);
    ck_assert(t->grad == NULL && t->inputs != NULL);
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
        const bool is_bool = dtype == HEED_BOOL, is_float = dtype <= HEED_F64;
        /* Reused memory must not show through. */
        memset(heed_empty(m->shape, dtype)->data, 1, (size_t)count_of(m->shape));
        expect_filled(heed_zeros(m->shape, dtype), m, dtype, 0);
        expect_filled(heed_ones(m->shape, dtype), m, dtype, 1);
        expect_filled(heed_full(m->shape, -7, dtype), m, dtype, is_bool ? 1 : -7);
        expect_filled(heed_full(m->shape, 2.75, dtype), m, dtype,
                      is_float  ? 2.75
                      : is_bool ? 1
                                : 2);
        expect_filled(heed_full(m->shape, 0.1, dtype), m, dtype,
                      dtype == HEED_F32   ? (double)0.1f
                      : dtype == HEED_F64 ? 0.1
                                          : is_bool);
        expect_kind(heed_empty(m->shape, dtype), dtype, m->shape);
        expect_filled(heed_scalar(5, dtype), &all_made[0], dtype, is_bool ? 1 : 5);
    }
}
END_TEST

START_TEST(full_takes_what_the_dtype_can_hold)
{
    const heed_shape two = HEED_SHAPE(2);
    EXPECT_VALUES(heed_full(two, (double)NAN, HEED_F32), 0, (double)NAN, (double)NAN);
    EXPECT_VALUES(heed_full(two, -HUGE_VAL, HEED_F64), 0, -HUGE_VAL, -HUGE_VAL);
    EXPECT_VALUES(heed_full(two, 1e300, HEED_F32), 0, HUGE_VAL, HUGE_VAL);
    EXPECT_VALUES(heed_full(two, (double)NAN, HEED_BOOL), 0, 1, 1);
    EXPECT_VALUES(heed_full(two, -0x1p63, HEED_I64), 0, -0x1p63, -0x1p63);
    static const double outside[] = {(double)NAN, HUGE_VAL, -HUGE_VAL, 0x1p63, -1e19};
    for (int i = 0; i < 5; i++) {
        ck_assert_ptr_null(heed_full(two, outside[i], HEED_I64));
        expect_error(HEED_ERR_VALUE, "full: i64 cannot hold");
    }
}
END_TEST

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
    expect_kind(a, HEED_F32, shape);
    expect_kind(b, HEED_F64, shape);
    expect_kind(c, HEED_I64, shape);
    expect_kind(d, HEED_BOOL, shape);
    ck_assert(a->data != (void *)f32 && memcmp(heed_const_data_f32(a), f32, sizeof f32) == 0);
    ck_assert(b->data != (void *)f64 && memcmp(heed_const_data_f64(b), f64, sizeof f64) == 0);
    ck_assert(c->data != (void *)i64 && memcmp(heed_const_data_i64(c), i64, sizeof i64) == 0);
    ck_assert(d->data != (void *)bools &&
              memcmp(heed_const_data_bool(d), bools, sizeof bools) == 0);
    ck_assert_double_eq(heed_at(b, HEED_INDEX(1, 0, 2)), f64[14]);
    expect_kind(heed_from_f32(NULL, HEED_SHAPE(0, 3)), HEED_F32, HEED_SHAPE(0, 3));
    ck_assert_ptr_null(heed_from_i64(NULL, HEED_SHAPE(1)));
    expect_error(HEED_ERR_NULL, "from_i64: no values for a tensor (1)");
}
END_TEST

START_TEST(arange_counts)
{
    EXPECT_VALUES(heed_arange(0, 5, 1, HEED_I64), 0, 0, 1, 2, 3, 4);
    EXPECT_VALUES(heed_arange(5, 0, -2, HEED_I64), 0, 5, 3, 1);
    EXPECT_VALUES(heed_arange(-3, 3, 2, HEED_F32), 0, -3, -1, 1);
    EXPECT_VALUES(heed_arange(0, 2.5, 1, HEED_I64), 0, 0, 1, 2);
    EXPECT_VALUES(heed_arange(0, 1, 0.25, HEED_F64), 0, 0, 0.25, 0.5, 0.75);
    expect_kind(heed_arange(3, 3, 1, HEED_F32), HEED_F32, HEED_SHAPE(0));
    expect_kind(heed_arange(0, 1000, 1, HEED_I64), HEED_I64, HEED_SHAPE(1000));
    heed_tensor *tenths = heed_arange(0, 10, 0.1, HEED_F32); /* errors do not accumulate */
    ck_assert_int_eq(tenths->numel, 100);
    for (int i = 0; i < 100; i++) {
        expect_element("arange", element(tenths, HEED_INDEX(i)), i * 0.1, 1, HEED_F32);
    }
    EXPECT_VALUES(heed_arange(0x1p53 - 1, 0x1p53 + 2, 1, HEED_I64), 0, 0x1p53 - 1, 0x1p53,
                  0x1p53 + 1);
    static const double never[][3] = {{0, 1, 0},           {0, 1, -1},       {1, 0, 1},
                                      {0, (double)NAN, 1}, {0, HUGE_VAL, 1}, {(double)NAN, 1, 1}};
    for (int i = 0; i < 6; i++) {
        ck_assert_ptr_null(heed_arange(never[i][0], never[i][1], never[i][2], HEED_F32));
        expect_error(HEED_ERR_VALUE, "arange");
    }
    ck_assert_ptr_null(heed_arange(0.5, 2, 1, HEED_I64));
    expect_error(HEED_ERR_VALUE, "must be integers");
    ck_assert_ptr_null(heed_arange(0, 2, 1, HEED_BOOL));
    expect_error(HEED_ERR_DTYPE, "arange: bool");
}
END_TEST

START_TEST(creation_refuses)
{
    ck_assert_ptr_null(heed_zeros((heed_shape){9, {1, 1, 1, 1, 1, 1, 1, 1}}, HEED_F32));
    expect_error(HEED_ERR_SHAPE, "zeros: 9 dims");
    ck_assert_ptr_null(heed_ones((heed_shape){-1, {0}}, HEED_F32));
    expect_error(HEED_ERR_SHAPE, "ones: -1 dims");
    ck_assert_ptr_null(heed_empty(HEED_SHAPE(2, -1), HEED_F32));
    expect_error(HEED_ERR_SHAPE, "empty: negative size in (2, -1)");
    ck_assert_ptr_null(heed_zeros(HEED_SHAPE(1), HEED_DTYPES));
    expect_error(HEED_ERR_DTYPE, "zeros: 4 is not a dtype");
    ck_assert_ptr_null(heed_empty(HEED_SHAPE(INT64_C(1) << 32, INT64_C(1) << 32), HEED_BOOL));
    expect_error(HEED_ERR_OVERFLOW, "empty: (4294967296, 4294967296)");
    ck_assert_ptr_null(heed_empty(HEED_SHAPE(0, INT64_MAX, INT64_MAX), HEED_F32));
    expect_error(HEED_ERR_OVERFLOW, "empty");
}
END_TEST

START_TEST(set_data_changes_the_version)
{
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2), HEED_F32), true);
    const uint32_t before = x->storage->version;
    heed_tensor *y = heed_sum(heed_square(x));
    heed_share_storage(x, heed_ones(HEED_SHAPE(2), HEED_F32));
    ck_assert(x->storage->version > before);
    ck_assert_int_eq(heed_backward(y), HEED_ERR_VERSION);
    expect_error(HEED_ERR_VERSION, "square");
}
END_TEST

void add_create_cases(Suite *suite)
{
    TCase *create = heed_case(suite, "ranges_and_likes");
    tcase_add_loop_test(create, ranges_are_near_the_line, 0, 7);
    tcase_add_test(create, arange_goes_from_one_end_of_i64_to_the_other);
    tcase_add_loop_test(create, eye_is_one_on_the_diagonal, 0, HEED_DTYPES);
    tcase_add_loop_test(create, likes_take_shape_and_dtype, 0, HEED_DTYPES);
    tcase_add_test(create, likes_read_no_value);
    tcase_add_test(create, short_arrays_are_refused);
    tcase_add_test(create, arrays_may_be_longer_or_of_unknown_length);
    tcase_add_loop_test(create, created_tensors_hold_their_value, 0, MADE);
    tcase_add_test(create, full_takes_what_the_dtype_can_hold);
    tcase_add_test(create, from_copies_row_by_row);
    tcase_add_test(create, arange_counts);
    tcase_add_test(create, creation_refuses);
    tcase_add_test(create, set_data_changes_the_version);
}
