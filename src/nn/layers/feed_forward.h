/* The position-wise feed-forward network of a transformer (Vaswani et al., 2017, section 3.3). */
#ifndef HEED_NN_FEED_FORWARD_H
#define HEED_NN_FEED_FORWARD_H

#include "activation_dropout.h"
#include "linear.h"

HEED_BEGIN_DECLS

struct heed_feed_forward {
    heed_module module;
    struct heed_linear *linear1; /* d_model to d_ff */
    struct heed_dropout *dropout;
    struct heed_linear *linear2; /* d_ff to d_model */
    heed_activation_function *activation;
};

typedef struct heed_feed_forward_options {
    heed_activation_function *activation; /* heed_gelu, ...; NULL: heed_relu */
    double dropout;                       /* between the layers, in training mode */
    bool no_bias;
} heed_feed_forward_options;

/* heed_feed_forward_new: two Linear layers, initialised in order and named as in
 * torch.nn.TransformerEncoderLayer: linear1, linear2. The paper uses d_ff = 4 * d_model.
 * HEED_ERR_VALUE: a size is below 1, or dropout is outside [0, 1]. */
struct heed_feed_forward *heed_feed_forward_new(int64_t d_model, int64_t d_ff);
struct heed_feed_forward *heed_feed_forward_new_with(int64_t d_model, int64_t d_ff,
                                                     heed_feed_forward_options options);

/* heed_feed_forward_forward
 *
 *   x (..., d_model)   ->   y (..., d_model)
 *   y = activation(x W_1^T + b_1) W_2^T + b_2, with dropout after the activation
 *
 * HEED_ERR_SHAPE: the last dim is not d_model. */
heed_tensor *heed_feed_forward_forward(struct heed_feed_forward *m, heed_tensor *x);

HEED_END_DECLS
#endif
