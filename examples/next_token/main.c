/* Trains a next-token model, on the toy or on a text of one's own, and shows what it has learned.
 * `make demo` runs it on the toy: to foresee the word after *it*, look back at what *it* is.
 *
 *     build/next_token [--text FILE] [--FLAG VALUE] ...        build/next_token --help
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "examples/common/console.h"
#include "examples/common/progress.h"
#include "examples/next_token/job.h"
#include "examples/next_token/plot.h"
#include "examples/next_token/saved.h"
#include "examples/next_token/write.h"

static const char program[] = "next_token";
static const char needs_less[] = "--batch, --context or --d-model";

/* ---- while it trains ---- */

typedef struct watcher {
    const job *job;
    const toy_language *language;
    progress progress;
    curve learnt, held_out;
    int64_t steps_done;
    double last_loss, last_held_out, lowest_held_out;
    int64_t lowest_step;
    char more[80], brief[60];
} watcher;

static void look_at_toy(watcher *w, struct token_model *m)
{
    toy_score score = toy_evaluate(m, w->language->held_out, w->language->held_out_count);
    snprintf(w->more, sizeof w->more,
             "after *it*: %5.1f %% right   attention on the subject: "
             "%5.1f %%",
             100 * score.accuracy, 100 * score.attention);
    snprintf(w->brief, sizeof w->brief, "right %3.0f %%  attention %3.0f %%", 100 * score.accuracy,
             100 * score.attention);
}

static bool watch(void *context, struct token_model *m, const train_state *now)
{
    watcher *w = context;
    const options *o = &w->job->options;
    const bool toy = w->job->task == TASK_TOY;
    w->steps_done = now->step;
    w->last_loss = now->loss;
    curve_add(&w->learnt, now->step, now->loss);
    if (now->measured) {
        w->last_held_out = now->held_out;
        if (!isnan(now->held_out)) {
            curve_add(&w->held_out, now->step, now->held_out);
        }
        if (now->held_out < w->lowest_held_out) {
            w->lowest_held_out = now->held_out;
            w->lowest_step = now->step;
        }
        if (toy) {
            look_at_toy(w, m);
        }
    }
    progress_facts facts = {.step = now->step,
                            .steps = o->steps,
                            .loss = now->loss,
                            .held_out = toy ? (double)NAN : w->last_held_out,
                            .tokens = (double)now->step * (double)o->batch *
                                      (double)(w->job->learnt.length - 1),
                            .more = w->more,
                            .brief = w->brief};
    progress_show(&w->progress, facts, now->measured);
    return !interrupted();
}

static void learn(watcher *w)
{
    const job *j = w->job;
    const train_options training = {j->options.steps, j->options.batch, j->options.lr};
    w->progress = progress_begin(stderr);
    w->last_held_out = (double)NAN;
    w->lowest_held_out = HUGE_VAL;
    w->learnt = curve_begin(training.steps);
    w->held_out = curve_begin(TRAIN_MEASUREMENTS);
    train(j->model, &j->learnt, &j->held_out, &training, watch, w);
    progress_end(&w->progress);
    if (j->task != TASK_TOY && w->last_loss < w->lowest_held_out &&
        w->last_held_out > 1.02 * w->lowest_held_out) {
        fprintf(stderr,
                "next_token: learnt by heart: the held-out loss was lowest, %.3f, after step %lld; "
                "fewer --steps or a longer text would do better\n",
                w->lowest_held_out, (long long)w->lowest_step);
    }
}

/* ---- what comes of it ---- */

static void draw(const watcher *w)
{
    const job *j = w->job;
    char title[160];
    const char *names[PLOT_TOKENS];
    int64_t count = 0;
    const int64_t *tokens = job_sample(j, PLOT_TOKENS, &count);
    for (int64_t i = 0; i < count; i++) {
        names[i] = vocabulary_token(&j->vocabulary, tokens[i]);
    }
    const char *of = j->options.text != NULL ? j->options.text
                     : j->task == TASK_TOY   ? "the toy"
                                             : j->options.load;
    const char *slash = strrchr(of, '/');
    snprintf(title, sizeof title, "next_token: %.100s, %lld steps", slash != NULL ? slash + 1 : of,
             (long long)w->steps_done);
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    plot_write(j->options.plot, title, &w->learnt, &w->held_out,
               model_attention(j->model, tokens, count), names);
    heed_scope_end(&scope);
}

/* The prompt, or else the beginning of what is held out; and what the model adds to it. */
static void write_text(const job *j)
{
    const options *o = &j->options;
    const write_options writing = {o->length, o->temperature,
                                   j->task == TASK_TOY ? 0 /* <eos> */ : VOCABULARY_NONE};
    token_list tokens = {.count = 0};
    int64_t count = j->prompt.count;
    const int64_t *start = count > 0 ? j->prompt.ids : job_sample(j, INT64_MAX, &count);
    for (int64_t i = 0; i < count; i++) {
        token_list_add(&tokens, start[i]);
    }
    if (!heed_error_pending()) {
        heed_manual_seed((uint64_t)o->seed); /* the same words, however the model came about */
        text_joint joint = write_start(stdout, &j->vocabulary, &tokens, o->prompt);
        write_on(stdout, j->model, &j->vocabulary, &tokens, joint, writing);
        fputc('\n', stdout);
    }
    token_list_free(&tokens);
}

static void show_before(const job *j, const toy_language *language)
{
    printf("%d sentences to learn from, %d held out; %d words\n", language->train_count,
           language->held_out_count, language->word_count);
    toy_show_attention(stdout, j->model, language, &language->held_out[0],
                       j->options.steps > 0 ? "Before training" : "Attention");
    printf("\n");
}

static void show_after(const job *j, const toy_language *language)
{
    if (j->options.steps > 0) {
        toy_show_attention(stdout, j->model, language, &language->held_out[0], "After training");
    }
    toy_show_writing(stdout, j->model, language, &j->vocabulary, j->options.temperature);
    if (j->options.prompt != NULL) {
        printf("\n");
    }
}

/* The model is safe before anything is shown of it. */
static heed_status keep(const watcher *w)
{
    const job *j = w->job;
    if (j->options.save != NULL) {
        saved_write(j->options.save, j->model, j->task, &j->vocabulary);
    }
    if (j->options.logits != NULL) {
        int64_t count = 0;
        const int64_t *tokens = job_sample(j, INT64_MAX, &count);
        saved_write_logits(j->options.logits, j->model, tokens, count);
    }
    if (j->options.plot != NULL) {
        draw(w);
    }
    if (interrupted() && !heed_error_pending()) {
        fprintf(stderr, "next_token: interrupted after step %lld of %lld%s%s\n",
                (long long)w->steps_done, (long long)j->options.steps,
                j->options.save != NULL ? "; the model is in " : "",
                j->options.save != NULL ? j->options.save : "");
    }
    return heed_error_pending();
}

/* ---- all together ---- */

static heed_status run(const job *j, const toy_language *language)
{
    watcher w = {.job = j, .language = language};
    const bool toy = j->task == TASK_TOY;
    interrupt_catch();
    if (toy) {
        show_before(j, language);
    }
    if (!console_flush() && j->options.save == NULL && j->options.logits == NULL &&
        j->options.plot == NULL) {
        return HEED_OK; /* nobody is there to see the rest */
    }
    if (j->options.steps > 0) {
        learn(&w);
    } else if (!toy && j->held_out.count > 0) {
        fprintf(stderr, "held-out loss %.3f nats per token\n",
                pieces_loss(j->model, &j->held_out, j->options.batch));
    }
    if (keep(&w) != HEED_OK || interrupted()) {
        return heed_error_pending();
    }
    if (toy) {
        show_after(j, language);
    }
    if (!toy || j->options.prompt != NULL) {
        write_text(j);
    }
    return heed_error_pending();
}

int main(int argc, char **argv)
{
    static toy_language language; /* too large for a stack */
    job j = {.task = TASK_TOY};
    console_hold();
    if (*heed_isa() == '\0') {
        return console_complain(program, needs_less, 1); /* HEED_ISA asks for what there is not */
    }
    const options o = options_read(argc, argv);
    if (o.help) {
        options_help(stdout);
        return console_finish(program);
    }
    /* Until the training begins, what is wrong is wrong with what was asked for. */
    const bool ready = !heed_error_pending() && job_prepare(&j, &o, &language) == HEED_OK;
    if (ready) {
        run(&j, &language);
    }
    const heed_status error = heed_error_pending();
    job_free(&j);
    if (error != HEED_OK) {
        return console_complain(program, needs_less, ready || error == HEED_ERR_MEMORY ? 1 : 2);
    }
    return console_finish(program);
}
