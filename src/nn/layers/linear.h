/* The linear layer. */
#ifndef HEED_NN_LINEAR_H
#define HEED_NN_LINEAR_H

#include "../module.h"

HEED_BEGIN_DECLS

struct heed_linear {
    heed_module module;
    heed_tensor *weight; /* (out_features, in_features), as in torch */
    heed_tensor *bias;   /* (out_features), or NULL */
    int64_t in_features, out_features;
};

typedef struct heed_linear_options {
    bool no_bias; /* torch's bias=False */
    bool no_init; /* zeros instead of random numbers, like torch's skip_init; for loading weights */
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

HEED_END_DECLS
#endif
