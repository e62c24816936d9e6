/* Figures that need a separate process: memory, and the time from the start of the process to the
 * end of its first training step. */
#include <math.h>

#include "bench/heed/tables.h"
#include "bench/heed/training.h"

static double peak_bytes(void)
{
    return 1024 * status_kib("VmHWM:");
}

static double first_step(const struct workload *w)
{
    (void)w;
    first_toy_step();
    return 0;
}

/* Peak memory of a process that trains W4. */
static double memory_of_gpt(const struct workload *w)
{
    (void)w;
    HEED_SCOPE(scope);
    start_training(gpt_training(gpt_config_of(&gpt_sizes[0]), gpt_sizes[0].batch));
    for (int i = 0; i < 20; i++) {
        training_step();
    }
    end_training();
    return peak_bytes();
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
    return finite ? peak_bytes() : (double)NAN;
}

void add_memory(struct table *table)
{
    add_workload(
        table, (struct workload){.kind = START, .unit = "ms", .scale = 1e3, .measure = first_step},
        "start");
    struct workload w = {.kind = ONCE, .unit = "bytes/node", .scale = 1};
    w.measure = bytes_per_node;
    add_workload(table, w, "memory.w7");
    w.unit = "MiB";
    w.scale = 1.0 / (1 << 20);
    w.measure = memory_of_gpt;
    add_workload(table, w, "memory.w4");
    w.measure = memory_of_attention;
    for (long length = 1024; length <= 8192; length *= 2) {
        w.size[0] = length;
        add_workload(table, w, "memory.attention.%ld", length);
    }
}
