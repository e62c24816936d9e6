/* The request loop of a benchmark program: warms up, times chunks of calls, answers. */
#include "bench/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double WARM_UP = 0.1, CHUNK = 0.01; /* seconds; as in peers/serve.py */

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time of this process: elapsed, or with CLOCK=cpu that of the processor. */
static double work_now(void)
{
    static int cpu = -1;
    struct timespec t;
    if (cpu < 0) {
        const char *clock = getenv("CLOCK");
        cpu = clock != NULL && strcmp(clock, "cpu") == 0;
    }
    if (!cpu) {
        return seconds_now();
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Warms the workload up; returns the number of calls in a chunk. */
static long calls_in_chunk(const struct workload *w)
{
    const double start = work_now();
    double passed;
    long calls = 0;
    do {
        w->run();
        calls++;
        passed = work_now() - start;
    } while (passed < WARM_UP || calls < 2);
    const double fit = CHUNK * (double)calls / passed;
    return fit < 1 ? 1 : (long)fit;
}

/* For short calls the first one is not timed: other programs have evicted the caches. */
static double time_chunk(const struct workload *w, long calls)
{
    if (calls > 3) {
        w->run();
    }
    const double start = work_now();
    for (long i = 0; i < calls; i++) {
        w->run();
    }
    return (work_now() - start) / (double)calls / (w->per > 0 ? w->per : 1);
}

static const struct workload *find(const struct workloads *table, const char *name)
{
    for (int i = 0; i < table->count; i++) {
        if (strcmp(table->all[i].name, name) == 0) {
            return &table->all[i];
        }
    }
    return NULL;
}

static const char *begin(const struct workloads *table, const struct workload *w)
{
    if (table->before != NULL) {
        table->before();
    }
    return w->prepare != NULL ? w->prepare(w) : NULL;
}

static void end(const struct workloads *table, const struct workload *w)
{
    if (w->finish != NULL) {
        w->finish();
    }
    if (table->after != NULL) {
        table->after();
    }
}

static void answer_requests(const struct workloads *table)
{
    const struct workload *now = NULL;
    const char *wrong = NULL;
    long calls = 0;
    char name[256];
    while (fgets(name, sizeof name, stdin) != NULL) {
        name[strcspn(name, "\n")] = '\0';
        const struct workload *w = find(table, name);
        if (w != now) {
            if (now != NULL) {
                end(table, now);
            }
            wrong = w != NULL ? begin(table, w) : NULL;
            calls = w != NULL && wrong == NULL ? calls_in_chunk(w) : 0;
            now = w;
        }
        if (w == NULL) {
            puts("none");
        } else if (wrong != NULL) {
            printf("wrong %s\n", wrong);
        } else {
            printf("%.9g\n", time_chunk(w, calls));
        }
        fflush(stdout);
    }
    if (now != NULL) {
        end(table, now);
    }
}

int serve(const struct workloads *table, int argc, char **argv)
{
    if (argc < 2) {
        answer_requests(table);
    } else if (strcmp(argv[1], "list") == 0) {
        for (int i = 0; i < table->count; i++) {
            const struct workload *w = &table->all[i];
            printf("%s %d %s %.17g\n", w->name, (int)w->kind, w->unit, w->scale);
        }
    } else {
        const struct workload *w = find(table, argv[1]);
        if (w == NULL || w->kind == TIMED) {
            puts("none");
        } else {
            printf("%.9g\n", w->measure(w));
        }
    }
    return ferror(stdout) || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
