/* dropout: x times noise, which lies in memory as torch's does, so that it is drawn in that order. */
#include "autograd/dropout.h"

#include "autograd/elementwise.h"
#include "tensor/core.h"
#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/random.h"
#include "tensor/scope.h"

/* Does dim a lie inside dim b? As torch asks: a dim that repeats (stride 0) can be compared with
 * none, and stays where it is; of two with one stride the smaller is inside. */
enum order { INSIDE, EITHER, OUTSIDE };

static enum order compare(const heed_tensor *x, int a, int b)
{
    const int64_t stride_a = x->strides[a], stride_b = x->strides[b];
    if (stride_a == 0 || stride_b == 0) {
        return EITHER;
    }
    if (stride_a != stride_b) {
        return stride_a < stride_b ? INSIDE : OUTSIDE;
    }
    return x->shape[a] > x->shape[b] ? OUTSIDE : EITHER;
}

/* The strides of a tensor without gaps whose dims lie in the order of x's, as torch.empty_like
 * gives it: dims are sorted from the inside out, starting from row-major order. */
static void dense_strides(const heed_tensor *x, int64_t *strides)
{
    int dims[HEED_MAX_DIMS];
    for (int i = 0; i < x->ndim; i++) {
        int at = i;
        dims[i] = x->ndim - 1 - i;
        for (int j = i - 1; j >= 0; j--) { /* passes over dims that cannot be compared */
            enum order order = compare(x, dims[j], dims[at]);
            if (order == INSIDE) {
                break;
            }
            if (order == OUTSIDE) {
                int moved = dims[at];
                dims[at] = dims[j];
                dims[j] = moved;
                at = j;
            }
        }
    }
    int64_t stride = 1;
    for (int i = 0; i < x->ndim; i++) {
        strides[dims[i]] = stride;
        stride *= x->shape[dims[i]];
    }
}

/* Ones with probability `kept`, else zeros, like x. */
static heed_tensor *draw_noise(const heed_tensor *x, double kept)
{
    heed_tensor *noise = heed_empty(heed_shape_of_tensor(x), x->dtype);
    heed_bernoulli_into(noise, kept);
    if (noise == NULL || !heed_random_torch_2(heed_generator_of_thread())) {
        return noise;
    }
    int64_t strides[HEED_MAX_DIMS];
    dense_strides(x, strides);
    heed_tensor *view = heed_tensor_view("dropout", noise, x->ndim, x->shape, strides, 0);
    return view != NULL ? heed_join_scope("dropout", view) : NULL;
}

heed_tensor *heed_dropout(heed_tensor *x, double p, bool training)
{
    if (heed_check_operand("dropout", "x", x) != HEED_OK) {
        return NULL;
    }
    if (!(p >= 0 && p <= 1)) {
        heed_fail(HEED_ERR_VALUE, "dropout: p is %g, which is outside [0, 1]", p);
        return NULL;
    }
    if (!training || p == 0 || x->numel == 0) {
        return x;
    }
    if (!heed_is_float(x->dtype)) {
        heed_fail(HEED_ERR_DTYPE, "dropout: x is %s, not a float; heed_to(x, HEED_F32)",
                  heed_dtype_name(x->dtype));
        return NULL;
    }
    if (p == 1) {
        return heed_mul_scalar(x, 0);
    }
    const heed_generator before = heed_get_generator();
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *noise = heed_div_scalar(draw_noise(x, 1 - p), 1 - p);
    heed_tensor *y = heed_scope_end_with(&scope, heed_mul(x, noise));
    if (y == NULL) {
        heed_set_generator(&before); /* what failed has drawn nothing */
    }
    return y;
}
