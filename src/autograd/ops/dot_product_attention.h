/* Attention: for each query, the mean of the values weighted by how well their keys match the
 * query. */
#ifndef HEED_AUTOGRAD_DOT_PRODUCT_ATTENTION_H
#define HEED_AUTOGRAD_DOT_PRODUCT_ATTENTION_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_scaled_dot_product_attention: as torch.nn.functional.scaled_dot_product_attention(q, k, v,
 * mask, dropout_p, is_causal, scale) in PyTorch 2.5 and later (Vaswani et al., 2017, section 3.2.1)
 *
 *   q (..., L, E)   k (..., S, E)   v (..., S, Ev)   ->   y (..., L, Ev)      batch dims broadcast
 *   mask bool or q's dtype, broadcasts to the scores (..., L, S); NULL: none
 *
 *   y = dropout(p) v        p = softmax(scale q k^T, masked)        floats of one dtype
 *   dv = p^T g      ds = p (g v^T - sum(g v^T p, dim -1))
 *   dq = scale ds k      dk = scale ds^T q
 *
 * In a bool mask, true means KEEP: it is heed_logical_not of the block masks that nn modules take
 * (docs/masks.md). A float mask is added to the scores, and its gradient is ds. With is_causal,
 * query i sees only keys 0 ... i, whatever L and S are; is_causal cannot be combined with a mask.
 *
 * A query whose keys are all masked, by a bool mask or by -inf in a float mask, gives zeros with
 * zero gradients, never NaN. So do all queries if S is 0.
 *
 * If there is no dropout, no weights are requested and the batch dims are equal, the scores are
 * computed in tiles (Dao et al., 2022) and never stored: memory grows with L + S, not with L * S.
 * Second derivatives and the gradient of a float mask do store them. y has the memory layout of q:
 * if the H heads of q are a view of (..., L, H E), heed_transpose and heed_flatten turn y into
 * (..., L, H Ev) without a copy, as in torch.
 *
 * dropout_p is applied whenever it is above 0: pass 0 outside of training. scale 0 means torch's
 * default, 1 / sqrt(E); scale may be negative. Instead of torch's enable_gqa, use
 * heed_repeat_interleave_dim(k, times, -3), and the same for v.
 *
 * heed_scaled_dot_product_attention_weights: the same, and sets *weights to dropout(p), of shape
 * (..., L, S), or to NULL on error.
 *
 * HEED_ERR_SHAPE: the shapes do not match, or the mask does not broadcast to the scores.
 * HEED_ERR_DTYPE: q, k and v are not floats of one dtype, or the mask is neither bool nor of that
 * dtype. HEED_ERR_VALUE: is_causal with a mask, dropout_p outside [0, 1], a scale that is not
 * finite. */
heed_tensor *heed_scaled_dot_product_attention(heed_tensor *q, heed_tensor *k, heed_tensor *v,
                                               heed_tensor *mask, double dropout_p, bool is_causal,
                                               double scale);
heed_tensor *heed_scaled_dot_product_attention_weights(heed_tensor *q, heed_tensor *k,
                                                       heed_tensor *v, heed_tensor *mask,
                                                       double dropout_p, bool is_causal,
                                                       double scale, heed_tensor **weights);

HEED_END_DECLS
#endif
