/* A training run as SVG: its losses and the attention of each head. */
#ifndef HEED_NEXT_TOKEN_PLOT_H
#define HEED_NEXT_TOKEN_PLOT_H

#include <stdio.h>

#include "heed.h"

enum { CURVE_POINTS = 400, PLOT_TOKENS = 24 };

/* Loss by step. In long runs each point averages several steps. */
typedef struct curve_point {
    double step, loss;
} curve_point;

typedef struct curve {
    int count;
    int64_t each;   /* steps per point */
    int64_t inside; /* steps in the last point so far */
    curve_point points[CURVE_POINTS + 1];
} curve;

/* curve_begin: for at most `steps` values. */
curve curve_begin(int64_t steps);
void curve_add(curve *c, int64_t step, double loss);

/* plot_write: draws the losses (if any) above the attention (heads, T, T) over T tokens, at most
 * PLOT_TOKENS. Tokens are any UTF-8.
 * HEED_ERR_FILE: it cannot be written. */
heed_status plot_write(const char *path, const char *title, const curve *training,
                       const curve *held_out, heed_tensor *attention, const char *const *tokens);

#endif
