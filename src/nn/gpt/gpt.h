/* The decoder-only transformer of GPT-2 (Radford et al., 2019): tokens and positions, blocks of
 * causal self-attention and a feed-forward network, each behind a LayerNorm with a residual
 * connection around it, and logits of what follows each token.
 *
 * The parts and their names are those of nanoGPT (Karpathy, 2022), which are OpenAI's: a state dict
 * of nanoGPT loads as it is, and nn/gpt/gpt_files.h reads and writes what transformers has.
 *
 *     struct heed_gpt *model = heed_gpt_new((heed_gpt_config){
 *         .vocab_size = 65, .block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128});
 *     heed_tensor *loss = heed_gpt_loss(model, tokens, targets);
 */
#ifndef HEED_NN_GPT_H
#define HEED_NN_GPT_H

#include "../layers/activation_dropout.h"
#include "../layers/embedding.h"
#include "../layers/layer_norm.h"
#include "../layers/linear.h"
#include "../layers/position_encoding.h"
#include "sample.h"

HEED_BEGIN_DECLS

/* The sizes; zero is the default of all but the first five, which must be given. */
typedef struct heed_gpt_config {
    int64_t vocab_size;    /* V */
    int64_t block_size;    /* most tokens that it sees at once */
    int n_layer, n_head;   /* blocks, and heads in each; H */
    int64_t n_embd;        /* numbers that stand for a token, shared out to the heads; C */
    double dropout;        /* of embeddings, attention and what each half of a block adds */
    double layer_norm_eps; /* 0: 1e-5 */
    heed_activation_function *activation; /* NULL: heed_gelu_tanh, GPT-2's; nanoGPT has heed_gelu */
    bool no_bias;                         /* in Linear and LayerNorm; nanoGPT's bias=False */
    bool untied;     /* lm_head has weights of its own, not those of wte (Press and Wolf, 2017) */
    bool sinusoidal; /* positions as in Vaswani et al., 2017, not learned */
    bool no_init;    /* weights are zeros, to be loaded: draws nothing */
} heed_gpt_config;

/* ---- the parts ---- */

/* Causal self-attention: token i sees the tokens 0 ... i. */
struct heed_gpt_attention {
    heed_module module;
    struct heed_linear *c_attn; /* C to 3 C: queries, keys, values */
    struct heed_linear *c_proj; /* C to C: mixes the heads */
    struct heed_dropout *attn_dropout, *resid_dropout;
    int n_head;
    bool keep_weights;              /* store attention_percent below at each forward */
    heed_tensor *attention_percent; /* (B, H, T, S), a detached copy, or NULL */
};

struct heed_gpt_mlp {
    heed_module module;
    struct heed_linear *c_fc;   /* C to 4 C */
    struct heed_linear *c_proj; /* and back */
    struct heed_dropout *dropout;
    heed_activation_function *activation;
};

struct heed_gpt_block {
    heed_module module;
    struct heed_layer_norm *ln_1;
    struct heed_gpt_attention *attn;
    struct heed_layer_norm *ln_2;
    struct heed_gpt_mlp *mlp;
};

struct heed_gpt_transformer {
    heed_module module;
    struct heed_embedding *wte;        /* of tokens, (V, C) */
    struct heed_embedding *wpe;        /* of positions, (block_size, C); NULL if sinusoidal */
    struct heed_position_encoding *pe; /* if sinusoidal, else NULL */
    struct heed_dropout *drop;
    struct heed_module_list *h; /* of struct heed_gpt_block */
    struct heed_layer_norm *ln_f;
};

struct heed_gpt {
    heed_module module;
    struct heed_gpt_transformer *transformer;
    struct heed_linear *lm_head; /* C to V, without bias */
    heed_gpt_config config;
    int generating; /* calls of heed_gpt_generate under way, nested or in several threads */
};

/* ---- the model ---- */

/* heed_gpt_new: as nanoGPT's GPT(config), drawn in the same order: all modules with their own
 * initialisation, and then again with GPT-2's: weights normal with std 0.02, those of each c_proj
 * with 0.02 / sqrt(2 n_layer), biases 0. To the bit, but for sinusoidal positions, which nanoGPT
 * has not.
 *
 * HEED_ERR_VALUE: a size below 1, an n_embd that n_head does not divide, dropout outside [0, 1], an
 * eps below 0 or not finite. */
struct heed_gpt *heed_gpt_new(heed_gpt_config config);

/* heed_gpt_forward
 *
 *   idx (B, T) or (T) i64   ->   logits (B, T, V) or (T, V)
 *
 *   x = drop(wte[idx] + wpe[:T])
 *   each block: x = x + attn(ln_1(x));  x = x + mlp(ln_2(x))
 *   logits = lm_head(ln_f(x))
 *
 *   attn(x) = resid_dropout(c_proj(heads of scaled_dot_product_attention(q, k, v, causal)))
 *   mlp(x)  = dropout(c_proj(activation(c_fc(x))))
 *
 * HEED_ERR_SHAPE: idx has other dims, or T is more than block_size. HEED_ERR_DTYPE: idx is not i64.
 * HEED_ERR_INDEX: an id outside [0, V). */
heed_tensor *heed_gpt_forward(struct heed_gpt *m, heed_tensor *idx);

/* heed_gpt_loss: mean cross-entropy of the targets (B, T) or (T), in nats, (): as
 * cross_entropy(logits.view(-1, V), targets.view(-1)); NaN of no token. HEED_ERR_SHAPE: idx and
 * targets differ. HEED_ERR_DTYPE: targets are not i64. HEED_ERR_INDEX: a target outside [0, V). */
heed_tensor *heed_gpt_loss(struct heed_gpt *m, heed_tensor *idx, heed_tensor *targets);

/* heed_gpt_block_at: transformer.h.i, to look into. HEED_ERR_INDEX: there is none. */
struct heed_gpt_block *heed_gpt_block_at(struct heed_gpt *m, int i);

/* ---- token by token ----
 *
 * A new token needs only the keys and values of the tokens before it. A cache keeps these, so the
 * cost of one more token grows linearly with their number, not quadratically. heed_gpt_generate
 * uses one; others may as well:
 *
 *     heed_gpt_cache *cache = heed_gpt_cache_new(model, 1);
 *     heed_tensor *logits = heed_gpt_forward_cached(model, prompt, cache); // then for each token
 *     logits = heed_gpt_forward_cached(model, next_token, cache);
 *     heed_gpt_cache_free(cache); */
typedef struct heed_gpt_cache heed_gpt_cache;

/* heed_gpt_cache_new: space for block_size tokens in each of `batch` rows, of the model's dtype: 2
 * n_layer block_size C numbers a row. It needs no open scope; it and the model may be freed in any
 * order. It belongs to one thread. HEED_ERR_VALUE: batch below 1. */
heed_gpt_cache *heed_gpt_cache_new(struct heed_gpt *m, int64_t batch);
void heed_gpt_cache_free(heed_gpt_cache *cache);

/* heed_gpt_cache_length: how many tokens of each row it holds. heed_gpt_cache_clear: none any more,
 * as is necessary when weights have changed. */
int64_t heed_gpt_cache_length(const heed_gpt_cache *cache);
heed_status heed_gpt_cache_clear(heed_gpt_cache *cache);

/* heed_gpt_forward_cached: the logits of T more tokens, which join those in the cache
 *
 *   idx (B, T), or (T) where batch is 1   ->   logits (B, T, V) or (T, V)
 *
 * They are what heed_gpt_forward gives for all tokens so far, of the last T, but for rounding; in
 * training mode dropout draws other numbers. No graph is recorded. On an error the cache holds what
 * it held.
 *
 * HEED_ERR_SHAPE: as above, another batch than the cache's, or more tokens than fit.
 * HEED_ERR_DTYPE, HEED_ERR_INDEX: as above. HEED_ERR_VALUE: the cache was made for a model of other
 * sizes, or before a cast. */
heed_tensor *heed_gpt_forward_cached(struct heed_gpt *m, heed_tensor *idx, heed_gpt_cache *cache);

/* ---- generation ----
 *
 *     heed_manual_seed(1337);
 *     heed_tensor *text = heed_gpt_generate_with(model, prompt, 500, (heed_gpt_generate_options){
 *         .sample = {.temperature = 0.8, .top_k = 200}, .on_token = print}); */
typedef struct heed_gpt_generate_options {
    heed_sample_options sample;
    /* Called after each token, with one id for each row, valid during the call; false ends the
     * generation, and the tokens so far are the result. NULL: no callback. */
    bool (*on_token)(void *context, const int64_t *ids, int64_t rows);
    void *context; /* of on_token */
    bool no_cache; /* computes all tokens again for each new one: the same tokens, but slower */
} heed_gpt_generate_options;

/* heed_gpt_generate: as nanoGPT's model.generate
 *
 *   idx (B, T) or (T) i64, of any length but 0   ->   (B, T + n) or (T + n), idx and what follows
 *
 *   n times: logits = forward(the last block_size tokens)[last];  append sample(logits)
 *
 * n is max_new_tokens, or less where on_token ends it. The same seed gives the same tokens. A token
 * costs work in proportion to the tokens before it, as long as all fit into block_size. From then
 * on it costs a whole forward: each token has moved to another position, so no keys and values can
 * be kept.
 *
 * The model is in evaluation mode meanwhile, for other threads as well; each module has its own
 * mode back afterwards. No graph is recorded, and the memory of a token is freed before the next
 * one. An error, of on_token as well, ends it with NULL.
 *
 * HEED_ERR_SHAPE: idx has other dims, or no token. HEED_ERR_DTYPE: idx is not i64. HEED_ERR_INDEX:
 * an id outside [0, V). HEED_ERR_VALUE: max_new_tokens below 0; those of heed_sample.
 * HEED_ERR_OVERFLOW: more tokens than memory can address. */
heed_tensor *heed_gpt_generate(struct heed_gpt *m, heed_tensor *idx, int64_t max_new_tokens);
heed_tensor *heed_gpt_generate_with(struct heed_gpt *m, heed_tensor *idx, int64_t max_new_tokens,
                                    heed_gpt_generate_options options);

HEED_END_DECLS
#endif
