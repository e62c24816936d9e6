/* Heed's workloads: each function adds those of the file of its name to the table. */
#ifndef BENCH_HEED_TABLES_H
#define BENCH_HEED_TABLES_H

#include "bench/heed/workloads.h"

void add_training(struct table *table);   /* W1 to W4, MLP */
void add_products(struct table *table);   /* W5 */
void add_operations(struct table *table); /* W6 */
void add_chains(struct table *table);     /* W7 */
void add_memory(struct table *table);     /* figures that need a process of their own */

/* bytes_per_node: memory of a node of W7's graph (chains.c). */
double bytes_per_node(const struct workload *w);

/* print_growth: the time per token of W4 as each of its sizes grows (growth.c); main's work. */
int print_growth(void);

#endif
