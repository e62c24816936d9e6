/* Task 3: masks.                                                 make task3 HINT=1, HINT=2: hints
 *
 * A query must not look at every key. A model that predicts the next token would find it in row i
 * if that row could see token i + 1. And sequences of a batch that are shorter than the longest one
 * are filled up with padding, which means nothing. The mask says which keys are hidden:
 *
 *     causal     query i sees keys 0 to i
 *     padding    all queries of sequence b see its keys 0 to lengths[b] - 1
 *
 * A hidden key gets the weight 0, and what the others get is softmax of their scores alone, so each
 * row still sums to 1: as if the hidden keys did not exist, whatever their scores are.
 *
 * Read first: lesson 4, [6], the softmax over zeros and -inf; docs/questions.md, questions 4 and 8
 * to 15; docs/masks.md. Build the masks yourself, for example with heed_triu or heed_tril of
 * heed_ones, or with heed_arange and a comparison such as heed_lt. heed_softmax is yours to use. */
#include "grade/task3.h"

/* scores (..., T, T), f32 or f64, rows are queries. Returns the weights (..., T, T). */
heed_tensor *causal_weights(heed_tensor *scores)
{
    return NULL; /* your code */
}

/* scores (B, T, S), f32 or f64, and lengths (B), i64, each from 1 to S. Returns the weights
 * (B, T, S). Queries beyond a length get weights as well, which nobody reads. */
heed_tensor *padded_weights(heed_tensor *scores, heed_tensor *lengths)
{
    return NULL; /* your code */
}
