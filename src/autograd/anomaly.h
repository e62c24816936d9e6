/* Anomaly mode: finds where NaN or infinity first appears.
 *
 *     heed_set_detect_anomaly(true);
 *     ...
 *     backward of sqrt in Net.layers.0.norm: inf in the gradient of input 0 (2, 3); ...
 *
 * Like torch.autograd.set_detect_anomaly, but it checks the forward pass too. A finding becomes the
 * pending error HEED_ERR_ANOMALY, so nothing is computed from it and no optimiser steps: an
 * operation or a derivative that produces NaN or infinity from finite inputs, or a y that is not
 * finite in heed_backward or heed_grad. In a debug build (make DEBUG=1) stderr shows where the
 * operation was called. Intended infinities are not reported: heed_masked_fill with -INFINITY,
 * heed_full, infinite scalars, and heed_log of a 0 that requires no gradient. */
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
