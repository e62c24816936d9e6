/* Fills the pages that examples/lab/common/report.c writes. */
#include "examples/lab/toys/page.h"

#include <stdlib.h>

#include "examples/lab/common/console.h"

static void add_number(toys_page *p, const char *name, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    report_flag(p->report, name, text);
}

static void begin(toys_page *p, const toys_options *o, report_options options)
{
    snprintf(p->title, sizeof p->title, "toys %s", o->task);
    options.path = o->report;
    options.program = p->title;
    p->report = report_new(options);
    add_number(p, "--seed", o->seed);
}

/* ---- one run ---- */

/* (layers, heads, T, T) */
static heed_tensor *attention_of(void *context)
{
    const toys_page *p = context;
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *all = NULL;
    for (int i = 0; i < p->run->settings.layers && !heed_error_pending(); i++) {
        heed_tensor *one = toys_attention(p->run->model, &p->input, i);
        all = i == 0 ? one : heed_cat((heed_tensor *[]){all, one}, 2, 0);
    }
    return heed_scope_keep(&scope, all);
}

void toys_page_begin_run(toys_page *p, const toys_options *o, const toys_run *run, heed_watch *w)
{
    *p = (toys_page){.run = run};
    if (o->report == NULL || heed_error_pending()) {
        return;
    }
    HEED_SCOPE_NO_GRAD(scope);
    p->input = toys_input(run, "--input", o->input);
    heed_retain(p->input.inputs);
    const int64_t count = p->input.shape.tokens;
    toys_text *labels = toys_labels(run, &p->input);
    const char **names = labels == NULL ? NULL : heed_alloc((size_t)count * sizeof *names);
    for (int64_t i = 0; names != NULL && i < count; i++) {
        names[i] = labels[i];
    }
    begin(p, o,
          (report_options){.watch = w,
                           .steps = run->settings.steps,
                           .attention = attention_of,
                           .context = p,
                           .tokens = names,
                           .token_count = count});
    report_flags(p->report, &toys_setting_flags, &run->settings);
    heed_free(names);
    heed_free(labels);
}

/* ---- many runs ---- */

void toys_page_begin_runs(toys_page *p, const toys_options *o, const toys_runs *runs, heed_watch *w)
{
    *p = (toys_page){.report = NULL};
    if (o->report == NULL || heed_error_pending()) {
        return;
    }
    begin(p, o, (report_options){.watch = w, .steps = runs->count, .step_name = "run"});
    add_number(p, "--seeds", o->seeds);
    for (int i = 0; i < o->sweep_count; i++) {
        report_flag(p->report, "--sweep", o->sweeps[i]);
    }
    for (int i = 0; i < toys_setting_flags.count; i++) {
        const flag_row *f = &toys_setting_flags.flags[i];
        if (!toys_varies(runs, f)) {
            report_flag(p->report, flags_name(f).text,
                        flags_rounded(f, &runs->points[0].settings).text);
        }
    }
}

void toys_page_add_runs(toys_page *p, const toys_runs *runs)
{
    if (p->report == NULL || heed_error_pending()) {
        return;
    }
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (stream != NULL) {
        toys_table(stream, runs);
    }
    if (stream == NULL || fclose(stream) != 0) {
        heed_fail(HEED_ERR_MEMORY, "toys: out of memory");
    } else {
        report_output(p->report, "Runs", text);
    }
    free(text);
}

void toys_page_end(toys_page *p)
{
    report_end(p->report, heed_error_pending() ? "failed"
                          : interrupted()      ? "interrupted"
                                               : "finished");
    heed_release(p->input.inputs);
}
