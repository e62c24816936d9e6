/* What the spine costs: nanoseconds and bytes for each node of a chain of 1,000 operations on single
 * numbers, microseconds for the steps of models that are hardly more than their nodes, and
 * nanoseconds for each parameter that an optimiser updates. Each figure is the minimum and the median
 * of 15 chunks of 60 ms.
 *
 *     bench_spine            all of them
 *     bench_spine chain      those whose names begin with "chain" */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "heed.h"

enum { CHUNKS = 15, NODES = 1000 };

static const char *wanted = "";

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
    if (strncmp(name, wanted, strlen(wanted)) != 0) {
        return;
    }
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
    printf("%-48s min %8.2f   median %8.2f %s\n", name, seconds[0], seconds[CHUNKS / 2], unit);
}

/* ---- a chain: y = y a, y = y + b, ... ---- */

static heed_tensor *x, *a, *b; /* of the chain's operands; NULL: numbers */

static heed_tensor *chain(void)
{
    heed_tensor *y = x;
    for (int i = 0; i < NODES / 2; i++) {
        y = a != NULL ? heed_mul(y, a) : heed_mul_scalar(y, 0.999);
        y = b != NULL ? heed_add(y, b) : heed_add_scalar(y, 0.001);
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
    if (a != NULL) {
        heed_clear_grad(a);
        heed_clear_grad(b);
    }
    heed_scope_end(&scope);
}

static void print_bytes(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    const int64_t before = heed_live_bytes();
    chain();
    printf("%-48s     %8.0f bytes/node\n", "chain: memory of the graph",
           (double)(heed_live_bytes() - before) / NODES);
    heed_scope_end(&scope);
}

static void bench_chain(void)
{
    x = heed_set_requires_grad(heed_scalar(1, HEED_F32), true);
    bench("chain by numbers: no grad", forward_no_grad, NODES, 1e9, "ns/node");
    bench("chain by numbers: forward, backward", forward_backward, NODES, 1e9, "ns/node");
    a = heed_scalar(0.999, HEED_F32);
    b = heed_scalar(0.001, HEED_F32);
    bench("chain by tensors: no grad", forward_no_grad, NODES, 1e9, "ns/node");
    bench("chain by tensors: forward", forward, NODES, 1e9, "ns/node");
    bench("chain by tensors: forward, backward", forward_backward, NODES, 1e9, "ns/node");
    heed_set_requires_grad(a, true);
    heed_set_requires_grad(b, true);
    bench("chain by leaves: forward, backward", forward_backward, NODES, 1e9, "ns/node");
    if (strncmp("chain", wanted, strlen(wanted)) == 0) {
        print_bytes();
    }
}

/* ---- the toy: 5 tokens, d_model 2, one masked SelfAttention ---- */

static struct heed_embedding *we;
static struct heed_position_encoding *pe;
static struct heed_self_attention *attention;
static struct heed_linear *fc;
static heed_tensor *tokens, *targets, *mask;
static heed_optimizer *optimizer;

static heed_tensor *toy_loss(void)
{
    heed_tensor *e = heed_position_encoding_forward(pe, heed_embedding_forward(we, tokens));
    heed_tensor *attended = heed_self_attention_forward(attention, e, mask);
    return heed_cross_entropy(heed_linear_forward(fc, heed_add(e, attended)), targets);
}

static void toy_forward(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    toy_loss();
    heed_scope_end(&scope);
}

static void toy_step(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_optimizer_zero_grad(optimizer);
    heed_backward(toy_loss());
    heed_optimizer_step(optimizer);
    heed_scope_end(&scope);
}

static void bench_toy(void)
{
    we = heed_embedding_new(5, 2);
    pe = heed_position_encoding_new(2, 5);
    attention = heed_self_attention_new(2, 0, 1);
    fc = heed_linear_new(2, 5);
    tokens = heed_from_i64((int64_t[]){0, 1, 2, 3, 4}, HEED_SHAPE(5));
    targets = heed_from_i64((int64_t[]){1, 2, 3, 4, 0}, HEED_SHAPE(5));
    mask = heed_causal_block_mask(5);
    heed_tensor *parameters[] = {we->weight,
                                 attention->W_q->weight,
                                 attention->W_k->weight,
                                 attention->W_v->weight,
                                 fc->weight,
                                 fc->bias};
    bench("toy: forward", toy_forward, 1, 1e6, "us");
    optimizer = heed_sgd_new((heed_tensor_list){6, parameters, NULL}, 1e-3);
    bench("toy: training step with SGD", toy_step, 1, 1e6, "us");
    heed_optimizer_free(optimizer);
    optimizer = heed_adam_new((heed_tensor_list){6, parameters, NULL}, 1e-3);
    bench("toy: training step with Adam", toy_step, 1, 1e6, "us");
    heed_optimizer_free(optimizer);
    heed_embedding_free(we);
    heed_position_encoding_free(pe);
    heed_self_attention_free(attention);
    heed_linear_free(fc);
}

/* ---- one head: 4 sequences of 8 tokens, 32 wide, of which the head makes 16 ---- */

static void head_step(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_optimizer_zero_grad(optimizer);
    heed_tensor *y = heed_self_attention_forward(attention, x, mask);
    heed_backward(heed_mean(heed_square(y)));
    heed_optimizer_step(optimizer);
    heed_scope_end(&scope);
}

static void bench_head(void)
{
    attention =
        heed_self_attention_new_with(32, -2, -1, (heed_self_attention_options){.head_dim = 16});
    x = heed_randn(HEED_SHAPE(4, 8, 32), HEED_F32);
    mask = heed_causal_block_mask(8);
    optimizer = heed_sgd_new(heed_parameters(attention), 1e-3);
    bench("head: training step with SGD", head_step, 1, 1e6, "us");
    heed_optimizer_free(optimizer);
    heed_self_attention_free(attention);
}

/* ---- four large parameters, updated and clipped ---- */

enum { LARGE = 818048 / 4 };

static heed_tensor *large[4];

static void large_step(void)
{
    heed_optimizer_step(optimizer);
}

static void large_clip(void)
{
    heed_clip_grad_norm((heed_tensor_list){4, large, NULL}, 1e-3);
}

static void bench_large(void)
{
    for (int i = 0; i < 4; i++) {
        large[i] = heed_set_requires_grad(heed_randn(HEED_SHAPE(LARGE), HEED_F32), true);
        heed_set_grad(large[i], heed_randn(HEED_SHAPE(LARGE), HEED_F32));
    }
    const double parameters = 4 * LARGE;
    optimizer = heed_adamw_new((heed_tensor_list){4, large, NULL}, 1e-3, 0.01);
    bench("AdamW of 4 x 204512", large_step, parameters, 1e9, "ns/parameter");
    heed_optimizer_free(optimizer);
    optimizer = heed_sgd_new((heed_tensor_list){4, large, NULL}, 1e-3);
    bench("SGD of 4 x 204512", large_step, parameters, 1e9, "ns/parameter");
    heed_optimizer_free(optimizer);
    bench("clip_grad_norm of 4 x 204512", large_clip, parameters, 1e9, "ns/parameter");
}

int main(int count, char **arguments)
{
    wanted = count > 1 ? arguments[1] : "";
    heed_on_error(heed_die);
    heed_scope scope;
    heed_scope_begin(&scope);
    printf("instruction set %s\n", heed_isa());
    bench_chain();
    bench_toy();
    bench_head();
    bench_large();
    heed_scope_end(&scope);
    return EXIT_SUCCESS;
}
