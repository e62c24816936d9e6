/* Heed's side of the benchmark; see bench/serve.h. `bench_heed data NAME COUNT FILE` writes what
 * the peers in Python need of small models. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/heed/bench.h"

enum { MOST_WORKLOADS = 100 };
static struct workload table[MOST_WORKLOADS];
static int table_size;
static heed_scope scope;

const struct workload *add_workload(struct workload w, const char *name, ...)
{
    if (table_size == MOST_WORKLOADS) {
        fputs("the table of workloads is full\n", stderr);
        exit(EXIT_FAILURE);
    }
    va_list args;
    va_start(args, name);
    vsnprintf(w.name, sizeof w.name, name, args);
    va_end(args);
    table[table_size] = w;
    return &table[table_size++];
}

void add_subnormal(struct workload w)
{
    const struct workload normal = w;
    w.subnormal = true;
    add_workload(w, "%s.subnormal", normal.name);
}

static void before(void)
{
    heed_scope_begin(&scope);
    heed_manual_seed(1);
}

static void after(void)
{
    heed_scope_end(&scope);
    heed_empty_cache(); /* no workload profits from the memory of another */
}

int main(int argc, char **argv)
{
    heed_on_error(heed_die);
    if (argc == 5 && strcmp(argv[1], "data") == 0) {
        return save_toys(argv[2], atoi(argv[3]), argv[4]);
    }
    add_toys();
    add_training();
    add_gpts();
    add_operations();
    add_engine();
    return serve(&(struct workloads){table, table_size, before, after}, argc, argv);
}
