/* .npy files that numpy would write differently, or not at all: those that numpy reads are read;
 * all others are rejected safely, with an error that says why. */
#include <stdlib.h>
#include <string.h>

#include "tests/common/files_util.h"

/* ---- headers ---- */

/* A file of this version with this header, followed by `data` bytes 0, 1, 2, ... */
static void write_npy(int version, const char *header, size_t size, size_t data)
{
    const size_t before = version == 1 ? 10 : 12;
    unsigned char *bytes = calloc(before + size + data, 1);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (unsigned char)version;
    for (size_t i = 0; i < before - 8; i++) {
        bytes[8 + i] = (unsigned char)(size >> 8 * i & 255);
    }
    memcpy(bytes + before, header, size);
    for (size_t i = 0; i < data; i++) {
        bytes[before + size + i] = (unsigned char)i;
    }
    write_bytes(in_folder("file"), bytes, before + size + data);
    free(bytes);
}

static heed_tensor *load_header(int version, const char *header, size_t data)
{
    write_npy(version, header, strlen(header), data);
    return heed_load_npy(in_folder("file"));
}

#define ORDER        "'fortran_order': False, "
#define HEAD         "{'descr': '<f4', " ORDER "'shape': "
#define DESCR(descr) "{'descr': " descr ", " ORDER "'shape': (2,)}"
#define GOOD_START   "'descr': '<f4', " ORDER "'shape': (2,)"

/* Other header forms that numpy reads, all of two floats. */
START_TEST(other_ways_to_write_a_header_are_read)
{
    static const char *const headers[] = {
        "{" GOOD_START "}",
        "{" GOOD_START "}\n",
        "{" GOOD_START " , }   \n \t\r\f\n",
        " \t{ " GOOD_START " }",
        "{\n 'shape'\t:( 2 , ),\r\n'fortran_order' :False,\f'descr':'<f4'}",
        "{\"descr\": \"<f4\", \"fortran_order\": False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2L,)}",
        HEAD "(2L,), }",
        HEAD "(2,1)}",
        HEAD "(2,1,)}",
        HEAD "(1L, 2L)}",
        DESCR("'=f4'"),
        DESCR("'|f4'"),
        DESCR("'f4'"),
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        heed_tensor *x = load_header(1, headers[i], 8);
        expect_no_error();
        ck_assert_int_eq(x->numel, 2);
        ck_assert_int_eq(memcmp(x->data, "\0\1\2\3\4\5\6\7", 8), 0);
    }
    heed_tensor *x = load_header(3, DESCR("'>b1'"), 2);
    EXPECT_VALUES(x, 0, 0, 1);
    x = load_header(2, HEAD "(0L, 5), }", 0);
    ck_assert_int_eq(x->numel, 0);
}
END_TEST

/* clang-format off */
static const refused_header rows[] = {
    /* not a dict */
    {"", 8, "file: at byte 0 of the header: an object is expected"},
    {" \n", 8, "at byte 2 of the header: an object is expected"},
    {"[]", 8, "at byte 0 of the header: an object is expected"},
    {"{}", 8, "at byte 2 of the header: it has no descr"},
    {"{,}", 8, "a string is expected"},
    {"{", 8, "at byte 1 of the header: a string is expected"},
    {"{" GOOD_START, 8, "',' or '}' is expected"},
    {"{" GOOD_START ",", 8, "a string is expected"},
    {"{" GOOD_START ",,}", 8, "a string is expected"},
    {"{" GOOD_START "}}", 8, "something follows the closing '}'"},
    {"{" GOOD_START "} x", 8, "something follows"},
    {"{" GOOD_START "} # as I said", 8, "something follows"},
    {"({" GOOD_START "})", 8, "an object is expected"},
    {"{" GOOD_START "}\v", 8, "something follows"},
    /* keys */
    {"{'descr' '<f4', " ORDER "'shape': (2,)}", 8, "at byte 9 of the header: ':' is expected"},
    {"{'descr': '<f4' " ORDER "'shape': (2,)}", 8, "',' or '}' is expected"},
    {"{'descr': '<f4', " ORDER "}", 8, "it has no shape"},
    {"{'descr': '<f4', 'shape': (2,)}", 8, "it has no fortran_order"},
    {"{" ORDER "'shape': (2,)}", 8, "it has no descr"},
    {"{" GOOD_START ", 'descr': '<f4'}", 8, "'descr' appears twice"},
    {"{" GOOD_START ", 'shape': (2,)}", 8, "'shape' appears twice"},
    {"{" GOOD_START ", 'more': 1}", 8, "unknown member 'more'"},
    {"{" GOOD_START ", '\x1b': 1}", 8, "a control character inside a string"},
    {"{'Descr': '<f4'}", 8, "unknown member 'Descr'"},
    {"{'descr ': '<f4'}", 8, "unknown member 'descr '"},
    {"{descr: '<f4'}", 8, "a string is expected"},
    {"{b'descr': '<f4'}", 8, "a string is expected"},
    {"{'descr\": '<f4'}", 8, "at byte 11 of the header: ':' is expected"},
    {"{'descr", 8, "at byte 7 of the header: the text ends inside a string"},
    {"{'de\\x73cr': '<f4'}", 8, "an escape sequence, which is not supported"},
    {"{'d\xc3\xa9scr': '<f4'}", 8, "unknown member 'd\xc3\xa9scr'"},
    {"{'''descr''': '<f4'}", 8, "at byte 3 of the header: ':' is expected"},
    {"{'descr\n': '<f4'}", 8, "a control character inside a string"},
    /* fortran_order */
    {"{'fortran_order': false}", 8, "True or False is expected"},
    {"{'fortran_order': 0}", 8, "True or False is expected"},
    {"{'fortran_order': 'False'}", 8, "True or False is expected"},
    {"{'fortran_order': Falsehood}", 8, "',' or '}' is expected"},
    {"{'fortran_order': Fals", 8, "True or False is expected"},
    /* shape */
    {HEAD "2}", 8, "a tuple is expected"},
    {HEAD "(2)}", 8, "a tuple is expected; a tuple of one number needs a comma"},
    {HEAD "[2]}", 8, "a tuple is expected"},
    {HEAD "None}", 8, "a tuple is expected"},
    {HEAD "(,)}", 8, "a non-negative integer is expected"},
    {HEAD "(2,,)}", 8, "a non-negative integer is expected"},
    {HEAD "(2 1)}", 8, "',' or ')' is expected"},
    {HEAD "(2,", 8, "a non-negative integer is expected"},
    {HEAD "(2", 8, "',' or ')' is expected"},
    {HEAD "(-2,)}", 8, "a non-negative integer is expected"},
    {HEAD "(+2,)}", 8, "a non-negative integer is expected"},
    {HEAD "(02,)}", 8, "a non-negative integer is expected"},
    {HEAD "(2.0,)}", 8, "a non-negative integer is expected"},
    {HEAD "(0x2,)}", 8, "',' or ')' is expected"},
    {HEAD "(2LL,)}", 8, "',' or ')' is expected"},
    {HEAD "(2l,)}", 8, "',' or ')' is expected"},
    {HEAD "('2',)}", 8, "a non-negative integer is expected"},
    {HEAD "(True, 2)}", 8, "a non-negative integer is expected"},
    {HEAD "((2,),)}", 8, "a non-negative integer is expected"},
    {HEAD "(9223372036854775808,)}", 8, "a number is larger than 2^63 - 1"},
    {HEAD "(99999999999999999999999999999,)}", 8, "a number is larger than 2^63 - 1"},
    {HEAD "(9223372036854775807,)}", 8, "its shape has more elements than a file can hold"},
    {HEAD "(4294967296, 4294967296)}", 0, "more elements than a file can hold"},
    {HEAD "(4294967296, 4294967296, 0)}", 0, "more elements than a file can hold"},
    {HEAD "(0, 9223372036854775807, 4)}", 0, "more elements than a file can hold"},
    {HEAD "(3, 6148914691236517206)}", 8, "more elements than a file can hold"},
    {HEAD "(1,1,1,1,1,1,1,1,9223372036854775807)}", 8, "more elements than a file can hold"},
    /* descr */
    {DESCR("''"), 8, "file: '' is not a valid descr"},
    {DESCR("'<'"), 8, "file: '<' is not a valid descr"},
    {DESCR("'<<f4'"), 8, "file: '<<f4' is not a valid descr"},
    {DESCR("'!f4'"), 8, "file: '!f4' is not a valid descr"},
    {DESCR("'<f4 '"), 8, "Heed has no dtype"},
    {DESCR("'float32'"), 8, "file: 'float32' is not a valid descr"},
    {DESCR("'<b2'"), 8, "file: '<b2' is not a valid descr"},
    {DESCR("'<F4'"), 8, "file: '<F4' is not a valid descr"},
    {DESCR("<f4"), 8, "a string is expected"},
    {DESCR("4"), 8, "a string is expected"},
    {DESCR("{'a': 1}"), 8, "a string is expected"},
    /* sizes */
    {HEAD "(2,)}", 7, "file: its shape (2) of f4 needs 8 bytes, but 7 follow the header"},
    {HEAD "(2,)}", 0, "needs 8 bytes, but 0 follow the header"},
    {HEAD "(2,)}", 9, "needs 8 bytes, but 9 follow the header; save each array in its own file"},
    {HEAD "()}", 8, "its shape () of f4 needs 4 bytes, but 8 follow"},
    {HEAD "(0, 2)}", 8, "its shape (0, 2) of f4 needs 0 bytes, but 8 follow"},
    {DESCR("'>i4'"), 16, "its shape (2) of i4 needs 8 bytes, but 16 follow"},
    {HEAD "(72057594037927936,)}", 8, "needs 288230376151711744 bytes, but 8 follow"},
};
/* clang-format on */

static void expect_refusal(const char *words)
{
    heed_tensor *x = heed_load_npy(in_folder("file"));
    ck_assert_msg(x == NULL, "accepted instead of: %s", words);
    const heed_status status = heed_error_pending();
    expect_error_of_file(status == HEED_ERR_DTYPE ? status : HEED_ERR_FORMAT, "load_npy", words);
}

START_TEST(is_refused)
{
    write_npy(1, rows[_i].header, strlen(rows[_i].header), rows[_i].data);
    expect_refusal(rows[_i].words);
}
END_TEST

START_TEST(zeros_and_other_versions_are_refused)
{
    write_npy(1, "{" GOOD_START "}\0", strlen(GOOD_START) + 3, 8);
    expect_refusal("something follows");
    write_npy(1, "\0{}", 3, 0);
    expect_refusal("an object is expected");
    write_npy(1, "{'des\0cr': 1}", 13, 0);
    expect_refusal("a control character inside a string");
    write_npy(3, HEAD "(2L,)}", strlen(HEAD "(2L,)}"), 8); /* as numpy: Python 2 had no version 3 */
    expect_refusal("',' or ')' is expected");
    static const int versions[] = {0, 4, 255};
    for (int i = 0; i < 3; i++) {
        write_npy(versions[i], "{" GOOD_START "}", strlen(GOOD_START) + 2, 8);
        expect_refusal(i == 1 ? "file: version 4.0 of the format is unknown" : "is unknown");
    }
    write_bytes(in_folder("file"), "\x93NUMPY\1\1\2\0{}", 12);
    expect_refusal("file: version 1.1 of the format is unknown");
}
END_TEST

START_TEST(foreign_dtypes_are_refused)
{
    static const struct {
        const char *name, *words;
    } foreign[] = {
        {"u1", "foreign_u1.npy: its elements are integers, '|u1', for which Heed has no dtype; "
               "save x.astype('i8')"},
        {"i2", "integers, '>i2', for which Heed has no dtype; save x.astype('i8')"},
        {"c8", "complex numbers, '<c8', for which Heed has no dtype; save x.real and x.imag"},
        {"text", "strings, '<U2', for"},
        {"bytes", "strings, '|S2', for"},
        {"date", "dates, '<M8[D]', for which Heed has no dtype; save x.astype('i8')"},
        {"object",
         "Python objects, '|O', for which Heed has no dtype; save numbers, x.astype('f4')"},
        {"fields",
         "structured, for which Heed has no dtype; save each field, x['name'], in its own file"},
    };
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        ck_assert_ptr_null(heed_load_npy(npy_fixture("foreign_", foreign[i].name)));
        expect_error(HEED_ERR_DTYPE, foreign[i].words);
    }
    ck_assert_ptr_null(load_header(1, DESCR("('<f4', (2,))"), 16));
    expect_error(HEED_ERR_DTYPE, "its elements are structured");
    ck_assert_ptr_null(load_header(1, DESCR("'<f16'"), 32));
    expect_error(HEED_ERR_DTYPE,
                 "floats, '<f16', for which Heed has no dtype; save x.astype('f8')");
    ck_assert_ptr_null(load_header(1, DESCR("'<V2'"), 4)); /* as numpy writes bfloat16 */
    expect_error(HEED_ERR_DTYPE, "raw bytes, '<V2', for which Heed has no dtype");
    ck_assert_ptr_null(heed_load_npy(npy_fixture("nine", "")));
    expect_error(HEED_ERR_SHAPE, "nine.npy: it has 9 dims; Heed supports up to 8");
    ck_assert_ptr_null(heed_load_npy(npy_fixture("several", "")));
    expect_error(HEED_ERR_FORMAT, "its shape (1) of f4 needs 4 bytes, but 136 follow the header; "
                                  "save each array in its own file");
    ck_assert_ptr_null(heed_load_npy("tests/fixtures/npy/zip.npz"));
    expect_error(HEED_ERR_FORMAT, "it is a zip archive, as written by numpy.savez; unzip it");
}
END_TEST

/* The header length may be wrong. */
START_TEST(lengths_are_refused)
{
    static char spaces[10002];
    memset(spaces, ' ', sizeof spaces);
    memcpy(spaces, "{" GOOD_START "}", strlen(GOOD_START) + 2);
    for (int version = 1; version <= 3; version++) {
        write_npy(version, spaces, 10000, 8);
        EXPECT_VALUES(heed_zeros_like(heed_load_npy(in_folder("file"))), 0, 0, 0);
        write_npy(version, spaces, 10001, 8);
        expect_refusal("its header would have 10001 bytes, more than the limit of 10000");
    }
    static const struct {
        const char *bytes, *words;
    } lies[] = {
        {"\x93NUMPY\1\0\xff\xff{}", "its header would have 65535 bytes, more than the file"},
        {"\x93NUMPY\1\0\3\0{}", "its header would have 3 bytes, more than the file"},
        {"\x93NUMPY\2\0\xff\xff\xff\xff", "would have 4294967295 bytes, more than the file"},
        {"\x93NUMPY\3\0\1\0\0\0", "would have 1 bytes, more than the file"},
        {"\x93NUMPX\1\0\2\0{}", "it does not begin like a .npy file"},
        {"PK\3\4\0\0\0\0\0\0\0\0", "it is a zip archive, as written by numpy.savez"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        write_bytes(in_folder("file"), lies[i].bytes, 12);
        expect_refusal(lies[i].words);
    }
}
END_TEST

/* numpy keeps such bytes unchanged; Heed's bools are 0 or 1, whatever the file has. */
START_TEST(any_byte_is_a_bool)
{
    heed_tensor *x = load_header(1, "{'descr': '|b1', " ORDER "'shape': (256,), }", 256);
    const bool *values = heed_const_data_bool(x);
    unsigned char bytes[256];
    memcpy(bytes, values, 256);
    for (int i = 0; i < 256; i++) {
        ck_assert_int_eq(bytes[i], i != 0);
    }
}
END_TEST

/* ---- a valid file, truncated and damaged ---- */

static const char *const whole[] = {"f4", "f2_big_fortran", "i4", "b1", "version2", "deep"};

START_TEST(every_prefix_is_refused)
{
    size_t size;
    char *bytes = read_bytes(npy_fixture(whole[_i], ""), &size);
    while (size > 0) {
        size--;
        write_bytes(in_folder("file"), bytes, size);
        expect_refusal("");
    }
    free(bytes);
}
END_TEST

/* Reading gives a tensor or an error of the file, and is always safe. */
static bool try_file(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *x = heed_load_npy(in_folder("file"));
    const heed_status status = heed_error();
    ck_assert(x != NULL ? status == HEED_OK
                        : status == HEED_ERR_FORMAT || status == HEED_ERR_DTYPE);
    heed_scope_end(&scope);
    return x != NULL;
}

START_TEST(every_damaged_byte_is_an_error_or_a_tensor)
{
    size_t length;
    int size;
    char *bytes = read_bytes(npy_fixture(whole[_i], ""), &length);
    write_bytes(in_folder("file"), bytes, length);
    free(bytes);
    const int taken = damage_every_byte(try_file, &size);
    ck_assert_int_ge(taken, (size - 128) * 255); /* any data bytes are valid */
    ck_assert_int_gt(size * 255 - taken, 100 * 255);
}
END_TEST

void add_npy_malformed_cases(Suite *suite)
{
    const int files = (int)(sizeof whole / sizeof *whole);
    TCase *tests = files_case(suite, "malformed_npy");
    tcase_add_test(tests, other_ways_to_write_a_header_are_read);
    tcase_add_loop_test(tests, is_refused, 0, (int)(sizeof rows / sizeof *rows));
    tcase_add_test(tests, zeros_and_other_versions_are_refused);
    tcase_add_test(tests, foreign_dtypes_are_refused);
    tcase_add_test(tests, lengths_are_refused);
    tcase_add_test(tests, any_byte_is_a_bool);
    tcase_add_loop_test(tests, every_prefix_is_refused, 0, files);
    tcase_add_loop_test(tests, every_damaged_byte_is_an_error_or_a_tensor, 0, files);
}
