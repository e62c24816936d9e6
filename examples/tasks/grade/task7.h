/* What task 7 asks for. */
#ifndef TASK7_H
#define TASK7_H

#include "grade.h"

struct head {
    heed_tensor *x;               /* (B, T, d_model), always with a batch, all f64 */
    heed_tensor *W_q, *W_k, *W_v; /* (d_head, d_model) each */
    heed_tensor *block_mask;      /* (T, T) bool, true blocks; NULL: none */
    heed_tensor *q, *k, *v;       /* (B, T, d_head) */
    heed_tensor *weights;         /* (B, T, T), each row of which sums to 1 */
    heed_tensor *y;               /* (B, T, d_head) */
};

struct gradients {
    heed_tensor *W_q, *W_k, *W_v;
};

void head_forward(struct head *h);
struct gradients head_backward(const struct head *h, heed_tensor *dy);

#ifndef GRADER
#define heed_backward(...)        grade_forbidden("heed_backward")
#define heed_backward_retain(...) grade_forbidden("heed_backward_retain")
#define heed_grad(...)            grade_forbidden("heed_grad")
#endif
#endif
