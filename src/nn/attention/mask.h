/* Masks for attention: which token (row) may attend to which (column).
 *
 * There are three kinds, and the name of whatever makes or takes one says which:
 *
 *   name        dtype  the value says             torch, where a mask of this kind is passed
 *   block_mask  bool   true: may not attend       nn.MultiheadAttention, nn.Transformer: attn_mask
 *                                                 and key_padding_mask of bool
 *   keep_mask   bool   true: may attend           F.scaled_dot_product_attention: attn_mask of bool
 *   bias_mask   float  added to the score: 0, or  attn_mask of float, in all of these
 *                      -inf: may not attend
 *
 * Outside attention bool masks have one meaning each, in torch and here:
 *
 *   replace_mask  true is replaced  heed_masked_fill, as torch.masked_fill: takes a block_mask
 *   keep_mask     true is taken     heed_masked_select, as torch.masked_select
 *   condition     true takes a      heed_where(condition, a, b), as torch.where
 *
 * The modules take block masks: heed_self_attention_forward and heed_multi_head_forward a
 * block_mask, heed_multihead_attention_forward torch's attn_mask and key_padding_mask, which may be
 * bias masks as well. heed_scaled_dot_product_attention takes a keep_mask or a bias_mask; scores of
 * one's own take a bias_mask with heed_add. The functions below make masks of each kind, and turn
 * one into another:
 *
 *     heed_multihead_attention_forward_with(m, q, k, v,
 *                                           (heed_attention_options){.attn_mask = block_mask});
 *     heed_scaled_dot_product_attention(q, k, v, heed_keep_mask_of_block(block_mask), 0, false, 0);
 *
 * Where several masks hold at once, block masks are joined by heed_logical_or, keep masks by
 * heed_logical_and, bias masks by heed_add; shapes broadcast:
 *
 *     heed_tensor *block_mask = heed_logical_or(heed_causal_block_mask(T),            // (T, T)
 *                                               heed_padding_block_mask(lengths, T)); // (B, 1, T)
 */
#ifndef HEED_NN_MASK_H
#define HEED_NN_MASK_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* ---- making masks ---- */

/* heed_causal_block_mask: (length, length), a token is blocked from those that follow it: true
 * above the diagonal, as torch.tril(torch.ones(n, n)) == 0.
 * heed_causal_keep_mask: the same as a keep mask: true on the diagonal and below it.
 * heed_causal_bias_mask: the same as a bias mask, as
 * nn.Transformer.generate_square_subsequent_mask(n).
 *
 * HEED_ERR_SHAPE: a negative length. HEED_ERR_DTYPE: a bias mask that is no float.
 * HEED_ERR_OVERFLOW: more elements than memory can address. */
heed_tensor *heed_causal_block_mask(int64_t length);
heed_tensor *heed_causal_keep_mask(int64_t length);
heed_tensor *heed_causal_bias_mask(int64_t length, heed_dtype dtype);

/* heed_padding_block_mask: blocks the padding of sentences of different lengths, for every row
 *
 *   lengths (...) i64   ->   (..., 1, max_length), true where the column is not below the length
 *
 * lengths (B) give (B, 1, T), which broadcasts to the (B, T, T) of a batch's scores; a length
 * without dims gives (1, T) for one sentence. A key_padding_mask (B, T) is the same without the 1:
 * heed_squeeze(mask, -2). Heads (B, heads, T, T) want heed_unsqueeze(mask, 1). The rows of padding
 * attend as others do, and nobody should read what they give. A sentence of length 0 may attend to
 * nothing, which gives zeros.
 *
 * HEED_ERR_DTYPE: lengths are not i64. HEED_ERR_VALUE: a length outside [0, max_length].
 * HEED_ERR_SHAPE: max_length is negative, or lengths have more than 6 dims. HEED_ERR_OVERFLOW: more
 * elements than memory can address. */
heed_tensor *heed_padding_block_mask(heed_tensor *lengths, int64_t max_length);

/* ---- turning one kind into another: same shape ---- */

/* heed_block_mask_of_keep, heed_keep_mask_of_block: not, as torch's ~mask.
 * heed_bias_mask_of_block, heed_bias_mask_of_keep: -inf where attention is blocked, else 0.
 *
 * HEED_ERR_DTYPE: the mask is not bool, or dtype is no float. */
heed_tensor *heed_block_mask_of_keep(heed_tensor *keep_mask);
heed_tensor *heed_keep_mask_of_block(heed_tensor *block_mask);
heed_tensor *heed_bias_mask_of_block(heed_tensor *block_mask, heed_dtype dtype);
heed_tensor *heed_bias_mask_of_keep(heed_tensor *keep_mask, heed_dtype dtype);

HEED_END_DECLS
#endif
