/* The values of a watch: their names, curves and spikes. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "../../tensor/alloc.h"
#include "../../tensor/text.h"
#include "watch_sink.h"

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

static heed_curve curve_of(const heed_series *s)
{
    return (heed_curve){.name = s->name,
                        .count = s->count,
                        .x = s->x,
                        .y = s->y,
                        .per_point = s->per_point,
                        .spikes = s->spikes != NULL ? s->spikes->x : NULL,
                        .spike_count = s->spikes != NULL ? s->spikes->count : 0};
}

static heed_status series_new(heed_series *s, const char *name, int64_t resumed)
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

/* ---- names ---- */

const char *heed_watch_name_fault(const char *name)
{
    if (*name == '\0') {
        return "a name is empty";
    }
    if (strcmp(name, "step") == 0) {
        return "\"step\" is the number of the step; choose another name";
    }
    uint32_t code;
    for (int size; *name != '\0'; name += size) {
        size = heed_utf8_read(name, &code);
        if (size == 0) {
            return "a name is not UTF-8";
        }
        if (code < 0x20 || (code >= 0x7F && code < 0xA0)) {
            return "a name has control characters";
        }
    }
    return NULL;
}

static bool is_shown(const heed_watch *w, const char *name)
{
    const char *const *shown = w->options.shown;
    for (; shown != NULL && *shown != NULL; shown++) {
        if (strcmp(*shown, name) == 0) {
            return true;
        }
    }
    return shown == NULL;
}

static heed_status grow(heed_watch *w)
{
    if (w->count < w->capacity) {
        return HEED_OK;
    }
    const int capacity = w->capacity > 0 ? 2 * w->capacity : 8;
    heed_series *series = heed_realloc(w->series, (size_t)capacity * sizeof *series);
    w->series = series != NULL ? series : w->series;
    heed_curve *curves = heed_realloc(w->curves, (size_t)capacity * sizeof *curves);
    w->curves = curves != NULL ? curves : w->curves;
    if (series != NULL && curves != NULL) {
        w->capacity = capacity;
    }
    return heed_error_pending();
}

static heed_series *add_series(heed_watch *w, const char *function, const char *name)
{
    const char *fault = heed_watch_name_fault(name);
    if (fault != NULL) {
        heed_fail(HEED_ERR_VALUE, "%s: %s", function, fault);
        return NULL;
    }
    if (grow(w) != HEED_OK ||
        series_new(&w->series[w->count], name, w->options.resumed) != HEED_OK) {
        return NULL;
    }
    w->series[w->count].shown = is_shown(w, name);
    return &w->series[w->count++];
}

/* NULL if not found. Steps usually name their values in the same order, so the first guess is
 * right. */
static heed_series *find(const heed_watch *w, const char *name)
{
    for (int i = 0, at = w->next; i < w->count; i++, at++) {
        at = at < w->count ? at : 0;
        if (strcmp(w->series[at].name, name) == 0) {
            return &w->series[at];
        }
    }
    return NULL;
}

/* On error, returns NULL with the error pending. */
static heed_series *series_of(heed_watch *w, const char *function, const char *name)
{
    if (heed_error_pending() || name == NULL) {
        heed_fail(HEED_ERR_NULL, "%s: the name is NULL", function);
        return NULL;
    }
    heed_series *s = find(w, name);
    return s != NULL ? s : add_series(w, function, name);
}

heed_status heed_watch_name(heed_watch *w, const char *name)
{
    if (w != NULL) {
        series_of(w, "watch_name", name);
    }
    return heed_error_pending();
}

heed_status heed_watch_value(heed_watch *w, const char *name, double value)
{
    heed_series *s = w != NULL ? series_of(w, "watch_value", name) : NULL;
    if (s == NULL) {
        return heed_error_pending();
    }
    s->value = value;
    if (s->step <= w->steps) {
        s->before = s->step;
        s->step = w->steps + 1;
    }
    w->next = (int)(s - w->series) + 1;
    return HEED_OK;
}

/* ---- collected values ---- */

int heed_watch_curves(heed_watch *w, const heed_curve **curves)
{
    const int count = w != NULL ? w->count : 0;
    for (int i = 0; i < count; i++) {
        w->curves[i] = curve_of(&w->series[i]);
    }
    *curves = count > 0 ? w->curves : NULL;
    return count;
}

heed_curve heed_watch_curve(heed_watch *w, const char *name)
{
    const heed_series *s = w != NULL && name != NULL ? find(w, name) : NULL;
    return s != NULL ? curve_of(s) : (heed_curve){.name = name};
}

int64_t heed_watch_steps(const heed_watch *w)
{
    return w != NULL ? w->steps : 0;
}

double heed_watch_last(const heed_watch *w, const char *name)
{
    const heed_series *s = w != NULL && name != NULL ? find(w, name) : NULL;
    return s != NULL ? s->value : (double)NAN;
}

const char *heed_watch_warning(const heed_watch *w)
{
    return w != NULL && *w->warning != '\0' ? w->warning : NULL;
}

/* ---- warnings ---- */

void heed_watch_warn(heed_watch *w, const char *format, ...)
{
    char line[sizeof w->warning];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (*w->warning == '\0') {
        strcpy(w->warning, line);
    }
    if (w->terminal != NULL && !w->terminal->off) {
        w->terminal->kind->say(w->terminal, line);
    }
}
