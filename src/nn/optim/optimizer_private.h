/* What the files of optimisers share (internal). */
#ifndef HEED_NN_OPTIMIZER_PRIVATE_H
#define HEED_NN_OPTIMIZER_PRIVATE_H

#include "../tensor_list.h"

struct heed_optimizer;
struct heed_param_group;
struct heed_named_tensors;

/* heed_check_parameters: HEED_ERR_NULL if any tensor of the list is NULL (clip.c). */
heed_status heed_check_parameters(const char *function, heed_tensor_list parameters);

/* heed_check_group: checks the options of a group; `name` begins the message. HEED_ERR_VALUE.
 * heed_state_count: the number of state tensors of each parameter in the group: 0 to 2.
 * heed_make_state: creates the first `count` state tensors of parameter i, where missing, as zeros
 * of its shape. */
heed_status heed_check_group(const char *name, const struct heed_param_group *group);
int heed_state_count(const struct heed_optimizer *optimizer, const struct heed_param_group *group);
heed_status heed_make_state(const struct heed_optimizer *optimizer, int i, int count);

/* heed_optimizer_list: appends the state dict to a list, in the innermost scope.
 * heed_optimizer_take: loads the values of such a list, in the same order and shapes; on error
 * nothing changes. HEED_ERR_VALUE: a number is invalid for this optimiser. */
heed_status heed_optimizer_list(const struct heed_optimizer *optimizer,
                                struct heed_named_tensors *named);
heed_status heed_optimizer_take(const char *function, struct heed_optimizer *optimizer,
                                heed_tensor *const *values);

#endif
