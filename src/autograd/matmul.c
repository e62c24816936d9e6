/* The matrix product of batches of matrices on any strides. */
#include "autograd/matmul.h"

#include <string.h>

#include "autograd/op.h"
#include "autograd/shape.h"
#include "tensor/iterate.h"

/* The dims of t in front of its matrix. */
static heed_shape batch_of(const heed_tensor *t)
{
    heed_shape batch = heed_shape_of_tensor(t);
    batch.ndim -= 2;
    return batch;
}

static heed_status inner_sizes_differ(const heed_tensor *a, const heed_tensor *b)
{
    bool transposed = a->shape[a->ndim - 1] == b->shape[b->ndim - 1];
    return heed_fail(HEED_ERR_SHAPE, "matmul: inner sizes differ: %s x %s%s", HEED_TEXT(a),
                     HEED_TEXT(b),
                     transposed ? "; did you mean heed_transpose(b, -2, -1)?"
                                : "; a's last must be b's last but one");
}

static heed_status matmul_rule(const heed_call *call, heed_result *result)
{
    const heed_tensor *a = call->inputs[0], *b = call->inputs[1];
    if (a->dtype != b->dtype || a->dtype == HEED_BOOL) {
        return heed_fail(HEED_ERR_DTYPE, "matmul: %s x %s; heed_to casts to one dtype, not bool",
                         heed_dtype_name(a->dtype), heed_dtype_name(b->dtype));
    }
    if (a->shape[a->ndim - 1] != b->shape[b->ndim - 2]) {
        return inner_sizes_differ(a, b);
    }
    heed_shape batch_a = batch_of(a), batch_b = batch_of(b);
    if (heed_broadcast("matmul", &batch_a, &batch_b, &result->shape) != HEED_OK) {
        return heed_self.error;
    }
    result->shape.size[result->shape.ndim++] = a->shape[a->ndim - 2];
    result->shape.size[result->shape.ndim++] = b->shape[b->ndim - 1];
    return HEED_OK;
}

/* Can the rows of all of a's matrices be seen as those of one tall matrix? */
static bool is_one_tall_matrix(const heed_tensor *a)
{
    for (int i = a->ndim - 2; i > 0; i--) {
        if (a->strides[i - 1] != a->strides[i] * a->shape[i]) {
            return false;
        }
    }
    return true;
}

/* Steps `index` through the batch, and two offsets with it; false after the last. */
static bool next_matrix(int ndim, const int64_t *shape, int64_t *index, const int64_t *strides_a,
                        const int64_t *strides_b, int64_t *offset_a, int64_t *offset_b)
{
    for (int i = ndim - 1; i >= 0; i--) {
        *offset_a += strides_a[i];
        *offset_b += strides_b[i];
        if (++index[i] < shape[i]) {
            return true;
        }
        *offset_a -= strides_a[i] * shape[i];
        *offset_b -= strides_b[i] * shape[i];
        index[i] = 0;
    }
    return false;
}

static heed_status matmul_forward(const heed_call *call, heed_tensor *y)
{
    const heed_tensor *a = call->inputs[0], *b = call->inputs[1];
    const int last = y->ndim - 1;
    const int64_t size = (int64_t)heed_dtype_size(y->dtype);
    void (*gemm)(const heed_gemm *) = heed_kernels_for(y->dtype)->gemm;
    int64_t strides_a[HEED_MAX_DIMS], strides_b[HEED_MAX_DIMS], shape[HEED_MAX_DIMS];
    heed_gemm product = {.m = y->shape[last - 1], .n = y->shape[last], .k = a->shape[a->ndim - 1]};
    product.a_row = a->strides[a->ndim - 2];
    product.a_col = a->strides[a->ndim - 1];
    product.b_row = b->strides[b->ndim - 2];
    product.b_col = b->strides[b->ndim - 1];
    product.c_row = product.n;
    if (y->numel == 0) {
        return HEED_OK;
    }
    int batch = y->ndim - 2;
    if (b->ndim == 2 && is_one_tall_matrix(a)) {
        product.m = y->numel / product.n;
        batch = 0;
    }
    /* The strides with which a and b go through the batch: as if their matrices were elements. */
    memcpy(shape, y->shape, sizeof *shape * y->ndim);
    shape[last - 1] = a->shape[a->ndim - 2];
    shape[last] = a->shape[a->ndim - 1];
    heed_broadcast_strides(a, y->ndim, shape, strides_a);
    shape[last - 1] = b->shape[b->ndim - 2];
    shape[last] = b->shape[b->ndim - 1];
    heed_broadcast_strides(b, y->ndim, shape, strides_b);
    int64_t index[HEED_MAX_DIMS] = {0}, offset_a = 0, offset_b = 0;
    char *c = y->data;
    do {
        product.a = (const char *)a->data + offset_a * size;
        product.b = (const char *)b->data + offset_b * size;
        product.c = c;
        gemm(&product);
        c += product.m * product.n * size;
    } while (next_matrix(batch, y->shape, index, strides_a, strides_b, &offset_a, &offset_b));
    return HEED_OK;
}

/* x (..., m, n) as one tall matrix. */
static heed_tensor *tall(heed_tensor *x)
{
    return heed_reshape(x, HEED_SHAPE(-1, heed_size(x, -1)));
}

static void matmul_backward(const heed_vjp *v)
{
    heed_tensor *a = v->inputs[0], *b = v->inputs[1];
    if (heed_wants_grad(v, 0)) {
        v->grads[0] = heed_matmul(v->g, heed_transpose(b, -2, -1));
    }
    if (heed_wants_grad(v, 1)) {
        /* One matrix b for a whole batch: one product over all rows, not one to sum for each. */
        bool one = b->ndim == 2 && a->ndim > 2 && a->numel > 0 && v->g->numel > 0;
        heed_tensor *rows = one ? tall(a) : a, *g = one ? tall(v->g) : v->g;
        v->grads[1] = heed_matmul(heed_transpose(rows, -2, -1), g);
    }
}

HEED_OPERATION(matmul) = {.name = "matmul",
                          .inputs = 2,
                          .rule = matmul_rule,
                          .forward = matmul_forward,
                          .backward = matmul_backward,
                          .saves = {HEED_SAVES_INPUT(1), HEED_SAVES_INPUT(0)}};

heed_tensor *heed_matmul(heed_tensor *a, heed_tensor *b)
{
    if (heed_blocked() || heed_check_tensor("matmul", "a", a) != HEED_OK ||
        heed_check_tensor("matmul", "b", b) != HEED_OK) {
        return NULL;
    }
    if (a->ndim == 0 || b->ndim == 0) {
        heed_fail(HEED_ERR_SHAPE, "matmul: %s x %s: a tensor without dims; heed_mul scales",
                  HEED_TEXT(a), HEED_TEXT(b));
        return NULL;
    }
    const bool row = a->ndim == 1, column = b->ndim == 1;
    if ((row || column) && a->shape[a->ndim - 1] != b->shape[column ? 0 : b->ndim - 2]) {
        heed_fail(HEED_ERR_SHAPE, "matmul: inner sizes differ: %s x %s", HEED_TEXT(a),
                  HEED_TEXT(b));
        return NULL;
    }
    heed_tensor *matrices[] = {row ? heed_unsqueeze(a, 0) : a, column ? heed_unsqueeze(b, 1) : b};
    heed_tensor *y = heed_apply(&op_matmul, matrices, 2, NULL, 0);
    y = row ? heed_squeeze(y, -2) : y;
    return column ? heed_squeeze(y, -1) : y;
}
