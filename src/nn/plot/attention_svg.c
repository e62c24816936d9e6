/* Attention weights as SVG: a panel of cells for each head, several panels per line. */
#include <math.h>

#include "heads.h"
#include "labels.h"
#include "picture.h"
#include "svg.h"

enum {
    WIDTH = 720,
    MOST_WIDTH = 10000,
    EDGE = 16,
    GAP = 20,        /* between panels */
    AXIS = 18,       /* for "query looks" and "key is seen" */
    HEADING = 18,    /* for "head 1" */
    SCALE = 40,      /* for the color scale */
    MOST_LABEL = 14, /* columns */
    LETTER_HEIGHT = 11,
    QUERY_LOOKS = 68 /* length of these words */
};

typedef struct grid {
    FILE *stream;
    heed_heads heads;
    double cell, left, above; /* cell size; label space left of and above the panels */
    int64_t fit;              /* panels side by side */
    double top, width, height;
} grid;

/* Width of the longest label in pixels. */
static double longest(const char *const *labels, int64_t count)
{
    int most = 0;
    for (int64_t i = 0; labels != NULL && i < count; i++) {
        const int columns = heed_label_columns(labels[i], MOST_LABEL, HEED_LABEL_TOKEN);
        most = columns > most ? columns : most;
    }
    return HEED_SVG_TOKEN_LETTER * most;
}

static double panel_width(const grid *g)
{
    return fmax(g->cell * (double)g->heads.keys, 3 * HEADING);
}

static double line_height(const grid *g)
{
    return HEADING + g->above + fmax(g->cell * (double)g->heads.queries, QUERY_LOOKS) + GAP;
}

/* Chooses the largest cells with which several panels fit side by side, within limits. */
static void lay_out(grid *g, int width, bool has_title)
{
    enum { LARGEST = 22, SMALLEST = 4, MOST_PANELS = 4 };
    const heed_heads *h = &g->heads;
    g->left = 8 + AXIS + longest(h->query_labels, h->queries) + 6;
    const double inner = fmax(width - g->left - EDGE, 1), keys = fmax((double)h->keys, 1);
    for (int64_t n = h->count < MOST_PANELS ? h->count : MOST_PANELS; n >= 0; n--) {
        const double parts = fmax((double)n, 1);
        g->cell = fmin(floor((inner - GAP * (parts - 1)) / parts / keys), LARGEST);
        if (g->cell >= SMALLEST) {
            break;
        }
    }
    g->cell = fmax(g->cell, 1);
    const double label = longest(h->key_labels, h->keys);
    g->above = h->key_labels == NULL ? 4 : label <= g->cell ? LETTER_HEIGHT + 6 : label + 8;
    g->fit = (int64_t)fmax(floor((inner + GAP) / (panel_width(g) + GAP)), 1);
    const int64_t lines = (h->count + g->fit - 1) / g->fit;
    g->fit = lines > 0 ? (h->count + lines - 1) / lines : 1; /* the same number in each line */
    g->top = (has_title ? HEED_SVG_TITLE : 4) + SCALE + AXIS;
    g->width = fmax(width, g->left + panel_width(g) + EDGE);
    g->height = g->top + (double)lines * line_height(g);
}

/* ---- labels ---- */

static void put_token(const grid *g, const char *label)
{
    heed_label_put(g->stream, label, MOST_LABEL, HEED_LABEL_TOKEN | HEED_LABEL_XML);
}

/* The distance between labels: more than 1 if cells are smaller than letters. */
static int64_t label_step(const grid *g)
{
    return (int64_t)ceil(LETTER_HEIGHT / g->cell);
}

static void draw_query_labels(const grid *g, double top)
{
    for (int64_t i = 0; g->heads.query_labels != NULL && i < g->heads.queries; i += label_step(g)) {
        fprintf(g->stream, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", g->left - 6,
                top + g->cell * ((double)i + 0.5) + 4);
        put_token(g, g->heads.query_labels[i]);
        fputs("</text>\n", g->stream);
    }
}

/* Above the panel, horizontal if each fits its cell. */
static void draw_key_labels(const grid *g, double left, double top)
{
    const bool is_upright = longest(g->heads.key_labels, g->heads.keys) <= g->cell;
    for (int64_t j = 0; g->heads.key_labels != NULL && j < g->heads.keys; j += label_step(g)) {
        const double middle = left + g->cell * ((double)j + 0.5);
        if (is_upright) {
            fprintf(g->stream, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", middle,
                    top - 6);
        } else {
            fprintf(g->stream, "<text transform=\"translate(%.1f %.1f) rotate(-90)\">", middle + 4,
                    top - 6);
        }
        put_token(g, g->heads.key_labels[j]);
        fputs("</text>\n", g->stream);
    }
}

/* ---- cells ---- */

static void put_place(const grid *g, const char *const *labels, int64_t i, const char *kind)
{
    if (labels != NULL) {
        put_token(g, labels[i]);
    } else {
        fprintf(g->stream, "%s %lld", kind, (long long)i + 1);
    }
}

/* Omits weights that round to 0.0 %: masked halves look empty, and files stay small. */
static void draw_cells(const grid *g, int64_t head)
{
    for (int64_t i = 0; i < g->heads.queries; i++) {
        for (int64_t j = 0; j < g->heads.keys; j++) {
            const double weight = heed_heads_at(&g->heads, head, i, j);
            if (weight < 0.0005) {
                continue;
            }
            fprintf(g->stream,
                    "<path fill-opacity=\"%.2f\" d=\"M%.4g %.4gh%.4gv%.4gh-%.4gz\"><title>", weight,
                    g->cell * (double)j, g->cell * (double)i, g->cell, g->cell, g->cell);
            if (g->heads.count > 1) {
                fprintf(g->stream, "head %lld: ", (long long)head + 1);
            }
            put_place(g, g->heads.query_labels, i, "query");
            fputs(" attends to ", g->stream);
            put_place(g, g->heads.key_labels, j, "key");
            fprintf(g->stream, ": %.1f %%</title></path>\n", 100 * weight);
        }
    }
}

static void draw_panel(const grid *g, int64_t head)
{
    const double left = g->left + (double)(head % g->fit) * (panel_width(g) + GAP);
    const double line = g->top + (double)(head / g->fit) * line_height(g);
    const double top = line + HEADING + g->above;
    const double across = g->cell * (double)g->heads.keys;
    const double down = g->cell * (double)g->heads.queries;
    fputs("<g class=\"heed-ink\" fill=\"currentColor\">\n", g->stream);
    if (g->heads.count > 1) {
        fprintf(g->stream, "<text x=\"%.1f\" y=\"%.1f\" font-weight=\"bold\">head %lld</text>\n",
                left, line + 12, (long long)head + 1);
    }
    fputs("<g font-family=\"monospace\" font-size=\"11\">\n", g->stream);
    if (head % g->fit == 0) {
        draw_query_labels(g, top);
    }
    draw_key_labels(g, left, top);
    fputs("</g>\n", g->stream);
    if (head % g->fit == 0) {
        fprintf(g->stream,
                "<text transform=\"translate(16 %.1f) rotate(-90)\" text-anchor=\"end\">"
                "query looks</text>\n",
                top);
    }
    fprintf(g->stream,
            "</g>\n<g class=\"heed-heat\" fill=\"currentColor\" "
            "transform=\"translate(%.1f %.1f)\">\n"
            "<path class=\"heed-grid\" fill=\"none\" stroke=\"currentColor\" "
            "d=\"M-.5 -.5h%.1fv%.1fh-%.1fz\"/>\n",
            left, top, across + 1, down + 1, across + 1);
    draw_cells(g, head);
    fputs("</g>\n", g->stream);
}

/* The color scale, from 0 to 100 %. */
static void draw_scale(const grid *g, double top)
{
    enum { STEPS = 20, STEP = 8 };
    fprintf(g->stream,
            "<g class=\"heed-ink\" fill=\"currentColor\"><text x=\"10\" y=\"%.1f\">0 %%</text>"
            "<text x=\"%d\" y=\"%.1f\">100 %%</text><text x=\"%.1f\" y=\"%.1f\">key is seen</text>"
            "</g>\n<g class=\"heed-heat\" fill=\"currentColor\">\n",
            top + 14, 38 + STEPS * STEP + 6, top + 14, g->left, top + SCALE + 10);
    for (int i = 0; i < STEPS; i++) {
        fprintf(g->stream, "<path fill-opacity=\"%.2f\" d=\"M%d %.1fh%dv12h-%dz\"/>\n",
                (i + 0.5) / STEPS, 38 + i * STEP, top + 4, STEP, STEP);
    }
    fputs("</g>\n", g->stream);
}

heed_status heed_attention_svg(FILE *stream, heed_tensor *weights,
                               heed_attention_plot_options options)
{
    HEED_DECIMAL_POINT;
    grid g = {.stream = stream};
    if (heed_heads_of(&g.heads, "attention_svg", stream, weights, &options) != HEED_OK) {
        return heed_error_pending();
    }
    const int width = options.width <= 0           ? WIDTH
                      : options.width > MOST_WIDTH ? MOST_WIDTH
                                                   : options.width;
    lay_out(&g, width, options.title != NULL);
    heed_svg_begin(stream, g.width, g.height, options.title, "attention weights");
    fprintf(stream, "<desc>%lld heads, %lld queries (rows), %lld keys (columns)</desc>\n",
            (long long)g.heads.count, (long long)g.heads.queries, (long long)g.heads.keys);
    heed_svg_page(stream, g.width, options.title);
    draw_scale(&g, options.title != NULL ? HEED_SVG_TITLE : 4);
    for (int64_t head = 0; head < g.heads.count; head++) {
        draw_panel(&g, head);
    }
    fputs("</svg>\n", stream);
    return heed_picture_end("attention_svg", stream);
}
