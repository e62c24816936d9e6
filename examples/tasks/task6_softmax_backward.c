/* Task 6: the derivative of softmax.    make task6, HINT=1, HINT=2
 *
 * Training asks of each operation: if L changes by g_i for each unit of the result y_i, by how much
 * does it change for each unit of the input x_j? For softmax along a dim,
 *
 *     y_i = exp(x_i) / (exp(x_0) + ... + exp(x_{n-1}))      dL/dx_j = sum over i of g_i dy_i/dx_j
 *
 * One score changes every share of its row, because the shares sum to 1. Derive dy_i/dx_j on paper,
 * for i = j and for other i, and simplify the sum: what remains is one line for the whole tensor.
 *
 * my_softmax is an operation of its own, like squared_relu in examples/custom_op.c: forward
 * computes y, and heed_backward calls backward with y and g.
 *
 * Functions: heed_mul, heed_sub, heed_sum_dim. Results of Heed's functions can be differentiated
 * again.
 *
 * Read first: examples/custom_op.c; task 1; lesson 6, differentiate() */
#include "grade/task6.h"

static int dim_of(const void *args)
{
    const int *dim = args;
    return *dim;
}

/* Given: y = softmax(x) along dim. */
static heed_status forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *x = call->inputs[0];
    const int dim = dim_of(call->args);
    heed_tensor *e = heed_exp(heed_sub(x, heed_amax_dim(x, dim, true)));
    return heed_copy_into(y, heed_div(e, heed_sum_dim(e, dim, true)));
}

/* Sets v->grads[0] = dL/dx, given y and g = dL/dy; all three have the same shape. Only y is saved
 * for backward (.saves below): the values of x may have been freed. y and g are not yours to
 * change.
 */
static void backward(const heed_vjp *v)
{
    v->grads[0] = NULL; /* your code, with v->y, v->g and dim_of(v->args) */
}

HEED_OPERATION(my_softmax) = {.name = "my_softmax",
                              .inputs = 1,
                              .args = "int dim",
                              .forward = forward,
                              .backward = backward,
                              .saves = {HEED_SAVES_OUTPUT}};

/* x (...) f64 -> y (...); dim -1 is the last one. */
heed_tensor *my_softmax(heed_tensor *x, int dim)
{
    return heed_apply(&op_my_softmax, &x, 1, &dim, sizeof dim);
}
