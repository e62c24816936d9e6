/* Heat maps as text: vertical column labels, and cells with a percentage and a shade or color. */
#include "heat_map.h"

#include <math.h>

#include "../tensor/read.h"
#include "terminal.h"

enum { MOST_LABEL = 16 };

static void print_blanks(FILE *stream, int64_t count)
{
    fprintf(stream, "%*s", count > 0 ? (int)count : 0, "");
}

/* ---- cells ---- */

/* A percentage on a background from dark grey to light green, or after a shade character. Narrow
 * cells show only the background or the shade. */
static void print_cell(const heed_heat *m, double weight)
{
    static const char *const blocks[] = {" ", "░", "▒", "▓", "█"};
    static const char *const ascii[] = {" ", ":", "=", "*", "#", "@"};
    /* xterm's 256 colors: grey, then green, from dark to light */
    static const int backgrounds[] = {233, 22, 23, 29, 35, 36, 42, 79, 121, 158};
    const bool is_ascii = (m->style & HEED_LABEL_ASCII) != 0;
    const char *const *const shades = is_ascii ? ascii : blocks;
    const int darkest = is_ascii ? 5 : 4;
    const double percent = 100 * weight;
    const double share = weight < 0 ? 0 : weight > 1 ? 1 : weight;
    const bool is_wide = m->cell == 4;
    if (isnan(percent)) {
        fprintf(m->stream, "%*s", m->cell, is_wide ? "NaN" : "?");
    } else if (m->colored) {
        const int step = (int)(share * 9.999);
        fprintf(m->stream, "\033[48;5;%dm\033[38;5;%dm", backgrounds[step], step > 2 ? 16 : 252);
        if (is_wide) {
            fprintf(m->stream, "%4.0f", percent);
        } else {
            print_blanks(m->stream, m->cell);
        }
        fputs("\033[0m", m->stream);
    } else if (is_wide && percent < 0.5) {
        fprintf(m->stream, "   %s", is_ascii ? "." : "·");
    } else if (is_wide) {
        fprintf(m->stream, "%s%3.0f", shades[(int)(share * (darkest + 0.999))], percent);
    } else {
        const char *shade = percent < 0.5 ? " " : shades[1 + (int)(share * (darkest - 0.001))];
        fprintf(m->stream, "%s%s", shade, m->cell == 2 ? shade : "");
    }
}

/* ---- lines ---- */

int64_t heed_heat_fit(heed_heat *m, int width)
{
    const int most = width == 0 || width / 3 > MOST_LABEL ? MOST_LABEL : 1 + width / 3;
    m->style = heed_label_terminal() | HEED_LABEL_TOKEN;
    m->label = 0;
    for (int64_t i = 0; m->row_labels != NULL && i < m->rows; i++) {
        const int columns = heed_label_columns(m->row_labels[i], most, m->style);
        m->label = columns > m->label ? columns : m->label;
    }
    const int64_t left = width > m->label + 1 ? width - m->label - 1 : 1;
    for (m->cell = 4; width > 0 && m->cell > 1 && m->columns * m->cell > left; m->cell /= 2) {
    }
    return width > 0 && m->columns * m->cell > left ? left : m->columns;
}

int heed_heat_labels(const heed_heat *m)
{
    heed_glyph glyphs[MOST_LABEL];
    int height = 0;
    for (int64_t j = m->first; m->column_labels != NULL && j < m->end; j++) {
        const int count = heed_label_glyphs(m->column_labels[j], glyphs, MOST_LABEL, m->style);
        height = count > height ? count : height;
    }
    return height;
}

/* Glyph i of a column label, or a blank. */
static void print_glyph(const heed_heat *m, const heed_glyph *glyphs, int i)
{
    heed_glyph glyph = i >= 0 ? glyphs[i] : (heed_glyph){" ", 1, 1};
    if (glyph.columns > m->cell) {
        glyph = (heed_glyph){"?", 1, 1};
    }
    print_blanks(m->stream, m->cell - glyph.columns);
    fprintf(m->stream, "%.*s", glyph.length, glyph.bytes);
}

/* Column labels run downwards and end just above the cells. */
void heed_heat_line(const heed_heat *m, int64_t line, int64_t head, bool labelled)
{
    heed_glyph glyphs[MOST_LABEL];
    if (labelled) {
        const char *label = line >= 0 && m->row_labels != NULL ? m->row_labels[line] : "";
        print_blanks(m->stream, m->label - heed_label_columns(label, m->label, m->style));
        heed_label_put(m->stream, label, m->label, m->style);
        fputc(' ', m->stream);
    }
    for (int64_t j = m->first; j < m->end; j++) {
        if (line >= 0) {
            print_cell(m, heed_heat_at(m->weights, head, line, j));
        } else {
            const int count = heed_label_glyphs(m->column_labels[j], glyphs, MOST_LABEL, m->style);
            print_glyph(m, glyphs, count + (int)line);
        }
    }
}

/* ---- a matrix ---- */

heed_status heed_heat_check(const char *function, FILE *stream, heed_tensor *weights)
{
    if (heed_error_pending() || stream == NULL || weights == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: stream or weights is NULL", function);
    }
    if (!heed_is_float(weights->dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "%s: weights are %s, not a float", function,
                         heed_dtype_name(weights->dtype));
    }
    if (weights->storage == NULL) {
        return heed_fail(HEED_ERR_SCOPE, "%s: the value of weights has been freed", function);
    }
    return HEED_OK;
}

double heed_heat_at(const heed_tensor *weights, int64_t head, int64_t row, int64_t column)
{
    return weights->ndim == 3 ? heed_at(weights, HEED_INDEX(head, row, column))
                              : heed_at(weights, HEED_INDEX(row, column));
}

heed_status heed_heat_map(FILE *stream, heed_tensor *weights, const char *const *row_labels,
                          const char *const *column_labels, heed_color color)
{
    if (heed_heat_check("heat_map", stream, weights) != HEED_OK) {
        return heed_error_pending();
    }
    if (weights->ndim != 2) {
        return heed_fail(
            HEED_ERR_SHAPE,
            "heat_map: weights have %d dims, not 2 (rows, columns); pick one with heed_select",
            weights->ndim);
    }
    heed_heat m = {.stream = stream,
                   .weights = weights,
                   .rows = heed_size(weights, 0),
                   .columns = heed_size(weights, 1),
                   .row_labels = row_labels,
                   .column_labels = column_labels,
                   .colored = color == HEED_COLOR_ALWAYS ||
                              (color == HEED_COLOR_AUTO && heed_terminal_has_color(stream))};
    const int64_t block = heed_heat_fit(&m, heed_terminal_columns(stream, 0));
    do { /* blocks of columns, one below the other */
        m.first = m.end;
        m.end = m.first + block < m.columns ? m.first + block : m.columns;
        fputs(m.first > 0 ? "\n" : "", stream);
        for (int64_t line = -heed_heat_labels(&m); line < m.rows; line++) {
            heed_heat_line(&m, line, 0, true);
            fputc('\n', stream);
        }
    } while (m.end < m.columns);
    return heed_error_pending();
}
