/* Reads the command line; trains one model and looks into it, or many and prints their table. */
#include "examples/lab/toys/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/preflight.h"
#include "examples/lab/toys/inside.h"

static const char program[] = "toys";

/* ---- toys list ---- */

static int list_tasks(void)
{
    for (int i = 0; toys_tasks[i] != NULL; i++) {
        printf("%-10s %s\n", toys_tasks[i]->name, toys_tasks[i]->about);
    }
    return console_finish(program);
}

/* ---- files ---- */

/* No file is overwritten without --force. */
static void check_files(const toys_options *o)
{
    path_check("--csv", o->csv, o->force || o->resume);
    path_check("--log", o->log, o->force);
    path_check("--report", o->report, o->force || o->resume);
}

/* ---- the page of --report ---- */

/* What its attention is of. */
typedef struct shown {
    const toys_run *run;
    toys_batch input;
} shown;

/* (layers, heads, T, T) */
static heed_tensor *attention_of(void *context)
{
    const shown *what = context;
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *all = NULL;
    for (int i = 0; i < what->run->settings.layers && !heed_error_pending(); i++) {
        heed_tensor *one = toys_attention(what->run->model, &what->input, i);
        all = i == 0 ? one : heed_cat((heed_tensor *[]){all, one}, 2, 0);
    }
    return heed_scope_keep(&scope, all);
}

/* NULL: --report is not given, or an error. runs: NULL, or the runs of which the page is. */
static report *begin_page(const toys_options *o, const toys_runs *runs, report_options options)
{
    static char title[64];
    char number[24];
    if (o->report == NULL || heed_error_pending()) {
        return NULL;
    }
    snprintf(title, sizeof title, "toys %s", o->task);
    options.path = o->report;
    options.program = title;
    report *page = report_new(options);
    snprintf(number, sizeof number, "%lld", (long long)o->seed);
    report_flag(page, "--seed", number);
    snprintf(number, sizeof number, "%lld", (long long)o->seeds);
    report_flag(page, "--seeds", number);
    for (int i = 0; i < o->sweep_count; i++) {
        report_flag(page, "--sweep", o->sweeps[i]);
    }
    for (int i = 0; i < toys_setting_flags.count; i++) {
        const flag_row *f = &toys_setting_flags.flags[i];
        if (runs == NULL || !toys_varies(runs, f)) {
            report_flag(page, flags_name(f).text, flags_rounded(f, &o->settings).text);
        }
    }
    return page;
}

/* Ends the page, the watch and the results, which are on the page and printed. */
static void finish(report *page, heed_watch *w, FILE *results, char **text)
{
    const bool whole = results != NULL && fflush(results) == 0;
    if (results != NULL) {
        fclose(results); /* may lose the text, if memory runs out */
    }
    if (!heed_error_pending() && (!whole || *text == NULL)) {
        heed_fail(HEED_ERR_MEMORY, "toys: out of memory");
    }
    report_output(page, "Result", *text != NULL ? *text : "");
    report_end(page, heed_error_pending() ? "failed" : interrupted() ? "interrupted" : "finished");
    heed_watch_free(w); /* prints the last step */
    if (*text != NULL) {
        fputs(*text, stdout);
    }
    free(*text);
}

/* ---- one run ---- */

/* What examples/pytorch/toys.py reads: the settings, then the losses. */
static void put_settings(const toys_options *o, const toys_run *run)
{
    printf("run task=%s seed=%lld", run->task->name, (long long)o->seed);
    for (int i = 0; i < toys_setting_flags.count; i++) {
        const flag_row *f = &toys_setting_flags.flags[i];
        printf(" %s=%s", f->name, flags_text(f, &run->settings).text);
    }
    putchar('\n');
}

/* The result in words. */
static void put_result(FILE *stream, const toys_run *run, const toys_result *x)
{
    const toys_task *t = run->task;
    const bool learned = x->learned_at >= 0;
    fprintf(stream, "%s: %s %lld steps", t->name, learned ? "learned after" : "not learned in",
            (long long)(learned ? x->learned_at : x->steps));
    fputs("; test score ", stream);
    toys_put_number(stream, 0, "%.4f", x->test.score);
    fputs(", loss ", stream);
    toys_put_number(stream, 0, "%.4f", x->test.loss);
    if (!isnan(x->best)) {
        fprintf(stream, "; the best possible loss is %.4f", x->best);
    }
    if (t->simple != NULL) {
        fprintf(stream, "; the loss of the %s is %.4f", t->simple_name, x->simple);
    }
    if (!isnan(x->longer)) {
        fprintf(stream, "; score at length %lld: %.4f", (long long)run->settings.longer, x->longer);
    }
    if (x->steps > 0 && !isfinite(x->train_loss)) {
        fputs("; training diverged", stream);
    }
    fprintf(stream, "; %.1f s\n", x->seconds);
}

static heed_watch *watch(const toys_options *o)
{
    heed_watch *w = heed_watch_new(.steps = o->settings.steps, .csv = o->log, .replace = o->force,
                                   .terminal = stderr);
    heed_watch_value(w, "loss", (double)NAN);
    heed_watch_value(w, "test_loss", (double)NAN);
    heed_watch_value(w, "score", (double)NAN);
    return w;
}

static void train_one(toys_run *run, const toys_options *o, heed_watch *w, report *page)
{
    bool more = run->settings.steps > 0;
    if (o->losses) {
        put_settings(o, run);
    }
    while (more && !interrupted()) {
        more = toys_run_step(run);
        report_value(page, w, "loss", run->loss);
        if (run->measured) {
            report_value(page, w, "test_loss", run->result.test.loss);
            report_value(page, w, "score", run->result.test.score);
        }
        heed_watch_step(w);
        report_step(page);
        if (o->losses) {
            printf("step %lld loss %.9g\n", (long long)run->step, run->loss);
        }
    }
}

static void put_attribution(FILE *stream, const toys_run *r, const toys_options *o)
{
    (void)o;
    toys_attribute(stream, r);
}

/* What the flags ask to see. */
static void look_inside(FILE *stream, const toys_options *o, const toys_run *run)
{
    const struct {
        bool wanted;
        void (*put)(FILE *stream, const toys_run *r, const toys_options *o);
    } all[] = {{o->scores, toys_put_scores},         {o->ablate, toys_put_ablation},
               {o->attribution, put_attribution},    {o->patch, toys_put_patching},
               {o->by_position, toys_put_positions}, {o->spectrum, toys_put_spectrum}};
    for (size_t i = 0; i < sizeof all / sizeof *all && !heed_error_pending(); i++) {
        if (all[i].wanted) {
            HEED_SCOPE_NO_GRAD(scope);
            all[i].put(stream, run, o);
        }
    }
}

/* The input, which --corrupted must match. */
static toys_batch read_inputs(const toys_options *o, const toys_run *run)
{
    const toys_batch input = toys_input(run, "--input", o->input);
    if (o->corrupted != NULL && !heed_error_pending()) {
        const toys_batch corrupted = toys_input(run, "--corrupted", o->corrupted);
        if (!heed_error_pending() && corrupted.shape.tokens != input.shape.tokens) {
            heed_fail(HEED_ERR_VALUE, "--corrupted: %lld tokens, but --input has %lld",
                      (long long)corrupted.shape.tokens, (long long)input.shape.tokens);
        }
    }
    return input;
}

/* *ready: what follows is no error of the command line. */
static void run_one(const toys_options *o, const toys_task *task, bool *ready)
{
    toys_run run = {.step = 0};
    heed_watch *w = NULL;
    report *page = NULL;
    HEED_SCOPE(scope);
    check_files(o);
    if (!heed_error_pending()) {
        toys_run_begin(&run, task, &o->settings, (uint64_t)o->seed);
    }
    shown what = {.run = &run};
    if (!heed_error_pending()) {
        what.input = read_inputs(o, &run);
    }
    if (!heed_error_pending()) {
        w = watch(o);
        const char **labels = toys_labels(&run, &what.input);
        page = begin_page(o, NULL,
                          (report_options){.watch = w,
                                           .steps = o->settings.steps,
                                           .attention = attention_of,
                                           .context = &what,
                                           .tokens = labels,
                                           .token_count = what.input.shape.tokens});
        heed_free(labels);
    }
    *ready = !heed_error_pending();
    if (*ready) {
        train_one(&run, o, w, page);
    }
    char *text = NULL;
    size_t length = 0;
    FILE *results = heed_error_pending() ? NULL : open_memstream(&text, &length);
    if (results != NULL) {
        const toys_result x = toys_run_end(&run);
        put_result(results, &run, &x);
        look_inside(results, o, &run);
    }
    finish(page, w, results, &text);
    if (o->attention && !heed_error_pending()) {
        toys_put_attention(stdout, &run, o);
    }
    toys_run_free(&run);
}

/* ---- many runs ---- */

/* The process that has the list. */
static void lead(const toys_options *o, toys_runs *runs, toys_ranks *ranks, bool *ready)
{
    const int64_t jobs = ranks != NULL && !o->given.jobs ? 1 : o->jobs;
    check_files(o);
    if (o->csv != NULL && !heed_error_pending()) {
        toys_runs_open(runs, o->csv, o->resume);
    }
    heed_watch *w = heed_watch_new(.steps = runs->count, .resumed = runs->done, .terminal = stderr,
                                   .step_name = "run");
    report *page =
        begin_page(o, runs, (report_options){.watch = w, .steps = runs->count, .step_name = "run"});
    *ready = !heed_error_pending();
    toys_runs_execute(runs, (int)jobs, ranks, w, page);
    char *text = NULL;
    size_t length = 0;
    FILE *results = heed_error_pending() ? NULL : open_memstream(&text, &length);
    if (results != NULL) {
        toys_table(results, runs);
    }
    finish(page, w, results, &text);
    if (interrupted() && runs->done < runs->count && !heed_error_pending()) {
        fprintf(stderr, "toys: interrupted after %lld of %lld runs%s\n", (long long)runs->done,
                (long long)runs->count,
                o->csv != NULL ? "; --resume does the rest" : "; without --csv they are lost");
    }
}

static void run_many(const toys_options *o, const toys_task *task, toys_ranks *ranks, bool *ready)
{
    toys_runs runs;
    toys_runs_plan(&runs, o, task);
    *ready = !heed_error_pending();
    if (*ready && (ranks == NULL || ranks->leads)) {
        lead(o, &runs, ranks, ready);
    } else if (*ready) {
        ranks->follow(ranks, &runs);
    }
    toys_runs_free(&runs);
}

/* ---- the command line ---- */

/* The first flag given that only works with one run, as its help says; "": none. */
static flag_name of_one_run(const toys_options *o)
{
    for (int i = 0; i < toys_option_flags.count; i++) {
        const flag_row *f = &toys_option_flags.flags[i];
        if (flags_given(f, o) && strncmp(f->help, "one run:", 8) == 0) {
            return flags_name(f);
        }
    }
    return (flag_name){""};
}

/* The task of a command line that is valid; the settings of a sweep are checked later. */
static const toys_task *prepare(toys_options *o, bool one)
{
    const toys_task *task = o->task != NULL ? toys_task_named(o->task) : NULL;
    const flag_name flag = one ? (flag_name){""} : of_one_run(o);
    if (o->task == NULL) {
        heed_fail(HEED_ERR_VALUE, "no task; toys list shows all");
    } else if (task == NULL) {
        return NULL;
    } else if (o->resume && o->csv == NULL) {
        heed_fail(HEED_ERR_VALUE, "--resume: needs --csv FILE");
    } else if (o->corrupted != NULL && (!o->patch || o->input == NULL)) {
        heed_fail(HEED_ERR_VALUE, "--corrupted: needs --patch and --input");
    } else if (*flag.text != '\0') {
        heed_fail(HEED_ERR_VALUE, "%s: only for one run, without --seeds, --sweep and --csv",
                  flag.text);
    } else if (o->spectrum && task != &toys_modadd) {
        heed_fail(HEED_ERR_VALUE, "--spectrum: only for modadd");
    } else if (o->patch && task == &toys_regression) {
        heed_fail(HEED_ERR_VALUE, "--patch: regression has no answers to choose from");
    } else {
        toys_options_settle(o, task);
    }
    if (o->sweep_count == 0 && !heed_error_pending()) {
        toys_settings_check(&o->settings, task);
    }
    return task;
}

/* The command line is that of one run, of many, or of help. */
static int run_program(int argc, char **argv, toys_ranks *ranks)
{
    toys_options o = toys_options_read(argc, argv);
    if (o.help && !heed_error_pending()) {
        const toys_task *task = o.task != NULL ? toys_task_named(o.task) : NULL;
        if (heed_error_pending()) {
            return console_misused(program, NULL);
        }
        toys_help(stdout, task);
        return console_finish(program);
    }
    const bool one = o.given.seeds + o.sweep_count == 0 && o.csv == NULL && ranks == NULL;
    const toys_task *task = heed_error_pending() ? NULL : prepare(&o, one);
    if (heed_error_pending()) {
        return console_misused(program, NULL);
    }
    interrupt_catch();
    bool ready = true;
    if (one) {
        run_one(&o, task, &ready);
    } else {
        run_many(&o, task, ranks, &ready);
    }
    if (heed_error_pending()) {
        return console_complain(program, ready ? 1 : 2);
    }
    return console_finish(program);
}

int toys_program(int argc, char **argv, toys_ranks *ranks)
{
    console_begin(argv[0]);
    heed_set_flush_denormal(true); /* subnormal numbers are slow and do not affect training */
    if (*heed_isa() == '\0') {
        return console_complain(program, 1); /* HEED_ISA names an unsupported set */
    }
    heed_set_num_threads(1); /* a run has one thread */
    if (console_version(argc, argv)) {
        return console_finish(program);
    }
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        return list_tasks();
    }
    return run_program(argc, argv, ranks);
}
