/* Curves and attention weights as SVG, with colors for light and dark. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "curves.h"
#include "picture.h"
#include "shares.h"

enum { WIDTH = 720, MOST = 10000, EDGE = 16 /* margin */ };

/* Typical widths of letters, in pixels, of 12 px sans-serif and 11 px monospace. */
static const double LETTER = 6.4, TOKEN_LETTER = 6.7;

static int clamp(int value, int least, int otherwise)
{
    return value <= 0 ? otherwise : value < least ? least : value > MOST ? MOST : value;
}

/* ---- the page ---- */

enum { CURVES = 6 /* colors of curves */, TITLE = 28 /* height of a drawn title */ };

/* Classes with a `color`, which shapes use as currentColor: heed-ink for text and axes, heed-grid
 * for faint lines, heed-heat for weights, and heed-c0 to heed-c5 for curves, which have the palette
 * of Okabe and Ito (2008), which color-blind people can tell apart. */
static const struct {
    const char *name, *light, *dark;
} classes[] = {
    {"page", "#fff", "#14181d"},    {"ink", "#1f2933", "#dde3e9"},
    {"grid", "#dde2e7", "#343c45"}, {"heat", HEED_SHARE_LIGHT, HEED_SHARE_DARK},
    {"c0", "#0072b2", "#56b4e9"},   {"c1", "#d55e00", "#e69f00"},
    {"c2", "#009e73", "#2fc79b"},   {"c3", "#cc79a7", "#e49cc4"},
    {"c4", "#8a6d00", "#f0e442"},   {"c5", "#56b4e9", "#ff8a4c"},
};

static void put_colors(FILE *stream, const char *root, bool is_dark)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        fprintf(stream, "%s.heed-%s{color:%s}", root, classes[i].name,
                is_dark ? classes[i].dark : classes[i].light);
    }
}

/* Every SVG has the same rules, so several can share a page. data-theme on the page's root element
 * overrides the reader's theme. */
static void put_style(FILE *stream)
{
    fputs("<style>.heed-svg{max-width:100%;height:auto}", stream);
    put_colors(stream, "", false);
    fputs("\n@media (prefers-color-scheme:dark){", stream);
    put_colors(stream, ":root:not([data-theme=light]) ", true);
    fputs("}\n", stream);
    put_colors(stream, ":root[data-theme=dark] ", true);
    fputs("</style>\n", stream);
}

/* The text, truncated to `most` columns, and its end tag. */
static void put_text(FILE *stream, const char *text, int most)
{
    heed_xml_put(stream, text, most, 0);
    fputs("</text>\n", stream);
}

/* The root element and its <title>. The caller writes <desc> next, and </svg> at the end. */
static void begin_svg(FILE *stream, double width, double height, const char *title,
                      const char *otherwise)
{
    fprintf(stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"heed-svg\" role=\"img\" "
            "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<title>",
            width, height, width, height);
    heed_xml_put(stream, title != NULL ? title : otherwise, 200, 0);
    fputs("</title>\n", stream);
}

/* The style, the background and the title, if any. */
static void draw_page(FILE *stream, double width, const char *title)
{
    put_style(stream);
    fputs("<rect class=\"heed-page\" width=\"100%\" height=\"100%\" fill=\"currentColor\"/>\n",
          stream);
    if (title != NULL) {
        fputs("<text class=\"heed-ink\" fill=\"currentColor\" x=\"10\" y=\"20\" font-size=\"15\" "
              "font-weight=\"bold\">",
              stream);
        put_text(stream, title, (int)(width / (1.4 * LETTER)));
    }
}

/* ==== curves ==== */

enum {
    HEIGHT = 300,
    LEAST = 120,        /* width and height */
    LEGEND_LINE = 18,   /* height */
    SWATCH = 30,        /* line sample in the legend, and the gap after it */
    BOTTOM = 38,        /* labels of x */
    MOST_NAME = 40,     /* columns of a name in the legend */
    FEW_POINTS = 200,   /* maximum for curves whose points have tooltips */
    VISIBLE_POINTS = 60 /* maximum for curves whose points are drawn as dots */
};

typedef struct plot {
    FILE *stream;
    const heed_curve *curves;
    int count;
    heed_plot_options options;
    double width, height, left, top, right, bottom; /* of the page; edges of the plot area */
    heed_axis x, y;
} plot;

static double x_of(const plot *p, double x)
{
    return p->left + (p->right - p->left) * heed_axis_at(&p->x, x);
}

static double y_of(const plot *p, double y)
{
    return p->bottom - (p->bottom - p->top) * heed_axis_at(&p->y, y);
}

static const char *x_label(const plot *p)
{
    return p->options.x_label != NULL ? p->options.x_label : "step";
}

static void put_name(const plot *p, const char *name)
{
    heed_xml_put(p->stream, name, MOST_NAME, 0);
}

/* ---- axes ---- */

static void draw_y(const plot *p)
{
    for (int i = 0; i < p->y.count; i++) {
        const double y = y_of(p, p->y.ticks[i]);
        fprintf(p->stream,
                "<path class=\"heed-grid\" stroke=\"currentColor\" d=\"M%.1f %.1fH%.1f\"/>"
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                p->left, y, p->right, p->left - 7, y + 4,
                heed_axis_label(&p->y, p->y.ticks[i]).text);
    }
    if (p->options.y_label != NULL) {
        fprintf(p->stream, "<text x=\"10\" y=\"%.1f\">", p->top - 12);
        put_text(p->stream, p->options.y_label, (int)(p->width / LETTER));
    }
}

static void draw_x(const plot *p)
{
    fprintf(p->stream, "<path stroke=\"currentColor\" d=\"M%.1f %.1fH%.1f\"/>\n", p->left,
            p->bottom, p->right);
    for (int i = 0; i < p->x.count; i++) {
        const double x = x_of(p, p->x.ticks[i]);
        fprintf(p->stream,
                "<path stroke=\"currentColor\" d=\"M%.1f %.1fv4\"/>"
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
                x, p->bottom, x, p->bottom + 17, heed_axis_label(&p->x, p->x.ticks[i]).text);
    }
    fprintf(p->stream, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
            (p->left + p->right) / 2, p->bottom + 33);
    put_text(p->stream, x_label(p), (int)((p->right - p->left) / LETTER));
}

/* ---- curves ---- */

static const char *dashes_of(int curve)
{
    static const char *const dashes[] = {"none", "7 3", "2 3", "10 3 2 3", "14 4", "5 2 1 2"};
    return dashes[curve % CURVES];
}

/* A path through all points; undrawable points interrupt it. */
static void draw_path(const plot *p, const heed_curve *curve, double smoothing)
{
    heed_smoother smoother = {.weight = smoothing};
    bool continues = false;
    fputs(" d=\"", p->stream);
    for (int64_t i = 0; i < curve->count; i++) {
        if (!heed_curve_shows(curve, i, p->options.log_y)) {
            continues = false;
            continue;
        }
        const double x = x_of(p, curve->x[i]), y = y_of(p, heed_smooth(&smoother, curve->y[i]));
        const bool is_alone = !continues && (i + 1 == curve->count ||
                                             !heed_curve_shows(curve, i + 1, p->options.log_y));
        fprintf(p->stream, "%s%.1f %.1f%s", continues ? " " : "M", x, y, is_alone ? "h0" : "");
        continues = true;
    }
    fputs("\"/>\n", p->stream);
}

/* Dots with tooltips, and a transparent edge that is easier to hit. */
static void draw_points(const plot *p, const heed_curve *curve, bool visible)
{
    fprintf(p->stream,
            "<g fill=\"currentColor\" fill-opacity=\"%d\" stroke=\"currentColor\" "
            "stroke-opacity=\"0\" stroke-width=\"8\">\n",
            visible);
    for (int64_t i = 0; i < curve->count; i++) {
        if (heed_curve_shows(curve, i, p->options.log_y)) {
            fprintf(p->stream, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\"><title>",
                    x_of(p, curve->x[i]), y_of(p, curve->y[i]));
            put_name(p, curve->name);
            fputs(" at ", p->stream);
            put_name(p, x_label(p));
            fprintf(p->stream, " %.10g: %.4g</title></circle>\n", curve->x[i], curve->y[i]);
        }
    }
    fputs("</g>\n", p->stream);
}

/* Triangles that point down at the curve. */
static void draw_spikes(const plot *p, const heed_curve *curve)
{
    for (int64_t i = 0; i < curve->spike_count; i++) {
        double x, y;
        if (heed_curve_spike(curve, i, p->options.log_y, p->y.high, &x, &y)) {
            fprintf(
                p->stream,
                "<path fill=\"currentColor\" stroke=\"none\" d=\"M%.1f %.1fl-5 -9h10z\"><title>",
                x_of(p, x), y_of(p, y) - 3);
            put_name(p, curve->name);
            fputs(": spike at ", p->stream);
            put_name(p, x_label(p));
            fprintf(p->stream, " %.10g</title></path>\n", curve->spikes[i]);
        }
    }
}

static void draw_curve(const plot *p, int number)
{
    const heed_curve *curve = &p->curves[number];
    const heed_curve_facts f = heed_curve_facts_of(curve, p->options.log_y);
    const double smoothing = heed_curve_smoothing(curve, p->options.smoothing);
    fprintf(p->stream,
            "<g class=\"heed-c%d\" fill=\"none\" stroke=\"currentColor\" stroke-linejoin=\"round\" "
            "stroke-linecap=\"round\">\n<title>",
            number % CURVES);
    put_name(p, curve->name);
    fprintf(p->stream, "%s</title>\n", heed_curve_legend(curve, p->options, INT_MAX).text);
    if (f.shown > 0) {
        if (smoothing > 0) {
            fputs("<path stroke-opacity=\".35\"", p->stream);
            draw_path(p, curve, 0);
        }
        fprintf(p->stream, "<path stroke-width=\"1.8\" stroke-dasharray=\"%s\"", dashes_of(number));
        draw_path(p, curve, smoothing);
    }
    if (f.shown <= FEW_POINTS) {
        draw_points(p, curve, f.shown <= VISIBLE_POINTS && smoothing <= 0);
    }
    draw_spikes(p, curve);
    fputs("</g>\n", p->stream);
}

/* ---- the legend ---- */

/* Draws the legend, or only measures it if `dry`; returns the number of lines. */
static int draw_legend(const plot *p, double top, bool dry)
{
    int lines = p->count > 0;
    double x = 10;
    for (int i = 0; i < p->count; i++) {
        const int letters = heed_label_columns(p->curves[i].name, MOST_NAME, 0);
        const int most = (int)((p->width - SWATCH - EDGE) / LETTER) - letters;
        const heed_text rest = heed_curve_legend(&p->curves[i], p->options, most > 0 ? most : 0);
        const double width = SWATCH + LETTER * (letters + (double)strlen(rest.text)) + EDGE;
        if (x > 10 && x + width > p->width) {
            lines++;
            x = 10;
        }
        if (!dry) {
            const double y = top + LEGEND_LINE * (lines - 0.4);
            fprintf(p->stream,
                    "<path class=\"heed-c%d\" stroke=\"currentColor\" stroke-width=\"2.5\" "
                    "stroke-dasharray=\"%s\" d=\"M%.1f %.1fh24\"/><text x=\"%.1f\" y=\"%.1f\">",
                    i % CURVES, dashes_of(i), x, y - 4, x + SWATCH, y);
            put_name(p, p->curves[i].name);
            fprintf(p->stream, "%s</text>\n", rest.text);
        }
        x += width;
    }
    return lines;
}

/* The ranges of the curves as text, for screen readers. */
static void describe(const plot *p)
{
    fputs("<desc>", p->stream);
    for (int i = 0; i < p->count; i++) {
        const heed_curve_facts f = heed_curve_facts_of(&p->curves[i], p->options.log_y);
        put_name(p, p->curves[i].name);
        if (f.shown > 0) {
            fputs(": ", p->stream);
            put_name(p, x_label(p));
            fprintf(p->stream, " %.10g to %.10g, from %.4g to %.4g, last %.4g. ", f.first_x,
                    f.last_x, f.low, f.high, f.last);
        } else {
            fputs(": no points. ", p->stream);
        }
    }
    fputs("</desc>\n", p->stream);
}

static void lay_out(plot *p)
{
    const double above = p->options.title != NULL ? TITLE : 8;
    p->top = above + LEGEND_LINE * draw_legend(p, 0, true) + (p->options.y_label != NULL ? 28 : 12);
    p->bottom = fmax(p->height - BOTTOM, p->top + 20);
    p->height = p->bottom + BOTTOM;
    const int ticks_y = (int)fmin(fmax((p->bottom - p->top) / 32, 3), 8);
    const int ticks_x = (int)fmin(fmax(p->width / 80, 3), 10);
    heed_curves_axes(p->curves, p->count, p->options.log_y, ticks_x, ticks_y, &p->x, &p->y);
    double letters = 0;
    for (int i = 0; i < p->y.count; i++) {
        letters = fmax(letters, (double)strlen(heed_axis_label(&p->y, p->y.ticks[i]).text));
    }
    p->left = 16 + 1.1 * LETTER * letters;
    p->right = fmax(p->width - EDGE, p->left + 20);
}

heed_status heed_plot_svg(FILE *stream, const heed_curve *curves, int count,
                          heed_plot_options options)
{
    HEED_DECIMAL_POINT;
    if (heed_curves_check("plot_svg", stream, curves, count, options.smoothing) != HEED_OK) {
        return heed_error_pending();
    }
    plot p = {.stream = stream,
              .curves = curves,
              .count = count,
              .options = options,
              .width = clamp(options.width, LEAST, WIDTH),
              .height = clamp(options.height, LEAST, HEIGHT)};
    lay_out(&p);
    begin_svg(stream, p.width, p.height, options.title, "curves");
    describe(&p);
    draw_page(stream, p.width, options.title);
    fputs("<g class=\"heed-ink\" fill=\"currentColor\">\n", stream);
    draw_legend(&p, options.title != NULL ? TITLE : 8, false);
    draw_y(&p);
    draw_x(&p);
    fputs("</g>\n", stream);
    for (int i = 0; i < count; i++) {
        draw_curve(&p, i);
    }
    fputs("</svg>\n", stream);
    return heed_picture_end("plot_svg", stream);
}

/* ==== attention ==== */

enum {
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
    return TOKEN_LETTER * most;
}

static double panel_width(const grid *g)
{
    return fmax(g->cell * (double)g->heads.keys, 3 * HEADING);
}

static double line_height(const grid *g)
{
    return HEADING + g->above + fmax(g->cell * (double)g->heads.queries, QUERY_LOOKS) + GAP;
}

/* The largest cells with which n panels fit side by side. */
static double cell_size(const grid *g, int width, int64_t n)
{
    enum { LARGEST = 22 };
    const double inner = fmax(width - g->left - EDGE, 1), keys = fmax((double)g->heads.keys, 1);
    return fmin(floor((inner - GAP * (double)(n - 1)) / (double)n / keys), LARGEST);
}

/* The number of panels side by side: at most four, whose labels are all readable; else at least
 * every second one; else whose cells can be seen. */
static int64_t panels_for(const grid *g, int width, int readable)
{
    enum { SMALLEST = 4, MOST_PANELS = 4 };
    const int64_t most = g->heads.count < MOST_PANELS ? g->heads.count : MOST_PANELS;
    const int least[] = {readable, readable / 2, SMALLEST};
    for (int i = 0; i < 3; i++) {
        for (int64_t n = most; n > (i == 0 && most > 1); n--) {
            if (cell_size(g, width, n) >= least[i]) {
                return n;
            }
        }
    }
    return 1;
}

/* Without a given width, the picture is as wide as readable labels need, within limits. */
static void lay_out_heads(grid *g, int width, bool has_title)
{
    enum { WIDEST = 2 * WIDTH };
    const heed_heads *h = &g->heads;
    const bool is_labelled = h->query_labels != NULL || h->key_labels != NULL;
    const int readable = is_labelled ? LETTER_HEIGHT + 1 : 8;
    g->left = 8 + AXIS + longest(h->query_labels, h->queries) + 6;
    if (width <= 0) {
        const double panel = fmax((double)(h->keys * readable), 3 * HEADING) + GAP;
        const double wanted = g->left + (double)(h->count < 4 ? h->count : 4) * panel - GAP + EDGE;
        width = (int)ceil(fmin(fmax(wanted, WIDTH), WIDEST));
    }
    const int64_t most = panels_for(g, width, readable), lines = (h->count + most - 1) / most;
    g->fit = lines > 0 ? (h->count + lines - 1) / lines : 1; /* the same number in each line */
    g->cell = fmax(cell_size(g, width, g->fit), 1);
    const double label = longest(h->key_labels, h->keys);
    g->above = h->key_labels == NULL ? 4 : label <= g->cell ? LETTER_HEIGHT + 6 : label + 8;
    g->top = (has_title ? TITLE : 4) + SCALE + AXIS;
    g->width = fmax(width, g->left + panel_width(g) + EDGE);
    g->height = g->top + (double)lines * line_height(g);
}

/* ---- labels ---- */

static void put_token(const grid *g, const char *label)
{
    heed_xml_put(g->stream, label, MOST_LABEL, HEED_LABEL_TOKEN);
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
            const double weight = heed_heat_at(g->heads.weights, head, i, j);
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
    lay_out_heads(&g, clamp(options.width, 1, 0), options.title != NULL);
    begin_svg(stream, g.width, g.height, options.title, "attention weights");
    fprintf(stream, "<desc>%lld heads, %lld queries (rows), %lld keys (columns)</desc>\n",
            (long long)g.heads.count, (long long)g.heads.queries, (long long)g.heads.keys);
    draw_page(stream, g.width, options.title);
    draw_scale(&g, options.title != NULL ? TITLE : 4);
    for (int64_t head = 0; head < g.heads.count; head++) {
        draw_panel(&g, head);
    }
    fputs("</svg>\n", stream);
    return heed_picture_end("attention_svg", stream);
}
