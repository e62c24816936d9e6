/* The state of modules: state dicts, tied weights, gradients, training mode. */
#ifndef HEED_NN_MODULE_STATE_H
#define HEED_NN_MODULE_STATE_H

#include "module.h"

HEED_BEGIN_DECLS

/* heed_state_dict: parameters and buffers under all their names, like torch's state_dict().
 * The list belongs to the module and is valid until it changes or is freed. Empty on error. */
heed_tensor_list heed_state_dict(void *module);

/* heed_state: the parameter or buffer of that name, like state_dict()[name].
 * HEED_ERR_VALUE: no such name. */
heed_tensor *heed_state(void *module, const char *name);

/* heed_set_parameter: replaces a registered parameter with another tensor, like m.weight = value in
 * torch: retains the new tensor, releases the old one, and sets *field, which may be NULL. Use it
 * to tie weights:
 *
 *     heed_set_parameter(lm_head, "weight", &lm_head->weight, embedding->weight);
 *
 * Training, casts and files then treat it as one parameter with two names. Call this before
 * creating an optimiser; an existing one would keep updating the old tensor. On error nothing
 * changes.
 *
 * HEED_ERR_VALUE: this module has no parameter of that name; children are not searched.
 * HEED_ERR_SHAPE, HEED_ERR_DTYPE: value differs from the old tensor. HEED_ERR_GRAPH: value is not a
 * leaf. HEED_ERR_NULL: no module or value. */
heed_status heed_set_parameter(void *module, const char *name, heed_tensor **field,
                               heed_tensor *value);

/* heed_zero_grad: clears all gradients, like torch's zero_grad(set_to_none=True). Errors
 * are those of heed_module_check. */
heed_status heed_zero_grad(void *module);

/* heed_train, heed_eval: set or clear the training flag of the module and all its descendants, like
 * torch's m.train() and m.eval(). Errors are those of heed_module_check. */
heed_status heed_train(void *module);
heed_status heed_eval(void *module);

HEED_END_DECLS
#endif
