/* A watch shows the values of a training loop on a terminal and writes them to a CSV file.
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
 * The terminal gets a bar with the remaining time, or about ten lines if it is a pipe or a file.
 * The CSV file gets a row a step, with the names known at the first heed_watch_step. A cell is
 * empty if its step has no such value, or NaN. A terminal or a file that cannot be written while
 * training is one warning: no error, and no signal such as SIGPIPE. All functions ignore a NULL
 * watch. */
#ifndef HEED_NN_WATCH_H
#define HEED_NN_WATCH_H

#include <stdio.h>

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* All members may be zero. What they point to must outlive the watch. */
typedef struct heed_watch_options {
    int64_t steps;   /* in the whole run; 0: unknown, so neither bar nor remaining time is shown */
    int64_t resumed; /* steps taken before; the file keeps their rows and loses later ones */
    const char *csv; /* a new run replaces the file of an earlier one */
    FILE *terminal;
    int64_t every;            /* steps between lines; 0: about ten lines per run */
    const char *const *shown; /* names to show, ending with NULL; NULL: all */
    const char *step_name;    /* NULL: "step" */
} heed_watch_options;

typedef struct heed_watch heed_watch;

/* heed_watch_new: NULL on error. HEED_ERR_FILE: the file cannot be written. HEED_ERR_VALUE: an
 * existing file was not written by a watch. */
heed_watch *heed_watch_new(heed_watch_options options);

/* heed_watch_value: sets a value of the step that the next heed_watch_step ends. HEED_ERR_VALUE:
 * the name is empty, has more than 60 bytes, commas, quotes or control characters, or is the 65th.
 * heed_watch_step: ends a step: shows and writes its values. heed_watch_steps: those ended so far,
 * with those before a resumed run. */
heed_status heed_watch_value(heed_watch *w, const char *name, double value);
heed_status heed_watch_step(heed_watch *w);
int64_t heed_watch_steps(const heed_watch *w);

/* heed_watch_pause: removes the bar, so that the caller can print; the next step draws it again.
 * heed_watch_free: replaces the bar with the last values. */
void heed_watch_pause(heed_watch *w);
void heed_watch_free(heed_watch *w);

HEED_END_DECLS
#endif
