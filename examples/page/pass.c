/* One forward and backward pass of a network, whose results and gradients the page shows. */
#include "examples/page/parts.h"

enum { MOST_LEAVES = 8 * MODEL_MOST_HEADS, MOST_GRADIENTS = MOST_LEAVES + FORWARD_MOST_MARKS };
enum { FEWEST_TOKENS = 2, MOST_TOKENS = 64 }; /* MOST_TOKENS: without a model */

/* What a pass computes. For a network with a model, tokens: their loss is the mean cross-entropy of
 * each next token. For attention alone, encodings (T, d_model): the loss is the sum of the squares
 * of the result. */
typedef struct pass_input {
    const int64_t *tokens;
    const float *encodings;
    int64_t count;           /* tokens, or rows of the encodings */
    heed_tensor *block_mask; /* NULL: none */
    unsigned breaks;
} pass_input;

/* ---- the pass ---- */

typedef struct leaves {
    heed_tensor *tensors[MOST_LEAVES];
    const char *names[MOST_LEAVES];
    int count;
} leaves;

/* The parameters, and the encodings if they are the input. */
static leaves leaves_of(const network *n, heed_tensor *encodings)
{
    leaves all = {.count = 0};
    const heed_tensor_list parameters = heed_parameters(network_module(n));
    for (; all.count < parameters.count; all.count++) {
        all.tensors[all.count] = parameters.tensors[all.count];
        all.names[all.count] = parameters.names[all.count];
    }
    if (encodings != NULL) {
        all.tensors[all.count] = encodings;
        all.names[all.count++] = "token_encodings";
    }
    return all;
}

static heed_tensor *encodings_of(const network *n, const pass_input *input, heed_dtype dtype)
{
    if (input->encodings == NULL) {
        return NULL;
    }
    const int64_t d_model = network_head(n, 0)->W_q->weight->shape[1];
    heed_tensor *x =
        heed_to(heed_from_f32(input->encodings, HEED_SHAPE(input->count, d_model)), dtype);
    heed_set_requires_grad(x, true);
    return x;
}

/* `encodings`: of the input, or NULL. Marks the results. */
static heed_tensor *loss_of(const network *n, const pass_input *input, heed_tensor *encodings)
{
    forward_begin();
    if (input->encodings != NULL) {
        heed_tensor *out = forward_attention(n, encodings, input->block_mask, input->breaks);
        return forward_add_mark("loss", heed_sum(heed_square(out)));
    }
    if (input->count < FEWEST_TOKENS) {
        heed_fail(HEED_ERR_SHAPE, "the sentence has %lld words; it needs at least %d",
                  (long long)input->count, FEWEST_TOKENS);
        return NULL;
    }
    const int64_t context = n->model->sizes.context;
    const int64_t seen = input->count < context ? input->count : context;
    heed_tensor *tokens = heed_from_i64(input->tokens, HEED_SHAPE(input->count));
    heed_tensor *logits =
        forward_logits(n, heed_slice(tokens, 0, 0, seen, 1), input->block_mask, input->breaks);
    heed_tensor *targets = heed_slice(tokens, 0, 1, seen + 1, 1);
    heed_tensor *predicted = heed_slice(logits, 0, 0, heed_size(targets, 0), 1);
    return forward_add_mark("loss", heed_cross_entropy(predicted, targets));
}

/* ---- values that stay until the next pass ---- */

static struct kept {
    heed_tensor
        *tensors[2 * MOST_GRADIENTS]; /* retained; a tensor's index is its number in the JSON */
    int count;
} kept;

static void free_kept(void)
{
    while (kept.count > 0) {
        heed_release(kept.tensors[--kept.count]);
    }
}

/* The number of t, which is kept from now on; -1 for NULL or on error. */
static int number_of(heed_tensor *t)
{
    for (int i = 0; i < kept.count; i++) {
        if (kept.tensors[i] == t) {
            return i;
        }
    }
    if (t == NULL || heed_error_pending()) {
        return -1;
    }
    kept.tensors[kept.count] = heed_retain(t);
    return kept.count++;
}

static void write_tensors(FILE *json)
{
    fprintf(json, "],\n\"tensors\":[");
    for (int i = 0; i < kept.count; i++) {
        const heed_tensor *t = kept.tensors[i];
        fprintf(json, "%s\n{\"dtype\":\"%s\",\"shape\":", i > 0 ? "," : "",
                heed_dtype_name(t->dtype));
        write_list(json, t->shape, t->ndim);
        fprintf(json, ",\"strides\":");
        write_list(json, t->strides, t->ndim);
        fprintf(json, ",\"at\":%llu}", (unsigned long long)(uintptr_t)t->data);
    }
    fprintf(json, "]}\n");
}

/* Writes the JSON of page_pass. The values stay in memory until the next call. */
static void write_pass(FILE *json, const network *n, const pass_input *input, heed_dtype dtype)
{
    HEED_SCOPE(scope);
    free_kept();
    heed_tensor *encodings = encodings_of(n, input, dtype);
    heed_tensor *loss = loss_of(n, input, encodings);
    const leaves all = leaves_of(n, encodings);
    heed_tensor *xs[MOST_GRADIENTS], *found[MOST_GRADIENTS], *grads[MOST_GRADIENTS] = {NULL};
    int count = 0, of_all[MOST_GRADIENTS];
    const int all_count = heed_error_pending() ? 0 : all.count + forward_mark_count();
    for (int i = 0; i < all_count; i++) {
        heed_tensor *x = i < all.count ? all.tensors[i] : forward_mark_at(i - all.count)->result;
        if (x->requires_grad) {
            of_all[count] = i;
            xs[count++] = x;
        }
    }
    if (heed_grad(loss, xs, count, found, false) != HEED_OK) {
        return;
    }
    for (int i = 0; i < count; i++) {
        grads[of_all[i]] = found[i];
    }
    fprintf(json, "{\"loss\":%d,\n\"marks\":[", number_of(loss));
    for (int i = 0; i < forward_mark_count(); i++) {
        const forward_mark *mark = forward_mark_at(i);
        fprintf(json, "%s\n{\"name\":\"%s\",\"head\":%d,\"tensor\":%d,", i > 0 ? "," : "",
                mark->name, mark->head, number_of(mark->result));
        fprintf(json, "\"gradient\":%d}", number_of(grads[all.count + i]));
    }
    fprintf(json, "],\n\"leaves\":[");
    for (int i = 0; i < all.count; i++) {
        fprintf(json, "%s\n{\"name\":\"%s\",\"tensor\":%d,", i > 0 ? "," : "", all.names[i],
                number_of(all.tensors[i]));
        fprintf(json, "\"gradient\":%d}", number_of(grads[i]));
    }
    write_tensors(json);
}

/* ---- the module and the passes that the page asks for ---- */

static network alone; /* the attention module without a model */

/* The sentence of the last page_pass. */
static struct passed {
    int64_t tokens[TOY_LENGTH];
    int count; /* 0: none */
} passed;

void pass_end(void)
{
    free_kept();
    network_free(&alone);
    forget_pass();
}

void forget_pass(void)
{
    passed.count = 0;
}

static pass_input sentence_passed(void)
{
    return (pass_input){.tokens = passed.tokens,
                        .count = passed.count,
                        .block_mask = run.block_mask,
                        .breaks = run.breaks};
}

EXPORT(page_pass) const char *page_pass(const int32_t *tokens, int count)
{
    HEED_SCOPE(scope);
    forget_pass();
    FILE *json = run_tokens(passed.tokens, tokens, count) ? begin_text() : NULL;
    if (json == NULL) {
        return NULL;
    }
    passed.count = count;
    const pass_input input = sentence_passed();
    write_pass(json, &run.now.net, &input, HEED_F32); /* the bits of training */
    return end_text(json);
}

EXPORT(page_pass_alone)
const char *page_pass_alone(const float *encodings, int count, const uint8_t *blocked)
{
    HEED_SCOPE(scope);
    if (network_module(&alone) == NULL || count < 1 || count > MOST_TOKENS) {
        heed_fail(HEED_ERR_VALUE, "the page: no attention module, or %d tokens instead of 1 to %d",
                  count, MOST_TOKENS);
    }
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    network copy = network_in_double(&alone);
    const pass_input input = {.encodings = encodings,
                              .count = count,
                              .block_mask = blocked != NULL ? mask_of(blocked, count) : NULL};
    if (!heed_error_pending()) {
        write_pass(json, &copy, &input, HEED_F64);
    }
    network_free(&copy);
    return end_text(json);
}

EXPORT(page_losses)
bool page_losses(int leaf, int cell, const double *values, int count, double *losses)
{
    if (passed.count == 0) {
        heed_fail(HEED_ERR_VALUE, "the page: there has been no pass");
        return false;
    }
    HEED_SCOPE_NO_GRAD(scope);
    network copy = network_in_double(&run.now.net);
    const pass_input input = sentence_passed();
    if (heed_error_pending()) {
        return false;
    }
    const leaves all = leaves_of(&copy, NULL);
    if (leaf < 0 || leaf >= all.count || cell < 0 || cell >= all.tensors[leaf]->numel) {
        heed_fail(HEED_ERR_INDEX, "the page: leaf %d has no element %d", leaf, cell);
    }
    for (int i = 0; i < count && !heed_error_pending(); i++) {
        HEED_SCOPE_NO_GRAD(each);
        heed_data_f64(all.tensors[leaf])[cell] = values[i];
        losses[i] = heed_item(loss_of(&copy, &input, NULL));
    }
    network_free(&copy);
    return !heed_error_pending();
}

EXPORT(page_alone) bool page_alone(double seed, int d_model)
{
    HEED_SCOPE(scope);
    if (is_seed(seed)) {
        heed_manual_seed((uint64_t)seed);
        network net = network_of_attention(d_model);
        if (heed_error_pending()) {
            network_free(&net);
        } else {
            pass_end();
            alone = net;
        }
    }
    return !heed_error_pending();
}
