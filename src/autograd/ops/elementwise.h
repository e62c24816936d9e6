/* The elementwise operations listed in ops.def, heed_where, and comparisons of whole tensors.
 *
 * Shapes broadcast as in torch: aligned at the last dim, with sizes equal or 1. A float with i64 or
 * bool gives that float dtype; f32 with f64 is HEED_ERR_DTYPE: use heed_to. "float" below means
 * that i64 and bool are cast to f32 first.
 *
 * Each binary operation also has a form with a number as its right operand (`_scalar`). With an i64
 * or bool tensor the number must be an integer, else HEED_ERR_VALUE: use heed_to first.
 *
 * HEED_ERR_SHAPE: the shapes do not broadcast. HEED_ERR_DTYPE: f32 with f64, or an operation that
 * does not support bool.
 */
#ifndef HEED_AUTOGRAD_ELEMENTWISE_H
#define HEED_AUTOGRAD_ELEMENTWISE_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* ---- one operand: x (...) -> y (...), like the torch functions of the same name ---- */

heed_tensor *heed_neg(heed_tensor *x);    /* y = -x             dx = -g             not bool */
heed_tensor *heed_exp(heed_tensor *x);    /* y = e^x            dx = g y            float */
heed_tensor *heed_expm1(heed_tensor *x);  /* y = e^x - 1        dx = g (y + 1)      float */
heed_tensor *heed_log(heed_tensor *x);    /* y = ln x           dx = g / x          float */
heed_tensor *heed_log1p(heed_tensor *x);  /* y = ln(1 + x)      dx = g / (1 + x)    float */
heed_tensor *heed_sqrt(heed_tensor *x);   /* y = x^(1/2)        dx = g / (2 y)      float */
heed_tensor *heed_rsqrt(heed_tensor *x);  /* y = x^(-1/2)       dx = -g y^3 / 2     float */
heed_tensor *heed_square(heed_tensor *x); /* y = x^2            dx = 2 g x          not bool */
heed_tensor *heed_sin(heed_tensor *x);    /* y = sin x          dx = g cos x        float */
heed_tensor *heed_cos(heed_tensor *x);    /* y = cos x          dx = -g sin x       float */
heed_tensor *heed_tanh(heed_tensor *x);   /* y = tanh x         dx = g (1 - y^2)    float */
heed_tensor *heed_erf(heed_tensor *x);    /* y = erf x   dx = 2 g e^(-x^2) / pi^(1/2)   float */
heed_tensor *heed_abs(heed_tensor *x);    /* y = |x|            dx = g sign(x)      not bool */
heed_tensor *heed_sign(heed_tensor *x);   /* y = 1, 0, -1; 0 for NaN     dx = 0 */
heed_tensor *heed_floor(heed_tensor *x);  /* y = x rounded down          dx = 0      not bool */

/* heed_clamp: as torch.clamp(x, min, max) with numbers; -INFINITY and INFINITY mean no bound. For
 * tensor bounds, use heed_minimum(heed_maximum(x, min), max).
 *
 *   y = x limited to [min, max]; max if min > max; NaN propagates
 *   dx = g where min <= x <= max, else 0
 *
 * HEED_ERR_VALUE: a bound is NaN, or is not an integer while x is i64 or bool. */
heed_tensor *heed_clamp(heed_tensor *x, double min, double max);

/* Activations; i64 and bool are cast to f32. s is sigmoid(x). */
heed_tensor *heed_relu(heed_tensor *x);     /* y = max(x, 0)      dx = g where y > 0  not bool */
heed_tensor *heed_sigmoid(heed_tensor *x);  /* y = 1 / (1 + e^-x)   dx = g y (1 - y) */
heed_tensor *heed_silu(heed_tensor *x);     /* y = x s            dx = g s (1 + x (1 - s)) */
heed_tensor *heed_softplus(heed_tensor *x); /* y = ln(1 + e^x); x if x > 20   dx = g s */
/* heed_gelu: as torch.nn.functional.gelu(x) (Hendrycks and Gimpel, 2016). heed_gelu_tanh: torch's
 * approximate="tanh".
 *
 *   y = x P(x), with P and p the normal CDF and its density     dx = g (P(x) + x p(x))
 *   heed_gelu_tanh: P(x) = (1 + tanh((2 / pi)^(1/2) (x + 0.044715 x^3))) / 2 */
heed_tensor *heed_gelu(heed_tensor *x);
heed_tensor *heed_gelu_tanh(heed_tensor *x);

/* ---- two operands: a (...), b (...) -> y (broadcast) ---- */

/* Sums of bools are "or", products are "and". An i64 to a negative power is 1 / a^-b, truncated. */
heed_tensor *heed_add(heed_tensor *a, heed_tensor *b); /* y = a + b   da = g         db = g */
heed_tensor *heed_sub(heed_tensor *a, heed_tensor *b); /* y = a - b   da = g         db = -g */
heed_tensor *heed_mul(heed_tensor *a, heed_tensor *b); /* y = a b     da = g b       db = g a */
heed_tensor *heed_div(heed_tensor *a, heed_tensor *b); /* y = a / b   da = g / b     db = -g y / b
                                                          float, as torch.true_divide */
heed_tensor *heed_pow(heed_tensor *a, heed_tensor *b); /* y = a^b     da = g b a^(b-1)
                                                          db = g y ln a; 0 where a = 0 <= b */
/* heed_maximum, heed_minimum: the larger and the smaller operand
 *
 *   y = the operand that is chosen, NaN if either is NaN
 *   da = g where a is chosen, g / 2 where a = b          db: likewise */
heed_tensor *heed_maximum(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_minimum(heed_tensor *a, heed_tensor *b);
/* The same with a number b, as a + 2 in torch:   a (...)   ->   y (...)      da: as above */
heed_tensor *heed_add_scalar(heed_tensor *a, double b);
heed_tensor *heed_sub_scalar(heed_tensor *a, double b);
heed_tensor *heed_mul_scalar(heed_tensor *a, double b);
heed_tensor *heed_div_scalar(heed_tensor *a, double b);
heed_tensor *heed_pow_scalar(heed_tensor *a, double b); /* i64: b >= 0, else HEED_ERR_VALUE */
heed_tensor *heed_maximum_scalar(heed_tensor *a, double b);
heed_tensor *heed_minimum_scalar(heed_tensor *a, double b);

/* ---- comparisons: a (...), b (...) -> bool (broadcast), no gradient ---- */

/* As torch.eq(a, b) and the like: equal, not equal, less, less or equal, greater, greater or equal.
 * NaN gives false, but true in heed_ne. */
heed_tensor *heed_eq(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_ne(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_lt(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_le(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_gt(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_ge(heed_tensor *a, heed_tensor *b);

/* The same with a number, as a == 2 in torch: a (...) -> bool (...). It need not be an integer,
 * whatever the tensor's dtype: i64 elements are then compared as f64. */
heed_tensor *heed_eq_scalar(heed_tensor *a, double b);
heed_tensor *heed_ne_scalar(heed_tensor *a, double b);
heed_tensor *heed_lt_scalar(heed_tensor *a, double b);
heed_tensor *heed_le_scalar(heed_tensor *a, double b);
heed_tensor *heed_gt_scalar(heed_tensor *a, double b);
heed_tensor *heed_ge_scalar(heed_tensor *a, double b);

/* ---- comparisons of whole tensors (compare.c) ---- */

/* heed_allclose: true if |a - b| <= atol + rtol * |b| for all elements, as torch.allclose. An
 * infinity is close only to itself. NaN is close to nothing, or with equal_nan only to NaN. torch's
 * defaults are rtol 1e-5 and atol 1e-8. False on error. */
bool heed_allclose(heed_tensor *a, heed_tensor *b, double rtol, double atol, bool equal_nan);

/* heed_equal: true if shape, dtype and elements are equal, as torch.equal. False on error. */
bool heed_equal(heed_tensor *a, heed_tensor *b);

/* ---- logic: any dtype, nonzero (including NaN) is true -> bool, no gradient ---- */

/* As torch.logical_and(a, b) and the like. */
heed_tensor *heed_logical_and(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_logical_or(heed_tensor *a, heed_tensor *b);
heed_tensor *heed_logical_not(heed_tensor *x);

/* As torch.isnan(x) and isfinite. i64 and bool are always finite. */
heed_tensor *heed_isnan(heed_tensor *x);
heed_tensor *heed_isfinite(heed_tensor *x);

/* heed_where: as torch.where(condition, a, b). heed_where_scalars: with two numbers. With a number
 * a: heed_masked_fill(b, condition, a); with a number b: heed_masked_fill(a,
 * heed_logical_not(condition), b).
 *
 *   condition (...) bool   a (...)   b (...)   ->   y (broadcast)
 *   y = a where condition, else b
 *   da = g where condition, else 0          db = 0 where condition, else g
 *
 * HEED_ERR_DTYPE: condition is not bool. */
heed_tensor *heed_where(heed_tensor *condition, heed_tensor *a, heed_tensor *b);
heed_tensor *heed_where_scalars(heed_tensor *condition, double a, double b, heed_dtype dtype);

HEED_END_DECLS
#endif
