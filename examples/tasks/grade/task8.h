/* What task 8 asks for. */
#ifndef TASK8_H
#define TASK8_H

#include "grade.h"

struct multi_head {
    heed_module module;
    struct heed_linear *W_q, *W_k, *W_v, *W_o; /* C to C features, no bias */
    int heads;                                 /* C is a multiple of it */
};

heed_tensor *split_heads(heed_tensor *x, int heads);
heed_tensor *merge_heads(heed_tensor *y);
heed_tensor *forward(struct multi_head *m, heed_tensor *x);

#ifndef GRADER
#undef heed_scaled_dot_product_attention
#define heed_scaled_dot_product_attention(...) grade_forbidden("heed_scaled_dot_product_attention")
#define heed_multi_head_forward(...)           grade_forbidden("heed_multi_head_forward")
#undef heed_multihead_attention_forward
#define heed_multihead_attention_forward(...) grade_forbidden("heed_multihead_attention_forward")
#endif
#endif
