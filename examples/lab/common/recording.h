/* Every result that operations of this thread return between recording_begin and recording_stop,
 * with its inputs, its module and, after a backward pass, its gradient. */
#ifndef HEED_COMMON_RECORDING_H
#define HEED_COMMON_RECORDING_H

#include "heed.h"

typedef struct recorded {
    const heed_op *op;
    heed_tensor *result, **inputs, *gradient; /* retained; gradient: NULL if no pass visited it */
    int input_count;
    bool in_backward;          /* applied by a derivative, under create_graph */
    heed_text path, arguments; /* heed_module_path, heed_args_text */
} recorded;

typedef struct recording {
    heed_hook hook;
    recorded *entries; /* in the order in which operations were applied */
    int64_t count, capacity;
} recording;

/* recording_begin: NULL on error. recording_stop: the entries remain; NULL is a no-op.
 * recording_free: stops it too; NULL is a no-op. */
recording *recording_begin(void);
void recording_stop(recording *r);
void recording_free(recording *r);

/* recording_find: the n-th entry (from 0) of this module and operation; NULL matches any.
 * HEED_ERR_VALUE: there is none. recording_of: the entry whose result is t, or NULL. */
const recorded *recording_find(const recording *r, const char *path, const char *operation, int n);
recorded *recording_of(const recording *r, const heed_tensor *t);

#endif
