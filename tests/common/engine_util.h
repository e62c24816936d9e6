/* Shared by the tests of gradients: leaves, and a small operation. */
#ifndef HEED_TESTS_ENGINE_UTIL_H
#define HEED_TESTS_ENGINE_UTIL_H

#include "tests/common/test_util.h"

/* leaf_of: an f64 leaf. LEAF(1, 2, 3) has shape (3); LEAF1(2) is a scalar. */
static inline heed_tensor *leaf_of(const double *values, heed_shape shape)
{
    return heed_set_requires_grad(heed_from_f64(values, shape), true);
}
#define LEAF(...)                                                                                  \
    leaf_of((const double[]){__VA_ARGS__},                                                         \
            HEED_SHAPE((int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double))))
#define LEAF1(value) leaf_of((const double[]){value}, HEED_SCALAR)

static inline heed_tensor *sum_of_squares(heed_tensor *x)
{
    return heed_sum(heed_mul(x, x));
}

/* copy_forward: y = x, for operations whose derivative is under test. */
static inline heed_status copy_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, call->inputs[0]);
}

#endif
