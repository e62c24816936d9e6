/* .npy files: numpy's are read bit for bit, and ours are written as numpy writes them. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/common/files_util.h"

/* ---- files written by numpy: tests/fixtures/make_npy.py ---- */

static heed_tensor *expected_of(const char *name)
{
    static const float inf = INFINITY;
    const heed_shape shape = HEED_SHAPE(2, 3);
    if (strcmp(name, "f4") == 0) {
        return heed_from_f32((float[]){1.5f, -0.0f, inf, -inf, 1e-45f, FLT_MAX}, shape);
    }
    if (strcmp(name, "f8") == 0) {
        return heed_from_f64((double[]){0.1, -0.0, (double)inf, -(double)inf, 5e-324, -1e300},
                             shape);
    }
    if (strcmp(name, "f2") == 0) { /* 6e-8 is half's smallest number */
        return heed_from_f32((float[]){1.5f, -0.0f, inf, -inf, 0x1p-24f, 65504}, shape);
    }
    if (strcmp(name, "i4") == 0) {
        return heed_from_i64((int64_t[]){1, -2, INT32_MAX, INT32_MIN, 0x01020304, 0}, shape);
    }
    if (strcmp(name, "i8") == 0) {
        return heed_from_i64((int64_t[]){1, -2, INT64_MAX, INT64_MIN, 0x0102030405060708, 0},
                             shape);
    }
    return heed_from_bool((bool[]){true, false, true, true, false, false}, shape);
}

START_TEST(files_of_numpy_are_read)
{
    static const char *const names[] = {"f4", "f8", "f2", "i4", "i8", "b1"};
    static const char *const variants[] = {"", "_fortran", "_big", "_big_fortran"};
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < (i < 5 ? 4 : 2); j++) {
            heed_tensor *x = heed_load_npy(npy_fixture(names[i], variants[j]));
            expect_same_bits(x, expected_of(names[i]));
            ck_assert(heed_is_contiguous(x) && !x->requires_grad && x->op == NULL);
            heed_tensor *w = heed_is_float(x->dtype) ? heed_set_requires_grad(x, true) : NULL;
            ck_assert(w == NULL || heed_backward(heed_sum(w)) == HEED_OK); /* like any leaf */
        }
    }
    expect_same_bits(heed_load_npy(npy_fixture("version2", "")), expected_of("f4"));
    expect_same_bits(heed_load_npy(npy_fixture("version3", "")), expected_of("f4"));
}
END_TEST

START_TEST(shapes_of_numpy_are_read)
{
    expect_same_bits(heed_load_npy(npy_fixture("scalar", "")), heed_scalar(7.25, HEED_F32));
    expect_same_bits(heed_load_npy(npy_fixture("one", "")), heed_arange(0, 4, 1, HEED_I64));
    expect_same_bits(heed_load_npy(npy_fixture("empty", "")),
                     heed_zeros(HEED_SHAPE(3, 0, 2), HEED_F64));
    expect_same_bits(
        heed_load_npy(npy_fixture("deep", "")),
        heed_reshape(heed_arange(0, 16, 1, HEED_F64), HEED_SHAPE(1, 2, 1, 2, 1, 2, 1, 2)));
    expect_same_bits(heed_load_npy(npy_fixture("deep", "_fortran")),
                     heed_reshape(heed_arange(0, 24, 1, HEED_I64), HEED_SHAPE(2, 3, 1, 4)));
}
END_TEST

START_TEST(numpy_writes_the_same_bytes)
{
    static const char *const names[] = {"f4", "f8", "i8", "b1", "scalar", "one", "empty", "deep"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        heed_tensor *x = heed_load_npy(npy_fixture(names[i], ""));
        ck_assert_int_eq(heed_save_npy(x, in_folder("a")), HEED_OK);
        expect_same_files(in_folder("a"), npy_fixture(names[i], ""));
        if (x->ndim == 2) { /* views are written in row-major order */
            heed_tensor *other = heed_contiguous(heed_transpose(x, 0, 1));
            ck_assert_int_eq(heed_save_npy(heed_transpose(other, 0, 1), in_folder("a")), HEED_OK);
            expect_same_files(in_folder("a"), npy_fixture(names[i], ""));
        }
    }
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

/* ---- round trips ---- */

static void there_and_back(heed_tensor *x)
{
    const uint32_t version = x->storage->version;
    ck_assert_int_eq(heed_save_npy(x, in_folder("a")), HEED_OK);
    heed_tensor *y = heed_load_npy(in_folder("a"));
    expect_same_bits(y, x);
    ck_assert(heed_is_contiguous(y) && !y->requires_grad && y->storage != x->storage);
    ck_assert_uint_eq(x->storage->version, version);
}

START_TEST(every_dtype_shape_and_view_comes_back)
{
    const heed_shape shapes[] = {HEED_SCALAR,
                                 HEED_SHAPE(1),
                                 HEED_SHAPE(5),
                                 HEED_SHAPE(0),
                                 HEED_SHAPE(2, 3),
                                 HEED_SHAPE(3, 0, 2),
                                 HEED_SHAPE(1234567),
                                 HEED_SHAPE(40, 30, 3),
                                 HEED_SHAPE(1, 2, 1, 2, 1, 1, 2, 3),
                                 HEED_SHAPE(0, 7777, 7777, 7777)};
    for (int dtype = HEED_F32; dtype < HEED_DTYPES; dtype++) {
        const size_t too_large = SIZE_MAX == UINT32_MAX; /* of the last one, the strides overflow */
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes - too_large; i++) {
            there_and_back(of_all_bits(shapes[i], (heed_dtype)dtype));
        }
        heed_tensor *x = of_all_bits(HEED_SHAPE(4, 6), (heed_dtype)dtype);
        there_and_back(heed_transpose(x, 0, 1));
        there_and_back(heed_slice(x, 1, 1, 6, 2));
        there_and_back(heed_slice(x, 0, 2, 2, 1));
        there_and_back(heed_expand(heed_slice(x, 0, 1, 2, 1), HEED_SHAPE(3, 5, 6)));
    }
    heed_tensor *w = heed_set_requires_grad(heed_ones(HEED_SHAPE(2, 3), HEED_F32), true);
    there_and_back(heed_transpose(heed_exp(w), 0, 1)); /* with a graph */
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

/* All 65,536 halves equal those that safetensors decodes from F16. */
START_TEST(halves_are_those_of_safetensors)
{
    static uint16_t halves[65536];
    char header[128] = "";
    for (int i = 0; i < 65536; i++) {
        halves[i] = (uint16_t)i;
    }
    snprintf(header, sizeof header,
             "{\"x\":{\"dtype\":\"F16\",\"shape\":[65536],\"data_offsets\":[0,131072]}}");
    FILE *file = fopen(in_folder("a"), "wb");
    fputc((int)strlen(header), file);
    fwrite("\0\0\0\0\0\0\0", 1, 7, file);
    fputs(header, file);
    fwrite(halves, sizeof halves, 1, file);
    fclose(file);
    snprintf(header, sizeof header, "{'descr': '<f2', 'fortran_order': False, 'shape': (65536,)}");
    file = fopen(in_folder("b"), "wb");
    fwrite("\x93NUMPY\1", 1, 8, file);
    fputc((int)strlen(header), file);
    fputc(0, file);
    fputs(header, file);
    fwrite(halves, sizeof halves, 1, file);
    fclose(file);
    heed_tensor *x = heed_load_npy(in_folder("b"));
    expect_same_bits(x, load_one(in_folder("a"), "x"));
    for (uint32_t half = 0x7c01; half < 0x8000; half++) { /* NaN keeps its bits */
        uint32_t bits[2];
        memcpy(&bits[0], heed_const_data_f32(x) + half, sizeof *bits);
        memcpy(&bits[1], heed_const_data_f32(x) + (half | 0x8000), sizeof *bits);
        ck_assert_uint_eq(bits[0], 0x7f800000 | (half & 1023) << 13);
        ck_assert_uint_eq(bits[1], 0xff800000 | (half & 1023) << 13);
    }
}
END_TEST

/* ---- file system errors ---- */

START_TEST(a_file_may_not_be_there)
{
    ck_assert_ptr_null(heed_load_npy("/tmp"));
    expect_error(HEED_ERR_FILE, "load_npy: /tmp: it is a directory");
    ck_assert_ptr_null(heed_load_npy("/dev/zero"));
    expect_error(HEED_ERR_FILE, "load_npy: /dev/zero: it is not a regular file");
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0); /* no process writes into it */
    ck_assert_ptr_null(heed_load_npy(in_folder("pipe")));
    expect_error(HEED_ERR_FILE, "pipe: it is not a regular file");
    ck_assert_int_eq(heed_save_npy(heed_scalar(1, HEED_F32), in_folder("pipe")), HEED_ERR_FILE);
    expect_error(HEED_ERR_FILE, "save_npy: /tmp/heed-test-");
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    heed_tensor *x = heed_transpose(of_all_bits(HEED_SHAPE(30, 9), HEED_I64), 0, 1);
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    int n = 0;
    for (heed_status status = HEED_ERR_MEMORY; status == HEED_ERR_MEMORY; n++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_fail_allocation(n);
        heed_save_npy(x, in_folder("x"));
        heed_tensor *y = heed_load_npy(in_folder("x"));
        heed_tensor *z = heed_load_npy(npy_fixture("deep", "_fortran"));
        heed_tensor *half = heed_load_npy(npy_fixture("f2", "_big_fortran"));
        heed_fail_allocation(-1);
        status = heed_error();
        if (status == HEED_OK) {
            expect_same_bits(y, x);
            expect_same_bits(half, expected_of("f2"));
        }
        ck_assert(status == HEED_OK || half == NULL);
        ck_assert(status == HEED_OK || z == NULL || y != NULL);
        ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
        ck_assert_int_eq(heed_live_tensors(), tensors);
        ck_assert_int_eq(heed_live_bytes(), bytes);
        ck_assert_int_le(files_in_folder(), 1); /* no temporary file is left */
    }
    ck_assert_int_gt(n, 8);
}
END_TEST

void add_npy_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "npy");
    tcase_add_test(tests, files_of_numpy_are_read);
    tcase_add_test(tests, shapes_of_numpy_are_read);
    tcase_add_test(tests, numpy_writes_the_same_bytes);
    tcase_add_test(tests, every_dtype_shape_and_view_comes_back);
    tcase_add_test(tests, halves_are_those_of_safetensors);
    tcase_add_test(tests, a_file_may_not_be_there);
    tcase_add_test(tests, every_allocation_may_fail);
}
