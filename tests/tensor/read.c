/* Reading tensors: sizes, elements, shapes and dtypes. What is refused: tests/misuse/tensor.def. */
#include "tensor/tensor.h"
#include "tests/common/reference.h"

START_TEST(size_counts_from_both_ends)
{
    heed_tensor *x = heed_empty(HEED_SHAPE(2, 3, 0, 5), HEED_F32);
    static const int64_t sizes[] = {2, 3, 0, 5};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(heed_size(x, i), sizes[i]);
        ck_assert_int_eq(heed_size(x, i - 4), sizes[i]);
    }
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
    }
    ck_assert_double_eq(heed_item(heed_scalar(0.1, HEED_F32)), (double)0.1f);
    ck_assert_double_eq(heed_item(heed_slice(heed_arange(0, 9, 1, HEED_F32), 0, 7, 8, 1)), 7);
    const int64_t big = INT64_MAX - 1;
    ck_assert_int_eq(heed_item_i64(heed_from_i64(&big, HEED_SHAPE(1))), big);
    ck_assert_int_eq(heed_item_i64(heed_ones(HEED_SCALAR, HEED_BOOL)), 1);
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

void add_read_cases(Suite *suite)
{
    TCase *read = heed_case(suite, "read");
    tcase_add_test(read, size_counts_from_both_ends);
    tcase_add_test(read, at_reads_any_element_of_any_layout);
    tcase_add_test(read, shapes_are_told_apart);
    tcase_add_test(read, item_reads_the_one_element);
    tcase_add_test(read, dtypes_have_names_and_sizes);
}
