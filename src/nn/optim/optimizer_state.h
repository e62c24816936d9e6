/* The state of an optimiser as named tensors, as in torch.optim.Optimizer.state_dict. */
#ifndef HEED_NN_OPTIMIZER_STATE_H
#define HEED_NN_OPTIMIZER_STATE_H

#include "optimizer.h"

HEED_BEGIN_DECLS

/* heed_optimizer_state_dict: the complete state of an optimiser, by name, like torch's
 * optimizer.state_dict(). For a parameter W in group 0:
 *
 *   state.W.step                         number of steps with a gradient; i64 ()
 *   state.W.exp_avg .exp_avg_sq          Adam and AdamW: in W's shape; 0 before the first step
 *   state.W.momentum_buffer              SGD with momentum: the same
 *   param_groups.0.params.W              its index among all parameters; i64 ()
 *   param_groups.0.lr                    f64: the group's own lr; NaN if it uses the optimiser's
 *   param_groups.0.weight_decay ...      f64
 *   AdamW.steps, AdamW.lr                i64 and f64 (), prefixed with the optimiser's name
 *
 * Parameters keep the names from their lists; those without a name are numbered. The list belongs
 * to the optimiser and is valid until the next call. The numbers in it are copies that belong to
 * the innermost scope; the tensors shaped like parameters are the optimiser's own and change in
 * later steps. Empty on error.
 *
 * heed_optimizer_load_state_dict: like torch's load_state_dict, but by name and in any order:
 * copies such a list into an optimiser constructed like the one it came from. On error nothing
 * changes. HEED_ERR_VALUE: names are missing or unexpected, or shapes differ (one message lists
 * them all), or a number is invalid for this optimiser. HEED_ERR_NULL: a tensor of the list is
 * NULL. */
heed_tensor_list heed_optimizer_state_dict(heed_optimizer *optimizer);
heed_status heed_optimizer_load_state_dict(heed_optimizer *optimizer, heed_tensor_list state);

HEED_END_DECLS
#endif
