/* Task 2: scores of queries and keys.    make task2, HINT=1, HINT=2
 *
 * Attention compares each query with each key. The score of a pair is the sum of the products of
 * their d features: large if both point in the same direction. Of T queries and S keys:
 *
 *     scores = q k^T / sqrt(d)                   q (..., T, d), k (..., S, d) -> (..., T, S)
 *
 * Row i has the scores of query i with all keys. Softmax will make shares of each row (task 1). It
 * depends on how far the scores lie apart, so their size must not depend on d: that is what the
 * root is for. "..." is any number of dims in front, such as the batch and the heads.
 *
 * Functions: heed_matmul, heed_transpose, heed_div_scalar, heed_size; sqrt.
 *
 * Read first: lesson 1, "why sqrt(d_k)"; docs/questions.md, questions 2, 3 and 5. */
#include "grade/task2.h"

/* q (..., T, d) and k (..., S, d), f32 or f64, have the same dims in front; 2 to 4 dims in all.
 * Returns the scores (..., T, S), of the same dtype. Only numbers are graded, no gradients. */
heed_tensor *scores(heed_tensor *q, heed_tensor *k)
{
    return NULL; /* your code */
}
