/* Heed's side of the benchmark: each file adds its workloads to the table. */
#ifndef BENCH_HEED_WORKLOADS_H
#define BENCH_HEED_WORKLOADS_H

#include "bench/serve.h"
#include "heed.h"

enum { MOST_WORKLOADS = 128 };

struct table {
    struct workload all[MOST_WORKLOADS];
    int count;
};

/* add_workload: a copy of `w` at the end of the table, under a name made as by printf; returns it. */
struct workload *add_workload(struct table *table, struct workload w, const char *name, ...)
    HEED_PRINTF(3, 4);

void add_steps(struct table *table);       /* W1, W2, MLP */
void add_attention(struct table *table);   /* W3 */
void add_gpt(struct table *table);         /* W4 */
void add_products(struct table *table);    /* W5 */
void add_elementwise(struct table *table); /* W6, what goes by elements */
void add_lines(struct table *table);       /* W6, what goes by rows */
void add_updates(struct table *table);     /* W6, what goes over all parameters */
void add_chains(struct table *table);      /* W7 */
void add_memory(struct table *table);      /* figures that take a process of their own */

/* ---- training, one at a time (training.c) ---- */

struct training {
    heed_tensor *(*loss)(void);
    heed_tensor *input; /* whose gradient is wanted too, and forgotten before each step; or NULL */
    heed_optimizer *optimizer;
    void *modules[8]; /* freed in the end; NULL behind the last */
};

/* set_training: has training_step() train this. begin_training: the same, and says what is wrong if the
 * loss is not finite, or does not fall. end_training: frees it. */
void set_training(struct training t);
const char *begin_training(struct training t);
void training_step(void);
void forward_step(void); /* the loss alone, with its graph */
void end_training(void);

/* all_parameters: of the modules, as one list, which the caller keeps with room for `most`. */
heed_tensor_list all_parameters(heed_tensor **room, int most, void *const *modules);

/* ---- of W1, W7 and W4, for figures of another kind ---- */

void first_toy_step(void);
double bytes_per_node(const struct workload *w);
struct training gpt_training(heed_gpt_config config, int64_t batch, int64_t length);
extern const heed_gpt_config bench_gpt_config; /* W4's */

/* ---- figures (main.c) ---- */

/* differs: does y, of f32 and contiguous, differ from what `expected` says of its element i, where it is
 * looked at? */
bool differs(const heed_tensor *y, double (*expected)(int64_t i));

/* status_kib: a line of /proc/self/status, "VmHWM:" say, in KiB; NAN where there is none. */
double status_kib(const char *line);

/* print_growth: the time per token of W4 as each of its sizes grows (growth.c); main's work. */
int print_growth(void);

#endif
