/* Task 10, solved. Each fault is a line: 1. the softmax ran along dim 1 of (B, queries, keys), so
 * columns summed to 1; 2. a triangle from diagonal 2 on leaves the next token free to see; 3. heads
 * were merged without transposing (B, heads, T, d_head) back, so rows got features of other tokens;
 * 4. is_word is true where attention is allowed, and heed_masked_fill fills where its mask is true;
 * 5. detach cut the graph for the whole class, not only for the map, so W_q and W_k never learned.
 */
#include "grade/task10.h"

heed_tensor *one_head(struct attention *m, heed_tensor *x, heed_tensor **weights)
{
    heed_tensor *q = heed_linear_forward(m->W_q, x);
    heed_tensor *k = heed_linear_forward(m->W_k, x);
    heed_tensor *v = heed_linear_forward(m->W_v, x);
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, 1, 2));
    scores = heed_div_scalar(scores, sqrt((double)heed_size(k, 2)));
    *weights = heed_softmax(scores, 2);
    return heed_linear_forward(m->W_o, heed_matmul(*weights, v));
}

heed_tensor *next_word(struct attention *m, heed_tensor *x)
{
    heed_tensor *q = heed_linear_forward(m->W_q, x);
    heed_tensor *k = heed_linear_forward(m->W_k, x);
    heed_tensor *v = heed_linear_forward(m->W_v, x);
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, 1, 2));
    scores = heed_div_scalar(scores, sqrt((double)heed_size(k, 2)));
    heed_tensor *ones = heed_ones(HEED_SHAPE(heed_size(x, 1), heed_size(x, 1)), HEED_BOOL);
    scores = heed_masked_fill(scores, heed_triu(ones, 1), -(double)INFINITY); /* true blocks */
    return heed_linear_forward(m->W_o, heed_matmul(heed_softmax(scores, 2), v));
}

/* (B, T, d) -> (B, heads, T, d_head) */
static heed_tensor *split(struct attention *m, heed_tensor *x)
{
    return heed_transpose(heed_unflatten(x, 2, HEED_SHAPE(m->heads, -1)), 1, 2);
}

heed_tensor *multi_head(struct attention *m, heed_tensor *x)
{
    heed_tensor *q = split(m, heed_linear_forward(m->W_q, x));
    heed_tensor *k = split(m, heed_linear_forward(m->W_k, x));
    heed_tensor *v = split(m, heed_linear_forward(m->W_v, x));
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, 2, 3));
    scores = heed_div_scalar(scores, sqrt((double)heed_size(k, 3)));
    heed_tensor *future = heed_causal_block_mask(heed_size(x, 1));
    scores = heed_masked_fill(scores, future, -(double)INFINITY);
    heed_tensor *y = heed_matmul(heed_softmax(scores, 3), v);
    y = heed_reshape(heed_transpose(y, 1, 2), heed_shape_of_tensor(x));
    return heed_linear_forward(m->W_o, y);
}

heed_tensor *padded(struct attention *m, heed_tensor *x, heed_tensor *is_word,
                    heed_tensor **weights)
{
    heed_tensor *q = heed_linear_forward(m->W_q, x);
    heed_tensor *k = heed_linear_forward(m->W_k, x);
    heed_tensor *v = heed_linear_forward(m->W_v, x);
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, 1, 2));
    scores = heed_div_scalar(scores, sqrt((double)heed_size(k, 2)));
    heed_tensor *mask = heed_logical_not(heed_unsqueeze(is_word, 1)); /* (B, 1, T) */
    *weights = heed_softmax(heed_masked_fill(scores, mask, -(double)INFINITY), 2);
    return heed_linear_forward(m->W_o, heed_matmul(*weights, v));
}

heed_tensor *previous_word(struct attention *m, heed_tensor *x, heed_tensor **weights)
{
    heed_tensor *q = heed_linear_forward(m->W_q, x);
    heed_tensor *k = heed_linear_forward(m->W_k, x);
    heed_tensor *v = heed_linear_forward(m->W_v, x);
    heed_tensor *scores = heed_matmul(q, heed_transpose(k, 1, 2));
    scores = heed_div_scalar(scores, sqrt((double)heed_size(k, 2)));
    heed_tensor *future = heed_causal_block_mask(heed_size(x, 1));
    scores = heed_masked_fill(scores, future, -(double)INFINITY);
    *weights = heed_softmax(scores, 2);
    return heed_linear_forward(m->W_o, heed_matmul(*weights, v));
}
