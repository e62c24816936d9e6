/* Reads the command line; trains one model and looks into it, or many and prints their table. */
#include "examples/lab/toys/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/preflight.h"
#include "examples/lab/toys/inside.h"
#include "examples/lab/toys/page.h"

static const char program[] = "toys";

/* ---- toys list ---- */

/* Prints words, indented, in lines of at most 96 columns. */
static void put_words(const char *text)
{
    enum { INDENT = 11, WIDTH = 96 };
    int column = 0;
    while (*text != '\0') {
        const int length = (int)strcspn(text, " ");
        if (column > 0 && column + 1 + length > WIDTH) {
            putchar('\n');
            column = 0;
        }
        column += column == 0 ? printf("%*s%.*s", INDENT, "", length, text)
                              : printf(" %.*s", length, text);
        text += length + (text[length] == ' ');
    }
    putchar('\n');
}

static int list_tasks(void)
{
    for (int i = 0; toys_tasks[i] != NULL; i++) {
        const toys_task *t = toys_tasks[i];
        printf("%s%-10s %s\n", i > 0 ? "\n" : "", t->name, t->about);
        put_words(t->claim);
        put_words(t->source);
        put_words(t->defaults);
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
    fprintf(stream, "%s: ", t->name);
    if (x->learned_at >= 0) {
        fprintf(stream, "learned after %lld steps", (long long)x->learned_at);
    } else {
        fprintf(stream, "not learned in %lld steps", (long long)x->steps);
    }
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
    heed_watch *w = heed_watch_new(
        (heed_watch_options){.steps = o->settings.steps, .csv = o->log, .terminal = stderr});
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

static void draw(const toys_options *o, const toys_run *run)
{
    HEED_SCOPE_NO_GRAD(scope);
    if (o->attention && !heed_error_pending()) {
        const toys_batch input = toys_input(run, "--input", o->input);
        toys_attention_text(stdout, run, &input);
    }
}

/* What the flags ask to see. */
static void look_inside(FILE *stream, const toys_options *o, const toys_run *run)
{
    HEED_SCOPE_NO_GRAD(scope);
    if (o->scores && !heed_error_pending()) {
        toys_put_scores(stream, run);
    }
    if (o->ablate && !heed_error_pending()) {
        toys_put_ablation(stream, run);
    }
    if (o->attribution && !heed_error_pending()) {
        toys_put_attribution(stream, run);
    }
    if (o->patch && !heed_error_pending()) {
        toys_put_patching(stream, run, o->input, o->corrupted);
    }
    if (o->by_position && !heed_error_pending()) {
        toys_put_positions(stream, run);
    }
    if (o->spectrum && !heed_error_pending()) {
        toys_put_spectrum(stream, run);
    }
}

/* The result and what the flags ask to see; the caller frees it. NULL on error. */
static char *conclude(toys_run *run, const toys_options *o, report *page)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = heed_error_pending() ? NULL : open_memstream(&text, &length);
    if (stream != NULL) {
        const toys_result x = toys_run_end(run);
        put_result(stream, run, &x);
        fflush(stream);
        report_output(page, "Result", text);
        const size_t before = length;
        look_inside(stream, o, run);
        fflush(stream);
        if (length > before) {
            report_output(page, "Measurements", text + before + 1); /* without an empty line */
        }
    }
    if (!heed_error_pending() && (stream == NULL || ferror(stream))) {
        heed_fail(HEED_ERR_MEMORY, "toys: out of memory");
    }
    if (stream != NULL) {
        fclose(stream);
    }
    return text;
}

/* Before training. */
static void check_inputs(const toys_options *o, const toys_run *run)
{
    HEED_SCOPE_NO_GRAD(scope);
    const toys_batch input = toys_input(run, "--input", o->input);
    if (o->corrupted == NULL || heed_error_pending()) {
        return;
    }
    const toys_batch corrupted = toys_input(run, "--corrupted", o->corrupted);
    if (!heed_error_pending() && corrupted.shape.tokens != input.shape.tokens) {
        heed_fail(HEED_ERR_VALUE, "--corrupted: %lld tokens, but --input has %lld",
                  (long long)corrupted.shape.tokens, (long long)input.shape.tokens);
    }
}

/* *ready: what follows is no error of the command line. */
static void run_one(const toys_options *o, const toys_task *task, bool *ready)
{
    toys_run run = {.step = 0};
    toys_page page = {.report = NULL};
    heed_watch *w = NULL;
    check_files(o);
    if (!heed_error_pending()) {
        toys_run_begin(&run, task, &o->settings, (uint64_t)o->seed);
    }
    if (!heed_error_pending()) {
        check_inputs(o, &run);
    }
    if (!heed_error_pending()) {
        w = watch(o);
        toys_page_begin_run(&page, o, &run, w);
    }
    *ready = !heed_error_pending();
    if (*ready) {
        train_one(&run, o, w, page.report);
    }
    char *text = conclude(&run, o, page.report);
    toys_page_end(&page);
    heed_watch_free(w); /* prints the last step */
    if (text != NULL) {
        fputs(text, stdout);
        draw(o, &run);
    }
    free(text);
    toys_run_free(&run);
}

/* ---- many runs ---- */

/* The process that has the list. */
static void lead(const toys_options *o, toys_runs *runs, toys_ranks *ranks, bool *ready)
{
    const int64_t jobs = ranks != NULL && !o->given.jobs ? 1 : o->jobs;
    toys_page page;
    check_files(o);
    if (o->csv != NULL && !heed_error_pending()) {
        toys_runs_open(runs, o->csv, o->resume);
    }
    heed_watch *w = heed_watch_new((heed_watch_options){
        .steps = runs->count, .resumed = runs->done, .terminal = stderr, .step_name = "run"});
    toys_page_begin_runs(&page, o, runs, w);
    *ready = !heed_error_pending();
    toys_runs_execute(runs, (int)jobs, ranks, w, page.report);
    toys_page_add_runs(&page, runs);
    toys_page_end(&page);
    heed_watch_free(w);
    if (!heed_error_pending()) {
        toys_table(stdout, runs);
    }
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

/* ---- toys table ---- */

static int table_of_files(int count, char **files)
{
    toys_runs runs;
    toys_runs_plan(&runs, NULL, NULL);
    for (int i = 0; i < count && !heed_error_pending(); i++) {
        toys_runs_read(&runs, files[i]);
    }
    if (count == 0) {
        heed_fail(HEED_ERR_VALUE, "table: no files of --csv");
    }
    if (!heed_error_pending()) {
        toys_table(stdout, &runs);
    }
    toys_runs_free(&runs);
    return heed_error_pending() ? console_complain(program, 2) : console_finish(program);
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

static const toys_task *prepare(toys_options *o, bool one)
{
    const toys_task *task = NULL;
    if (o->task == NULL) {
        heed_fail(HEED_ERR_VALUE, "no task; toys list shows all");
    } else if (o->resume && o->csv == NULL) {
        heed_fail(HEED_ERR_VALUE, "--resume: needs --csv FILE");
    } else if (o->corrupted != NULL && (!o->patch || o->input == NULL)) {
        heed_fail(HEED_ERR_VALUE, "--corrupted: needs --patch and --input");
    } else if (!one && *of_one_run(o).text != '\0') {
        heed_fail(HEED_ERR_VALUE, "%s: only for one run, without --seeds, --sweep and --csv",
                  of_one_run(o).text);
    } else {
        task = toys_task_named(o->task);
    }
    if (task != NULL && o->spectrum && task != &toys_modadd) {
        heed_fail(HEED_ERR_VALUE, "--spectrum: only for modadd");
    }
    if (task != NULL && o->patch && task == &toys_regression) {
        heed_fail(HEED_ERR_VALUE, "--patch: regression has no answers to choose from");
    }
    if (task != NULL && !heed_error_pending()) {
        toys_options_settle(o, task);
    }
    if (task != NULL && !heed_error_pending() && o->sweep_count == 0) {
        toys_settings_check(&o->settings, task);
    }
    return task;
}

/* The command line is that of one run, of many, or of neither: a list, a table, help. */
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
    if (argc > 1 && strcmp(argv[1], "table") == 0 && strcmp(argv[argc - 1], "--help") != 0) {
        return table_of_files(argc - 2, argv + 2);
    }
    return run_program(argc, argv, ranks);
}
