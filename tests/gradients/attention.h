/* Helpers for gradients/attention.def and parity/attention.def. */
#ifndef HEED_TESTS_GRADIENTS_ATTENTION_H
#define HEED_TESTS_GRADIENTS_ATTENTION_H

#include <math.h>

#include "heed.h"

/* (rows, columns), partly true; row 1 is all false. */
static inline heed_tensor *keep_some(int64_t rows, int64_t columns)
{
    heed_tensor *mask = heed_zeros(HEED_SHAPE(rows, columns), HEED_BOOL);
    bool *keep = heed_data_bool(mask);
    for (int64_t i = 0; keep != NULL && i < rows * columns; i++) {
        keep[i] = i / columns != 1 && (i / columns + i % columns) % 3 != 0;
    }
    return mask;
}

/* Float mask (3, n) whose row 1 is all -inf. */
static inline heed_tensor *with_closed_row(heed_tensor *bias)
{
    const bool row[] = {false, true, false};
    return heed_masked_fill(bias, heed_from_bool(row, HEED_SHAPE(3, 1)), -HUGE_VAL);
}

/* Result and weights, concatenated. */
static inline heed_tensor *with_weights(heed_tensor *q, heed_tensor *k, heed_tensor *v,
                                        heed_tensor *mask, double dropout_p)
{
    heed_tensor *weights, *y = heed_scaled_dot_product_attention_weights(q, k, v, mask, dropout_p,
                                                                         false, 0, &weights);
    return heed_cat((heed_tensor *[]){y, weights}, 2, -1);
}

static inline heed_tensor *weights_alone(heed_tensor *q, heed_tensor *k, heed_tensor *mask)
{
    heed_tensor *weights;
    heed_scaled_dot_product_attention_weights(q, k, k, mask, 0, false, 0, &weights);
    return weights;
}

#endif
