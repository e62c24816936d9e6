/* The loss of classes. */
#ifndef HEED_AUTOGRAD_CROSS_ENTROPY_H
#define HEED_AUTOGRAD_CROSS_ENTROPY_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* How the losses of targets are reduced. */
typedef enum heed_reduction {
    HEED_MEAN, /* the default: mean over the targets that are not ignored; NaN if there are none */
    HEED_SUM,  /* sum */
    HEED_NONE, /* no reduction: losses with the shape of the targets */
} heed_reduction;

/* heed_cross_entropy: as torch.nn.functional.cross_entropy(logits, targets)
 *
 *   logits (N, C), (C) or (N, C, d...) float   targets (N), () or (N, d...) i64   ->   ()
 *   y = mean over the targets t of -log_softmax(logits)[t]
 *   dlogits = g (softmax(logits) - one_hot(t)) / count
 *
 * heed_cross_entropy_with: with options; one that is zero takes torch's default:
 *
 *     heed_cross_entropy_with(logits, targets,
 *                             (heed_cross_entropy_options){.label_smoothing = 0.1});
 *
 *   ignore_index      passed by address (&padding) because 0 is a class; targets equal to it are
 *                     ignored
 *   label_smoothing   in [0, 1]: the share of each target that is spread evenly over all classes
 *
 * If all targets are ignored, the mean is NaN, as in torch. Flatten (B, T, C) logits first, as in
 * torch: heed_reshape(logits, HEED_SHAPE(-1, C)) and heed_reshape(targets, HEED_SHAPE(-1)).
 *
 * HEED_ERR_SHAPE: the shapes do not match. HEED_ERR_DTYPE: logits are not floats, or targets are
 * not i64. HEED_ERR_INDEX: a target outside [0, C). HEED_ERR_VALUE: an invalid option. */
typedef struct heed_cross_entropy_options {
    const int64_t *ignore_index; /* NULL: torch's -100 */
    heed_reduction reduction;
    double label_smoothing;
} heed_cross_entropy_options;

/* The arguments of the operation. */
typedef struct heed_cross_entropy_args {
    int64_t ignore_index;
    double label_smoothing;
    heed_reduction reduction;
} heed_cross_entropy_args;

heed_tensor *heed_cross_entropy(heed_tensor *logits, heed_tensor *targets);
heed_tensor *heed_cross_entropy_with(heed_tensor *logits, heed_tensor *targets,
                                     heed_cross_entropy_options options);

HEED_END_DECLS
#endif
