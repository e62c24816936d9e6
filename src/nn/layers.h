/* Layers: Linear, Embedding and positions, LayerNorm, Dropout, the feed-forward network of a
 * transformer, and ModuleList. Activations are functions: heed_relu, heed_gelu, ... */
#ifndef HEED_NN_LAYERS_H
#define HEED_NN_LAYERS_H

#include "module.h"

HEED_BEGIN_DECLS

/* ---- Linear ---- */

struct heed_linear {
    heed_module module;
    heed_tensor *weight; /* (out_features, in_features), as in torch */
    heed_tensor *bias;   /* (out_features), or NULL */
    int64_t in_features, out_features;
};

typedef struct heed_linear_options {
    bool no_bias; /* torch's bias=False */
} heed_linear_options;

/* heed_linear_new: as torch.nn.Linear(in_features, out_features); heed_linear_new_with: with
 * options
 *
 * weight and then bias are drawn uniformly from +-1 / sqrt(in_features), as in torch. They are f32;
 * cast with heed_module_to.
 * HEED_ERR_VALUE: a size is negative. */
struct heed_linear *heed_linear_new(int64_t in_features, int64_t out_features);
struct heed_linear *heed_linear_new_with(int64_t in_features, int64_t out_features,
                                         heed_linear_options options);

/* heed_linear_forward
 *
 *   x (..., in_features)   ->   y (..., out_features)
 *   y = x weight^T + bias
 *
 * HEED_ERR_SHAPE: the last dim is not in_features. */
heed_tensor *heed_linear_forward(struct heed_linear *m, heed_tensor *x);

/* ---- Embedding ---- */

struct heed_embedding {
    heed_module module;
    heed_tensor *weight; /* (num_embeddings, embedding_dim) */
    int64_t num_embeddings, embedding_dim;
};

/* heed_embedding_new: as torch.nn.Embedding(num_embeddings, embedding_dim): weight is drawn from a
 * normal distribution with mean 0 and standard deviation 1. HEED_ERR_VALUE: a size is negative. */
struct heed_embedding *heed_embedding_new(int64_t num_embeddings, int64_t embedding_dim);

/* heed_embedding_forward
 *
 *   ids (...) i64   ->   y (..., embedding_dim)
 *   y[...] = weight[ids[...]]
 *
 * HEED_ERR_INDEX: an id is outside [0, num_embeddings). */
heed_tensor *heed_embedding_forward(struct heed_embedding *m, heed_tensor *ids);

/* ---- sinusoidal position encoding (Vaswani et al., 2017, section 3.5) ---- */

struct heed_position_encoding {
    heed_module module;
    heed_tensor *pe; /* (max_len, d_model), a buffer */
};

/* heed_position_encoding_new
 *
 *   pe[t, 2i] = sin(t / 10000^(2i / d_model))    pe[t, 2i + 1] = cos(t / 10000^(2i / d_model))
 *
 * If d_model is odd, the last column is a sine. HEED_ERR_VALUE: d_model or max_len is below 1. */
struct heed_position_encoding *heed_position_encoding_new(int64_t d_model, int64_t max_len);

/* heed_position_encoding_forward
 *
 *   x (..., T, d_model)   ->   y (..., T, d_model)
 *   y = x + pe[:T]
 *
 * nn.MultiheadAttention takes (T, N, d_model) unless .batch_first is set.
 * HEED_ERR_SHAPE: T exceeds max_len, or the last dim is not d_model. */
heed_tensor *heed_position_encoding_forward(struct heed_position_encoding *m, heed_tensor *x);

/* ---- LayerNorm (Ba et al., 2016) ---- */

struct heed_layer_norm {
    heed_module module;
    heed_tensor *weight, *bias; /* (normalized_shape) */
    heed_shape normalized_shape;
    double eps; /* 1e-5; may be changed at any time */
};

/* heed_layer_norm_new: as torch.nn.LayerNorm(normalized_shape); HEED_SHAPE(n) normalises the last
 * dim. weight is all ones and bias all zeros; no random numbers are drawn.
 * HEED_ERR_SHAPE: no dims, or a negative size. */
struct heed_layer_norm *heed_layer_norm_new(heed_shape normalized_shape);

/* heed_layer_norm_forward: heed_layer_norm(x, normalized_shape, weight, bias, eps)
 *
 *   x (..., normalized_shape)   ->   y, the same shape
 *   y = weight (x - mean) / sqrt(var + eps) + bias
 *
 * Errors are those of heed_layer_norm. HEED_ERR_DTYPE: x does not have the parameters' dtype. */
heed_tensor *heed_layer_norm_forward(struct heed_layer_norm *m, heed_tensor *x);

/* ---- Dropout (Srivastava et al., 2014), active in training mode only ---- */

struct heed_dropout {
    heed_module module;
    double p; /* may be changed at any time */
};

/* heed_dropout_new: as torch.nn.Dropout(p); torch's default is 0.5.
 * HEED_ERR_VALUE: p is outside [0, 1]. */
struct heed_dropout *heed_dropout_new(double p);

/* heed_dropout_forward: heed_dropout(x, p, training): each element becomes 0 with probability p,
 * and the others are divided by 1 - p. After heed_eval it returns x itself and draws no random
 * numbers. Errors are those of heed_forward_check and heed_dropout. */
heed_tensor *heed_dropout_forward(struct heed_dropout *m, heed_tensor *x);

/* ---- the feed-forward network of a transformer (Vaswani et al., 2017, section 3.3) ---- */

struct heed_feed_forward {
    heed_module module;
    struct heed_linear *linear1, *linear2; /* d_model to d_ff, and back */
};

/* heed_feed_forward_new: two Linear layers, initialised in order and named as in
 * torch.nn.TransformerEncoderLayer. The paper uses d_ff = 4 * d_model.
 * HEED_ERR_VALUE: a size is below 1.
 *
 * heed_feed_forward_forward: y = relu(x W_1^T + b_1) W_2^T + b_2
 *
 *   x (..., d_model)   ->   y (..., d_model)
 *
 * HEED_ERR_SHAPE: the last dim is not d_model. */
struct heed_feed_forward *heed_feed_forward_new(int64_t d_model, int64_t d_ff);
heed_tensor *heed_feed_forward_forward(struct heed_feed_forward *m, heed_tensor *x);

/* ---- ModuleList: modules whose names are 0, 1, 2, ... ---- */

/* heed_module_list_new: as torch.nn.ModuleList(), empty. heed_module_list_append: takes ownership
 * of a module and appends it; errors as heed_add_child. heed_module_list_count: the number of
 * modules; 0 on error. */
struct heed_module_list {
    heed_module module;
};
struct heed_module_list *heed_module_list_new(void);
heed_status heed_module_list_append(struct heed_module_list *list, void *child);
int heed_module_list_count(const struct heed_module_list *list);

/* heed_module_list_at: child i. HEED_ERR_INDEX: i is outside [0, count). */
void *heed_module_list_at(const struct heed_module_list *list, int i);

HEED_END_DECLS
#endif
