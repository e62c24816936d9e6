/* One step of SGD and of Adam on n contiguous floats, in a single pass over a parameter, its
 * gradient and its state. kernels.h has the formulas, next to their terms. */
#include <math.h>

#include "element.h"

#if defined T_IS_F32
#define ROOT(x) sqrtf(x)
#else
#define ROOT(x) sqrt(x)
#endif

void KERNEL(scale)(int64_t n, void *x, double factor)
{
    T *to = x;
    const T by = (T)factor;
    for (int64_t i = 0; i < n; i++) {
        to[i] *= by;
    }
}

void KERNEL(sgd)(int64_t n, void *parameter, const void *gradient, void *momentum,
                 const heed_sgd_terms *terms)
{
    T *p = parameter, *buffer = momentum;
    const T *g = gradient;
    const T lr = (T)terms->lr, decay = (T)terms->decay, mu = (T)terms->momentum;
    const bool first = terms->first, nesterov = terms->nesterov;
    const T old = first ? 0 : mu, fresh = first ? 1 : (T)terms->fresh;
    if (buffer == NULL) {
        for (int64_t i = 0; i < n; i++) {
            p[i] -= lr * (g[i] + decay * p[i]);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const T d = g[i] + decay * p[i];
        const T b = (first ? 0 : old * buffer[i]) + fresh * d; /* a new buffer may contain NaN */
        buffer[i] = b;
        p[i] -= lr * (nesterov ? d + mu * b : b);
    }
}

/* Division and square root dominate the cost, so 1 / sqrt(1 - beta2^t) is passed as a factor,
 * `correction`, to avoid a second division. */
void KERNEL(adam)(int64_t n, void *parameter, const void *gradient, void *first, void *second,
                  const heed_adam_terms *terms)
{
    T *p = parameter, *m = first, *v = second;
    const T *g = gradient;
    const T size = (T)terms->size, correction = (T)terms->correction, eps = (T)terms->eps;
    const T shrink = (T)terms->shrink, decay = (T)terms->decay, beta2 = (T)terms->beta2;
    const T new1 = (T)terms->new1, new2 = (T)terms->new2;
    /* Like torch's lerp, starts from m or d, whichever has the larger weight, so that beta1 = 0
     * gives d exactly. The rounded weights beta1 and 1 - beta1 need not sum to 1. */
    const bool from_m = new1 < (T)0.5;
    const T weight = from_m ? new1 : new1 - 1;
    for (int64_t i = 0; i < n; i++) {
        const T d = g[i] + decay * p[i];
        const T mean = (from_m ? m[i] : d) + weight * (d - m[i]);
        const T square = beta2 * v[i] + new2 * d * d;
        m[i] = mean;
        v[i] = square;
        p[i] = shrink * p[i] - size * mean / (ROOT(square) * correction + eps);
    }
}
