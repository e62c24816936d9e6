/* Curves as SVG. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "curves.h"
#include "labels.h"
#include "picture.h"
#include "svg.h"

enum {
    WIDTH = 720,
    HEIGHT = 300,
    LEAST = 120,
    MOST = 10000,
    EDGE = 16,          /* margin */
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
    heed_label_put(p->stream, name, MOST_NAME, HEED_LABEL_XML);
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
        heed_svg_text(p->stream, p->options.y_label, (int)(p->width / HEED_SVG_LETTER));
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
    heed_svg_text(p->stream, x_label(p), (int)((p->right - p->left) / HEED_SVG_LETTER));
}

/* ---- curves ---- */

static const char *dashes_of(int curve)
{
    static const char *const dashes[] = {"none", "7 3", "2 3", "10 3 2 3", "14 4", "5 2 1 2"};
    return dashes[curve % HEED_SVG_CURVES];
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
            number % HEED_SVG_CURVES);
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
        const int most = (int)((p->width - SWATCH - EDGE) / HEED_SVG_LETTER) - letters;
        const heed_text rest = heed_curve_legend(&p->curves[i], p->options, most > 0 ? most : 0);
        const double width =
            SWATCH + HEED_SVG_LETTER * (letters + (double)strlen(rest.text)) + EDGE;
        if (x > 10 && x + width > p->width) {
            lines++;
            x = 10;
        }
        if (!dry) {
            const double y = top + LEGEND_LINE * (lines - 0.4);
            fprintf(p->stream,
                    "<path class=\"heed-c%d\" stroke=\"currentColor\" stroke-width=\"2.5\" "
                    "stroke-dasharray=\"%s\" d=\"M%.1f %.1fh24\"/><text x=\"%.1f\" y=\"%.1f\">",
                    i % HEED_SVG_CURVES, dashes_of(i), x, y - 4, x + SWATCH, y);
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

static int clamp(int value, int otherwise)
{
    return value <= 0 ? otherwise : value < LEAST ? LEAST : value > MOST ? MOST : value;
}

static void lay_out(plot *p)
{
    const double above = p->options.title != NULL ? HEED_SVG_TITLE : 8;
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
    p->left = 16 + 1.1 * HEED_SVG_LETTER * letters;
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
              .width = clamp(options.width, WIDTH),
              .height = clamp(options.height, HEIGHT)};
    lay_out(&p);
    heed_svg_begin(stream, p.width, p.height, options.title, "curves");
    describe(&p);
    heed_svg_page(stream, p.width, options.title);
    fputs("<g class=\"heed-ink\" fill=\"currentColor\">\n", stream);
    draw_legend(&p, options.title != NULL ? HEED_SVG_TITLE : 8, false);
    draw_y(&p);
    draw_x(&p);
    fputs("</g>\n", stream);
    for (int i = 0; i < count; i++) {
        draw_curve(&p, i);
    }
    fputs("</svg>\n", stream);
    return heed_picture_end("plot_svg", stream);
}
