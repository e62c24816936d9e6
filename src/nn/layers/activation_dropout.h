/* Layers without parameters: activations and dropout. Activation modules are for use in a
 * Sequential; elsewhere, call heed_relu(x) and the like.
 */
#ifndef HEED_NN_ACTIVATION_DROPOUT_H
#define HEED_NN_ACTIVATION_DROPOUT_H

#include "../module.h"

HEED_BEGIN_DECLS

/* ---- activations ---- */

/* The type of heed_relu, heed_gelu, ... and of activation options. */
typedef heed_tensor *heed_activation_function(heed_tensor *x);

struct heed_activation {
    heed_module module;
    heed_activation_function *function;
};

/* As torch.nn.ReLU() and GELU(): modules without parameters. */
struct heed_activation *heed_relu_new(void);
struct heed_activation *heed_gelu_new(void);

/* heed_activation_forward: y = function(x)
 *
 *   x (...)   ->   y (...)
 *
 * Errors are those of heed_forward_check and of the function. */
heed_tensor *heed_activation_forward(struct heed_activation *m, heed_tensor *x);

/* ---- dropout (Srivastava et al., 2014), active in training mode only ---- */

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

HEED_END_DECLS
#endif
