/* A recording keeps every result that operations of this thread return, so that any value of a
 * forward and a backward pass can be inspected later:
 *
 *     heed_recording *r = heed_recording_begin();
 *     heed_backward(loss(model, tokens));
 *     heed_recording_stop(r);
 *     const heed_recorded *q = heed_recording_find(r, "SelfAttention.W_q", "linear", 0);
 *     heed_print(q->result);
 *     heed_print(q->gradient); // dL/dq
 *     heed_recording_free(r);
 *
 * Without it, values that no derivative reads are freed when their scope ends, and gradients as
 * soon as the pass has used them. Modules return only their last result; a recording contains all
 * of them.
 *
 * An entry keeps its result, the operation's inputs and the gradient in memory until the recording
 * is freed, with or without grad mode; a training step needs several times the usual memory. Values
 * are not copied: a parameter that an optimiser updates later shows its new value.
 *
 * The operations of derivatives are recorded only under create_graph; without it, kernels often
 * replace them. Results are the same as without a recording, except for rounding in sums of
 * gradients. */
#ifndef HEED_TOOLS_RECORDING_H
#define HEED_TOOLS_RECORDING_H

#include "../../autograd/op.h"

HEED_BEGIN_DECLS

/* One applied operation. */
typedef struct heed_recorded {
    const heed_op *op;
    heed_tensor *result;
    heed_tensor *const *inputs; /* known under no_grad too, unlike result->inputs */
    int input_count;
    const char *arguments; /* "dim=-1" (args_text.h), or "" */
    const char *path;      /* heed_module_path at that time */
    bool in_backward;      /* applied by a derivative, under create_graph */
    heed_tensor *gradient; /* dL/dresult from the last pass that visited it; NULL if none did */
} heed_recorded;

typedef struct heed_recording heed_recording;

/* heed_recording_begin: begins a recording of this thread; NULL on error. heed_recording_stop: ends
 * it; its entries remain. heed_recording_free: ends it if necessary, and frees it; NULL is a no-op.
 * Only the thread that began it may stop or free it. Both work while an error is pending.
 * HEED_ERR_VALUE: the thread is already recording, or another thread calls stop. */
heed_recording *heed_recording_begin(void);
heed_status heed_recording_stop(heed_recording *r);
void heed_recording_free(heed_recording *r);

/* Entries are in the order in which operations were applied. They are owned by the recording.
 *
 * heed_recording_count: the number of entries; 0 for NULL. heed_recording_at: entry i;
 * HEED_ERR_INDEX: i is outside [0, count). heed_recording_find: the n-th entry (from 0) with this
 * module path and this operation, where NULL matches any; HEED_ERR_VALUE: there is none, and the
 * message lists some that there are. heed_recording_of: the entry whose result is t; NULL if there
 * is none. */
int64_t heed_recording_count(const heed_recording *r);
const heed_recorded *heed_recording_at(const heed_recording *r, int64_t i);
const heed_recorded *heed_recording_find(const heed_recording *r, const char *path,
                                         const char *operation, int64_t n);
const heed_recorded *heed_recording_of(const heed_recording *r, const heed_tensor *t);

HEED_END_DECLS
#endif
