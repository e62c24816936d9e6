/* Sampling of the next token from its logits, and generation of text. */
#ifndef HEED_GPT_GENERATE_H
#define HEED_GPT_GENERATE_H

#include "examples/lab/gpt/model.h"

/* All zeros: sample from the unmodified distribution. */
typedef struct sampling {
    double temperature; /* below 1 sharpens the distribution, above 1 flattens it; 0: 1 */
    int64_t top_k;      /* only the k most likely tokens; 0 or more than V: all */
    double top_p;       /* only the most likely tokens whose probabilities sum to p; 0: 1, all */
    bool greedy;        /* the most likely token, the first one on a tie; draws no random numbers */
} sampling;

/* sample_tokens: draws a token for each row
 *
 *   logits (B, V), f32 or f64   ->   ids (B) i64
 *
 *   x = logits / temperature
 *   x[i] = -inf where x[i] < the top_k-th largest               (Fan et al., 2018)
 *   x[i] = -inf outside the smallest set of most likely tokens with
 *          sum(softmax(x)[set]) >= top_p, at least one token    (Holtzman et al., 2020)
 *   id drawn with the probabilities softmax(x)
 *
 * The filters apply in this order, as in transformers' generate or, without top_p, nanoGPT. All
 * tokens tied with the top_k-th are kept. On a tie at the boundary of top_p, the tokens with larger
 * ids are kept. Draws like torch.multinomial(softmax(x), 1): the same ids for the same seed.
 *
 * HEED_ERR_VALUE: a row contains NaN or inf. */
heed_tensor *sample_tokens(heed_tensor *logits, sampling how);

typedef struct gpt_generation {
    sampling sampling;
    /* Called after each token with one id per row; `ids` is valid only during the call. Returning
     * false stops the generation; the result then contains the tokens so far. NULL: no callback. */
    bool (*on_token)(void *context, const int64_t *ids, int64_t rows);
    void *context; /* passed to on_token */
    bool no_cache; /* recompute all tokens for each new one: the same tokens, but slower */
} gpt_generation;

/* gpt_generate: as nanoGPT's model.generate
 *
 *   idx (B, T) i64, T at least 1   ->   (B, T + n), idx and the new tokens
 *
 *   n times: logits = forward(the last block_size tokens)[last];  append sample(logits)
 *
 * n is max_new_tokens, or less if on_token stops the generation. Rows are computed together, which
 * is faster than one after another, because each weight is read once for all rows. The cost of a
 * token grows linearly with the context, as long as all tokens fit into block_size. After that,
 * each token costs a full forward: all tokens shift to other positions, so their keys and values
 * cannot be reused.
 *
 * The model is in evaluation mode during the call, and in its own afterwards. No graph is recorded,
 * and temporaries are freed after each token. NULL: an error is pending. */
heed_tensor *gpt_generate(struct gpt *m, heed_tensor *idx, int64_t max_new_tokens,
                          gpt_generation how);

#endif
