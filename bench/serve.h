/* What all programs of the benchmark have in common: a table of workloads, and a loop that times those
 * it is asked for. bench/README.md says how compare.c asks.
 *
 *   program               reads names from stdin; for each it times a chunk of calls, and writes a line:
 *                         the seconds of one call; "none" if it has no such workload; "wrong ..." if the
 *                         result is not what it should be
 *   program NAME [COUNT]  by hand: the least and the median of 15 chunks, or of COUNT; of all whose names
 *                         begin with NAME and a dot, if none has just this name
 *   program list          the table, one workload a line
 */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#ifdef __cplusplus
extern "C" {
#endif

enum workload_kind {
    TIMED, /* run() is called many times, seconds are measured */
    ONCE,  /* in a process of its own: measure() says a figure, bytes say */
    START  /* the same, and what counts is the time from its start to its answer */
};

struct workload {
    char name[48];
    enum workload_kind kind;
    const char *unit; /* of the table: "us", or a rate: "GFLOP/s" */
    double
        scale; /* what a figure is multiplied by for it; of a rate, what is divided by the figure */
    char bound
        [24]; /* what the machine needs at least: bound_times as long as peak.c's workload of this */
    double bound_times; /* name; "" and 0: nothing to say */
    double per;         /* how often run() does it at once; 0: once */
    long size[4];       /* whatever the functions need to know of shapes */
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

/* serve: main's work. */
int serve(const struct workloads *table, int argc, char **argv);

/* compare_doubles: for qsort. seconds_now: a clock that only goes forward. */
int compare_doubles(const void *a, const void *b);

double seconds_now(void);

/* in_unit: a figure, which is the less the better, as a table shows it; a rate is the more the better. */
double in_unit(const char *unit, double scale, double figure);

#ifdef __cplusplus
}
#endif
#endif
