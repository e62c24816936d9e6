/* Multi-head attention (Vaswani et al., 2017, section 3.2.2). */
#include "multi_head.h"

#include "../autograd/ops/slice.h"
#include "../tensor/alloc.h"
#include "arguments.h"

static heed_tensor *forward(void *module, heed_tensor *x)
{
    return heed_multi_head_forward(module, x, NULL);
}

static const heed_module_kind kind = {
    .name = "MultiHead", .size = sizeof(struct heed_multi_head), .forward = forward};

struct heed_multi_head *heed_multi_head_new(int64_t d_model, int heads, int row_dim, int col_dim)
{
    return heed_multi_head_new_with(d_model, heads, row_dim, col_dim, (heed_multi_head_options){0});
}

struct heed_multi_head *heed_multi_head_new_with(int64_t d_model, int heads, int row_dim,
                                                 int col_dim, heed_multi_head_options options)
{
    const int64_t head_dim = options.head_dim != 0 ? options.head_dim : d_model;
    int64_t width = 0;
    const heed_named_size sizes[] = {
        {"d_model", d_model}, {"heads", heads}, {"head_dim", head_dim}};
    if (heed_check_positive("multi_head", sizes, 3) != HEED_OK) {
        return NULL;
    }
    if (__builtin_mul_overflow(heads, head_dim, &width)) {
        heed_fail(HEED_ERR_OVERFLOW,
                  "multi_head: the total width of %d heads of width %lld overflows", heads,
                  (long long)head_dim);
        return NULL;
    }
    struct heed_multi_head *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    const heed_self_attention_options head = {.head_dim = head_dim};
    HEED_CHILD(m, heads, heed_module_list_new());
    for (int i = 0; i < heads && m->heads != NULL && !heed_error_pending(); i++) {
        heed_module_list_append(m->heads,
                                heed_self_attention_new_with(d_model, row_dim, col_dim, head));
    }
    HEED_CHILD(m, W_o,
               heed_linear_new_with(width, d_model, (heed_linear_options){.no_bias = true}));
    m->row_dim = row_dim;
    m->col_dim = col_dim;
    return heed_module_ready(m);
}

struct heed_self_attention *heed_multi_head_head(struct heed_multi_head *m, int head)
{
    return heed_module_check("multi_head_head", m) == HEED_OK ? heed_module_list_at(m->heads, head)
                                                              : NULL;
}

heed_tensor *heed_multi_head_forward(struct heed_multi_head *m, heed_tensor *token_encodings,
                                     heed_tensor *block_mask)
{
    HEED_FORWARD(m);
    static const char function[] = "multi_head_forward";
    const struct heed_self_attention *first =
        heed_forward_check(function, m) == HEED_OK ? heed_multi_head_head(m, 0) : NULL;
    if (first == NULL ||
        heed_check_encodings(function, "token_encodings", token_encodings, first->row_dim,
                             first->col_dim, "d_model", first->W_q->weight) != HEED_OK ||
        heed_check_block_mask(function, block_mask, token_encodings, token_encodings) != HEED_OK) {
        return NULL;
    }
    const int heads = heed_module_list_count(m->heads);
    const size_t size = (size_t)heads * sizeof(heed_tensor *);
    heed_tensor **outputs = heed_alloc(size);
    if (outputs == NULL) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    for (int i = 0; i < heads; i++) {
        outputs[i] = heed_self_attention_forward(heed_module_list_at(m->heads, i), token_encodings,
                                                 block_mask);
    }
    heed_tensor *y = heed_linear_forward(m->W_o, heed_cat(outputs, heads, m->col_dim));
    heed_free(outputs);
    return heed_scope_end_with(&scope, y);
}
