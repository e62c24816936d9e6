/* Writes SVG: a chart of the losses and a grid of cells for each head. */
#include "examples/next_token/plot.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "examples/common/text.h"

enum {
    WIDTH = 960,
    MARGIN = 56,
    HEADER = 56,
    CHART = 300, /* height of the chart */
    GAP = 40,
    WIDE = 18,   /* cell size up to FEW tokens */
    NARROW = 12, /* cell size for more tokens */
    FEW = 12,
    LETTER = 7, /* typical width of a letter */
    MOST_LETTERS = 14
};

static const char ink[] = "#1f2933", faint[] = "#d9dee3", blue[] = "#2563a8", orange[] = "#d9730d";

/* ---- curves ---- */

curve curve_begin(int64_t steps)
{
    return (curve){.each = steps / CURVE_POINTS + 1};
}

void curve_add(curve *c, int64_t step, double loss)
{
    if (c->count == 0 || c->inside == c->each) {
        if (c->count > CURVE_POINTS) {
            return;
        }
        c->points[c->count++] = (curve_point){(double)step, loss};
        c->inside = 1;
        return;
    }
    curve_point *last = &c->points[c->count - 1];
    c->inside++;
    last->step += ((double)step - last->step) / (double)c->inside;
    last->loss += (loss - last->loss) / (double)c->inside;
}

/* ---- text ---- */

/* The replacement for a character that is invisible or forbidden in XML; NULL: none. */
static const char *stand_in(uint32_t code)
{
    switch (code) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case ' ':
        return "\u2423"; /* an open box */
    case '\n':
        return "\u21B5"; /* an arrow back */
    case '\t':
        return "\u21E5"; /* an arrow to a bar */
    case 0xFFFE:
    case 0xFFFF:
        return "?";
    }
    return code < ' ' || (code >= 0x7F && code < 0xA0) ? "?" : NULL;
}

/* Writes at most `letters` characters as XML text. `blanks`: keep blanks as they are. */
static void put_text(FILE *file, const char *bytes, int letters, bool blanks)
{
    const size_t length = strlen(bytes);
    for (size_t at = 0; at < length && letters >= 0; letters--) {
        uint32_t code;
        const size_t step = utf8_next(bytes + at, length - at, &code);
        const char *instead = blanks && code == ' ' ? NULL : stand_in(code);
        if (letters == 0) {
            fputs("\u2026", file); /* truncated */
        } else if (instead != NULL) {
            fputs(instead, file);
        } else {
            fwrite(bytes + at, 1, step, file);
        }
        at += step;
    }
}

static int count_letters(const char *bytes)
{
    int count = 0;
    for (; *bytes != '\0'; bytes++) {
        count += ((unsigned char)*bytes & 0xC0) != 0x80;
    }
    return count <= MOST_LETTERS ? count : MOST_LETTERS + 1;
}

static int longest(const char *const *tokens, int64_t count)
{
    int most = 1;
    for (int64_t i = 0; i < count; i++) {
        const int letters = count_letters(tokens[i]);
        most = letters > most ? letters : most;
    }
    return most;
}

/* ---- the chart ---- */

typedef struct frame {
    double left, top, width, height; /* on the page */
    double last_step, low, high;     /* in the data */
    double rise;                     /* between two lines of the grid */
} frame;

static double x_of(const frame *f, double step)
{
    return f->left + f->width * step / f->last_step;
}

static double y_of(const frame *f, double loss)
{
    return f->top + f->height * (f->high - loss) / (f->high - f->low);
}

/* 1, 2 or 5 times a power of ten; about `parts` of them fill the range. */
static double nice_step(double range, int parts)
{
    const double rough = range / parts, power = pow(10, floor(log10(rough)));
    const double digit = rough / power;
    return power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
}

static void widen(frame *f, const curve *c)
{
    for (int i = 0; i < c->count; i++) {
        f->low = fmin(f->low, c->points[i].loss);
        f->high = fmax(f->high, c->points[i].loss);
        f->last_step = fmax(f->last_step, c->points[i].step);
    }
}

static frame frame_of(const curve *training, const curve *held_out)
{
    frame f = {MARGIN,
               HEADER,
               WIDTH - 2 * MARGIN,
               CHART - 2 * GAP,
               .last_step = 1,
               .low = (double)INFINITY,
               .high = -(double)INFINITY};
    widen(&f, training);
    widen(&f, held_out);
    f.rise = nice_step(fmax(f.high - f.low, 1e-3), 5);
    f.low = f.rise * floor(f.low / f.rise);
    f.high = f.rise * ceil(f.high / f.rise);
    f.high += f.high == f.low ? f.rise : 0;
    return f;
}

static void draw_axes(FILE *file, const frame *f)
{
    for (int i = 0; f->low + i * f->rise <= f->high + f->rise / 2; i++) {
        const double loss = f->low + i * f->rise, y = y_of(f, loss);
        fprintf(file,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n"
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                f->left, y, f->left + f->width, y, faint, f->left - 8, y + 4, loss);
    }
    const double stride = fmax(1, nice_step(f->last_step, 8));
    for (double step = 0; step <= f->last_step; step += stride) {
        fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.0f</text>\n",
                x_of(f, step), f->top + f->height + 18, step);
    }
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">step</text>\n",
            f->left + f->width / 2, f->top + f->height + 36);
}

static void draw_curve(FILE *file, const frame *f, const curve *c, const char *color)
{
    fprintf(file,
            "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" "
            "stroke-linejoin=\"round\" points=\"",
            color);
    for (int i = 0; i < c->count; i++) {
        fprintf(file, "%s%.1f,%.1f", i > 0 ? " " : "", x_of(f, c->points[i].step),
                y_of(f, c->points[i].loss));
    }
    fprintf(file, "\"/>\n");
    if (c->count == 1) {
        fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                x_of(f, c->points[0].step), y_of(f, c->points[0].loss), color);
    }
}

static void draw_key(FILE *file, double x, const char *color, const char *name, const curve *c)
{
    if (c->count > 0) {
        fprintf(file,
                "<rect x=\"%.1f\" y=\"%d\" width=\"18\" height=\"3\" fill=\"%s\"/>\n"
                "<text x=\"%.1f\" y=\"%d\">%s %.3f</text>\n",
                x, HEADER - 16, color, x + 24, HEADER - 11, name, c->points[c->count - 1].loss);
    }
}

static void draw_losses(FILE *file, const curve *training, const curve *held_out)
{
    const frame f = frame_of(training, held_out);
    draw_axes(file, &f);
    draw_curve(file, &f, training, blue);
    draw_curve(file, &f, held_out, orange);
    draw_key(file, MARGIN, blue, "training loss", training);
    draw_key(file, MARGIN + 170, orange, "held-out loss", held_out);
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">nats per token</text>\n",
            WIDTH - MARGIN, HEADER - 11);
}

/* ---- the heads ---- */

typedef struct panels {
    int64_t heads, tokens;
    int columns, cell;
    double label, width, height; /* of the labels; of a panel with its labels */
    double top;
} panels;

static panels arrange(heed_tensor *attention, const char *const *tokens, double top)
{
    panels p = {.heads = heed_size(attention, 0), .tokens = heed_size(attention, 2), .top = top};
    p.cell = p.tokens > FEW ? NARROW : WIDE;
    p.label = LETTER * longest(tokens, p.tokens) + 10;
    p.width = p.label + p.cell * (double)p.tokens + GAP;
    p.height = p.label + p.cell * (double)p.tokens + GAP;
    p.columns = (int)((WIDTH - 2 * MARGIN + GAP) / p.width);
    p.columns = p.columns < 1 ? 1 : p.columns;
    return p;
}

static double page_height(const panels *p)
{
    const int64_t rows = (p->heads + p->columns - 1) / p->columns;
    return p->top + (double)rows * p->height + GAP / 2.0;
}

static double page_width(const panels *p)
{
    return fmax(WIDTH, p->columns * p->width - GAP + 2 * MARGIN);
}

static void draw_labels(FILE *file, const panels *p, double left, double top,
                        const char *const *tokens)
{
    const bool upright = longest(tokens, p->tokens) == 1;
    for (int64_t i = 0; i < p->tokens; i++) {
        const double middle = p->cell * ((double)i + 0.5);
        fprintf(file, "<text class=\"t\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", left - 6,
                top + middle + 4);
        put_text(file, tokens[i], MOST_LETTERS, false);
        fprintf(file, "</text>\n<text class=\"t\" transform=\"translate(%.1f %.1f) rotate(%d)\">",
                left + middle + (upright ? -3 : 4), top - 6, upright ? 0 : -90);
        put_text(file, tokens[i], MOST_LETTERS, false);
        fprintf(file, "</text>\n");
    }
}

static void draw_head(FILE *file, const panels *p, heed_tensor *attention, int64_t head,
                      const char *const *tokens)
{
    const double x = MARGIN + p->label + p->width * (double)(head % p->columns);
    const double y = p->top + p->label + GAP / 2.0 + p->height * (double)(head / p->columns);
    const double side = p->cell * (double)p->tokens;
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" font-weight=\"bold\">head %lld</text>\n",
            x - p->label, y - p->label, (long long)head + 1);
    draw_labels(file, p, x, y, tokens);
    for (int64_t i = 0; i < p->tokens; i++) {
        for (int64_t j = 0; j <= i; j++) {
            const double weight = heed_at(attention, HEED_INDEX(head, i, j));
            fprintf(file,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"%s\" "
                    "fill-opacity=\"%.3f\"><title>",
                    x + p->cell * (double)j, y + p->cell * (double)i, p->cell, p->cell, blue,
                    weight);
            put_text(file, tokens[i], MOST_LETTERS, false);
            fprintf(file, " attends to ");
            put_text(file, tokens[j], MOST_LETTERS, false);
            fprintf(file, ": %.0f %%</title></rect>\n", 100 * weight);
        }
    }
    fprintf(file,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
            "stroke=\"%s\"/>\n",
            x, y, side, side, faint);
}

/* ---- the page ---- */

static void draw(FILE *file, const char *title, const curve *training, const curve *held_out,
                 heed_tensor *attention, const char *const *tokens)
{
    const bool losses = training->count > 0;
    const panels p = arrange(attention, tokens, losses ? HEADER + CHART : HEADER);
    const double width = page_width(&p), height = page_height(&p);
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"12\" fill=\"%s\">\n"
            "<style>.t { font-family: monospace; font-size: 11px }</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<text x=\"%d\" y=\"26\" font-size=\"16\" font-weight=\"bold\">",
            width, height, width, height, ink, MARGIN);
    put_text(file, title, 100, true);
    fprintf(file, "</text>\n");
    if (losses) {
        draw_losses(file, training, held_out);
    }
    fprintf(file,
            "<text x=\"%d\" y=\"%.1f\">Attention: rows attend to columns; darker means "
            "more.</text>\n",
            MARGIN, p.top - 4);
    for (int64_t head = 0; head < p.heads; head++) {
        draw_head(file, &p, attention, head, tokens);
    }
    fprintf(file, "</svg>\n");
}

heed_status plot_write(const char *path, const char *title, const curve *training,
                       const curve *held_out, heed_tensor *attention, const char *const *tokens)
{
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        draw(file, title, training, held_out, attention, tokens);
    }
    const bool failed = file == NULL || ferror(file);
    if ((file != NULL && fclose(file) != 0) || failed) {
        heed_fail(HEED_ERR_FILE, "--plot: cannot write %s: %s", path, strerror(errno));
    }
    return heed_error_pending();
}
