/* What task 10 gives: the layers that its five classes share. */
#ifndef TASK10_H
#define TASK10_H

#include "grade.h"

/* d: d_model. Everything in here is right. */
struct attention {
    heed_module module;
    struct heed_linear *W_q, *W_k, *W_v, *W_o; /* (d, d), without bias */
    int heads;                                 /* of multi_head */
};

/* All: x (B, T, d) -> (B, T, d). *weights: those of the softmax, (B, T, T), for the map. */
heed_tensor *one_head(struct attention *m, heed_tensor *x, heed_tensor **weights);
heed_tensor *next_word(struct attention *m, heed_tensor *x);
heed_tensor *multi_head(struct attention *m, heed_tensor *x);
heed_tensor *padded(struct attention *m, heed_tensor *x, heed_tensor *is_word,
                    heed_tensor **weights);
heed_tensor *previous_word(struct attention *m, heed_tensor *x, heed_tensor **weights);
#endif
