/* Growth of W4's time per token with each size of the model or its input, the others being fixed:
 * CPU time of one thread. The exponent is that of the size, relative to the previous line; growth
 * steeper than that of the arithmetic is marked as a cliff. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/heed/tables.h"
#include "bench/heed/training.h"

enum { CONTEXT, BATCH, WIDTH, LAYERS, TOKENS = 768, MOST_SIZES = 10 };
static const double SECONDS = 0.5, TOO_LONG = 20, SLACK = 0.25;

static const struct sweep {
    const char *name;
    double steepest; /* exponent of the arithmetic per token */
    long sizes[MOST_SIZES];
} sweeps[] = {
    {"context", 1, {64, 128, 256, 512, 1024, 2048, 4096}},
    {"batch", 0, {1, 2, 4, 8, 16, 32, 64}},
    {"width", 2, {64, 128, 256, 512, 1024}},
    {"layers", 1, {1, 2, 4, 8, 16, 24}},
};

/* CPU time, which other programs disturb less than wall time. */
static double processor_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The minimum time per step, over at least two steps and as many as fit into SECONDS. */
static double least_step(void)
{
    const double start = processor_now();
    double least = HUGE_VAL;
    for (int i = 0; i < 2 || processor_now() - start < SECONDS; i++) {
        const double before = processor_now();
        training_step();
        least = fmin(least, processor_now() - before);
    }
    return least;
}

/* Times the model of one line: 12 rows of 64 tokens, or fewer and longer rows with 768 tokens in
 * total. */
static double time_step(int sweep, long size, int64_t *tokens)
{
    gpt_config config = gpt_config_of(&gpt_sizes[0]);
    int64_t batch = gpt_sizes[0].batch;
    if (sweep == CONTEXT) {
        config.block_size = size;
        batch = size < TOKENS ? TOKENS / size : 1;
    } else if (sweep == BATCH) {
        batch = size;
    } else if (sweep == WIDTH) {
        config.n_embd = size;
    } else {
        config.n_layer = (int)size;
    }
    *tokens = batch * config.block_size;
    heed_scope scope;
    heed_scope_begin(&scope);
    start_training(gpt_training(config, batch));
    training_step();
    const double seconds = least_step();
    end_training();
    heed_scope_end(&scope);
    heed_empty_cache();
    return seconds;
}

static void print_sweep(int number)
{
    const struct sweep *sweep = &sweeps[number];
    double per_token = 0, last = 0; /* of the previous size */
    printf("%-8s %6s %10s %12s %10s %9s\n", sweep->name, "", "tokens", "ms/step", "us/token",
           "exponent");
    for (int i = 0; i < MOST_SIZES && sweep->sizes[i] > 0; i++) {
        const long size = sweep->sizes[i];
        int64_t tokens;
        if (last * 8 > TOO_LONG) {
            printf("%-8s %6ld  skipped: a step might take more than %.0f s\n", "", size, TOO_LONG);
            continue;
        }
        last = time_step(number, size, &tokens);
        const double now = last / (double)tokens;
        printf("%-8s %6ld %10lld %12.2f %10.2f", "", size, (long long)tokens, 1e3 * last,
               1e6 * now);
        if (i > 0) {
            const double ratio = (double)size / (double)sweep->sizes[i - 1];
            const double exponent = log(now / per_token) / log(ratio);
            printf(" %9.2f%s", exponent, exponent > sweep->steepest + SLACK ? "  cliff" : "");
        }
        putchar('\n');
        fflush(stdout);
        per_token = now;
    }
}

int print_growth(void)
{
    for (int i = CONTEXT; i <= LAYERS; i++) {
        print_sweep(i);
    }
    return ferror(stdout) || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
