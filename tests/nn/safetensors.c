/* Tensor files: tensors survive a round trip bit for bit, and metadata unchanged; file system
 * errors. */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/common/files_util.h"

/* ---- a file of the reference implementation ---- */

static const char plain[] = "tests/fixtures/plain.safetensors";

/* Read and written again, each file keeps its bytes. */
START_TEST(files_are_the_same_bytes_as_the_references)
{
    heed_safetensors *file = heed_safetensors_open(plain);
    const int count = heed_safetensors_count(file);
    heed_tensor *tensors[8];
    const char *names[8];
    ck_assert_int_eq(count, 8);
    for (int i = 0; i < count; i++) {
        names[i] = heed_safetensors_name(file, i);
        tensors[i] = heed_safetensors_tensor(file, names[i]);
    }
    const heed_tensor_list list = {count, tensors, names};
    static const char key[] = "about \"it\"\n";
    const heed_metadata about[] = {{key, heed_safetensors_metadata(file, key)}, {NULL, NULL}};
    heed_save_file(list, in_folder("a"), about);
    expect_no_error();
    expect_same_files(in_folder("a"), plain);
    heed_safetensors_close(file);
}
END_TEST

START_TEST(values_are_the_references)
{
    heed_safetensors *file = heed_safetensors_open(plain);
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

/* ---- round trips ---- */

static void there_and_back(heed_tensor *x)
{
    const uint32_t version = x->storage->version;
    save_one(in_folder("a"), x);
    heed_tensor *y = load_one(in_folder("a"), "x");
    expect_same_bits(y, x);
    ck_assert(heed_is_contiguous(y) && !y->requires_grad && y->storage != x->storage);
    ck_assert_uint_eq(x->storage->version, version);
}

START_TEST(every_dtype_and_shape_comes_back)
{
    const heed_shape shapes[] = {HEED_SCALAR,           HEED_SHAPE(1),
                                 HEED_SHAPE(5),         HEED_SHAPE(0),
                                 HEED_SHAPE(2, 3),      HEED_SHAPE(3, 0, 2),
                                 HEED_SHAPE(40, 30, 3), HEED_SHAPE(1, 2, 1, 2, 1, 1, 2, 3)};
    for (int dtype = HEED_F32; dtype < HEED_DTYPES; dtype++) {
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            there_and_back(of_all_bits(shapes[i], (heed_dtype)dtype));
        }
    }
    ck_assert_int_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(every_view_comes_back)
{
    for (int dtype = HEED_F32; dtype < HEED_DTYPES; dtype++) {
        heed_tensor *x = of_all_bits(HEED_SHAPE(4, 6), (heed_dtype)dtype);
        there_and_back(heed_transpose(x, 0, 1));
        there_and_back(heed_slice(x, 1, 1, 6, 2));
        there_and_back(heed_slice(x, 0, 1, 3, 1));
        there_and_back(heed_slice(x, 0, 2, 2, 1));
        there_and_back(heed_expand(heed_slice(x, 0, 1, 2, 1), HEED_SHAPE(3, 5, 6)));
        there_and_back(heed_transpose(heed_reshape(x, HEED_SHAPE(2, 2, 3, 2)), 1, -1));
    }
    heed_tensor *w = heed_set_requires_grad(heed_ones(HEED_SHAPE(2, 3), HEED_F32), true);
    there_and_back(w);
    there_and_back(heed_transpose(heed_exp(w), 0, 1)); /* with a graph */
    ck_assert_int_eq(heed_backward(heed_sum(w)), HEED_OK);
}
END_TEST

START_TEST(many_tensors_keep_their_names)
{
    enum { COUNT = 300 };
    heed_tensor *tensors[COUNT];
    char text[COUNT][24];
    const char *names[COUNT];
    for (int i = 0; i < COUNT; i++) {
        tensors[i] = of_all_bits(HEED_SHAPE(i % 4, 3), (heed_dtype)(i * 7 / 3 % HEED_DTYPES));
        snprintf(text[i], sizeof *text, "layers.%d.weight", i * 77 % COUNT);
        names[i] = text[i];
    }
    heed_save_file((heed_tensor_list){COUNT, tensors, names}, in_folder("a"), NULL);
    heed_safetensors *file = heed_safetensors_open(in_folder("a"));
    ck_assert_int_eq(heed_safetensors_count(file), COUNT);
    for (int i = 0; i < COUNT; i++) {
        expect_same_bits(heed_safetensors_tensor(file, names[i]), tensors[i]);
        ck_assert(i == 0 || strcmp(heed_safetensors_name(file, i - 1),
                                   heed_safetensors_name(file, i)) < 0); /* sorted */
    }
    heed_safetensors_close(file);
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
    expect_no_error();
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
    ck_assert_int_eq(heed_save_file((heed_tensor_list){0}, in_folder("a"), pairs), HEED_OK);
    heed_safetensors *file = heed_safetensors_open(in_folder("a"));
    expect_no_error();
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
    expect_metadata((heed_metadata[]){{"level", "char"}, {NULL, NULL}});
    expect_metadata((heed_metadata[]){{"z", ascii}, {ascii, ""}, {"", "\\\\\"\""}, {NULL, NULL}});
    expect_metadata((heed_metadata[]){
        {"\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf", "two and three"},
        {"\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf \xf0\x9f\x98\x80", "four"},
        {"dtype", "{\"shape\":[1,2]}"},
        {"\\u0041", "/ \\/ \\n"},
        {NULL, NULL}});
    heed_metadata many[501] = {{NULL, NULL}};
    char keys[500][8];
    for (int i = 0; i < 500; i++) {
        snprintf(keys[i], sizeof *keys, "%d", i * 7 % 500);
        many[i] = (heed_metadata){keys[i], keys[499 - i]};
    }
    expect_metadata(many);
}
END_TEST

START_TEST(metadata_may_be_megabytes)
{
    enum { SIZE = 5000000 };
    static const char *const pieces[] = {"the ", "\"", "\n", "\xe4\xb8\xad", "\xf0\x9f\x98\x80",
                                         "\x01"};
    char *text = malloc(SIZE + 8);
    size_t length = 0;
    for (int i = 0; length < SIZE; i++) {
        strcpy(text + length, pieces[i * 5 / 3 % 6]);
        length += strlen(text + length);
    }
    expect_metadata((heed_metadata[]){{"vocabulary", text}, {"a", text + 8}, {NULL, NULL}});
    free(text);
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

/* Forms that other writers may choose. */
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
    const off_t data = 8 + (off_t)strlen(header);
    write_header(in_folder("a"), header, strlen(header), 4);
    const int fd = open(in_folder("a"), O_WRONLY);
    ck_assert_int_eq(pwrite(fd, "\0\1\2\xff", 4, data), 4);
    close(fd);
    expect_same_bits(load_one(in_folder("a"), "b"),
                     heed_from_bool((bool[]){false, true, true, true}, HEED_SHAPE(4)));
}
END_TEST

/* ---- file system errors ---- */

START_TEST(a_file_may_not_be_there)
{
    ck_assert_ptr_null(heed_safetensors_open(in_folder("none")));
    expect_error(HEED_ERR_FILE, "none: cannot open it: No such file or directory");
    ck_assert_ptr_null(heed_safetensors_open(""));
    expect_error(HEED_ERR_FILE, "safetensors_open: : cannot open it: No such file");
    ck_assert_ptr_null(heed_safetensors_open("/tmp"));
    expect_error(HEED_ERR_FILE, "safetensors_open: /tmp: it is not a regular file");
    ck_assert_ptr_null(heed_safetensors_open("/dev/zero"));
    expect_error(HEED_ERR_FILE, "/dev/zero: it is not a regular file");
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0); /* no process writes into it */
    ck_assert_ptr_null(heed_safetensors_open(in_folder("pipe")));
    expect_error(HEED_ERR_FILE, "pipe: it is not a regular file");
    save_one(in_folder("a"), heed_ones(HEED_SHAPE(2), HEED_F32));
    chmod(in_folder("a"), 0);
    become_nobody();
    ck_assert_ptr_null(heed_safetensors_open(in_folder("a")));
    expect_error(HEED_ERR_FILE, "a: cannot open it: Permission denied");
}
END_TEST

START_TEST(a_file_may_become_shorter)
{
    save_one(in_folder("file"), heed_ones(HEED_SHAPE(3000), HEED_F32));
    heed_safetensors *file = heed_safetensors_open(in_folder("file"));
    ck_assert_int_eq(truncate(in_folder("file"), 5000), 0);
    ck_assert_ptr_null(heed_safetensors_tensor(file, "x"));
    expect_error_of_file(HEED_ERR_FILE, "safetensors_tensor",
                         "cannot read it: it has become shorter");
    heed_safetensors_close(file);
}
END_TEST

START_TEST(names_and_paths_are_shown_in_part)
{
    char path[3000] = "/tmp/\x1b[31m\xc2\x9b/", name[2000] = "\x1b[2J\x7f\xc2\x85";
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

START_TEST(every_allocation_may_fail)
{
    heed_tensor *xs[] = {of_all_bits(HEED_SHAPE(7, 9), HEED_F32),
                         heed_transpose(of_all_bits(HEED_SHAPE(30, 9), HEED_I64), 0, 1)};
    const char *names[] = {"a", "b"};
    const heed_metadata about[] = {{"one", "1"}, {"two", "2"}, {NULL, NULL}};
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    int n = 0;
    for (heed_status status = HEED_ERR_MEMORY; status == HEED_ERR_MEMORY; n++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_fail_allocation(n);
        heed_save_file((heed_tensor_list){2, xs, names}, in_folder("x"), about);
        heed_safetensors *file = heed_safetensors_open(in_folder("x"));
        heed_tensor *a = heed_safetensors_tensor(file, "a");
        heed_tensor *b = heed_safetensors_tensor(file, "b");
        heed_fail_allocation(-1);
        heed_safetensors_close(file);
        status = heed_error();
        if (status == HEED_OK) {
            expect_same_bits(a, xs[0]);
            expect_same_bits(b, xs[1]);
        }
        ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
        ck_assert_int_eq(heed_live_tensors(), tensors);
        ck_assert_int_eq(heed_live_bytes(), bytes);
        ck_assert_int_le(files_in_folder(), 1); /* no temporary file is left */
    }
    ck_assert_int_gt(n, 10);
}
END_TEST

void add_safetensors_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "safetensors");
    tcase_add_test(tests, files_are_the_same_bytes_as_the_references);
    tcase_add_test(tests, values_are_the_references);
    tcase_add_test(tests, every_dtype_and_shape_comes_back);
    tcase_add_test(tests, every_view_comes_back);
    tcase_add_test(tests, many_tensors_keep_their_names);
    tcase_add_test(tests, an_empty_list_is_a_file);
    tcase_add_test(tests, saving_needs_no_scope);
    tcase_add_test(tests, metadata_comes_back);
    tcase_add_test(tests, metadata_may_be_megabytes);
    tcase_add_test(tests, headers_have_an_end);
    tcase_add_test(tests, spaces_and_escapes_are_read);
    tcase_add_test(tests, foreign_truth_is_read);
    tcase_add_test(tests, a_file_may_not_be_there);
    tcase_add_test(tests, a_file_may_become_shorter);
    tcase_add_test(tests, names_and_paths_are_shown_in_part);
    tcase_add_test(tests, every_allocation_may_fail);
}
