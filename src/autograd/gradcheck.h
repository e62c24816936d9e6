/* Gradient checks: the derivatives of a function against finite differences.
 *
 *     static heed_tensor *f(heed_tensor *const *inputs, void *context)
 *     {
 *         return heed_softmax(heed_matmul(inputs[0], inputs[1]), -1);
 *     }
 *     ...
 *     heed_tensor *inputs[] = {a, b};              // f64, requiring gradients
 *     heed_gradcheck(f, NULL, inputs, 2, (heed_gradcheck_options){0});
 *
 * As torch.autograd.gradcheck, and stricter: every element of the Jacobian is compared, with its
 * sign; then the gradient for a random upstream (one of ones would hide a wrong softmax), as
 * backward computes it and as create_graph does. NaN never passes; a numeric gradient that is zero
 * everywhere fails unless it is declared. The derivatives find only the values that they have
 * declared to read: one that reads another fails.
 */
#ifndef HEED_AUTOGRAD_GRADCHECK_H
#define HEED_AUTOGRAD_GRADCHECK_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* A function of `inputs`, which it must not keep. What it draws at random is the same at each call:
 * the generator is set back, and is left as it was. */
typedef heed_tensor *heed_function(heed_tensor *const *inputs, void *context);

typedef struct heed_gradcheck_options {
    double eps;      /* half the step of the differences: 1e-6 */
    double atol;     /* |analytic - numeric| <= atol + rtol |numeric|: 1e-7 */
    double rtol;     /* 1e-5 */
    bool allow_zero; /* the function may be constant in an input */
} heed_gradcheck_options;

/* heed_gradcheck: first derivatives, by every input that requires a gradient; the others, and those
 * of i64 and bool, are constants.
 *
 * HEED_ERR_GRADCHECK: one differs; the message names the worst element and both values.
 * HEED_ERR_DTYPE: an input that requires a gradient is not f64. HEED_ERR_GRAPH: none requires one.
 * HEED_ERR_SHAPE: an input shares memory with itself. Or the function's own error. */
heed_status heed_gradcheck(heed_function *f, void *context, heed_tensor *const *inputs, int count,
                           heed_gradcheck_options options);

/* heed_gradgradcheck: second derivatives: the same check of the function's gradient, by its inputs
 * and by a random upstream. */
heed_status heed_gradgradcheck(heed_function *f, void *context, heed_tensor *const *inputs,
                               int count, heed_gradcheck_options options);

HEED_END_DECLS
#endif
