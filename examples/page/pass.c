/* Recorded passes. */
#include "examples/page/pass.h"

#include <stdlib.h>
#include <string.h>

/* ---- the pass ---- */

enum { MOST_LEAVES = 8 * MODEL_MOST_HEADS, MOST_GRADIENTS = MOST_LEAVES + FORWARD_MOST_MARKS };

typedef struct leaves {
    heed_tensor *tensors[MOST_LEAVES];
    const char *names[MOST_LEAVES];
    int count;
} leaves;

/* The parameters that are used, and the encodings if they are the input. */
static leaves leaves_of(const network *n, heed_tensor *encodings)
{
    leaves all = {.count = 0};
    const heed_tensor_list parameters = heed_parameters(network_module(n));
    const int used = parameters.count - n->concatenates; /* the last is W_o */
    for (; all.count < used; all.count++) {
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
    const bool alone = input->encodings != NULL;
    const int64_t context = alone ? input->count : n->model->sizes.context;
    const int64_t seen = input->count < context ? input->count : context;
    heed_tensor *mask = input->block_mask;
    if (mask != NULL) {
        mask = heed_slice(heed_slice(mask, 0, 0, seen, 1), 1, 0, seen, 1);
    }
    if (alone) {
        heed_tensor *out = forward_attention(n, encodings, mask, input->breaks);
        return forward_add_mark("loss", heed_sum(heed_square(out)));
    }
    if (input->count < PASS_FEWEST_TOKENS) {
        heed_fail(HEED_ERR_SHAPE, "the sentence has %lld words; it needs at least %d",
                  (long long)input->count, PASS_FEWEST_TOKENS);
        return NULL;
    }
    heed_tensor *tokens = heed_from_i64(input->tokens, HEED_SHAPE(input->count));
    heed_tensor *logits = forward_logits(n, heed_slice(tokens, 0, 0, seen, 1), mask, input->breaks);
    heed_tensor *targets = heed_slice(tokens, 0, 1, seen + 1, 1);
    heed_tensor *predicted = heed_slice(logits, 0, 0, heed_size(targets, 0), 1);
    return forward_add_mark("loss", heed_cross_entropy(predicted, targets));
}

/* ---- values that stay until the next pass ---- */

static struct kept {
    heed_recording *recording;
    heed_tensor **tensors; /* retained; a tensor's index is its number in the JSON */
    int count, capacity;
} kept;

void pass_free(void)
{
    for (int i = 0; i < kept.count; i++) {
        heed_release(kept.tensors[i]);
    }
    heed_recording_free(kept.recording);
    free(kept.tensors);
    kept = (struct kept){.count = 0};
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
    if (kept.count == kept.capacity) {
        const int capacity = kept.capacity > 0 ? 2 * kept.capacity : 256;
        heed_tensor **larger = realloc(kept.tensors, (size_t)capacity * sizeof(heed_tensor *));
        if (larger == NULL) {
            heed_fail(HEED_ERR_MEMORY, "the page: no memory for another tensor");
            return -1;
        }
        kept.tensors = larger;
        kept.capacity = capacity;
    }
    kept.tensors[kept.count] = heed_retain(t);
    return kept.count++;
}

/* ---- JSON ---- */

static void write_list(FILE *json, const char *name, const int64_t *values, int count)
{
    fprintf(json, "\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        fprintf(json, "%s%lld", i > 0 ? "," : "", (long long)values[i]);
    }
    fprintf(json, "]");
}

/* The gradient g of t, and g without create_graph if its bits differ. */
static void write_gradients(FILE *json, heed_tensor *t, heed_tensor *g, heed_tensor *fused)
{
    const bool differs =
        g != NULL && fused != NULL && !heed_equal(heed_contiguous(g), heed_contiguous(fused));
    fprintf(json, "\"tensor\":%d,", number_of(t));
    fprintf(json, "\"gradient\":%d,", number_of(g));
    fprintf(json, "\"fused\":%d}", differs ? number_of(fused) : -1);
}

static void write_entries(FILE *json, const heed_recording *recording)
{
    fprintf(json, "],\n\"entries\":[");
    for (int64_t i = 0; i < heed_recording_count(recording); i++) {
        const heed_recorded *entry = heed_recording_at(recording, i);
        fprintf(json, "%s\n{\"op\":\"%s\",\"args\":\"%s\",\"path\":\"%s\",\"backward\":%s,",
                i > 0 ? "," : "", entry->op->name, entry->arguments, entry->path,
                entry->in_backward ? "true" : "false");
        int64_t inputs[MODEL_MOST_HEADS];
        int count = 0;
        for (; count < entry->input_count && count < MODEL_MOST_HEADS; count++) {
            inputs[count] = number_of(entry->inputs[count]);
        }
        write_list(json, "inputs", inputs, count);
        fprintf(json, ",\"result\":%d,", number_of(entry->result));
        fprintf(json, "\"gradient\":%d}", number_of(entry->gradient));
    }
}

static void write_tensors(FILE *json)
{
    fprintf(json, "],\n\"tensors\":[");
    for (int i = 0; i < kept.count; i++) {
        const heed_tensor *t = kept.tensors[i];
        fprintf(json, "%s\n{\"dtype\":\"%s\",", i > 0 ? "," : "", heed_dtype_name(t->dtype));
        write_list(json, "shape", t->shape, t->ndim);
        fprintf(json, ",");
        write_list(json, "strides", t->strides, t->ndim);
        fprintf(json, ",\"at\":%llu}", (unsigned long long)(uintptr_t)t->data);
    }
    fprintf(json, "]}\n");
}

/* ---- recording ---- */

/* A pass without a recording: the gradients of the leaves, then of the marks. */
static void fused_gradients(const network *n, const pass_input *input, heed_tensor **grads,
                            heed_tensor *encodings)
{
    heed_tensor *loss = loss_of(n, input, encodings);
    const leaves all = leaves_of(n, encodings);
    heed_tensor *xs[MOST_GRADIENTS], *found[MOST_GRADIENTS];
    int count = 0, of_all[MOST_GRADIENTS];
    const int all_count = heed_error_pending() ? 0 : all.count + forward_mark_count();
    for (int i = 0; i < all_count; i++) {
        heed_tensor *x = i < all.count ? all.tensors[i] : forward_mark_at(i - all.count)->result;
        grads[i] = NULL;
        if (x->requires_grad) {
            of_all[count] = i;
            xs[count++] = x;
        }
    }
    if (heed_grad(loss, xs, count, found, false) == HEED_OK) {
        for (int i = 0; i < count; i++) {
            grads[of_all[i]] = found[i];
        }
    }
}

/* The gradient of t that the recording has. */
static heed_tensor *gradient_of(const heed_recording *recording, const heed_tensor *t)
{
    const heed_recorded *entry = heed_recording_of(recording, t);
    return entry != NULL ? entry->gradient : NULL;
}

heed_status pass_record(FILE *json, const network *n, const pass_input *input)
{
    heed_tensor *fused[MOST_GRADIENTS], *grads[MOST_LEAVES];
    HEED_SCOPE(scope);
    pass_free();
    heed_tensor *encodings = encodings_of(n, input, HEED_F32);
    fused_gradients(n, input, fused, encodings);
    kept.recording = heed_recording_begin();
    heed_tensor *loss = loss_of(n, input, encodings);
    const leaves all = leaves_of(n, encodings);
    heed_grad(loss, all.tensors, all.count, grads, true);
    heed_recording_stop(kept.recording);
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    fprintf(json, "{\"loss\":%d,\n\"marks\":[", number_of(loss));
    for (int i = 0; i < forward_mark_count(); i++) {
        const forward_mark *mark = forward_mark_at(i);
        fprintf(json, "%s\n{\"name\":\"%s\",\"head\":%d,", i > 0 ? "," : "", mark->name,
                mark->head);
        write_gradients(json, mark->result, gradient_of(kept.recording, mark->result),
                        fused[all.count + i]);
    }
    fprintf(json, "],\n\"leaves\":[");
    for (int i = 0; i < all.count; i++) {
        fprintf(json, "%s\n{\"name\":\"%s\",", i > 0 ? "," : "", all.names[i]);
        write_gradients(json, all.tensors[i], grads[i], fused[i]);
    }
    write_entries(json, kept.recording);
    write_tensors(json);
    return heed_error_pending();
}

/* ---- the loss as a function of one element ---- */

heed_status pass_losses(const network *n, const pass_input *input, int leaf, int64_t cell,
                        const double *values, int count, double *losses)
{
    HEED_SCOPE_NO_GRAD(scope);
    network copy = network_in_double(n);
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    heed_tensor *encodings = encodings_of(&copy, input, HEED_F64);
    const leaves all = leaves_of(&copy, encodings);
    if (!heed_error_pending() &&
        (leaf < 0 || leaf >= all.count || cell < 0 || cell >= all.tensors[leaf]->numel)) {
        heed_fail(HEED_ERR_INDEX, "the page: leaf %d has no element %lld", leaf, (long long)cell);
    }
    for (int i = 0; i < count && !heed_error_pending(); i++) {
        HEED_SCOPE_NO_GRAD(each);
        heed_data_f64(all.tensors[leaf])[cell] = values[i];
        losses[i] = heed_item(loss_of(&copy, input, encodings));
    }
    network_free(&copy);
    return heed_error_pending();
}
