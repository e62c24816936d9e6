/* The blocks that a transformer is made of, and a stack of them.
 *
 * What papers and courses call a transformer block is struct heed_transformer_encoder_layer:
 * self-attention and a feed-forward network, each with dropout, a residual connection and a
 * LayerNorm. Its name is torch's (torch.nn.TransformerEncoderLayer), as are the names of its parts,
 * so that a state dict of the one loads into the other. With .is_causal, or a causal src_mask, it
 * is the block of a model that only decodes.
 */
#ifndef HEED_NN_TRANSFORMER_ENCODER_H
#define HEED_NN_TRANSFORMER_ENCODER_H

#include "../layers/activation_dropout.h"
#include "../layers/layer_norm.h"
#include "../layers/linear.h"
#include "torch_multihead_attention.h"

HEED_BEGIN_DECLS

/* What one forward may be told; zero is torch's default. Masks are those of heed_attention_options:
 * of bool, true blocks, or of float, added to the scores; all that are given hold. */
typedef struct heed_encoder_masks {
    heed_tensor *src_mask;             /* (S, S), or (N nhead, S, S) */
    heed_tensor *src_key_padding_mask; /* (N, S), (S) without a batch */
    bool is_causal;                    /* token i sees the tokens 0 ... i only; needs no src_mask */
} heed_encoder_masks;

/* ---- one layer ---- */

struct heed_transformer_encoder_layer {
    heed_module module;
    struct heed_multihead_attention *self_attn; /* its keep_weights stores what was attended to */
    struct heed_linear *linear1;                /* d_model to dim_feedforward */
    struct heed_dropout *dropout;               /* between the two */
    struct heed_linear *linear2;                /* and back */
    struct heed_layer_norm *norm1, *norm2;
    struct heed_dropout *dropout1, *dropout2; /* of what attention and linear2 make */
    heed_activation_function *activation;
    bool norm_first;
};

/* As torch's arguments; zero is torch's default. */
typedef struct heed_transformer_encoder_layer_options {
    int64_t dim_feedforward;              /* 0: 2048 */
    const double *dropout;                /* &(double){0}; NULL: 0.1 */
    heed_activation_function *activation; /* heed_gelu, ...; NULL: heed_relu */
    double layer_norm_eps;                /* 0: 1e-5 */
    bool batch_first;                     /* (N, S, E), not (S, N, E) */
    bool norm_first;                      /* pre-norm, not post-norm */
    bool no_bias;                         /* torch's bias=False */
} heed_transformer_encoder_layer_options;

/* heed_transformer_encoder_layer_new: as torch.nn.TransformerEncoderLayer(d_model, nhead), with its
 * names: self_attn.in_proj_weight, ..., linear1.weight, ..., norm2.bias. Drawn in torch's order:
 * self_attn, linear1, linear2.
 *
 * HEED_ERR_VALUE: a size below 1, a d_model that nhead does not divide, dropout outside [0, 1], an
 * eps below 0 or not finite. */
struct heed_transformer_encoder_layer *heed_transformer_encoder_layer_new(int64_t d_model,
                                                                          int nhead);
struct heed_transformer_encoder_layer *
heed_transformer_encoder_layer_new_with(int64_t d_model, int nhead,
                                        heed_transformer_encoder_layer_options options);

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
 * A token that may see none gets out_proj's bias from attention, and no NaN.
 *
 * HEED_ERR_SHAPE: src or a mask does not fit. HEED_ERR_DTYPE: src is not of the parameters' dtype,
 * or a mask neither bool nor of theirs. */
heed_tensor *heed_transformer_encoder_layer_forward(struct heed_transformer_encoder_layer *m,
                                                    heed_tensor *src);
heed_tensor *heed_transformer_encoder_layer_forward_with(struct heed_transformer_encoder_layer *m,
                                                         heed_tensor *src,
                                                         heed_encoder_masks masks);

/* ---- a stack of layers ---- */

struct heed_transformer_encoder {
    heed_module module;
    struct heed_module_list *layers; /* of struct heed_transformer_encoder_layer */
    struct heed_layer_norm *norm;    /* of what the last one makes, or NULL */
};

typedef struct heed_transformer_encoder_options {
    struct heed_layer_norm *norm; /* which the encoder takes over; NULL: none */
} heed_transformer_encoder_options;

/* heed_transformer_encoder_new: as torch.nn.TransformerEncoder(encoder_layer, num_layers): takes
 * the layer over as layers.0; layers.1, ... are copies of it, so all begin with the same weights,
 * as torch's do, and nothing more is drawn. On error it frees what it took over.
 *
 * HEED_ERR_VALUE: num_layers below 1; a layer or norm that has an owner. HEED_ERR_NULL: no
 * layer. */
struct heed_transformer_encoder *
heed_transformer_encoder_new(struct heed_transformer_encoder_layer *encoder_layer, int num_layers);
struct heed_transformer_encoder *
heed_transformer_encoder_new_with(struct heed_transformer_encoder_layer *encoder_layer,
                                  int num_layers, heed_transformer_encoder_options options);

/* heed_transformer_encoder_layer_at: layers.i, to look into. HEED_ERR_INDEX: there is none. */
struct heed_transformer_encoder_layer *
heed_transformer_encoder_layer_at(struct heed_transformer_encoder *m, int i);

/* heed_transformer_encoder_forward: src through all layers, each with the same masks, and norm.
 * Shapes and errors are those of one layer. */
heed_tensor *heed_transformer_encoder_forward(struct heed_transformer_encoder *m, heed_tensor *src);
heed_tensor *heed_transformer_encoder_forward_with(struct heed_transformer_encoder *m,
                                                   heed_tensor *src, heed_encoder_masks masks);

HEED_END_DECLS
#endif
