/* The arithmetic of optimisers: one pass over a parameter, its gradient and what is remembered of it, each
 * element read once and written once. Compiled as kernels.c is, for floats. The formulas are update.h's. */
#include "element.h"

#include <math.h>

#if defined T_IS_F32
#define ROOT(x) sqrtf(x)
#else
#define ROOT(x) sqrt(x)
#endif

void LINES(scale)(int64_t n, void *x, double factor)
{
    T *to = x;
    const T by = (T)factor;
    for (int64_t i = 0; i < n; i++) {
        to[i] *= by;
    }
}

static void sgd_without_momentum(int64_t n, T *p, const T *g, T lr, T decay)
{
    for (int64_t i = 0; i < n; i++) {
        p[i] -= lr * (g[i] + decay * p[i]);
    }
}

void LINES(sgd)(int64_t n, void *parameter, const void *gradient, void *momentum,
                const heed_sgd_terms *terms)
{
    T *p = parameter, *buffer = momentum;
    const T *g = gradient;
    const T lr = (T)terms->lr, decay = (T)terms->decay, mu = (T)terms->momentum;
    const bool first = terms->first, nesterov = terms->nesterov;
    const T old = first ? 0 : mu, fresh = first ? 1 : (T)terms->fresh;
    if (buffer == NULL) {
        sgd_without_momentum(n, p, g, lr, decay);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const T d = g[i] + decay * p[i];
        const T b = (first ? 0 : old * buffer[i]) + fresh * d; /* at first it may hold NaN */
        buffer[i] = b;
        p[i] -= lr * (nesterov ? d + mu * b : b);
    }
}

/* An element costs a division and a root, at which processors take longer than at all the rest: so
 * 1 / sqrt(1 - beta2^t) is a factor, which rounds once more than dividing by it. */
void LINES(adam)(int64_t n, void *parameter, const void *gradient, void *first, void *second,
                 const heed_adam_terms *terms)
{
    T *p = parameter, *m = first, *v = second;
    const T *g = gradient;
    const T size = (T)terms->size, correction = (T)terms->correction, eps = (T)terms->eps;
    const T shrink = (T)terms->shrink, decay = (T)terms->decay, beta2 = (T)terms->beta2;
    const T new1 = (T)terms->new1, new2 = (T)terms->new2;
    /* As torch's lerp: from whichever of m and d it keeps more of, so that beta1 = 0 is d exactly. No sum
     * of two products: beta1 and 1 - beta1, rounded, do not add up to 1. */
    const bool from_m = new1 < (T)0.5;
    const T way = from_m ? new1 : new1 - 1;
    for (int64_t i = 0; i < n; i++) {
        const T d = g[i] + decay * p[i];
        const T mean = (from_m ? m[i] : d) + way * (d - m[i]);
        const T square = beta2 * v[i] + new2 * d * d;
        m[i] = mean;
        v[i] = square;
        p[i] = shrink * p[i] - size * mean / (ROOT(square) * correction + eps);
    }
}
