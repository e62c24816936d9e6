/* Dropout (Srivastava et al., 2014) that knows whether its model is training. */
#ifndef HEED_NN_DROPOUT_H
#define HEED_NN_DROPOUT_H

#include "../module.h"

HEED_BEGIN_DECLS

struct heed_dropout {
    heed_module module;
    double p; /* may be changed at any time */
};

/* heed_dropout_new: as torch.nn.Dropout(p); torch's default is 0.5.
 * HEED_ERR_VALUE: p is outside [0, 1]. */
struct heed_dropout *heed_dropout_new(double p);

/* heed_dropout_forward: heed_dropout(x, p, training): each element is 0 with probability p and the others
 * are divided by 1 - p; after heed_eval it is x itself, and nothing is drawn. */
heed_tensor *heed_dropout_forward(struct heed_dropout *m, heed_tensor *x);

HEED_END_DECLS
#endif
