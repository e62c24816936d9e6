/* The engine: a chain of 1,000 scalar operations (W7), alternately mul and add, whose other
 * operands require gradients. And figures that need a separate process: memory, and the time from
 * the start of the process to the end of its first training step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/heed/bench.h"

enum { NODES = 1000 };

static heed_tensor *x, *factor, *summand;

static heed_tensor *chain(int nodes)
{
    heed_tensor *y = x;
    for (int i = 0; i < nodes / 2; i++) {
        y = heed_add(heed_mul(y, factor), summand);
    }
    return y;
}

static void forward_no_grad(void)
{
    HEED_SCOPE_NO_GRAD(scope);
    chain(NODES);
}

static void backward(void)
{
    HEED_SCOPE(scope);
    heed_clear_grad(x);
    heed_backward(chain(NODES));
}

static const char *prepare(const struct workload *w)
{
    (void)w;
    x = heed_set_requires_grad(heed_scalar(1, HEED_F32), true);
    factor = heed_set_requires_grad(heed_scalar(0.999, HEED_F32), true);
    summand = heed_set_requires_grad(heed_scalar(0.001, HEED_F32), true);
    backward();
    return NULL;
}

/* ---- figures that need a separate process ---- */

/* A line of /proc/self/status such as "VmHWM:", in bytes; NAN if it is missing. */
static double status_bytes(const char *line)
{
    double kib = (double)NAN;
    char text[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(text, sizeof text, file) != NULL) {
        if (strncmp(text, line, strlen(line)) == 0) {
            kib = strtod(text + strlen(line), NULL);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return 1024 * kib;
}

static double first_step(const struct workload *w)
{
    (void)w;
    HEED_SCOPE(scope);
    start_w1();
    training_step();
    end_training();
    return 0;
}

/* Bytes of memory per node of a live graph. */
static double bytes_per_node(const struct workload *w)
{
    enum { MANY = 1000000 };
    HEED_SCOPE(outer);
    prepare(w);
    const double before = status_bytes("VmRSS:");
    HEED_SCOPE(scope);
    chain(MANY);
    return (status_bytes("VmRSS:") - before) / MANY;
}

/* Peak memory of a process that trains W4. */
static double memory_of_gpt(const struct workload *w)
{
    (void)w;
    HEED_SCOPE(scope);
    start_w4();
    for (int i = 0; i < 20; i++) {
        training_step();
    }
    end_training();
    return status_bytes("VmHWM:");
}

/* Peak memory of a process that computes causal attention over T tokens, forward and backward: 4
 * heads of 64 features. */
static double memory_of_attention(const struct workload *w)
{
    HEED_SCOPE(scope);
    heed_tensor *qkv[3];
    for (int i = 0; i < 3; i++) {
        qkv[i] = heed_randn(HEED_SHAPE(1, 4, w->size[0], 64), HEED_F32);
        heed_set_requires_grad(qkv[i], true);
    }
    heed_backward(
        heed_sum(heed_scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], .is_causal = true)));
    const bool finite = isfinite(heed_item(heed_sum(qkv[0]->grad)));
    return finite ? status_bytes("VmHWM:") : (double)NAN;
}

/* ---- the table ---- */

void add_engine(void)
{
    struct workload w = {
        .unit = "ns/node", .scale = 1e9 / NODES, .prepare = prepare, .run = backward};
    add_workload(w, "w7.leaves");
    w.run = forward_no_grad;
    add_workload(w, "w7.no_grad");
    add_workload(
        (struct workload){.kind = START, .unit = "ms", .scale = 1e3, .measure = first_step},
        "start");
    w = (struct workload){
        .kind = ONCE, .unit = "bytes/node", .scale = 1, .measure = bytes_per_node};
    add_workload(w, "memory.w7");
    w.unit = "MiB";
    w.scale = 1.0 / (1 << 20);
    w.measure = memory_of_gpt;
    add_workload(w, "memory.w4");
    w.measure = memory_of_attention;
    w.size[0] = 8192;
    add_workload(w, "memory.attention.%ld", w.size[0]);
}
