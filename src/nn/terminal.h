/* What a terminal can show (internal): its size, colors and characters; labels; weights.
 *
 * A label is UTF-8 text from any source, made safe for terminals, SVG and Graphviz. Control
 * characters, those that change the text direction, and bytes that are not UTF-8 are shown as "?":
 * they could break the layout, send commands to the terminal, or be forbidden in XML. Columns are
 * terminal columns: 2 for East Asian wide characters and emoji, 0 for combining marks. They come
 * from our own table because wcwidth depends on the program's locale. */
#ifndef HEED_NN_TERMINAL_H
#define HEED_NN_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include "../tensor/tensor.h"

/* ---- the stream ---- */

/* heed_terminal_is_smart: the stream is a terminal that understands escape sequences, so a line can
 * be redrawn: TERM is set and is not "dumb". heed_terminal_has_color: likewise, and NO_COLOR is not
 * set. */
bool heed_terminal_is_smart(FILE *stream);
bool heed_terminal_has_color(FILE *stream);

/* heed_terminal_columns: the width of lines: COLUMNS if set, else the terminal's width, else
 * `otherwise`. Changes when the terminal is resized. heed_terminal_lines: likewise, with LINES. */
int heed_terminal_columns(FILE *stream, int otherwise);
int heed_terminal_lines(FILE *stream, int otherwise);

/* ---- labels ---- */

typedef enum heed_label_style {
    HEED_LABEL_ASCII = 1, /* other characters are shown as "?" */
    HEED_LABEL_TOKEN = 2  /* newlines, tabs, and blanks at the ends of words are shown as symbols */
} heed_label_style;

/* heed_label_terminal: the style for the terminal: 0 if the locale of the environment (LC_ALL,
 * LC_CTYPE or LANG, the first that is set) is UTF-8, so blocks and braille can be printed; else
 * HEED_LABEL_ASCII. The program need not call setlocale. */
unsigned heed_label_terminal(void);

/* A character with its combining marks. */
typedef struct heed_glyph {
    const char *bytes;
    int length, columns; /* 0: the end of the label */
} heed_glyph;
typedef void heed_glyph_writer(FILE *stream, heed_glyph glyph);

/* heed_label_glyphs: the glyphs of a label truncated to `most` of them; returns their number. */
int heed_label_glyphs(const char *label, heed_glyph *glyphs, int most, unsigned style);

/* heed_label_columns: the columns of a label truncated to `most` columns, the last of which is then
 * an ellipsis. heed_label_put: prints it and returns its columns. heed_label_write: likewise, with
 * `write` for each glyph. */
int heed_label_columns(const char *label, int most, unsigned style);
int heed_label_put(FILE *stream, const char *label, int most, unsigned style);
int heed_label_write(FILE *stream, const char *label, int most, unsigned style,
                     heed_glyph_writer *write);

/* ---- a heat map, line by line (heat_map.c) ---- */

typedef struct heed_heat {
    FILE *stream;
    heed_tensor *weights; /* (rows, columns) or (heads, rows, columns) */
    int64_t rows, columns;
    const char *const *row_labels, *const *column_labels; /* NULL: none */
    bool colored;
    unsigned style;
    int label, cell;    /* width of the row labels, and of a cell: 4, 2 or 1 */
    int64_t first, end; /* the columns being printed */
} heed_heat;

/* heed_heat_check: the checks of all pictures of weights: not NULL, floats, not freed.
 * heed_heat_at: an element of (rows, columns), or of that head. */
heed_status heed_heat_check(const char *function, FILE *stream, heed_tensor *weights);
double heed_heat_at(const heed_tensor *weights, int64_t head, int64_t row, int64_t column);

/* heed_heat_fit: chooses style, label and cell for lines of `width` columns, 0: any; returns the
 * number of cells that fit in a line. heed_heat_labels: lines that the column labels need.
 * heed_heat_line: prints a row, or, from -heed_heat_labels to -1, a line of the column labels;
 * after the row's label, if `labelled`. */
int64_t heed_heat_fit(heed_heat *m, int width);
int heed_heat_labels(const heed_heat *m);
void heed_heat_line(const heed_heat *m, int64_t line, int64_t head, bool labelled);

#endif
