/* Curves: which points can be drawn, their ranges, moving averages and legends. */
#include "curves.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

heed_status heed_curves_check(const char *function, FILE *stream, const heed_curve *curves,
                              int count, double smoothing)
{
    if (heed_error_pending() || stream == NULL || (curves == NULL && count > 0)) {
        return heed_fail(HEED_ERR_NULL, "%s: stream or curves is NULL", function);
    }
    for (int i = 0; i < count; i++) {
        const heed_curve *c = &curves[i];
        if (c->name == NULL || (c->count > 0 && (c->x == NULL || c->y == NULL)) ||
            (c->spike_count > 0 && c->spikes == NULL)) {
            return heed_fail(HEED_ERR_NULL, "%s: curve %d has no name, x, y or spikes", function,
                             i);
        }
    }
    if (!(smoothing >= 0 && smoothing < 1)) {
        return heed_fail(HEED_ERR_VALUE, "%s: smoothing is %g; use 0 (none) or less than 1",
                         function, smoothing);
    }
    return HEED_OK;
}

bool heed_curve_shows(const heed_curve *curve, int64_t i, bool log_y)
{
    return isfinite(curve->x[i]) && isfinite(curve->y[i]) && (!log_y || curve->y[i] > 0);
}

/* The point nearest to x; -1 if the curve is empty. */
static int64_t nearest(const heed_curve *curve, double x)
{
    int64_t low = 0, high = curve->count; /* the first point at or after x is in [low, high] */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (curve->x[middle] < x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const bool is_before =
        low == curve->count || (low > 0 && x - curve->x[low - 1] < curve->x[low] - x);
    return is_before ? low - 1 : low;
}

bool heed_curve_spike(const heed_curve *curve, int64_t i, bool log_y, double top, double *x,
                      double *y)
{
    const int64_t point = nearest(curve, curve->spikes[i]);
    if (point < 0 || !isfinite(curve->spikes[i]) || !isfinite(curve->x[point])) {
        return false;
    }
    *x = curve->x[point];
    *y = heed_curve_shows(curve, point, log_y) ? curve->y[point] : top;
    return true;
}

heed_curve_facts heed_curve_facts_of(const heed_curve *curve, bool log_y)
{
    heed_curve_facts f = {.low = (double)INFINITY, .high = -(double)INFINITY};
    for (int64_t i = 0; i < curve->count; i++) {
        if (!heed_curve_shows(curve, i, log_y)) {
            f.hidden++;
            continue;
        }
        f.first_x = f.shown == 0 ? curve->x[i] : f.first_x;
        f.last_x = curve->x[i];
        f.low = fmin(f.low, curve->y[i]);
        f.high = fmax(f.high, curve->y[i]);
        f.last = curve->y[i];
        f.shown++;
    }
    return f;
}

void heed_curves_axes(const heed_curve *curves, int count, bool log_y, int ticks_x, int ticks_y,
                      heed_axis *x, heed_axis *y)
{
    double left = (double)INFINITY, right = -left, low = left, high = -left;
    bool has_integers = true;
    for (int c = 0; c < count; c++) {
        const heed_curve_facts f = heed_curve_facts_of(&curves[c], log_y);
        low = fmin(low, f.low);
        high = fmax(high, f.high);
        for (int64_t i = 0; i < curves[c].count; i++) {
            if (heed_curve_shows(&curves[c], i, log_y)) {
                left = fmin(left, curves[c].x[i]);
                right = fmax(right, curves[c].x[i]);
                has_integers = has_integers && curves[c].x[i] == floor(curves[c].x[i]);
            }
        }
    }
    if (left == right && has_integers && fabs(left) < 1e15) { /* a single step */
        left -= 1;
        right += 1;
    }
    *x = heed_axis_new(left, right, (heed_axis_options){.ticks = ticks_x, .least = has_integers});
    *y = heed_axis_new(low, high,
                       (heed_axis_options){.ticks = ticks_y, .widen = true, .log = log_y});
}

double heed_smooth(heed_smoother *s, double value)
{
    s->sum = s->weight * s->sum + (1 - s->weight) * value;
    s->total = s->weight * s->total + (1 - s->weight);
    return s->sum / s->total;
}

double heed_curve_smoothing(const heed_curve *curve, double smoothing)
{
    return (double)curve->count * (1 - smoothing) >= 4 ? smoothing : 0;
}

static void append(heed_text *t, int most, const char *format, ...) HEED_PRINTF(3, 4);

static void append(heed_text *t, int most, const char *format, ...)
{
    heed_text part;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(part.text, sizeof part.text, format, arguments);
    va_end(arguments);
    const size_t length = strlen(t->text), added = strlen(part.text);
    if (length + added < sizeof t->text && length + added <= (size_t)most) {
        memcpy(t->text + length, part.text, added + 1);
    }
}

heed_text heed_curve_legend(const heed_curve *curve, heed_plot_options options, int most)
{
    heed_text t = {""};
    const heed_curve_facts f = heed_curve_facts_of(curve, options.log_y);
    const double smoothing = heed_curve_smoothing(curve, options.smoothing);
    if (f.shown > 0) {
        const bool is_whole = fabs(f.last) >= 1e4 && fabs(f.last) < 1e9; /* not 5.916e+04 */
        append(&t, most, is_whole ? " %.0f" : " %.4g", f.last);
    } else {
        append(&t, most, ": no points");
    }
    if (f.shown > 0 && smoothing > 0) {
        append(&t, most, ", smoothed %.*f", smoothing > 0.99 ? 4 : 2, smoothing);
    }
    if (curve->per_point > 1) {
        append(&t, most, ", mean of %lld values", (long long)curve->per_point);
    }
    if (curve->spike_count > 0) {
        append(&t, most, ", %lld spike%s", (long long)curve->spike_count,
               curve->spike_count > 1 ? "s" : "");
    }
    if (f.hidden > 0) {
        append(&t, most, ", %lld %s", (long long)f.hidden,
               options.log_y ? "not finite or not above 0" : "not finite");
    }
    return t;
}
