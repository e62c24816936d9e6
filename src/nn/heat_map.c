/* Heat maps as text: vertical column labels, and cells with a percentage and a shade or colour. */
#include "nn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LABEL = 16 };

typedef struct heat_map {
    FILE *stream;
    bool has_color, utf8;
    int label, cell; /* width of the row labels, and of a cell: 4, 2 or 1 */
} heat_map;

/* The characters of a label as they are printed. */
typedef char shown_label[MOST_LABEL][5];

/* ---- cells ---- */

/* A percentage on a background from dark grey to light green, or after a shade character. Narrow
 * cells show only the background or the shade. */
static void print_cell(const heat_map *m, double weight)
{
    static const char *const blocks[] = {" ", "░", "▒", "▓", "█"};
    static const char *const ascii[] = {" ", ":", "=", "*", "#", "@"};
    /* xterm's 256 colours: grey, then green, from dark to light */
    static const int backgrounds[] = {233, 22, 23, 29, 35, 36, 42, 79, 121, 158};
    const char *const *const shades = m->utf8 ? blocks : ascii;
    const int darkest = m->utf8 ? 4 : 5;
    const double percent = 100 * weight;
    const double share = weight < 0 ? 0 : weight > 1 ? 1 : weight;
    const bool is_wide = m->cell == 4;
    if (isnan(percent)) {
        fprintf(m->stream, "%*s", m->cell, is_wide ? "NaN" : "?");
    } else if (m->has_color) {
        const int step = (int)(share * 9.999);
        fprintf(m->stream, "\033[48;5;%dm\033[38;5;%dm", backgrounds[step], step > 2 ? 16 : 252);
        if (is_wide) {
            fprintf(m->stream, "%4.0f\033[0m", percent);
        } else {
            fprintf(m->stream, "%*s\033[0m", m->cell, "");
        }
    } else if (is_wide && percent < 0.5) {
        fprintf(m->stream, "   %s", m->utf8 ? "·" : ".");
    } else if (is_wide) {
        fprintf(m->stream, "%s%3.0f", shades[(int)(share * (darkest + 0.999))], percent);
    } else {
        const char *shade = percent < 0.5 ? " " : shades[1 + (int)(share * (darkest - 0.001))];
        fprintf(m->stream, "%s%s", shade, m->cell == 2 ? shade : "");
    }
}

/* ---- labels ---- */

/* Controls and directional marks could send commands to the terminal, or reorder a line. */
static bool is_safe(uint32_t code)
{
    return code >= 0x20 && (code < 0x7F || code > 0x9F) && (code < 0x200E || code > 0x200F) &&
           (code < 0x2028 || code > 0x202E) && (code < 0x2066 || code > 0x2069);
}

/* The first characters of a label, with an ellipsis if there are more; returns their number. */
static int read_label(const heat_map *m, const char *label, shown_label shown)
{
    int count = 0;
    uint32_t code;
    for (; label != NULL && *label != '\0' && count < MOST_LABEL; count++) {
        const int length = heed_utf8_read(label, &code); /* sets code to 0 if it is invalid */
        const bool safe = is_safe(code) && (m->utf8 || length == 1);
        snprintf(shown[count], sizeof *shown, "%.*s", safe ? length : 1, safe ? label : "?");
        label += length > 0 ? length : 1;
    }
    if (label != NULL && count == MOST_LABEL && *label != '\0') {
        strcpy(shown[count - 1], m->utf8 ? "…" : ".");
    }
    return count;
}

static int longest(const heat_map *m, const char *const *labels, int64_t labelled)
{
    shown_label shown;
    int most = 0;
    for (int64_t i = 0; labels != NULL && i < labelled; i++) {
        const int count = read_label(m, labels[i], shown);
        most = count > most ? count : most;
    }
    return most;
}

static void print_row_label(const heat_map *m, const char *label)
{
    shown_label shown;
    const int count = read_label(m, label, shown);
    fprintf(m->stream, "%*s", m->label - count, "");
    for (int i = 0; i < count; i++) {
        fputs(shown[i], m->stream);
    }
    fputc(' ', m->stream);
}

/* ---- a matrix ---- */

/* Reads the locale of the environment; the program need not call setlocale. */
static bool is_utf8(void)
{
    const char *const set[] = {getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")};
    int i = 0;
    while (i < 2 && (set[i] == NULL || *set[i] == '\0')) {
        i++;
    }
    return set[i] != NULL && (strstr(set[i], "UTF-8") != NULL || strstr(set[i], "utf8") != NULL);
}

heed_status heed_heat_map(FILE *stream, heed_tensor *weights, const char *const *row_labels,
                          const char *const *column_labels, heed_color color)
{
    static const char function[] = "heat_map";
    HEED_DOOR(heed_self.error);
    heed_check_not_null(function, "the stream", stream);
    heed_check_tensor(function, "weights", weights);
    if (!heed_is_float(weights->dtype)) {
        heed_raise(HEED_ERR_DTYPE, "%s: weights are %s, not a float", function,
                   heed_dtype_name(weights->dtype));
    }
    if (weights->ndim != 2) {
        heed_raise(HEED_ERR_SHAPE, "%s: weights have %d dims, not 2; heed_select takes one",
                   function, weights->ndim);
    }
    const int64_t rows = heed_size(weights, 0), columns = heed_size(weights, 1);
    heat_map m = {.stream = stream, .utf8 = is_utf8()};
    const char *plain = getenv("NO_COLOR");
    m.has_color =
        color == HEED_COLOR_ALWAYS ||
        (color == HEED_COLOR_AUTO && (plain == NULL || *plain == '\0') && heed_is_terminal(stream));
    m.label = longest(&m, row_labels, rows);
    const int width = heed_terminal_columns(stream, 10000);
    for (m.cell = 4; m.cell > 1 && m.label + 1 + columns * m.cell > width; m.cell /= 2) {
    }
    /* Column labels run downwards and end just above the cells. */
    for (int line = -longest(&m, column_labels, columns); line < 0; line++) {
        print_row_label(&m, NULL);
        for (int64_t j = 0; j < columns; j++) {
            shown_label shown;
            const int at = read_label(&m, column_labels[j], shown) + line;
            fprintf(stream, "%*s%s", m.cell - 1, "", at >= 0 ? shown[at] : " ");
        }
        fputc('\n', stream);
    }
    for (int64_t i = 0; i < rows; i++) {
        print_row_label(&m, row_labels != NULL ? row_labels[i] : NULL);
        for (int64_t j = 0; j < columns; j++) {
            print_cell(&m, heed_at(weights, HEED_INDEX(i, j)));
        }
        fputc('\n', stream);
    }
    return HEED_OK;
}
