/* From options to a job. Each step does nothing once one has failed. */
#include "examples/next_token/job.h"

#include <stdlib.h>
#include <string.h>

#include "examples/common/preflight.h"
#include "examples/next_token/saved.h"

enum { MEASURED = 128 }; /* pieces of a text that the held-out loss is taken over, at most */

/* ---- the sizes ---- */

static void expect_same(const char *flag, bool given, int64_t value, int64_t in_file)
{
    if (given && value != in_file) {
        heed_fail(HEED_ERR_VALUE, "%s %lld: the model of --load has %lld", flag, (long long)value,
                  (long long)in_file);
    }
}

/* What a loaded model fixes. */
static void take_from_model(job *j, const saved_model *saved)
{
    options *o = &j->options;
    const bool reads = saved->task != TASK_TOY;
    const int64_t level = saved->task == TASK_CHAR ? TEXT_CHAR : TEXT_WORD;
    if (o->given.text && !reads) {
        heed_fail(HEED_ERR_VALUE, "--text: the model of --load has learnt the toy, not a text");
    }
    if (reads && o->given.level && o->level != level) {
        heed_fail(HEED_ERR_VALUE, "--level %s: the model of --load has learnt by %s",
                  text_level_name((text_level)o->level), text_token_name((text_level)level));
    }
    expect_same("--d-model", o->given.d_model, o->d_model, saved->sizes.d_model);
    expect_same("--heads", o->given.heads, o->heads, saved->sizes.heads);
    expect_same("--context", reads && o->given.context, o->context, saved->sizes.context);
    if (reads && !o->given.text && o->given.steps && o->steps > 0) {
        heed_fail(HEED_ERR_VALUE, "--steps %lld: no --text FILE to train on", (long long)o->steps);
    }
    if (reads && !o->given.text && !o->given.prompt) {
        heed_fail(HEED_ERR_VALUE, "--load: nothing to do without --text FILE or --prompt TEXT");
    }
    if (reads && !o->given.text) {
        o->steps = 0;
        o->given.steps = true;
    }
    o->level = level;
    o->d_model = saved->sizes.d_model;
    o->heads = saved->sizes.heads;
    o->context = saved->sizes.context;
    o->given.level = o->given.d_model = o->given.heads = o->given.context = true;
}

static void settle_options(job *j, const saved_model *saved)
{
    options *o = &j->options;
    if (saved != NULL) {
        j->task = saved->task;
    } else if (!o->given.text) {
        j->task = TASK_TOY;
    } else {
        j->task = o->given.level && o->level == TEXT_WORD ? TASK_WORD : TASK_CHAR;
    }
    if (j->task == TASK_TOY && (o->given.level || o->given.context)) {
        heed_fail(HEED_ERR_VALUE, "%s: only with --text FILE; the toy has sentences of %d words",
                  o->given.level ? "--level" : "--context", TOY_LENGTH - 1);
    }
    if (saved != NULL) {
        take_from_model(j, saved);
    }
    options_complete(o, j->task);
    if (o->heads > 2 && o->d_model % o->heads != 0) {
        heed_fail(HEED_ERR_VALUE, "--d-model %lld: does not divide among --heads %lld",
                  (long long)o->d_model, (long long)o->heads);
    }
}

/* ---- what is learnt ---- */

static void take_toy(job *j, toy_language *language)
{
    toy_language_make(language, (uint64_t)j->options.seed);
    if (j->vocabulary.count == 0) {
        j->vocabulary = toy_vocabulary(language);
    }
    if (j->vocabulary.count != language->word_count) {
        heed_fail(HEED_ERR_VALUE, "--load: a toy of %lld words, not %d",
                  (long long)j->vocabulary.count, language->word_count);
    }
    j->learnt = toy_pieces(language->train, language->train_count);
    j->held_out = toy_pieces(language->held_out, language->held_out_count);
}

static void take_text(job *j)
{
    const options *o = &j->options;
    const text_level level = (text_level)o->level;
    text_buffer t = text_read(o->text);
    if (j->vocabulary.count == 0 && !heed_error_pending()) {
        j->vocabulary = vocabulary_of_text(level, t.bytes, t.length, VOCABULARY_LIMIT);
    }
    if (!heed_error_pending()) {
        j->text = vocabulary_encode(&j->vocabulary, t.bytes, t.length, NULL);
    }
    text_free(&t);
    const int64_t count = j->text.count, needed = o->context + 2;
    if (count < needed) {
        heed_fail(HEED_ERR_VALUE, "%s: too short: it has %lld %s%s; --context %lld needs %lld",
                  o->text, (long long)count, text_token_name(level), count == 1 ? "" : "s",
                  (long long)o->context, (long long)needed);
        return;
    }
    const int64_t held = count / 10 > o->context ? count / 10 : 0; /* room for one piece */
    j->learnt = pieces_of_text(j->text.ids, count - held, o->context);
    j->held_out = pieces_in_turn(j->text.ids + count - held, held, o->context, MEASURED);
}

static void take_prompt(job *j)
{
    const char *prompt = j->options.prompt;
    token_span unknown = {NULL, 0};
    if (prompt == NULL || !text_check("--prompt", prompt, strlen(prompt))) {
        return;
    }
    j->prompt = vocabulary_encode(&j->vocabulary, prompt, strlen(prompt), &unknown);
    if (unknown.bytes != NULL) {
        heed_fail(HEED_ERR_VALUE, "--prompt: '%.*s' is none of the model's %lld %ss",
                  unknown.length < 80 ? (int)unknown.length : 80, unknown.bytes,
                  (long long)(j->vocabulary.count - (j->vocabulary.unknown == 0)),
                  text_token_name(j->vocabulary.level));
    } else if (j->prompt.count == 0) {
        heed_fail(HEED_ERR_VALUE, "--prompt: empty; the model needs something to go on from");
    }
}

/* ---- outputs ---- */

static void check_outputs(const options *o)
{
    const path_use files[] = {
        {.flag = "--text", .path = o->text},
        {.flag = "--load", .path = o->load},
        {.flag = "--save", .path = o->save, .written = true, .replaces = "--load"},
        {.flag = "--logits", .path = o->logits, .written = true},
        {.flag = "--plot", .path = o->plot, .written = true, .device = true}};
    path_check_all(files, sizeof files / sizeof *files);
}

/* ---- all together ---- */

static void make_model(job *j)
{
    const options *o = &j->options;
    const model_sizes sizes = {j->vocabulary.count, o->context, o->d_model, (int)o->heads};
    if (o->steps > 0) {
        memory_check(model_step_bytes(sizes, o->batch), "--batch, --context or --d-model");
    }
    if (heed_error_pending()) {
        return;
    }
    heed_manual_seed((uint64_t)o->seed);
    j->model = model_new(sizes);
    if (o->load != NULL && !heed_error_pending()) {
        saved_load(o->load, j->model);
    }
}

heed_status job_prepare(job *j, const options *given, toy_language *language)
{
    *j = (job){.options = *given};
    if (given->load != NULL) {
        saved_model saved = saved_read(given->load);
        j->vocabulary = saved.vocabulary;
        if (!heed_error_pending()) {
            settle_options(j, &saved);
        }
    } else {
        settle_options(j, NULL);
    }
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    if (j->task == TASK_TOY) {
        take_toy(j, language);
    } else if (j->options.text != NULL) {
        take_text(j);
    }
    if (!heed_error_pending()) {
        take_prompt(j);
        check_outputs(&j->options);
        make_model(j);
    }
    return heed_error_pending();
}

void job_free(job *j)
{
    heed_module_free(j->model);
    vocabulary_free(&j->vocabulary);
    token_list_free(&j->text);
    token_list_free(&j->prompt);
    *j = (job){.task = TASK_TOY};
}

const int64_t *job_sample(const job *j, int64_t most, int64_t *count)
{
    const pieces *p = j->held_out.count > 0 ? &j->held_out : &j->learnt;
    most = most < j->options.context ? most : j->options.context;
    if (j->prompt.count > 0) {
        *count = j->prompt.count < most ? j->prompt.count : most;
        return j->prompt.ids + j->prompt.count - *count;
    }
    *count = p->length - 1 < most ? p->length - 1 : most;
    return p->tokens;
}
