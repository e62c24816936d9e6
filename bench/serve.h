/* Shared by all programs of the benchmark: a table of workloads, and a loop that times them on
 * request of bench/run.py.
 *
 *   program        reads names from stdin, times a chunk of calls for each, and prints a line: the
 *                  seconds per call; "none" for an unknown workload; "wrong ..." for a wrong result
 *   program NAME   prints the figure of a workload that needs a process of its own
 *   program list   prints the table, one line per workload
 */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include <stdbool.h>

enum workload_kind {
    TIMED, /* run() is called many times; the figure is its time in seconds */
    ONCE,  /* measure() returns the figure, such as bytes, in a separate process */
    START  /* the same, but the figure is the time from process start to answer */
};

struct workload {
    char name[48];
    enum workload_kind kind;
    const char *unit; /* in the table: "us", or a rate such as "GFLOP/s" */
    double scale;     /* the table shows figure * scale; for a rate, scale / figure */
    double per;       /* operations in one run(); 0: one */
    long size[4];     /* shapes, interpreted by the functions below */
    int variant;
    bool subnormal; /* inputs, or the state of an optimiser, are below FLT_MIN */

    const char *(*prepare)(const struct workload *w); /* returns NULL or an error */
    void (*run)(void);
    void (*finish)(void);
    double (*measure)(const struct workload *w);
};

struct workloads {
    const struct workload *all;
    int count;
    void (*before)(void), (*after)(void); /* called around each prepare ... finish; may be NULL */
};

/* serve: the body of main. */
int serve(const struct workloads *table, int argc, char **argv);

double seconds_now(void); /* a monotonic clock */

#endif
