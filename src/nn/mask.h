/* Masks for attention: which token (row) may attend to which (column).
 *
 * The three kinds appear in the names of functions and arguments:
 *
 *   name        dtype  meaning of the value       torch functions that take this kind
 *   block_mask  bool   true: may not attend       nn.MultiheadAttention, nn.Transformer: bool
 *                                                 attn_mask and key_padding_mask
 *   keep_mask   bool   true: may attend           F.scaled_dot_product_attention: bool attn_mask
 *   bias_mask   float  added to the score: 0, or  float attn_mask, in all of these
 *                      -inf: may not attend
 *
 * Outside attention, bool masks mean the same in Heed as in torch:
 *
 *   replace_mask  true is replaced   heed_masked_fill, as torch.masked_fill; accepts a block_mask
 *   condition     true selects a     heed_where(condition, a, b), as torch.where
 *
 * The modules take block masks: those of nn/attention.h a block_mask, heed_multihead_attention
 * torch's attn_mask and key_padding_mask, which may also be bias masks.
 * heed_scaled_dot_product_attention takes a keep_mask or a bias_mask. If you compute scores
 * yourself, heed_add a bias_mask to them. The functions below create each kind and convert between
 * them:
 *
 *     heed_scaled_dot_product_attention(q, k, v, heed_keep_mask_of_block(block_mask), 0, false, 0);
 *
 * To combine masks, use heed_logical_or for block masks, heed_logical_and for keep masks and
 * heed_add for bias masks; shapes broadcast:
 *
 *     heed_tensor *block_mask = heed_logical_or(heed_causal_block_mask(T),            // (T, T)
 *                                               heed_padding_block_mask(lengths, T)); // (B, 1, T)
 */
#ifndef HEED_NN_MASK_H
#define HEED_NN_MASK_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* ---- creation ---- */

/* heed_causal_block_mask: a mask of shape (length, length) that blocks attention to later tokens:
 * true above the diagonal, like torch.tril(torch.ones(n, n)) == 0.
 * heed_causal_keep_mask: the equivalent keep mask: true on and below the diagonal.
 * heed_causal_bias_mask: the equivalent bias mask, like
 * nn.Transformer.generate_square_subsequent_mask(n).
 *
 * HEED_ERR_SHAPE: length is negative. HEED_ERR_DTYPE: the dtype of a bias mask is not a float.
 * HEED_ERR_OVERFLOW: more elements than memory can address. */
heed_tensor *heed_causal_block_mask(int64_t length);
heed_tensor *heed_causal_keep_mask(int64_t length);
heed_tensor *heed_causal_bias_mask(int64_t length, heed_dtype dtype);

/* heed_padding_block_mask: blocks the padding of sequences of different lengths, for all queries
 *
 *   lengths (...) i64   ->   (..., 1, max_length), true where column >= length
 *
 * lengths (B) give (B, 1, T), which broadcasts to a batch's scores (B, T, T); a scalar length gives
 * (1, T), for one sequence. For a key_padding_mask (B, T), use heed_squeeze(mask, -2); for scores
 * (B, heads, T, T), use heed_unsqueeze(mask, 1). Padding tokens still attend like the others;
 * ignore their outputs. A sequence of length 0 has nothing to attend to and gives zeros.
 *
 * HEED_ERR_DTYPE: lengths are not i64. HEED_ERR_VALUE: a length is outside [0, max_length].
 * HEED_ERR_SHAPE: max_length is negative, or lengths have more than 6 dims. HEED_ERR_OVERFLOW: more
 * elements than memory can address. */
heed_tensor *heed_padding_block_mask(heed_tensor *lengths, int64_t max_length);

/* ---- conversion; the shape stays the same ---- */

/* heed_block_mask_of_keep, heed_keep_mask_of_block: logical not, like torch's ~mask.
 * heed_bias_mask_of_block, heed_bias_mask_of_keep: -inf where attention is blocked, else 0.
 *
 * HEED_ERR_DTYPE: the mask is not bool, or dtype is not a float. */
heed_tensor *heed_block_mask_of_keep(heed_tensor *keep_mask);
heed_tensor *heed_keep_mask_of_block(heed_tensor *block_mask);
heed_tensor *heed_bias_mask_of_block(heed_tensor *block_mask, heed_dtype dtype);
heed_tensor *heed_bias_mask_of_keep(heed_tensor *keep_mask, heed_dtype dtype);

HEED_END_DECLS
#endif
