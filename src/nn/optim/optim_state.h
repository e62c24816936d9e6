/* An optimiser as a list of named tensors (internal to nn).
 */
#ifndef HEED_NN_OPTIM_STATE_H
#define HEED_NN_OPTIM_STATE_H

#include "optim_parts.h"

/* A list, and the memory of its arrays. */
typedef struct heed_optimizer_names {
    heed_tensor_list list;
    int room;
    size_t text_size;
    heed_tensor **tensors;
    const char **names; /* in the block of the tensors */
    char *text;
} heed_optimizer_names;

/* heed_optimizer_list: as heed_optimizer_state_dict, with `prefix` before each name; NULL on error.
 * heed_optimizer_names_free: NULL is fine. */
heed_optimizer_names *heed_optimizer_list(heed_optimizer *optimizer, const char *prefix);
void heed_optimizer_names_free(heed_optimizer_names *names);

/* heed_optimizer_take: the optimiser becomes what values say of each tensor of its list, in the order
 * of the list and of its shapes; all that can be wrong is found before anything changes.
 * HEED_ERR_VALUE: numbers that no such optimiser has. */
heed_status heed_optimizer_take(const char *function, heed_optimizer *optimizer,
                                heed_tensor *const *values);

#endif
