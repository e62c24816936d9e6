/* How far a training is: a line that renews itself on a terminal, lines now and then elsewhere. */
#ifndef HEED_COMMON_PROGRESS_H
#define HEED_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { PROGRESS_MOST_COLUMNS = 200, PROGRESS_LINE = PROGRESS_MOST_COLUMNS + 1 };

/* What there is to tell. */
typedef struct progress_facts {
    int64_t step, steps;
    int64_t before; /* steps that were taken in an earlier run */
    double loss;
    double held_out;           /* the loss of what is not learnt; NaN: unknown */
    const char *held_out_name; /* what that is called; NULL: held-out */
    double seconds;            /* since the beginning */
    double tokens;             /* that were learnt from since then */
    const char *more, *brief;  /* what the task adds in a plain line, and in a bar; or "" */
} progress_facts;

/* progress_bar: the line for a terminal, narrower than `columns`; without the bar when the training
 * has ended. progress_plain: the line for all else. */
void progress_bar(char line[PROGRESS_LINE], const progress_facts *facts, int columns, bool ended);
void progress_plain(char line[PROGRESS_LINE], const progress_facts *facts);

/* progress_turn: is `step` one of about `times` that divide all `steps` evenly? The last is. */
bool progress_turn(int64_t step, int64_t steps, int64_t times);

typedef struct progress {
    FILE *stream;
    bool terminal;
    int columns;
    int64_t every;            /* steps between plain lines; 0: about ten lines in all */
    double began, shown;      /* seconds of the clock */
    char last[PROGRESS_LINE]; /* numbers of the last step, which stay when the bar goes */
} progress;

/* progress_clock: seconds of a clock that nobody sets. */
double progress_clock(void);

/* progress_begin: looks at the stream and TERM; `every` is 0 and may be changed. How wide the terminal is, is looked up at each
 * picture. */
progress progress_begin(FILE *stream);

/* progress_show: shows the facts if it is time to; `seconds` need not be set. `always` is for facts
 * that are new. progress_end: clears the bar; its last numbers stay. A stream that takes nothing
 * any more does not stop a training. */
void progress_show(progress *p, progress_facts facts, bool always);
void progress_end(progress *p);

#endif
