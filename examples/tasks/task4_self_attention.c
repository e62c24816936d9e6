/* Task 4: the tutorial's class SelfAttention.    make task4, HINT=1, HINT=2
 *
 * class SelfAttention(nn.Module) of "Coding Self-Attention in PyTorch", as a module in C: it owns
 * three layers, and its forward computes, for each token, a mean of all tokens' values:
 *
 *     q = x W_q^T    k = x W_k^T    v = x W_v^T
 *     y = softmax(q k^T / sqrt(d)) v        d: the width of a key
 *
 * The class is told where tokens and features are: row_dim and col_dim are 0 and 1 for x (T, d),
 * 1 and 2 for (B, T, d), -2 and -1 for either. k is transposed in these dims, the softmax runs
 * along col_dim, and d is k's size in col_dim. So a module with dims 1 and 2 reports an error for
 * x (T, d): Heed's functions do that for a dim that x does not have.
 *
 * Functions: HEED_CHILD, heed_linear_new, heed_linear_forward, heed_matmul, heed_transpose,
 * heed_size, heed_div_scalar, heed_masked_fill, heed_softmax.
 *
 * Read first: lesson 3, "SelfAttention.forward, line by line"; examples/custom_module.c shows how a
 * module registers its layers; docs/questions.md, questions 1 to 8. */
#include "grade/task4.h"

struct self_attention {
    heed_module module;
    struct heed_linear *W_q, *W_k, *W_v; /* each (d_model, d_model), bias=False */
    int row_dim, col_dim;                /* of tokens, of features */
};
static const heed_module_kind self_attention_kind = {.name = "SelfAttention",
                                                     .size = sizeof(struct self_attention)};

/* __init__(self, d_model, row_dim, col_dim): the module's parameters are W_q.weight, W_k.weight and
 * W_v.weight, and no others. */
struct self_attention *self_attention_new(int64_t d_model, int row_dim, int col_dim)
{
    struct self_attention *self = heed_module_new(&self_attention_kind);
    self->row_dim = row_dim;
    self->col_dim = col_dim;
    /* your code */
    return self;
}

/* forward(self, token_encodings, mask): token_encodings (..., T, d_model) -> (..., T, d_model)
 *
 * mask: bool, broadcasts to the scores (..., T, T), true blocks; or NULL: nothing is blocked. A
 * query (row) gives a blocked key (column) the weight 0. (The tutorial hides with -1e9, which is
 * low enough for the scores of most models; task 3 says for which it is not.) */
heed_tensor *self_attention_forward(struct self_attention *self, heed_tensor *token_encodings,
                                    heed_tensor *mask)
{
    return NULL; /* your code */
}
