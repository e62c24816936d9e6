/* A list of runs: each point of a sweep with each seed. Threads, and ranks of MPI, take runs from
 * it and put their results into it, in any order; every result is written to a CSV file at once. */
#ifndef HEED_TOYS_RUNS_H
#define HEED_TOYS_RUNS_H

#include <pthread.h>

#include "examples/lab/common/report.h"
#include "examples/lab/toys/run.h"

enum { TOYS_MOST_KEY = 1024 };

/* A task with settings. */
typedef struct toys_point {
    const toys_task *task;
    toys_settings settings;
    char key[TOYS_MOST_KEY]; /* the first cells of its lines: task,length,... */
} toys_point;

typedef struct toys_record {
    int64_t point, seed;
    bool done;
    toys_result result;
} toys_record;

typedef struct toys_runs {
    toys_point *points;
    toys_record *records;
    int64_t point_count, count, done, learned;
    size_t point_capacity, capacity;

    /* While they run; written with the lock held. */
    pthread_mutex_t lock;
    int64_t next;  /* the first record that may not be taken */
    int64_t taken; /* by threads and ranks, and not put back */
    bool stop;     /* an error occurred */
    heed_status error;
    char message[512];
    FILE *csv;        /* or NULL */
    const char *path; /* of csv */
} toys_runs;

/* toys_runs_plan: the runs of a command line, point by point. HEED_ERR_VALUE: --sweep names no
 * setting, or its values do not fit. */
void toys_runs_plan(toys_runs *r, const toys_options *o, const toys_task *task);
void toys_runs_free(toys_runs *r);

/* toys_runs_open: opens a CSV file for new lines and, if `resume`, marks the runs that are in it as
 * done; a line that was cut off is removed.
 * HEED_ERR_VALUE: the file was not written by this program, or has runs that are not planned. */
heed_status toys_runs_open(toys_runs *r, const char *path, bool resume);

/* toys_runs_take: the next record to run, -1 if there is none left, or after Ctrl-C or an error.
 * toys_runs_put: its result; NULL: it was interrupted, or this thread's pending error, which is
 * cleared, ends all runs. Any thread may call both. */
int64_t toys_runs_take(toys_runs *r);
void toys_runs_put(toys_runs *r, int64_t record, const toys_result *result);

/* toys_runs_one: trains a record; false after Ctrl-C or an error, which is pending. */
bool toys_runs_one(const toys_runs *r, int64_t record, toys_result *result);

/* Other processes that take runs from the list. serve is called by the thread that called
 * toys_runs_execute, every millisecond, until nothing is taken: it answers their requests. */
typedef struct toys_ranks {
    bool leads; /* this process has the list; the others call `follow` */
    void (*serve)(struct toys_ranks *self, toys_runs *r);
    void (*follow)(struct toys_ranks *self, toys_runs *r);
    void (*finish)(struct toys_ranks *self, toys_runs *r); /* no more runs; waits for all */
} toys_ranks;

/* toys_runs_execute: runs all that are not done, on `jobs` threads. ranks: NULL, or the other
 * processes. Each run that has ended is a step of the watch and of the page, or NULL. */
heed_status toys_runs_execute(toys_runs *r, int jobs, toys_ranks *ranks, heed_watch *w,
                              report *page);

/* ---- tables (table.c) ---- */

/* toys_varies: true if the points have different values of this setting. */
bool toys_varies(const toys_runs *r, const flag_row *f);

/* toys_table: a line for each point: the share that learned, and quartiles. Only runs that are done
 * count. */
void toys_table(FILE *stream, const toys_runs *r);

/* toys_quantile: of `count` numbers in ascending order, q in [0, 1], interpolated as in numpy; the
 * larger neighbour's value if that is infinite. */
double toys_quantile(const double *sorted, int64_t count, double q);

/* ---- the program (program.c) ---- */

/* toys_program: returns the exit status. ranks: NULL, or the processes that take part, all with the
 * same arguments. */
int toys_program(int argc, char **argv, toys_ranks *ranks);

#endif
