/* A program that measures workloads on request. It runs as a separate process, suspended between
 * requests, so that its threads never spin while another program is timed. */
#ifndef BENCH_RUNNER_H
#define BENCH_RUNNER_H

#include <stdbool.h>
#include <sys/types.h>

#include "bench/serve.h"

enum { LONGEST_ANSWER = 256, MOST_DEATHS = 3 };

struct runner {
    const char *name, *command; /* command: for the shell */
    pid_t pid;                  /* 0: not running */
    int in, out;
    int deaths;
};

/* The answer to a request. */
struct answer {
    enum { FIGURE, NONE, FAILED } kind;
    double figure;             /* seconds, or bytes */
    char text[LONGEST_ANSWER]; /* a remark on the figure, or the reason of the failure */
};

/* ask: makes a runner time a chunk of a workload; starts it if it is not running. */
struct answer ask(struct runner *r, const char *workload);

/* ask_alone: runs the command in a new process with the workload as its argument; for START the
 * figure is the time until it answers. */
struct answer ask_alone(const struct runner *r, const char *workload, enum workload_kind kind);

/* read_lines: calls `take` with each line that the command prints; false if it fails. */
bool read_lines(const char *command, void (*take)(const char *line));

/* stop: kills a runner. stop_all_on_signals: SIGINT, SIGTERM and SIGHUP kill all runners before
 * they end this program. */
void stop(struct runner *r);
void stop_all_on_signals(struct runner *runners, int count);

#endif
