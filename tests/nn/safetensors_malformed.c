/* Malformed files: each is rejected safely, with an error that names the file and the fault. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/common/files_util.h"

/* ---- headers ---- */

#define X(rest)           "{\"x\":{" rest "}}"
#define DTYPE             "\"dtype\":\"F32\""
#define SHAPE             "\"shape\":[2]"
#define OFFSETS           "\"data_offsets\":[0,8]"
#define GOOD              "{" DTYPE "," SHAPE "," OFFSETS "}"
#define AT(from, to)      "{" DTYPE "," SHAPE ",\"data_offsets\":[" #from "," #to "]}"
#define OF(shape, offset) X(DTYPE ",\"shape\":[" shape "],\"data_offsets\":[0," offset "]")

/* clang-format off */
static const struct refused_header {
    const char *header;
    size_t data; /* bytes after it */
    const char *words;
} rows[] = {
    /* not an object */
    {"", 0, "file: at byte 0 of the header: { is expected; save it with the safetensors library"},
    {"{", 0, "at byte 1 of the header: \" is expected"},
    {"{}}", 0, "at byte 2 of the header: the end is expected"},
    {"{}{\"x\":" GOOD "}", 8, "the end is expected"},
    {"{1:2}", 0, "\" is expected"},
    {"{\"x\"}", 0, "at byte 4 of the header: : is expected"},
    {"{\"x\":" GOOD ",}", 8, "\" is expected"},
    {"{\"x\":" GOOD, 8, "file: at byte 53 of the header: , is expected"},
    /* strings */
    {"{\"x", 0, "a string without control characters"},
    {"{\"x\\", 0, "another escape sequence"},
    {"{\"x\n\":1}", 0, "a string without control characters"},
    {"{\"\\a\":1}", 0, "another escape sequence"},
    {"{\"\\u00+1\":1}", 0, "another escape sequence"},
    {"{\"\\u004g\":1}", 0, "another escape sequence"},
    {"{\"\\u001\":1}", 0, "another escape sequence"},
    {"{\"\\u00", 0, "another escape sequence"},
    {"{\"\\u0000\":1}", 0, "another escape sequence"},
    {"{\"\\u0080\":1}", 0, "another escape sequence"},
    {"{\"\xff\":1}", 0, "valid UTF-8"},
    {"{\"\x80\":1}", 0, "valid UTF-8"},
    {"{\"\xc0\x80\":1}", 0, "valid UTF-8"},
    {"{\"\xc1\xbf\":1}", 0, "valid UTF-8"},
    {"{\"\xc3\":1}", 0, "valid UTF-8"},
    {"{\"\xe0\x9f\xbf\":1}", 0, "valid UTF-8"},
    {"{\"\xe4\xb8\":1}", 0, "valid UTF-8"},
    {"{\"\xed\xa0\x80\":1}", 0, "valid UTF-8"},
    {"{\"\xf0\x8f\xbf\xbf\":1}", 0, "valid UTF-8"},
    {"{\"\xf4\x90\x80\x80\":1}", 0, "valid UTF-8"},
    {"{\"\xf5\x80\x80\x80\":1}", 0, "valid UTF-8"},
    {"{\"\xf0\x9f\x98", 0, "a string without control characters"},
    /* members of a tensor */
    {"{\"x\":1}", 0, "at byte 5 of the header: {\"dtype\": is expected"},
    {X(SHAPE "," OFFSETS), 8, "{\"dtype\": is expected"},
    {X(DTYPE "," OFFSETS), 8, ",\"shape\": is expected"},
    {X(DTYPE "," SHAPE), 8, ",\"data_offsets\": is expected"},
    {X(DTYPE "," SHAPE "," OFFSETS ","), 8, "at byte 52 of the header: } is expected"},
    {X(DTYPE "," SHAPE "," OFFSETS ",\"strides\":[1]"), 8, "} is expected"},
    {X("\"dtype\":\"F128\"," SHAPE "," OFFSETS), 8, "'x' has dtype 'F128', which Heed does not read"},
    {X("\"dtype\":\"f32\"," SHAPE "," OFFSETS), 8, "'x' has dtype 'f32'"},
    {X("\"dtype\":32," SHAPE "," OFFSETS), 8, "at byte 14 of the header: \" is expected"},
    /* numbers */
    {OF("-2", "8"), 8, "at byte 29 of the header: a list of up to 8 whole numbers below 2^63 is expected"},
    {OF("2.0", "8"), 8, ", is expected"},
    {OF("\"2\"", "8"), 8, "a list of up to 8 whole numbers"},
    {OF("2,", "8"), 8, "a list of up to 8 whole numbers"},
    {OF("1,1,1,1,1,1,1,1,2", "8"), 8, "a list of up to 8 whole numbers"},
    {OF("9223372036854775808", "8"), 8, "a list of up to 8 whole numbers below 2^63"},
    {X(DTYPE ",\"shape\":2," OFFSETS), 8, "at byte 28 of the header: [ is expected"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[]"), 8, "'x', (2) of F32 after 0 bytes, has data_offsets [-1, -1]"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[0]"), 8, "has data_offsets [0, -1]"},
    /* sizes */
    {OF("3", "8"), 8, "'x', (3) of F32 after 0 bytes, has data_offsets [0, 8]"},
    {OF("", "8"), 8, "'x', () of F32 after 0 bytes, has data_offsets [0, 8]"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[8,0]"), 8, "has data_offsets [8, 0]"},
    {OF("0,9223372036854775807", "0"), 0, "'x', (0, 9223372036854775807) of F32 after 0 bytes"},
    {OF("9223372036854775807,4,0", "0"), 0, "'x', (9223372036854775807, 4, 0) of F32 after 0 bytes"},
    {"{\"x\":" GOOD ",\"y\":{" DTYPE ",\"shape\":[2305843009213693951],\"data_offsets\":[8,4]}}", 8,
     "'y', (2305843009213693951) of F32 after 8 bytes"},
    {OF("288230376151711744", "1152921504606846976"), 8,
     "its tensors take up 1152921504606846976 bytes, but 8 follow the header"},
    /* all tensors together */
    {"{\"x\":" GOOD "}", 7, "file: its tensors take up 8 bytes, but 7 follow the header"},
    {"{\"x\":" GOOD "}", 9, "file: its tensors take up 8 bytes, but 9 follow the header"},
    {"{}", 1, "its tensors take up 0 bytes, but 1 follow"},
    {"{\"x\":" AT(4, 12) "}", 12, "'x', (2) of F32 after 0 bytes, has data_offsets [4, 12]"},
    {"{\"x\":" GOOD ",\"y\":" AT(4, 12) "}", 12, "'y', (2) of F32 after 8 bytes, has data_offsets [4, 12]"},
    {"{\"x\":" GOOD ",\"y\":{" DTYPE ",\"shape\":[0],\"data_offsets\":[4,4]}}", 8, "'y', (0) of F32 after 8 bytes"},
    {"{\"x\":" GOOD ",\"x\":" AT(8, 16) "}", 16, "'x' appears twice"},
    {"{\"x\":" GOOD ",\"y\":" AT(8, 16) ",\"\\u0078\":" AT(16, 24) "}", 24, "'x' appears twice"},
    /* metadata */
    {"{\"__metadata__\":\"x\"}", 0, "at byte 16 of the header: { is expected"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "at byte 21 of the header: \" is expected"},
    {"{\"__metadata__\":{\"a\"}}", 0, ": is expected"},
    {"{\"__metadata__\":{\"a\":\"b\",}}", 0, "\" is expected"},
    {"{\"__metadata__\":" GOOD "}", 8, "at byte 39 of the header: \" is expected"},
};
/* clang-format on */

/* The error names the function and the file. */
static void expect_refusal(const char *words)
{
    char start[600];
    snprintf(start, sizeof start, "safetensors_open: %s: ", in_folder("file"));
    ck_assert_msg(heed_safetensors_open(in_folder("file")) == NULL, "not refused: %s", words);
    ck_assert_int_eq(strncmp(heed_error_message(), start, strlen(start)), 0);
    expect_error(HEED_ERR_FORMAT, words);
}

START_TEST(is_refused)
{
    const struct refused_header *r = &rows[_i];
    const int64_t bytes = heed_live_bytes();
    write_header(in_folder("file"), r->header, strlen(r->header), r->data);
    expect_refusal(r->words);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

/* NUL bytes inside the header. */
START_TEST(zeros_are_refused)
{
    write_header(in_folder("file"), "{}\0\0", 4, 0);
    expect_refusal("at byte 2 of the header: the end is expected");
    write_header(in_folder("file"), "{\"a\0b\":1}", 9, 0);
    expect_refusal("a string without control characters is expected");
    write_header(in_folder("file"), "{\"\\\0\":1}", 8, 0);
    expect_refusal("another escape sequence is expected");
}
END_TEST

/* ---- the header length ---- */

START_TEST(lengths_are_refused)
{
    static const struct {
        uint64_t length;
        const char *words;
    } lengths[] = {
        {3, "it has 10 bytes, its header 3; is it a safetensors file?"},
        {100000001, "its header 100000001; is it a safetensors file?"},
        {INT64_MAX, "its header 9223372036854775807; is it a safetensors file?"},
        {UINT64_MAX, "its header 18446744073709551615; is it a safetensors file?"},
    };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char bytes[10] = "........{}";
        memcpy(bytes, &lengths[i].length, 8); /* little-endian */
        write_bytes(in_folder("file"), bytes, sizeof bytes);
        expect_refusal(lengths[i].words);
    }
    static const char *const of_torch[] = {"PK\3\4\0\0\x8\x8", "\x80\2}q\0(X\5"};
    for (int i = 0; i < 2; i++) { /* a zip file, and the pickle of older versions */
        write_bytes(in_folder("file"), of_torch[i], 9);
        expect_refusal("; torch.save wrote it? Heed reads safetensors.torch.save_file's");
    }
    for (size_t size = 0; size < 8; size++) {
        write_bytes(in_folder("file"), "\2\0\0\0\0\0\0\0{}", size);
        expect_refusal(" bytes, its header 0; is it a safetensors file?");
    }
}
END_TEST

/* A header of 100 MB, the maximum, in a sparse file; and one byte more. */
START_TEST(the_longest_header_is_read)
{
    for (uint64_t length = 100000000; length <= 100000001; length++) {
        write_bytes(in_folder("file"), &length, sizeof length);
        ck_assert_int_eq(truncate(in_folder("file"), 8 + (off_t)length), 0);
        expect_refusal(length == 100000000 ? "at byte 0 of the header: { is expected"
                                           : "is it a safetensors file?");
    }
}
END_TEST

/* ---- a valid file, truncated and damaged ---- */

static char *make_valid(size_t *size)
{
    heed_tensor *tensors[] = {heed_arange(0, 6, 1, HEED_F32),
                              heed_ones(HEED_SHAPE(2, 1), HEED_BOOL), heed_scalar(3, HEED_I64)};
    const char *names[] = {"W", "\xc3\xa9\n", "n"};
    const heed_metadata about[] = {{"k", "v\""}, {NULL, NULL}};
    heed_save_file((heed_tensor_list){3, tensors, names}, in_folder("file"), about);
    expect_no_error();
    return read_bytes(in_folder("file"), size);
}

START_TEST(every_prefix_is_refused)
{
    size_t size;
    free(make_valid(&size));
    while (size > 0) {
        size--;
        ck_assert_int_eq(truncate(in_folder("file"), (off_t)size), 0);
        expect_refusal("");
    }
}
END_TEST

/* Opens the file and reads all tensors: it is valid, or gives an error, and is always safe. */
static bool try_file(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_safetensors *file = heed_safetensors_open(in_folder("file"));
    const int count = heed_safetensors_count(file);
    for (int i = 0; i < count; i++) {
        ck_assert_ptr_nonnull(heed_safetensors_tensor(file, heed_safetensors_name(file, i)));
    }
    heed_safetensors_close(file);
    const heed_status status = heed_error();
    ck_assert(status == (file != NULL ? HEED_OK : HEED_ERR_FORMAT));
    heed_scope_end(&scope);
    return status == HEED_OK;
}

/* Each bit in turn. */
START_TEST(every_damaged_byte_is_an_error_or_a_tensor)
{
    size_t size;
    int taken = 0;
    char *bytes = make_valid(&size);
    for (size_t i = 0; i < 8 * size; i++) {
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        write_bytes(in_folder("file"), bytes, size);
        taken += try_file();
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
    }
    free(bytes);
    ck_assert_int_gt(taken, 34 * 8); /* all of the data, and letters of names */
    ck_assert_int_gt((int)size * 8 - taken, 100 * 8);
}
END_TEST

void add_safetensors_malformed_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "malformed");
    tcase_add_loop_test(tests, is_refused, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tests, zeros_are_refused);
    tcase_add_test(tests, lengths_are_refused);
    tcase_add_test(tests, the_longest_header_is_read);
    tcase_add_test(tests, every_prefix_is_refused);
    tcase_add_test(tests, every_damaged_byte_is_an_error_or_a_tensor);
}
