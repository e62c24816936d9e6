/* Transformer blocks, and stacks of them.
 *
 * struct heed_transformer_encoder_layer is the transformer block of papers and courses:
 * self-attention and a feed-forward network, each with dropout, a residual connection and a
 * LayerNorm. Its name and the names of its parts are those of torch.nn.TransformerEncoderLayer, so
 * state dicts can be exchanged. With .is_causal, or a causal src_mask, it is the block of a
 * decoder-only model.
 */
#ifndef HEED_NN_TRANSFORMER_ENCODER_H
#define HEED_NN_TRANSFORMER_ENCODER_H

#include "layers/activation_dropout.h"
#include "layers/layer_norm.h"
#include "layers/linear.h"
#include "layers/module_list.h"
#include "torch_multihead_attention.h"

HEED_BEGIN_DECLS

/* ---- one layer ---- */

struct heed_transformer_encoder_layer {
    heed_module module;
    struct heed_multihead_attention *self_attn; /* set its keep_weights to inspect attention */
    struct heed_linear *linear1;                /* d_model to dim_feedforward */
    struct heed_dropout *dropout;               /* between linear1 and linear2 */
    struct heed_linear *linear2;                /* dim_feedforward to d_model */
    struct heed_layer_norm *norm1, *norm2;
    struct heed_dropout *dropout1, *dropout2; /* after attention and after linear2 */
    heed_activation_function *activation;
    bool norm_first;
};

/* Torch's arguments; zero selects torch's default. */
typedef struct heed_transformer_encoder_layer_options {
    int64_t dim_feedforward;              /* 0: 2048 */
    const double *dropout;                /* &(double){0}; NULL: 0.1 */
    heed_activation_function *activation; /* heed_gelu, ...; NULL: heed_relu */
    double layer_norm_eps;                /* 0: 1e-5 */
    bool batch_first;                     /* (N, S, E), as most other modules; not (S, N, E) */
    bool norm_first;                      /* pre-norm, not post-norm */
    bool no_bias;                         /* torch's bias=False */
} heed_transformer_encoder_layer_options;

/* heed_transformer_encoder_layer_new: as torch.nn.TransformerEncoderLayer(d_model, nhead), with its
 * parameter names: self_attn.in_proj_weight, ..., linear1.weight, ..., norm2.bias. Weights are
 * drawn in torch's order: self_attn, linear1, linear2.
 *
 * As in torch, the first dim of (S, N, E) is the sequence unless .batch_first is set. Most other
 * modules, such as PositionEncoding, and most data are (N, S, E): set it for them, because the
 * shape cannot show that the dims are mixed up.
 *
 * HEED_ERR_VALUE: a size is below 1, nhead does not divide d_model, dropout is outside [0, 1], or
 * eps is negative or not finite. */
struct heed_transformer_encoder_layer *heed_transformer_encoder_layer_new(int64_t d_model,
                                                                          int nhead);
struct heed_transformer_encoder_layer *
heed_transformer_encoder_layer_new_with(int64_t d_model, int nhead,
                                        heed_transformer_encoder_layer_options options);

/* Options for one forward call of a layer, or of a stack; zero selects torch's default. Masks are
 * bool (true blocks) or float (added to the scores), as in nn/torch_multihead_attention.h; all
 * given masks apply. */
typedef struct heed_transformer_encoder_forward_options {
    heed_tensor *src_mask;             /* (S, S), or (N * nhead, S, S) */
    heed_tensor *src_key_padding_mask; /* (N, S), or (S) without a batch */
    bool is_causal; /* token i attends to tokens 0 ... i only; needs no src_mask */
} heed_transformer_encoder_forward_options;

/* heed_transformer_encoder_layer_forward
 *
 *   src (S, N, d_model), with batch_first (N, S, d_model), or (S, d_model)   ->   y, the same shape
 *
 *   post-norm (Vaswani et al., 2017)        h = norm1(src + attend(src))   y = norm2(h + feed(h))
 *   .norm_first, pre-norm (as in GPT-2)     h = src + attend(norm1(src))   y = h + feed(norm2(h))
 *
 *   attend(x) = dropout1(self_attn(x, x, x))
 *   feed(x) = dropout2(linear2(dropout(activation(linear1(x)))))
 *
 * For a token that may not attend to any token, attention gives out_proj's bias, not NaN.
 *
 * HEED_ERR_SHAPE: src or a mask does not fit; is_causal without batch_first, although
 * heed_position_encoding_forward added positions along dim 1, as in (N, S, d_model); src may have
 * passed a dropout since. HEED_ERR_DTYPE: src does not have the parameters' dtype, or a mask is
 * neither bool nor of that dtype. */
heed_tensor *heed_transformer_encoder_layer_forward(struct heed_transformer_encoder_layer *m,
                                                    heed_tensor *src);
heed_tensor *
heed_transformer_encoder_layer_forward_with(struct heed_transformer_encoder_layer *m,
                                            heed_tensor *src,
                                            heed_transformer_encoder_forward_options options);

/* ---- a stack of layers ---- */

struct heed_transformer_encoder {
    heed_module module;
    struct heed_module_list *layers; /* of struct heed_transformer_encoder_layer */
    struct heed_layer_norm *norm;    /* after the last layer, or NULL */
};

typedef struct heed_transformer_encoder_options {
    struct heed_layer_norm *norm; /* the encoder takes ownership; NULL: none */
} heed_transformer_encoder_options;

/* heed_transformer_encoder_new: as torch.nn.TransformerEncoder(encoder_layer, num_layers): takes
 * ownership of the layer as layers.0 and copies it to layers.1, ..., so all layers start with the
 * same weights, as in torch, and no random numbers are drawn. On error it frees the layer and the
 * norm.
 *
 * HEED_ERR_VALUE: num_layers is below 1; the layer or norm already has an owner. HEED_ERR_NULL: no
 * layer. */
struct heed_transformer_encoder *
heed_transformer_encoder_new(struct heed_transformer_encoder_layer *encoder_layer, int num_layers);
struct heed_transformer_encoder *
heed_transformer_encoder_new_with(struct heed_transformer_encoder_layer *encoder_layer,
                                  int num_layers, heed_transformer_encoder_options options);

/* heed_transformer_encoder_layer_at: layers.i, for inspection. HEED_ERR_INDEX: i is out of
 * range. */
struct heed_transformer_encoder_layer *
heed_transformer_encoder_layer_at(struct heed_transformer_encoder *m, int i);

/* heed_transformer_encoder_forward: applies all layers, each with the same options, then norm.
 * Shapes and errors are those of heed_transformer_encoder_layer_forward. */
heed_tensor *heed_transformer_encoder_forward(struct heed_transformer_encoder *m, heed_tensor *src);
heed_tensor *
heed_transformer_encoder_forward_with(struct heed_transformer_encoder *m, heed_tensor *src,
                                      heed_transformer_encoder_forward_options options);

HEED_END_DECLS
#endif
