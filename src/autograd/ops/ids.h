/* Ids, indices and classes, as operations take them (internal). */
#ifndef HEED_AUTOGRAD_IDS_H
#define HEED_AUTOGRAD_IDS_H

#include "../../tensor/tensor.h"

/* heed_check_id: is the id, at that place of its tensor, inside [0, count)? */
heed_status heed_check_id(const char *function, const char *what, int64_t id, int64_t place,
                          int64_t count);

/* heed_checked_ids: the ids of an i64 tensor, row by row, all inside [0, count): nothing is read or
 * written by an id that has not been here. `what` one of them is called, in errors. NULL on error;
 * what it has to copy joins the scope. */
const int64_t *heed_checked_ids(const char *function, const char *what, heed_tensor *ids,
                                int64_t count);

#endif
