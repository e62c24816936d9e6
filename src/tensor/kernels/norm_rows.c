/* layer_norm and rms_norm of rows of n floats, and their gradients:
 *
 *   z = (x - mean) / sqrt(var + eps); for rms_norm, x / sqrt(mean(x^2) + eps)
 *   y = weight z + bias          h = g weight
 *   dx = (h - mean(h) - z mean(h z)) / sqrt(var + eps); for rms_norm, without mean(h)
 *   dweight = sum over rows of g z      dbias = sum over rows of g
 *
 * Sums are in double. A row stays in L1 while it is read several times. */
#include <math.h>

#include "row_reduce.h"

/* ---- z of a row ---- */

/* z = (x - near) scale + shift. If the mean is large compared with the deviation, `near` is close
 * to the mean, x - near is (almost) exact, and shift accounts for the rest of the mean; otherwise
 * near is 0. `low` is the rounding error of scale: an error in a factor that applies to the
 * whole row would accumulate in the gradients. */
typedef struct form {
    T near, scale, low, shift;
} form;

#define Z(x, f) (((x) - (f).near) * (f).scale + (((x) - (f).near) * (f).low + (f).shift))

#define ABOUT   (int64_t n, const T *row, T at)
SUM_OF(sum_about, ABOUT, READ_X, (x - at))
SUM_OF(squares_about, ABOUT, READ_X, (x - at) * (x - at))

/* rest: mean - near; square: the mean of (x - near)^2. */
static form form_about(T near, double rest, double square, double eps)
{
    square -= rest * rest;
    square = (square < 0 ? 0 : square) + eps; /* rounding may make it negative */
    const double scale = 1 / sqrt(square), mean = (double)near + rest;
    const bool by_0 = mean * mean <= square;
    const T rounded = (T)scale;
    return (form){by_0 ? 0 : near, rounded, (T)(scale - (double)rounded),
                  (T)(-(by_0 ? mean : rest) * scale)};
}

/* For f32 rows whose squares overflow or underflow: the same in double. */
static form form_in_double(const heed_normalization *call, const T *x)
{
    double mean = 0, rest = 0, square = 0;
    for (int64_t i = 0; i < call->n && call->centred; i++) {
        mean += (double)x[i] / (double)call->n;
    }
    const T near = (T)mean;
    for (int64_t i = 0; i < call->n; i++) {
        const double c = (double)x[i] - (double)near;
        rest += c / (double)call->n;
        square += c * c / (double)call->n;
    }
    return form_about(near, call->centred ? rest : 0, square, call->eps);
}

/* Computes the forms of a group of rows. With a large mean, a difference of squares would lose the
 * variance to cancellation. So the mean is first estimated relative to the first element, then
 * corrected, and the squares are summed about the estimate. */
static void forms_of(const heed_normalization *call, const T *x, int64_t group, form *forms)
{
    const int64_t n = call->n;
    T near[GROUP] = {0};
    double rest[GROUP] = {0};
    for (int64_t i = 0; i < group && call->centred; i++) {
        near[i] = (T)((double)x[i * n] + sum_about(n, x + i * n, x[i * n]) / (double)n);
    }
    for (int64_t i = 0; i < group && call->centred; i++) {
        rest[i] = sum_about(n, x + i * n, near[i]) / (double)n;
    }
    for (int64_t i = 0; i < group; i++) {
        const double square = squares_about(n, x + i * n, near[i]) / (double)n;
        const bool is_exact =
            sizeof(T) == sizeof(double) || (square < 1e36 && (square > 1e-30 || call->eps > 1e-24));
        forms[i] = is_exact ? form_about(near[i], rest[i], square, call->eps)
                            : form_in_double(call, x + i * n);
    }
}

/* ---- y = weight z + bias ---- */

void KERNEL(normalize)(const heed_normalization *call)
{
    const int64_t n = call->n;
    const T *weight = call->weight, *bias = call->bias;
    for (int64_t first = 0, group; first < call->rows; first += group) {
        const T *x = (const T *)call->x + first * n;
        form forms[GROUP];
        group = group_of(n, call->rows - first);
        forms_of(call, x, group, forms);
        for (int64_t i = 0; i < group; i++, x += n) {
            T *restrict y = (T *)call->y + (first + i) * n;
            const double near = (double)forms[i].near, shift = (double)forms[i].shift;
            const double scale = (double)forms[i].scale + (double)forms[i].low;
            for (int64_t j = 0; j < n; j++) {
                const double z = ((double)x[j] - near) * scale + shift;
                y[j] = (T)(z * (double)weight[j] + (double)bias[j]);
            }
        }
    }
}

/* ---- gradients ---- */

#define ALONG_Z (int64_t n, const T *row, const T *other, const T *third, form f)
SUM_OF(sum_along_z, ALONG_Z, READ_XYZ, (x * y) * Z(z, f))

/* Computed in double: rounding errors here would propagate through all earlier layers. */
static void gradients_of_row(const heed_normalization *call, int64_t row, form f)
{
    const int64_t n = call->n;
    const T *x = (const T *)call->x + row * n, *g = (const T *)call->g + row * n;
    const T *weight = call->weight;
    T *restrict dx = (T *)call->dx + row * n;
    double *restrict dweight = call->totals, *restrict dbias = call->totals + n;
    const double along_z = sum_along_z(n, g, weight, x, f) / (double)n;
    const double along = call->centred ? sum_of_products(n, g, weight) / (double)n : 0;
    const double scale = (double)f.scale + (double)f.low, shift = (double)f.shift;
    for (int64_t j = 0; j < n; j++) {
        const double z = ((double)x[j] - (double)f.near) * scale + shift, slope = (double)g[j];
        dx[j] = (T)((slope * (double)weight[j] - along - z * along_z) * scale);
        dweight[j] += slope * z;
        dbias[j] += slope;
    }
}

void KERNEL(normalize_gradient)(const heed_normalization *call)
{
    const int64_t n = call->n;
    for (int64_t first = 0, group; first < call->rows; first += group) {
        form forms[GROUP];
        group = group_of(n, call->rows - first);
        forms_of(call, (const T *)call->x + first * n, group, forms);
        for (int64_t i = 0; i < group; i++) {
            gradients_of_row(call, first + i, forms[i]);
        }
    }
}
