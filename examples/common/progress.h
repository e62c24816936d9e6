/* The progress of training: a line that is redrawn on a terminal, occasional lines elsewhere. */
#ifndef HEED_COMMON_PROGRESS_H
#define HEED_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { PROGRESS_MOST_COLUMNS = 200, PROGRESS_LINE = PROGRESS_MOST_COLUMNS + 1 };

typedef struct progress_facts {
    int64_t step, steps;
    int64_t before; /* steps taken by the run that this one resumes */
    double loss;
    double held_out;           /* loss on the held-out data; NaN: unknown */
    const char *held_out_name; /* label of held_out; NULL: "held-out" */
    double seconds;            /* since the start */
    double tokens;             /* trained on since the start */
    const char *more, *brief;  /* appended to a plain line, and to a bar; or "" */
} progress_facts;

/* progress_bar: the line for a terminal, narrower than `columns`; without the bar once training has
 * ended. progress_plain: the line for other streams. */
void progress_bar(char line[PROGRESS_LINE], const progress_facts *facts, int columns, bool ended);
void progress_plain(char line[PROGRESS_LINE], const progress_facts *facts);

/* progress_turn: true for about `times` steps spread evenly over `steps`, including the last. */
bool progress_turn(int64_t step, int64_t steps, int64_t times);

typedef struct progress {
    FILE *stream;
    bool terminal;
    int columns;
    int64_t every;            /* steps between plain lines; 0: about ten lines in all */
    double began, shown;      /* seconds of the clock */
    char last[PROGRESS_LINE]; /* the last step's line without the bar, which stays on the screen */
} progress;

/* progress_clock: seconds of a monotonic clock. */
double progress_clock(void);

/* progress_begin: inspects the stream and TERM. `every` is 0; change it to space plain lines. */
progress progress_begin(FILE *stream);

/* progress_show: shows the facts when a line is due; on a terminal immediately if `always`. Sets
 * `seconds` itself. progress_end: replaces the bar with the final numbers. Write errors do not stop
 * training. */
void progress_show(progress *p, progress_facts facts, bool always);
void progress_end(progress *p);
void progress_pause(progress *p);

#endif
