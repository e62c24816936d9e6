/* A report of a training run, or of many: one HTML file with settings, curves, texts, results, and
 * the attention during training. examples/lab/view.html draws it; report.c puts the data inside.
 *
 *     report *r = report_new((report_options){.path = "run.html", .program = "gpt train", ...});
 *     report_flags(r, &flags, &options);
 *     while (...) {
 *         report_value(r, watch, "loss", loss);
 *         heed_watch_step(watch);
 *         report_step(r);
 *     }
 *     report_end(r, "finished");
 *
 * Attention is recorded at steps 0, 1, 2, 4, 8, ... and at the end. Reports do not affect training:
 * they draw no random numbers, and a failed write prints one warning. All functions ignore a NULL
 * report. */
#ifndef HEED_COMMON_REPORT_H
#define HEED_COMMON_REPORT_H

#include "examples/lab/common/flags.h"
#include "heed.h"

enum { REPORT_TOKENS = 32 };

typedef struct report_options {
    const char *path;
    const char *program;   /* "gpt train", in warnings and as the title */
    heed_watch *watch;     /* counts the steps */
    int64_t steps;         /* of the whole run */
    const char *step_name; /* NULL: "step" */

    /* Causal attention weights (layers, heads, T, T) of the model for `token_count` tokens, without
     * drawing random numbers. The page shows at most REPORT_TOKENS. */
    heed_tensor *(*attention)(void *context);
    void *context;
    const char *const *tokens; /* T labels, copied */
    int64_t token_count;       /* T; 0: no attention */
} report_options;

typedef struct report report;

/* report_new: everything that `options` points to, except the tokens, must outlive the report.
 * HEED_ERR_VALUE: the file exists but is not a report. */
report *report_new(report_options options);

/* report_flags: adds settings to show: all flags of this table that have a value. report_flag:
 * adds one. */
void report_flags(report *r, const flag_table *table, const void *options);
void report_flag(report *r, const char *name, const char *value);

/* report_value: sets a value of the step in the watch and, unless r is NULL, in the report.
 * report_text: adds a text to a step, such as a sample. report_output: adds a result: a text, in
 * which columns stay aligned. */
void report_value(report *r, heed_watch *w, const char *name, double value);
void report_text(report *r, int64_t step, const char *text, size_t length);
void report_output(report *r, const char *title, const char *text);

/* report_step: must be called after each step. Rewrites the file every few seconds. report_end:
 * writes it with this state and frees the report. An error that is pending stays so. */
void report_step(report *r);
void report_end(report *r, const char *state);

#endif
