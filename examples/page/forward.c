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
    return n->model != NULL ? (void *)n->model : (void *)n->self_attention;
}

static struct heed_multi_head *multi_head(const network *n)
{
    return n->model != NULL ? n->model->multi_head : NULL;
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

network network_of_attention(int64_t d_model)
{
    if (d_model < 1 || d_model > WIDEST) {
        heed_fail(HEED_ERR_VALUE, "d_model %lld; the page shows widths up to %d",
                  (long long)d_model, WIDEST);
        return (network){.model = NULL};
    }
    return (network){.self_attention = heed_self_attention_new(d_model, -2, -1)};
}

network network_in_double(const network *n)
{
    const heed_generator before = heed_get_generator();
    if (heed_error_pending()) {
        return (network){.model = NULL};
    }
    network copy = {.model = NULL};
    if (n->model != NULL) {
        copy.model = model_new(n->model->sizes);
    } else {
        copy = network_of_attention(n->self_attention->W_q->weight->shape[1]);
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

/* Heads cut from one matrix, x (..., T, C) -> (..., heads, T, C / heads), and joined again, by
 * reshape alone: the shape is right, but as the transpose is missing each number is in another
 * place. */
static heed_tensor *split_by_view(heed_tensor *x, int heads)
{
    const int64_t T = heed_size(x, -2);
    return heed_unflatten(heed_flatten(x, -2, -1), -1, HEED_SHAPE(heads, T, -1));
}

static heed_tensor *merge_by_view(heed_tensor *y)
{
    const int64_t T = heed_size(y, -2);
    return heed_unflatten(heed_flatten(y, -3, -1), -1, HEED_SHAPE(T, -1));
}

/* The queries, keys and values of a head (..., T, head_dim). */
typedef struct projected {
    heed_tensor *q, *k, *v;
} projected;

static projected project(struct heed_self_attention *self, heed_tensor *token_encodings,
                         unsigned breaks)
{
    if (self == NULL) { /* an error is pending */
        return (projected){NULL, NULL, NULL};
    }
    HEED_FORWARD(self);
    struct heed_linear *W_k = breaks & BREAK_SAME_KEYS ? self->W_q : self->W_k;
    heed_tensor *q = heed_linear_forward(self->W_q, token_encodings);
    heed_tensor *k = heed_linear_forward(W_k, token_encodings);
    return (projected){q, k, heed_linear_forward(self->W_v, token_encodings)};
}

/* The rest of SelfAttention.forward. Without breaks, the operations are those of
 * heed_self_attention_forward. `width`: scores are divided by its root. */
static heed_tensor *attend(struct heed_self_attention *self, projected p, int64_t width,
                           heed_tensor *block_mask, unsigned breaks)
{
    if (self == NULL) {
        return NULL;
    }
    HEED_FORWARD(self);
    const int row_dim = -2, col_dim = -1;
    heed_tensor *q = forward_add_mark("q", p.q), *k = forward_add_mark("k", p.k);
    heed_tensor *v = forward_add_mark("v", p.v);

    heed_tensor *sims =
        forward_add_mark("sims", heed_matmul(q, heed_transpose(k, row_dim, col_dim)));
    heed_tensor *scaled_sims = sims;
    if (!(breaks & BREAK_NO_SCALE)) {
        scaled_sims = heed_div_scalar(sims, sqrt((double)width));
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

/* The queries, keys and values of all heads, side by side, cut into heads by reshape alone. */
static void project_and_split(const network *n, heed_tensor *token_encodings, unsigned breaks,
                              projected *of_heads)
{
    heed_tensor *q[MODEL_MOST_HEADS], *k[MODEL_MOST_HEADS], *v[MODEL_MOST_HEADS];
    const int heads = network_head_count(n);
    for (int i = 0; i < heads; i++) {
        const projected p = project(network_head(n, i), token_encodings, breaks);
        q[i] = p.q;
        k[i] = p.k;
        v[i] = p.v;
    }
    heed_tensor *all_q = split_by_view(heed_cat(q, heads, -1), heads),
                *all_k = split_by_view(heed_cat(k, heads, -1), heads),
                *all_v = split_by_view(heed_cat(v, heads, -1), heads);
    for (int i = 0; i < heads; i++) {
        of_heads[i] = (projected){heed_select(all_q, -3, i), heed_select(all_k, -3, i),
                                  heed_select(all_v, -3, i)};
    }
}

heed_tensor *forward_attention(const network *n, heed_tensor *token_encodings,
                               heed_tensor *block_mask, unsigned breaks)
{
    projected of_heads[MODEL_MOST_HEADS];
    heed_tensor *outputs[MODEL_MOST_HEADS];
    struct heed_multi_head *m = multi_head(n);
    if (block_mask != NULL) {
        const int64_t count = heed_size(token_encodings, -2);
        block_mask = heed_slice(heed_slice(block_mask, 0, 0, count, 1), 1, 0, count, 1);
    }
    if (m == NULL) {
        struct heed_self_attention *self = network_head(n, 0);
        const projected p = project(self, token_encodings, breaks);
        return attend(self, p, heed_size(p.k, -1), block_mask, breaks);
    }
    HEED_FORWARD(m);
    const int heads = network_head_count(n);
    const bool by_view = breaks & BREAK_SPLIT_VIEW;
    if (by_view) {
        project_and_split(n, token_encodings, breaks, of_heads);
    }
    for (current_head = 0; current_head < heads; current_head++) {
        struct heed_self_attention *self = network_head(n, current_head);
        const projected p =
            by_view ? of_heads[current_head] : project(self, token_encodings, breaks);
        const int64_t width = heed_size(breaks & BREAK_SCALE_D_MODEL ? token_encodings : p.k, -1);
        outputs[current_head] = attend(self, p, width, block_mask, breaks);
    }
    current_head = 0;
    heed_tensor *all = breaks & BREAK_MERGE_VIEW ? merge_by_view(heed_stack(outputs, heads, -3))
                                                 : heed_cat(outputs, heads, -1);
    forward_add_mark("all_heads", all);
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
        forward_add_mark("positions", heed_narrow(m->pe->pe, 0, 0, heed_size(embeddings, -2)));
    }
    forward_add_mark("token_encodings", encodings);
    heed_tensor *attended = forward_attention(n, encodings, block_mask, breaks);
    heed_tensor *residual = forward_add_mark("residual", heed_add(encodings, attended));
    return forward_add_mark("logits", heed_linear_forward(m->fc_layer, residual));
}
