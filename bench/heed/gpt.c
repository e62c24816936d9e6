/* A training step of a character GPT (W4): 4 layers, 4 heads, 128 wide, context 64, batch 12, AdamW. */

#include "bench/heed/workloads.h"

enum { TIED, UNTIED };

const heed_gpt_config bench_gpt_config = {
    .vocab_size = 65, .block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128};

static struct heed_gpt *model;
static heed_tensor *tokens, *targets;

static heed_tensor *loss(void)
{
    return heed_gpt_loss(model, tokens, targets);
}

struct training gpt_training(heed_gpt_config config, int64_t batch, int64_t length)
{
    model = heed_gpt_new(config);
    tokens = heed_randint(0, config.vocab_size, HEED_SHAPE(batch, length));
    targets = heed_randint(0, config.vocab_size, HEED_SHAPE(batch, length));
    return (struct training){.loss = loss,
                             .optimizer = heed_adamw_new(heed_parameters(model), 1e-3, 0.01),
                             .modules = {model}};
}

static const char *prepare(const struct workload *w)
{
    heed_gpt_config config = bench_gpt_config;
    if (w->variant == UNTIED) {
        config.untied = true;
        config.activation = heed_gelu;
    }
    return begin_training(gpt_training(config, 12, config.block_size));
}

/* Of one step: each weight of a Linear meets each token, and so do the scores of its row and what they
 * weigh; forward, and twice as much backward. Half of the scores are masked, and counted all the same. */
static double multiply_adds(heed_gpt_config c, double batch, double length)
{
    const double width = (double)c.n_embd, weights = c.n_layer * 12 * width * width + 65 * width;
    return 3 * 2 * batch * length * (weights + c.n_layer * 2 * length * width);
}

void add_gpt(struct table *table)
{
    struct workload w = {.unit = "ms",
                         .scale = 1e3,
                         .bound = "fma",
                         .bound_times = multiply_adds(bench_gpt_config, 12, 64),
                         .prepare = prepare,
                         .run = training_step,
                         .finish = end_training};
    w.variant = TIED;
    add_workload(table, w, "w4");
    w.variant = UNTIED;
    add_workload(table, w, "w4.untied");
}
