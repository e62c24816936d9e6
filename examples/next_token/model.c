/* The next-token model: how it is made, and what one can ask it. */
#include "examples/next_token/model.h"

static const heed_module_kind kind = {.name = "NextToken", .size = sizeof(struct token_model)};

int64_t model_head_dim(int64_t d_model, int heads)
{
    return heads > 2 ? d_model / heads : d_model;
}

struct token_model *model_new(model_sizes sizes)
{
    struct token_model *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    const int64_t d_model = sizes.d_model;
    m->sizes = sizes;
    heed_add_child(m, "we", &m->we, heed_embedding_new(sizes.words, d_model));
    heed_add_child(m, "pe", &m->pe, heed_position_encoding_new(d_model, sizes.context));
    if (sizes.heads == 1) {
        heed_add_child(m, "self_attention", &m->self_attention,
                       heed_self_attention_new(d_model, -2, -1));
    } else {
        heed_multi_head_options head = {.head_dim = model_head_dim(d_model, sizes.heads)};
        heed_add_child(m, "multi_head", &m->multi_head,
                       heed_multi_head_new_with(d_model, sizes.heads, -2, -1, head));
    }
    heed_add_child(m, "fc_layer", &m->fc_layer, heed_linear_new(d_model, sizes.words));
    return heed_module_ready(m);
}

/* What the linear layer reads: tokens (B, T) -> (B, T, d_model). */
static heed_tensor *encode(struct token_model *m, heed_tensor *tokens)
{
    heed_tensor *embeddings = heed_embedding_forward(m->we, tokens);
    heed_tensor *encodings = heed_position_encoding_forward(m->pe, embeddings);
    heed_tensor *mask = heed_causal_block_mask(heed_size(tokens, -1)); /* (T, T) */
    heed_tensor *attended = m->multi_head != NULL
                                ? heed_multi_head_forward(m->multi_head, encodings, mask)
                                : heed_self_attention_forward(m->self_attention, encodings, mask);
    return heed_add(encodings, attended);
}

heed_tensor *model_forward(struct token_model *m, heed_tensor *tokens)
{
    return heed_linear_forward(m->fc_layer, encode(m, tokens));
}

heed_tensor *model_loss(struct token_model *m, heed_tensor *rows)
{
    heed_tensor *inputs = heed_slice(rows, 1, 0, -1, 1);
    heed_tensor *targets = heed_slice(rows, 1, 1, INT64_MAX, 1);
    heed_tensor *logits = model_forward(m, inputs);
    return heed_cross_entropy(heed_reshape(logits, HEED_SHAPE(-1, heed_size(logits, -1))),
                              heed_reshape(targets, HEED_SHAPE(-1)));
}

/* ---- looking at a model ---- */

heed_tensor *model_next(struct token_model *m, const int64_t *tokens, int64_t count)
{
    const int64_t seen = count < m->sizes.context ? count : m->sizes.context;
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_tensor *encodings = encode(m, heed_from_i64(tokens + count - seen, HEED_SHAPE(seen)));
    heed_tensor *last = heed_squeeze(heed_slice(encodings, 0, -1, INT64_MAX, 1), 0);
    return heed_scope_end_with(&scope, heed_linear_forward(m->fc_layer, last));
}

int model_head_count(const struct token_model *m)
{
    return m->multi_head != NULL ? heed_module_list_count(m->multi_head->heads) : 1;
}

struct heed_self_attention *model_head(struct token_model *m, int head)
{
    return m->multi_head != NULL ? heed_multi_head_head(m->multi_head, head) : m->self_attention;
}

void model_keep_weights(struct token_model *m, bool keep)
{
    for (int head = 0; head < model_head_count(m); head++) {
        model_head(m, head)->keep_weights = keep;
    }
}

heed_tensor *model_attention(struct token_model *m, const int64_t *tokens, int64_t count)
{
    heed_tensor *weights[MODEL_MOST_HEADS];
    const int heads = model_head_count(m);
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    model_keep_weights(m, true);
    encode(m, heed_from_i64(tokens, HEED_SHAPE(count)));
    model_keep_weights(m, false);
    for (int head = 0; head < heads; head++) {
        weights[head] = heed_unsqueeze(model_head(m, head)->attention_percent, 0);
    }
    return heed_scope_end_with(&scope, heed_cat(weights, heads, 0));
}

double model_step_bytes(model_sizes sizes, int64_t batch)
{
    const double tokens = (double)batch * (double)sizes.context;
    const double width = (double)model_head_dim(sizes.d_model, sizes.heads) * sizes.heads;
    const double of_token = 6 * (double)sizes.words + 6 * (double)sizes.d_model + 6 * width +
                            3 * (double)sizes.context * sizes.heads;
    const double parameters =
        2 * (double)sizes.words * (double)sizes.d_model + 4 * width * (double)sizes.d_model;
    return 4 * (tokens * of_token + 4 * parameters); /* with gradients and AdamW's two averages */
}
