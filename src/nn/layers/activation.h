/* Activations as modules, for a Sequential. Elsewhere heed_relu(x) and its like are all that is needed.
 */
#ifndef HEED_NN_ACTIVATION_H
#define HEED_NN_ACTIVATION_H

#include "../module.h"

HEED_BEGIN_DECLS

/* heed_relu, heed_gelu, ...: what modules take as their activation. */
typedef heed_tensor *heed_activation_function(heed_tensor *x);

struct heed_activation {
    heed_module module;
    heed_activation_function *function;
};

typedef struct heed_gelu_options {
    bool approximate_tanh; /* torch's approximate='tanh': heed_gelu_tanh */
} heed_gelu_options;

/* As torch.nn.ReLU(), GELU(), Tanh(), SiLU(), Sigmoid(): modules without parameters. */
struct heed_activation *heed_relu_new(void);
struct heed_activation *heed_gelu_new(void);
struct heed_activation *heed_gelu_new_with(heed_gelu_options options);
struct heed_activation *heed_tanh_new(void);
struct heed_activation *heed_silu_new(void);
struct heed_activation *heed_sigmoid_new(void);

/* heed_activation_forward: x (...)   ->   function(x) (...) */
heed_tensor *heed_activation_forward(struct heed_activation *m, heed_tensor *x);

HEED_END_DECLS
#endif
