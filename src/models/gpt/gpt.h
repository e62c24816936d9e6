/* GPT-2, a decoder-only transformer (Radford et al., 2019): token and position embeddings; blocks
 * of causal self-attention and a feed-forward network, each with a LayerNorm before it and a
 * residual connection; and logits for the next token at each position.
 *
 * The modules and their names are those of nanoGPT (Karpathy, 2022), which follow OpenAI's: a
 * nanoGPT state dict loads unchanged, and models/gpt/gpt_files.h reads and writes the format of
 * Hugging Face's transformers.
 *
 *     struct heed_gpt *model = heed_gpt_new((heed_gpt_config){
 *         .vocab_size = 65, .block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128});
 *     heed_tensor *loss = heed_gpt_loss(model, tokens, targets);
 */
#ifndef HEED_MODELS_GPT_H
#define HEED_MODELS_GPT_H

#include "../../nn/layers/activation_dropout.h"
#include "../../nn/layers/embedding.h"
#include "../../nn/layers/layer_norm.h"
#include "../../nn/layers/linear.h"
#include "../../nn/layers/module_list.h"
#include "sample.h"

HEED_BEGIN_DECLS

/* Only the first five members are required; for the others, zero selects the default. */
typedef struct heed_gpt_config {
    int64_t vocab_size;    /* V */
    int64_t block_size;    /* maximum number of tokens in the context */
    int n_layer, n_head;   /* number of blocks, and of heads (H) in each block */
    int64_t n_embd;        /* features of a token, split among the heads; C */
    double dropout;        /* of embeddings, attention weights and residual branches */
    double layer_norm_eps; /* 0: 1e-5 */
    heed_activation_function *activation; /* NULL: GPT-2's heed_gelu_tanh; nanoGPT: heed_gelu */
    bool no_bias;                         /* in Linear and LayerNorm; nanoGPT's bias=False */
    bool untied;     /* lm_head does not share wte's weight (Press and Wolf, 2017) */
    bool sinusoidal; /* fixed position encodings (Vaswani et al., 2017), not learned ones */
    bool no_init;    /* zeros instead of random numbers; for loading weights */
} heed_gpt_config;

/* ---- modules ---- */

/* Causal self-attention: token i attends to tokens 0 ... i. */
struct heed_gpt_attention {
    heed_module module;
    struct heed_linear *c_attn; /* C to 3 * C: queries, keys, values */
    struct heed_linear *c_proj; /* C to C: combines the heads */
    struct heed_dropout *attn_dropout, *resid_dropout;
    int n_head;
    bool keep_weights;              /* each forward stores attention_percent, below */
    heed_tensor *attention_percent; /* (B, H, T, S), a detached copy, or NULL */
};

/* The feed-forward network of a block. */
struct heed_gpt_mlp {
    heed_module module;
    struct heed_linear *c_fc;   /* C to 4 * C */
    struct heed_linear *c_proj; /* 4 * C to C */
    struct heed_dropout *dropout;
    heed_activation_function *activation;
};

/* A transformer block: attention and the feed-forward network. */
struct heed_gpt_block {
    heed_module module;
    struct heed_layer_norm *ln_1;
    struct heed_gpt_attention *attn;
    struct heed_layer_norm *ln_2;
    struct heed_gpt_mlp *mlp;
};

/* Everything except lm_head. */
struct heed_gpt_transformer {
    heed_module module;
    struct heed_embedding *wte; /* token embeddings, (V, C) */
    struct heed_embedding *wpe; /* position embeddings, (block_size, C); NULL if sinusoidal */
    struct heed_position_encoding *pe; /* if sinusoidal, else NULL */
    struct heed_dropout *drop;
    struct heed_module_list *h; /* of struct heed_gpt_block */
    struct heed_layer_norm *ln_f;
};

/* The model. */
struct heed_gpt {
    heed_module module;
    struct heed_gpt_transformer *transformer;
    struct heed_linear *lm_head; /* C to V, without bias */
    heed_gpt_config config;
};

/* ---- the model ---- */

/* heed_gpt_new: as nanoGPT's GPT(config), bit-identical except for sinusoidal positions, which
 * nanoGPT does not have. As in nanoGPT, weights are drawn twice: first with each module's own
 * initialisation, then with GPT-2's, which is normal with std 0.02, or 0.02 / sqrt(2 * n_layer) for
 * each c_proj, and sets biases to 0.
 *
 * HEED_ERR_VALUE: a size is below 1, n_head does not divide n_embd, dropout is outside [0, 1], or
 * layer_norm_eps is negative or not finite. */
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
 * HEED_ERR_SHAPE: idx does not have 1 or 2 dims, or T exceeds block_size. HEED_ERR_DTYPE: idx is
 * not i64. HEED_ERR_INDEX: an id is outside [0, V). */
heed_tensor *heed_gpt_forward(struct heed_gpt *m, heed_tensor *idx);

/* heed_gpt_loss: mean cross-entropy of the targets, in nats, as cross_entropy(logits.view(-1, V),
 * targets.view(-1))
 *
 *   idx, targets (B, T) or (T) i64   ->   loss ()
 *
 * NaN if there are no tokens. Errors are those of heed_gpt_forward; HEED_ERR_SHAPE: the shapes of
 * idx and targets differ. HEED_ERR_DTYPE: targets are not i64. HEED_ERR_INDEX: a target is outside
 * [0, V). */
heed_tensor *heed_gpt_loss(struct heed_gpt *m, heed_tensor *idx, heed_tensor *targets);

/* heed_gpt_block_at: transformer.h.i, for inspection. HEED_ERR_INDEX: i is out of range. */
struct heed_gpt_block *heed_gpt_block_at(struct heed_gpt *m, int i);

/* ---- token by token ----
 *
 * A new token needs only the keys and values of the tokens before it. A cache keeps them, so that
 * the cost of each new token grows linearly with their number, not quadratically. heed_gpt_generate
 * uses a cache; you can also use one directly:
 *
 *     heed_gpt_cache *cache = heed_gpt_cache_new(model, 1);
 *     heed_tensor *logits = heed_gpt_forward_cached(model, prompt, cache); // then for each token
 *     logits = heed_gpt_forward_cached(model, next_token, cache);
 *     heed_gpt_cache_free(cache); */
typedef struct heed_gpt_cache heed_gpt_cache;

/* heed_gpt_cache_new: allocates space for block_size tokens in each of `batch` rows, in the model's
 * dtype: 2 * n_layer * block_size * C elements per row. Needs no open scope. Cache and model may be
 * freed in any order. A cache must be used by only one thread at a time.
 * HEED_ERR_VALUE: batch is below 1. */
heed_gpt_cache *heed_gpt_cache_new(struct heed_gpt *m, int64_t batch);
void heed_gpt_cache_free(heed_gpt_cache *cache);

/* heed_gpt_cache_length: the number of cached tokens per row. heed_gpt_cache_clear: empties the
 * cache; required after the weights change. HEED_ERR_NULL: no cache. */
int64_t heed_gpt_cache_length(const heed_gpt_cache *cache);
heed_status heed_gpt_cache_clear(heed_gpt_cache *cache);

/* heed_gpt_forward_cached: the logits of T more tokens, which are added to the cache
 *
 *   idx (B, T), or (T) if batch is 1   ->   logits (B, T, V) or (T, V)
 *
 * Up to rounding, they equal the logits that heed_gpt_forward computes for the last T of all tokens
 * so far; in training mode dropout draws different numbers. No graph is recorded. On error the
 * cache is unchanged.
 *
 * Errors are those of heed_gpt_forward; HEED_ERR_SHAPE: the batch differs from the cache's, or the
 * tokens do not fit. HEED_ERR_VALUE: the cache was created for a model with other sizes, or before
 * a cast. */
heed_tensor *heed_gpt_forward_cached(struct heed_gpt *m, heed_tensor *idx, heed_gpt_cache *cache);

/* ---- generation ----
 *
 *     heed_manual_seed(1337);
 *     heed_tensor *text = heed_gpt_generate_with(model, prompt, 500, (heed_gpt_generate_options){
 *         .sample = {.temperature = 0.8, .top_k = 200}, .on_token = print}); */
typedef struct heed_gpt_generate_options {
    heed_sample_options sample;
    /* Called after each token with one id per row; `ids` is valid only during the call. Returning
     * false stops the generation; the result then contains the tokens so far. NULL: no callback. */
    bool (*on_token)(void *context, const int64_t *ids, int64_t rows);
    void *context; /* passed to on_token */
    bool no_cache; /* recompute all tokens for each new one: the same tokens, but slower */
} heed_gpt_generate_options;

/* heed_gpt_generate: as nanoGPT's model.generate
 *
 *   idx (B, T) or (T) i64, T at least 1   ->   (B, T + n) or (T + n), idx and the new tokens
 *
 *   n times: logits = forward(the last block_size tokens)[last];  append sample(logits)
 *
 * n is max_new_tokens, or less if on_token stops the generation. The same seed gives the same
 * tokens. Rows are computed together, which is faster than one after another, because each weight
 * is read once for all rows. With sample.generators, a row gets the same tokens as it would alone,
 * unless rounding, which depends on the number of rows, decides between two tokens. The cost of a
 * token grows linearly with the context, as long as all tokens fit into block_size. After that,
 * each token costs a full forward: all tokens shift to other positions, so their keys and values
 * cannot be reused.
 *
 * The model is in evaluation mode during the call, for other threads too; afterwards each module
 * returns to its own mode. To generate in several threads at once, call heed_eval first. No graph
 * is recorded, and temporaries are freed after each token. On error, including one set by on_token,
 * returns NULL.
 *
 * HEED_ERR_SHAPE: idx does not have 1 or 2 dims, or T is 0. HEED_ERR_DTYPE: idx is not i64.
 * HEED_ERR_INDEX: an id is outside [0, V). HEED_ERR_VALUE: max_new_tokens is negative, or as for
 * heed_sample. HEED_ERR_OVERFLOW: more tokens than memory can address. */
heed_tensor *heed_gpt_generate(struct heed_gpt *m, heed_tensor *idx, int64_t max_new_tokens);
heed_tensor *heed_gpt_generate_with(struct heed_gpt *m, heed_tensor *idx, int64_t max_new_tokens,
                                    heed_gpt_generate_options options);

HEED_END_DECLS
#endif
