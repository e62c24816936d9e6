/* What modules share (internal to nn). Forwards check before they compute, so that an error names the
 * forward that was called, and no operation inside it.
 */
#ifndef HEED_NN_CHECKS_H
#define HEED_NN_CHECKS_H

#include "attention/self_attention.h"

/* heed_check_features: is `x` there, does it end in as many features as the module has, and is it of
 * the dtype of its parameters? `argument` is its name, `size_name` that of the module's size. */
heed_status heed_check_features(const char *function, const char *argument, const heed_tensor *x,
                                const char *size_name, int64_t size, heed_dtype dtype);

/* heed_check_dtype: is `x` there, and of the dtype of the module's parameters? */
heed_status heed_check_dtype(const char *function, const char *argument, const heed_tensor *x,
                             heed_dtype dtype);

/* heed_check_parameters: is no error pending, and none of the list NULL? */
heed_status heed_check_parameters(const char *function, heed_tensor_list parameters);

/* heed_check_attention: can this head attend to these tokens under that mask? (self_attention.c) */
heed_status heed_check_attention(const char *function, const struct heed_self_attention *m,
                                 const heed_tensor *token_encodings, const heed_tensor *block_mask);

/* heed_check_token_dims: are row_dim and col_dim the last two dims of `x`, those of tokens and features?
 * heed_check_bool_mask: is the mask bool? heed_check_block_mask: and does it broadcast to the scores? */
heed_status heed_check_token_dims(const char *function, const char *argument, const heed_tensor *x,
                                  int row_dim, int col_dim);
heed_status heed_check_bool_mask(const char *function, const char *argument,
                                 const heed_tensor *mask);
heed_status heed_check_block_mask(const char *function, const heed_tensor *block_mask,
                                  const heed_shape *scores);

/* heed_check_not_negative: HEED_ERR_VALUE where a number is below 0, infinite or NaN. */
heed_status heed_check_not_negative(const char *function, const char *argument, double number);

/* heed_keep_weights: for modules with keep_weights: *kept becomes a detached copy of `weights`, or NULL
 * of NULL; what it was is let go. */
void heed_keep_weights(heed_tensor **kept, heed_tensor *weights);

/* heed_hand_out_weights: keeps them, and hands them to the scope outside for the caller; `kept` and
 * `weights` may be NULL. */
void heed_hand_out_weights(heed_scope *scope, heed_tensor *percent, heed_tensor **kept,
                           heed_tensor **weights);

#endif
