/* Plots of curves and attention weights, as text, SVG and CSV.
 *
 *     FILE *file = fopen("loss.svg", "w");
 *     heed_plot_svg(file, curves, 2, (heed_plot_options){.title = "loss", .y_label = "nats"});
 *
 * SVG output is one <svg> element without a prolog: a complete file, or part of an HTML page. It
 * needs no scripts or fonts, and follows the reader's light or dark theme, or the attribute
 * data-theme ("light", "dark") of the root element. Labels are UTF-8; except in CSV, control
 * characters are replaced. Text fits the width of the terminal (COLUMNS) and uses ASCII
 * unless the locale is UTF-8.
 *
 * All functions return HEED_ERR_FILE if the stream reports an error. */
#ifndef HEED_TOOLS_PLOT_H
#define HEED_TOOLS_PLOT_H

#include <stdio.h>

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* ---- curves ---- */

/* A curve through the points (x[i], y[i]), in order of x. Non-finite points interrupt it; the
 * legend reports their number. The arrays belong to the caller. */
typedef struct heed_curve {
    const char *name;
    int64_t count;
    const double *x, *y;
    int64_t per_point;    /* values averaged per point, reported in the legend; 0 or 1: one */
    const double *spikes; /* x positions to mark, each at the nearest point; or NULL */
    int64_t spike_count;
} heed_curve;

typedef struct heed_plot_options {
    const char *title, *x_label, *y_label; /* NULL: none; "step" for x_label */
    double smoothing;  /* in [0, 1): weight of the past in a moving average, as in TensorBoard. The
                        * average is drawn over the faded curve and noted in the legend. Curves with
                        * fewer than 4 / (1 - smoothing) points are not smoothed */
    bool log_y;        /* logarithmic; values <= 0 interrupt a curve */
    int width, height; /* SVG: pixels, 0: 720 x 300. Text: columns, and lines including title, axes
                        * and legend; 0: the terminal's width, or 80, x 12 */
} heed_plot_options;

/* heed_plot_text, heed_plot_svg: draw all curves in one plot.
 *
 * HEED_ERR_NULL: the stream, a name or an array is missing. HEED_ERR_VALUE: bad smoothing. */
heed_status heed_plot_text(FILE *stream, const heed_curve *curves, int count,
                           heed_plot_options options);
heed_status heed_plot_svg(FILE *stream, const heed_curve *curves, int count,
                          heed_plot_options options);

/* heed_plot_csv: writes a header "step,NAME,NAME" and a row for each distinct x; a cell is empty if
 * its curve has no point there. */
heed_status heed_plot_csv(FILE *stream, const heed_curve *curves, int count);

/* ---- attention ---- */

typedef struct heed_attention_plot_options {
    const char *title;
    const char *const *queries; /* a label for each row, or NULL */
    const char *const *keys;    /* a label for each column; NULL: the queries' labels if T = S */
    int width; /* SVG: pixels; 0: 720 to 1440, as readable labels need. Text: columns; 0: the
                * terminal's width */
} heed_attention_plot_options;

/* heed_attention_text, heed_attention_svg, heed_attention_csv: draw all heads side by side.
 *
 *   weights (heads, T, S) or (T, S) float; row: a query, column: a key
 *
 * The axes are labelled "query looks" and "key is seen". Spaces and newlines in labels are shown as
 * symbols. Text looks like heed_heat_map's. Each SVG cell has a tooltip with its tokens and weight,
 * and a color scale is drawn above. CSV has the columns
 * head,query,key,query_label,key_label,weight. Heads, queries and keys are counted from 1.
 *
 * HEED_ERR_SHAPE: weights do not have 2 or 3 dims. HEED_ERR_DTYPE: weights are not floats.
 * HEED_ERR_VALUE: a row sums neither to 1 (within 1e-3) nor, if fully masked, to 0. */
heed_status heed_attention_text(FILE *stream, heed_tensor *weights,
                                heed_attention_plot_options options);
heed_status heed_attention_svg(FILE *stream, heed_tensor *weights,
                               heed_attention_plot_options options);
heed_status heed_attention_csv(FILE *stream, heed_tensor *weights,
                               heed_attention_plot_options options);

HEED_END_DECLS
#endif
