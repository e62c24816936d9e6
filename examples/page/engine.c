/* The engine of the page: a training run of the toy model, and passes that the page explains. */
#include "examples/page/engine.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/next_token/toy.h"
#include "examples/page/pass.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#else
#define EXPORT(name)
#endif

enum { MOST_STEPS = 20000, SNAPSHOT_EVERY = 50 }; /* a snapshot of one head takes 150 KB */
enum { BATCH = 32, D_MODEL = 32, CONTEXT = TOY_LENGTH - 1, WIDEST = 512, MOST_TOKENS = 64 };

/* ---- the last string ---- */

static struct {
    char *text;
    size_t size;
} last;

static FILE *begin_text(void)
{
    free(last.text);
    last.text = NULL;
    FILE *stream = heed_error_pending() ? NULL : open_memstream(&last.text, &last.size);
    if (stream == NULL && !heed_error_pending()) {
        heed_fail(HEED_ERR_MEMORY, "the page: no memory for a result");
    }
    return stream;
}

/* The text written to the stream; NULL if there was an error. */
static const char *end_text(FILE *stream)
{
    const bool failed = stream == NULL || fclose(stream) != 0;
    if (failed && !heed_error_pending()) {
        heed_fail(HEED_ERR_MEMORY, "the page: no memory for a result");
    }
    return heed_error_pending() ? NULL : last.text;
}

EXPORT(page_error) const char *page_error(void)
{
    static char message[4096];
    if (!heed_error_pending()) {
        return NULL;
    }
    snprintf(message, sizeof message, "%s", heed_error_message());
    heed_error();
    return message;
}

EXPORT(page_alloc) void *page_alloc(size_t size)
{
    void *block = malloc(size > 0 ? size : 1);
    if (block == NULL) {
        heed_fail(HEED_ERR_MEMORY, "the page: no memory for %zu bytes", size);
    }
    return block;
}

EXPORT(page_free) void page_free(void *block)
{
    free(block);
}

/* ---- the run ---- */

/* The state after a step. */
typedef struct snapshot {
    int step;
    heed_generator generator;
    heed_tensor **tensors; /* copies of those that list_state lists */
    int count;
} snapshot;

static struct run {
    toy_language language;
    vocabulary vocabulary;
    pieces training;
    network net;
    heed_optimizer *adamw;
    heed_generator generator; /* the run's own, as passes and other modules draw nothing from it */
    train_options options;
    uint64_t seed;
    unsigned breaks;
    heed_tensor *block_mask;    /* (CONTEXT, CONTEXT), retained: of passes */
    heed_tensor *training_mask; /* of training: never changes after step 0 */
    int step;
    snapshot *snapshots; /* in the order of their steps; the first is that of step 0 */
    int snapshot_count;
} run;

static void free_snapshot(snapshot *s)
{
    for (int i = 0; s->tensors != NULL && i < s->count; i++) {
        heed_release(s->tensors[i]);
    }
    free(s->tensors);
}

static void drop_snapshots(int kept)
{
    while (run.snapshot_count > kept) {
        free_snapshot(&run.snapshots[--run.snapshot_count]);
    }
}

/* A model's tensors in a snapshot: parameters, then gradients if steps accumulate them (NULL before
 * the first step), then the optimiser's state. */
enum { MOST_STATE = 32 * MODEL_MOST_HEADS };

typedef struct state_list {
    heed_tensor_list parameters, optimizer; /* optimizer.names are valid until the next list */
    heed_tensor *tensors[MOST_STATE];
    int count, first_of_optimizer;
} state_list;

static void add_to_state(state_list *state, heed_tensor *t)
{
    if (state->count < MOST_STATE) {
        state->tensors[state->count++] = t;
    } else if (!heed_error_pending()) {
        heed_fail(HEED_ERR_VALUE, "the page: the run has more than %d tensors", MOST_STATE);
    }
}

static void list_state(state_list *state)
{
    *state = (state_list){.parameters = heed_parameters(run.net.model),
                          .optimizer = heed_optimizer_state_dict(run.adamw)};
    for (int i = 0; i < state->parameters.count; i++) {
        add_to_state(state, state->parameters.tensors[i]);
    }
    for (int i = 0; run.breaks & BREAK_NO_ZERO_GRAD && i < state->parameters.count; i++) {
        add_to_state(state, state->parameters.tensors[i]->grad);
    }
    state->first_of_optimizer = state->count;
    for (int i = 0; i < state->optimizer.count; i++) {
        add_to_state(state, state->optimizer.tensors[i]);
    }
}

static void take_snapshot(void)
{
    state_list state;
    HEED_SCOPE_NO_GRAD(scope);
    list_state(&state);
    snapshot s = {.step = run.step, .generator = run.generator, .count = state.count};
    s.tensors = calloc((size_t)state.count + 1, sizeof *s.tensors);
    snapshot *larger =
        realloc(run.snapshots, (size_t)(run.snapshot_count + 1) * sizeof *run.snapshots);
    run.snapshots = larger != NULL ? larger : run.snapshots;
    if (larger == NULL || s.tensors == NULL) {
        heed_fail(HEED_ERR_MEMORY, "the page: no memory to remember step %d", run.step);
    }
    for (int i = 0; i < state.count && !heed_error_pending(); i++) {
        s.tensors[i] = state.tensors[i] != NULL ? heed_retain(heed_clone(state.tensors[i])) : NULL;
    }
    if (heed_error_pending()) {
        free_snapshot(&s);
        return;
    }
    run.snapshots[run.snapshot_count++] = s;
}

/* Copies a snapshot's state of the optimiser. Loading it makes a list of the optimiser's own, which
 * frees the names of `now`; hence copies of them. */
static void restore_optimizer(const snapshot *s, const state_list *now)
{
    char *names[MOST_STATE];
    bool copied = true;
    for (int i = 0; i < now->optimizer.count; i++) {
        names[i] = strdup(now->optimizer.names[i]);
        copied = copied && names[i] != NULL;
    }
    if (copied) {
        heed_optimizer_load_state_dict(run.adamw,
                                       (heed_tensor_list){now->optimizer.count,
                                                          s->tensors + now->first_of_optimizer,
                                                          (const char *const *)names});
    } else {
        heed_fail(HEED_ERR_MEMORY, "the page: no memory to return to step %d", s->step);
    }
    for (int i = 0; i < now->optimizer.count; i++) {
        free(names[i]);
    }
}

static void restore_snapshot(const snapshot *s)
{
    state_list now;
    HEED_SCOPE_NO_GRAD(scope);
    list_state(&now);
    if (heed_error_pending()) {
        return;
    }
    heed_optimizer_zero_grad(run.adamw);
    for (int i = 0; i < now.parameters.count; i++) {
        heed_tensor *parameter = now.parameters.tensors[i];
        heed_copy_into(parameter, s->tensors[i]);
        if (run.breaks & BREAK_NO_ZERO_GRAD && s->tensors[now.parameters.count + i] != NULL) {
            heed_set_grad(parameter, heed_clone(s->tensors[now.parameters.count + i]));
        }
    }
    restore_optimizer(s, &now);
    run.generator = s->generator;
    run.step = s->step;
}

/* Training of run.net.model begins at step 0, after the random numbers that drew its weights. */
static void begin_training(void)
{
    run.adamw = train_optimizer(run.net.model, run.options.lr);
    run.generator = heed_get_generator();
    run.step = 0;
    take_snapshot();
}

static void free_training(struct run *r)
{
    for (int i = 0; i < r->snapshot_count; i++) {
        free_snapshot(&r->snapshots[i]);
    }
    free(r->snapshots);
    heed_optimizer_free(r->adamw);
    network_free(&r->net);
}

static void end_run(void)
{
    free_training(&run);
    vocabulary_free(&run.vocabulary);
    heed_release(run.block_mask);
    heed_release(run.training_mask);
    run = (struct run){.step = 0};
}

/* The input of the last pass. */
static struct {
    const network *net; /* NULL: none */
    int64_t tokens[TOY_LENGTH];
    float *encodings;
    heed_tensor *block_mask; /* retained */
    pass_input input;
} passed;

static bool is_seed(double seed)
{
    return seed >= 0 && seed < 0x1p53 && seed == floor(seed);
}

EXPORT(page_start)
bool page_start(double seed, int heads, double lr, int steps, unsigned breaks)
{
    if (!is_seed(seed) || heads < 1 || heads > MODEL_MOST_HEADS || steps < 1 ||
        steps > MOST_STEPS || !(lr >= 0 && lr <= 1000) || breaks >= BREAKS) {
        heed_fail(HEED_ERR_VALUE,
                  "seed %g, %d heads, rate %g, %d steps: the seed is a whole number below 2^53, "
                  "heads are 1 to %d, the rate is 0 to 1000, steps are 1 to %d",
                  seed, heads, lr, steps, MODEL_MOST_HEADS, MOST_STEPS);
        return false;
    }
    HEED_SCOPE(scope);
    heed_set_flush_denormal(true); /* as next_token */
    passed.net = NULL;
    end_run();
    toy_language_make(&run.language, (uint64_t)seed);
    run.vocabulary = toy_vocabulary(&run.language);
    run.training = toy_pieces(run.language.train, run.language.train_count);
    run.options = (train_options){steps, BATCH, breaks & BREAK_LR_100 ? 100 * lr : lr};
    run.seed = (uint64_t)seed;
    run.breaks = breaks;
    run.block_mask = heed_retain(heed_causal_block_mask(CONTEXT));
    run.training_mask = heed_retain(run.block_mask);
    heed_manual_seed(run.seed);
    run.net.model = model_new((model_sizes){run.language.word_count, CONTEXT, D_MODEL, heads});
    begin_training();
    if (heed_error_pending()) {
        end_run();
    }
    return !heed_error_pending();
}

/* True if there is a run and no error; fails otherwise. */
static bool has_run(void)
{
    if (run.net.model == NULL && !heed_error_pending()) {
        heed_fail(HEED_ERR_VALUE, "the page: no run has been started");
    }
    return !heed_error_pending();
}

/* ---- training ---- */

/* rows (B, TOY_LENGTH) -> the loss, as model_loss. */
static heed_tensor *loss_of(heed_tensor *rows, heed_tensor *block_mask)
{
    heed_tensor *inputs = heed_slice(rows, 1, 0, -1, 1);
    heed_tensor *targets = heed_slice(rows, 1, 1, INT64_MAX, 1);
    forward_begin();
    heed_tensor *logits = forward_logits(&run.net, inputs, block_mask, run.breaks);
    return heed_cross_entropy(heed_reshape(logits, HEED_SHAPE(-1, heed_size(logits, -1))),
                              heed_reshape(targets, HEED_SHAPE(-1)));
}

static double take_step(void)
{
    HEED_SCOPE(step);
    heed_set_generator(&run.generator);
    run.adamw->lr = train_rate(&run.options, run.step);
    heed_tensor *loss = loss_of(pieces_batch(&run.training, BATCH), run.training_mask);
    run.generator = heed_get_generator();
    if (!(run.breaks & BREAK_NO_ZERO_GRAD)) {
        heed_optimizer_zero_grad(run.adamw);
    }
    heed_backward(loss);
    heed_optimizer_step(run.adamw);
    run.step++;
    return heed_item(loss);
}

EXPORT(page_step) double page_step(void)
{
    if (!has_run()) {
        return (double)NAN;
    }
    if (run.step >= run.options.steps) {
        heed_fail(HEED_ERR_VALUE, "the run has only %lld steps", (long long)run.options.steps);
        return (double)NAN;
    }
    const double loss = take_step();
    if (!heed_error_pending() && run.step % SNAPSHOT_EVERY == 0 &&
        run.snapshots[run.snapshot_count - 1].step < run.step) {
        take_snapshot();
    }
    return heed_error_pending() ? (double)NAN : loss;
}

EXPORT(page_steps) int page_steps(void)
{
    return run.step;
}

EXPORT(page_go_to) bool page_go_to(int step)
{
    if (!has_run()) {
        return false;
    }
    if (step < 0 || step > run.options.steps) {
        heed_fail(HEED_ERR_VALUE, "step %d is outside [0, %lld]", step,
                  (long long)run.options.steps);
        return false;
    }
    if (step < run.step) {
        int i = run.snapshot_count - 1;
        while (run.snapshots[i].step > step) {
            i--;
        }
        restore_snapshot(&run.snapshots[i]);
    }
    while (run.step < step && !heed_error_pending()) {
        page_step();
    }
    return !heed_error_pending();
}

EXPORT(page_hash) const char *page_hash(void)
{
    static char hex[17];
    if (!has_run()) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    const heed_tensor_list parameters = heed_parameters(run.net.model);
    text_buffer bytes = {.length = 0};
    for (int i = 0; i < parameters.count; i++) {
        const heed_tensor *t = parameters.tensors[i];
        text_append(&bytes, t->data, (size_t)t->numel * sizeof(float));
    }
    snprintf(hex, sizeof hex, "%016" PRIx64, text_hash(bytes.bytes, bytes.length));
    text_free(&bytes);
    return heed_error_pending() ? NULL : hex;
}

static heed_tensor *mask_of(const uint8_t *blocked, int64_t count)
{
    heed_tensor *mask = heed_zeros(HEED_SHAPE(count, count), HEED_BOOL);
    for (int64_t i = 0; mask != NULL && i < count * count; i++) {
        ((bool *)mask->data)[i] = blocked[i] != 0;
    }
    return mask;
}

EXPORT(page_set_mask) bool page_set_mask(const uint8_t *blocked)
{
    HEED_SCOPE_NO_GRAD(scope);
    if (!has_run()) {
        return false;
    }
    heed_tensor *mask =
        blocked != NULL ? mask_of(blocked, CONTEXT) : heed_causal_block_mask(CONTEXT);
    if (mask != NULL) {
        heed_release(run.block_mask);
        run.block_mask = heed_retain(mask);
    }
    if (mask != NULL && run.step == 0) {
        drop_snapshots(1); /* later ones are of the old mask */
        heed_release(run.training_mask);
        run.training_mask = heed_retain(mask);
    }
    return !heed_error_pending();
}

/* ---- the language and the score ---- */

static void write_sentences(FILE *json, const char *name, const toy_sentence *sentences, int count)
{
    fprintf(json, ",\n\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        fprintf(json, "%s[", i > 0 ? "," : "");
        for (int j = 0; j < TOY_LENGTH; j++) {
            fprintf(json, "%s%lld", j > 0 ? "," : "", (long long)sentences[i].token[j]);
        }
        fprintf(json, "]");
    }
    fprintf(json, "]");
}

EXPORT(page_language) const char *page_language(void)
{
    FILE *json = has_run() ? begin_text() : NULL;
    if (json == NULL) {
        return NULL;
    }
    fprintf(json, "{\"words\":[");
    for (int i = 0; i < run.language.word_count; i++) {
        fprintf(json, "%s\"%s\"", i > 0 ? "," : "", run.language.words[i]);
    }
    fprintf(json, "],\"context\":%d,\"it\":%d,\"subject\":%d", CONTEXT, TOY_AT_IT, TOY_AT_SUBJECT);
    write_sentences(json, "train", run.language.train, run.language.train_count);
    write_sentences(json, "heldOut", run.language.held_out, run.language.held_out_count);
    fprintf(json, "}\n");
    return end_text(json);
}

/* JSON has no NaN: null. */
static void write_real(FILE *json, const char *name, double value)
{
    if (isfinite(value)) {
        fprintf(json, "\"%s\":%.9g", name, value);
    } else {
        fprintf(json, "\"%s\":null", name);
    }
}

EXPORT(page_score) const char *page_score(void)
{
    FILE *json = has_run() ? begin_text() : NULL;
    if (json == NULL) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    const int64_t count = run.language.held_out_count;
    heed_tensor *rows = heed_from_i64(run.language.held_out->token, HEED_SHAPE(count, TOY_LENGTH));
    const double loss = heed_item(loss_of(rows, run.block_mask));
    heed_tensor *logits = heed_select(forward_find_mark("logits", 0), 1, TOY_AT_IT);
    heed_tensor *right =
        heed_eq(heed_argmax_dim(logits, -1, false), heed_select(rows, 1, TOY_AT_IT + 1));
    heed_tensor *best = NULL; /* (count) */
    for (int head = 0; head < network_head_count(&run.net); head++) {
        heed_tensor *percents = forward_find_mark("attention_percents", head);
        heed_tensor *on_subject =
            heed_select(heed_select(percents, 1, TOY_AT_IT), 1, TOY_AT_SUBJECT);
        best = best != NULL ? heed_maximum(best, on_subject) : on_subject;
    }
    fputc('{', json);
    write_real(json, "accuracy", heed_item(heed_sum(right)) / (double)count);
    fputc(',', json);
    write_real(json, "attention", heed_item(heed_mean(best)));
    fputc(',', json);
    write_real(json, "loss", loss);
    fputs("}\n", json);
    return end_text(json);
}

/* ---- one sentence ---- */

/* Ids as i64; false and an error if one is unknown or there are not 1 to TOY_LENGTH of them. */
static bool read_tokens(int64_t *ids, const int32_t *tokens, int count)
{
    if (!has_run()) {
        return false;
    }
    if (count < 1 || count > TOY_LENGTH) {
        heed_fail(HEED_ERR_SHAPE, "the sentence has %d words; it needs 1 to %d", count, TOY_LENGTH);
        return false;
    }
    for (int i = 0; i < count; i++) {
        ids[i] = tokens[i];
        if (ids[i] < 0 || ids[i] >= run.language.word_count) {
            heed_fail(HEED_ERR_INDEX, "word %d: there is no word %d", i, tokens[i]);
            return false;
        }
    }
    return true;
}

/* The upper left part of the run's mask. */
static heed_tensor *mask_for(int64_t count)
{
    return heed_slice(heed_slice(run.block_mask, 0, 0, count, 1), 1, 0, count, 1);
}

/* logits (count, words) */
static heed_tensor *logits_of(const int64_t *ids, int64_t count)
{
    forward_begin();
    return forward_logits(&run.net, heed_from_i64(ids, HEED_SHAPE(count)), mask_for(count),
                          run.breaks);
}

EXPORT(page_attention) const char *page_attention(const int32_t *tokens, int count)
{
    static float weights[MODEL_MOST_HEADS * CONTEXT * CONTEXT];
    int64_t ids[TOY_LENGTH];
    if (!read_tokens(ids, tokens, count)) {
        return NULL;
    }
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    const int seen = count < CONTEXT ? count : CONTEXT, heads = network_head_count(&run.net);
    logits_of(ids, seen);
    for (int head = 0; head < heads; head++) {
        heed_copy_out(forward_find_mark("attention_percents", head), weights + head * seen * seen,
                      (int64_t)seen * seen);
    }
    fprintf(json, "{\"heads\":%d,\"tokens\":%d,\"at\":%llu}\n", heads, seen,
            (unsigned long long)(uintptr_t)weights);
    return end_text(json);
}

EXPORT(page_write) const char *page_write(const int32_t *tokens, int count, int most)
{
    int64_t ids[2 * TOY_LENGTH];
    const int eos = 0;
    if (!read_tokens(ids, tokens, count)) {
        return NULL;
    }
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    fprintf(json, "{\"words\":[");
    for (int written = 0; written < most && count < CONTEXT + 1 && !heed_error_pending();
         written++) {
        HEED_SCOPE_NO_GRAD(scope);
        const int first = count > CONTEXT ? count - CONTEXT : 0;
        heed_tensor *logits = logits_of(ids + first, count - first);
        ids[count] = (int64_t)heed_item(heed_argmax_dim(heed_select(logits, 0, -1), 0, false));
        fprintf(json, "%s%lld", written > 0 ? "," : "", (long long)ids[count]);
        if (ids[count++] == eos) {
            break;
        }
    }
    fprintf(json, "]}\n");
    return end_text(json);
}

/* ---- passes ---- */

static network alone; /* without a model */

static const char *record(const network *net, pass_input input)
{
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    pass_record(json, net, &input);
    const char *text = end_text(json);
    if (text != NULL) {
        heed_release(passed.block_mask);
        passed.block_mask = input.block_mask != NULL ? heed_retain(input.block_mask) : NULL;
        passed.input = input;
        passed.net = net;
    }
    return text;
}

EXPORT(page_pass) const char *page_pass(const int32_t *tokens, int count)
{
    HEED_SCOPE(scope);
    passed.net = NULL;
    if (!read_tokens(passed.tokens, tokens, count)) {
        return NULL;
    }
    return record(&run.net, (pass_input){.tokens = passed.tokens,
                                         .count = count,
                                         .block_mask = run.block_mask,
                                         .breaks = run.breaks});
}

EXPORT(page_pass_alone)
const char *page_pass_alone(const float *encodings, int count, const uint8_t *blocked,
                            unsigned breaks)
{
    HEED_SCOPE(scope);
    passed.net = NULL;
    if (heed_error_pending()) {
        return NULL;
    }
    if (network_module(&alone) == NULL || count < 1 || count > MOST_TOKENS || breaks >= BREAKS) {
        heed_fail(HEED_ERR_VALUE, "the page: no attention module, or %d tokens instead of 1 to %d",
                  count, MOST_TOKENS);
        return NULL;
    }
    const size_t bytes =
        (size_t)count * (size_t)network_head(&alone, 0)->W_q->weight->shape[1] * sizeof *encodings;
    float *copy = realloc(passed.encodings, bytes);
    if (copy == NULL) {
        heed_fail(HEED_ERR_MEMORY, "the page: no memory for the encodings");
        return NULL;
    }
    passed.encodings = memcpy(copy, encodings, bytes);
    return record(&alone,
                  (pass_input){.encodings = copy,
                               .count = count,
                               .block_mask = blocked != NULL ? mask_of(blocked, count) : NULL,
                               .breaks = breaks});
}

EXPORT(page_losses)
bool page_losses(int leaf, int cell, const double *values, int count, double *losses)
{
    if (passed.net == NULL) {
        heed_fail(HEED_ERR_VALUE, "the page: there has been no pass");
        return false;
    }
    return pass_losses(passed.net, &passed.input, leaf, cell, values, count, losses) == HEED_OK;
}

/* ---- modules and files ---- */

/* Replaces the attention module. */
static bool set_alone(network net)
{
    if (heed_error_pending()) {
        network_free(&net);
        return false;
    }
    if (passed.net == &alone) {
        passed.net = NULL;
    }
    pass_free();
    network_free(&alone);
    alone = net;
    return true;
}

/* heads: 0: SelfAttention; from 1: MultiHead. */
static network new_alone(int64_t d_model, int64_t head_dim, int heads)
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

EXPORT(page_alone) bool page_alone(double seed, int d_model, int heads)
{
    HEED_SCOPE(scope);
    if (!is_seed(seed)) {
        heed_fail(HEED_ERR_VALUE, "seed %g; it must be a whole number below 2^53", seed);
        return false;
    }
    heed_manual_seed((uint64_t)seed);
    return set_alone(new_alone(d_model, d_model, heads > 1 ? heads : heads - 1));
}

/* The number of heads.N.W_q.weight in the file. */
static int count_heads(const heed_safetensors *file)
{
    int heads = 0;
    for (int i = 0; i < heed_safetensors_count(file); i++) {
        const char *name = heed_safetensors_name(file, i);
        heads += strncmp(name, "heads.", 6) == 0 && strstr(name, ".W_q.weight") != NULL;
    }
    return heads;
}

static bool has_tensor(const heed_safetensors *file, const char *name)
{
    for (int i = 0; i < heed_safetensors_count(file); i++) {
        if (strcmp(heed_safetensors_name(file, i), name) == 0) {
            return true;
        }
    }
    return false;
}

/* The attention module of a file. */
static void open_alone(const heed_safetensors *file, const char *path)
{
    const int heads = count_heads(file);
    const char *name = heads > 0 ? "heads.0.W_q.weight" : "W_q.weight";
    if (!has_tensor(file, name)) {
        heed_fail(HEED_ERR_VALUE,
                  "the file has no W_q.weight (SelfAttention), heads.0.W_q.weight (MultiHead) or "
                  "we.weight (a model that this page saved)");
        return;
    }
    const heed_tensor *W_q = heed_safetensors_tensor(file, name);
    if (W_q != NULL && W_q->ndim != 2) {
        heed_fail(HEED_ERR_SHAPE, "%s is %s; it must be (head_dim, d_model)", name,
                  heed_shape_text(W_q->ndim, W_q->shape).text);
    }
    if (heed_error_pending()) {
        return;
    }
    network net = new_alone(W_q->shape[1], W_q->shape[0], heads);
    net.concatenates = heads > 0 && !has_tensor(file, "W_o.weight");
    const heed_tensor_list wanted = heed_state_dict(network_module(&net));
    for (int i = 0; i < wanted.count - net.concatenates && !heed_error_pending(); i++) {
        if (!has_tensor(file, wanted.names[i])) {
            heed_fail(HEED_ERR_VALUE, "the file has %s, but no %s", name, wanted.names[i]);
        }
    }
    if (!heed_error_pending()) {
        heed_load_state_dict_with(network_module(&net), path,
                                  (heed_load_options){.not_strict = net.concatenates});
    }
    set_alone(net);
}

static bool same_words(const vocabulary *a, const vocabulary *b)
{
    text_buffer of_a = vocabulary_list(a), of_b = vocabulary_list(b);
    const bool same = !heed_error_pending() && strcmp(of_a.bytes, of_b.bytes) == 0;
    text_free(&of_a);
    text_free(&of_b);
    return same;
}

static void check_model(const model_description *about)
{
    if (!heed_error_pending() &&
        (about->task != TASK_TOY || about->sizes.context != CONTEXT ||
         about->sizes.d_model != D_MODEL || !same_words(&about->vocabulary, &run.vocabulary)) &&
        !heed_error_pending()) {
        heed_fail(HEED_ERR_VALUE,
                  "the model in the file is not of the toy's sentences, with d_model %d and %d "
                  "tokens",
                  D_MODEL, CONTEXT);
    }
}

/* A whole model into the run, which begins again at step 0, as next_token --load does. On error the
 * run is unchanged. */
static void open_model(const char *path)
{
    model_description about = model_describe_file(path);
    check_model(&about);
    vocabulary_free(&about.vocabulary);
    if (heed_error_pending()) {
        return;
    }
    struct run before = run;
    run.snapshots = NULL;
    run.snapshot_count = 0;
    heed_manual_seed(run.seed);
    run.net = (network){.model = model_new(about.sizes)};
    model_load(path, run.net.model);
    begin_training();
    free_training(heed_error_pending() ? &run : &before);
    if (heed_error_pending()) {
        run = before;
    } else {
        passed.net = NULL;
    }
}

/* Errors of examples/next_token/model.c begin with next_token's flag for the file. */
static void drop_flag(void)
{
    static const char flag[] = "--load: ";
    const heed_status status = heed_error_pending();
    const char *message = heed_error_message();
    if (status != HEED_OK && strncmp(message, flag, strlen(flag)) == 0) {
        char rest[4096];
        snprintf(rest, sizeof rest, "%s", message + strlen(flag));
        heed_error();
        heed_fail(status, "%s", rest);
    }
}

EXPORT(page_open) const char *page_open(const char *path)
{
    HEED_SCOPE(scope);
    heed_safetensors *file = heed_safetensors_open(path);
    const bool is_model = file != NULL && has_tensor(file, "we.weight");
    if (!is_model) {
        if (file != NULL) {
            open_alone(file, path);
        }
    } else if (has_run()) {
        open_model(path);
        drop_flag();
    }
    heed_safetensors_close(file);
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    const network *net = is_model ? &run.net : &alone;
    const heed_tensor *W_q = network_head(net, 0)->W_q->weight;
    fprintf(json,
            "{\"kind\":\"%s\",\"d_model\":%lld,\"head_dim\":%lld,\"heads\":%d,"
            "\"concatenates\":%s}\n",
            is_model                  ? "model"
            : net->multi_head != NULL ? "multi_head"
                                      : "self_attention",
            (long long)W_q->shape[1], (long long)W_q->shape[0], network_head_count(net),
            net->concatenates ? "true" : "false");
    return end_text(json);
}

EXPORT(page_state) const char *page_state(void)
{
    FILE *json = has_run() ? begin_text() : NULL;
    if (json == NULL) {
        return NULL;
    }
    const heed_tensor_list state = heed_state_dict(run.net.model);
    fprintf(json, "{\"tensors\":[");
    for (int i = 0; i < state.count; i++) {
        const heed_tensor *t = state.tensors[i];
        fprintf(json, "%s\n{\"name\":\"%s\",\"shape\":[", i > 0 ? "," : "", state.names[i]);
        for (int d = 0; d < t->ndim; d++) {
            fprintf(json, "%s%lld", d > 0 ? "," : "", (long long)t->shape[d]);
        }
        fprintf(json, "],\"at\":%llu}", (unsigned long long)(uintptr_t)t->data);
    }
    text_buffer words = vocabulary_list(&run.vocabulary);
    fprintf(
        json,
        "],\n\"metadata\":{\"format\":\"heed next_token 1\",\"task\":\"toy\",\"context\":\"%d\","
        "\"d_model\":\"%d\",\"heads\":\"%d\",\"vocabulary\":\"%s\"}}\n",
        CONTEXT, D_MODEL, network_head_count(&run.net), words.bytes != NULL ? words.bytes : "");
    text_free(&words);
    return end_text(json);
}

EXPORT(page_end) void page_end(void)
{
    end_run();
    network_free(&alone);
    pass_free();
    passed.net = NULL;
    heed_release(passed.block_mask);
    passed.block_mask = NULL;
    free(passed.encodings);
    passed.encodings = NULL;
    free(last.text);
    last.text = NULL;
}
