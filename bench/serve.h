/* Shared by all programs of the benchmark: a table of workloads, and a loop that times them on
 * request. bench/README.md describes the requests of compare.c.
 *
 *   program               reads names from stdin, times a chunk of calls for each, and prints a
 *                         line: the seconds per call; "none" for an unknown workload;
 *                         "wrong ..." for a wrong result
 *   program NAME [COUNT]  by hand: the minimum and the median of 15 or COUNT chunks, for the
 *                         workload NAME, or else for all whose names begin with NAME and a dot
 *   program list          prints the table, one line per workload
 */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum workload_kind {
    TIMED, /* run() is called many times; the figure is its time in seconds */
    ONCE,  /* measure() returns the figure, such as bytes, in a separate process */
    START  /* the same, but the figure is the time from process start to answer */
};

struct workload {
    char name[48];
    enum workload_kind kind;
    const char *unit;   /* in the table: "us", or a rate such as "GFLOP/s" */
    double scale;       /* the table shows figure * scale; for a rate, scale / figure */
    char bound[24];     /* the workload of peak.c that bounds this one; "": none */
    double bound_times; /* the bound is its figure times this */
    double per;         /* operations in one run(); 0: one */
    long size[4];       /* shapes, interpreted by the functions below */
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

/* compare_doubles: for qsort. seconds_now: a monotonic clock. */
int compare_doubles(const void *a, const void *b);

double seconds_now(void);

/* in_unit: a figure in seconds or bytes, converted to the unit of the table. */
double in_unit(const char *unit, double scale, double figure);

#ifdef __cplusplus
}
#endif
#endif
