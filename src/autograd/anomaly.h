/* Anomaly mode: finds where NaN or infinity first appears.
 *
 *     heed_set_detect_anomaly(true);
 *     ...
 *     backward of sqrt in Net.layers.0.norm: inf at (1, 0) of the gradient of input 0 (2, 3), from
 *     a gradient (2, 3) with values from 1 to 1; if the derivative is infinite there, ...
 *
 * Like torch.autograd.set_detect_anomaly, but it checks the forward pass too. A finding becomes the
 * pending error HEED_ERR_ANOMALY, so nothing is computed from it and no optimiser steps. The
 * message names the operation, the shapes, the module and a remedy. In a debug build (make DEBUG=1)
 * stderr shows where the operation was called. Each result is read once more; when the mode is off,
 * it costs nothing. It reports
 *
 * - an operation that produces NaN although no input contains NaN, or infinity from finite inputs.
 *   heed_softmax of a fully masked row gives such a NaN (heed_safe_softmax gives zeros). Intended
 *   infinities are not reported: heed_masked_fill with -INFINITY, heed_full, heed_where that
 *   selects from it, infinite scalars, and heed_log of a 0 that requires no gradient
 * - a derivative that produces NaN or infinity from a finite gradient
 * - heed_backward or heed_grad of a y that is not finite, for example because the data has NaN
 */
#ifndef HEED_AUTOGRAD_ANOMALY_H
#define HEED_AUTOGRAD_ANOMALY_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* heed_set_detect_anomaly: turns the mode on or off in this thread, and returns the previous
 * setting. heed_is_anomaly_enabled: the setting, like torch.is_anomaly_enabled. */
bool heed_set_detect_anomaly(bool enabled);
bool heed_is_anomaly_enabled(void);

HEED_END_DECLS
#endif
