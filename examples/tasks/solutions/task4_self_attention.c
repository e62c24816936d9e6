/* Task 4, solved. HEED_CHILD gives each layer to the module under its name, so that optimisers,
 * casts and files find W_q.weight; a layer that is only stored in the struct would work, and never
 * train. The forward is the tutorial's, line by line. The mask is applied to the scores, before the
 * softmax: exp(-inf) is 0, and the other weights of the row still sum to 1. */
#include "grade/task4.h"

struct self_attention {
    heed_module module;
    struct heed_linear *W_q, *W_k, *W_v; /* each (d_model, d_model), bias=False */
    int row_dim, col_dim;                /* of tokens, of features */
};
static const heed_module_kind self_attention_kind = {.name = "SelfAttention",
                                                     .size = sizeof(struct self_attention)};

struct self_attention *self_attention_new(int64_t d_model, int row_dim, int col_dim)
{
    struct self_attention *self = heed_module_new(&self_attention_kind);
    self->row_dim = row_dim;
    self->col_dim = col_dim;
    HEED_CHILD(self, W_q, heed_linear_new(d_model, d_model, .no_bias = true));
    HEED_CHILD(self, W_k, heed_linear_new(d_model, d_model, .no_bias = true));
    HEED_CHILD(self, W_v, heed_linear_new(d_model, d_model, .no_bias = true));
    return self;
}

heed_tensor *self_attention_forward(struct self_attention *self, heed_tensor *token_encodings,
                                    heed_tensor *mask)
{
    heed_tensor *q = heed_linear_forward(self->W_q, token_encodings);
    heed_tensor *k = heed_linear_forward(self->W_k, token_encodings);
    heed_tensor *v = heed_linear_forward(self->W_v, token_encodings);
    heed_tensor *sims = heed_matmul(q, heed_transpose(k, self->row_dim, self->col_dim));
    heed_tensor *scaled_sims = heed_div_scalar(sims, sqrt((double)heed_size(k, self->col_dim)));
    if (mask != NULL) {
        scaled_sims = heed_masked_fill(scaled_sims, mask, -(double)INFINITY);
    }
    return heed_matmul(heed_softmax(scaled_sims, self->col_dim), v);
}
