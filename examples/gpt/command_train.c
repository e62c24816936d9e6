/* gpt train: what is seen, logged and saved while a run goes on. */
#include <math.h>
#include <signal.h>
#include <stdio.h>

#include "examples/common/console.h"
#include "examples/common/preflight.h"
#include "examples/common/progress.h"
#include "examples/gpt/commands.h"
#include "examples/gpt/log.h"
#include "examples/gpt/run.h"

typedef struct learner {
    gpt_run run;
    gpt_log log;
    progress progress;
    double last;   /* when the last step ended */
    int64_t saved; /* the step that the file of --save is of; -1: there is none */
} learner;

/* ---- before ---- */

static void describe(const learner *l)
{
    const gpt_run *run = &l->run;
    const gpt_record *r = &run->record;
    const heed_tensor_list parameters = heed_parameters(run->model);
    int64_t numbers = 0;
    for (int i = 0; i < parameters.count; i++) {
        numbers += parameters.tensors[i]->numel;
    }
    fprintf(stderr, "%lld tokens by %s, %lld different; %lld to learn, %lld for validation\n",
            (long long)run->text.count, token_level_name(r->tokenizer.level),
            (long long)r->tokenizer.count, (long long)run->learnt,
            (long long)(run->text.count - run->learnt));
    fprintf(stderr, "%lld parameters\n", (long long)numbers);
    if (run->validation.count == 0) {
        fprintf(stderr,
                "the last tenth is shorter than --context, so there is no validation loss\n");
    }
    if (run->resumed > 0) {
        fprintf(stderr, "goes on after step %lld\n", (long long)run->resumed);
    }
    if (run->options.save == NULL && run->options.best == NULL) {
        fprintf(stderr, "without --save FILE the model is gone at the end\n");
    }
}

static void open_log(learner *l)
{
    const gpt_train_options *o = &l->run.options;
    int64_t last = 0;
    if (o->log != NULL && !heed_error_pending() &&
        gpt_log_open(&l->log, o->log, l->run.resumed, &last) == HEED_OK && last < l->run.resumed) {
        fprintf(stderr,
                "gpt: --log: no rows of the steps %lld to %lld, which an earlier run took\n",
                (long long)last + 1, (long long)l->run.resumed);
    }
}

/* ---- while it trains ---- */

static void save(learner *l)
{
    gpt_run *run = &l->run;
    if (run->options.save != NULL && l->saved != run->optimizer->steps && !heed_error_pending() &&
        gpt_record_save(&run->record, run->model, run->optimizer, "--save", run->options.save) ==
            HEED_OK) {
        l->saved = run->optimizer->steps;
    }
}

static double tokens_of_step(const gpt_train_options *o)
{
    return (double)o->batch * (double)o->accumulate * (double)o->context;
}

static void show(learner *l, const gpt_step *now, bool looked)
{
    const gpt_run *run = &l->run;
    const int64_t step = run->optimizer->steps;
    const progress_facts facts = {.step = step,
                                  .steps = run->options.steps,
                                  .before = run->resumed,
                                  .loss = now->loss,
                                  .held_out = run->record.val_loss,
                                  .held_out_name = "validation",
                                  .tokens =
                                      (double)(step - run->resumed) * tokens_of_step(&run->options),
                                  .more = "",
                                  .brief = ""};
    progress_show(&l->progress, facts, looked);
}

/* A log that has no room ends the training, but takes no step away from it. */
static void log_row(learner *l, const gpt_step *now, double val_loss, double rate)
{
    char message[512];
    if (heed_error_pending() ||
        gpt_log_row(&l->log, l->run.optimizer->steps, now, val_loss, rate) == HEED_OK) {
        return;
    }
    const heed_status error = heed_error();
    snprintf(message, sizeof message, "%s", heed_error_message());
    save(l);
    heed_error();
    heed_fail(error, "%s", message);
}

/* A row is in the log before the run is saved, so that a run that goes on finds it there; and the
 * lowest loss is in its file before the run knows of it. */
static void keep(learner *l, const gpt_step *now)
{
    gpt_run *run = &l->run;
    const gpt_train_options *o = &run->options;
    const int64_t step = run->optimizer->steps;
    const double rate = tokens_of_step(o) / (progress_clock() - l->last);
    const bool looks = step % o->eval_every == 0 || step == o->steps;
    const bool best = looks && gpt_run_look(run);
    if (best && o->best != NULL && !heed_error_pending()) {
        gpt_record_save(&run->record, run->model, run->optimizer, "--best", o->best);
    }
    log_row(l, now, looks ? run->record.val_loss : (double)NAN, rate);
    if (!heed_error_pending()) {
        show(l, now, looks);
    }
    if (step % o->save_every == 0) {
        save(l);
    }
    l->last = progress_clock();
}

static void learn(learner *l)
{
    gpt_run *run = &l->run;
    l->progress = progress_begin(stderr);
    l->progress.every = run->options.log_every;
    l->last = progress_clock();
    while (!gpt_run_ended(run) && !interrupted() && !heed_error_pending()) {
        gpt_step now;
        if (gpt_take_step(run->model, run->optimizer, &run->options, &run->text, run->learnt,
                          &now) == HEED_OK) {
            keep(l, &now);
        }
    }
    save(l);
    progress_end(&l->progress);
}

/* ---- after ---- */

/* How the run is gone on with. */
static void say_how(const learner *l)
{
    const gpt_train_options *o = &l->run.options;
    if (o->save == NULL) {
        fprintf(stderr, "; there is no --save FILE, so it cannot be gone on with\n");
        return;
    }
    fprintf(stderr, "; to go on:\n  gpt train --resume %s%s%s%s%s\n", o->save,
            o->best != NULL ? " --best " : "", o->best != NULL ? o->best : "",
            o->log != NULL ? " --log " : "", o->log != NULL ? o->log : "");
}

static void sum_up(const learner *l)
{
    const gpt_run *run = &l->run;
    const gpt_record *r = &run->record;
    const int64_t steps = run->optimizer->steps;
    if (heed_error_pending()) {
        if (l->saved >= 0) {
            fprintf(stderr, "gpt: %s has the run as it was after step %lld\n", run->options.save,
                    (long long)l->saved);
        }
        return;
    }
    if (interrupted() && !gpt_run_ended(run)) {
        fprintf(stderr, "gpt: interrupted after step %lld of %lld", (long long)steps,
                (long long)run->options.steps);
        say_how(l);
        return;
    }
    if (steps == run->resumed && run->options.resume != NULL) {
        fprintf(stderr, "gpt: nothing was left to do; %s goes on\n",
                gpt_run_impatient(run) ? "a larger --patience" : "--steps N, more than before,");
    }
    if (gpt_run_impatient(run)) {
        fprintf(stderr,
                "gpt: stopped early, after step %lld: no lower validation loss in %lld looks\n",
                (long long)steps, (long long)r->since_best);
    }
    if (!isnan(r->val_loss)) {
        fprintf(stderr, "validation loss %.4f nats per token; lowest %.4f, after step %lld\n",
                r->val_loss, r->best_loss, (long long)r->best_step);
    }
}

int gpt_train(int argc, char **argv)
{
    gpt_train_options o = {.text = NULL};
    learner l = {.saved = -1};
    int status = 0;
    if (!gpt_begin(&gpt_train_flags, &o, argc, argv, &status)) {
        return status;
    }
    gpt_run_prepare(&l.run, &o);
    open_log(&l);
    const bool ready = !heed_error_pending();
    if (ready) {
        l.saved = path_same(l.run.options.save, o.resume) ? l.run.resumed : -1;
        signal(SIGPIPE, SIG_IGN); /* who watches may go; the training stays */
        interrupt_catch();
        describe(&l);
        learn(&l);
        sum_up(&l);
    }
    status = gpt_end(ready);
    gpt_log_close(&l.log);
    gpt_run_free(&l.run);
    return status;
}
