/* Labels: UTF-8 text from anywhere, prepared for terminals and SVG (internal).
 *
 * Control characters, those that change the text direction, and bytes that are not UTF-8 are shown
 * as "?": they could break the layout, send commands to the terminal, or be forbidden in XML.
 * Columns are those of a terminal: 2 for East Asian wide characters and emoji, 0 for combining
 * marks. They come from our own table because wcwidth depends on the program's locale. */
#ifndef HEED_NN_LABELS_H
#define HEED_NN_LABELS_H

#include <stdbool.h>
#include <stdio.h>

typedef enum heed_label_style {
    HEED_LABEL_ASCII = 1, /* other characters are shown as "?" */
    HEED_LABEL_TOKEN = 2, /* newlines, tabs, and blanks at the ends of words are shown as symbols */
    HEED_LABEL_XML = 4    /* escaped for XML, and backslashes for Graphviz */
} heed_label_style;

/* A character with its combining marks. */
typedef struct heed_glyph {
    const char *bytes;
    int length, columns; /* 0: the end of the label */
} heed_glyph;

/* heed_glyph_at: glyph `i` of a label truncated to `most` glyphs. heed_glyph_count: their number,
 * at most `most`. */
heed_glyph heed_glyph_at(const char *label, int i, int most, unsigned style);
int heed_glyph_count(const char *label, int most, unsigned style);

/* heed_label_columns: the columns of a label truncated to `most` columns, the last of which is then
 * an ellipsis. heed_label_put: prints it and returns its columns. */
int heed_label_columns(const char *label, int most, unsigned style);
int heed_label_put(FILE *stream, const char *label, int most, unsigned style);

/* heed_label_terminal: the style for the terminal: 0, or HEED_LABEL_ASCII unless the locale is
 * UTF-8. */
unsigned heed_label_terminal(void);

#endif
