/* What all programs of the benchmark share: a table of workloads, and a loop that times them on
 * request. bench/README.md describes how compare.c asks.
 *
 *   program               reads names from stdin, times a chunk of calls for each, and prints a
 *                         line: the seconds of one call; "none" for an unknown workload;
 *                         "wrong ..." for a wrong result
 *   program NAME [COUNT]  by hand: the minimum and the median of 15 or COUNT chunks, for the
 *                         workload NAME, or else for all whose names begin with NAME and a dot
 *   program list          prints the table, a line for each workload
 */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#ifdef __cplusplus
extern "C" {
#endif

enum workload_kind {
    TIMED, /* run() is called many times; the figure is its time in seconds */
    ONCE,  /* measure() returns the figure, bytes say, in a process of its own */
    START  /* the same; the figure is the time from the start of the process to its answer */
};

struct workload {
    char name[48];
    enum workload_kind kind;
    const char *unit;   /* in the table: "us", or a rate, "GFLOP/s" */
    double scale;       /* the table shows figure * scale; for a rate, scale / figure */
    char bound[24];     /* the workload of peak.c that bounds this one; "": none */
    double bound_times; /* the bound is this many times its figure */
    double per;         /* operations in one run(); 0: one */
    long size[4];       /* shapes, as the functions below need them */
    int variant;

    const char *(*prepare)(const struct workload *w); /* NULL, or what is wrong */
    void (*run)(void);
    void (*finish)(void);
    double (*measure)(const struct workload *w);
};

struct workloads {
    const struct workload *all;
    int count;
    void (*before)(void), (*after)(void); /* around each prepare ... finish; may be NULL */
};

/* serve: the whole of main. */
int serve(const struct workloads *table, int argc, char **argv);

/* compare_doubles: for qsort. seconds_now: a monotonic clock. */
int compare_doubles(const void *a, const void *b);

double seconds_now(void);

/* in_unit: a figure, for which less is better, as the table shows it; for a rate more is better. */
double in_unit(const char *unit, double scale, double figure);

#ifdef __cplusplus
}
#endif
#endif
