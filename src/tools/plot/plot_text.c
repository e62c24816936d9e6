/* Curves as text: dots of braille characters, 2 x 4 each, or ASCII characters. Attention as heat
 * maps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../tensor/alloc.h"
#include "curves.h"
#include "picture.h"

enum {
    FADED = 64,
    DISTINCT = 54, /* beyond this, keys and colors repeat */
    LEAST_COLUMNS = 16,
    MOST_COLUMNS = 1000,
    LEAST_LINES = 3,
    MOST_LINES = 200
};

/* The characters of the plot. Each belongs to the curve that drew it last. */
typedef struct canvas {
    int columns, lines;
    int across, down; /* dots per character */
    unsigned char *dots;
    unsigned char *curves; /* 1 + number % DISTINCT, or 0; FADED is added under an average */
    char *marks;           /* printed instead of dots; 0: none */
} canvas;

typedef struct plot {
    FILE *stream;
    const heed_curve *curves;
    int count;
    heed_plot_options options;
    heed_axis x, y;
    int margin; /* columns for the y labels and the axis */
    unsigned style;
    bool colored, numbered; /* the last column shows the curves' numbers */
    canvas canvas;
} plot;

static char key_of(const plot *p, int curve)
{
    static const char ascii[] = "*o+x#@", numbers[] = "123456789";
    return p->style & HEED_LABEL_ASCII ? ascii[curve % 6] : numbers[curve % 9];
}

/* ---- the canvas ---- */

static bool make_canvas(canvas *c, int columns, int lines, bool ascii)
{
    const size_t size = (size_t)columns * (size_t)lines;
    unsigned char *memory = heed_alloc_zeroed(3 * size);
    *c = (canvas){columns, lines, ascii ? 1 : 2, ascii ? 1 : 4, memory, NULL, NULL};
    if (memory != NULL) {
        c->curves = memory + size;
        c->marks = (char *)(memory + 2 * size);
    }
    return memory != NULL;
}

static void draw_dot(canvas *c, int x, int y, int curve)
{
    /* Braille numbers its dots down the first column, then the second; the fourth row was added
     * later. */
    static const unsigned char bits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    const int at = y / c->down * c->columns + x / c->across;
    c->dots[at] |= bits[y % c->down][x % c->across];
    c->curves[at] = (unsigned char)curve;
}

/* A line of dots; `pattern` has a bit for each of 8 dots along it, starting at *phase. */
static void draw_line(canvas *c, const int from[2], const int to[2], int curve, unsigned pattern,
                      unsigned *phase)
{
    const int dx = to[0] - from[0], dy = to[1] - from[1];
    const int length = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
    for (int i = 0; i <= length; i++) {
        const double share = length > 0 ? (double)i / length : 0;
        if (pattern >> (*phase % 8) & 1) {
            draw_dot(c, from[0] + (int)lround(share * dx), from[1] + (int)lround(share * dy),
                     curve);
        }
        *phase += i < length;
    }
}

/* ---- curves ---- */

static void place(const plot *p, double x, double y, int at[2])
{
    const canvas *c = &p->canvas;
    at[0] = (int)lround(heed_axis_at(&p->x, x) * ((c->columns - p->numbered) * c->across - 1));
    at[1] = (int)lround((1 - heed_axis_at(&p->y, y)) * (c->lines * c->down - 1));
}

/* Draws points, or lines between them if `pattern` is not 0. */
static void draw_curve(plot *p, int number, double smoothing, unsigned pattern)
{
    const heed_curve *curve = &p->curves[number];
    heed_smoother smoother = {.weight = smoothing};
    unsigned phase = 0;
    int last[2], at[2];
    bool has_last = false;
    for (int64_t i = 0; i < curve->count; i++) {
        if (!heed_curve_shows(curve, i, p->options.log_y)) {
            has_last = false;
            continue;
        }
        place(p, curve->x[i], heed_smooth(&smoother, curve->y[i]), at);
        if (pattern == 0) {
            draw_dot(&p->canvas, at[0], at[1], 1 + number % DISTINCT + FADED);
        } else {
            draw_line(&p->canvas, has_last ? last : at, at, 1 + number % DISTINCT, pattern, &phase);
        }
        memcpy(last, at, sizeof at);
        has_last = true;
    }
}

static void mark_spikes(const plot *p, const heed_curve *curve)
{
    const canvas *c = &p->canvas;
    for (int64_t i = 0; i < curve->spike_count; i++) {
        double x, y;
        int at[2];
        if (heed_curve_spike(curve, i, p->options.log_y, p->y.high, &x, &y)) {
            place(p, x, y, at);
            c->marks[at[1] / c->down * c->columns + at[0] / c->across] = '!';
        }
    }
}

/* Writes the number of a curve on it a few times, in columns of its own: without color, nothing
 * else tells lines apart that cross. */
static void mark_along(plot *p, int number, double smoothing)
{
    enum { TIMES = 3, LEAST = 8 /* columns between numbers of one curve */ };
    const heed_curve *curve = &p->curves[number];
    canvas *c = &p->canvas;
    heed_smoother smoother = {.weight = smoothing};
    const int step = c->columns / TIMES > LEAST ? c->columns / TIMES : LEAST;
    int next = step * (2 * (number % 9) + 1) / (2 * (p->count < 9 ? p->count : 9));
    for (int64_t i = 0; i < curve->count; i++) {
        int at[2];
        if (!heed_curve_shows(curve, i, p->options.log_y)) {
            continue;
        }
        place(p, curve->x[i], heed_smooth(&smoother, curve->y[i]), at);
        const int column = at[0] / c->across, cell = at[1] / c->down * c->columns + column;
        if (column < next || column >= c->columns - 2) {
            continue;
        }
        if (c->marks[cell] == 0) {
            c->marks[cell] = key_of(p, number);
            c->curves[cell] = (unsigned char)(1 + number % DISTINCT);
        }
        next = column + step;
    }
}

/* Writes the number of a curve after its end, if a line near it is free. */
static void mark_end(plot *p, int number)
{
    enum { NEAR = 5 /* lines to try: at the end, and two below and above */ };
    canvas *c = &p->canvas;
    const heed_curve_facts f = heed_curve_facts_of(&p->curves[number], p->options.log_y);
    int at[2];
    place(p, f.last_x, f.last, at);
    for (int away = 0; f.shown > 0 && away < NEAR; away++) {
        const int line = at[1] / c->down + (away % 2 ? 1 + away / 2 : -away / 2);
        if (line >= 0 && line < c->lines && c->marks[(line + 1) * c->columns - 1] == 0) {
            c->marks[(line + 1) * c->columns - 1] = key_of(p, number);
            c->curves[(line + 1) * c->columns - 1] = (unsigned char)(1 + number % DISTINCT);
            return;
        }
    }
}

static void draw_curves(plot *p)
{
    static const unsigned patterns[] = {0xFF, 0x55, 0x33, 0x5F, 0x11, 0x3F}; /* dashes */
    const bool is_ascii = (p->style & HEED_LABEL_ASCII) != 0;
    /* Points under an average need a color or a character that is paler than the line. */
    for (int i = 0; i < p->count && (p->colored || is_ascii); i++) {
        if (heed_curve_smoothing(&p->curves[i], p->options.smoothing) > 0) {
            draw_curve(p, i, 0, 0);
        }
    }
    for (int i = 0; i < p->count; i++) {
        const double smoothing = heed_curve_smoothing(&p->curves[i], p->options.smoothing);
        draw_curve(p, i, smoothing, is_ascii ? 0xFF : patterns[i % 6]);
    }
    for (int i = 0; i < p->count; i++) {
        mark_spikes(p, &p->curves[i]);
        if (p->numbered) {
            mark_along(p, i, heed_curve_smoothing(&p->curves[i], p->options.smoothing));
            mark_end(p, i);
        }
    }
}

/* ---- printing ---- */

static void set_color(const plot *p, int curve)
{
    static const int colors[] = {39, 208, 36, 177, 220, 81}; /* of xterm's 256 */
    if (p->colored && curve > 0) {
        fprintf(p->stream, "\033[%s38;5;%dm", curve > FADED ? "2;" : "",
                colors[(curve - 1) % FADED % 6]);
    }
}

static void reset_color(const plot *p, int curve)
{
    fputs(p->colored && curve > 0 ? "\033[0m" : "", p->stream);
}

static void print_cell(const plot *p, int at)
{
    const canvas *c = &p->canvas;
    if (c->marks[at] != 0) {
        fputc(c->marks[at], p->stream);
    } else if (c->dots[at] == 0) {
        fputc(' ', p->stream);
    } else if (p->style & HEED_LABEL_ASCII) {
        fputc(c->curves[at] > FADED ? '.' : key_of(p, c->curves[at] - 1), p->stream);
    } else { /* U+2800 and the dots, in UTF-8 */
        fprintf(p->stream, "\xE2%c%c", 0xA0 + (c->dots[at] >> 6), 0x80 + (c->dots[at] & 63));
    }
}

/* Prints a line of cells without trailing blanks. */
static void print_cells(const plot *p, int line)
{
    const canvas *c = &p->canvas;
    int end = (line + 1) * c->columns, color = 0;
    while (end > line * c->columns && c->dots[end - 1] == 0 && c->marks[end - 1] == 0) {
        end--;
    }
    for (int at = line * c->columns; at < end; at++) {
        if (c->curves[at] != 0 && c->curves[at] != color) {
            reset_color(p, color);
            color = c->curves[at];
            set_color(p, color);
        }
        print_cell(p, at);
    }
    reset_color(p, color);
    fputc('\n', p->stream);
}

/* The label of the tick on this line; "" if none. */
static heed_text label_of_line(const plot *p, int line)
{
    heed_text none = {""};
    for (int i = 0; i < p->y.count; i++) {
        const double at = 1 - heed_axis_at(&p->y, p->y.ticks[i]);
        if ((int)lround(at * (p->canvas.lines * p->canvas.down - 1)) / p->canvas.down == line) {
            return heed_axis_label(&p->y, p->y.ticks[i]);
        }
    }
    return none;
}

static void print_lines(const plot *p)
{
    const bool is_ascii = (p->style & HEED_LABEL_ASCII) != 0;
    for (int line = 0; line < p->canvas.lines; line++) {
        const heed_text label = label_of_line(p, line);
        fprintf(p->stream, "%*s %s", p->margin - 2, label.text,
                is_ascii          ? "|"
                : *label.text > 0 ? "\u2524"
                                  : "\u2502");
        print_cells(p, line);
    }
    fprintf(p->stream, "%*s%s", p->margin - 1, "", is_ascii ? "+" : "\u2514");
    for (int i = 0; i < p->canvas.columns; i++) {
        fputs(is_ascii ? "-" : "\u2500", p->stream);
    }
    fputc('\n', p->stream);
}

/* Points that average several steps have fractions, which mean nothing in a long range. */
static heed_text end_of_x(const plot *p, double x)
{
    heed_text text;
    const bool is_long = p->x.high - p->x.low >= 100;
    snprintf(text.text, sizeof text.text, "%.10g", is_long ? round(x) + 0.0 /* never -0 */ : x);
    return text;
}

/* Prints the first and last x at the ends of the line, and the label between them. */
static void print_x(const plot *p)
{
    const int columns = p->canvas.columns;
    const heed_text low = end_of_x(p, p->x.low), high = end_of_x(p, p->x.high);
    const char *first = low.text, *last = high.text;
    const int left = (int)strlen(first), right = (int)strlen(last);
    const char *name = p->options.x_label != NULL ? p->options.x_label : "step";
    const int between = heed_label_columns(name, columns, p->style);
    const int before = (columns - between) / 2; /* of the label */
    fprintf(p->stream, "%*s", p->margin, "");
    if (left + right >= columns) {
        fprintf(p->stream, "%.*s\n", columns, first);
        return;
    }
    fputs(first, p->stream);
    int at = left;
    if (before > left && columns - before - between > right) {
        fprintf(p->stream, "%*s", before - left, "");
        at = before + heed_label_put(p->stream, name, columns, p->style);
    }
    fprintf(p->stream, "%*s%s\n", columns - right - at, "", last);
}

/* Prints the legend in lines of `width` columns, or only measures it if `dry`; returns the number
 * of lines. */
static int print_legend(const plot *p, int width, bool dry)
{
    enum { GAP = 3, LEAST_NAME = 20 /* columns kept of a long name */ };
    int lines = p->count > 0, column = 0;
    for (int i = 0; i < p->count; i++) {
        const int key = p->count > 1 ? 2 : 0, most = width - key;
        const int least = most < 2 * LEAST_NAME ? most / 2 : LEAST_NAME;
        const int whole = heed_label_columns(p->curves[i].name, least, p->style);
        const heed_text rest = heed_curve_legend(&p->curves[i], p->options, most - whole);
        const int tail = (int)strlen(rest.text);
        const int columns =
            key + tail + heed_label_columns(p->curves[i].name, most - tail, p->style);
        const bool wraps = column > 0 && column + GAP + columns > width;
        lines += wraps;
        const int gap = wraps || column == 0 ? 0 : GAP;
        column = wraps ? columns : column + gap + columns;
        if (dry) {
            continue;
        }
        fprintf(p->stream, "%s%*s", wraps ? "\n" : "", gap, "");
        if (key > 0) {
            set_color(p, 1 + i % DISTINCT);
            fputc(key_of(p, i), p->stream);
            reset_color(p, 1 + i % DISTINCT);
            fputc(' ', p->stream);
        }
        heed_label_put(p->stream, p->curves[i].name, most - tail, p->style);
        fputs(rest.text, p->stream);
    }
    if (!dry && p->count > 0) {
        fputc('\n', p->stream);
    }
    return lines;
}

static void print_title(const plot *p, int width)
{
    const heed_plot_options *o = &p->options;
    int left = width;
    if (o->title != NULL) {
        left -= heed_label_put(p->stream, o->title, width, p->style);
    }
    if (o->y_label != NULL && left > 4) {
        fputs(o->title != NULL ? " (" : "", p->stream);
        heed_label_put(p->stream, o->y_label, left - 3, p->style);
        fputs(o->title != NULL ? ")" : "", p->stream);
    }
    fputc('\n', p->stream);
}

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

heed_status heed_plot_text(FILE *stream, const heed_curve *curves, int count,
                           heed_plot_options options)
{
    HEED_DECIMAL_POINT;
    if (heed_curves_check("plot_text", stream, curves, count, options.smoothing) != HEED_OK) {
        return heed_error_pending();
    }
    plot p = {.stream = stream,
              .curves = curves,
              .count = count,
              .options = options,
              .style = heed_label_terminal(),
              .colored = heed_terminal_has_color(stream)};
    p.numbered = count > 1 && !(p.style & HEED_LABEL_ASCII);
    const int width = clamp(options.width > 0 ? options.width : heed_terminal_columns(stream, 80),
                            LEAST_COLUMNS, MOST_COLUMNS);
    const bool has_title = options.title != NULL || options.y_label != NULL;
    const int others = 2 + has_title + print_legend(&p, width, true);
    const int lines =
        clamp((options.height > 0 ? options.height : 12) - others, LEAST_LINES, MOST_LINES);
    heed_curves_axes(curves, count, options.log_y, 5, lines < 7 ? 3 : 5, &p.x, &p.y);
    for (int i = 0; i < p.y.count; i++) {
        const int length = (int)strlen(heed_axis_label(&p.y, p.y.ticks[i]).text);
        p.margin = length + 2 > p.margin ? length + 2 : p.margin;
    }
    if (!make_canvas(&p.canvas, clamp(width - p.margin, 4, MOST_COLUMNS), lines,
                     (p.style & HEED_LABEL_ASCII) != 0)) {
        return heed_error_pending();
    }
    draw_curves(&p);
    if (has_title) {
        print_title(&p, width);
    }
    print_lines(&p);
    print_x(&p);
    print_legend(&p, width, false);
    heed_free(p.canvas.dots);
    return heed_picture_end("plot_text", stream);
}

/* ==== attention ==== */

enum { HEADING = 8, GAP = 2, OTHERWISE = 80 };

static void print_blanks(FILE *stream, int64_t count)
{
    fprintf(stream, "%*s", count > 0 ? (int)count : 0, "");
}

/* Heads from `head` to before `end`, each `wide` columns wide: several side by side, or a block of
 * columns of one. */
static void print_heads(const heed_heat *m, int64_t head, int64_t end, int64_t wide)
{
    if (m->weights->ndim == 3) {
        print_blanks(m->stream, m->label + 1);
        for (int64_t h = head; h < end; h++) {
            const int printed = fprintf(m->stream, "head %lld", (long long)h + 1);
            print_blanks(m->stream, h + 1 < end ? wide - printed + GAP : 0);
        }
        fputc('\n', m->stream);
    }
    for (int64_t line = -heed_heat_labels(m); line < m->rows; line++) {
        for (int64_t h = head; h < end; h++) {
            heed_heat_line(m, line, h, h == head);
            print_blanks(m->stream, h + 1 < end ? wide - m->columns * m->cell + GAP : 0);
        }
        fputc('\n', m->stream);
    }
}

/* All heads: several per line, or, if one is too wide, in blocks of columns. */
static void print_all(heed_heat m, int64_t heads, int width)
{
    const int64_t block = heed_heat_fit(&m, width), cells = block * m.cell;
    const int64_t wide = cells < HEADING ? HEADING : cells;
    const int64_t left = width > 0 ? width - m.label - 1 : OTHERWISE;
    const int64_t fit = (left + GAP) / (wide + GAP), step = fit > 1 ? fit : 1;
    for (int64_t head = 0; head < heads; head += step) {
        m.end = 0;
        do {
            m.first = m.end;
            m.end = m.first + block < m.columns ? m.first + block : m.columns;
            fputs(head + m.first > 0 ? "\n" : "", m.stream);
            print_heads(&m, head, head + step < heads ? head + step : heads, wide);
        } while (m.end < m.columns);
    }
}

heed_status heed_attention_text(FILE *stream, heed_tensor *weights,
                                heed_attention_plot_options options)
{
    heed_heads heads;
    if (heed_heads_of(&heads, "attention_text", stream, weights, &options) != HEED_OK) {
        return heed_error_pending();
    }
    const int width = options.width > 0 ? options.width : heed_terminal_columns(stream, 0);
    if (options.title != NULL) {
        heed_label_put(stream, options.title, width > 0 ? width : OTHERWISE,
                       heed_label_terminal() | HEED_LABEL_TOKEN);
        fputc('\n', stream);
    }
    fputs("rows: queries; columns: keys\n", stream);
    print_all((heed_heat){.stream = stream,
                          .weights = weights,
                          .rows = heads.queries,
                          .columns = heads.keys,
                          .row_labels = heads.query_labels,
                          .column_labels = heads.key_labels,
                          .colored = heed_terminal_has_color(stream)},
              heads.count, width);
    return heed_picture_end("attention_text", stream);
}
