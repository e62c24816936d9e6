/* Gradient checks: compare the derivatives of a function with finite differences.
 *
 *     static heed_tensor *f(heed_tensor *const *inputs, void *context)
 *     {
 *         return heed_softmax(heed_matmul(inputs[0], inputs[1]), -1);
 *     }
 *     ...
 *     heed_tensor *inputs[] = {a, b};              // f64, requiring gradients
 *     heed_gradcheck(f, NULL, inputs, 2);
 *
 * Like torch.autograd.gradcheck, but stricter. It compares every element of the Jacobian, including
 * its sign, and then the gradient for a random upstream gradient, once as in backward and once with
 * create_graph. (An upstream gradient of ones would hide a wrong softmax.) NaN never passes. An
 * input that has no effect fails the check unless the options list it. A derivative can read only
 * the values that it declares as saved. Where a derivative differs, the check looks again, at
 * one-sided slopes and with other steps, and says why; this changes no result.
 */
#ifndef HEED_AUTOGRAD_GRADCHECK_H
#define HEED_AUTOGRAD_GRADCHECK_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* A function of `inputs`, which it must not keep. They are other handles than the caller's: read
 * them, not the fields of a module that holds the tensors. The generator is reset before each call,
 * so that random functions draw the same numbers, and restored at the end. */
typedef heed_tensor *heed_function(heed_tensor *const *inputs, void *context);

/* Sets of inputs: HEED_INPUT(0) | HEED_INPUT(2). */
#define HEED_INPUT(i)   (1u << (i))
#define HEED_ALL_INPUTS (~0u)

/* Why a check failed, from the mildest to the worst: of the derivatives that differ, the report has
 * those with the worst verdict, and of them the one that differs most. */
typedef enum heed_gradcheck_verdict {
    HEED_GRADCHECK_OK = 0,    /* no derivative differs; the function may have failed */
    HEED_GRADCHECK_KINK,      /* f is not differentiable there; beside it, the gradient is right */
    HEED_GRADCHECK_NOISE,     /* difference quotients do not settle, so the gradient may be right */
    HEED_GRADCHECK_WRONG,     /* the difference quotient settles, but not at the gradient */
    HEED_GRADCHECK_NO_EFFECT, /* the input has no effect, so the check proves nothing */
} heed_gradcheck_verdict;

typedef struct heed_gradcheck_report {
    heed_gradcheck_verdict verdict;
    int input;                /* gradgradcheck: the number of inputs means the upstream gradient */
    int64_t element, output;  /* in row-major order; output is 0 for a random upstream gradient */
    double analytic, numeric; /* the two values that differ */
    double left, right;       /* slopes on both sides of the element */
    double limit;             /* at which the difference quotient settles best */
} heed_gradcheck_report;

typedef struct heed_gradcheck_options {
    double eps;      /* step of the central differences, in each direction; 0: 1e-6 */
    double atol;     /* |analytic - numeric| <= atol + rtol |numeric|; 0: 1e-7 */
    double rtol;     /* 0: 1e-5 */
    unsigned unused; /* inputs that may have no effect on the function */
    unsigned linear; /* gradgradcheck: inputs that may have no effect on the gradient */
    heed_gradcheck_report *report; /* set to the reason of a failure; NULL: not wanted */
} heed_gradcheck_options;

/* heed_gradcheck: first derivatives, with respect to every input that requires a gradient. The
 * other inputs, which may be i64 or bool, are constants. At most 16 inputs.
 *
 * HEED_ERR_GRADCHECK: a derivative differs. The message names the element, both values, and why
 * they differ, as in the report; or it names the input that has no effect. HEED_ERR_DTYPE: an input
 * that requires a gradient is not f64. HEED_ERR_GRAPH: no input requires a gradient.
 * HEED_ERR_SHAPE: an input is expanded. Errors of the function itself are returned as well. */
heed_status heed_gradcheck(heed_function *f, void *context, heed_tensor *const *inputs, int count);
heed_status heed_gradcheck_with(heed_function *f, void *context, heed_tensor *const *inputs,
                                int count, heed_gradcheck_options options);

/* heed_gradgradcheck: second derivatives: checks the derivatives of the function's gradient with
 * respect to its inputs and to a random upstream gradient, like torch.autograd.gradgradcheck.
 * Errors are those of heed_gradcheck. */
heed_status heed_gradgradcheck(heed_function *f, void *context, heed_tensor *const *inputs,
                               int count);
heed_status heed_gradgradcheck_with(heed_function *f, void *context, heed_tensor *const *inputs,
                                    int count, heed_gradcheck_options options);

HEED_END_DECLS
#endif
