/* An ordered set of tensors, for traversing graphs, in which a tensor can have several consumers.
 * To visit each tensor that y was computed from once, without recursion:
 *
 *     heed_tensor_set seen = {0};
 *     heed_tensor_set_add(&seen, y);
 *     for (int64_t i = 0; i < seen.count; i++) {
 *         for (int j = 0; j < seen.tensors[i]->input_count; j++) {
 *             heed_tensor_set_add(&seen, seen.tensors[i]->inputs[j]);
 *         }
 *     }
 *     heed_tensor_set_free(&seen);
 *
 * A set compares handles, not values, and does not keep its tensors alive (internal). */
#ifndef HEED_TOOLS_TENSOR_SET_H
#define HEED_TOOLS_TENSOR_SET_H

#include "../../tensor/tensor.h"

/* All zero when empty. */
typedef struct heed_tensor_set {
    heed_tensor **tensors; /* in the order in which they were added */
    int64_t count, capacity;
    int64_t *table; /* 2 * capacity slots: an index into `tensors` plus 1, or 0 */
} heed_tensor_set;

/* heed_tensor_set_add: adds t unless it is in the set, and returns its index; -1 if out of memory
 * (HEED_ERR_MEMORY). heed_tensor_set_find: its index, or -1. heed_tensor_set_free: frees the arrays
 * and leaves an empty set. */
int64_t heed_tensor_set_add(heed_tensor_set *set, heed_tensor *t);
int64_t heed_tensor_set_find(const heed_tensor_set *set, const heed_tensor *t);
void heed_tensor_set_free(heed_tensor_set *set);

#endif
