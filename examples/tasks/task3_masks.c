/* Task 3: masks.    make task3, HINT=1, HINT=2
 *
 * A query must not look at every key. A model that predicts the next token would find it in row i
 * if that row could see token i + 1. And sequences of a batch that are shorter than the longest one
 * are filled up with padding, which means nothing. The mask says which keys are hidden:
 *
 *     causal     query i sees keys 0 to i
 *     padding    all queries of sequence b see its keys 0 to lengths[b] - 1
 *
 * A hidden key gets the weight 0, and what the others get is softmax of their scores alone, so each
 * row still sums to 1: as if the hidden keys did not exist, also if all scores of a row are low.
 * The two functions are graded apart, so you can begin with either. Build the masks yourself.
 *
 * Functions: heed_ones, heed_triu, heed_arange, heed_ge, heed_reshape, heed_masked_fill,
 * heed_softmax, heed_size; INFINITY.
 *
 * Read first: lesson 4, [6], the softmax over zeros and -inf; docs/questions.md, questions 4 and 8
 * to 15; docs/attention.md. */
#include "grade/task3.h"

/* scores (..., T, T), f32 or f64, rows are queries. Returns the weights (..., T, T), of the same
 * dtype. Only numbers are graded, no gradients. */
heed_tensor *causal_weights(heed_tensor *scores)
{
    return NULL; /* your code */
}

/* scores (B, T, S), f32 or f64, and lengths (B), i64, each from 1 to S. Returns the weights
 * (B, T, S), of the same dtype. Queries beyond a length get weights as well, and are graded. */
heed_tensor *padded_weights(heed_tensor *scores, heed_tensor *lengths)
{
    return NULL; /* your code */
}
