/* Curves: their axes, which points can be drawn, moving averages and legends. Ticks are multiples
 * of 1, 2 or 5 times a power of ten. */
#include "curves.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Larger values are clamped, so that differences stay finite. */
static const double LEAST = 1e-300, MOST = 1e300;

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* Floor and ceiling that tolerate rounding errors in quotients. */
static double round_down(double x)
{
    return floor(x + 1e-9);
}

static double round_up(double x)
{
    return ceil(x - 1e-9);
}

/* ---- multiples of a step ---- */

static double choose_step(const heed_axis *a, heed_axis_options options, double *first,
                          double *count)
{
    static const double digits[] = {1, 2, 5};
    const double power = pow(10, floor(log10((a->high - a->low) / options.ticks)));
    for (int i = 0;; i++) {
        const double step = fmax(digits[i % 3] * power * pow(10, i / 3), options.least);
        *first = options.widen ? round_down(a->low / step) : round_up(a->low / step);
        *count =
            (options.widen ? round_up(a->high / step) : round_down(a->high / step)) - *first + 1;
        if (*count <= options.ticks) {
            return step;
        }
    }
}

static void place_multiples(heed_axis *a, heed_axis_options options)
{
    double first, count;
    a->step = choose_step(a, options, &first, &count);
    a->count = (int)count;
    for (int i = 0; i < a->count; i++) {
        a->ticks[i] = (first + i) * a->step + 0.0; /* never -0 */
    }
}

/* ---- powers of ten, or 1, 2 and 5 times these ---- */

/* Tick i: `digits` per decade, or powers of 10^stride. */
static double mark(int digits, int stride, int i)
{
    static const double by_three[] = {1, 2, 5};
    if (digits == 1) {
        return pow(10, i * stride);
    }
    const int decade = i >= 0 ? i / 3 : -((2 - i) / 3);
    return by_three[i - 3 * decade] * pow(10, decade);
}

static void place_powers(heed_axis *a, heed_axis_options options)
{
    static const int strides[] = {1, 1, 2, 5, 10, 20, 50, 100, 300};
    for (int k = 0;; k++) { /* the last stride leaves 3 ticks, the fewest that are asked for */
        const int digits = k == 0 ? 3 : 1, stride = strides[k];
        const double low = a->low * (1 + 1e-9), high = a->high * (1 - 1e-9);
        int first = digits * ((int)floor(log10(low) / stride) - 1);
        while (mark(digits, stride, first + 1) <= low) {
            first++;
        }
        int last = first;
        while (mark(digits, stride, last) < high) {
            last++;
        }
        a->count = last - first + 1;
        if (a->count <= options.ticks) {
            for (int i = 0; i < a->count; i++) {
                a->ticks[i] = mark(digits, stride, first + i);
            }
            return;
        }
    }
}

heed_axis heed_axis_new(double low, double high, heed_axis_options options)
{
    heed_axis a = {.low = clamp(low, options.log ? LEAST : -MOST, MOST),
                   .high = clamp(high, options.log ? LEAST : -MOST, MOST),
                   .log = options.log};
    if (!(low <= high)) {
        a.low = options.log ? 0.1 : 0;
        a.high = 1;
    }
    const double largest = fmax(fabs(a.low), fabs(a.high));
    if (a.high - a.low < fmax(1e-6 * largest, LEAST)) {
        const double margin = largest < LEAST ? 1 : 0.1 * largest;
        a.low = fmax(a.low - margin, options.log ? 0.9 * a.low : -MOST);
        a.high = fmin(a.high + margin, MOST);
    }
    const bool is_short = a.log && a.high < 10 * a.low; /* powers of ten would give too few ticks */
    options.widen = options.widen && !is_short;
    (a.log && !is_short ? place_powers : place_multiples)(&a, options);
    if (options.widen) {
        a.low = a.ticks[0];
        a.high = a.ticks[a.count - 1];
    }
    return a;
}

double heed_axis_at(const heed_axis *a, double value)
{
    value = clamp(value, a->low, a->high);
    return a->log ? (log10(value) - log10(a->low)) / (log10(a->high) - log10(a->low))
                  : (value - a->low) / (a->high - a->low);
}

heed_text heed_axis_label(const heed_axis *a, double tick)
{
    heed_text label;
    if (a->step <= 0) { /* powers */
        snprintf(label.text, sizeof label.text, "%g", tick);
        return label;
    }
    const double largest = fmax(fabs(a->low), fabs(a->high));
    const int last = (int)round_down(log10(a->step)); /* the digit that changes */
    if (largest < 1e7 && last >= -5) {
        snprintf(label.text, sizeof label.text, "%.*f", last < 0 ? -last : 0, tick);
    } else {
        const int digits = (int)floor(log10(largest)) - last + 1;
        snprintf(label.text, sizeof label.text, "%.*g", digits < 1 ? 1 : digits, tick);
    }
    return label;
}

/* ---- curves ---- */

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
        append(&t, most, ", smoothed with weight %.*f", smoothing > 0.99 ? 4 : 2, smoothing);
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
