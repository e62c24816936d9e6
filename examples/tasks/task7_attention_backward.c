/* Task 7: attention, backward.    make task7, HINT=1, HINT=2
 *
 * One head of attention, as in task 3, computes for each sequence of T tokens
 *
 *     q = x W_q^T    k = x W_k^T    v = x W_v^T         scores = q k^T / sqrt(d_head)
 *     weights = softmax(scores), with -inf where the mask blocks         y = weights v
 *
 * A loss L has been computed from y, and dy = dL/dy is known. Go back through these lines, from the
 * last to the first, and find dL/dW_q, dL/dW_k and dL/dW_v: the gradients that heed_backward would
 * compute. Of a matrix product c = a b, from dc: da = dc b^T and db = a^T dc. Of softmax: task 6.
 * All sequences use the same W_q, so its gradient is a sum over the batch.
 *
 * Functions: heed_matmul, heed_transpose, heed_mul, heed_sub, heed_sum_dim, heed_div_scalar,
 * heed_size. All tensors are f64.
 *
 * Read first: lesson 6, differentiate(); lesson 5 has the same for weights of another layout */
#include "grade/task7.h"

/* Given: the forward. Sets q, k, v, weights and y, given x, W_q, W_k, W_v and block_mask. */
void head_forward(struct head *h)
{
    h->q = heed_linear(h->x, h->W_q, NULL);
    h->k = heed_linear(h->x, h->W_k, NULL);
    h->v = heed_linear(h->x, h->W_v, NULL);
    heed_tensor *scores = heed_matmul(h->q, heed_transpose(h->k, -2, -1));
    scores = heed_div_scalar(scores, sqrt((double)heed_size(h->q, -1)));
    if (h->block_mask != NULL) {
        scores = heed_masked_fill(scores, h->block_mask, -INFINITY);
    }
    h->weights = heed_softmax(scores, -1);
    h->y = heed_matmul(h->weights, h->v);
}

/* dy (B, T, d_head) -> the gradients of the three weights, each of its weight's shape
 * (d_head, d_model). head_forward has computed h, whose fields are documented in grade/task7.h. */
struct gradients head_backward(const struct head *h, heed_tensor *dy)
{
    struct gradients d = {NULL, NULL, NULL}; /* d.W_q, d.W_k, d.W_v */
    /* your code */
    return d;
}
