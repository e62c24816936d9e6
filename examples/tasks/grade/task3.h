/* What task 3 asks for. */
#ifndef TASK3_H
#define TASK3_H

#include "grade.h"

heed_tensor *causal_weights(heed_tensor *scores);
heed_tensor *padded_weights(heed_tensor *scores, heed_tensor *lengths);

#ifndef GRADER
#define heed_causal_block_mask(...)  grade_forbidden("heed_causal_block_mask")
#define heed_padding_block_mask(...) grade_forbidden("heed_padding_block_mask")
#undef heed_scaled_dot_product_attention
#define heed_scaled_dot_product_attention(...) grade_forbidden("heed_scaled_dot_product_attention")
#endif
#endif
