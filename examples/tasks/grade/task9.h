/* What task 9 asks for, and the model that it gives. */
#ifndef TASK9_H
#define TASK9_H

#include "grade.h"

enum { LONGEST = 24 }; /* tokens of a sentence */

/* One head of attention that knows positions. d: d_model */
struct writer {
    heed_module module;
    struct heed_linear *W_q, *W_k, *W_v, *W_o; /* (d, d), without bias */
    heed_tensor *positions;                    /* (LONGEST, d); row p belongs to position p */
    heed_tensor *keys, *values;                /* yours: the cache; NULL at first */
};

/* x (B, n, d), n tokens of which the first is at `position` -> x + the rows of their positions */
heed_tensor *with_positions(struct writer *m, heed_tensor *x, int64_t position);

/* q (B, n, d), k and v (B, S, d) -> softmax(q k^T / sqrt(d)) v, (B, n, d)
 *
 * block_mask: bool, broadcasts to (B, n, S), true blocks; or NULL: nothing is blocked. */
heed_tensor *attend(heed_tensor *q, heed_tensor *k, heed_tensor *v, heed_tensor *block_mask);

/* Puts t into *place, so that it outlives the scope of this step, and releases what was there. t
 * may be computed from that. */
void keep(heed_tensor **place, heed_tensor *t);

heed_tensor *writer_forward(struct writer *m, heed_tensor *x);
heed_tensor *writer_step(struct writer *m, heed_tensor *x, int64_t position);
#endif
