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
 * CSV: the columns are "step" and the names known at the first heed_watch_step; a resumed run keeps
 * the columns of its file. A name that first appears later gets no column and causes one warning;
 * announce such names with heed_watch_name. A cell is empty if its step has no such value. JSON
 * lines: an object for each step, {"step": 1, "loss": 2.5}; NaN and infinities are strings, as in
 * "NaN". Non-integers have 9 significant digits, so a float reads back exactly. TensorBoard: each
 * run writes a new event file, which replaces the steps of earlier files from its first step on.
 *
 * A CSV or JSON lines file has one writer: a second watch is refused, with the number of the
 * process that writes the file if it is known. The file is free again when that watch or process
 * has ended, even if it was killed. File systems without locks cannot refuse a second writer.
 *
 * Rows of fast steps are buffered for about a second, until a later step or heed_watch_flush writes
 * them. Rows of steps longer than 10 ms are written at once.
 *
 * A watch belongs to one thread, and to the process that created it: a forked child may use its
 * copy, which writes nothing. All functions below ignore a NULL watch. */
#ifndef HEED_TOOLS_WATCH_H
#define HEED_TOOLS_WATCH_H

#include <stdio.h>

#include "../plot/plot.h"

HEED_BEGIN_DECLS

/* All members may be zero. */
typedef struct heed_watch_options {
    int64_t steps;   /* in the whole run; 0: unknown, so no bar and no remaining time are shown */
    int64_t resumed; /* steps already taken by the run being resumed; files keep their rows up to
                      * this step and lose later ones */
    const char *csv, *jsonl; /* paths; a new run replaces the files of an earlier one */
    const char *tensorboard; /* a folder, created if missing; TensorBoard's --logdir */

    /* The terminal: a bar redrawn in place, or lines if the stream is not a terminal. */
    FILE *terminal;
    int64_t every;            /* steps between lines; 0: about ten lines per run */
    bool curve;               /* draws the loss below the bar, if the terminal is large enough */
    const char *const *shown; /* names of the values to show, ending with NULL; NULL: all */
    const char *unit;         /* what per_step counts, such as "tokens"; NULL: none */
    double per_step;          /* units per step, to show the rate */
    const char *step_name;    /* NULL: "step" */
} heed_watch_options;

typedef struct heed_watch heed_watch;

/* heed_watch_new: NULL on error, after which existing files are unchanged. HEED_ERR_FILE: a file
 * cannot be written, or another watch is writing it. HEED_ERR_VALUE: an existing file was not
 * written by a watch, or csv and jsonl are the same file. */
heed_watch *heed_watch_new(heed_watch_options options);

/* heed_watch_value: sets a value of the current step; a second one with the same name replaces it.
 * Values after heed_watch_step belong to the next step: set those of an epoch before the last
 * heed_watch_step of the epoch. After the last step they are lost, with a warning.
 * heed_watch_name: announces a value that is first measured later; reserves its column and its
 * position. The name is copied. HEED_ERR_VALUE: the name is empty, "step", not UTF-8, or has
 * control characters. */
heed_status heed_watch_value(heed_watch *w, const char *name, double value);
heed_status heed_watch_name(heed_watch *w, const char *name);

/* heed_watch_step: ends the step: shows and writes its values. Steps count from 1, or from
 * `resumed` + 1. If an error is pending, it stays pending and nothing is recorded. */
heed_status heed_watch_step(heed_watch *w);

/* heed_watch_text: adds a text to the current step, such as a sample, for JSON lines and
 * TensorBoard. Bytes of the text that are not UTF-8 are replaced. HEED_ERR_NULL: no name or no
 * text. HEED_ERR_VALUE: the name is as for heed_watch_name. */
heed_status heed_watch_text(heed_watch *w, const char *name, const char *text);

/* heed_watch_pause: removes the bar so that the caller can print; the next step draws it again. */
void heed_watch_pause(heed_watch *w);

/* heed_watch_flush: writes buffered rows, so that they are in the files when a checkpoint is saved.
 * heed_watch_free: flushes, replaces the bar with the last numbers, and frees. */
void heed_watch_flush(heed_watch *w);
void heed_watch_free(heed_watch *w);

/* ---- collected values ---- */

/* heed_watch_curves: sets *curves to one curve per name, in order of first use, and returns their
 * number. They are valid until the next value or step. Long runs are thinned: a curve has at most
 * HEED_WATCH_POINTS points, each the mean of `per_point` values, or of the finite ones among them.
 * The last may average fewer. heed_watch_curve: the curve of a name; its count is 0 if the name is
 * unknown.
 *
 * Spikes are values of "loss" and "grad_norm" more than 6 standard deviations above the mean of the
 * last 128 (as in llm.c), which must exist; the last 256 spikes are kept. The terminal reports
 * them. */
enum { HEED_WATCH_POINTS = 1024 };
int heed_watch_curves(heed_watch *w, const heed_curve **curves);
heed_curve heed_watch_curve(heed_watch *w, const char *name);

/* heed_watch_steps: steps completed so far, including those before the run was resumed.
 * heed_watch_last: the last value of a name, NaN if there is none.
 * heed_watch_warning: the first warning: a sink was switched off, a name has no column, or the file
 * of a resumed run lacks rows; NULL: none. */
int64_t heed_watch_steps(const heed_watch *w);
double heed_watch_last(const heed_watch *w, const char *name);
const char *heed_watch_warning(const heed_watch *w);

HEED_END_DECLS
#endif
