/* Anomaly mode: finds where NaN or infinity first appears, and common mistakes in training.
 *
 *     heed_set_detect_anomaly(true);
 *     ...
 *     backward of sqrt in Net.layers.0.norm: inf at (1, 0) of the gradient of input 0 (2, 3), from
 *     a gradient (2, 3) with values from 1 to 1; if the derivative is infinite there, ...
 *
 * Like torch.autograd.set_detect_anomaly, but it checks the forward pass too. A finding becomes the
 * pending error HEED_ERR_ANOMALY, so nothing is computed from it and no optimiser steps. The
 * message names the operation, the shapes, the module and a remedy. In a debug build (make DEBUG=1)
 * stderr shows where the operation was called. Results are unchanged, except for rounding where
 * gradients are added. Each result is read once more, which costs a few nanoseconds per element.
 * The mode is meant for debugging; when it is off, it costs nothing.
 *
 * NaN and infinity:
 *
 * - an operation produces NaN although no input contains NaN, or infinity from finite inputs.
 *   heed_softmax of a fully masked row gives such a NaN (heed_safe_softmax gives zeros). Intended
 *   infinities are not reported: heed_masked_fill with -INFINITY, heed_full, heed_where that
 *   selects from it, infinite scalars, and heed_log of a 0 that requires no gradient
 * - a derivative produces NaN or infinity from a finite gradient
 * - heed_backward or heed_grad of a y that is not finite, for example because the data has NaN
 * - an optimiser's step makes a parameter NaN or infinite
 *
 * Mistakes. Those in calls are recognised in the graph, so only in grad mode:
 *
 * - cross_entropy or log_softmax of the result of softmax, instead of logits
 * - attention whose weights sum to 1 over the queries: softmax(q k^T) v over a dim other than the
 *   last
 * - attention with an inverted mask (T, T), T >= 3: each query sees only later keys, or only itself
 * - attention with a constant float mask of 0 and 1: it is added to the scores and blocks nothing
 * - attention of a batch with one query and one key, before any with more: the weight is always 1,
 *   so W_q and W_k get no gradient
 * - a first cross_entropy above ln V + 3, V being the number of classes: the mean over targets
 *   without class weights. The first is that after the mode was turned on. It says ln V
 * - a step of an optimiser when no parameter has a gradient: the loss does not depend on them
 * - a parameter that had no gradient in any of the first 10 steps
 * - a second step with gradients that were not cleared in between, although backward added to them.
 *   Several backward passes per step are fine. Clear them with heed_optimizer_zero_grad or
 *   heed_zero_grad: setting them to 0 in place is not recognised
 */
#ifndef HEED_TOOLS_ANOMALY_H
#define HEED_TOOLS_ANOMALY_H

#include "../../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_set_detect_anomaly: turns the mode on or off in this thread, and returns the previous
 * setting. heed_is_anomaly_enabled: the setting, like torch.is_anomaly_enabled. */
bool heed_set_detect_anomaly(bool enabled);
bool heed_is_anomaly_enabled(void);

HEED_END_DECLS
#endif
