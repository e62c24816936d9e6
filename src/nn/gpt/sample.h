/* Which token comes next: one is drawn by its logit. */
#ifndef HEED_NN_SAMPLE_H
#define HEED_NN_SAMPLE_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* How much is left to chance; of zeros: all of it. */
typedef struct heed_sample_options {
    double temperature; /* below 1 likely tokens become likelier, above 1 less so; 0: 1 */
    int64_t top_k;      /* only the k likeliest tokens; 0, or more than there are: all */
    double top_p;       /* only the likeliest tokens that p is the sum of; 0: 1, all */
    bool greedy;        /* the likeliest token, the first of several; draws nothing */
} heed_sample_options;

/* heed_sample: draws a token for each row
 *
 *   logits (V) or (B, V), f32 or f64   ->   ids () or (B) i64
 *
 *   x = logits / temperature
 *   x[i] = -inf where x[i] < the top_k-th largest               (Fan et al., 2018)
 *   x[i] = -inf outside the smallest set of likeliest tokens with
 *          sum(softmax(x)[set]) >= top_p, one token at least    (Holtzman et al., 2020)
 *   id drawn with the probabilities softmax(x)
 *
 * in this order, as the warpers of transformers' generate; without top_p as nanoGPT's. Tokens that
 * are as likely as the top_k-th all stay. Of tokens that are equally likely at the border of top_p
 * those with larger ids stay. Drawn as torch.multinomial(softmax(x), 1): the same ids for the same
 * seed. Logits of -inf are never drawn. No graph is recorded.
 *
 * HEED_ERR_SHAPE: other dims, or no token. HEED_ERR_DTYPE: not f32 or f64. HEED_ERR_VALUE: a
 * temperature or top_k below 0, top_p outside [0, 1]; a row with NaN or inf, or nothing but
 * -inf. */
heed_tensor *heed_sample(heed_tensor *logits);
heed_tensor *heed_sample_with(heed_tensor *logits, heed_sample_options options);

HEED_END_DECLS
#endif
