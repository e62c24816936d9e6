/* The small models of the benchmark: the toy of 5 tokens (W1), and models of build/toys. The peers
 * in Python get their sizes, first weights and data from `bench_heed data`. */
#ifndef BENCH_TOY_SIZES_H
#define BENCH_TOY_SIZES_H

#include "examples/lab/toys/task.h"

struct toy_size {
    const char *name;
    const toys_task *task; /* with its defaults, except for what follows; NULL: W1 */
    int64_t width, length, batch;
    int steps; /* of each seed, in a call of seeds.NAME; 0: there is no such workload */
};

enum { SEEDS = 100 };

/* clang-format off */
static const struct toy_size toy_sizes[] = {
    {"w1", NULL, 0, 0, 0, 20},
    {"induction", &toys_induction, 64, 32, 16, 1},
    {"recall", &toys_recall, 32, 8, 64, 1},
    {"growth.64", &toys_induction, 64, 128, 16, 0},
    {"growth.128", &toys_induction, 128, 128, 16, 0},
    {"growth.256", &toys_induction, 256, 128, 16, 0},
    {"growth.512", &toys_induction, 512, 128, 16, 0},
};
/* clang-format on */
enum { TOY_SIZES = sizeof toy_sizes / sizeof *toy_sizes };

#endif
