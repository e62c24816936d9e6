/* What the files of the optimisers share (internal to nn).
 */
#ifndef HEED_NN_OPTIM_PARTS_H
#define HEED_NN_OPTIM_PARTS_H

#include "optim.h"

enum { HEED_OPTIMIZER_STATES = 2 };

/* A parameter and what the optimiser remembers of it: the momentum, or both moments. */
typedef struct heed_optimizer_slot {
    heed_tensor *parameter;
    char *name;                                /* as the list had it, else its number */
    heed_tensor *state[HEED_OPTIMIZER_STATES]; /* made at its first gradient */
    int64_t steps;                             /* with a gradient */
} heed_optimizer_slot;

/* heed_optimizer_check: the optimiser is there, and no error pending. */
heed_status heed_optimizer_check(const char *function, const heed_optimizer *optimizer);

/* heed_optimizer_state_count: how many tensors an optimiser remembers of each parameter of a group.
 * heed_optimizer_make_state: makes those of a parameter, if they are not there yet: zeros of its
 * shape, kept beyond all scopes. */
int heed_optimizer_state_count(const heed_optimizer *optimizer, const heed_param_group *group);
heed_status heed_optimizer_make_state(heed_optimizer_slot *slot, int count);

/* heed_param_group_check: can these options be? `name` is the optimiser's. */
heed_status heed_param_group_check(const char *name, const heed_param_group *group);

#endif
