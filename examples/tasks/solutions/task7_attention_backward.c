/* Task 7, solved. Each line of the forward has its counterpart, in reverse order. The mask needs no
 * line: a blocked weight is 0, and the derivative of softmax multiplies by it. Neither does the
 * batch, until the last step: heed_matmul multiplies sequence by sequence, and the sum over the
 * sequences is taken where all of them meet, in the gradient of a weight. dq = dscores k sums over
 * the keys of a query, dk = dscores^T q over the queries of a key. */
#include "grade/task7.h"

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

/* Of W in x W^T: the sum over the batch of dy^T x. */
static heed_tensor *of_weight(heed_tensor *dy, heed_tensor *x)
{
    return heed_sum_dim(heed_matmul(heed_transpose(dy, 1, 2), x), 0, false);
}

struct gradients head_backward(const struct head *h, heed_tensor *dy)
{
    heed_tensor *dv = heed_matmul(heed_transpose(h->weights, 1, 2), dy);
    heed_tensor *dweights = heed_matmul(dy, heed_transpose(h->v, 1, 2));
    heed_tensor *mean = heed_sum_dim(heed_mul(h->weights, dweights), 2, true);
    heed_tensor *dscores = heed_mul(h->weights, heed_sub(dweights, mean));
    dscores = heed_div_scalar(dscores, sqrt((double)heed_size(h->q, 2)));
    heed_tensor *dq = heed_matmul(dscores, h->k);
    heed_tensor *dk = heed_matmul(heed_transpose(dscores, 1, 2), h->q);
    return (struct gradients){of_weight(dq, h->x), of_weight(dk, h->x), of_weight(dv, h->x)};
}
