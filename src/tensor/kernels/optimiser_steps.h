/* One step of SGD and of Adam on n contiguous floats, in a single pass over a parameter, its
 * gradient and its state. kernels.h has the formulas, next to their terms.
 *
 * While a gradient is 0, momentum and moments decay to subnormal numbers, which are slow and would
 * remain forever, because 0.9 times the smallest rounds to itself. So state below LEAST_NORMAL
 * becomes 0. A moment or momentum is then off by at most LEAST_NORMAL / (1 - beta), the sum of a
 * geometric series. */

#ifdef T_IS_F32
#define LEAST_NORMAL FLT_MIN
#define EPSILON      FLT_EPSILON
#define SIZE(x)      fabsf(x)
#define ROOT(x)      sqrtf(x)
#else
#define LEAST_NORMAL DBL_MIN
#define EPSILON      DBL_EPSILON
#define SIZE(x)      fabs(x)
#define ROOT(x)      sqrt(x)
#endif

static inline T flush_below(T least, T x)
{
    return SIZE(x) < least ? 0 : x;
}

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
    if (buffer == NULL) {
        for (int64_t i = 0; i < n; i++) {
            p[i] -= lr * (g[i] + decay * p[i]);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        buffer[i] = flush_below(LEAST_NORMAL, mu * buffer[i] + (g[i] + decay * p[i]));
        p[i] -= lr * buffer[i];
    }
}

/* Division and square root dominate the cost, so 1 / sqrt(1 - beta2^t) is passed as a factor,
 * `correction`, to avoid a second division. */
void KERNEL(adam)(int64_t n, void *parameter, const void *gradient, void *first, void *second,
                  const heed_adam_terms *terms)
{
    T *p = parameter, *m = first, *v = second;
    const T *g = gradient;
    const T step_size = (T)terms->step_size, correction = (T)terms->correction;
    const T keep = (T)terms->keep, decay = (T)terms->decay, eps = (T)terms->eps;
    const T beta2 = (T)terms->beta2, one_minus_beta2 = (T)terms->one_minus_beta2;
    const T one_minus_beta1 = (T)terms->one_minus_beta1;
    /* Like torch's lerp, starts from m or d, whichever has the larger weight, so that beta1 = 0
     * gives d exactly. The rounded weights beta1 and 1 - beta1 need not sum to 1. */
    const bool from_m = one_minus_beta1 < (T)0.5;
    const T weight = from_m ? one_minus_beta1 : one_minus_beta1 - 1;
    /* Squares of gradients are flushed too. Together this changes v by at most 2 LEAST_NORMAL /
     * one_minus_beta2, and the denominator by less than its rounding error if eps is large enough:
     * with the default betas, 1.7e-10. With a smaller eps, nothing is flushed. */
    const bool flush = ROOT(2 * LEAST_NORMAL / one_minus_beta2) < EPSILON / 4 * eps;
    const T least = flush ? LEAST_NORMAL : 0,
            least_root = flush ? ROOT(LEAST_NORMAL / one_minus_beta2) : 0;
    for (int64_t i = 0; i < n; i++) {
        const T d = g[i] + decay * p[i];
        const T mean = flush_below(least, (from_m ? m[i] : d) + weight * (d - m[i]));
        const T squared = flush_below(least_root, d);
        const T grown =
            beta2 * v[i] + one_minus_beta2 * squared * squared; /* not negative: no SIZE */
        const T square = grown < least ? 0 : grown;
        m[i] = mean;
        v[i] = square;
        p[i] = keep * p[i] - step_size * mean / (ROOT(square) * correction + eps);
    }
}
