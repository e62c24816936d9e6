/* gpt train: windows, evaluation and steps; new and resumed runs; and the command that
 * combines them. Checkpoints are in checkpoint.c. */
#include "examples/lab/gpt/train.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/preflight.h"
#include "examples/lab/common/report.h"
#include "examples/lab/gpt/quiz.h"
#include "examples/lab/gpt/sample.h"

/* ---- windows ---- */

int64_t gpt_train_tokens(int64_t tokens)
{
    return (int64_t)(0.9 * (double)tokens);
}

gpt_windows gpt_windows_of(int64_t first, int64_t count, int64_t context, int64_t most)
{
    const int64_t all = count > 0 ? (count - 1) / context : 0;
    const int64_t every = all > most ? all / most : 1;
    return (gpt_windows){first, every * context, all > most ? most : all};
}

/* ---- evaluation ---- */

/* The mean loss of the pieces that begin at these tokens, over all positions. */
static heed_tensor *loss_at(struct gpt *m, const token_list *tokens, const int64_t *starts,
                            int64_t count)
{
    const int64_t context = m->config.block_size, length = context + 1;
    heed_tensor *pieces = heed_empty(HEED_SHAPE(count, length), HEED_I64);
    int64_t *ids = heed_data_i64(pieces);
    for (int64_t i = 0; i < count && !heed_error_pending(); i++) {
        memcpy(ids + i * length, tokens->ids + starts[i], (size_t)length * sizeof *ids);
    }
    return gpt_loss(m, heed_narrow(pieces, 1, 0, context), heed_narrow(pieces, 1, 1, context));
}

double gpt_evaluate(struct gpt *m, const token_list *tokens, const gpt_windows *windows,
                    int64_t batch)
{
    const bool training = m->module.training;
    double sum = 0;
    heed_eval(m);
    for (int64_t done = 0; done < windows->count && !heed_error_pending(); done += batch) {
        const int64_t left = windows->count - done, count = left < batch ? left : batch;
        HEED_SCOPE_NO_GRAD(scope);
        heed_tensor *starts = heed_empty(HEED_SHAPE(count), HEED_I64);
        int64_t *start = heed_data_i64(starts);
        for (int64_t i = 0; start != NULL && i < count; i++) {
            start[i] = windows->first + (done + i) * windows->apart;
        }
        sum += (double)count * heed_item(loss_at(m, tokens, start, count));
    }
    if (training) {
        heed_train(m);
    }
    return windows->count > 0 ? sum / (double)windows->count : (double)NAN;
}

/* ---- a run: its settings ---- */

/* Takes the settings from the file. The command line may repeat all of them, but change only
 * --steps. */
static void take_settings(gpt_run *run)
{
    gpt_train_options *o = &run->options;
    for (int i = 0; i < gpt_settings.count && !heed_error_pending(); i++) {
        const flag_row *f = &gpt_settings.flags[i];
        const gpt_train_options *kept = &run->record.settings;
        const flag_value is = flags_rounded(f, kept), asked = flags_rounded(f, o);
        if (flags_given(f, o) && strcmp(f->name, "steps") == 0) {
            continue;
        }
        if (flags_given(f, o) && strcmp(is.text, asked.text) != 0) {
            heed_fail(HEED_ERR_VALUE, "%s %s: the run of --resume has %s, which cannot change",
                      flags_name(f).text, asked.text, is.text);
        } else {
            flags_set(&gpt_settings, o, f->name, flags_text(f, kept).text);
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
    flags_complete(&gpt_train_flags, o);
    if (o->text == NULL && o->resume == NULL) {
        heed_fail(HEED_ERR_VALUE, "no --text FILE to train on, and no --resume FILE to continue");
    }
    gpt_options_settle(o);
    if (o->text == NULL) {
        o->text = run->record.text.bytes;
    } else {
        text_free(&run->record.text);
        text_append(&run->record.text, o->text, strlen(o->text) + 1);
    }
    run->record.settings = *o;
}

static bool saves_in_place(const gpt_train_options *o)
{
    return o->save != NULL && o->resume != NULL && strcmp(o->save, o->resume) == 0;
}

/* A resumed run replaces or continues its files. */
static void check_outputs(const gpt_train_options *o)
{
    const bool resumed = o->resume != NULL;
    path_check("--save", o->save, o->force || saves_in_place(o));
    path_check("--best", o->best, o->force || resumed);
    path_check("--log", o->log, o->force || resumed);
    path_check("--report", o->report, o->force || resumed);
}

/* ---- a run: its text ---- */

/* A resumed run needs the text that it began with. */
static void check_same_text(gpt_run *run)
{
    const uint64_t hash = text_hash(run->text.bytes, run->text.length);
    if (run->options.resume == NULL) {
        run->record.text_hash = hash;
    } else if (run->record.text_hash != hash) {
        heed_fail(HEED_ERR_VALUE, "--text: %s is not the text of --resume", run->options.text);
    }
}

static void check_length(const gpt_run *run)
{
    const gpt_train_options *o = &run->options;
    const int64_t count = run->tokens.count;
    int64_t needed = o->context + 1;
    while (gpt_train_tokens(needed) <= o->context) {
        needed++;
    }
    if (count < needed) {
        heed_fail(HEED_ERR_VALUE, "%s: too short: it has %lld token%s; --context %lld needs %lld",
                  o->text, (long long)count, count == 1 ? "" : "s", (long long)o->context,
                  (long long)needed);
    }
}

static void take_text(gpt_run *run)
{
    gpt_train_options *o = &run->options;
    tokenizer *t = &run->record.tokenizer;
    run->text = text_read(o->text);
    if (!heed_error_pending()) {
        check_same_text(run);
    }
    if (t->count == 0 && !heed_error_pending()) {
        *t = tokenizer_of_text((token_level)o->level, o->text, run->text.bytes, run->text.length,
                               o->vocab);
    }
    run->tokens = tokenizer_encode(t, o->text, run->text.bytes, run->text.length);
    if (!heed_error_pending()) {
        run->train_tokens = gpt_train_tokens(run->tokens.count);
        run->validation = gpt_windows_of(run->train_tokens, run->tokens.count - run->train_tokens,
                                         o->context, o->eval_windows);
        check_length(run);
    }
}

/* ---- a run ---- */

/* AdamW with weight decay for matrices. */
static heed_optimizer *new_optimizer(struct gpt *m, const gpt_train_options *o)
{
    return heed_adamw_new(heed_parameters(m), o->lr, o->weight_decay, .betas = {0.9, 0.99},
                          .decay_matrices_only = true);
}

static void make_model(gpt_run *run)
{
    const gpt_train_options *o = &run->options;
    heed_manual_seed((uint64_t)o->seed);
    run->model = gpt_model_new(o, run->record.tokenizer.count);
    run->optimizer = run->model != NULL ? new_optimizer(run->model, o) : NULL;
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
    text_free(&run->text);
    token_list_free(&run->tokens);
    gpt_record_free(&run->record);
}

/* ---- a run: its steps ---- */

heed_status gpt_run_step(gpt_run *run, gpt_step *step)
{
    const gpt_train_options *o = &run->options;
    heed_optimizer *optimizer = run->optimizer;
    HEED_SCOPE(scope);
    step->lr = heed_warmup_cosine_lr(optimizer->steps, o->lr, o->warmup, o->steps, o->min_lr);
    heed_optimizer_zero_grad(optimizer);
    heed_tensor *starts = heed_randint(0, run->train_tokens - o->context, HEED_SHAPE(o->batch));
    heed_tensor *loss = loss_at(run->model, &run->tokens, heed_data_i64(starts), o->batch);
    heed_backward(loss);
    step->loss = heed_item(loss);
    step->grad_norm =
        heed_clip_grad_norm(heed_parameters(run->model), o->clip > 0 ? o->clip : (double)INFINITY);
    if (!heed_error_pending() && !(isfinite(step->loss) && isfinite(step->grad_norm))) {
        /* fabs: a NaN is printed without a sign */
        heed_fail(HEED_ERR_VALUE,
                  "the loss is %g at step %lld, with a gradient norm of %g; try a lower --lr, "
                  "a longer --warmup or a smaller --clip",
                  fabs(step->loss), (long long)optimizer->steps + 1, fabs(step->grad_norm));
    }
    optimizer->lr = step->lr;
    return heed_optimizer_step(optimizer);
}

bool gpt_run_validate(gpt_run *run)
{
    gpt_record *r = &run->record;
    if (run->validation.count == 0) {
        return false;
    }
    const double loss =
        gpt_evaluate(run->model, &run->tokens, &run->validation, run->options.batch);
    if (heed_error_pending()) {
        return false;
    }
    r->val_loss = loss;
    if (loss < r->best_loss) {
        r->best_loss = loss;
        r->best_step = run->optimizer->steps;
    }
    return r->best_step == run->optimizer->steps;
}

bool gpt_run_ended(const gpt_run *run)
{
    return run->optimizer->steps >= run->options.steps;
}

/* ---- the command: before training ---- */

typedef struct learner {
    gpt_run run;
    quiz quiz;
    heed_watch *watch;
    const char *shown[3 + QUIZ_MOST_KINDS + 1];
    report *report;
    int64_t seen[REPORT_TOKENS], seen_count; /* the tokens whose attention the report shows */
    text_buffer spelling;
    const char *labels[REPORT_TOKENS];
    double last; /* time at the end of the last step */
} learner;

static void describe(const learner *l)
{
    const gpt_run *run = &l->run;
    const gpt_record *r = &run->record;
    const heed_tensor_list parameters = heed_parameters(run->model);
    int64_t numbers = 0;
    for (int i = 0; i < parameters.count; i++) {
        numbers += parameters.tensors[i]->numel;
    }
    fprintf(stderr, "%lld tokens by %s, %lld different; %lld for training, %lld for validation\n",
            (long long)run->tokens.count, token_level_name(r->tokenizer.level),
            (long long)r->tokenizer.count, (long long)run->train_tokens,
            (long long)(run->tokens.count - run->train_tokens));
    fprintf(stderr, "%lld parameters\n", (long long)numbers);
    if (run->validation.count == 0) {
        fprintf(stderr,
                "the last tenth is shorter than --context, so there is no validation loss\n");
    }
    if (run->resumed > 0) {
        fprintf(stderr, "resuming after step %lld\n", (long long)run->resumed);
    }
    if (run->options.save == NULL && run->options.best == NULL) {
        fprintf(stderr, "no --save FILE: the model will not be saved\n");
    }
}

static double tokens_of_step(const gpt_train_options *o)
{
    return (double)o->batch * (double)o->context;
}

/* Columns of a log, before one for each kind of question. char_gpt.py writes the same. */
static const char *const columns[] = {"loss", "val_loss", "lr", "grad_norm", "tokens_per_second"};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* The watch's names: columns, then kinds. */
static void name_values(learner *l)
{
    for (int i = 0; i < COLUMNS; i++) {
        heed_watch_value(l->watch, columns[i], (double)NAN);
    }
    for (int kind = 0; kind < l->quiz.kind_count; kind++) {
        heed_watch_value(l->watch, l->quiz.kinds[kind].name, (double)NAN);
    }
}

static void begin_watch(learner *l)
{
    const gpt_train_options *o = &l->run.options;
    if (heed_error_pending()) {
        return;
    }
    memcpy(l->shown, (const char *[]){"loss", "val_loss", "tokens_per_second"},
           3 * sizeof *l->shown);
    for (int i = 0; i < l->quiz.kind_count; i++) {
        l->shown[3 + i] = l->quiz.kinds[i].name;
    }
    l->watch = heed_watch_new(.steps = o->steps, .resumed = l->run.resumed, .csv = o->log,
                              .replace = o->force || o->resume != NULL, .terminal = stderr,
                              .every = o->log_every, .shown = l->shown);
    if (flags_blame("log", HEED_ERR_VALUE) == HEED_OK) {
        name_values(l);
    }
}

static void keep_weights(struct gpt *m, bool keep)
{
    for (int layer = 0; layer < m->config.n_layer; layer++) {
        gpt_block_at(m, layer)->attn->keep_weights = keep;
    }
}

/* Modules cannot be changed while an error is pending, such as that of a failed forward. */
static void train_on(struct gpt *m)
{
    char message[512];
    const heed_status error = heed_error();
    snprintf(message, sizeof message, "%s", heed_error_message());
    keep_weights(m, false);
    heed_train(m);
    if (error != HEED_OK) {
        heed_fail(error, "%s", message);
    }
}

/* The weights (layers, heads, T, T) over the tokens of the report. */
static heed_tensor *attention(void *context)
{
    const learner *l = context;
    struct gpt *m = l->run.model;
    if (heed_error_pending()) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    heed_eval(m);
    keep_weights(m, true);
    gpt_forward(m, heed_from_i64(l->seen, HEED_SHAPE(1, l->seen_count)));
    train_on(m);
    heed_tensor *all = NULL;
    for (int layer = 0; layer < m->config.n_layer && !heed_error_pending(); layer++) {
        heed_tensor *one = gpt_block_at(m, layer)->attn->attention_percent;
        all = layer == 0 ? one : heed_cat((heed_tensor *[]){all, one}, 2, 0);
    }
    return heed_scope_keep(&scope, all);
}

/* The last tokens of the prompt, or else the first of the validation part. */
static void choose_tokens(learner *l)
{
    const gpt_run *run = &l->run;
    const tokenizer *t = &run->record.tokenizer;
    const int64_t context = run->options.context;
    const int64_t most = context < REPORT_TOKENS ? context : REPORT_TOKENS;
    const bool prompted = run->options.prompt != NULL;
    size_t starts[REPORT_TOKENS];
    token_list prompt = {.count = 0};
    if (prompted) {
        prompt = gpt_prompt(t, run->options.prompt);
    }
    const int64_t *ids = prompted ? prompt.ids : run->tokens.ids + run->train_tokens;
    const int64_t count = prompted ? prompt.count : run->tokens.count - run->train_tokens;
    l->seen_count = count < most ? count : most;
    ids += prompted ? count - l->seen_count : 0;
    for (int64_t i = 0; i < l->seen_count; i++) {
        l->seen[i] = ids[i];
        starts[i] = l->spelling.length;
        tokenizer_decode(t, ids[i], &l->spelling);
        text_append(&l->spelling, "", 1);
    }
    for (int64_t i = 0; i < l->seen_count && !heed_error_pending(); i++) {
        l->labels[i] = l->spelling.bytes + starts[i];
    }
    token_list_free(&prompt);
}

static void begin_report(learner *l)
{
    const gpt_train_options *o = &l->run.options;
    if (o->report == NULL || heed_error_pending()) {
        return;
    }
    choose_tokens(l);
    l->report = report_new((report_options){.path = o->report,
                                            .program = "gpt train",
                                            .watch = l->watch,
                                            .steps = o->steps,
                                            .attention = attention,
                                            .context = l,
                                            .tokens = l->labels,
                                            .token_count = l->seen_count});
    report_flags(l->report, &gpt_train_flags, o);
}

/* ---- the command: training ---- */

static void save_run(learner *l)
{
    gpt_run *run = &l->run;
    if (run->options.save != NULL && !heed_error_pending()) {
        gpt_record_save(&run->record, run->model, run->optimizer, "--save", run->options.save);
    }
}

static void ask(learner *l)
{
    if (l->quiz.count > 0) {
        quiz_ask(&l->quiz, l->run.model);
    }
}

static void put_sample(learner *l, const text_buffer *sample)
{
    heed_watch_pause(l->watch);
    printf("--------------- step %lld\n", (long long)l->run.optimizer->steps);
    console_put(stdout, sample->bytes, sample->length - 1, isatty(STDOUT_FILENO));
    putchar('\n');
    console_flush();
}

/* Values of a step, after it has been validated. */
static void record(learner *l, const gpt_step *now, bool validated, double rate)
{
    heed_watch *w = l->watch;
    report_value(l->report, w, "loss", now->loss);
    report_value(l->report, w, "lr", now->lr);
    report_value(l->report, w, "grad_norm", now->grad_norm);
    report_value(l->report, w, "tokens_per_second", round(rate));
    if (validated && l->run.validation.count > 0) {
        report_value(l->report, w, "val_loss", l->run.record.val_loss);
    }
    for (int i = 0; validated && i < l->quiz.kind_count; i++) {
        const quiz_kind *kind = &l->quiz.kinds[i];
        report_value(l->report, w, kind->name, (double)kind->right / (double)kind->questions);
    }
    heed_watch_step(w);
}

/* The best model is saved before the run records that it exists. */
static void after_step(learner *l, const gpt_step *now)
{
    gpt_run *run = &l->run;
    const gpt_train_options *o = &run->options;
    const int64_t step = run->optimizer->steps;
    const double rate = tokens_of_step(o) / (console_clock() - l->last);
    const bool validates = step % o->eval_every == 0 || step == o->steps;
    const bool best = validates && gpt_run_validate(run);
    if (best && o->best != NULL && !heed_error_pending()) {
        gpt_record_save(&run->record, run->model, run->optimizer, "--best", o->best);
    }
    const bool prints = o->sample_every > 0 && step % o->sample_every == 0;
    const bool samples = prints || (l->report != NULL && validates);
    text_buffer sample = {.length = 0};
    if (validates) {
        ask(l);
    }
    if (samples) {
        sample = gpt_sample_text(run->model, &run->record.tokenizer, o->prompt);
        report_text(l->report, step, sample.bytes, sample.length - 1);
    }
    record(l, now, validates, rate);
    report_step(l->report);
    if (prints && !heed_error_pending()) {
        put_sample(l, &sample);
    }
    text_free(&sample);
    if (step % o->save_every == 0 && step < o->steps) {
        save_run(l);
    }
    l->last = console_clock();
}

static void learn(learner *l)
{
    gpt_run *run = &l->run;
    l->last = console_clock();
    while (!gpt_run_ended(run) && !interrupted() && !heed_error_pending()) {
        gpt_step now;
        if (gpt_run_step(run, &now) == HEED_OK) {
            after_step(l, &now);
        }
    }
    save_run(l);
    report_end(l->report, heed_error_pending() ? "failed"
                          : gpt_run_ended(run) ? "finished"
                                               : "interrupted");
    l->report = NULL;
    heed_watch_free(l->watch);
    l->watch = NULL;
}

/* ---- the command: after training ---- */

static void sum_up(const learner *l)
{
    const gpt_run *run = &l->run;
    const gpt_record *r = &run->record;
    const int64_t steps = run->optimizer->steps;
    if (heed_error_pending()) {
        return;
    }
    if (interrupted() && !gpt_run_ended(run)) {
        fprintf(stderr, "gpt: interrupted after step %lld of %lld; %s\n", (long long)steps,
                (long long)run->options.steps,
                run->options.save != NULL ? "--resume FILE continues it" : "it was not saved");
        return;
    }
    if (steps == run->resumed && run->options.resume != NULL) {
        fprintf(stderr, "gpt: nothing left to do; increase --steps to continue\n");
    }
    if (!isnan(r->val_loss)) {
        fprintf(stderr, "validation loss %.4f nats per token; lowest %.4f, after step %lld\n",
                r->val_loss, r->best_loss, (long long)r->best_step);
    }
    if (l->quiz.count > 0) {
        quiz_print(&l->quiz, stderr);
    }
}

int gpt_train(int argc, char **argv)
{
    gpt_train_options o = {.text = NULL};
    learner l = {.last = 0};
    int status = 0;
    if (!gpt_begin(&gpt_train_flags, &o, argc, argv, &status)) {
        return status;
    }
    gpt_run_prepare(&l.run, &o);
    if (o.quiz != NULL) {
        quiz_open(&l.quiz, o.quiz, &l.run.record.tokenizer);
    }
    if (o.given.sample_every || o.report != NULL || o.prompt != NULL) {
        token_list tokens = gpt_prompt(&l.run.record.tokenizer, o.prompt);
        token_list_free(&tokens);
    }
    begin_watch(&l);
    begin_report(&l);
    const bool ready = !heed_error_pending();
    if (ready) {
        signal(SIGPIPE, SIG_IGN); /* training continues without a reader */
        interrupt_catch();
        describe(&l);
        learn(&l);
        sum_up(&l);
    }
    status = gpt_end(ready);
    report_end(l.report, "failed"); /* if memory ran out before the first step */
    heed_watch_free(l.watch);
    text_free(&l.spelling);
    quiz_close(&l.quiz);
    gpt_run_free(&l.run);
    return status;
}
