/* Shared by Heed's workloads: their table and the checks of results. */
#ifndef BENCH_HEED_WORKLOADS_H
#define BENCH_HEED_WORKLOADS_H

#include "bench/serve.h"
#include "heed.h"

enum { MOST_WORKLOADS = 160 };

struct table {
    struct workload all[MOST_WORKLOADS];
    int count;
};

/* add_workload: adds a copy of `w` under a printf-formatted name; returns the copy. */
struct workload *add_workload(struct table *table, struct workload w, const char *name, ...)
    HEED_PRINTF(3, 4);

/* add_subnormal: adds w again, as NAME.subnormal. input_of: t as an input of w; 1e-39 t if w is
 * subnormal. */
void add_subnormal(struct table *table, struct workload w);
heed_tensor *input_of(const struct workload *w, heed_tensor *t);

/* differs: true if y, contiguous and f32, differs from `expected` at sampled elements. */
bool differs(const heed_tensor *y, double (*expected)(int64_t i));

/* status_kib: a line of /proc/self/status such as "VmHWM:", in KiB; NAN if missing. */
double status_kib(const char *line);

#endif
