/* Tensor files: tensors survive a round trip bit for bit, and metadata unchanged. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/files_util.h"

/* ---- a file of the reference implementation ---- */

/* It has the values that make_safetensors.py gave it; written again, it keeps its bytes. */
START_TEST(a_file_of_the_reference)
{
    static const char plain[] = "tests/fixtures/plain.safetensors", key[] = "about \"it\"\n";
    static const char odd[] = "odd \" \\ / \b \f \n \r \t \x01 \x1f \x7f \xc3\xa9 \xe4\xb8\xad "
                              "\xf0\x9f\x98\x80";
    const double inf = (double)INFINITY;
    heed_safetensors *file = heed_safetensors_open(plain);
    EXPECT_VALUES(heed_safetensors_tensor(file, "f32"), 0, 1.5, 0, inf, -inf, 0x1p-149,
                  0x1.fffffep127);
    EXPECT_VALUES(heed_safetensors_tensor(file, "f64"), 0, 0.1, -1e300);
    expect_same_bits(heed_safetensors_tensor(file, "i64"),
                     heed_from_i64((int64_t[]){INT64_MIN, -1, 0, INT64_MAX}, HEED_SHAPE(4)));
    expect_same_bits(heed_safetensors_tensor(file, "bool"),
                     heed_from_bool((bool[]){true, false, true}, HEED_SHAPE(1, 3)));
    EXPECT_VALUES(heed_safetensors_tensor(file, odd), 0, 2);
    ck_assert_str_eq(heed_safetensors_metadata(file, key),
                     "zw\xc3\xb6lf\t\\ \x02 \xf0\x9f\x98\x80");
    heed_tensor *tensors[8];
    const char *names[8];
    ck_assert_int_eq(heed_safetensors_count(file), 8);
    for (int i = 0; i < 8; i++) {
        names[i] = heed_safetensors_name(file, i);
        tensors[i] = heed_safetensors_tensor(file, names[i]);
        ck_assert(i == 0 || strcmp(names[i - 1], names[i]) < 0); /* sorted */
    }
    const heed_metadata about[] = {{key, heed_safetensors_metadata(file, key)}, {NULL, NULL}};
    heed_save_file((heed_tensor_list){8, tensors, names}, in_folder("a"), about);
    expect_no_error();
    expect_same_files(in_folder("a"), plain);
    heed_safetensors_close(file);
}
END_TEST

/* ---- round trips ---- */

/* Elements with varied bit patterns, including NaN and -0. */
static heed_tensor *of_all_bits(heed_shape shape, heed_dtype dtype)
{
    heed_tensor *x = heed_empty(shape, dtype);
    uint64_t state = 1;
    for (int64_t i = 0; i < x->numel; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint64_t bits = i % 5 == 0 ? UINT64_C(0x8000000080000000) >> i % 3 : state;
        const size_t size = heed_dtype_size(dtype);
        const uint64_t element = dtype == HEED_BOOL ? bits >> 40 & 1 : bits >> (64 - 8 * size);
        memcpy((char *)x->data + (size_t)i * size, &element, size); /* little-endian */
    }
    return x;
}

static void there_and_back(heed_tensor *x)
{
    const uint32_t version = x->storage->version;
    save_one(in_folder("a"), x);
    heed_tensor *y = load_one(in_folder("a"), "x");
    expect_same_bits(y, x);
    ck_assert(heed_is_contiguous(y) && !y->requires_grad && y->storage != x->storage);
    ck_assert_uint_eq(x->storage->version, version);
}

START_TEST(every_dtype_shape_and_view_comes_back)
{
    const heed_shape shapes[] = {HEED_SCALAR, HEED_SHAPE(0), HEED_SHAPE(3, 0, 2),
                                 HEED_SHAPE(1, 2, 1, 2, 1, 1, 2, 3)};
    const heed_dtype dtype = (heed_dtype)_i;
    for (int i = 0; i < 4; i++) {
        there_and_back(of_all_bits(shapes[i], dtype));
    }
    heed_tensor *x = of_all_bits(HEED_SHAPE(4, 6), dtype);
    there_and_back(heed_transpose(x, 0, 1));
    there_and_back(heed_slice(x, 0, 1, 3, 1));
    there_and_back(heed_expand(heed_slice(x, 0, 1, 2, 1), HEED_SHAPE(3, 5, 6)));
    heed_tensor *w = heed_set_requires_grad(heed_ones(HEED_SHAPE(2, 3), HEED_F32), true);
    there_and_back(w);
    there_and_back(heed_transpose(heed_exp(w), 0, 1)); /* with a graph */
}
END_TEST

START_TEST(an_empty_list_is_a_file)
{
    static const char bytes[16] = "\x08\0\0\0\0\0\0\0{}      "; /* as the reference writes it */
    write_bytes(in_folder("b"), bytes, sizeof bytes);
    ck_assert_int_eq(heed_save_file((heed_tensor_list){0}, in_folder("a"), NULL), HEED_OK);
    expect_same_files(in_folder("a"), in_folder("b"));
    heed_safetensors *file = heed_safetensors_open(in_folder("a"));
    ck_assert_int_eq(heed_safetensors_count(file), 0);
    ck_assert_ptr_null(heed_safetensors_metadata(file, "a"));
    heed_safetensors_close(file);
}
END_TEST

static void *save_in_a_thread(void *x)
{
    save_one(in_folder("a"), x); /* this thread has no open scope */
    return NULL;
}

START_TEST(saving_needs_no_scope)
{
    pthread_t thread;
    heed_tensor *x = heed_transpose(heed_ones(HEED_SHAPE(2, 3), HEED_F32), 0, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, save_in_a_thread, x), 0);
    pthread_join(thread, NULL);
    expect_same_bits(load_one(in_folder("a"), "x"), x);
}
END_TEST

/* ---- metadata ---- */

static void expect_metadata(const heed_metadata *pairs)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_F32);
    const heed_tensor_list one = {1, &x, &(const char *){"x"}};
    ck_assert_int_eq(heed_save_file(one, in_folder("a"), pairs), HEED_OK);
    expect_same_bits(load_one(in_folder("a"), "x"), x);
    heed_safetensors *file = heed_safetensors_open(in_folder("a"));
    for (; pairs->key != NULL; pairs++) {
        const char *value = heed_safetensors_metadata(file, pairs->key);
        ck_assert_ptr_nonnull(value);
        ck_assert_str_eq(value, pairs->value);
    }
    heed_safetensors_close(file);
}

START_TEST(metadata_comes_back)
{
    char ascii[128] = "";
    for (int c = 1; c < 128; c++) {
        ascii[c - 1] = (char)c;
    }
    expect_metadata((heed_metadata[]){{NULL, NULL}});
    expect_metadata((heed_metadata[]){{"z", ascii}, {ascii, ""}, {"", "\\\\\"\""}, {NULL, NULL}});
    expect_metadata((heed_metadata[]){
        {"\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf", "two and three"},
        {"\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf \xf0\x9f\x98\x80", "four"},
        {"\\u0041", "/ \\/ \\n"},
        {NULL, NULL}});
}
END_TEST

START_TEST(headers_have_an_end)
{
    enum { SIZE = 16700000 }; /* each takes six characters */
    char *text = malloc(SIZE + 1);
    memset(text, 1, SIZE);
    text[SIZE] = '\0';
    const heed_metadata about[] = {{"long", text}, {NULL, NULL}};
    ck_assert_int_eq(heed_save_file((heed_tensor_list){0}, in_folder("a"), about), HEED_ERR_FILE);
    expect_error(HEED_ERR_FILE, "cannot write it: File too large");
    ck_assert_int_eq(files_in_folder(), 0);
    free(text);
    heed_empty_cache();
}
END_TEST

/* ---- what other writers may choose ---- */

START_TEST(spaces_and_escapes_are_read)
{
    static const char header[] =
        "{ \"__metadata__\" :\n{\"\\u007f\\u0001\\u004A\" : \"\\\"\\\\/\\b\\f\\n\\r\\t\" } \t,\r\n"
        "\"\\u0078\": {\"dtype\":\"F\\u00364\" , \"shape\":[ ] ,\"data_offsets\" : [ 0 , 8 ] "
        "} "
        "}  \n";
    write_header(in_folder("a"), header, sizeof header - 1, 8);
    EXPECT_VALUES(load_one(in_folder("a"), "x"), 0, 0);
    heed_safetensors *file = heed_safetensors_open(in_folder("a"));
    ck_assert_str_eq(heed_safetensors_metadata(file, "\x7f\x01J"), "\"\\/\b\f\n\r\t");
    heed_safetensors_close(file);
}
END_TEST

/* Any byte but 0 is true. */
START_TEST(foreign_truth_is_read)
{
    static const char header[] =
        "{\"b\":{\"dtype\":\"BOOL\",\"shape\":[4],\"data_offsets\":[0,4]}}";
    write_header(in_folder("a"), header, strlen(header), 0);
    FILE *file = fopen(in_folder("a"), "ab");
    ck_assert_uint_eq(fwrite("\0\1\2\xff", 1, 4, file), 4);
    fclose(file);
    expect_same_bits(load_one(in_folder("a"), "b"),
                     heed_from_bool((bool[]){false, true, true, true}, HEED_SHAPE(4)));
}
END_TEST

START_TEST(names_and_paths_are_shown_in_part)
{
    char path[3000] = "/tmp/", name[2000] = "\x1b[2J\x7f\xc2\x85";
    memset(path + strlen(path), 'p', 2000);
    memset(name + strlen(name), 'n', 1500);
    ck_assert_ptr_null(heed_safetensors_open(path));
    expect_error(HEED_ERR_FILE, "safetensors_open: ...ppppp");
    ck_assert_ptr_null(heed_safetensors_open("/tmp/\x1b[31m\xc2\x9b\xc3\xa9"));
    expect_error(HEED_ERR_FILE, "/tmp/?[31m??\xc3\xa9: cannot open");
    ck_assert_ptr_null(load_one("tests/fixtures/attention.safetensors", name));
    expect_error(HEED_ERR_VALUE, "no tensor '?[2J???nnnnn");
}
END_TEST

START_TEST(the_name_of_the_metadata_is_reserved)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_F32);
    heed_save_file((heed_tensor_list){1, &x, &(const char *){"__metadata__"}}, in_folder("a"),
                   NULL);
    expect_error(HEED_ERR_VALUE, "/a: the name '__metadata__' is reserved");
}
END_TEST

void add_safetensors_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "safetensors");
    tcase_add_test(tests, a_file_of_the_reference);
    tcase_add_loop_test(tests, every_dtype_shape_and_view_comes_back, HEED_F32, HEED_DTYPES);
    tcase_add_test(tests, an_empty_list_is_a_file);
    tcase_add_test(tests, saving_needs_no_scope);
    tcase_add_test(tests, metadata_comes_back);
    tcase_add_test(tests, headers_have_an_end);
    tcase_add_test(tests, spaces_and_escapes_are_read);
    tcase_add_test(tests, foreign_truth_is_read);
    tcase_add_test(tests, names_and_paths_are_shown_in_part);
    tcase_add_test(tests, the_name_of_the_metadata_is_reserved);
}
