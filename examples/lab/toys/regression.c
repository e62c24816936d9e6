/* regression: x y x y ... x: numbers y = w x of a linear function that is drawn for each sequence;
 * the next y is to be predicted from those in the context. */
#include <math.h>
#include <string.h>

#include "examples/lab/toys/task.h"

enum { MOST = 64 };

/* A token is x followed by a 0, or zeros followed by y. `length` examples with their y, and a last
 * x; each x is scored. */
static toys_shape shape(const toys_settings *s, int64_t length)
{
    return (toys_shape){
        .tokens = 2 * length + 1, .first = 0, .every = 2, .inputs = s->symbols + 1, .outputs = 1};
}

static void draw(const toys_settings *s, int64_t length, const toys_batch *b)
{
    const int64_t d = s->symbols, n = length + 1, wide = d + 1;
    const float *w = heed_const_data_f32(heed_randn(HEED_SHAPE(b->rows, d), HEED_F32));
    const float *x = heed_const_data_f32(heed_randn(HEED_SHAPE(b->rows, n, d), HEED_F32));
    heed_fill_into(b->inputs, 0);
    float *token = heed_data_f32(b->inputs), *target = heed_data_f32(b->targets);
    for (int64_t r = 0; r < b->rows && !heed_error_pending(); r++, w += d) {
        for (int64_t i = 0; i < n; i++, x += d) {
            double y = 0;
            for (int64_t j = 0; j < d; j++) {
                y += (double)w[j] * (double)x[j];
            }
            memcpy(token, x, (size_t)d * sizeof *token);
            token += wide;
            *target++ = (float)y;
            if (i + 1 < n) {
                token[d] = (float)y;
                token += wide;
            }
        }
    }
}

/* ---- least squares ---- */

/* Writes the squared error of the prediction for each x from the examples before it, by the w of
 * least norm that fits them: the mean of w, whose distribution is normal, given the examples. The
 * directions of earlier x are kept as an orthonormal basis, and w's components along them. */
static void write_errors(const float *token, const float *target, int64_t d, int64_t n,
                         double *losses)
{
    double basis[MOST][MOST], along[MOST];
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++, token += 2 * (d + 1)) {
        double rest[MOST], y = 0, length = 0;
        for (int64_t j = 0; j < d; j++) {
            rest[j] = (double)token[j];
        }
        for (int64_t k = 0; k < count; k++) {
            double dot = 0;
            for (int64_t j = 0; j < d; j++) {
                dot += basis[k][j] * rest[j];
            }
            for (int64_t j = 0; j < d; j++) {
                rest[j] -= dot * basis[k][j];
            }
            y += dot * along[k];
        }
        const double error = (double)target[i] - y;
        losses[i] = error * error;
        for (int64_t j = 0; j < d; j++) {
            length += rest[j] * rest[j];
        }
        if (count < d && length > 1e-9) {
            length = sqrt(length);
            for (int64_t j = 0; j < d; j++) {
                basis[count][j] = rest[j] / length;
            }
            along[count++] = error / length;
        }
    }
}

/* In more than MOST dimensions it is not known. */
static void best(const toys_settings *s, const toys_batch *b, double *losses)
{
    const int64_t d = s->symbols, n = toys_scored(&b->shape);
    const float *token = heed_const_data_f32(b->inputs), *target = heed_const_data_f32(b->targets);
    for (int64_t r = 0; r < b->rows && !heed_error_pending(); r++) {
        if (d <= MOST) {
            write_errors(token, target, d, n, losses);
        }
        for (int64_t i = 0; d > MOST && i < n; i++) {
            losses[i] = (double)NAN;
        }
        token += b->shape.tokens * (d + 1);
        target += n;
        losses += n;
    }
}

/* Predicts 0: the variance of y. */
static void simple(const toys_settings *s, const toys_batch *b, double *losses)
{
    const float *target = heed_const_data_f32(b->targets);
    (void)s;
    for (int64_t i = 0; !heed_error_pending() && i < b->targets->numel; i++) {
        losses[i] = (double)target[i] * (double)target[i];
    }
}

const toys_task toys_regression = {
    .name = "regression",
    .about = "x y x y ... x: linear functions in context, a new one for each sequence",
    .defaults = "length=12 symbols=5 layers=3 heads=4 width=64 ff=256 batch=64 lr=1e-3 warmup=200 "
                "schedule=cosine steps=10000 eval_every=500 learned=0.9",
    .shape = shape,
    .draw = draw,
    .best = best,
    .simple = simple,
    .simple_name = "variance of y",
};
