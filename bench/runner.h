/* A program that is asked for figures: it runs as a process of its own, which stands still whenever it is
 * not its turn, so that no thread of it spins in somebody else's. */
#ifndef BENCH_RUNNER_H
#define BENCH_RUNNER_H

#include <stdbool.h>
#include <sys/types.h>

#include "bench/serve.h"

enum { LONGEST_ANSWER = 256, MOST_DEATHS = 3 };

struct runner {
    const char *name, *command; /* command: of the shell */
    pid_t pid;                  /* 0: not running */
    int in, out;
    int deaths;
};

/* What came of a request. */
struct answer {
    enum { FIGURE, NONE, FAILED } kind;
    double figure;             /* seconds, or bytes */
    char text[LONGEST_ANSWER]; /* of a figure what else was said; of a failure what happened */
};

/* ask: has a runner, which is started where it is not running, time a chunk of a workload. */
struct answer ask(struct runner *r, const char *workload);

/* ask_alone: starts the command anew, with the workload as its argument; of START the figure is the time
 * until it answers. */
struct answer ask_alone(const struct runner *r, const char *workload, enum workload_kind kind);

/* read_lines: calls `take` with each line that the command prints; false if it fails. */
bool read_lines(const char *command, void (*take)(const char *line));

/* stop: ends it. stop_all_on_signals: so do Ctrl-C and the like, of all, before they end this program. */
void stop(struct runner *r);
void stop_all_on_signals(struct runner *runners, int count);

#endif
