/* Tables in CSV: common variants are read; everything else is rejected, naming line and column. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/text.h"
#include "tests/common/files_util.h"

static heed_tensor *parse(const char *table, heed_csv_options options)
{
    return heed_parse_csv(table, strlen(table), "t.csv", options);
}

/* ---- decimal numbers ---- */

static const char *const numbers[] = {"0",
                                      "-0",
                                      "+1",
                                      "1.5",
                                      ".5",
                                      "5.",
                                      "00012",
                                      "1e3",
                                      "1E+03",
                                      "1e-3",
                                      "9007199254740993",
                                      "9007199254740992",
                                      "9007199254740993.0000000000000000000000000000001",
                                      "123456789012345678",
                                      "12345678901234567890123",
                                      "0.1",
                                      "0.30000000000000004",
                                      "3.14159265358979323846",
                                      "1e22",
                                      "1e23",
                                      "8.5e-323",
                                      "4.9e-324",
                                      "2.4703282292062327e-324",
                                      "2.4703282292062328e-324",
                                      "2.2250738585072011e-308",
                                      "2.2250738585072014e-308",
                                      "1.7976931348623157e308",
                                      "1.7976931348623158e308",
                                      "1.7976931348623159e308",
                                      "1e309",
                                      "-1e400",
                                      "1e-400",
                                      "0e999999999",
                                      "1e99999999999999999999",
                                      "1e-99999999999999999999",
                                      "0.000000000000000000000000000000001",
                                      "6.631236846766476e-316",
                                      "1.00000000000000011102230246251565404236316680908203125",
                                      "1.00000000000000011102230246251565404236316680908203124",
                                      "1.00000000000000011102230246251565404236316680908203126",
                                      "1e",
                                      "1e+",
                                      "1.2.3",
                                      "0x10",
                                      "7 ",
                                      "1e5e6",
                                      "100000000000000000000000e-23"};

START_TEST(numbers_are_those_of_strtod)
{
    const bool hex = strcmp(numbers[_i], "0x10") == 0; /* only strtod accepts it */
    char *expected_end = NULL;
    const double expected = hex ? 0 : strtod(numbers[_i], &expected_end);
    double value = -7;
    const char *end = heed_read_decimal(numbers[_i], &value);
    ck_assert_ptr_eq(end, hex ? numbers[_i] + 1 : expected_end);
    ck_assert_msg(memcmp(&value, &expected, sizeof value) == 0, "%s: %a, not %a", numbers[_i],
                  value, expected);
}
END_TEST

/* The midpoint of two doubles, and neighbours that differ only in a distant digit. */
START_TEST(a_distant_digit_decides)
{
    char text[3000] = "1.00000000000000011102230246251565404236316680908203125";
    const size_t length = strlen(text);
    double value = 0;
    memset(text + length, '0', 2000);
    ck_assert_ptr_eq(heed_read_decimal(text, &value), text + strlen(text));
    ck_assert(value == 1); /* ties round to even */
    text[length + 2000] = '1';
    ck_assert_ptr_nonnull(heed_read_decimal(text, &value));
    ck_assert(value == 1 + 0x1p-52);
    memset(text, '1', 2500);
    strcpy(text + 2500, "e-2500");
    ck_assert_ptr_eq(heed_read_decimal(text, &value), text + strlen(text));
    ck_assert(value == strtod(text, NULL));
    memset(text, '0', 2500);
    text[1] = '.';
    strcpy(text + 2500, "123456789e2500");
    ck_assert_ptr_nonnull(heed_read_decimal(text, &value));
    ck_assert(value == strtod(text, NULL));
}
END_TEST

START_TEST(random_doubles_come_back)
{
    heed_manual_seed(1);
    heed_tensor *bits = heed_randint(INT64_MIN, INT64_MAX - 1024, HEED_SHAPE(20000), HEED_I64);
    for (int64_t i = 0; i < heed_size(bits, 0); i++) {
        char text[40];
        double x, value = 0;
        memcpy(&x, heed_const_data_i64(bits) + i, sizeof x);
        if (isfinite(x)) {
            snprintf(text, sizeof text, "%.17g", x);
            ck_assert_ptr_nonnull(heed_read_decimal(text, &value));
            ck_assert_msg(memcmp(&x, &value, sizeof x) == 0, "%s", text);
        }
    }
}
END_TEST

START_TEST(the_locale_does_not_matter)
{
    use_comma_locale();
    heed_tensor *x =
        parse("a,b\n0.5,0.30000000000000000000004\n", (heed_csv_options){.dtype = HEED_F64});
    setlocale(LC_NUMERIC, "C");
    EXPECT_VALUES(x, 0, 0.5, 0.3);
}
END_TEST

/* ---- tables ---- */

/* Each contains the columns a and b with the rows 1 2 and 3 -0.5. */
static const char *const tables[] = {
    "a,b\n1,2\n3,-0.5\n",
    "a,b\n1,2\n3,-0.5",
    "a,b\r\n1,2\r\n3,-0.5\r\n",
    "a,b\r1,2\r3,-0.5\r",
    "\357\273\277a,b\n1,2\n3,-0.5\n",
    "\n\na,b\n\n1,2\n   \n3,-0.5\n\n\n",
    " a , b\t\n 1,\t2 \n3 , -.5\n",
    "\"a\",\"b\"\n\"1\", \"2\" \n\"3\",\"-0.5\"\n",
    "a,b\n+1,2.0e0\n30e-1,-5E-1\n",
};

START_TEST(tables_are_read_as_programs_write_them)
{
    heed_csv_columns columns;
    heed_tensor *x = parse(tables[_i], (heed_csv_options){.columns = &columns});
    expect_shape(x, HEED_SHAPE(2, 2));
    EXPECT_VALUES(x, 0, 1, 2, 3, -0.5);
    ck_assert_int_eq(x->dtype, HEED_F32);
    ck_assert_int_eq(columns.count, 2);
    ck_assert_str_eq(columns.column[0].name, "a");
    ck_assert_str_eq(columns.column[1].name, "b");
    heed_csv_columns_free(&columns);
}
END_TEST

START_TEST(options_are_heeded)
{
    heed_csv_columns columns;
    heed_tensor *x =
        parse("1;2\n3;4\n",
              (heed_csv_options){
                  .delimiter = ';', .no_header = true, .dtype = HEED_F64, .columns = &columns});
    EXPECT_VALUES(x, 0, 1, 2, 3, 4);
    ck_assert_int_eq(x->dtype, HEED_F64);
    ck_assert(columns.count == 2 && columns.column[0].name == NULL);
    heed_csv_columns_free(&columns);
    x = parse("1\xFF"
              "2\n",
              (heed_csv_options){.delimiter = '\xFF', .no_header = true});
    EXPECT_VALUES(x, 0, 1, 2);
    x = parse("a\tb\n1\t\n\t4\n", (heed_csv_options){.delimiter = '\t', .missing_nan = true});
    EXPECT_VALUES(x, 0, 1, (double)NAN, (double)NAN, 4);
    x = parse("a\n9223372036854775807\n-9223372036854775808\n+7\n",
              (heed_csv_options){.dtype = HEED_I64});
    expect_shape(x, HEED_SHAPE(3, 1));
    const int64_t *values = heed_const_data_i64(x);
    ck_assert(values[0] == INT64_MAX && values[1] == INT64_MIN && values[2] == 7);
    x = parse("a,b\ninf,-Infinity\nnan,NaN\n", (heed_csv_options){0});
    EXPECT_VALUES(x, 0, (double)INFINITY, -(double)INFINITY, (double)NAN, (double)NAN);
    x = parse("a,\"b,\"\"c\"\"\nd\"\n", (heed_csv_options){.columns = &columns});
    expect_shape(x, HEED_SHAPE(0, 2));
    ck_assert_str_eq(columns.column[1].name, "b,\"c\"\nd");
    heed_csv_columns_free(&columns);
    heed_csv_columns_free(&columns);
}
END_TEST

/* A part of Fisher's iris table. */
START_TEST(columns_of_text_become_classes)
{
    static const char iris[] = "sepal_length,petal_width,species\n"
                               "5.1,0.2,Iris-setosa\n7.0,1.4,Iris-versicolor\n"
                               "4.9,0.2,Iris-setosa\n6.3,2.5,\"Iris-virginica\"\n";
    heed_csv_columns columns;
    heed_tensor *x = parse(iris, (heed_csv_options){.text_classes = true, .columns = &columns});
    expect_shape(x, HEED_SHAPE(4, 3));
    EXPECT_VALUES(heed_select(x, 1, 2), 0, 0, 1, 0, 2);
    ck_assert(columns.column[0].class_count == 0 && columns.column[2].class_count == 3);
    ck_assert_str_eq(columns.column[2].classes[1], "Iris-versicolor");
    ck_assert_str_eq(columns.column[2].classes[2], "Iris-virginica");
    heed_csv_columns_free(&columns);
    x = parse("yes,1\n0,2\nyes,3\n",
              (heed_csv_options){.no_header = true, .text_classes = true, .dtype = HEED_I64});
    EXPECT_VALUES(x, 0, 0, 1, 1, 2, 0, 3);
}
END_TEST

/* ---- rejected ---- */

static const heed_csv_options none = {0}, i64 = {.dtype = HEED_I64}, f64 = {.dtype = HEED_F64},
                              bare = {.no_header = true}, text = {.text_classes = true};
static const struct {
    const char *table;
    const heed_csv_options *options;
    heed_status status;
    const char *message;
} refused[] = {
    {"", &none, HEED_ERR_FORMAT, "the table is empty"},
    {"\xEF\xBB\xBF\n \n", &none, HEED_ERR_FORMAT, "the table is empty"},
    {"a,b\n1,2\n3,\n", &none, HEED_ERR_FORMAT,
     "line 3, column 2 (b): missing value; .missing_nan reads it as NaN"},
    {"1,2\n,3\n", &bare, HEED_ERR_FORMAT, "line 2, column 1: missing value"},
    {"a\n\"\"\n", &none, HEED_ERR_FORMAT, "line 2, column 1 (a): missing value"},
    {"a,b\n1,2\n3,4,5\n", &none, HEED_ERR_FORMAT, "line 3 has 3 cells, but line 1 has 2"},
    {"\n\na,b\r\n\r\n1,2\r\n3\r\n", &none, HEED_ERR_FORMAT, "line 6 has 1 cells, but line 3 has 2"},
    {"a,b\n1,x2\n", &none, HEED_ERR_FORMAT,
     "line 2, column 2 (b): 'x2' is not a number; .text_classes reads text columns"},
    {"a,b\n1,2\n1,two\n", &text, HEED_ERR_FORMAT,
     "line 3, column 2 (b): 'two' is not a number, but the column begins with one"},
    {"a,b\n1,2\nx,3\n", &text, HEED_ERR_FORMAT,
     "line 3, column 1 (a): 'x' is not a number, but the column begins with one"},
    {"a\n0x10\n", &none, HEED_ERR_FORMAT, "'0x10' is not a number"},
    {"a\n1 2\n", &none, HEED_ERR_FORMAT, "'1 2' is not a number"},
    {"a\ninfinit\n", &none, HEED_ERR_FORMAT, "'infinit' is not a number"},
    {"a\n1.0\n", &i64, HEED_ERR_FORMAT, "'1.0' is not an i64: digits and a sign, without a point"},
    {"a\n1e3\n", &i64, HEED_ERR_FORMAT, "'1e3' is not an i64"},
    {"a\n-\n", &i64, HEED_ERR_FORMAT, "'-' is not an i64"},
    {"a\n9223372036854775808\n", &i64, HEED_ERR_VALUE, "9223372036854775808 is too large for i64"},
    {"a\n3.5e38\n", &none, HEED_ERR_VALUE,
     "line 2, column 1 (a): 3.5e38 is too large for f32; try .dtype = HEED_F64"},
    {"a\n1e309\n", &none, HEED_ERR_VALUE, "1e309 is too large for f64"},
    {"a\n-1e309\n", &f64, HEED_ERR_VALUE, "-1e309 is too large for f64"},
    {"a,b\n\"1\n\n,2\n", &none, HEED_ERR_FORMAT, "line 2, column 1 (a): the quote is not closed"},
    {"a\n\"1\"2\n", &none, HEED_ERR_FORMAT, "unexpected text after the closing quote"},
    {"a\n\"1\n2\",\n", &none, HEED_ERR_FORMAT, "line 2, column 1 (a): '1?2' is not a number"},
    {"\033[2J\n\033[31m\n", &none, HEED_ERR_FORMAT, "line 2, column 1 (?[2J): '?[31m' is not"},
};

START_TEST(mistakes_are_refused_with_line_and_column)
{
    heed_csv_columns columns = {.count = 99};
    heed_csv_options options = *refused[_i].options;
    options.columns = &columns;
    ck_assert_ptr_null(parse(refused[_i].table, options));
    ck_assert(columns.count == 0 && columns.column == NULL);
    ck_assert_ptr_nonnull(strstr(heed_error_message(), "parse_csv: t.csv: "));
    expect_error(refused[_i].status, refused[_i].message);
}
END_TEST

START_TEST(binary_and_endless_cells_are_refused)
{
    static const char utf16[] = "a\0,\0b\0";
    ck_assert_ptr_null(heed_parse_csv(utf16, sizeof utf16, "u.csv", none));
    expect_error(HEED_ERR_FORMAT, "parse_csv: u.csv: line 1, column 1: a zero byte; save the table "
                                  "as UTF-8 text");
    const size_t size = 70000;
    char *long_cell = malloc(size);
    memset(long_cell, '1', size);
    ck_assert_ptr_null(heed_parse_csv(long_cell, size, "l.csv", bare));
    expect_error(HEED_ERR_FORMAT, "the cell is longer than 65535 bytes");
    heed_tensor *x = heed_parse_csv(long_cell, 300, "l.csv",
                                    (heed_csv_options){.no_header = true, .dtype = HEED_F64});
    EXPECT_VALUES(x, 1e285, 1.1111111111111111e299);
    free(long_cell);
}
END_TEST

START_TEST(classes_are_limited)
{
    char *table = malloc(20000), *to = table;
    to += sprintf(to, "id\n");
    for (int i = 0; i < 1001; i++) {
        to += sprintf(to, "name%d\n", i);
    }
    heed_tensor *x =
        heed_parse_csv(table, (size_t)(strstr(table, "name1000") - table), "c.csv", text);
    expect_shape(x, HEED_SHAPE(1000, 1));
    EXPECT_VALUES(heed_select(x, 0, 999), 0, 999);
    ck_assert_ptr_null(parse(table, text));
    expect_error(HEED_ERR_VALUE, "parse_csv: t.csv: line 1002, column 1 (id): 'name1000' would be "
                                 "class 1001; a text column can have at most 1000 classes");
    free(table);
}
END_TEST

/* ---- files ---- */

/* Larger than the chunks in which files are read, with cells across chunk borders. */
START_TEST(files_are_read_in_pieces)
{
    enum { ROWS = 30000 };
    char *bytes = malloc(ROWS * 40 + 10), *to = bytes;
    to += sprintf(to, "x,\"y\"\r\n");
    for (int i = 0; i < ROWS; i++) {
        to += sprintf(to, "%d,\"%.17g\"\r\n", i, i / 7.0);
    }
    write_bytes(in_folder("large.csv"), bytes, (size_t)(to - bytes));
    heed_tensor *x = heed_load_csv(in_folder("large.csv"), f64);
    expect_shape(x, HEED_SHAPE(30000, 2));
    const double *values = heed_const_data_f64(x);
    for (int i = 0; i < ROWS; i++) {
        ck_assert(values[2 * i] == i && values[2 * i + 1] == i / 7.0);
    }
    ck_assert(heed_equal(x, heed_parse_csv(bytes, (size_t)(to - bytes), "t.csv", f64)));
    free(bytes);
}
END_TEST

/* On error the columns are empty, so freeing them is safe. */
START_TEST(columns_are_empty_while_an_error_is_pending)
{
    heed_csv_columns columns = {.count = 99};
    heed_zeros(HEED_SHAPE(-1), HEED_F32);
    ck_assert_ptr_null(parse("a\n1\n", (heed_csv_options){.columns = &columns}));
    ck_assert(columns.count == 0 && columns.column == NULL);
    expect_error(HEED_ERR_SHAPE, "zeros");
}
END_TEST

START_TEST(errors_name_the_file)
{
    write_bytes(in_folder("file"), "a\nb\n", 4);
    ck_assert_ptr_null(heed_load_csv(in_folder("file"), none));
    expect_error_of_file(HEED_ERR_FORMAT, "load_csv", "line 2, column 1 (a): 'b' is not a number");
}
END_TEST

void add_csv_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "csv");
    tcase_add_loop_test(tests, numbers_are_those_of_strtod, 0, sizeof numbers / sizeof *numbers);
    tcase_add_test(tests, a_distant_digit_decides);
    tcase_add_test(tests, random_doubles_come_back);
    lacking(has_comma_locale() ? NULL : "no locale has a decimal comma");
    tcase_add_test(tests, the_locale_does_not_matter);
    lacking(NULL);
    tcase_add_loop_test(tests, tables_are_read_as_programs_write_them, 0,
                        sizeof tables / sizeof *tables);
    tcase_add_test(tests, options_are_heeded);
    tcase_add_test(tests, columns_of_text_become_classes);
    tcase_add_loop_test(tests, mistakes_are_refused_with_line_and_column, 0,
                        sizeof refused / sizeof *refused);
    tcase_add_test(tests, binary_and_endless_cells_are_refused);
    tcase_add_test(tests, classes_are_limited);
    tcase_add_test(tests, files_are_read_in_pieces);
    tcase_add_test(tests, columns_are_empty_while_an_error_is_pending);
    tcase_add_test(tests, errors_name_the_file);
}
