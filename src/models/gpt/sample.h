/* Sampling of the next token from its logits. */
#ifndef HEED_MODELS_SAMPLE_H
#define HEED_MODELS_SAMPLE_H

#include "../../tensor/random/random.h"
#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* All zeros: sample from the unmodified distribution. */
typedef struct heed_sample_options {
    double temperature; /* below 1 sharpens the distribution, above 1 flattens it; 0: 1 */
    int64_t top_k;      /* only the k most likely tokens; 0 or more than V: all */
    double top_p;       /* only the most likely tokens whose probabilities sum to p; 0: 1, all */
    bool greedy;        /* the most likely token, the first one on a tie; draws no random numbers */
    heed_generator *generators; /* one per row; NULL: all rows draw from this thread's generator */
} heed_sample_options;

/* heed_sample: draws a token for each row
 *
 *   logits (V) or (B, V), f32 or f64   ->   ids () or (B) i64
 *
 *   x = logits / temperature
 *   x[i] = -inf where x[i] < the top_k-th largest               (Fan et al., 2018)
 *   x[i] = -inf outside the smallest set of most likely tokens with
 *          sum(softmax(x)[set]) >= top_p, at least one token    (Holtzman et al., 2020)
 *   id drawn with the probabilities softmax(x)
 *
 * The filters apply in this order, as in transformers' generate or, without top_p, nanoGPT. All
 * tokens tied with the top_k-th are kept. On a tie at the boundary of top_p, the tokens with larger
 * ids are kept. Draws like torch.multinomial(softmax(x), 1): the same ids for the same seed. A
 * token with logit -inf is never drawn. No graph is recorded.
 *
 * With `generators`, each row gets the same id as it would alone, and this thread's generator does
 * not advance. To seed one: heed_manual_seed(seed); generators[i] = heed_get_generator().
 *
 * HEED_ERR_SHAPE: logits have other dims, or V is 0. HEED_ERR_DTYPE: not f32 or f64.
 * HEED_ERR_VALUE: temperature or top_k is negative, or top_p is outside [0, 1]; a row contains NaN
 * or inf, or only -inf; a generator is not a value returned by heed_get_generator. */
heed_tensor *heed_sample(heed_tensor *logits);
heed_tensor *heed_sample_with(heed_tensor *logits, heed_sample_options options);

HEED_END_DECLS
#endif
