/* Shared by plots of curves: axes, visible points, smoothing and legends (internal). */
#ifndef HEED_TOOLS_CURVES_H
#define HEED_TOOLS_CURVES_H

#include "plot.h"

/* ---- axes: a range of values and its ticks, which are round numbers ---- */

enum { HEED_AXIS_TICKS = 16 };

typedef struct heed_axis {
    double low, high;
    bool log;
    int count;
    double ticks[HEED_AXIS_TICKS];
    double step; /* between two ticks; 0 if they are powers of ten */
} heed_axis;

typedef struct heed_axis_options {
    int ticks;    /* maximum: 3 to HEED_AXIS_TICKS */
    bool widen;   /* extend the range to the enclosing ticks */
    bool log;     /* values are positive; such axes are widened */
    double least; /* smallest step; 1 for integers */
} heed_axis_options;

/* heed_axis_new: an axis from low to high; around a single value if they are equal or nearly equal;
 * 0 to 1 if low > high. */
heed_axis heed_axis_new(double low, double high, heed_axis_options options);

/* heed_axis_at: the position of a value: 0 at the low end, 1 at the high end. */
double heed_axis_at(const heed_axis *axis, double value);

/* heed_axis_label: a tick as text. */
heed_text heed_axis_label(const heed_axis *axis, double tick);

/* ---- curves ---- */

/* heed_curves_check: checks the arguments of `function`. */
heed_status heed_curves_check(const char *function, FILE *stream, const heed_curve *curves,
                              int count, double smoothing);

/* heed_curve_shows: true if point i is finite and, on a logarithmic axis, positive. */
bool heed_curve_shows(const heed_curve *curve, int64_t i, bool log_y);

/* heed_curve_spike: where to mark spike i: at the nearest point, or at `top` if that point cannot
 * be drawn. Returns false if it cannot be marked. */
bool heed_curve_spike(const heed_curve *curve, int64_t i, bool log_y, double top, double *x,
                      double *y);

typedef struct heed_curve_facts {
    int64_t shown, hidden;                   /* points */
    double first_x, last_x, low, high, last; /* of those shown */
} heed_curve_facts;
heed_curve_facts heed_curve_facts_of(const heed_curve *curve, bool log_y);

/* heed_curves_axes: axes for all curves, with at most `ticks_x` and `ticks_y` ticks. */
void heed_curves_axes(const heed_curve *curves, int count, bool log_y, int ticks_x, int ticks_y,
                      heed_axis *x, heed_axis *y);

/* heed_smooth: the moving average up to `value`, with TensorBoard's bias correction; begin with
 * {.weight = smoothing}. */
typedef struct heed_smoother {
    double weight, sum, total;
} heed_smoother;
double heed_smooth(heed_smoother *s, double value);

/* heed_curve_smoothing: the smoothing to apply: `smoothing`, or 0 if the curve has too few points
 * for the average to follow it. */
double heed_curve_smoothing(const heed_curve *curve, double smoothing);

/* heed_curve_legend: the text after the name: " 2.314, smoothed with weight 0.90, mean of 4
 * values". Parts at its end are omitted beyond `most` characters. */
heed_text heed_curve_legend(const heed_curve *curve, heed_plot_options options, int most);

#endif
