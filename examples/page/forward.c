/* The forward of the page's networks. */
#include "examples/page/forward.h"

#include <math.h>
#include <string.h>

/* ---- marks ---- */

static forward_mark marks[FORWARD_MOST_MARKS];
static int mark_count, current_head;

void forward_begin(void)
{
    mark_count = current_head = 0;
}

heed_tensor *forward_add_mark(const char *name, heed_tensor *result)
{
    if (result != NULL && mark_count < FORWARD_MOST_MARKS) {
        marks[mark_count++] = (forward_mark){name, current_head, result};
    }
    return result;
}

int forward_mark_count(void)
{
    return mark_count;
}

const forward_mark *forward_mark_at(int i)
{
    return &marks[i];
}

heed_tensor *forward_find_mark(const char *name, int head)
{
    for (int i = 0; i < mark_count; i++) {
        if (marks[i].head == head && strcmp(marks[i].name, name) == 0) {
            return marks[i].result;
        }
    }
    return NULL;
}

/* ---- networks ---- */

enum { WIDEST = 512 }; /* of attention alone */

void *network_module(const network *n)
{
    return n->model != NULL            ? (void *)n->model
           : n->self_attention != NULL ? (void *)n->self_attention
                                       : (void *)n->multi_head;
}

static struct heed_multi_head *multi_head(const network *n)
{
    return n->model != NULL ? n->model->multi_head : n->multi_head;
}

int network_head_count(const network *n)
{
    return multi_head(n) != NULL ? heed_module_list_count(multi_head(n)->heads) : 1;
}

struct heed_self_attention *network_head(const network *n, int head)
{
    return multi_head(n) != NULL ? heed_multi_head_head(multi_head(n), head)
           : n->model != NULL    ? n->model->self_attention
                                 : n->self_attention;
}

network network_of_attention(int64_t d_model, int64_t head_dim, int heads)
{
    network net = {.model = NULL};
    if (d_model < 1 || d_model > WIDEST || head_dim < 1 || head_dim > WIDEST || heads < 0 ||
        heads > MODEL_MOST_HEADS) {
        heed_fail(
            HEED_ERR_VALUE,
            "%d heads of width %lld on d_model %lld; the page shows 1 to %d heads, and widths "
            "up to %d",
            heads, (long long)head_dim, (long long)d_model, MODEL_MOST_HEADS, WIDEST);
    } else if (heads == 0) {
        net.self_attention = heed_self_attention_new_with(
            d_model, -2, -1, (heed_self_attention_options){.head_dim = head_dim});
    } else {
        net.multi_head = heed_multi_head_new_with(d_model, heads, -2, -1,
                                                  (heed_multi_head_options){.head_dim = head_dim});
    }
    return net;
}

network network_in_double(const network *n)
{
    const heed_generator before = heed_get_generator();
    if (heed_error_pending()) {
        return (network){.model = NULL};
    }
    const heed_tensor *W_q = network_head(n, 0)->W_q->weight; /* (head_dim, d_model) */
    network copy = {.model = NULL};
    if (n->model != NULL) {
        copy.model = model_new(n->model->sizes);
    } else {
        copy = network_of_attention(W_q->shape[1], W_q->shape[0],
                                    n->multi_head != NULL ? network_head_count(n) : 0);
        copy.concatenates = n->concatenates;
    }
    heed_set_generator(&before);
    if (heed_error_pending()) {
        network_free(&copy);
        return copy;
    }
    const heed_tensor_list from = heed_state_dict(network_module(n)),
                           to = heed_state_dict(network_module(&copy));
    for (int i = 0; i < from.count && !heed_error_pending(); i++) {
        heed_copy_into(to.tensors[i], from.tensors[i]);
    }
    heed_module_to(network_module(&copy), HEED_F64);
    if (heed_error_pending()) {
        network_free(&copy);
    }
    return copy;
}

void network_free(network *n)
{
    heed_module_free(network_module(n));
    *n = (network){.model = NULL};
}

/* ---- forward ---- */

/* SelfAttention.forward. Without breaks, the operations are those of heed_self_attention_forward.
 */
static heed_tensor *attend(struct heed_self_attention *self, heed_tensor *token_encodings,
                           heed_tensor *block_mask, unsigned breaks)
{
    if (self == NULL) { /* an error is pending */
        return NULL;
    }
    HEED_FORWARD(self);
    const int row_dim = -2, col_dim = -1;
    struct heed_linear *W_k = breaks & BREAK_SAME_KEYS ? self->W_q : self->W_k;
    heed_tensor *q = forward_add_mark("q", heed_linear_forward(self->W_q, token_encodings));
    heed_tensor *k = forward_add_mark("k", heed_linear_forward(W_k, token_encodings));
    heed_tensor *v = forward_add_mark("v", heed_linear_forward(self->W_v, token_encodings));

    heed_tensor *sims =
        forward_add_mark("sims", heed_matmul(q, heed_transpose(k, row_dim, col_dim)));
    heed_tensor *scaled_sims = sims;
    if (!(breaks & BREAK_NO_SCALE)) {
        scaled_sims = heed_div_scalar(sims, sqrt((double)heed_size(k, col_dim)));
    }
    forward_add_mark("scaled_sims", scaled_sims);
    if (block_mask != NULL && breaks & BREAK_MASK_INVERTED) {
        block_mask = heed_logical_not(block_mask);
    }
    if (block_mask != NULL && !(breaks & BREAK_MASK_AFTER)) {
        scaled_sims = heed_masked_fill(scaled_sims, block_mask, -HUGE_VAL);
        forward_add_mark("masked_sims", scaled_sims);
    }
    heed_tensor *attention_percents =
        heed_safe_softmax(scaled_sims, breaks & BREAK_WRONG_DIM ? row_dim : col_dim);
    if (block_mask != NULL && breaks & BREAK_MASK_AFTER) {
        forward_add_mark("unmasked_percents", attention_percents);
        attention_percents = heed_masked_fill(attention_percents, block_mask, 0);
    }
    forward_add_mark("attention_percents", attention_percents);
    return forward_add_mark("attention_scores", heed_matmul(attention_percents, v));
}

heed_tensor *forward_attention(const network *n, heed_tensor *token_encodings,
                               heed_tensor *block_mask, unsigned breaks)
{
    heed_tensor *outputs[MODEL_MOST_HEADS];
    struct heed_multi_head *m = multi_head(n);
    if (block_mask != NULL) {
        const int64_t count = heed_size(token_encodings, -2);
        block_mask = heed_slice(heed_slice(block_mask, 0, 0, count, 1), 1, 0, count, 1);
    }
    if (m == NULL) {
        return attend(network_head(n, 0), token_encodings, block_mask, breaks);
    }
    HEED_FORWARD(m);
    const int heads = network_head_count(n);
    for (current_head = 0; current_head < heads; current_head++) {
        outputs[current_head] =
            attend(network_head(n, current_head), token_encodings, block_mask, breaks);
    }
    current_head = 0;
    heed_tensor *all = forward_add_mark("all_heads", heed_cat(outputs, heads, -1));
    if (n->concatenates) {
        return all;
    }
    return forward_add_mark("projected", heed_linear_forward(m->W_o, all));
}

heed_tensor *forward_logits(const network *n, heed_tensor *tokens, heed_tensor *block_mask,
                            unsigned breaks)
{
    struct token_model *m = n->model;
    HEED_FORWARD(m);
    heed_tensor *embeddings = forward_add_mark("embeddings", heed_embedding_forward(m->we, tokens));
    heed_tensor *encodings = embeddings;
    if (!(breaks & BREAK_NO_POSITIONS)) {
        encodings = heed_position_encoding_forward(m->pe, embeddings);
    }
    forward_add_mark("token_encodings", encodings);
    heed_tensor *attended = forward_attention(n, encodings, block_mask, breaks);
    heed_tensor *residual = forward_add_mark("residual", heed_add(encodings, attended));
    return forward_add_mark("logits", heed_linear_forward(m->fc_layer, residual));
}
