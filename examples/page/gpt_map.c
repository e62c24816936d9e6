/* The forward of a GPT, recorded for the page's map. */
#include "examples/page/gpt_map.h"
#include "examples/lab/common/recording.h"

#include <stdlib.h>
#include <string.h>

#include "examples/lab/gpt/checkpoint.h"
#include "examples/page/parts.h"

enum { MOST_LAYERS = 24, MOST_WIDTH = 1024, MOST_NUMBERS = 20000000 };
enum { PARTS_OF_BLOCK = 20, OTHER_PARTS = 20 };

static gpt_loaded opened;

/* ---- parts: named tensors that stay until the next text ---- */

static struct {
    heed_tensor *tensors[MOST_LAYERS * PARTS_OF_BLOCK + OTHER_PARTS]; /* retained */
    int count;
} kept;

static void forget_parts(void)
{
    while (kept.count > 0) {
        heed_release(kept.tensors[--kept.count]);
    }
}

void gpt_map_end(void)
{
    forget_parts();
    gpt_loaded_free(&opened);
}

/* Writes a part (1, ...) without its batch of one. Returns t. */
static heed_tensor *add_part(FILE *json, const char *name, heed_tensor *t)
{
    if (t == NULL || heed_error_pending()) {
        return NULL;
    }
    fprintf(json, "%s\n{\"name\":\"%s\",\"dtype\":\"%s\",\"shape\":", kept.count > 0 ? "," : "",
            name, heed_dtype_name(t->dtype));
    write_list(json, t->shape + 1, t->ndim - 1);
    fprintf(json, ",\"strides\":");
    write_list(json, t->strides + 1, t->ndim - 1);
    fprintf(json, ",\"at\":%llu}", (unsigned long long)(uintptr_t)t->data);
    kept.tensors[kept.count++] = heed_retain(t);
    return t;
}

typedef struct part_name {
    char text[64];
} part_name;

static part_name name_of(const char *format, int number, const char *what)
{
    part_name name;
    snprintf(name.text, sizeof name.text, format, number, what);
    return name;
}

static void add_norm(FILE *json, const char *name, heed_tensor *t)
{
    part_name of = {"norm."};
    strncat(of.text, name, sizeof of.text - strlen(of.text) - 1);
    add_part(json, of.text, heed_sqrt(heed_sum_dim(heed_square(t), -1, false)));
}

/* The residual stream after n additions, and what the model would say if it ended there. */
static void add_stream(FILE *json, int n, heed_tensor *x)
{
    add_part(json, name_of("stream.%d", n, NULL).text, x);
    add_norm(json, name_of("stream.%d", n, NULL).text, x);
    struct gpt *m = opened.model;
    heed_tensor *logits =
        heed_linear_forward(m->lm_head, heed_layer_norm_forward(m->transformer->ln_f, x));
    add_part(json, name_of("guess.%d", n, NULL).text, heed_argmax_dim(logits, -1, false));
    add_part(json, name_of("guess_share.%d", n, NULL).text,
             heed_amax_dim(heed_softmax(logits, -1), -1, false));
}

/* ---- the recorded forward ---- */

/* The n-th result of an operation (NULL: of any) of a module. */
static const recorded *entry(const recording *r, const char *path, const char *op, int n)
{
    return recording_find(r, path, op, n);
}

static heed_tensor *result(const recording *r, const char *path, const char *op, int n)
{
    const recorded *found = entry(r, path, op, n);
    return found != NULL ? found->result : NULL;
}

/* What the module `module` of block i computes: its last result if op is NULL. */
static heed_tensor *of_block(const recording *r, int i, const char *module, const char *op, int n)
{
    return result(r, name_of("GPT.transformer.h.%d%s", i, module).text, op, n);
}

/* Adds of_block(...) under the name h.i.`name`. */
static heed_tensor *add_of_block(FILE *json, int i, const char *name, heed_tensor *t)
{
    return add_part(json, name_of("h.%d.%s", i, name).text, t);
}

static void add_attention(FILE *json, const recording *r, int i)
{
    static const char *const names[] = {"q", "k", "v"};
    const recorded *attend = entry(r, name_of("GPT.transformer.h.%d%s", i, ".attn").text,
                                   "scaled_dot_product_attention", 0);
    if (attend == NULL) {
        return;
    }
    for (int j = 0; j < 3; j++) {
        add_of_block(json, i, names[j], attend->inputs[j]);
    }
    /* The forward computes percentages in tiles and never stores them. */
    heed_tensor *percent = NULL;
    heed_scaled_dot_product_attention(attend->inputs[0], attend->inputs[1], attend->inputs[2],
                                      .is_causal = true, .weights = &percent);
    add_of_block(json, i, "percent", percent);
    const recorded *projected =
        entry(r, name_of("GPT.transformer.h.%d%s", i, ".attn.c_proj").text, "linear", 0);
    if (projected != NULL) {
        add_of_block(json, i, "mixed", projected->inputs[0]);
        add_norm(json, name_of("h.%d.%s", i, "attn").text,
                 add_of_block(json, i, "attn", projected->result));
    }
}

static void add_block(FILE *json, const recording *r, int i)
{
    add_of_block(json, i, "ln_1", of_block(r, i, ".ln_1", "layer_norm", 0));
    add_attention(json, r, i);
    add_stream(json, 2 * i + 1, of_block(r, i, "", "add", 0));
    add_of_block(json, i, "ln_2", of_block(r, i, ".ln_2", "layer_norm", 0));
    add_of_block(json, i, "fc", of_block(r, i, ".mlp.c_fc", "linear", 0));
    add_of_block(json, i, "act", of_block(r, i, ".mlp", NULL, 0));
    heed_tensor *mlp = of_block(r, i, ".mlp.c_proj", "linear", 0);
    add_norm(json, name_of("h.%d.%s", i, "mlp").text, add_of_block(json, i, "mlp", mlp));
    add_stream(json, 2 * i + 2, of_block(r, i, "", "add", 1));
}

static void write_bytes(FILE *json, int64_t id)
{
    text_buffer text = {.length = 0};
    tokenizer_decode(&opened.record.tokenizer, id, &text);
    for (size_t i = 0; i < text.length; i++) {
        fprintf(json, "%c%d", i > 0 ? ',' : '[', (unsigned char)text.bytes[i]);
    }
    fputs(text.length > 0 ? "]" : "[]", json);
    text_free(&text);
}

/* Runs the model over tokens (T), and writes everything it computes. */
static void write_forward(FILE *json, heed_tensor *tokens)
{
    recording *r = recording_begin();
    gpt_forward(opened.model, tokens);
    recording_stop(r);
    heed_tensor *wte = add_part(json, "wte", result(r, "GPT.transformer.wte", "embedding", 0));
    add_norm(json, "wte", wte);
    heed_tensor *wpe = heed_unsqueeze(result(r, "GPT", "slice", 0), 0);
    add_norm(json, "wpe", add_part(json, "wpe", wpe));
    add_stream(json, 0, result(r, "GPT", "add", 0));
    for (int i = 0; i < opened.model->config.n_layer && !heed_error_pending(); i++) {
        add_block(json, r, i);
    }
    add_part(json, "ln_f", result(r, "GPT.transformer.ln_f", "layer_norm", 0));
    heed_tensor *logits = add_part(json, "logits", result(r, "GPT.lm_head", "linear", 0));
    add_part(json, "shares", heed_softmax(logits, -1));
    fprintf(json, "]}\n");
    recording_free(r);
}

EXPORT(page_gpt_read) const char *page_gpt_read(const char *text, size_t length)
{
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    forget_parts();
    if (opened.model == NULL) {
        heed_fail(HEED_ERR_VALUE, "the page: no GPT has been opened");
        return end_text(json);
    }
    token_list list = tokenizer_encode(&opened.record.tokenizer, "the text", text, length);
    const int64_t context = opened.model->config.block_size;
    const int64_t most = context < GPT_MAP_TOKENS ? context : GPT_MAP_TOKENS;
    const int64_t first = list.count > most ? list.count - most : 0, count = list.count - first;
    if (count == 0 && !heed_error_pending()) {
        heed_fail(HEED_ERR_VALUE, "the text is empty");
    }
    if (!heed_error_pending()) {
        fprintf(json, "{\"left_out\":%lld,\"ids\":", (long long)first);
        write_list(json, list.ids + first, (int)count);
        fprintf(json, ",\n\"parts\":[");
        write_forward(json, heed_from_i64(list.ids + first, HEED_SHAPE(count)));
    }
    token_list_free(&list);
    return end_text(json);
}

/* ---- opening ---- */

static int64_t count_parameters(void)
{
    const heed_tensor_list parameters = heed_parameters(opened.model);
    int64_t count = 0;
    for (int i = 0; i < parameters.count; i++) {
        count += parameters.tensors[i]->numel;
    }
    return count;
}

static void describe(FILE *json)
{
    const gpt_config *c = &opened.model->config;
    const tokenizer *t = &opened.record.tokenizer;
    fprintf(json,
            "{\"level\":\"%s\",\"vocab\":%lld,\"context\":%lld,\"layers\":%d,\"heads\":%d,"
            "\"width\":%lld,\"parameters\":%lld,\"steps\":%lld,"
            "\"tokens\":[",
            token_level_name(t->level), (long long)c->vocab_size, (long long)c->block_size,
            c->n_layer, c->n_head, (long long)c->n_embd, (long long)count_parameters(),
            (long long)opened.record.settings.steps);
    for (int64_t id = 0; id < t->count; id++) {
        fputs(id > 0 ? "," : "", json);
        write_bytes(json, id);
    }
    fprintf(json, "]}\n");
}

static bool fits(const gpt_train_options *s, int64_t tokens)
{
    if (s->n_layer > MOST_LAYERS || s->n_embd > MOST_WIDTH ||
        (double)s->n_layer * 12 * (double)s->n_embd * (double)s->n_embd +
                (double)tokens * (double)s->n_embd >
            MOST_NUMBERS) {
        heed_fail(HEED_ERR_VALUE,
                  "%lld layers of width %lld: the page opens at most %d layers, width %d and %d "
                  "million numbers",
                  (long long)s->n_layer, (long long)s->n_embd, MOST_LAYERS, MOST_WIDTH,
                  MOST_NUMBERS / 1000000);
    }
    return !heed_error_pending();
}

/* Fails if a weight is NaN or infinite: every number of the map would be. */
static void check_weights(const gpt_loaded *loaded, const char *path)
{
    const heed_tensor_list weights = heed_parameters(loaded->model);
    for (int i = 0; i < weights.count && !heed_error_pending(); i++) {
        const float *numbers = heed_data_f32(weights.tensors[i]);
        for (int64_t j = 0; j < weights.tensors[i]->numel && !heed_error_pending(); j++) {
            if (!isfinite(numbers[j])) {
                heed_fail(HEED_ERR_VALUE, "%s: %s has a NaN or an infinite number", path,
                          weights.names[i]);
            }
        }
    }
}

EXPORT(page_gpt_open) const char *page_gpt_open(const char *path)
{
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    gpt_loaded next = {.model = NULL};
    if (gpt_record_read(&next.record, "gpt", path) == HEED_OK &&
        fits(&next.record.settings, next.record.tokenizer.count)) {
        next.model = gpt_model_load(&next.record, "gpt", path);
        check_weights(&next, path);
    }
    if (heed_error_pending()) {
        gpt_loaded_free(&next);
    } else {
        gpt_map_end();
        opened = next;
        describe(json);
    }
    return end_text(json);
}
