/* Axes of plots: a range of values and its ticks, which are round numbers (internal). */
#ifndef HEED_NN_AXIS_H
#define HEED_NN_AXIS_H

#include "plot.h"

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

#endif
