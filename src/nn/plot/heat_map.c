/* Heat maps as text: vertical column labels, and cells with a percentage and a shade or color.
 * Heads, or blocks of columns, are tiles, several per line. */
#include "heat_map.h"

#include <math.h>

#include "../../tensor/read.h"
#include "heads.h"
#include "labels.h"
#include "picture.h"
#include "terminal.h"

enum { MOST_LABEL = 16, HEADING = 8, GAP = 2, OTHERWISE = 80 };

typedef struct map {
    FILE *stream;
    heed_heads heads;
    bool colored, has_headings;
    unsigned style;
    int label, cell;    /* width of the row labels, and of a cell: 4, 2 or 1 */
    int64_t block;      /* cells in a row of a tile */
    int64_t tiles, fit; /* number of tiles, and tiles side by side */
} map;

static const char *label_of(const char *const *labels, int64_t i)
{
    return labels != NULL ? labels[i] : "";
}

static void print_blanks(FILE *stream, int64_t count)
{
    fprintf(stream, "%*s", count > 0 ? (int)count : 0, "");
}

/* ---- cells ---- */

/* A percentage on a background from dark grey to yellow, or after a shade character. Narrow cells
 * show only the background or the shade. */
static void print_cell(const map *m, double weight)
{
    static const char *const blocks[] = {" ", "░", "▒", "▓", "█"};
    static const char *const ascii[] = {" ", ":", "=", "*", "#", "@"};
    /* xterm's 256 colors: grey, then from dark red to yellow */
    static const int backgrounds[] = {233, 52, 88, 124, 160, 202, 208, 214, 220, 226};
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
        fprintf(m->stream, "\033[48;5;%dm\033[38;5;%dm", backgrounds[step], step > 4 ? 16 : 252);
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

/* ---- tiles ---- */

static int64_t head_of(const map *m, int64_t tile)
{
    return tile * m->heads.count / m->tiles;
}

static int64_t first_of(const map *m, int64_t tile)
{
    return tile % (m->tiles / m->heads.count) * m->block;
}

static int64_t end_of(const map *m, int64_t tile)
{
    const int64_t end = first_of(m, tile) + m->block;
    return end < m->heads.keys ? end : m->heads.keys;
}

static int64_t tile_columns(const map *m)
{
    const int64_t columns = m->block * m->cell;
    return m->has_headings && columns < HEADING ? HEADING : columns;
}

/* Pads a tile of `printed` columns, unless it is the last in its line. */
static void end_tile(const map *m, int64_t tile, int64_t end, int64_t printed)
{
    if (tile + 1 < end) {
        print_blanks(m->stream, tile_columns(m) - printed + GAP);
    }
}

static void print_headings(const map *m, int64_t tile, int64_t end)
{
    print_blanks(m->stream, m->label + 1);
    for (; tile < end; tile++) {
        const int printed = fprintf(m->stream, "head %lld", (long long)head_of(m, tile) + 1);
        end_tile(m, tile, end, printed);
    }
    fputc('\n', m->stream);
}

/* Column labels run downwards and end just above the cells. */
static void print_column_labels(const map *m, int64_t tile, int64_t end)
{
    int height = 0;
    for (int64_t j = first_of(m, tile); m->heads.key_labels != NULL && j < end_of(m, end - 1);
         j++) {
        const int count = heed_glyph_count(m->heads.key_labels[j], MOST_LABEL, m->style);
        height = count > height ? count : height;
    }
    for (int line = 0; line < height; line++) {
        print_blanks(m->stream, m->label + 1);
        for (int64_t t = tile; t < end; t++) {
            for (int64_t j = first_of(m, t); j < end_of(m, t); j++) {
                const char *label = m->heads.key_labels[j];
                const int i = line - height + heed_glyph_count(label, MOST_LABEL, m->style);
                heed_glyph glyph = heed_glyph_at(label, i, MOST_LABEL, m->style);
                if (glyph.columns > m->cell) {
                    glyph = (heed_glyph){"?", 1, 1};
                }
                print_blanks(m->stream, m->cell - (glyph.length > 0 ? glyph.columns : 1));
                fprintf(m->stream, "%.*s", glyph.length > 0 ? glyph.length : 1,
                        glyph.length > 0 ? glyph.bytes : " ");
            }
            end_tile(m, t, end, (end_of(m, t) - first_of(m, t)) * m->cell);
        }
        fputc('\n', m->stream);
    }
}

static void print_tiles(const map *m, int64_t tile, int64_t end)
{
    if (m->has_headings) {
        print_headings(m, tile, end);
    }
    print_column_labels(m, tile, end);
    for (int64_t i = 0; i < m->heads.queries; i++) {
        const char *label = label_of(m->heads.query_labels, i);
        print_blanks(m->stream, m->label - heed_label_columns(label, m->label, m->style));
        heed_label_put(m->stream, label, m->label, m->style);
        fputc(' ', m->stream);
        for (int64_t t = tile; t < end; t++) {
            for (int64_t j = first_of(m, t); j < end_of(m, t); j++) {
                print_cell(m, heed_heads_at(&m->heads, head_of(m, t), i, j));
            }
            end_tile(m, t, end, (end_of(m, t) - first_of(m, t)) * m->cell);
        }
        fputc('\n', m->stream);
    }
}

/* `width`: columns per line; 0: as many as the cells need. */
static void print_map(map m, int width)
{
    const int64_t keys = m.heads.keys;
    const int most = width == 0 || width / 3 > MOST_LABEL ? MOST_LABEL : 1 + width / 3;
    for (int64_t i = 0; m.heads.query_labels != NULL && i < m.heads.queries; i++) {
        const int columns = heed_label_columns(m.heads.query_labels[i], most, m.style);
        m.label = columns > m.label ? columns : m.label;
    }
    const int64_t left = width > m.label + 1 ? width - m.label - 1 : 1;
    for (m.cell = 4; width > 0 && m.cell > 1 && keys * m.cell > left; m.cell /= 2) {
    }
    m.block = width > 0 && keys * m.cell > left ? left : keys;
    const int64_t blocks = m.block > 0 ? (keys + m.block - 1) / m.block : 1;
    m.tiles = blocks * m.heads.count;
    m.fit = ((width > 0 ? left : OTHERWISE) + GAP) / (tile_columns(&m) + GAP);
    m.fit = blocks > 1 || m.fit < 1 ? 1 : m.fit;
    for (int64_t tile = 0; tile < m.tiles; tile += m.fit) {
        if (tile > 0) {
            fputc('\n', m.stream);
        }
        print_tiles(&m, tile, tile + m.fit < m.tiles ? tile + m.fit : m.tiles);
    }
}

heed_status heed_heat_map(FILE *stream, heed_tensor *weights, const char *const *row_labels,
                          const char *const *column_labels, heed_color color)
{
    if (heed_heads_check("heat_map", stream, weights) != HEED_OK) {
        return heed_error_pending();
    }
    if (weights->ndim != 2) {
        return heed_fail(
            HEED_ERR_SHAPE,
            "heat_map: weights have %d dims, not 2 (rows, columns); pick one with heed_select",
            weights->ndim);
    }
    print_map((map){.stream = stream,
                    .heads = {weights, 1, heed_size(weights, 0), heed_size(weights, 1), row_labels,
                              column_labels},
                    .style = heed_label_terminal() | HEED_LABEL_TOKEN,
                    .colored = color == HEED_COLOR_ALWAYS ||
                               (color == HEED_COLOR_AUTO && heed_terminal_has_color(stream))},
              heed_terminal_columns(stream, 0));
    return heed_error_pending();
}

heed_status heed_attention_text(FILE *stream, heed_tensor *weights,
                                heed_attention_plot_options options)
{
    map m = {
        .stream = stream, .style = heed_label_terminal() | HEED_LABEL_TOKEN, .has_headings = true};
    if (heed_heads_of(&m.heads, "attention_text", stream, weights, &options) != HEED_OK) {
        return heed_error_pending();
    }
    const int width = options.width > 0 ? options.width : heed_terminal_columns(stream, 0);
    m.colored = heed_terminal_has_color(stream);
    if (options.title != NULL) {
        heed_label_put(stream, options.title, width > 0 ? width : OTHERWISE, m.style);
        fputc('\n', stream);
    }
    fputs("rows: queries; columns: keys\n", stream);
    print_map(m, width);
    return heed_picture_end("attention_text", stream);
}
