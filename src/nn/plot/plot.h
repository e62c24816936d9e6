/* Pictures: curves and attention weights as text, SVG and CSV.
 *
 *     FILE *file = fopen("loss.svg", "w");
 *     heed_plot_svg(file, curves, 2, (heed_plot_options){.title = "loss", .y_label = "nats"});
 *
 * SVG is one <svg> element without a prolog: it can be a file of its own or part of an HTML page.
 * It needs no script or font, and follows the reader's light or dark theme, or the attribute
 * data-theme ("light", "dark") of the root element. Labels are UTF-8; except in CSV, control
 * characters are replaced. Text fits the width of the terminal (COLUMNS) and uses ASCII
 * unless the locale is UTF-8.
 *
 * All functions return HEED_ERR_FILE if the stream reports an error. */
#ifndef HEED_NN_PLOT_H
#define HEED_NN_PLOT_H

#include <stdio.h>

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* ---- curves ---- */

/* A curve through the points (x[i], y[i]), in order of x. Points that are not finite interrupt it,
 * and the legend counts them. The arrays belong to the caller. */
typedef struct heed_curve {
    const char *name;
    int64_t count;
    const double *x, *y;
    int64_t per_point; /* values averaged in each point, which the legend mentions; 0 or 1: one */
    const double *spikes; /* the x of points to mark (the nearest points are), or NULL */
    int64_t spike_count;
} heed_curve;

typedef struct heed_plot_options {
    const char *title, *x_label, *y_label; /* NULL: none; "step" for x_label */
    double smoothing;  /* in [0, 1): weight of the past in a moving average, as in TensorBoard. The
                        * average is drawn over the faint curve, and the legend says so. Curves of
                        * fewer than 4 / (1 - smoothing) points are not smoothed */
    bool log_y;        /* values that are not positive interrupt a curve */
    int width, height; /* SVG: pixels, 0: 720 x 300. Text: columns, and lines with title, axes and
                        * legend; 0: those of the terminal, or 80, x 12 */
} heed_plot_options;

/* heed_plot_text, _svg: draw all curves in one plot.
 *
 * HEED_ERR_NULL: the stream, a name or an array is missing. HEED_ERR_VALUE: bad smoothing. */
heed_status heed_plot_text(FILE *stream, const heed_curve *curves, int count,
                           heed_plot_options options);
heed_status heed_plot_svg(FILE *stream, const heed_curve *curves, int count,
                          heed_plot_options options);

/* heed_plot_csv: a header "step,NAME,NAME" and a row for each x that occurs; a cell is empty where
 * a curve has no point. */
heed_status heed_plot_csv(FILE *stream, const heed_curve *curves, int count);

/* ---- attention ---- */

typedef struct heed_attention_plot_options {
    const char *title;
    const char *const *queries; /* a label for each row, or NULL */
    const char *const *keys;    /* a label for each column; NULL: those of the queries if T = S */
    int width;                  /* SVG: pixels, 0: 720. Text: columns, 0: those of the terminal */
} heed_attention_plot_options;

/* heed_attention_text, _svg, _csv: all heads side by side.
 *
 *   weights (heads, T, S) or (T, S) float; row: a query, column: a key
 *
 * The axes say "query looks" and "key is seen". Blanks and newlines of labels are shown as symbols.
 * Text is like heed_heat_map. Each SVG cell has a tooltip with its tokens and weight, and a scale
 * shows the colors. CSV has the columns head,query,key,query_label,key_label,weight. Heads, queries
 * and keys are counted from 1.
 *
 * HEED_ERR_SHAPE: weights have other dims. HEED_ERR_DTYPE: weights are not floats.
 * HEED_ERR_VALUE: a row does not sum to 1 within 1e-3, nor to 0, as fully masked rows do. */
heed_status heed_attention_text(FILE *stream, heed_tensor *weights,
                                heed_attention_plot_options options);
heed_status heed_attention_svg(FILE *stream, heed_tensor *weights,
                               heed_attention_plot_options options);
heed_status heed_attention_csv(FILE *stream, heed_tensor *weights,
                               heed_attention_plot_options options);

HEED_END_DECLS
#endif
