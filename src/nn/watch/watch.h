/* A watch records the values of a training run, step by step, and sends them to sinks: a terminal,
 * a CSV file, JSON lines and TensorBoard event files.
 *
 *     heed_watch *w = heed_watch_new(
 *         (heed_watch_options){.steps = 1000, .terminal = stderr, .csv = "run.csv"});
 *     for (int step = 1; step <= 1000; step++) {
 *         ...
 *         heed_watch_value(w, "loss", heed_item(loss));
 *         heed_watch_step(w);
 *     }
 *     heed_watch_free(w);
 *
 * It prints only if a terminal is given. A sink that fails while training, for example because the
 * disk is full, is switched off with one warning; training continues, and no error is pending.
 * Writing raises no signal such as SIGPIPE.
 *
 * CSV: the columns are "step" and the names known at the first heed_watch_step, or those of the
 * file that a resumed run continues. A name that is new later gets no column, which one warning
 * says; announce it with heed_watch_name. A cell is empty where a step has no such value. JSON
 * lines: an object for each step, {"step": 1, "loss": 2.5}; NaN and infinities are strings, as in
 * "NaN". Numbers that are not whole have 9 digits, so a float reads back exactly. TensorBoard: each
 * run writes an event file of its own, which replaces the steps of earlier ones from its first on.
 *
 * Rows of fast steps are buffered for at most a second while steps end; heed_watch_flush writes
 * them. Rows of steps longer than 10 ms are written at once.
 *
 * A watch belongs to one thread, and to the process that made it: a forked child may use its copy,
 * which writes nothing. NULL is accepted by all functions below and ignored. */
#ifndef HEED_NN_WATCH_H
#define HEED_NN_WATCH_H

#include <stdio.h>

#include "../plot/plot.h"

HEED_BEGIN_DECLS

/* All members may be zero. */
typedef struct heed_watch_options {
    int64_t steps;   /* of the whole run; 0: unknown, so there is no bar and no remaining time */
    int64_t resumed; /* steps taken before by the run that this one continues: files keep their rows
                      * up to this step and lose later ones */
    const char *csv, *jsonl; /* paths */
    const char *tensorboard; /* a folder, which is created; TensorBoard's --logdir */

    /* The terminal. A bar that is redrawn in place if it is a terminal, lines otherwise. */
    FILE *terminal;
    int64_t every;            /* steps between two lines; 0: about ten lines a run */
    bool curve;               /* draws the loss below the bar, if the terminal is large enough */
    const char *const *shown; /* names of the values to show, ending with NULL; NULL: all */
    const char *unit;         /* what is counted below, "tokens"; NULL: none */
    double per_step;          /* units trained on in a step, to show the rate */
    const char *step_name;    /* NULL: "step" */
} heed_watch_options;

typedef struct heed_watch heed_watch;

/* heed_watch_new: NULL on error. HEED_ERR_FILE: a file cannot be written. HEED_ERR_VALUE: a file to
 * continue was not written by a watch; it stays unchanged. */
heed_watch *heed_watch_new(heed_watch_options options);

/* heed_watch_value: a value of the current step; a second one of the same name replaces it.
 * heed_watch_name: announces a name that is measured only later, which reserves its column and its
 * place. The name is copied. HEED_ERR_VALUE: the name is empty, "step", not UTF-8, or has control
 * characters. */
heed_status heed_watch_value(heed_watch *w, const char *name, double value);
heed_status heed_watch_name(heed_watch *w, const char *name);

/* heed_watch_step: ends the step, and shows and writes its values. Steps count from 1, or from
 * `resumed` + 1. A pending error is left alone: nothing is recorded. */
heed_status heed_watch_step(heed_watch *w);

/* heed_watch_text: a text of the current step, such as a sample; for JSON lines and TensorBoard.
 * Bytes that are not UTF-8 are replaced. */
heed_status heed_watch_text(heed_watch *w, const char *name, const char *text);

/* heed_watch_pause: removes the bar, so that the caller can print; the next step draws it again. */
void heed_watch_pause(heed_watch *w);

/* heed_watch_flush: writes buffered rows, so that they are in the files when a checkpoint is saved.
 * heed_watch_free: flushes, replaces the bar with the last numbers, and frees. */
void heed_watch_flush(heed_watch *w);
void heed_watch_free(heed_watch *w);

/* ---- what it has collected ---- */

/* heed_watch_curves: a curve for each name, in order of first use, valid until the next value or
 * step. Long runs are thinned: a curve has at most HEED_WATCH_POINTS points, each the mean of
 * `per_point` values, or of those that are finite. The last may have fewer. heed_watch_curve: that
 * of a name; its count is 0 if there is none.
 *
 * Spikes are values of "loss" and "grad_norm" more than 6 standard deviations above the mean of the
 * last 128 (as in llm.c); the last 256 are kept. The terminal names them. */
enum { HEED_WATCH_POINTS = 1024 };
int heed_watch_curves(heed_watch *w, const heed_curve **curves);
heed_curve heed_watch_curve(heed_watch *w, const char *name);

/* heed_watch_steps: steps ended so far, including those before the run was resumed.
 * heed_watch_last: the last value of that name, NaN if there is none.
 * heed_watch_warning: the first warning: a sink was switched off, a name has no column, or the file
 * of a resumed run lacks rows; NULL: none. */
int64_t heed_watch_steps(const heed_watch *w);
double heed_watch_last(const heed_watch *w, const char *name);
const char *heed_watch_warning(const heed_watch *w);

HEED_END_DECLS
#endif
