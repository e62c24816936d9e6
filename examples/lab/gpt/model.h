/* GPT-2, a decoder-only transformer (Radford et al., 2019), written with heed.h alone: token and
 * position embeddings; blocks of causal self-attention and a feed-forward network, each with a
 * LayerNorm before it and a residual connection; and logits for the next token at each position.
 *
 * The modules and their names are those of nanoGPT (Karpathy, 2022), which follow OpenAI's. The
 * weights that a seed gives have the bits of nanoGPT's.
 *
 *     struct gpt *model = gpt_new((gpt_config){
 *         .vocab_size = 65, .block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128});
 *     heed_tensor *loss = gpt_loss(model, tokens, targets);
 */
#ifndef HEED_GPT_MODEL_H
#define HEED_GPT_MODEL_H

#include "heed.h"

typedef heed_tensor *gpt_activation(heed_tensor *x);

/* Only the first five members are required. */
typedef struct gpt_config {
    int64_t vocab_size;         /* V */
    int64_t block_size;         /* maximum number of tokens in the context */
    int n_layer, n_head;        /* number of blocks, and of heads (H) in each block */
    int64_t n_embd;             /* features of a token, split among the heads; C */
    double dropout;             /* of embeddings, attention weights and residual branches */
    gpt_activation *activation; /* NULL: GPT-2's heed_gelu_tanh; nanoGPT: heed_gelu */
    bool untied;                /* lm_head does not share wte's weight (Press and Wolf, 2017) */
} gpt_config;

/* ---- modules ---- */

/* Causal self-attention: token i attends to tokens 0 ... i. */
struct gpt_attention {
    heed_module module;
    struct heed_linear *c_attn; /* C to 3 * C: queries, keys, values */
    struct heed_linear *c_proj; /* C to C: combines the heads */
    struct heed_dropout *attn_dropout, *resid_dropout;
    int n_head;
    bool keep_weights;              /* each forward stores attention_percent, below */
    heed_tensor *attention_percent; /* (B, H, T, S), a detached copy, or NULL */
};

/* The feed-forward network of a block. */
struct gpt_mlp {
    heed_module module;
    struct heed_linear *c_fc;   /* C to 4 * C */
    struct heed_linear *c_proj; /* 4 * C to C */
    struct heed_dropout *dropout;
    gpt_activation *activation;
};

/* A transformer block: attention and the feed-forward network. */
struct gpt_block {
    heed_module module;
    struct heed_layer_norm *ln_1;
    struct gpt_attention *attn;
    struct heed_layer_norm *ln_2;
    struct gpt_mlp *mlp;
};

/* Everything except lm_head. */
struct gpt_transformer {
    heed_module module;
    struct heed_embedding *wte; /* token embeddings, (V, C) */
    struct heed_embedding *wpe; /* position embeddings, (block_size, C) */
    struct heed_dropout *drop;
    struct heed_module_list *h; /* of struct gpt_block */
    struct heed_layer_norm *ln_f;
};

struct gpt {
    heed_module module;
    struct gpt_transformer *transformer;
    struct heed_linear *lm_head; /* C to V, without bias */
    gpt_config config;
};

/* ---- the model ---- */

/* gpt_new: as nanoGPT's GPT(config), bit-identical. As there, weights are drawn twice: first with
 * each module's own initialisation, then with GPT-2's, which is normal with std 0.02, or
 * 0.02 / sqrt(2 * n_layer) for each c_proj, and sets biases to 0.
 * HEED_ERR_VALUE: a size is below 1, n_head does not divide n_embd, or dropout is outside [0, 1].
 */
struct gpt *gpt_new(gpt_config config);

/* gpt_forward
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
 * HEED_ERR_SHAPE: idx does not have 1 or 2 dims, or T exceeds block_size. HEED_ERR_INDEX: an id is
 * outside [0, V). */
heed_tensor *gpt_forward(struct gpt *m, heed_tensor *idx);

/* gpt_loss: mean cross-entropy of the targets, in nats, as cross_entropy(logits.view(-1, V),
 * targets.view(-1))
 *
 *   idx, targets (B, T) or (T) i64   ->   loss () */
heed_tensor *gpt_loss(struct gpt *m, heed_tensor *idx, heed_tensor *targets);

/* gpt_block_at: transformer.h.i. HEED_ERR_INDEX: i is out of range. */
struct gpt_block *gpt_block_at(struct gpt *m, int i);

/* ---- token by token ----
 *
 * A new token needs only the keys and values of the tokens before it. A cache keeps them, so that
 * the cost of each new token grows linearly with their number, not quadratically:
 *
 *     gpt_cache *cache = gpt_cache_new(model, 1);
 *     heed_tensor *logits = gpt_forward_cached(model, prompt, cache, true); // then for each token
 *     logits = gpt_forward_cached(model, next_token, cache, true);
 *     gpt_cache_free(cache); */
typedef struct gpt_cache {
    int64_t batch, length; /* rows; tokens in each */
    int n_layer;
    heed_tensor **keys, **values; /* of each block: (B, H, block_size, C / H) */
} gpt_cache;

/* gpt_cache_new: a cache for block_size tokens in each of `batch` rows. To empty it, set its length
 * to 0; required after the weights change. NULL: an error is pending. */
gpt_cache *gpt_cache_new(struct gpt *m, int64_t batch);
void gpt_cache_free(gpt_cache *cache);

/* gpt_forward_cached: the logits of T more tokens, which are added to the cache
 *
 *   idx (B, T)   ->   logits (B, T, V), or (B, 1, V), of the last token, if last_only
 *
 * Up to rounding, they equal the logits that gpt_forward computes for the last T of all tokens so
 * far. No graph is recorded. On error the cache's length is unchanged. Without a cache (NULL) there
 * are no tokens before.
 * HEED_ERR_SHAPE: idx does not have the cache's rows, or the tokens do not fit into the block. */
heed_tensor *gpt_forward_cached(struct gpt *m, heed_tensor *idx, gpt_cache *cache, bool last_only);

#endif
