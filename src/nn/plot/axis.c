/* Axes: ticks are multiples of 1, 2 or 5 times a power of ten. */
#include "axis.h"

#include <math.h>
#include <stdio.h>

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
    for (int k = 0; k < 9; k++) {
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
        if (a->count <= options.ticks || k == 8) {
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
    const double largest = fmax(fabs(a->low), fabs(a->high));
    const int last = a->step > 0 ? (int)round_down(log10(a->step)) : 0; /* the digit that changes */
    if (a->step <= 0) {
        snprintf(label.text, sizeof label.text, "%g", tick);
    } else if (largest < 1e7 && last >= -5) {
        snprintf(label.text, sizeof label.text, "%.*f", last < 0 ? -last : 0, tick);
    } else {
        const int digits = (int)floor(log10(largest)) - last + 1;
        snprintf(label.text, sizeof label.text, "%.*g", digits < 1 ? 1 : digits, tick);
    }
    return label;
}
