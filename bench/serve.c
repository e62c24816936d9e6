/* The request loop of a benchmark program: warms up, times chunks of calls, answers. */
#include "bench/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double WARM_UP = 0.1, CHUNK = 0.01; /* seconds; as in peers/serve.py */
enum { BY_HAND = 15, MOST_BY_HAND = 10000 };

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

int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double in_unit(const char *unit, double scale, double figure)
{
    return strstr(unit, "/s") != NULL ? scale / figure : figure * scale;
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

static int run_by_hand(const struct workloads *table, const struct workload *w, int chunks)
{
    if (w->kind != TIMED) {
        printf("%.9g\n", w->measure(w));
        return ferror(stdout) || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    const char *wrong = begin(table, w);
    if (wrong == NULL) {
        static double seconds[MOST_BY_HAND];
        const long calls = calls_in_chunk(w);
        for (int i = 0; i < chunks; i++) {
            seconds[i] = time_chunk(w, calls);
        }
        qsort(seconds, (size_t)chunks, sizeof *seconds, compare_doubles);
        printf("%-36s min %9.4g   median %9.4g %s\n", w->name,
               in_unit(w->unit, w->scale, seconds[0]),
               in_unit(w->unit, w->scale, seconds[chunks / 2]), w->unit);
    } else {
        printf("%s: wrong %s\n", w->name, wrong);
    }
    end(table, w);
    return wrong == NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_named(const struct workloads *table, const char *name, int chunks)
{
    const struct workload *w = find(table, name);
    if (w != NULL) {
        return run_by_hand(table, w, chunks);
    }
    const size_t length = strlen(name);
    int found = 0, status = EXIT_SUCCESS;
    for (int i = 0; i < table->count; i++) {
        w = &table->all[i];
        if (w->kind == TIMED && strncmp(w->name, name, length) == 0 && w->name[length] == '.') {
            status |= run_by_hand(table, w, chunks);
            found++;
        }
    }
    if (found == 0) {
        puts("none"); /* see "list" */
    }
    return found > 0 ? status : EXIT_FAILURE;
}

int serve(const struct workloads *table, int argc, char **argv)
{
    if (argc < 2) {
        answer_requests(table);
        return EXIT_SUCCESS;
    }
    if (strcmp(argv[1], "list") == 0) {
        for (int i = 0; i < table->count; i++) {
            const struct workload *w = &table->all[i];
            printf("%s %d %s %.17g %s %.17g\n", w->name, (int)w->kind, w->unit, w->scale,
                   w->bound[0] != '\0' ? w->bound : "-", w->bound_times);
        }
        return EXIT_SUCCESS;
    }
    const int asked = argc > 2 ? atoi(argv[2]) : BY_HAND;
    return run_named(table, argv[1], asked < 1 ? 1 : asked < MOST_BY_HAND ? asked : MOST_BY_HAND);
}
