/* The cost of a generated token: microseconds for the next token after a context of n, with and
 * without the key-value cache; then tokens per second for several texts generated at once. The
 * model has 4 layers, 4 heads, a width of 128 and a vocabulary of 65. Each figure is the best of
 * several tokens or texts. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/serve.h"
#include "examples/lab/gpt/generate.h"

enum { MOST = 4096, CACHED = 31, PLAIN = 3, MOST_ROWS = 64, TEXT = 64, TEXTS = 9 };

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Fills the cache except for the last CACHED tokens, and times those. idx (rows, tokens). */
static double with_cache(struct gpt *m, heed_tensor *idx, int64_t context)
{
    double least = 1e9;
    gpt_cache *cache = gpt_cache_new(m, heed_size(idx, 0));
    const int64_t first = context - CACHED;
    for (int64_t at = 0; at < first; at += 256) {
        HEED_SCOPE(scope);
        gpt_forward_cached(m, heed_narrow(idx, 1, at, first - at < 256 ? first - at : 256), cache,
                           false);
    }
    for (int i = 0; i < CACHED; i++) {
        HEED_SCOPE(scope);
        const double start = seconds_now();
        gpt_forward_cached(m, heed_narrow(idx, 1, first + i, 1), cache, false);
        least = smaller(least, seconds_now() - start);
    }
    gpt_cache_free(cache);
    return least;
}

static double without(struct gpt *m, heed_tensor *idx, int64_t context)
{
    double least = 1e9;
    for (int i = 0; i < PLAIN; i++) {
        HEED_SCOPE_NO_GRAD(scope);
        const double start = seconds_now();
        gpt_forward(m, heed_narrow(idx, 1, 0, context));
        least = smaller(least, seconds_now() - start);
    }
    return least;
}

static struct gpt *model(int64_t block_size)
{
    struct gpt *m = gpt_new((gpt_config){
        .vocab_size = 65, .block_size = block_size, .n_layer = 4, .n_head = 4, .n_embd = 128});
    heed_eval(m);
    return m;
}

/* Seconds per step, which adds a token to each row, for texts that fill the block. */
static double generation(struct gpt *m, int64_t rows, int64_t top_k)
{
    HEED_SCOPE(scope);
    double least = 1e9;
    heed_tensor *start = heed_randint(0, 65, HEED_SHAPE(rows, 1));
    const gpt_generation options = {.sampling = {.top_k = top_k}};
    for (int i = 0; i < TEXTS; i++) {
        const double began = seconds_now();
        gpt_generate(m, start, TEXT - 1, options);
        least = smaller(least, (seconds_now() - began) / (TEXT - 1));
    }
    return least;
}

int main(void)
{
    HEED_SCOPE(scope);
    struct gpt *m = model(MOST);
    heed_tensor *idx = heed_randint(0, 65, HEED_SHAPE(1, MOST));
    printf("%8s %14s %14s %8s\n", "context", "cached, us", "forward, us", "ratio");
    for (int64_t context = 64; context <= MOST; context *= 2) {
        const double cached = with_cache(m, idx, context), plain = without(m, idx, context);
        printf("%8lld %14.1f %14.1f %8.1f\n", (long long)context, 1e6 * cached, 1e6 * plain,
               plain / cached);
        fflush(stdout);
    }
    heed_module_free(m);
    m = model(TEXT);
    printf("\n%8s %14s %14s %14s\n", "rows", "step, us", "tokens/s", "top_k 10");
    for (int64_t rows = 1; rows <= MOST_ROWS; rows *= 4) {
        const double all = generation(m, rows, 0), ten = generation(m, rows, 10);
        printf("%8lld %14.1f %14.0f %14.0f\n", (long long)rows, 1e6 * all, (double)rows / all,
               (double)rows / ten);
        fflush(stdout);
    }
    heed_module_free(m);
    const bool failed = heed_error_pending() != HEED_OK;
    if (failed) {
        fprintf(stderr, "%s\n", heed_error_message());
    }
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
