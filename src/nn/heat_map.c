/* Heat maps as text: vertical column labels, and cells with a percentage and a shade or color. */
#include "heat_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tensor/read.h"

enum { CELL = 4, MOST_LABEL = 16 };

/* ---- UTF-8: a character starts at each byte that is not a continuation byte ---- */

static bool starts_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

static int count_characters(const char *text)
{
    int count = 0;
    for (; text != NULL && *text != '\0'; text++) {
        count += starts_character(*text);
    }
    return count < MOST_LABEL ? count : MOST_LABEL;
}

/* Prints character `i`, or a blank past the end. Control characters are replaced: they could break
 * the layout or send commands to the terminal. */
static void print_character(FILE *stream, const char *text, int i)
{
    while (text != NULL && *text != '\0' && (!starts_character(*text) || i-- > 0)) {
        text++;
    }
    if (text == NULL || *text == '\0') {
        fputc(' ', stream);
    } else if ((unsigned char)*text < 0x20 || *text == 0x7f) {
        fputc('?', stream);
    } else {
        do {
            fputc(*text++, stream);
        } while (*text != '\0' && !starts_character(*text));
    }
}

static int longest(const char *const *labels, int64_t count)
{
    int most = 0;
    for (int64_t i = 0; labels != NULL && i < count; i++) {
        int length = count_characters(labels[i]);
        most = length > most ? length : most;
    }
    return most;
}

/* ---- labels and cells ---- */

static void print_row_label(FILE *stream, const char *label, int width)
{
    int length = count_characters(label);
    fprintf(stream, "%*s", width - length, "");
    for (int i = 0; i < length; i++) {
        print_character(stream, label, i);
    }
}

/* Column labels run downwards and end just above the cells. */
static void print_column_labels(FILE *stream, const char *const *labels, int64_t count, int margin)
{
    const int height = longest(labels, count);
    for (int line = 0; line < height; line++) {
        fprintf(stream, "%*s", margin, "");
        for (int64_t i = 0; i < count; i++) {
            const int skipped = height - count_characters(labels[i]);
            fprintf(stream, "%*s", CELL - 1, "");
            print_character(stream, line < skipped ? "" : labels[i], line - skipped);
        }
        fputc('\n', stream);
    }
}

/* A percentage on a background from dark grey to yellow, or after a shade character. */
static void print_cell(FILE *stream, double weight, bool color)
{
    static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
    /* xterm's 256 colors: grey, then from dark red to yellow */
    static const int backgrounds[] = {233, 52, 88, 124, 160, 202, 208, 214, 220, 226};
    const double percent = 100 * weight;
    if (isnan(percent)) {
        fputs(" NaN", stream);
        return;
    }
    const double share = weight < 0 ? 0 : weight > 1 ? 1 : weight;
    if (color) {
        int step = (int)(share * 9.999);
        fprintf(stream, "\033[48;5;%dm\033[38;5;%dm%*.0f\033[0m", backgrounds[step],
                step > 4 ? 16 : 252, CELL, percent);
    } else if (percent < 0.5) {
        fprintf(stream, "%*s·", CELL - 1, "");
    } else {
        fprintf(stream, "%s%*.0f", shades[(int)(share * 4.999)], CELL - 1, percent);
    }
}

static bool wants_color(FILE *stream, heed_color color)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    if (color != HEED_COLOR_AUTO) {
        return color == HEED_COLOR_ALWAYS;
    }
    return isatty(fileno(stream)) && (no_color == NULL || *no_color == '\0') && term != NULL &&
           strcmp(term, "dumb") != 0;
}

heed_status heed_heat_map(FILE *stream, heed_tensor *weights, const char *const *row_labels,
                          const char *const *column_labels, heed_color color)
{
    if (heed_error_pending() || stream == NULL || weights == NULL) {
        return heed_fail(HEED_ERR_NULL, "heat_map: stream or weights is NULL");
    }
    if (weights->ndim != 2) {
        return heed_fail(
            HEED_ERR_SHAPE,
            "heat_map: weights have %d dims, not 2 (rows, columns); pick one with heed_select",
            weights->ndim);
    }
    if (!heed_is_float(weights->dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "heat_map: weights are %s, not a float",
                         heed_dtype_name(weights->dtype));
    }
    if (weights->storage == NULL) {
        return heed_fail(HEED_ERR_SCOPE, "heat_map: the value of weights has been freed");
    }
    const int64_t rows = heed_size(weights, 0), columns = heed_size(weights, 1);
    const int margin = longest(row_labels, rows) + 1;
    const bool colored = wants_color(stream, color);
    print_column_labels(stream, column_labels, column_labels != NULL ? columns : 0, margin);
    for (int64_t i = 0; i < rows; i++) {
        print_row_label(stream, row_labels != NULL ? row_labels[i] : "", margin - 1);
        fputc(' ', stream);
        for (int64_t j = 0; j < columns; j++) {
            print_cell(stream, heed_at(weights, HEED_INDEX(i, j)), colored);
        }
        fputc('\n', stream);
    }
    return heed_error_pending();
}
