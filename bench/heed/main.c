/* Heed's side of the benchmark; see bench/serve.h. `bench_heed growth` prints the growth of the
 * time per token with each size of a GPT; `bench_heed data NAME COUNT FILE` writes what the peers
 * in Python need of small models. */
#include <stdlib.h>
#include <string.h>

#include "bench/heed/tables.h"

static heed_scope scope;

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
    static struct table table;
    heed_on_error(heed_die);
    if (argc > 1 && strcmp(argv[1], "growth") == 0) {
        return print_growth();
    }
    if (argc == 5 && strcmp(argv[1], "data") == 0) {
        return save_toys(argv[2], atoi(argv[3]), argv[4]);
    }
    add_toys(&table);
    add_stacked(&table);
    add_training(&table);
    add_gpts(&table);
    add_products(&table);
    add_operations(&table);
    add_chains(&table);
    add_memory(&table);
    return serve(&(struct workloads){table.all, table.count, before, after}, argc, argv);
}
