/* What attention.c, the definition, and attend.c, the operation in tiles, have of each other (internal). */
#ifndef HEED_AUTOGRAD_ATTENTION_PARTS_H
#define HEED_AUTOGRAD_ATTENTION_PARTS_H

#include "../../tensor/tensor.h"

/* heed_check_attention_inputs: do q, k, v and the mask, which may be NULL, fit? `scores` becomes the shape of
 * q k^T. */
heed_status heed_check_attention_inputs(const heed_tensor *q, const heed_tensor *k,
                                        const heed_tensor *v, const heed_tensor *mask,
                                        heed_shape *scores);

/* heed_attention_percent: softmax(scale q k^T, masked), in plain operations. `scaled_q` is scale q. */
heed_tensor *heed_attention_percent(heed_tensor *scaled_q, heed_tensor *k, heed_tensor *mask,
                                    bool is_causal);

/* heed_has_tiles: can the operation in tiles take them? Batches must be equal.
 * heed_attend: that operation, without weights and dropout; of what has been checked. */
bool heed_has_tiles(const heed_tensor *q, const heed_tensor *k, const heed_tensor *v);
heed_tensor *heed_attend(heed_tensor *q, heed_tensor *k, heed_tensor *v, heed_tensor *mask,
                         bool is_causal, double scale);

#endif
