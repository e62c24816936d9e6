/* Tensors: creation, shapes and elements. create.c tests ranges, eye and the *_like functions,
 * map.c casts and copies, tests/ops/view.c views. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/ops_cases.h"

Suite *tensor_suite(void);

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

/* ---- creation ---- */

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

/* ---- reading ---- */

START_TEST(size_counts_from_both_ends)
{
    heed_tensor *x = heed_empty(HEED_SHAPE(2, 3, 0, 5), HEED_F32);
    static const int64_t sizes[] = {2, 3, 0, 5};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(heed_size(x, i), sizes[i]);
        ck_assert_int_eq(heed_size(x, i - 4), sizes[i]);
    }
    expect_no_error();
    static const int outside[] = {4, -5, INT32_MAX, INT32_MIN};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(heed_size(x, outside[i]), 0);
        expect_error(HEED_ERR_DIM, "size: dim");
    }
    ck_assert_int_eq(heed_size(heed_scalar(1, HEED_F32), 0), 0);
    expect_error(HEED_ERR_DIM, "size: a tensor without dims");
    heed_shape shape = heed_shape_of_tensor(x);
    ck_assert_int_eq(shape.ndim, 4);
    ck_assert_mem_eq(shape.size, sizes, sizeof sizes);
}
END_TEST

START_TEST(at_reads_any_element_of_any_layout)
{
    const heed_shape shape = HEED_SHAPE(2, 3, 4);
    for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            heed_tensor *x = noise(shape, dtype, layout, 1), *rows = noise(shape, dtype, ROWS, 1);
            for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
                heed_shape back = at;
                for (int i = 0; i < 3; i++) {
                    back.size[i] -= shape.size[i];
                }
                ck_assert_double_eq(heed_at(x, at), element(rows, at));
                ck_assert_double_eq(heed_at(x, back), element(rows, at));
            }
            ck_assert(heed_is_contiguous(x) == (layout == ROWS));
        }
    }
    ck_assert_double_eq(heed_at(heed_scalar(3, HEED_I64), HEED_SCALAR), 3);
    heed_tensor *x = heed_zeros(shape, HEED_F32);
    static const heed_shape outside[] = {{3, {2, 0, 0}}, {3, {0, -4, 0}}, {3, {0, 0, INT64_MIN}}};
    for (int i = 0; i < 3; i++) {
        ck_assert_double_nan(heed_at(x, outside[i]));
        expect_error(HEED_ERR_INDEX, "is out of range for a tensor (2, 3, 4)");
    }
    ck_assert_double_nan(heed_at(x, HEED_INDEX(0, 0)));
    expect_error(HEED_ERR_SHAPE, "at: 2 indices for a tensor (2, 3, 4)");
}
END_TEST

/* Equal shapes compare equal whatever the strides; other shapes with as many elements or dims do
 * not. */
START_TEST(shapes_are_told_apart)
{
    heed_tensor *x = heed_zeros(HEED_SHAPE(2, 3), HEED_F32);
    ck_assert(heed_has_shape(x, &HEED_SHAPE(2, 3)));
    ck_assert(heed_same_shape(x, heed_transpose(heed_zeros(HEED_SHAPE(3, 2), HEED_I64), 0, 1)));
    ck_assert(heed_has_shape(heed_zeros(HEED_SCALAR, HEED_F32), &HEED_SCALAR));
    const heed_shape others[] = {HEED_SHAPE(3, 2),   HEED_SHAPE(2, 4), HEED_SHAPE(1, 3),
                                 HEED_SHAPE(2),      HEED_SHAPE(6),    HEED_SHAPE(2, 3, 1),
                                 HEED_SHAPE(1, 2, 3)};
    for (int i = 0; i < 7; i++) {
        ck_assert(!heed_has_shape(x, &others[i]));
        ck_assert(!heed_same_shape(x, heed_zeros(others[i], HEED_F32)));
    }
}
END_TEST

START_TEST(item_reads_the_one_element)
{
    for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
        ck_assert_double_eq(heed_item(heed_ones(HEED_SHAPE(1, 1, 1), dtype)), 1);
        ck_assert_double_eq(heed_item(heed_scalar(0, dtype)), 0);
        ck_assert_double_nan(heed_item(heed_ones(HEED_SHAPE(2), dtype)));
        expect_error(HEED_ERR_SHAPE, "item: (2) has 2 elements, not one");
        ck_assert_double_nan(heed_item(heed_ones(HEED_SHAPE(0), dtype)));
        expect_error(HEED_ERR_SHAPE, "item: (0) has 0 elements");
    }
    ck_assert_double_eq(heed_item(heed_scalar(0.1, HEED_F32)), (double)0.1f);
    ck_assert_double_eq(heed_item(heed_slice(heed_arange(0, 9, 1, HEED_F32), 0, 7, 8, 1)), 7);
    const int64_t big = INT64_MAX - 1;
    ck_assert_int_eq(heed_item_i64(heed_from_i64(&big, HEED_SHAPE(1))), big);
    ck_assert_int_eq(heed_item_i64(heed_ones(HEED_SCALAR, HEED_BOOL)), 1);
    ck_assert_int_eq(heed_item_i64(heed_ones(HEED_SCALAR, HEED_F32)), 0);
    expect_error(HEED_ERR_DTYPE, "item_i64: t is f32");
    ck_assert_int_eq(heed_item_i64(heed_ones(HEED_SHAPE(3), HEED_I64)), 0);
    expect_error(HEED_ERR_SHAPE, "item_i64");
}
END_TEST

START_TEST(dtypes_have_names_and_sizes)
{
    static const char *const names[] = {"f32", "f64", "i64", "bool"};
    static const size_t sizes[] = {4, 8, 8, 1};
    for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
        ck_assert_str_eq(heed_dtype_name(dtype), names[dtype]);
        ck_assert_uint_eq(heed_dtype_size(dtype), sizes[dtype]);
    }
    ck_assert_uint_eq(heed_dtype_size(HEED_DTYPES), 0);
}
END_TEST

START_TEST(isa_is_the_one_that_was_asked_for)
{
    const char *wanted = getenv("HEED_ISA");
    const char *isa = heed_isa();
    if (wanted != NULL && *wanted != '\0') {
        ck_assert_str_eq(isa, wanted);
    } else {
        ck_assert(strcmp(isa, "baseline") == 0 || strcmp(isa, "v3") == 0 || strcmp(isa, "v4") == 0);
    }
    heed_fail(HEED_ERR_VALUE, "pending");
    ck_assert_str_eq(heed_isa(), "");
    expect_error(HEED_ERR_VALUE, "pending");
}
END_TEST

Suite *tensor_suite(void)
{
    Suite *suite = suite_create("tensor");
    TCase *create = heed_case(suite, "create");
    tcase_add_loop_test(create, created_tensors_hold_their_value, 0, MADE);
    tcase_add_test(create, full_takes_what_the_dtype_can_hold);
    tcase_add_test(create, from_copies_row_by_row);
    tcase_add_test(create, arange_counts);
    tcase_add_test(create, creation_refuses);
    TCase *read = heed_case(suite, "read");
    tcase_add_test(read, size_counts_from_both_ends);
    tcase_add_test(read, at_reads_any_element_of_any_layout);
    tcase_add_test(read, shapes_are_told_apart);
    tcase_add_test(read, item_reads_the_one_element);
    tcase_add_test(read, dtypes_have_names_and_sizes);
    tcase_add_test(read, isa_is_the_one_that_was_asked_for);
    add_create_cases(suite);
    add_tensor_copy_cases(suite);
    add_tensor_view_cases(suite);
    return suite;
}
