/* Malformed files: each is rejected safely, with an error that names the file and the fault. */
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
static const refused_header rows[] = {
    /* not an object */
    {"", 0, "file: at byte 0 of the header: { is expected; save it with the safetensors library"},
    {"[]", 0, "{ is expected"},
    {"\xef\xbb\xbf{}", 0, "at byte 0 of the header: { is expected"},
    {"{", 0, "at byte 1 of the header: \" is expected"},
    {"{}}", 0, "at byte 2 of the header: the end is expected"},
    {"{}\f", 0, "the end is expected"},
    {"{}{\"x\":" GOOD "}", 8, "the end is expected"},
    {"{1:2}", 0, "\" is expected"},
    {"{'x':1}", 0, "\" is expected"},
    {"{/**/}", 0, "\" is expected"},
    {"{,}", 0, "\" is expected"},
    {"{\"x\"}", 0, "at byte 4 of the header: : is expected"},
    {"{\"x\":" GOOD ",}", 8, "\" is expected"},
    {"{\"x\":" GOOD, 8, "file: at byte 53 of the header: , is expected"},
    {"{\"x\":" GOOD " \"y\":" GOOD "}", 8, ", is expected"},
    /* strings */
    {"{\"x", 0, "a string without control characters"},
    {"{\"x\\", 0, "another escape sequence"},
    {"{\"x\\\"", 0, "a string without control characters"},
    {"{\"x\n\":1}", 0, "a string without control characters"},
    {"{\"x\t\":1}", 0, "a string without control characters"},
    {"{\"\\x41\":1}", 0, "another escape sequence"},
    {"{\"\\a\":1}", 0, "another escape sequence"},
    {"{\"\\u00g4\":1}", 0, "another escape sequence"},
    {"{\"\\u00\":1}", 0, "another escape sequence"},
    {"{\"\\u001\":1}", 0, "another escape sequence"},
    {"{\"\\u00+1\":1}", 0, "another escape sequence"},
    {"{\"\\u00 1\":1}", 0, "another escape sequence"},
    {"{\"\\u", 0, "another escape sequence"},
    {"{\"\\u00", 0, "another escape sequence"},
    {"{\"\\u0000\":1}", 0, "another escape sequence"},
    {"{\"\\u0080\":1}", 0, "another escape sequence"},
    {"{\"\\u0141\":1}", 0, "another escape sequence"},
    {"{\"\\ud800\\udc00\":1}", 0, "another escape sequence"},
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
    {"{\"x\":" GOOD "\xc3\xa9}", 8, ", is expected"},
    /* members of a tensor */
    {"{\"x\":1}", 0, "at byte 5 of the header: {\"dtype\": is expected"},
    {"{\"x\":null}", 0, "at byte 5 of the header: {\"dtype\": is expected"},
    {"{\"x\":[\"F32\",[2],[0,8]]}", 8, "at byte 5 of the header: {\"dtype\": is expected"},
    {X(""), 0, "{\"dtype\": is expected"},
    {X(SHAPE "," OFFSETS), 8, "{\"dtype\": is expected"},
    {X(DTYPE "," OFFSETS), 8, ",\"shape\": is expected"},
    {X(DTYPE "," OFFSETS "," SHAPE), 8, ",\"shape\": is expected"},
    {X(DTYPE "," SHAPE), 8, ",\"data_offsets\": is expected"},
    {X(DTYPE "," SHAPE "," OFFSETS ","), 8, "at byte 52 of the header: } is expected"},
    {X(DTYPE "," DTYPE "," SHAPE "," OFFSETS), 8, ",\"shape\": is expected"},
    {X(DTYPE "," SHAPE "," OFFSETS ",\"strides\":[1]"), 8, "} is expected"},
    {X("\"Dtype\":\"F32\""), 8, "{\"dtype\": is expected"},
    {X("\"dtype\":\"F128\"," SHAPE "," OFFSETS), 8, "'x' has dtype 'F128', which Heed does not read"},
    {X("\"dtype\":\"BF16\"," SHAPE "," OFFSETS), 8, "'x' has dtype 'BF16', which Heed does not read"},
    {X("\"dtype\":\"f32\"," SHAPE "," OFFSETS), 8, "'x' has dtype 'f32'"},
    {X("\"dtype\":\"\"," SHAPE "," OFFSETS), 8, "'x' has dtype ''"},
    {X("\"dtype\":32," SHAPE "," OFFSETS), 8, "at byte 14 of the header: \" is expected"},
    /* numbers */
    {OF("-2", "8"), 8, "at byte 29 of the header: a list of up to 8 whole numbers below 2^63 is expected"},
    {OF("-0", "0"), 0, "a list of up to 8 whole numbers"},
    {OF("+2", "8"), 8, "a list of up to 8 whole numbers"},
    {OF("2.0", "8"), 8, ", is expected"},
    {OF("2e0", "8"), 8, ", is expected"},
    {OF("0x2", "8"), 8, ", is expected"},
    {OF("\"2\"", "8"), 8, "a list of up to 8 whole numbers"},
    {OF("null", "8"), 8, "a list of up to 8 whole numbers"},
    {OF("2,", "8"), 8, "a list of up to 8 whole numbers"},
    {OF("2 2", "8"), 8, ", is expected"},
    {OF("[2]", "8"), 8, "a list of up to 8 whole numbers"},
    {OF("1,1,1,1,1,1,1,1,2", "8"), 8, "a list of up to 8 whole numbers"},
    {OF("9223372036854775808", "8"), 8, "a list of up to 8 whole numbers below 2^63"},
    {OF("2", "99999999999999999999999999"), 8, "a list of up to 8 whole numbers below 2^63"},
    {X(DTYPE ",\"shape\":2," OFFSETS), 8, "at byte 28 of the header: [ is expected"},
    {X(DTYPE ",\"shape\":{}," OFFSETS), 8, "[ is expected"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":8"), 8, "[ is expected"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[]"), 8, "'x', (2) of F32 after 0 bytes, has data_offsets [-1, -1]"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[0]"), 8, "has data_offsets [0, -1]"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[0,8,8]"), 8, "a list of up to 8 whole numbers"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[0,-8]"), 8, "a list of up to 8 whole numbers"},
    /* sizes */
    {OF("3", "8"), 8, "'x', (3) of F32 after 0 bytes, has data_offsets [0, 8]"},
    {OF("", "8"), 8, "'x', () of F32 after 0 bytes, has data_offsets [0, 8]"},
    {OF("2,0", "8"), 8, "(2, 0) of F32 after 0 bytes, has data_offsets [0, 8]"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[8,0]"), 8, "has data_offsets [8, 0]"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[9223372036854775807,0]"), 8, "has data_offsets [9223372036854775807, 0]"},
    {OF("4294967296,4294967296", "0"), 0, "'x', (4294967296, 4294967296) of F32 after 0 bytes"},
    {OF("9223372036854775807,4", "8"), 8, "'x', (9223372036854775807, 4) of F32 after 0 bytes"},
    {OF("0,9223372036854775807", "0"), 0, "'x', (0, 9223372036854775807) of F32 after 0 bytes"},
    {OF("9223372036854775807,4,0", "0"), 0, "'x', (9223372036854775807, 4, 0) of F32 after 0 bytes"},
    {OF("3,6148914691236517206", "8"), 8, "has data_offsets [0, 8]"},
    {"{\"x\":" GOOD ",\"y\":{" DTYPE ",\"shape\":[2305843009213693951],\"data_offsets\":[8,4]}}", 8,
     "'y', (2305843009213693951) of F32 after 8 bytes"},
    {OF("288230376151711744", "1152921504606846976"), 8,
     "its tensors take up 1152921504606846976 bytes, but 8 follow the header"},
    /* all tensors together */
    {"{\"x\":" GOOD "}", 7, "file: its tensors take up 8 bytes, but 7 follow the header"},
    {"{\"x\":" GOOD "}", 9, "file: its tensors take up 8 bytes, but 9 follow the header"},
    {"{}", 1, "its tensors take up 0 bytes, but 1 follow"},
    {"{\"x\":" AT(4, 12) "}", 12, "'x', (2) of F32 after 0 bytes, has data_offsets [4, 12]"},
    {"{\"x\":" GOOD ",\"y\":" AT(9, 17) "}", 17, "'y', (2) of F32 after 8 bytes, has data_offsets [9, 17]"},
    {"{\"x\":" GOOD ",\"y\":" AT(4, 12) "}", 12, "'y', (2) of F32 after 8 bytes, has data_offsets [4, 12]"},
    {"{\"y\":" AT(8, 16) ",\"x\":" GOOD "}", 16, "'y', (2) of F32 after 0 bytes"},
    {"{\"x\":" GOOD ",\"y\":" GOOD "}", 8, "'y', (2) of F32 after 8 bytes, has data_offsets [0, 8]"},
    {"{\"x\":" GOOD ",\"y\":{" DTYPE ",\"shape\":[0],\"data_offsets\":[4,4]}}", 8, "'y', (0) of F32 after 8 bytes"},
    {"{\"x\":" GOOD ",\"y\":{" DTYPE ",\"shape\":[0],\"data_offsets\":[9,9]}}", 8, "'y', (0) of F32 after 8 bytes"},
    {"{\"x\":" GOOD ",\"x\":" AT(8, 16) "}", 16, "'x' appears twice"},
    {"{\"x\":" GOOD ",\"y\":" AT(8, 16) ",\"\\u0078\":" AT(16, 24) "}", 24, "'x' appears twice"},
    /* metadata */
    {"{\"__metadata__\":\"x\"}", 0, "at byte 16 of the header: { is expected"},
    {"{\"__metadata__\":null}", 0, "at byte 16 of the header: { is expected"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "at byte 21 of the header: \" is expected"},
    {"{\"__metadata__\":{\"a\":null}}", 0, "\" is expected"},
    {"{\"__metadata__\":{\"a\":{\"b\":\"c\"}}}", 0, "\" is expected"},
    {"{\"__metadata__\":{\"a\"}}", 0, ": is expected"},
    {"{\"__metadata__\":{\"a\":\"b\",}}", 0, "\" is expected"},
    {"{\"__metadata__\":{\"a\":\"b\"", 0, ", is expected"},
    {"{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, "another escape sequence"},
    {"{\"__metadata__\":" GOOD "}", 8, "at byte 39 of the header: \" is expected"},
};
/* clang-format on */

static void expect_refusal(const char *words)
{
    heed_safetensors *file = heed_safetensors_open(in_folder("file"));
    ck_assert_msg(file == NULL, "accepted instead of: %s", words);
    expect_error_of_file(HEED_ERR_FORMAT, "safetensors_open", words);
}

START_TEST(is_refused)
{
    const refused_header *r = &rows[_i];
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
    write_header(in_folder("file"), "\0{}", 3, 0);
    expect_refusal("{ is expected");
    write_header(in_folder("file"), "{\"a\0b\":1}", 9, 0);
    expect_refusal("a string without control characters is expected");
    write_header(in_folder("file"), "{\"\\\0\":1}", 8, 0);
    expect_refusal("another escape sequence is expected");
    write_header(in_folder("file"), "{\"\\u00\0\0\":1}", 12, 0);
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
        {100000000, "its header 100000000; is it a safetensors file?"},
        {100000001, "its header 100000001; is it a safetensors file?"},
        {UINT64_C(1) << 32, "its header 4294967296; is it a safetensors file?"},
        {INT64_MAX, "its header 9223372036854775807; is it a safetensors file?"},
        {UINT64_MAX - 7, "its header 18446744073709551608; is it a safetensors file?"},
        {UINT64_MAX, "its header 18446744073709551615; is it a safetensors file?"},
    };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char bytes[10] = "........{}";
        for (int j = 0; j < 8; j++) {
            bytes[j] = (char)(lengths[i].length >> 8 * j & 255);
        }
        write_bytes(in_folder("file"), bytes, sizeof bytes);
        expect_refusal(lengths[i].words);
    }
    for (size_t size = 0; size < 8; size++) {
        write_bytes(in_folder("file"), "\2\0\0\0\0\0\0\0{}", size);
        expect_refusal(" bytes, its header 0; is it a safetensors file?");
    }
}
END_TEST

/* A header of 100 MB, the maximum, in a sparse file. */
START_TEST(the_longest_header_is_read)
{
    static const uint64_t longest = 100000000;
    write_bytes(in_folder("file"), &longest, sizeof longest);
    ck_assert_int_eq(truncate(in_folder("file"), 8 + 100000000), 0);
    expect_refusal("at byte 0 of the header: { is expected");
}
END_TEST

/* ---- bombs ---- */

static void repeat(const char *piece, size_t count)
{
    const size_t size = strlen(piece);
    char *header = malloc(count * size + 1);
    for (size_t i = 0; i < count; i++) {
        memcpy(header + i * size, piece, size);
    }
    write_header(in_folder("file"), header, count * size, 0);
    free(header);
}

START_TEST(bombs_are_refused)
{
    repeat("{\"a\":", 1000000);
    expect_refusal("{\"dtype\": is expected");
    repeat("{\"__metadata__\":", 1000000);
    expect_refusal("at byte 32 of the header: \" is expected");
    char *header = malloc(1000000);
    memset(header, '[', 1000000);
    memcpy(header, "{\"x\":{\"dtype\":\"F32\",\"shape\":", 28);
    write_header(in_folder("file"), header, 1000000, 0);
    expect_refusal("at byte 29 of the header: a list");
    memset(header + 29, '1', 1000000 - 29);
    write_header(in_folder("file"), header, 1000000, 0);
    expect_refusal("whole numbers below 2^63 is expected");
    memset(header + 5, '"', 1000000 - 5);
    write_header(in_folder("file"), header, 1000000, 0);
    expect_refusal("at byte 5 of the header: {\"dtype\": is expected");
    free(header);
    repeat("{\"\\u0061", 1);
    expect_refusal("a string without control characters is expected");
}
END_TEST

/* ---- a valid file, truncated and damaged ---- */

static void make_valid(void)
{
    heed_tensor *tensors[] = {heed_arange(0, 6, 1, HEED_F32),
                              heed_ones(HEED_SHAPE(2, 1), HEED_BOOL), heed_scalar(3, HEED_I64)};
    const char *names[] = {"W", "\xc3\xa9\n", "n"};
    const heed_metadata about[] = {{"k", "v\""}, {NULL, NULL}};
    heed_save_file((heed_tensor_list){3, tensors, names}, in_folder("file"), about);
    expect_no_error();
}

START_TEST(every_prefix_is_refused)
{
    size_t size;
    make_valid();
    free(read_bytes(in_folder("file"), &size));
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
        const char *name = heed_safetensors_name(file, i);
        if (heed_safetensors_tensor(file, name) == NULL) {
            ck_abort_msg("%s: %s", name, heed_error_message());
        }
    }
    heed_safetensors_close(file);
    const heed_status status = heed_error();
    ck_assert(status == (file != NULL ? HEED_OK : HEED_ERR_FORMAT));
    heed_scope_end(&scope);
    return status == HEED_OK;
}

START_TEST(every_damaged_byte_is_an_error_or_a_tensor)
{
    int size;
    make_valid();
    const int taken = damage_every_byte(try_file, &size);
    ck_assert_int_gt(taken, 34 * 255); /* all of the data, and letters of names */
    ck_assert_int_gt(size * 255 - taken, 100 * 255);
}
END_TEST

void add_safetensors_malformed_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "malformed");
    tcase_add_loop_test(tests, is_refused, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tests, zeros_are_refused);
    tcase_add_test(tests, lengths_are_refused);
    tcase_add_test(tests, the_longest_header_is_read);
    tcase_add_test(tests, bombs_are_refused);
    tcase_add_test(tests, every_prefix_is_refused);
    tcase_add_test(tests, every_damaged_byte_is_an_error_or_a_tensor);
}
