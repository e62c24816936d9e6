/* Files of the reference implementation are read, and written again as the same bytes; dtypes that
 * Heed does not have. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/common/files_util.h"

#define FIXTURE(name) "tests/fixtures/" name ".safetensors"

/* Read and written again, each file keeps its bytes. */
START_TEST(files_are_the_same_bytes_as_the_references)
{
    heed_safetensors *file = heed_safetensors_open(FIXTURE("plain"));
    const int count = heed_safetensors_count(file);
    heed_tensor *tensors[8];
    const char *names[8];
    ck_assert_int_eq(count, 8);
    for (int i = 0; i < count; i++) {
        names[i] = heed_safetensors_name(file, i);
        tensors[i] = heed_safetensors_tensor(file, names[i]);
    }
    const heed_tensor_list list = {count, tensors, names};
    heed_save_file(list, in_folder("a"), heed_safetensors_all_metadata(file));
    expect_no_error();
    expect_same_files(in_folder("a"), FIXTURE("plain"));
    heed_safetensors_close(file);
}
END_TEST

START_TEST(values_are_the_references)
{
    heed_safetensors *file = heed_safetensors_open(FIXTURE("plain"));
    heed_tensor *f32 = heed_safetensors_tensor(file, "f32");
    const double inf = (double)INFINITY;
    EXPECT_VALUES(f32, 0, 1.5, 0, inf, -inf, 0x1p-149, 0x1.fffffep127);
    ck_assert(signbit(heed_at(f32, HEED_INDEX(0, 1))) && f32->shape[0] == 2);
    EXPECT_VALUES(heed_safetensors_tensor(file, "f64"), 0, 0.1, -1e300);
    heed_tensor *i64 = heed_safetensors_tensor(file, "i64");
    expect_same_bits(i64, heed_from_i64((int64_t[]){INT64_MIN, -1, 0, INT64_MAX}, HEED_SHAPE(4)));
    expect_same_bits(heed_safetensors_tensor(file, "bool"),
                     heed_from_bool((bool[]){true, false, true}, HEED_SHAPE(1, 3)));
    ck_assert_int_eq(heed_safetensors_tensor(file, "scalar")->ndim, 0);
    ck_assert_int_eq(heed_safetensors_tensor(file, "empty")->shape[1], 3);
    EXPECT_VALUES(heed_safetensors_tensor(file, "deep"), 0, 0, 1, 2, 3);
    EXPECT_VALUES(heed_safetensors_tensor(file,
                                          "odd \" \\ / \b \f \n \r \t \x01 \x1f \x7f \xc3\xa9 "
                                          "\xe4\xb8\xad \xf0\x9f\x98\x80"),
                  0, 2);
    ck_assert_str_eq(heed_safetensors_metadata(file, "about \"it\"\n"),
                     "zw\xc3\xb6lf\t\\ \x02 \xf0\x9f\x98\x80");
    heed_safetensors_close(file);
}
END_TEST

/* NaN payloads may differ, since processors make signalling NaNs quiet. */
static void expect_halves(heed_tensor *x, heed_tensor *expected)
{
    expect_no_error();
    ck_assert_int_eq(x->numel, 152);
    for (int64_t i = 0; i < x->numel; i++) {
        const float a = heed_const_data_f32(x)[i], b = heed_const_data_f32(expected)[i];
        ck_assert_msg((isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0, "%lld: %a, not %a",
                      (long long)i, (double)a, (double)b);
    }
}

START_TEST(foreign_dtypes_become_f32_or_an_error)
{
    heed_safetensors *file = heed_safetensors_open(FIXTURE("foreign"));
    ck_assert_int_eq(heed_safetensors_count(file), 9);
    expect_halves(heed_safetensors_tensor(file, "f16"),
                  heed_safetensors_tensor(file, "f16 as f32"));
    expect_halves(heed_safetensors_tensor(file, "bf16"),
                  heed_safetensors_tensor(file, "bf16 as f32"));
    static const struct {
        const char *name, *words;
    } rows[] = {{"u8", "'u8' is U8"}, {"f8", "'f8' is F8_E4M3"}, {"c64", "'c64' is C64"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_ptr_null(heed_safetensors_tensor(file, rows[i].name));
        expect_error(HEED_ERR_DTYPE, rows[i].words);
    }
    ck_assert_ptr_null(heed_safetensors_tensor(file, "nine"));
    expect_error(HEED_ERR_SHAPE, "'nine' has 9 dims; Heed supports up to 8");
    heed_safetensors_close(file);
}
END_TEST

/* Writes all 65536 bit patterns as F16 or BF16, and reads them. */
static heed_tensor *all_halves(const char *dtype)
{
    char header[160];
    const int length =
        snprintf(header, sizeof header,
                 "{\"x\":{\"dtype\":\"%s\",\"shape\":[65536],\"data_offsets\":[0,131072]}}", dtype);
    write_header(in_folder("a"), header, (size_t)length, 131072);
    int fd = open(in_folder("a"), O_WRONLY);
    for (uint32_t i = 0; i < 65536; i += 256) {
        uint16_t some[256];
        for (uint32_t j = 0; j < 256; j++) {
            some[j] = (uint16_t)(i + j);
        }
        ck_assert_int_eq(pwrite(fd, some, sizeof some, 8 + length + (off_t)(2 * i)), sizeof some);
    }
    close(fd);
    return load_one(in_folder("a"), "x");
}

START_TEST(all_halves_have_their_values)
{
    const float *f16 = heed_const_data_f32(all_halves("F16"));
    const float *bf16 = heed_const_data_f32(all_halves("BF16"));
    for (int i = 0; i < 65536; i++) {
        const int sign = i >> 15 != 0 ? -1 : 1, exponent = i >> 10 & 31, fraction = i & 1023;
        const double value =
            exponent > 0 ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        if (exponent == 31) {
            ck_assert(fraction != 0 ? isnan(f16[i]) : isinf(f16[i]) && sign * f16[i] > 0);
        } else {
            ck_assert((double)f16[i] == sign * value && !signbit(f16[i]) == (i < 32768));
        }
        uint32_t bits;
        memcpy(&bits, &bf16[i], sizeof bits);
        ck_assert_uint_eq(bits, (uint32_t)i << 16);
    }
}
END_TEST

START_TEST(any_byte_but_0_is_true)
{
    static const char header[] =
        "{\"x\":{\"dtype\":\"BOOL\",\"shape\":[4],\"data_offsets\":[0,4]}}";
    const size_t size = sizeof header - 1;
    write_header(in_folder("a"), header, size, 4);
    int fd = open(in_folder("a"), O_WRONLY);
    ck_assert_int_eq(pwrite(fd, "\0\1\2\xff", 4, 8 + (off_t)size), 4);
    close(fd);
    expect_same_bits(load_one(in_folder("a"), "x"),
                     heed_from_bool((bool[]){false, true, true, true}, HEED_SHAPE(4)));
}
END_TEST

void add_safetensors_reference_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "reference");
    tcase_add_test(tests, files_are_the_same_bytes_as_the_references);
    tcase_add_test(tests, values_are_the_references);
    tcase_add_test(tests, foreign_dtypes_become_f32_or_an_error);
    tcase_add_test(tests, all_halves_have_their_values);
    tcase_add_test(tests, any_byte_but_0_is_true);
}
