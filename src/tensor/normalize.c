/* The kernels of layer_norm and rms_norm: rows that are brought to mean 0 and mean square 1, or to the
 * latter alone, and their gradients. Compiled as kernels.c is. Everything is computed in double and rounded
 * once; a row stays in the first-level cache while it is gone through. */
#include <math.h>

#include "tensor/kernels_dtype.h"

/* How a row becomes z. Its mean lies by near: where it is large, x - near is exact or nearly so, and shift is
 * what rounding took from the mean. */
typedef struct form {
    double near, scale, shift;
} form;

#define Z(i) (((double)x[i] - f.near) * f.scale + f.shift)

enum { LANES = 32 }; /* sums that run side by side */

/* In halves, so that vectors work. */
static double sum_lanes(double *lane)
{
    UNROLL for (int half = LANES / 2; half > 0; half /= 2)
    {
        for (int j = 0; j < half; j++) {
            lane[j] += lane[j + half];
        }
    }
    return lane[0];
}

/* The means of x - at and of its square. */
static void means_about(int64_t n, const T *x, double at, double *mean, double *square)
{
    double sums[LANES] = {0}, squares[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            const double d = (double)x[i + j] - at;
            sums[j] += d;
            squares[j] += d * d;
        }
    }
    for (; i < n; i++) {
        const double d = (double)x[i] - at;
        sums[0] += d;
        squares[0] += d * d;
    }
    *mean = sum_lanes(sums) / (double)n;
    *square = sum_lanes(squares) / (double)n;
}

/* A large mean would swallow the variance, so both are taken about an element. None is further from the mean
 * than sqrt(n) standard deviations, so the difference of the squares keeps nearly all of a double. */
static form form_of(const heed_normalization *call, const T *x)
{
    const double at = call->centred ? (double)x[0] : 0;
    double mean, square;
    form f = {0, 0, 0};
    means_about(call->n, x, at, &mean, &square);
    if (call->centred) {
        f.near = at + mean;
        square -= mean * mean;
        square = square < 0 ? 0 : square; /* by rounding */
    }
    f.scale = 1 / sqrt(square + call->eps);
    f.shift = call->centred ? ((f.near - at) - mean) * f.scale : 0;
    return f;
}

void NORMALIZE(normalize)(const heed_normalization *call)
{
    const int64_t n = call->n;
    const double *weight = call->weight, *bias = call->bias;
    for (int64_t row = 0; row < call->rows; row++) {
        const T *x = (const T *)call->x + row * n;
        T *restrict y = (T *)call->y + row * n;
        const form f = form_of(call, x);
        for (int64_t i = 0; i < n; i++) {
            y[i] = (T)(Z(i) * weight[i] + bias[i]);
        }
    }
}

/* The means over a row of h z and of h. */
static void means_of_gradient(const heed_normalization *call, const T *x, const T *g, form f,
                              double *along_z, double *along)
{
    const double *weight = call->weight;
    double products[LANES] = {0}, sums[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= call->n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            const double h = (double)g[i + j] * weight[i + j];
            products[j] += h * Z(i + j);
            sums[j] += h;
        }
    }
    for (; i < call->n; i++) {
        const double h = (double)g[i] * weight[i];
        products[0] += h * Z(i);
        sums[0] += h;
    }
    *along_z = sum_lanes(products) / (double)call->n;
    *along = sum_lanes(sums) / (double)call->n;
}

/* With h = g weight: dx = (h - mean(h) - z mean(h z)) scale, where rms_norm leaves the first mean out. */
void NORMALIZE(normalize_gradient)(const heed_normalization *call)
{
    const int64_t n = call->n;
    const double *weight = call->weight;
    double *restrict dweight = call->totals, *restrict dbias = call->totals + n;
    for (int64_t row = 0; row < call->rows; row++) {
        const T *x = (const T *)call->x + row * n, *g = (const T *)call->g + row * n;
        T *restrict dx = (T *)call->dx + row * n;
        const form f = form_of(call, x);
        double along_z, along;
        means_of_gradient(call, x, g, f, &along_z, &along);
        along = call->centred ? along : 0;
        for (int64_t i = 0; i < n; i++) {
            const double z = Z(i), slope = (double)g[i];
            dx[i] = (T)((slope * weight[i] - along - z * along_z) * f.scale);
            dweight[i] += slope * z;
            dbias[i] += slope;
        }
    }
}
