/* Scaled dot product attention, made of other operations: its definition, which is what happens where weights
 * or dropout are wanted, or batches broadcast; else attend.c does the same in tiles. Most of this file is
 * checks, so that an error names this function and its own arguments. */
#include "attention.h"

#include <math.h>

#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "attention_parts.h"
#include "dropout.h"
#include "elementwise.h"
#include "matmul.h"
#include "reduce.h"
#include "shape.h"

static const char name[] = "scaled_dot_product_attention";

/* ---- checks ---- */

static heed_status misfit(const heed_tensor *q, const heed_tensor *k, const heed_tensor *v,
                          const char *why)
{
    return heed_fail(HEED_ERR_SHAPE, "%s: q %s, k %s, v %s: %s", name, HEED_TEXT(q), HEED_TEXT(k),
                     HEED_TEXT(v), why);
}

/* The dims of t in front of its matrix. */
static heed_shape batch_of(const heed_tensor *t)
{
    heed_shape batch = heed_shape_of_tensor(t);
    batch.ndim -= 2;
    return batch;
}

/* `batch`, and behind it a matrix: few enough elements for memory to address. */
static heed_status with_matrix(heed_shape *batch, int64_t rows, int64_t columns, heed_dtype dtype)
{
    int64_t numel;
    batch->size[batch->ndim++] = rows;
    batch->size[batch->ndim++] = columns;
    return heed_count_elements(name, batch->ndim, batch->size, dtype, &numel);
}

/* Do they fit? Then `scores` becomes the shape of q k^T. */
static heed_status check_shapes(const heed_tensor *q, const heed_tensor *k, const heed_tensor *v,
                                heed_shape *scores)
{
    if (q->ndim < 2 || k->ndim < 2 || v->ndim < 2) {
        return misfit(q, k, v, "they must be (..., L, E), (..., S, E) and (..., S, Ev)");
    }
    if (q->shape[q->ndim - 1] != k->shape[k->ndim - 1]) {
        return misfit(q, k, v, "q and k must have one last size, E");
    }
    if (k->shape[k->ndim - 2] != v->shape[v->ndim - 2]) {
        return misfit(q, k, v, "k and v must have one last size but one, S: a value for each key");
    }
    const heed_shape of_q = batch_of(q), of_k = batch_of(k), of_v = batch_of(v);
    if (!heed_shapes_broadcast(&of_q, &of_k) || !heed_shapes_broadcast(&of_q, &of_v) ||
        !heed_shapes_broadcast(&of_k, &of_v)) {
        return misfit(
            q, k, v,
            "their batch dims do not broadcast; make sizes equal, or one of them 1; where "
            "several heads of q share one of k and v, heed_repeat_interleave_dim these");
    }
    heed_shape y;
    heed_broadcast(name, &of_q, &of_k, scores);
    heed_broadcast(name, scores, &of_v, &y);
    const int64_t queries = q->shape[q->ndim - 2];
    const heed_status status = with_matrix(scores, queries, k->shape[k->ndim - 2], q->dtype);
    return status != HEED_OK ? status : with_matrix(&y, queries, v->shape[v->ndim - 1], q->dtype);
}

static heed_status check_dtypes(const heed_tensor *q, const heed_tensor *k, const heed_tensor *v)
{
    if (!heed_is_float(q->dtype) || k->dtype != q->dtype || v->dtype != q->dtype) {
        return heed_fail(HEED_ERR_DTYPE, "%s: q is %s, k %s, v %s; heed_to casts to one float",
                         name, heed_dtype_name(q->dtype), heed_dtype_name(k->dtype),
                         heed_dtype_name(v->dtype));
    }
    return HEED_OK;
}

static heed_status check_mask(const heed_tensor *mask, heed_dtype dtype, const heed_shape *scores)
{
    if (heed_check_tensor(name, "mask", mask) != HEED_OK) {
        return heed_self.error;
    }
    if (mask->dtype != HEED_BOOL && mask->dtype != dtype) {
        return heed_fail(HEED_ERR_DTYPE,
                         "%s: mask is %s; bool, where true keeps, or %s, which is added", name,
                         heed_dtype_name(mask->dtype), heed_dtype_name(dtype));
    }
    if (!heed_broadcasts_to(mask, scores)) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: mask %s does not broadcast to the scores (..., L, S), %s", name,
                         HEED_TEXT(mask), heed_shape_text(scores->ndim, scores->size).text);
    }
    return HEED_OK;
}

static heed_status check_numbers(double dropout_p, double scale)
{
    if (heed_check_probability(name, "dropout_p", dropout_p) != HEED_OK) {
        return heed_self.error;
    }
    if (!isfinite(scale)) {
        return heed_fail(HEED_ERR_VALUE, "%s: scale is %g; a finite number, or 0 for 1 / sqrt(E)",
                         name, scale);
    }
    return HEED_OK;
}

heed_status heed_check_attention_inputs(const heed_tensor *q, const heed_tensor *k,
                                        const heed_tensor *v, const heed_tensor *mask,
                                        heed_shape *scores)
{
    if (check_dtypes(q, k, v) != HEED_OK || check_shapes(q, k, v, scores) != HEED_OK) {
        return heed_self.error;
    }
    return mask != NULL ? check_mask(mask, q->dtype, scores) : HEED_OK;
}

static heed_status check(const heed_tensor *q, const heed_tensor *k, const heed_tensor *v,
                         const heed_tensor *mask, double dropout_p, bool is_causal, double scale)
{
    heed_shape scores;
    if (heed_check_operand(name, "q", q) != HEED_OK || heed_check_tensor(name, "k", k) != HEED_OK ||
        heed_check_tensor(name, "v", v) != HEED_OK ||
        heed_check_attention_inputs(q, k, v, mask, &scores) != HEED_OK) {
        return heed_self.error;
    }
    if (mask != NULL && is_causal) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: is_causal with a mask; join them: heed_logical_and(mask, "
                         "heed_causal_keep_mask(length))",
                         name);
    }
    return check_numbers(dropout_p, scale);
}

/* ---- the definition ---- */

/* scores may be NULL, on error; the mask may be NULL, for none. */
static heed_tensor *masked(heed_tensor *scores, heed_tensor *mask, heed_dtype dtype)
{
    if (mask == NULL) {
        return scores;
    }
    return mask->dtype == HEED_BOOL ? heed_where(mask, scores, heed_scalar(-HUGE_VAL, dtype))
                                    : heed_add(scores, mask);
}

heed_tensor *heed_attention_percent(heed_tensor *scaled_q, heed_tensor *k, heed_tensor *mask,
                                    bool is_causal)
{
    if (is_causal) {
        const heed_shape square = HEED_SHAPE(heed_size(scaled_q, -2), heed_size(k, -2));
        mask = heed_tril(heed_ones(square, HEED_BOOL), 0);
    }
    heed_tensor *scores = heed_matmul(scaled_q, heed_transpose(k, -2, -1));
    return heed_safe_softmax(masked(scores, mask, k->dtype), -1);
}

heed_tensor *heed_scaled_dot_product_attention_weights(heed_tensor *q, heed_tensor *k,
                                                       heed_tensor *v, heed_tensor *mask,
                                                       double dropout_p, bool is_causal,
                                                       double scale, heed_tensor **weights)
{
    if (weights != NULL) {
        *weights = NULL;
    }
    if (check(q, k, v, mask, dropout_p, is_causal, scale) != HEED_OK) {
        return NULL;
    }
    if (scale == 0) {
        scale = 1 / sqrt((double)heed_size(q, -1));
    }
    if (weights == NULL && dropout_p == 0 && heed_has_tiles(q, k, v)) {
        return heed_attend(q, k, v, mask, is_causal, scale);
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *p = heed_attention_percent(heed_mul_scalar(q, scale), k, mask, is_causal);
    p = heed_dropout(p, dropout_p, true);
    heed_tensor *y = heed_matmul(p, v);
    if (weights != NULL) {
        *weights = heed_scope_keep(&scope, p);
    }
    return heed_scope_end_with(&scope, y);
}

heed_tensor *heed_scaled_dot_product_attention(heed_tensor *q, heed_tensor *k, heed_tensor *v,
                                               heed_tensor *mask, double dropout_p, bool is_causal,
                                               double scale)
{
    return heed_scaled_dot_product_attention_weights(q, k, v, mask, dropout_p, is_causal, scale,
                                                     NULL);
}
