/* What the spine costs: nanoseconds for each node of a chain of 1,000 multiplications, and
 * microseconds for a training step of the smallest toy (5 tokens, d_model 2, one masked
 * SelfAttention, Adam). Each figure is the minimum and the median of 15 chunks of 60 ms. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "heed.h"

enum { CHUNKS = 15, NODES = 1000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the seconds of one call of `work`, divided by `per` and in units of `scale`. */
static void bench(const char *name, void (*work)(void), double per, double scale, const char *unit)
{
    double seconds[CHUNKS], start = now();
    int calls = 0;
    for (; now() - start < 0.3 || calls < 3; calls++) {
        work();
    }
    const int chunk = (int)(0.06 / ((now() - start) / calls)) + 1;
    for (int i = 0; i < CHUNKS; i++) {
        start = now();
        for (int j = 0; j < chunk; j++) {
            work();
        }
        seconds[i] = (now() - start) / chunk / per * scale;
    }
    qsort(seconds, CHUNKS, sizeof *seconds, compare);
    printf("%-44s min %8.2f   median %8.2f %s\n", name, seconds[0], seconds[CHUNKS / 2], unit);
}

/* ---- a chain of multiplications ---- */

static heed_tensor *x, *factor;

static heed_tensor *chain(void)
{
    heed_tensor *y = x;
    for (int i = 0; i < NODES; i++) {
        y = heed_mul(y, factor);
    }
    return y;
}

static void forward(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    chain();
    heed_scope_end(&scope);
}

static void forward_no_grad(void)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    chain();
    heed_scope_end(&scope);
}

static void forward_backward(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_backward(chain());
    heed_clear_grad(x);
    heed_clear_grad(factor);
    heed_scope_end(&scope);
}

/* ---- the toy ---- */

static struct heed_embedding *we;
static struct heed_position_encoding *pe;
static struct heed_self_attention *attention;
static struct heed_linear *fc;
static heed_tensor *tokens, *targets, *mask, *parameters[6];
static heed_optimizer *adam;

static void make_toy(void)
{
    we = heed_embedding_new(5, 2);
    pe = heed_position_encoding_new(2, 5);
    attention = heed_self_attention_new(2, 0, 1);
    fc = heed_linear_new(2, 5);
    tokens = heed_from_i64((int64_t[]){0, 1, 2, 3, 4}, HEED_SHAPE(5));
    targets = heed_from_i64((int64_t[]){1, 2, 3, 4, 0}, HEED_SHAPE(5));
    mask = heed_causal_block_mask(5);
    heed_tensor *all[] = {we->weight,
                          attention->W_q->weight,
                          attention->W_k->weight,
                          attention->W_v->weight,
                          fc->weight,
                          fc->bias};
    for (int i = 0; i < 6; i++) {
        parameters[i] = all[i];
    }
    adam = heed_adam_new((heed_tensor_list){6, parameters, NULL}, 1e-3);
}

static void toy_step(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_optimizer_zero_grad(adam);
    heed_tensor *e = heed_position_encoding_forward(pe, heed_embedding_forward(we, tokens));
    heed_tensor *attended = heed_self_attention_forward(attention, e, mask);
    heed_backward(heed_cross_entropy(heed_linear_forward(fc, heed_add(e, attended)), targets));
    heed_optimizer_step(adam);
    heed_scope_end(&scope);
}

int main(void)
{
    heed_on_error(heed_die);
    heed_scope scope;
    heed_scope_begin(&scope);
    x = heed_set_requires_grad(heed_scalar(1, HEED_F32), true);
    factor = heed_set_requires_grad(heed_scalar(0.999, HEED_F32), true);
    printf("instruction set %s\n", heed_isa());
    bench("chain of 1,000: forward, no grad, scope end", forward_no_grad, NODES, 1e9, "ns/node");
    bench("chain of 1,000: forward, scope end", forward, NODES, 1e9, "ns/node");
    bench("chain of 1,000: forward, backward, scope end", forward_backward, NODES, 1e9, "ns/node");
    make_toy();
    bench("toy: training step with Adam", toy_step, 1, 1e6, "us");
    heed_optimizer_free(adam);
    heed_embedding_free(we);
    heed_position_encoding_free(pe);
    heed_self_attention_free(attention);
    heed_linear_free(fc);
    heed_scope_end(&scope);
    return EXIT_SUCCESS;
}
