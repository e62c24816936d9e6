/* Heed's workloads: add_NAME adds those of NAME.c to the table. */
#ifndef BENCH_HEED_TABLES_H
#define BENCH_HEED_TABLES_H

#include "bench/heed/workloads.h"

void add_toys(struct table *table);       /* W1, models of build/toys, many seeds */
void add_stacked(struct table *table);    /* the same seeds in one model */
void add_training(struct table *table);   /* W2, W3, MLP */
void add_gpts(struct table *table);       /* W4, other GPTs, generation */
void add_products(struct table *table);   /* W5 */
void add_operations(struct table *table); /* W6 */
void add_chains(struct table *table);     /* W7 */
void add_memory(struct table *table);     /* figures that need a separate process */

/* bytes_per_node: memory per node of W7's graph (chains.c). */
double bytes_per_node(const struct workload *w);

/* print_growth: prints W4's time per token as each of its sizes grows (growth.c); returns main's
 * status. */
int print_growth(void);

/* save_toys: writes the first weights, data and losses of `count` seeds of a model in toy_sizes.h
 * to a safetensors file (toys.c); returns main's status. */
int save_toys(const char *name, int count, const char *path);

#endif
