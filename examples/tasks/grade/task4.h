/* What task 4 asks for. */
#ifndef TASK4_H
#define TASK4_H

#include "grade.h"

struct self_attention; /* begins with a heed_module */

struct self_attention *self_attention_new(int64_t d_model, int row_dim, int col_dim);
heed_tensor *self_attention_forward(struct self_attention *self, heed_tensor *token_encodings,
                                    heed_tensor *mask);

#ifndef GRADER
#define FORBIDDEN(name) ((void *)grade_forbidden(name))
#undef heed_self_attention_new
#define heed_self_attention_new(...)      FORBIDDEN("heed_self_attention_new")
#define heed_self_attention_forward(...)  grade_forbidden("heed_self_attention_forward")
#define heed_cross_attention_forward(...) grade_forbidden("heed_cross_attention_forward")
#undef heed_multi_head_new
#define heed_multi_head_new(...) FORBIDDEN("heed_multi_head_new")
#undef heed_multihead_attention_new
#define heed_multihead_attention_new(...) FORBIDDEN("heed_multihead_attention_new")
#undef heed_scaled_dot_product_attention
#define heed_scaled_dot_product_attention(...) grade_forbidden("heed_scaled_dot_product_attention")
#endif
#endif
