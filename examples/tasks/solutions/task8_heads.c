/* Task 8, solved. A reshape keeps the order of the numbers. The features of a token lie side by
 * side, so cutting the last dim in two cuts each token's features into heads; only then are heads
 * and tokens exchanged. A reshape to (B, heads, T, width) at once would cut the sequence of tokens
 * in place of the features. Merging undoes both steps in the opposite order.
 *
 * With the heads as a dim in front, products and softmax run for all heads at once. The scale is
 * that of one head, and W_o comes last, because only there do the heads meet. */
#include "grade/task8.h"

heed_tensor *split_heads(heed_tensor *x, int heads)
{
    return heed_transpose(heed_unflatten(x, -1, HEED_SHAPE(heads, -1)), 1, 2);
}

heed_tensor *merge_heads(heed_tensor *y)
{
    return heed_flatten(heed_transpose(y, 1, 2), 2, 3);
}

heed_tensor *forward(struct multi_head *m, heed_tensor *x)
{
    heed_tensor *q = split_heads(heed_linear_forward(m->W_q, x), m->heads);
    heed_tensor *k = split_heads(heed_linear_forward(m->W_k, x), m->heads);
    heed_tensor *v = split_heads(heed_linear_forward(m->W_v, x), m->heads);
    const double width = (double)heed_size(q, -1);
    heed_tensor *scores = heed_div_scalar(heed_matmul(q, heed_transpose(k, 2, 3)), sqrt(width));
    heed_tensor *y = heed_matmul(heed_softmax(scores, -1), v);
    return heed_linear_forward(m->W_o, merge_heads(y));
}
