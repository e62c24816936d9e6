/* Tables of numbers in CSV: RFC 4180 and its common variants, with any delimiter, blanks around
 * cells, blank lines, a byte order mark, lines that end in CR, LF or both, or no line end after the
 * last line.
 *
 *     heed_tensor *x = heed_load_csv("points.csv", (heed_csv_options){0});
 *
 * A cell is a number such as 1, -.5, 1e-3, inf or nan, in any locale. It is rounded correctly to
 * f64 and then to the dtype, as in pandas and torch.tensor. A cell in quotes may contain the
 * delimiter, line breaks, and "" for a quote.
 */
#ifndef HEED_TOOLS_CSV_H
#define HEED_TOOLS_CSV_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* The names of the columns, and the classes of text columns. */
typedef struct heed_csv_column {
    char *name;     /* NULL if the table has no header */
    char **classes; /* in a text column: the text of each class id */
    int64_t class_count;
} heed_csv_column;

typedef struct heed_csv_columns {
    int64_t count;
    heed_csv_column *column;
} heed_csv_columns;

typedef struct heed_csv_options {
    heed_dtype dtype; /* f32 (default), f64, or i64, for whole numbers without a point */
    char delimiter;   /* ',' by default */
    bool no_header;   /* the first line contains values, not names */
    bool missing_nan; /* empty cells become NaN; by default they are errors */
    /* A column whose first cell is text, such as the labels of the iris table, becomes class ids:
     * 0, 1, ... in the order in which the classes appear. By default text is an error. */
    bool text_classes;
    heed_csv_columns *columns; /* receives the names and classes, unless NULL */
} heed_csv_options;

/* heed_load_csv: reads a file into a tensor (rows, columns). heed_parse_csv: likewise from `length`
 * bytes at `text`, which errors call `name`. Files are read in chunks; peak memory is up to three
 * times the size of the values.
 *
 * Errors name the line and the column: "load_csv: iris.csv: line 7, column 3 (petal_width): ..."
 * HEED_ERR_FORMAT: a cell is missing, is not a number or, for i64, not digits and a sign; a row has
 * more or fewer cells than the first; a quote is not closed; a cell is longer than 65535 bytes; the
 * table is empty. HEED_ERR_VALUE: a number is too large for the dtype, a text column has more than
 * 1000 classes, or the delimiter is a quote, a point or a line break. HEED_ERR_DTYPE: bool, or i64
 * with missing_nan. File errors are as in tools/files/safetensors.h. On error *columns is
 * empty. */
heed_tensor *heed_load_csv(const char *path, heed_csv_options options);
heed_tensor *heed_parse_csv(const char *text, size_t length, const char *name,
                            heed_csv_options options);

/* heed_csv_columns_free: frees names and classes, and empties *columns. */
void heed_csv_columns_free(heed_csv_columns *columns);

HEED_END_DECLS
#endif
