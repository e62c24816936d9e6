/* What task 5 asks for, and the model that it trains. */
#ifndef TASK5_H
#define TASK5_H

#include "grade.h"

/* One head of causal attention, all f64:
 *
 *     x = embedding[tokens] + positions
 *     y = softmax(q k^T / sqrt(d)) v, where q, k, v = x W_q^T, x W_k^T, x W_v^T
 *     logits = (x + y) output^T */
enum { WORDS = 12, LONGEST = 6, WIDTH = 16 };
/* embedding (WORDS, WIDTH), positions (LONGEST, WIDTH), W_q, W_k and W_v (WIDTH, WIDTH), output
 * (WORDS, WIDTH) */
enum { EMBEDDING, POSITIONS, W_Q, W_K, W_V, OUTPUT, WEIGHTS };
struct model {
    heed_tensor *weights[WEIGHTS]; /* they require gradients */
};

/* tokens (B, T) i64, T at most LONGEST -> logits (B, T, WORDS). */
heed_tensor *model_logits(const struct model *m, heed_tensor *tokens);

heed_tensor *cross_entropy(heed_tensor *logits, heed_tensor *targets);
double training_step(struct model *m, heed_tensor *text, double lr);

#ifndef GRADER
#undef heed_cross_entropy
#define heed_cross_entropy(...)  grade_forbidden("heed_cross_entropy")
#define heed_log_softmax(...)    grade_forbidden("heed_log_softmax")
#define heed_optimizer_step(...) grade_forbidden("heed_optimizer_step")
#endif
#endif
