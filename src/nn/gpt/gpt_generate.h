/* A GPT writes: tokens that follow a prompt, one after the other.
 *
 *     heed_manual_seed(1337);
 *     heed_tensor *text = heed_gpt_generate(model, prompt, 500, (heed_gpt_generate_options){
 *         .sample = {.temperature = 0.8, .top_k = 200}, .on_token = print});
 */
#ifndef HEED_NN_GPT_GENERATE_H
#define HEED_NN_GPT_GENERATE_H

#include "gpt.h"
#include "sample.h"

HEED_BEGIN_DECLS

typedef struct heed_gpt_generate_options {
    heed_sample_options sample;
    /* Called after each token, with one id for each of the rows, for as long as the call lasts; false
     * ends the generation, and the tokens so far are the result. NULL: nobody listens. */
    bool (*on_token)(void *context, const int64_t *ids, int64_t rows);
    void *context; /* of on_token */
    bool no_cache; /* looks at all tokens anew for each one: the same tokens, but slower */
} heed_gpt_generate_options;

/* heed_gpt_generate: as nanoGPT's model.generate
 *
 *   idx (B, T) or (T) i64, of any length but 0   ->   (B, T + n) or (T + n), idx and what follows
 *
 *   n times: logits = forward(the last block_size tokens)[last];  append sample(logits)
 *
 * n is max_new_tokens, or less where on_token ends it. The same seed gives the same tokens. A token costs
 * work in proportion to the tokens before it, as long as all fit into block_size. From then on it costs a
 * whole forward: each token has moved to another position, so no keys and values can be kept.
 *
 * The model is in evaluation mode meanwhile, for other threads as well; each module has its own mode back
 * afterwards. No graph is recorded, and what a token needs is let go before the next one. An error, of
 * on_token as well, ends it with NULL.
 *
 * HEED_ERR_SHAPE: idx has other dims, or no token. HEED_ERR_DTYPE: idx is not i64. HEED_ERR_INDEX: an id
 * outside [0, V). HEED_ERR_VALUE: max_new_tokens below 0; those of heed_sample. HEED_ERR_OVERFLOW: more
 * tokens than memory can address. */
heed_tensor *heed_gpt_generate(struct heed_gpt *m, heed_tensor *idx, int64_t max_new_tokens,
                               heed_gpt_generate_options options);

HEED_END_DECLS
#endif
