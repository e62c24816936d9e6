/* Trains a next-token model, on the toy language or on your own text, and shows what it has
 * learned. `make demo` runs it on the toy language: predicting the word after *it* requires
 * attending to the noun that *it* refers to. setup.c reads the options and the data, train.c
 * trains.
 *
 *     build/next_token [--text FILE] [--FLAG VALUE] ...        build/next_token --help
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/report.h"
#include "examples/lab/next_token/setup.h"
#include "examples/lab/next_token/write.h"

static const char program[] = "next_token";

/* ---- recorded values ---- */

typedef struct watcher {
    const setup *setup;
    const toy_language *language;
    heed_watch *watch; /* NULL: no training */
    report *report;    /* or NULL */
    double lowest_held_out;
    int64_t lowest_step;
} watcher;

static heed_watch *begin_watch(const setup *s)
{
    /* The toy's held-out sentences are also scored, which says more than their loss. */
    static const char *const of_toy[] = {"loss", "accuracy", "attention", NULL};
    const options *o = &s->options;
    heed_watch *w = heed_watch_new(
        (heed_watch_options){.steps = o->steps,
                             .csv = o->log,
                             .terminal = stderr,
                             .every = o->log_every,
                             .shown = s->task == TASK_TOY ? of_toy : NULL,
                             .unit = "tokens",
                             .per_step = (double)o->batch * (double)(s->training.length - 1)});
    heed_watch_name(w, "loss");
    heed_watch_name(w, "val_loss");
    for (int i = 1; s->task == TASK_TOY && i <= 2; i++) {
        heed_watch_name(w, of_toy[i]);
    }
    return w;
}

/* Prints the prompt, or else the start of the held-out part, and the model's continuation. */
static void write_text(const setup *s, FILE *stream, int64_t most)
{
    const options *o = &s->options;
    const write_options writing = {most, o->temperature,
                                   s->task == TASK_TOY ? 0 /* <eos> */ : VOCABULARY_NONE};
    token_list tokens = {.count = 0};
    int64_t count = s->prompt.count;
    const int64_t *start = count > 0 ? s->prompt.ids : setup_sample(s, INT64_MAX, &count);
    for (int64_t i = 0; i < count; i++) {
        token_list_add(&tokens, start[i]);
    }
    if (!heed_error_pending()) {
        heed_manual_seed((uint64_t)o->seed); /* same text from trained and loaded models */
        text_joint joint = write_start(stream, &s->vocabulary, &tokens, o->prompt);
        write_on(stream, s->model, &s->vocabulary, &tokens, joint, writing);
        fputc('\n', stream);
    }
    token_list_free(&tokens);
}

/* ---- the report ---- */

/* The attention over the sample, (1, heads, T, T). */
static heed_tensor *attention(void *context)
{
    const setup *s = context;
    int64_t count = 0;
    const int64_t *tokens = setup_sample(s, REPORT_TOKENS, &count);
    return heed_unsqueeze(model_attention(s->model, tokens, count), 0);
}

static report *begin_report(const setup *s, heed_watch *w)
{
    const char *names[REPORT_TOKENS];
    int64_t count = 0;
    const int64_t *tokens = setup_sample(s, REPORT_TOKENS, &count);
    if (s->options.report == NULL || heed_error_pending()) {
        return NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        names[i] = vocabulary_token(&s->vocabulary, tokens[i]);
    }
    report *r = report_new((report_options){.path = s->options.report,
                                            .program = program,
                                            .model = s->model,
                                            .watch = w,
                                            .steps = s->options.steps,
                                            .attention = attention,
                                            .context = (void *)s,
                                            .tokens = names,
                                            .token_count = count});
    report_flags(r, options_flags, &s->options);
    return r;
}

/* Adds a sample; the random numbers of training are unaffected. */
static void report_sample(const watcher *w, int64_t step)
{
    enum { MOST = 100 };
    const int64_t length = w->setup->options.length;
    const heed_generator before = heed_get_generator();
    char *text = NULL;
    size_t size = 0;
    FILE *stream = w->report != NULL ? open_memstream(&text, &size) : NULL;
    if (stream != NULL) {
        write_text(w->setup, stream, length < MOST ? length : MOST);
        fclose(stream);
        report_text(w->report, step, "sample", text, size);
        free(text);
    }
    heed_set_generator(&before);
}

/* ---- while it trains ---- */

static bool watch(void *context, struct token_model *m, const train_state *now)
{
    watcher *w = context;
    heed_watch_value(w->watch, "loss", now->loss);
    if (now->measured && !isnan(now->held_out)) {
        heed_watch_value(w->watch, "val_loss", now->held_out);
        if (now->held_out < w->lowest_held_out) {
            w->lowest_held_out = now->held_out;
            w->lowest_step = now->step;
        }
    }
    if (now->measured && w->setup->task == TASK_TOY) {
        const toy_score score = toy_evaluate(m, w->language->held_out, w->language->held_out_count);
        heed_watch_value(w->watch, "accuracy", score.accuracy);
        heed_watch_value(w->watch, "attention", score.attention);
    }
    heed_watch_step(w->watch);
    if (now->measured) {
        report_sample(w, now->step);
    }
    report_step(w->report);
    return !interrupted();
}

static void learn(watcher *w)
{
    const setup *s = w->setup;
    const train_options how = {s->options.steps, s->options.batch, s->options.lr};
    w->watch = begin_watch(s);
    w->report = begin_report(s, w->watch);
    w->lowest_held_out = HUGE_VAL;
    train(s->model, &s->training, &s->held_out, &how, watch, w);
    report_end(w->report, heed_error_pending() ? REPORT_FAILED
                          : interrupted()      ? REPORT_INTERRUPTED
                                               : REPORT_FINISHED);
}

/* Ends the progress display, so that messages can follow. */
static void end_watch(watcher *w)
{
    const options *o = &w->setup->options;
    const int64_t steps = heed_watch_steps(w->watch);
    const bool overfits = w->setup->task != TASK_TOY &&
                          heed_watch_last(w->watch, "loss") < w->lowest_held_out &&
                          heed_watch_last(w->watch, "val_loss") > 1.02 * w->lowest_held_out;
    heed_watch_free(w->watch);
    if (overfits) {
        fprintf(stderr,
                "next_token: overfitting: the held-out loss was lowest, %.3f, after step %lld; "
                "use fewer --steps or a longer text\n",
                w->lowest_held_out, (long long)w->lowest_step);
    }
    if (interrupted() && !heed_error_pending()) {
        fprintf(stderr, "next_token: interrupted after step %lld of %lld%s%s\n", (long long)steps,
                (long long)o->steps, o->save != NULL ? "; the model was saved to " : "",
                o->save != NULL ? o->save : "");
    }
}

/* ---- results ---- */

static void show_before(const setup *s, const toy_language *language)
{
    printf("%d training sentences, %d held out; %d words\n", language->train_count,
           language->held_out_count, language->word_count);
    toy_show_attention(stdout, s->model, language, &language->held_out[0],
                       s->options.steps > 0 ? "Before training" : "Attention");
    printf("\n");
}

static void show_after(const setup *s, const toy_language *language)
{
    if (s->options.steps > 0) {
        toy_show_attention(stdout, s->model, language, &language->held_out[0], "After training");
    }
    toy_show_writing(stdout, s->model, language, &s->vocabulary, s->options.temperature);
    if (s->options.prompt != NULL) {
        printf("\n");
    }
}

/* Writes all files before showing any results. */
static void write_files(const watcher *w)
{
    const setup *s = w->setup;
    if (s->options.save != NULL) {
        model_save(s->options.save, s->model, s->task, &s->vocabulary);
    }
    if (s->options.logits != NULL) {
        int64_t count = 0;
        const int64_t *tokens = setup_sample(s, INT64_MAX, &count);
        model_save_logits(s->options.logits, s->model, tokens, count);
    }
}

/* ---- the program ---- */

static bool has_files(const options *o)
{
    return o->save != NULL || o->logits != NULL || o->report != NULL;
}

static heed_status run(const setup *s, const toy_language *language)
{
    watcher w = {.setup = s, .language = language};
    const bool toy = s->task == TASK_TOY;
    interrupt_catch();
    if (has_files(&s->options)) {
        signal(SIGPIPE, SIG_IGN); /* the files are written even without a reader */
    }
    if (toy) {
        show_before(s, language);
    }
    if (!console_flush() && !has_files(&s->options)) {
        return HEED_OK; /* the output is lost */
    }
    if (s->options.steps > 0) {
        learn(&w);
    } else if (!toy && s->held_out.count > 0) {
        fprintf(stderr, "held-out loss %.3f nats per token\n",
                pieces_loss(s->model, &s->held_out, s->options.batch));
    }
    write_files(&w);
    end_watch(&w);
    if (interrupted()) {
        return heed_error_pending();
    }
    if (toy) {
        show_after(s, language);
    }
    if (!toy || s->options.prompt != NULL) {
        write_text(s, stdout, s->options.length);
    }
    return heed_error_pending();
}

int main(int argc, char **argv)
{
    static toy_language language; /* too large for the stack */
    setup s = {.task = TASK_TOY};
    console_begin(argv[0]);
    heed_set_flush_denormal(true); /* subnormal numbers are slow and do not affect training */
    if (*heed_isa() == '\0') {
        return console_complain(program, NULL, 1); /* HEED_ISA names an unsupported set */
    }
    if (console_version(argc, argv)) {
        return console_finish(program);
    }
    const options o = options_read(argc, argv);
    if (heed_error_pending()) {
        return console_misused(program, NULL);
    }
    if (o.help) {
        options_help(stdout);
        return console_finish(program);
    }
    /* Errors before training come from the command line and the files that it names. */
    const bool ready = setup_prepare(&s, &o, &language) == HEED_OK;
    if (ready) {
        run(&s, &language);
    }
    const heed_status error = heed_error_pending();
    setup_free(&s);
    if (error != HEED_OK) {
        return console_complain(program, options_needs_less,
                                ready || error == HEED_ERR_MEMORY ? 1 : 2);
    }
    return console_finish(program);
}
