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
    {"", 0, "file: its header does not begin with '{'; is it a safetensors file?"},
    {"[]", 0, "does not begin with '{'"},
    {" {}", 0, "does not begin with '{'"},
    {"\xef\xbb\xbf{}", 0, "does not begin with '{'"},
    {"{", 0, "at byte 1 of the header: a string is expected"},
    {"{}}", 0, "at byte 2 of the header: something follows the closing '}'"},
    {"{}\f", 0, "something follows"},
    {"{}{\"x\":" GOOD "}", 8, "something follows"},
    {"{1:2}", 0, "a string is expected"},
    {"{'x':1}", 0, "a string is expected"},
    {"{/**/}", 0, "a string is expected"},
    {"{,}", 0, "a string is expected"},
    {"{\"x\"}", 0, "'x': at byte 4 of the header: ':' is expected"},
    {"{\"x\":" GOOD ",}", 8, "a string is expected"},
    {"{\"x\":" GOOD, 8, "file: at byte 53 of the header: ',' or '}' is expected"},
    {"{\"x\":" GOOD " \"y\":" GOOD "}", 8, "',' or '}' is expected"},
    /* strings */
    {"{\"x", 0, "the text ends inside a string"},
    {"{\"x\\", 0, "an invalid escape sequence"},
    {"{\"x\\\"", 0, "the text ends inside a string"},
    {"{\"x\n\":1}", 0, "a control character inside a string"},
    {"{\"x\t\":1}", 0, "a control character"},
    {"{\"\\x41\":1}", 0, "an invalid escape sequence"},
    {"{\"\\a\":1}", 0, "an invalid escape sequence"},
    {"{\"\\u12g4\":1}", 0, "\\u needs four hexadecimal digits"},
    {"{\"\\u12\":1}", 0, "\\u needs four hexadecimal digits"},
    {"{\"\\u+123\":1}", 0, "\\u needs four hexadecimal digits"},
    {"{\"\\u", 0, "\\u needs four hexadecimal digits"},
    {"{\"\\u0000\":1}", 0, "\\u0000, which is not supported"},
    {"{\"\\ud800\":1}", 0, "an unpaired surrogate"},
    {"{\"\\udc00\":1}", 0, "an unpaired surrogate"},
    {"{\"\\ud800\\ud800\":1}", 0, "an unpaired surrogate"},
    {"{\"\\ud800\\u0041\":1}", 0, "an unpaired surrogate"},
    {"{\"\\ud800\\n\":1}", 0, "an unpaired surrogate"},
    {"{\"\xff\":1}", 0, "invalid UTF-8"},
    {"{\"\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xc0\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xc1\xbf\":1}", 0, "invalid UTF-8"},
    {"{\"\xc3\":1}", 0, "invalid UTF-8"},
    {"{\"\xe0\x9f\xbf\":1}", 0, "invalid UTF-8"},
    {"{\"\xe4\xb8\":1}", 0, "invalid UTF-8"},
    {"{\"\xed\xa0\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xf0\x8f\xbf\xbf\":1}", 0, "invalid UTF-8"},
    {"{\"\xf4\x90\x80\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xf5\x80\x80\x80\":1}", 0, "invalid UTF-8"},
    {"{\"\xf0\x9f\x98", 0, "invalid UTF-8"},
    {"{\"x\":" GOOD "\xc3\xa9}", 8, "',' or '}' is expected"},
    /* members of a tensor */
    {"{\"x\":1}", 0, "'x': at byte 5 of the header: an object is expected"},
    {"{\"x\":null}", 0, "'x': at byte 5 of the header: an object is expected"},
    {"{\"x\":[\"F32\",[2],[0,8]]}", 8, "'x': at byte 5 of the header: an object is expected"},
    {X(""), 0, "it has no dtype"},
    {X(SHAPE "," OFFSETS), 8, "it has no dtype"},
    {X(DTYPE "," OFFSETS), 8, "it has no shape"},
    {X(DTYPE "," SHAPE), 8, "it has no data_offsets"},
    {X(DTYPE "," SHAPE "," OFFSETS ","), 8, "'x': at byte 53 of the header: a string is expected"},
    {X(DTYPE "," DTYPE "," SHAPE "," OFFSETS), 8, "'dtype' appears twice"},
    {X(DTYPE "," SHAPE "," SHAPE "," OFFSETS), 8, "'shape' appears twice"},
    {X(DTYPE "," SHAPE "," OFFSETS "," OFFSETS), 8, "'data_offsets' appears twice"},
    {X(DTYPE "," SHAPE "," OFFSETS ",\"strides\":[1]"), 8, "unknown member 'strides'"},
    {X("\"Dtype\":\"F32\""), 8, "unknown member 'Dtype'"},
    {X("\"dtype\":\"F128\"," SHAPE "," OFFSETS), 8, "'x': unknown dtype 'F128'"},
    {X("\"dtype\":\"f32\"," SHAPE "," OFFSETS), 8, "'x': unknown dtype 'f32'"},
    {X("\"dtype\":\"\"," SHAPE "," OFFSETS), 8, "'x': unknown dtype ''"},
    {X("\"dtype\":32," SHAPE "," OFFSETS), 8, "'x': at byte 14 of the header: a string is expected"},
    /* numbers */
    {OF("-2", "8"), 8, "'x': at byte 29 of the header: a non-negative integer is expected"},
    {OF("-0", "0"), 0, "a non-negative integer"},
    {OF("+2", "8"), 8, "a non-negative integer"},
    {OF("2.0", "8"), 8, "a non-negative integer"},
    {OF("2e0", "8"), 8, "a non-negative integer"},
    {OF("2E0", "8"), 8, "a non-negative integer"},
    {OF("02", "8"), 8, "a non-negative integer"},
    {OF("00", "0"), 0, "a non-negative integer"},
    {OF("0x2", "8"), 8, "',' or ']' is expected"},
    {OF("\"2\"", "8"), 8, "a non-negative integer"},
    {OF("null", "8"), 8, "a non-negative integer"},
    {OF("2,", "8"), 8, "a non-negative integer"},
    {OF("2 2", "8"), 8, "',' or ']' is expected"},
    {OF("[2]", "8"), 8, "a non-negative integer"},
    {OF("9223372036854775808", "8"), 8, "a number is larger than 2^63 - 1"},
    {OF("2", "99999999999999999999999999"), 8, "a number is larger than 2^63 - 1"},
    {X(DTYPE ",\"shape\":2," OFFSETS), 8, "'x': at byte 28 of the header: an array is expected"},
    {X(DTYPE ",\"shape\":{}," OFFSETS), 8, "an array is expected"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":8"), 8, "an array is expected"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[]"), 8, "'x': data_offsets must be begin and end, not 0"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[8]"), 8, "begin and end, not 1 numbers"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[0,8,8]"), 8, "begin and end, not 3 numbers"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[0,-8]"), 8, "a non-negative integer"},
    /* sizes */
    {OF("3", "8"), 8, "'x': data_offsets [0, 8] do not span the 12 bytes of shape (3) of F32"},
    {OF("", "8"), 8, "data_offsets [0, 8] do not span the 4 bytes of shape ()"},
    {OF("2,0", "8"), 8, "data_offsets [0, 8] do not span the 0 bytes of shape (2, 0)"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[8,0]"), 8, "data_offsets [8, 0] do not span the 8 bytes"},
    {X(DTYPE "," SHAPE ",\"data_offsets\":[9223372036854775807,0]"), 8, "do not span the 8 bytes"},
    {OF("4294967296,4294967296", "0"), 0, "'x': its shape has more elements than a file can hold"},
    {OF("9223372036854775807,4", "8"), 8, "more elements than a file can hold"},
    {OF("9223372036854775807,4,0", "0"), 0, "more elements than a file can hold"},
    {OF("0,9223372036854775807,4", "0"), 0, "more elements than a file can hold"},
    {OF("3,6148914691236517206", "8"), 8, "more elements than a file can hold"},
    {OF("1,1,1,1,1,1,1,1,1,9223372036854775807", "8"), 8, "more elements than a file can hold"},
    {X("\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]"), 1, "shape (3) of F4 ends inside a byte"},
    {X("\"dtype\":\"F6_E2M3\",\"shape\":[5],\"data_offsets\":[0,4]"), 4, "shape (5) of F6_E2M3 ends inside a byte"},
    {OF("288230376151711744", "1152921504606846976"), 8, "more elements than a file can hold"},
    {OF("72057594037927936", "288230376151711744"), 8,
     "its tensors take up 288230376151711744 bytes, but 8 follow the header"},
    /* all tensors together */
    {"{\"x\":" GOOD "}", 7, "file: its tensors take up 8 bytes, but 7 follow the header"},
    {"{\"x\":" GOOD "}", 9, "file: its tensors take up 8 bytes, but 9 follow the header"},
    {"{}", 1, "its tensors take up 0 bytes, but 1 follow"},
    {"{\"x\":" AT(4, 12) "}", 12, "'x': it begins at byte 4 of the data, but the one before it ends at 0: there is a gap"},
    {"{\"x\":" GOOD ",\"y\":" AT(9, 17) "}", 17, "'y': it begins at byte 9 of the data, but the one before it ends at 8: there is a gap"},
    {"{\"x\":" GOOD ",\"y\":" AT(4, 12) "}", 12, "'y': it begins at byte 4 of the data, but the one before it ends at 8: they overlap"},
    {"{\"y\":" AT(8, 16) ",\"z\":" AT(15, 23) ",\"x\":" GOOD "}", 23, "'z': it begins at byte 15 of the data, but the one before it ends at 16: they overlap"},
    {"{\"x\":" GOOD ",\"y\":" GOOD "}", 8, "'y': it begins at byte 0 of the data, but the one before it ends at 8: they overlap"},
    {"{\"x\":" GOOD ",\"y\":{" DTYPE ",\"shape\":[0],\"data_offsets\":[4,4]}}", 8, "'y': it begins at byte 4 of the data, but the one before it ends at 8: they overlap"},
    {"{\"x\":" GOOD ",\"y\":{" DTYPE ",\"shape\":[0],\"data_offsets\":[9,9]}}", 8, "'y': it begins at byte 9"},
    {"{\"x\":" GOOD ",\"x\":" GOOD "}", 8, "'x': the name appears twice"},
    {"{\"x\":" GOOD ",\"x\":" AT(8, 16) "}", 16, "'x': the name appears twice"},
    {"{\"x\":" GOOD ",\"y\":" AT(8, 16) ",\"\\u0078\":" AT(16, 24) "}", 24, "'x': the name appears twice"},
    /* metadata */
    {"{\"__metadata__\":\"x\"}", 0, "'__metadata__': at byte 16 of the header: an object is expected"},
    {"{\"__metadata__\":null}", 0, "'__metadata__': at byte 16 of the header: an object is expected"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "'__metadata__': at byte 21 of the header: a string is expected"},
    {"{\"__metadata__\":{\"a\":null}}", 0, "a string is expected"},
    {"{\"__metadata__\":{\"a\":{\"b\":\"c\"}}}", 0, "a string is expected"},
    {"{\"__metadata__\":{\"a\"}}", 0, "':' is expected"},
    {"{\"__metadata__\":{\"a\":\"b\",}}", 0, "a string is expected"},
    {"{\"__metadata__\":{\"a\":\"b\"", 0, "',' or '}' is expected"},
    {"{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, "\\u0000, which is not supported"},
    {"{\"__metadata__\":" GOOD "}", 8, "'__metadata__': at byte 39 of the header: a string is expected"},
    {"{\"__metadata__\":{\"a\":\"b\",\"c\":\"d\",\"a\":\"b\"}}", 0, "'a': the key appears twice in __metadata__"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "'__metadata__': it appears twice"},
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
    expect_refusal("at byte 2 of the header: something follows");
    write_header(in_folder("file"), "\0{}", 3, 0);
    expect_refusal("does not begin with '{'");
    write_header(in_folder("file"), "{\"a\0b\":1}", 9, 0);
    expect_refusal("a control character inside a string");
    write_header(in_folder("file"), "{\"\\\0\":1}", 8, 0);
    expect_refusal("an invalid escape sequence");
    write_header(in_folder("file"), "{\"\\u00\0\0\":1}", 12, 0);
    expect_refusal("\\u needs four hexadecimal digits");
    write_header(in_folder("file"), "{\"\\ud800\0udc00\":1}", 18, 0);
    expect_refusal("an unpaired surrogate");
}
END_TEST

/* ---- the header length ---- */

START_TEST(lengths_are_refused)
{
    static const struct {
        uint64_t length;
        const char *words;
    } lengths[] = {
        {3, "its header would have 3 bytes, more than the file"},
        {100000000, "its header would have 100000000 bytes, more than the file"},
        {100000001, "its header would have 100000001 bytes, more than the limit of 100 MB"},
        {UINT64_C(1) << 32, "4294967296 bytes, more than the limit of 100 MB"},
        {INT64_MAX, "9223372036854775807 bytes, more than the limit of 100 MB"},
        {UINT64_MAX - 7, "18446744073709551608 bytes, more than the limit of 100 MB"},
        {UINT64_MAX, "18446744073709551615 bytes, more than the limit of 100 MB"},
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
        expect_refusal("it is too short for a safetensors file (");
    }
}
END_TEST

/* A header of 100 MB, the maximum, in a sparse file. */
START_TEST(the_longest_header_is_read)
{
    static const uint64_t longest = 100000000;
    write_bytes(in_folder("file"), &longest, sizeof longest);
    ck_assert_int_eq(truncate(in_folder("file"), 8 + 100000000), 0);
    expect_refusal("does not begin with '{'");
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
    expect_refusal("unknown member 'a'");
    repeat("{\"shape\":[", 1000000);
    expect_refusal("'shape': at byte 9 of the header: an object is expected");
    char *header = malloc(1000000);
    memset(header, '[', 1000000);
    memcpy(header, "{\"x\":{\"shape\":", 14);
    write_header(in_folder("file"), header, 1000000, 0);
    expect_refusal("'x': at byte 15 of the header: a non-negative integer");
    memset(header + 14, '1', 1000000 - 14);
    header[14] = '[';
    write_header(in_folder("file"), header, 1000000, 0);
    expect_refusal("a number is larger than 2^63 - 1");
    for (int i = 15; i < 1000000 - 1; i += 2) {
        memcpy(header + i, "1,", 2);
    }
    write_header(in_folder("file"), header, 1000000, 0);
    expect_refusal("'x': at byte 1000000 of the header: ',' or ']' is expected");
    free(header);
    repeat("{\"\\u0061", 1);
    expect_refusal("the text ends inside a string");
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
            const heed_status status = heed_error();
            ck_assert(status == HEED_ERR_DTYPE || status == HEED_ERR_SHAPE);
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
