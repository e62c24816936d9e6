/* A report of a training run, or of many: one HTML file with its settings, model, curves, samples,
 * results, and the attention and the norms of weights and gradients during training. It needs no
 * network. Reloading it during training shows the latest state.
 *
 *     report *r = report_new((report_options){.path = "run.html", .program = "gpt train", ...});
 *     report_flags(r, &flags, &options);
 *     while (...) {
 *         ... backward and the optimiser's step; the gradients must not be cleared yet
 *         heed_watch_step(w);
 *         report_step(r);
 *     }
 *     report_end(r, REPORT_FINISHED);
 *
 * Snapshots of attention and norms are taken at steps 0, 1, 2, 4, 8, ... and at the end. Reports do
 * not affect training: they draw no random numbers, and a failed write prints one warning. All
 * functions ignore a NULL report. */
#ifndef HEED_COMMON_REPORT_H
#define HEED_COMMON_REPORT_H

#include "examples/lab/common/flags.h"
#include "heed.h"

enum { REPORT_TOKENS = 32 };

typedef struct report_options {
    const char *path;
    const char *program;    /* "gpt train", in warnings and as the title */
    void *model;            /* a module; NULL: there is none to show */
    heed_watch *watch;      /* the values of the run */
    int64_t steps, resumed; /* of the whole run; already taken by the run being resumed */
    const char *step_name;  /* NULL: "step" */

    /* Causal attention weights (layers, heads, T, T) of the model for `token_count` tokens, without
     * drawing random numbers. The page shows at most REPORT_TOKENS, fewer for large models. */
    heed_tensor *(*attention)(void *context);
    void *context;
    const char *const *tokens; /* T labels, copied */
    int64_t token_count;       /* T; 0: no attention */
} report_options;

typedef struct report report;

/* report_new: everything that `options` points to, except the tokens, must outlive the report. If
 * the run is resumed and `path` is its report, the report is continued. HEED_ERR_VALUE: the file
 * exists but is not a report. */
report *report_new(report_options options);

/* report_flags: adds settings to show: all flags of this table that have a value. report_flag:
 * adds one. */
void report_flags(report *r, const flag_table *table, const void *options);
void report_flag(report *r, const char *name, const char *value);

/* report_text: adds a text to a step, such as a sample. If there are many, some old ones are
 * dropped. */
void report_text(report *r, int64_t step, const char *name, const char *text, size_t length);

/* report_output: adds a result: a text, in which columns stay aligned. */
void report_output(report *r, const char *title, const char *text);

/* report_step: must be called after each step. Takes a snapshot if one is due, and rewrites the
 * file every few seconds. */
void report_step(report *r);

/* report_end: takes the last snapshot, writes the file and frees the report. */
typedef enum report_state {
    REPORT_TRAINING,
    REPORT_FINISHED,
    REPORT_INTERRUPTED,
    REPORT_FAILED
} report_state;
void report_end(report *r, report_state state);

#endif
