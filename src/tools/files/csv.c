/* Reads CSV byte by byte into cells, rows and a growing array. Memory is bounded by the size of the
 * table, even if it is malformed. */
#include "csv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../nn/arguments.h"
#include "../../tensor/alloc.h"
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/scope.h"
#include "../../tensor/text.h"
#include "file_io.h"

enum { CHUNK = 1 << 16, MOST_CELL = (1 << 16) - 1, MOST_CLASSES = 1000, END = -1 };

typedef struct csv_reader {
    const char *function, *name; /* for error messages */
    heed_csv_options options;
    int delimiter;       /* a byte: never END */
    heed_file_reader in; /* in.size is 0 for text in memory */
    int64_t at;          /* offset of the next chunk */
    const char *next, *end;
    int64_t line, first_line;    /* of the next byte, from 1; of the first row */
    int64_t row_line, cell_line; /* first lines of this row and this cell */
    bool after_return;           /* the last byte was a CR */
    heed_csv_columns columns;
    int64_t columns_reserved;
    int64_t cells; /* read in this row */
    void *values;  /* of the dtype */
    int64_t count, reserved;
    int ended;   /* what ended the cell: the delimiter, '\n' or END */
    bool quoted; /* the cell was quoted */
    size_t length;
    char cell[MOST_CELL + 1];
    char chunk[CHUNK];
} csv_reader;

/* ---- errors ---- */

/* Names the line of the cell, its column, and the column's name. */
static HEED_PRINTF(3, 4) heed_status
    fail_cell(const csv_reader *r, heed_status status, const char *format, ...)
{
    char what[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const char *name = r->cells < r->columns.count ? r->columns.column[r->cells].name : NULL;
    return heed_fail_at(status, r->function, r->name, "line %lld, column %lld%s%s%s: %s",
                        (long long)r->cell_line, (long long)r->cells + 1, name != NULL ? " (" : "",
                        name != NULL ? heed_show_name(name).text : "", name != NULL ? ")" : "",
                        what);
}

/* ---- bytes ---- */

static bool refill(csv_reader *r)
{
    const int64_t left = r->in.size - r->at, size = left < CHUNK ? left : CHUNK;
    if (size <= 0 || heed_reader_read(&r->in, r->function, r->chunk, size, r->at) != HEED_OK) {
        return false;
    }
    r->at += size;
    r->next = r->chunk;
    r->end = r->chunk + size;
    return true;
}

/* The next byte, with CR and CR LF as '\n'; END at the end and on error. */
static int next_byte(csv_reader *r)
{
    for (;;) {
        if (r->next == r->end && !refill(r)) {
            return END;
        }
        const unsigned char c = (unsigned char)*r->next++;
        const bool second = c == '\n' && r->after_return;
        r->after_return = c == '\r';
        if (second) {
            continue;
        }
        if (c == '\r' || c == '\n') {
            r->line++;
            return '\n';
        }
        return c;
    }
}

static void skip_byte_order_mark(csv_reader *r)
{
    if (r->next == r->end) {
        refill(r);
    }
    if (r->end - r->next >= 3 && memcmp(r->next, "\xEF\xBB\xBF", 3) == 0) {
        r->next += 3;
    }
}

/* ---- cells ---- */

static bool is_blank(const csv_reader *r, int c)
{
    return (c == ' ' || c == '\t') && c != r->delimiter;
}

static bool ends_cell(const csv_reader *r, int c)
{
    return c == r->delimiter || c == '\n' || c == END;
}

static bool add_byte(csv_reader *r, int c)
{
    if (c == '\0') {
        fail_cell(r, HEED_ERR_FORMAT, "a zero byte; save the table as UTF-8 text");
        return false;
    }
    if (r->length == MOST_CELL) {
        fail_cell(r, HEED_ERR_FORMAT, "the cell is longer than %d bytes", MOST_CELL);
        return false;
    }
    r->cell[r->length++] = (char)c;
    return true;
}

/* Reads the rest of a quoted cell; returns the byte that ends it, or the first invalid byte after
 * it. */
static int read_quoted(csv_reader *r)
{
    for (;;) {
        int c = next_byte(r);
        if (c == END) {
            if (!heed_error_pending()) {
                fail_cell(r, HEED_ERR_FORMAT, "the quote is not closed");
            }
            return END;
        }
        if (c == '"') {
            c = next_byte(r);
            if (c != '"') {
                while (is_blank(r, c)) {
                    c = next_byte(r);
                }
                return c;
            }
        }
        if (!add_byte(r, c)) {
            return END;
        }
    }
}

/* Reads a cell without the blanks around it. */
static heed_status read_cell(csv_reader *r)
{
    r->length = 0;
    r->cell_line = r->line;
    int c = next_byte(r);
    while (is_blank(r, c)) {
        c = next_byte(r);
    }
    r->quoted = c == '"';
    if (r->quoted) {
        c = read_quoted(r);
        if (!heed_error_pending() && !ends_cell(r, c)) {
            return fail_cell(r, HEED_ERR_FORMAT, "unexpected text after the closing quote");
        }
    } else {
        while (!ends_cell(r, c) && add_byte(r, c)) {
            c = next_byte(r);
        }
        while (r->length > 0 && is_blank(r, r->cell[r->length - 1])) {
            r->length--;
        }
    }
    r->cell[r->length] = '\0';
    r->ended = c;
    return heed_error_pending();
}

/* ---- numbers ---- */

/* inf, infinity or nan, in any case. */
static bool read_word(const char *cell, double *value)
{
    const char *start = cell + (*cell == '-' || *cell == '+');
    char word[10] = "";
    for (int i = 0; i < 9 && start[i] != '\0'; i++) {
        word[i] = (char)(start[i] | 32);
    }
    const bool infinite = strcmp(word, "inf") == 0 || strcmp(word, "infinity") == 0;
    *value = copysign(infinite ? (double)INFINITY : (double)NAN, *cell == '-' ? -1 : 1);
    return infinite || strcmp(word, "nan") == 0;
}

/* Reads the whole cell as a number; *finite is false for inf and nan. */
static bool read_number(const char *cell, double *value, bool *finite)
{
    const char *end = heed_read_decimal(cell, value);
    *finite = end != NULL;
    return end != NULL ? *end == '\0' : read_word(cell, value);
}

/* ---- values ---- */

/* Adds the whole number if the dtype is i64. */
static heed_status add_number(csv_reader *r, double value, int64_t whole)
{
    void *grown = heed_grow(r->values, r->count, &r->reserved, heed_dtype_size(r->options.dtype));
    if (grown == NULL) {
        return heed_error_pending();
    }
    r->values = grown;
    switch (r->options.dtype) {
    case HEED_F32:
        ((float *)grown)[r->count++] = (float)value;
        break;
    case HEED_F64:
        ((double *)grown)[r->count++] = value;
        break;
    default:
        ((int64_t *)grown)[r->count++] = whole;
    }
    return HEED_OK;
}

static heed_status fail_large(const csv_reader *r, heed_dtype dtype)
{
    return fail_cell(r, HEED_ERR_VALUE, "%s is too large for %s%s", heed_show_name(r->cell).text,
                     heed_dtype_name(dtype), dtype == HEED_F32 ? "; try .dtype = HEED_F64" : "");
}

static heed_status add_whole(csv_reader *r)
{
    int64_t value = 0;
    bool fits = false;
    const bool negative = *r->cell == '-';
    const char *first = r->cell + (negative || *r->cell == '+');
    const char *end = heed_read_digits(first, negative, &value, &fits);
    if (end == first || *end != '\0') {
        return fail_cell(r, HEED_ERR_FORMAT,
                         "'%s' is not an i64: digits and a sign, without a point",
                         heed_show_name(r->cell).text);
    }
    return fits ? add_number(r, 0, value) : fail_large(r, HEED_I64);
}

static heed_status add_float(csv_reader *r)
{
    double value = 0;
    bool finite = false;
    if (!read_number(r->cell, &value, &finite)) {
        return fail_cell(r, HEED_ERR_FORMAT, "'%s' is not a number%s", heed_show_name(r->cell).text,
                         r->options.text_classes
                             ? ", but the column begins with one"
                             : "; .text_classes reads text columns as class ids");
    }
    const double rounded = r->options.dtype == HEED_F32 ? (double)(float)value : value;
    return finite && isinf(rounded) ? fail_large(r, isinf(value) ? HEED_F64 : HEED_F32)
                                    : add_number(r, value, 0);
}

/* ---- columns ---- */

/* A copy of the cell; NULL on error. */
static char *copy_cell(const csv_reader *r)
{
    char *copy = heed_alloc(r->length + 1);
    return copy != NULL ? memcpy(copy, r->cell, r->length + 1) : NULL;
}

static heed_status add_column(csv_reader *r, bool named)
{
    heed_csv_columns *columns = &r->columns;
    heed_csv_column *grown =
        heed_grow(columns->column, columns->count, &r->columns_reserved, sizeof *grown);
    if (grown != NULL) {
        columns->column = grown;
        grown[columns->count++] = (heed_csv_column){.name = named ? copy_cell(r) : NULL};
    }
    return heed_error_pending();
}

static heed_status add_class(csv_reader *r, heed_csv_column *column)
{
    int64_t id = 0;
    while (id < column->class_count && strcmp(column->classes[id], r->cell) != 0) {
        id++;
    }
    if (id == MOST_CLASSES) {
        return fail_cell(r, HEED_ERR_VALUE,
                         "'%s' would be class %d; a text column can have at most %d classes",
                         heed_show_name(r->cell).text, MOST_CLASSES + 1, MOST_CLASSES);
    }
    if (id == column->class_count) {
        char **grown = heed_realloc(column->classes, (size_t)(id + 1) * sizeof *grown);
        if (grown == NULL) {
            return heed_error_pending();
        }
        column->classes = grown;
        grown[column->class_count++] = copy_cell(r);
    }
    return heed_error_pending() ? heed_error_pending() : add_number(r, (double)id, id);
}

/* True if this is the first cell of its column and text, which makes the column one of class
 * ids. */
static bool begins_classes(const csv_reader *r)
{
    double value = 0;
    bool finite = false;
    return r->options.text_classes && r->count < r->columns.count &&
           !read_number(r->cell, &value, &finite);
}

static heed_status add_value(csv_reader *r)
{
    heed_csv_column *column = &r->columns.column[r->cells];
    if (r->length == 0) {
        return r->options.missing_nan
                   ? add_number(r, (double)NAN, 0)
                   : fail_cell(r, HEED_ERR_FORMAT, "missing value; .missing_nan reads it as NaN");
    }
    return column->classes != NULL || begins_classes(r) ? add_class(r, column)
           : r->options.dtype == HEED_I64               ? add_whole(r)
                                                        : add_float(r);
}

/* ---- rows ---- */

/* The first row, header or not, defines the columns. */
static heed_status read_row(csv_reader *r)
{
    const bool first = r->columns.count == 0, header = first && !r->options.no_header;
    r->cells = 0;
    r->row_line = r->line;
    do {
        if (read_cell(r) != HEED_OK) {
            return heed_error_pending();
        }
        if (r->cells == 0 && r->length == 0 && !r->quoted && r->ended != r->delimiter) {
            return HEED_OK; /* a blank line, or the end */
        }
        if (first && add_column(r, header) != HEED_OK) {
            return heed_error_pending();
        }
        if (!header && r->cells < r->columns.count && add_value(r) != HEED_OK) {
            return heed_error_pending();
        }
        r->cells++;
    } while (r->ended == r->delimiter);
    if (first) {
        r->first_line = r->row_line;
    }
    return r->cells == r->columns.count
               ? HEED_OK
               : heed_fail_at(HEED_ERR_FORMAT, r->function, r->name,
                              "line %lld has %lld cells, but line %lld has %lld",
                              (long long)r->row_line, (long long)r->cells, (long long)r->first_line,
                              (long long)r->columns.count);
}

static heed_tensor *read_table(csv_reader *r)
{
    skip_byte_order_mark(r);
    do {
        if (read_row(r) != HEED_OK) {
            return NULL;
        }
    } while (r->ended != END);
    if (r->columns.count == 0) {
        heed_fail_at(HEED_ERR_FORMAT, r->function, r->name, "the table is empty");
        return NULL;
    }
    return heed_from_values(r->values, (size_t)r->count * heed_dtype_size(r->options.dtype),
                            HEED_SHAPE(r->count / r->columns.count, r->columns.count),
                            r->options.dtype);
}

/* ---- the public functions ---- */

static heed_status check_options(const char *function, const heed_csv_options *options)
{
    if (options->columns != NULL) {
        *options->columns = (heed_csv_columns){0};
    }
    if (heed_error_pending() || heed_check_scope(function) != HEED_OK) {
        return heed_error_pending();
    }
    if (options->delimiter != '\0' && strchr("\"\r\n.", options->delimiter) != NULL) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: the delimiter cannot be a quote, a point or a line break", function);
    }
    if (options->dtype != HEED_I64 && !heed_is_float(options->dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "%s: dtype must be f32, f64 or i64, not %s", function,
                         heed_dtype_name(options->dtype));
    }
    return options->dtype == HEED_I64 && options->missing_nan
               ? heed_fail(HEED_ERR_DTYPE, "%s: i64 has no NaN; use f32 or f64 with .missing_nan",
                           function)
               : HEED_OK;
}

/* Reads the text, then the file; one of the two is empty. */
static heed_tensor *read_csv(const char *function, const char *name, heed_file_reader in,
                             const char *text, size_t length, heed_csv_options options)
{
    csv_reader *r = heed_alloc(sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    memset(r, 0, offsetof(csv_reader, cell)); /* zeroing all buffers would be slow */
    r->function = function;
    r->name = name;
    r->options = options;
    r->delimiter = options.delimiter != '\0' ? (unsigned char)options.delimiter : ',';
    r->in = in;
    r->next = text;
    r->end = text + length;
    r->line = 1;
    heed_tensor *x = read_table(r);
    heed_free(r->values);
    if (x != NULL && options.columns != NULL) {
        *options.columns = r->columns;
    } else {
        heed_csv_columns_free(&r->columns);
    }
    heed_free(r);
    return x;
}

heed_tensor *heed_load_csv(const char *path, heed_csv_options options)
{
    static const char function[] = "load_csv";
    heed_file_reader in;
    heed_tensor *x = NULL;
    if (check_options(function, &options) != HEED_OK) {
        return NULL;
    }
    if (heed_reader_open(&in, function, path) == HEED_OK) {
        x = read_csv(function, path, in, "", 0, options);
    }
    heed_reader_close(&in);
    return x;
}

heed_tensor *heed_parse_csv(const char *text, size_t length, const char *name,
                            heed_csv_options options)
{
    static const char function[] = "parse_csv";
    if (check_options(function, &options) != HEED_OK ||
        heed_check_not_null(function, "text", text) != HEED_OK ||
        heed_check_not_null(function, "name", name) != HEED_OK) {
        return NULL;
    }
    return read_csv(function, name, (heed_file_reader){.fd = -1}, text, length, options);
}

void heed_csv_columns_free(heed_csv_columns *columns)
{
    if (columns == NULL) {
        return;
    }
    for (int64_t i = 0; i < columns->count; i++) {
        heed_csv_column *column = &columns->column[i];
        for (int64_t j = 0; j < column->class_count; j++) {
            heed_free(column->classes[j]);
        }
        heed_free(column->classes);
        heed_free(column->name);
    }
    heed_free(columns->column);
    *columns = (heed_csv_columns){0};
}
