/* From options to a run. Each step does nothing once one has failed. */
#include "examples/gpt/run.h"

#include <math.h>
#include <string.h>

#include "examples/common/memory.h"
#include "examples/common/paths.h"

/* ---- the settings ---- */

/* What may be another in a run that goes on. */
static bool may_differ(const flag_row *f)
{
    return strcmp(f->name, "steps") == 0 || strcmp(f->name, "patience") == 0;
}

/* Settings of the file, where the command line has none; it may repeat them. */
static void take_settings(gpt_run *run)
{
    gpt_train_options *o = &run->options;
    for (int i = 0; i < gpt_settings.count && !heed_error_pending(); i++) {
        const flag_row *f = &gpt_settings.flags[i];
        const flag_value kept = flags_text(f, &run->record.settings), asked = flags_text(f, o);
        if (!flags_given(f, o)) {
            flags_set(&gpt_settings, o, f->name, kept.text);
        } else if (strcmp(kept.text, asked.text) != 0 && !may_differ(f)) {
            heed_fail(HEED_ERR_VALUE, "%s %s: the run of --resume has %s, which stays",
                      flags_name(f).text, asked.text, kept.text);
        }
    }
    o->save = o->save != NULL ? o->save : o->resume;
}

static void settle(gpt_run *run)
{
    gpt_train_options *o = &run->options;
    if (o->resume != NULL && gpt_record_read(&run->record, "--resume", o->resume) == HEED_OK) {
        take_settings(run);
    }
    flags_complete(&gpt_train_flags, o, 0);
    if (o->text == NULL && o->resume == NULL) {
        heed_fail(HEED_ERR_VALUE, "no --text FILE to learn, nor --resume FILE to go on with");
    }
    gpt_options_settle(o);
    if (o->text == NULL) {
        o->text = run->record.text.bytes;
        if (o->text != NULL && *o->text == '\0') {
            heed_fail(HEED_ERR_VALUE,
                      "--resume: the name of its text is no UTF-8; add --text FILE");
        }
    } else {
        text_free(&run->record.text);
        text_append(&run->record.text, o->text, strlen(o->text) + 1);
    }
    run->record.settings = *o;
}

static void check_outputs(const gpt_train_options *o)
{
    const path_use files[] = {
        {.flag = "--text", .path = o->text},
        {.flag = "--resume", .path = o->resume},
        {.flag = "--save", .path = o->save, .written = true, .replaces = "--resume"},
        {.flag = "--best", .path = o->best, .written = true},
        {.flag = "--log", .path = o->log, .written = true, .device = true}};
    path_check_all(files, sizeof files / sizeof *files);
}

/* ---- the text ---- */

/* The text that was learnt so far must be the one that is gone on with. */
static void check_same_text(gpt_run *run)
{
    gpt_record *r = &run->record;
    const char *path = run->options.text;
    const int64_t length = (int64_t)run->text.length;
    const uint64_t hash = text_hash(run->text.bytes, run->text.length);
    if (run->options.resume == NULL) {
        r->text_length = length;
        r->text_hash = hash;
    } else if (r->text_length != length) {
        heed_fail(HEED_ERR_VALUE,
                  "--text: %s has %lld bytes, and the text of --resume had %lld: it is another one",
                  path, (long long)length, (long long)r->text_length);
    } else if (r->text_hash != hash) {
        heed_fail(HEED_ERR_VALUE, "--text: %s is not the text that --resume has learnt so far",
                  path);
    }
}

static void check_length(const gpt_run *run)
{
    const gpt_train_options *o = &run->options;
    const int64_t count = run->text.count;
    int64_t needed = o->context + 1;
    while (gpt_learnt(needed) <= o->context) {
        needed++;
    }
    if (count < needed) {
        heed_fail(HEED_ERR_VALUE, "%s: too short: it has %lld token%s; --context %lld needs %lld",
                  o->text, (long long)count, count == 1 ? "" : "s", (long long)o->context,
                  (long long)needed);
    } else if (run->validation.count == 0 && (o->best != NULL || o->patience > 0)) {
        heed_fail(
            HEED_ERR_VALUE,
            "%s: the last tenth of %s is shorter than --context %lld, so there is no validation "
            "loss; leave it out, or make --context smaller",
            o->best != NULL ? "--best" : "--patience", o->text, (long long)o->context);
    }
}

/* The path in a checkpoint may lead nowhere from here. */
static void say_where(const char *path)
{
    char message[512];
    if (heed_error_pending() == HEED_ERR_FILE) {
        heed_error();
        snprintf(message, sizeof message, "%s", heed_error_message());
        heed_fail(HEED_ERR_VALUE, "--resume: %s; --text FILE tells where %s is now", message, path);
    }
}

/* A text that is gone through for longer than one likes to wait without a word. */
static void announce(const corpus *text)
{
    const size_t large = 50000000;
    if (text->length > large) {
        fprintf(stderr, "reading %s, %zu MB\n", text->path, text->length / 1000000);
    }
}

static void take_text(gpt_run *run)
{
    gpt_train_options *o = &run->options;
    tokenizer *t = &run->record.tokenizer;
    if (corpus_open(&run->text, o->text) == HEED_OK) {
        announce(&run->text);
        check_same_text(run);
    } else if (!o->given.text) {
        say_where(o->text);
    }
    if (t->count == 0 && !heed_error_pending()) {
        *t = tokenizer_of_text((token_level)o->level, o->text, run->text.bytes, run->text.length,
                               o->vocab);
    }
    if (corpus_index(&run->text, t) == HEED_OK) {
        run->learnt = gpt_learnt(run->text.count);
        run->validation =
            gpt_windows_of(run->learnt, run->text.count - run->learnt, o->context, o->eval_windows);
        check_length(run);
    }
}

/* ---- all together ---- */

static void make_model(gpt_run *run)
{
    const gpt_train_options *o = &run->options;
    memory_check(gpt_step_bytes(o, run->record.tokenizer.count), "--batch, --context or --n-embd");
    if (heed_error_pending()) {
        return;
    }
    heed_manual_seed((uint64_t)o->seed);
    run->model = gpt_model_new(o, run->record.tokenizer.count);
    run->optimizer = run->model != NULL ? gpt_optimizer_new(run->model, o) : NULL;
    if (o->resume != NULL && !heed_error_pending()) {
        heed_load_checkpoint(run->model, run->optimizer, o->resume);
        flags_blame("--resume", HEED_ERR_VALUE);
        run->resumed = run->optimizer->steps;
    }
}

heed_status gpt_run_prepare(gpt_run *run, const gpt_train_options *given)
{
    *run = (gpt_run){.options = *given, .record = {.val_loss = (double)NAN, .best_loss = HUGE_VAL}};
    settle(run);
    check_outputs(&run->options);
    if (!heed_error_pending()) {
        take_text(run);
        make_model(run);
    }
    return heed_error_pending();
}

void gpt_run_free(gpt_run *run)
{
    heed_optimizer_free(run->optimizer);
    heed_module_free(run->model);
    corpus_close(&run->text);
    gpt_record_free(&run->record);
}

/* ---- on the way ---- */

bool gpt_run_look(gpt_run *run)
{
    gpt_record *r = &run->record;
    if (run->validation.count == 0) {
        return false;
    }
    const double loss = gpt_evaluate(run->model, &run->text, &run->validation, run->options.batch);
    if (heed_error_pending()) {
        return false;
    }
    r->val_loss = loss;
    r->since_best++;
    if (loss < r->best_loss) {
        r->best_loss = loss;
        r->best_step = run->optimizer->steps;
        r->since_best = 0;
    }
    return r->since_best == 0;
}

bool gpt_run_impatient(const gpt_run *run)
{
    return run->options.patience > 0 && run->record.since_best >= run->options.patience;
}

bool gpt_run_ended(const gpt_run *run)
{
    return run->optimizer->steps >= run->options.steps || gpt_run_impatient(run);
}
