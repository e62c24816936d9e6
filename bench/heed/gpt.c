/* GPTs: training steps of several sizes (W4 and others), and generation with the cache. */
#include <string.h>

#include "bench/gpt_sizes.h"
#include "bench/heed/tables.h"
#include "bench/heed/training.h"

static struct gpt *model;
static heed_tensor *ids, *targets;

/* ---- training ---- */

static heed_tensor *loss_of_gpt(void)
{
    return gpt_loss(model, ids, targets);
}

struct training gpt_training(gpt_config config, int64_t batch)
{
    const heed_shape shape = HEED_SHAPE(batch, config.block_size);
    model = gpt_new(config);
    ids = heed_randint(0, config.vocab_size, shape);
    targets = heed_randint(0, config.vocab_size, shape);
    return (struct training){.loss = loss_of_gpt,
                             .optimizer = heed_adamw_new(heed_parameters(model), 1e-3, 0.01),
                             .modules = {model}};
}

gpt_config gpt_config_of(const struct gpt_size *s)
{
    return (gpt_config){.vocab_size = s->vocabulary,
                        .block_size = s->context,
                        .n_layer = s->layers,
                        .n_head = s->heads,
                        .n_embd = s->width,
                        .activation = s->kind == UNTIED ? heed_gelu : NULL,
                        .untied = s->kind == UNTIED};
}

static const char *prepare_gpt(const struct workload *w)
{
    const struct gpt_size *s = &gpt_sizes[w->variant];
    struct training t = gpt_training(gpt_config_of(s), s->batch);
    if (s->kind == GPT_TRAIN) {
        heed_optimizer_free(t.optimizer);
        t.optimizer = heed_adamw_new(heed_parameters(model), 1e-3, 0.1, .betas = {0.9, 0.99},
                                     .decay_matrices_only = true);
        t.clipped = model;
    }
    return begin_training(t);
}

/* ---- greedy generation of all tokens of a context ---- */

enum { MOST_ROWS = 8 };
static gpt_cache *cache;
static int64_t rows;

/* The logits of the next tokens, (rows, 1, V), from the last ones. */
static heed_tensor *next_logits(const int64_t *last)
{
    return gpt_forward_cached(model, heed_from_i64(last, HEED_SHAPE(rows, 1)), cache, true);
}

static void generate(void)
{
    int64_t last[MOST_ROWS] = {0};
    cache->length = 0;
    for (int64_t i = 0; i < model->config.block_size; i++) {
        HEED_SCOPE_NO_GRAD(scope);
        heed_tensor *next = heed_argmax_dim(next_logits(last), -1, false);
        memcpy(last, heed_const_data_i64(next), (size_t)rows * sizeof *last);
    }
}

/* True if the logits of the last token differ with the cache and without it. */
static bool cached_differs(void)
{
    HEED_SCOPE_NO_GRAD(scope);
    const int64_t length = model->config.block_size;
    heed_tensor *text = heed_randint(0, model->config.vocab_size, HEED_SHAPE(rows, length));
    heed_tensor *cached = NULL;
    for (int64_t i = 0; i < length; i++) {
        cached = gpt_forward_cached(model, heed_narrow(text, 1, i, 1), cache, true);
    }
    heed_tensor *plain = heed_narrow(gpt_forward(model, text), 1, length - 1, 1);
    return !heed_allclose(cached, plain, 1e-4, 1e-5, false);
}

static const char *prepare_generate(const struct workload *w)
{
    rows = w->size[0];
    model = gpt_new(gpt_config_of(&gpt_sizes[0]));
    heed_eval(model);
    cache = gpt_cache_new(model, rows);
    return cached_differs() ? "the logits with and without the cache differ" : NULL;
}

static void end_generate(void)
{
    gpt_cache_free(cache);
    heed_module_free(model);
}

/* ---- the table ---- */

void add_gpts(struct table *table)
{
    struct workload w = {.unit = "ms",
                         .scale = 1e3,
                         .bound = "fma",
                         .prepare = prepare_gpt,
                         .run = training_step,
                         .finish = end_training};
    for (w.variant = 0; w.variant < GPT_SIZES; w.variant++) {
        w.bound_times = gpt_operations(&gpt_sizes[w.variant]);
        add_workload(table, w, "%s", gpt_sizes[w.variant].name);
    }
    w = (struct workload){
        .unit = "us/token", .prepare = prepare_generate, .run = generate, .finish = end_generate};
    for (w.size[0] = 1; w.size[0] <= MOST_ROWS; w.size[0] *= MOST_ROWS) {
        w.scale = 1e6 / (gpt_sizes[0].context * (double)w.size[0]);
        add_workload(table, w, w.size[0] == 1 ? "generate" : "generate.batch%ld", w.size[0]);
    }
}
