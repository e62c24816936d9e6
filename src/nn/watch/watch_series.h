/* The values of one name: a curve of bounded length, and its spikes (internal). */
#ifndef HEED_NN_WATCH_SERIES_H
#define HEED_NN_WATCH_SERIES_H

#include "watch.h"

typedef struct heed_series {
    const char *name;
    double value;         /* the last one; NaN: none */
    int64_t step, before; /* of the last two values; equal: there is none */
    double z;             /* z-score of the last step's value if it is a spike, else 0 */
    bool shown;           /* on the terminal */
    double *x, *y;        /* HEED_WATCH_POINTS each */
    int64_t count;        /* of points, including the one being filled */
    int64_t per_point, filled, finite;
    struct heed_spikes *spikes; /* NULL: not detected for this name */
} heed_series;

/* heed_series_new: copies the name; the run begins after step `resumed`. */
heed_status heed_series_new(heed_series *s, const char *name, int64_t resumed);
void heed_series_free(heed_series *s);

/* heed_series_add: adds s->value to the curve, and sets s->z. */
void heed_series_add(heed_series *s);
heed_curve heed_series_curve(const heed_series *s);

#endif
