/* Task 3, solved. A score of -inf is the only one whose weight is exactly 0: exp(-inf) is 0, and
 * softmax then divides by the sum over the other keys. A finite number can be undercut by scores,
 * and weights that are set to 0 after the softmax have already taken their share of the sum.
 *
 * Above the diagonal of a causal mask are the pairs whose key comes later than the query. A padding
 * mask depends on the sequence and on the key; its size 1 in the middle spreads it over all
 * queries. */
#include "grade/task3.h"

heed_tensor *causal_weights(heed_tensor *scores)
{
    const int64_t T = heed_size(scores, -1);
    heed_tensor *later = heed_triu(heed_ones(HEED_SHAPE(T, T), HEED_BOOL), 1);
    return heed_softmax(heed_masked_fill(scores, later, -(double)INFINITY), -1);
}

heed_tensor *padded_weights(heed_tensor *scores, heed_tensor *lengths)
{
    heed_tensor *keys = heed_arange(0, (double)heed_size(scores, -1), 1, HEED_I64); /* (S) */
    heed_tensor *padding = heed_ge(keys, heed_reshape(lengths, HEED_SHAPE(-1, 1, 1)));
    return heed_softmax(heed_masked_fill(scores, padding, -(double)INFINITY), -1);
}
