/* Scaled dot product attention, implemented twice. The definition, composed of other operations, is
 * used if weights are requested, for dropout and for second derivatives. `attend` is one operation
 * whose kernels compute the scores block by block (tensor/attention_heads.c), so that neither
 * forward nor backward stores all of them. It saves only its inputs. */
#include <math.h>
#include <string.h>

#include "../autograd.h"

/* ---- the definition ---- */

/* softmax(scaled_q k^T, masked), where `scaled_q` is scale * q. */
static heed_tensor *attention_percent(heed_tensor *scaled_q, heed_tensor *k, heed_tensor *mask,
                                      bool is_causal)
{
    if (is_causal) {
        const heed_shape square = HEED_SHAPE(heed_size(scaled_q, -2), heed_size(k, -2));
        mask = heed_tril(heed_ones(square, HEED_BOOL), 0);
    }
    heed_tensor *scores = heed_matmul(scaled_q, heed_transpose(k, -2, -1));
    if (mask != NULL) {
        scores = mask->dtype == HEED_BOOL
                     ? heed_where(mask, scores, heed_scalar(-HUGE_VAL, k->dtype))
                     : heed_add(scores, mask);
    }
    return heed_safe_softmax(scores, -1);
}

/* ---- attend: one operation ---- */

typedef struct attend_args {
    double scale;
    bool is_causal;
} attend_args;

/* Dense strides for `shape`, which differs from x's shape only in the last size. Dims keep x's
 * memory order: if x's heads are adjacent, as in a view of (..., L, H E), so are the result's. The
 * last dim is always the innermost. */
static void dense_strides(const heed_tensor *x, const heed_shape *shape, int64_t *strides)
{
    const int last = shape->ndim - 1;
    heed_dense_strides(x, strides);
    if (strides[last] != 1) {
        heed_row_major(shape->ndim, shape->size, strides);
        return;
    }
    const int64_t from = x->shape[last] > 1 ? x->shape[last] : 1;
    const int64_t to = shape->size[last] > 1 ? shape->size[last] : 1;
    for (int i = 0; i < last; i++) {
        strides[i] = strides[i] >= from ? strides[i] / from * to : strides[i];
    }
}

static heed_status attend_rule(const heed_call *call, heed_result *result)
{
    const char *name = call->op->name;
    const attend_args *args = call->args;
    const heed_tensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
    const heed_tensor *mask = call->count > 3 ? call->inputs[3] : NULL;
    const int ndim = q->ndim;
    const size_t batch = sizeof *q->shape * (size_t)(ndim - 2);
    if (k->ndim != ndim || v->ndim != ndim || memcmp(k->shape, q->shape, batch) != 0 ||
        memcmp(v->shape, q->shape, batch) != 0) {
        heed_raise(HEED_ERR_SHAPE,
                   "%s: q %s, k %s and v %s must have the same batch dims; heed_expand "
                   "repeats a batch; heed_unsqueeze, heed_expand and heed_flatten repeat heads",
                   name, HEED_TEXT(q), HEED_TEXT(k), HEED_TEXT(v));
    }
    heed_shape scores = heed_shape_of_tensor(q);
    scores.size[ndim - 1] = k->shape[ndim - 2];
    if (mask != NULL && mask->dtype != HEED_BOOL && mask->dtype != q->dtype) {
        heed_raise(HEED_ERR_DTYPE,
                   "%s: mask is %s; use bool, where true keeps, or %s, which is added", name,
                   heed_dtype_name(mask->dtype), heed_dtype_name(q->dtype));
    }
    if (mask != NULL && !heed_broadcasts_to(mask, &scores)) {
        heed_raise(HEED_ERR_SHAPE, "%s: mask %s does not broadcast to the scores (..., L, S), %s",
                   name, HEED_TEXT(mask), heed_shape_text(ndim, scores.size).text);
    }
    if (mask != NULL && args->is_causal) {
        heed_raise(HEED_ERR_VALUE, "%s: is_causal with a mask; combine them: heed_tril(mask, 0)",
                   name);
    }
    result->is_strided = true;
    dense_strides(q, &result->shape, result->strides);
    return HEED_OK;
}

static heed_all_heads heads_of(heed_tensor *const *inputs, int count, const attend_args *args)
{
    return (heed_all_heads){
        .q = inputs[0],
        .k = inputs[1],
        .v = inputs[2],
        .mask = count > 3 ? inputs[3] : NULL,
        .scale = args->scale,
        .is_causal = args->is_causal,
    };
}

static heed_status attend_forward(const heed_call *call, heed_tensor *y)
{
    heed_all_heads heads = heads_of(call->inputs, call->count, call->args);
    heads.y = y;
    heed_attend_heads(&heads);
    return HEED_OK;
}

static void gradients_by_kernels(const heed_vjp *v)
{
    heed_all_heads heads = heads_of(v->inputs, v->y->input_count, v->args);
    heed_tensor *g = v->g, **d = v->grads;
    for (int i = 0; i < 3; i++) {
        const heed_shape shape = heed_shape_of_tensor(v->inputs[i]);
        d[i] = heed_tensor_new(v->y->op->name, &shape, g->dtype);
        dense_strides(v->inputs[i], &shape, d[i]->strides);
    }
    heads.g = g;
    heads.dq = d[0];
    heads.dk = d[1];
    heads.dv = d[2];
    heed_attend_heads(&heads);
}

/* The same gradients from differentiable operations; also computes the gradient of a float mask. */
static void gradients_by_operations(const heed_vjp *v)
{
    const attend_args *args = v->args;
    heed_tensor *k = v->inputs[1], *g = v->g;
    heed_tensor *mask = v->y->input_count > 3 ? v->inputs[3] : NULL;
    heed_tensor *q = heed_mul_scalar(v->inputs[0], args->scale);
    heed_tensor *p = attention_percent(q, k, mask, args->is_causal);
    heed_tensor *dp = heed_matmul(g, heed_transpose(v->inputs[2], -2, -1));
    heed_tensor *mean = heed_sum_dim(heed_mul(dp, p), -1, true);
    heed_tensor *ds = heed_mul(p, heed_sub(dp, mean));
    v->grads[0] = heed_mul_scalar(heed_matmul(ds, k), args->scale);
    v->grads[1] = heed_matmul(heed_transpose(ds, -2, -1), q);
    v->grads[2] = heed_matmul(heed_transpose(p, -2, -1), g);
    if (mask != NULL && mask->dtype != HEED_BOOL) {
        v->grads[3] = ds;
    }
}

static void attend_backward(const heed_vjp *v)
{
    const bool for_mask = v->y->input_count > 3 && heed_wants_grad(v, 3);
    if (heed_is_grad_enabled() || for_mask) {
        gradients_by_operations(v);
    } else {
        gradients_by_kernels(v);
    }
}

enum {
    ALL = HEED_SAVES_INPUT(0) | HEED_SAVES_INPUT(1) | HEED_SAVES_INPUT(2) | HEED_SAVES_INPUT(3)
};

OPERATION(attend) = {.name = "scaled_dot_product_attention",
                     .signature = "q (..., L, E) float, k (..., S, E), v (..., S, Ev), "
                                  "mask? any -> (..., L, Ev)",
                     .args = "double scale, bool is_causal",
                     .rule = attend_rule,
                     .forward = attend_forward,
                     .backward = attend_backward,
                     .saves = {ALL, ALL, ALL, ALL}};

/* ---- the functions ---- */

heed_tensor *(heed_scaled_dot_product_attention)(heed_scaled_dot_product_attention_args a)
{
    const double features = a.q != NULL && a.q->ndim > 0 ? (double)a.q->shape[a.q->ndim - 1] : 1;
    const attend_args args = {a.scale != 0 ? a.scale : 1 / sqrt(features), a.is_causal};
    heed_tensor *inputs[] = {a.q, a.k, a.v, a.mask};
    const heed_call call = {&op_attend, inputs, a.mask != NULL ? 4 : 3, &args, sizeof args};
    heed_result result;
    if (a.weights != NULL) {
        *a.weights = NULL;
    }
    if (a.weights == NULL && a.dropout_p == 0 && isfinite(a.scale)) {
        return heed_apply(call.op, inputs, call.count, &args, sizeof args);
    }
    HEED_DOOR(NULL);
    heed_check_probability(op_attend.name, "dropout_p", a.dropout_p);
    if (!isfinite(a.scale)) {
        heed_raise(HEED_ERR_VALUE, "%s: scale is %g; it must be finite (0: 1 / sqrt(E))",
                   op_attend.name, a.scale);
    }
    heed_describe(&call, &result);
    HEED_SCOPE(scope);
    heed_tensor *p = attention_percent(heed_mul_scalar(a.q, args.scale), a.k, a.mask, a.is_causal);
    p = heed_dropout(p, a.dropout_p, true);
    heed_tensor *y = heed_matmul(p, a.v);
    if (a.weights != NULL) {
        *a.weights = heed_scope_keep(&scope, p);
    }
    return heed_scope_keep(&scope, y);
}
