/* The table of workloads and the checks of results. */
#include "bench/heed/workloads.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct workload *add_workload(struct table *table, struct workload w, const char *name, ...)
{
    if (table->count == MOST_WORKLOADS) {
        fputs("the table of workloads is full\n", stderr);
        exit(EXIT_FAILURE);
    }
    va_list args;
    va_start(args, name);
    vsnprintf(w.name, sizeof w.name, name, args);
    va_end(args);
    table->all[table->count] = w;
    return &table->all[table->count++];
}

void add_subnormal(struct table *table, struct workload w)
{
    const struct workload normal = w;
    w.subnormal = true;
    add_workload(table, w, "%s.subnormal", normal.name);
}

heed_tensor *input_of(const struct workload *w, heed_tensor *t)
{
    return w->subnormal ? heed_mul_scalar(t, 1e-39) : t;
}

/* Relative to the largest sampled element, since gradients over many classes are tiny. */
bool differs(const heed_tensor *y, double (*expected)(int64_t i))
{
    const float *values = heed_const_data_f32(y);
    const int64_t step = y->numel / 61 + 1;
    double largest = 0, error = 0;
    for (int64_t i = 0; i < y->numel; i += step) {
        const double right = expected(i), off = fabs((double)values[i] - right);
        largest = fmax(largest, fabs(right));
        error = fmax(error, off);
        if (isnan(off)) {
            return true;
        }
    }
    return error > 1e-4 * largest;
}

double status_kib(const char *line)
{
    double kib = (double)NAN;
    char text[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(text, sizeof text, file) != NULL) {
        if (strncmp(text, line, strlen(line)) == 0) {
            kib = strtod(text + strlen(line), NULL);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib;
}
