/* The values of one name. */
#include "watch_series.h"

#include <math.h>
#include <string.h>

#include "../../tensor/alloc.h"

/* ---- spikes ----
 *
 * The mean and standard deviation of the last WINDOW values are computed without subtracting old
 * values, which would lose digits after a large one. The window is the end of one block of values,
 * whose moments were summed backwards from its last value, and the start of the next.
 */

enum { WINDOW = 128, MOST_SPIKES = 256 };
static const double least_z = 6;

typedef struct moments {
    double count, mean, m2; /* m2: the sum of squared distances from the mean */
} moments;

struct heed_spikes {
    double values[WINDOW];     /* of the block being filled */
    moments after[WINDOW + 1]; /* of the previous block, from each position to its end */
    moments now;               /* of the block being filled */
    int filled;
    bool full;             /* there is a previous block */
    double x[MOST_SPIKES]; /* the last spikes */
    int count;
};

/* Chan, Golub and LeVeque's formula. */
static moments join(moments a, moments b)
{
    const double count = a.count + b.count, distance = b.mean - a.mean;
    const double share = b.count / count;
    return (moments){count, a.mean + distance * share,
                     a.m2 + b.m2 + distance * distance * a.count * share};
}

static void begin_block(struct heed_spikes *s)
{
    for (int i = WINDOW - 1; i >= 0; i--) {
        s->after[i] = join((moments){1, s->values[i], 0}, s->after[i + 1]);
    }
    s->now = (moments){0};
    s->filled = 0;
    s->full = true;
}

/* The z-score of a value in the window that ends with it, if it is a spike; else 0. */
static double push(struct heed_spikes *s, double value)
{
    s->values[s->filled++] = value;
    s->now = join(s->now, (moments){1, value, 0});
    const moments all = join(s->now, s->after[s->filled]);
    const double above = value - all.mean, variance = all.m2 / WINDOW;
    if (s->filled == WINDOW) {
        begin_block(s);
    }
    return s->full && above > 0 && above * above > least_z * least_z * variance
               ? above / sqrt(variance)
               : 0;
}

static void add_spike(struct heed_spikes *s, double x)
{
    if (s->count == MOST_SPIKES) {
        memmove(s->x, s->x + 1, (MOST_SPIKES - 1) * sizeof *s->x);
        s->count--;
    }
    s->x[s->count++] = x;
}

/* ---- the curve ---- */

static void begin_point(heed_series *s)
{
    if (s->count == HEED_WATCH_POINTS) {
        s->count /= 2;
        s->per_point *= 2;
        for (int64_t i = 0; i < s->count; i++) {
            const double a = s->y[2 * i], b = s->y[2 * i + 1];
            s->x[i] = (s->x[2 * i] + s->x[2 * i + 1]) / 2;
            s->y[i] = !isfinite(b) ? a : !isfinite(a) ? b : a / 2 + b / 2;
        }
    }
    s->x[s->count] = 0;
    s->count++;
    s->filled = s->finite = 0;
}

/* A point is the mean of its finite values; without any, it is not finite. */
void heed_series_add(heed_series *s)
{
    if (s->filled == s->per_point) {
        begin_point(s);
    }
    double *x = &s->x[s->count - 1], *y = &s->y[s->count - 1];
    const bool finite = isfinite(s->value);
    s->filled++;
    *x += ((double)s->step - *x) / (double)s->filled;
    if (finite) {
        s->finite++;
        *y = s->finite == 1 ? s->value : *y + (s->value - *y) / (double)s->finite;
    } else if (s->finite == 0) {
        *y = s->value;
    }
    s->z = s->spikes != NULL && finite ? push(s->spikes, s->value) : 0;
    if (s->z > 0) {
        add_spike(s->spikes, (double)s->step);
    }
}

heed_curve heed_series_curve(const heed_series *s)
{
    return (heed_curve){.name = s->name,
                        .count = s->count,
                        .x = s->x,
                        .y = s->y,
                        .per_point = s->per_point,
                        .spikes = s->spikes != NULL ? s->spikes->x : NULL,
                        .spike_count = s->spikes != NULL ? s->spikes->count : 0};
}

heed_status heed_series_new(heed_series *s, const char *name, int64_t resumed)
{
    const size_t size = strlen(name) + 1, points = HEED_WATCH_POINTS * sizeof(double);
    const bool spikes = strcmp(name, "loss") == 0 || strcmp(name, "grad_norm") == 0;
    *s = (heed_series){.value = (double)NAN, .step = resumed, .before = resumed, .per_point = 1};
    s->filled = s->per_point; /* the first value begins the first point */
    char *copy = heed_alloc(size);
    s->name = copy;
    s->x = heed_alloc(points);
    s->y = heed_alloc(points);
    s->spikes = spikes ? heed_alloc_zeroed(sizeof *s->spikes) : NULL;
    if (heed_error_pending()) {
        heed_series_free(s);
        return heed_error_pending();
    }
    memcpy(copy, name, size);
    return HEED_OK;
}

void heed_series_free(heed_series *s)
{
    heed_free((void *)s->name);
    heed_free(s->x);
    heed_free(s->y);
    heed_free(s->spikes);
}
