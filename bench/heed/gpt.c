/* GPTs: training steps of several sizes (W4 and others), and generation with the cache. */
#include <string.h>

#include "bench/heed/bench.h"
#include "examples/lab/gpt/model.h"

/* peers/serve.py has the same table. */
enum gpt_kind {
    TIED,     /* AdamW with weight decay 0.01, tanh GELU, the output layer shares the embedding */
    UNTIED,   /* exact GELU, a separate output layer */
    GPT_TRAIN /* tied; the step of `gpt train`: clipped gradients, weight decay 0.1 for matrices
                 only */
};

/* clang-format off */
static const struct gpt_size {
    const char *name;
    int layers, heads, width, context, batch, vocabulary;
    enum gpt_kind kind;
} gpt_sizes[] = {
    {"w4", 4, 4, 128, 64, 12, 65, TIED},
    {"w4.untied", 4, 4, 128, 64, 12, 65, UNTIED},
    {"w4.batch1", 4, 4, 128, 64, 1, 65, TIED},
    {"gpt.readme", 4, 4, 128, 64, 12, 24, GPT_TRAIN},
    {"gpt.small", 2, 2, 64, 32, 8, 65, TIED},
    {"gpt.384", 6, 6, 384, 256, 4, 65, TIED},
    {"gpt.768", 4, 12, 768, 256, 2, 8192, TIED},
};
/* clang-format on */
enum { GPT_SIZES = sizeof gpt_sizes / sizeof *gpt_sizes };

static struct gpt *model;
static heed_tensor *ids, *targets;

/* ---- training ---- */

static heed_tensor *loss_of_gpt(void)
{
    return gpt_loss(model, ids, targets);
}

static struct training train_gpt(const struct gpt_size *s)
{
    const heed_shape shape = HEED_SHAPE(s->batch, s->context);
    model = gpt_new((gpt_config){.vocab_size = s->vocabulary,
                                 .block_size = s->context,
                                 .n_layer = s->layers,
                                 .n_head = s->heads,
                                 .n_embd = s->width,
                                 .activation = s->kind == UNTIED ? heed_gelu : NULL,
                                 .untied = s->kind == UNTIED});
    ids = heed_randint(0, s->vocabulary, shape);
    targets = heed_randint(0, s->vocabulary, shape);
    return (struct training){.loss = loss_of_gpt,
                             .optimizer = heed_adamw_new(heed_parameters(model), 1e-3, 0.01),
                             .modules = {model}};
}

void start_w4(void)
{
    start_training(train_gpt(&gpt_sizes[0]));
}

static const char *prepare_gpt(const struct workload *w)
{
    const struct gpt_size *s = &gpt_sizes[w->variant];
    struct training t = train_gpt(s);
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

static const char *prepare_generate(const struct workload *w)
{
    rows = w->size[0];
    heed_optimizer_free(train_gpt(&gpt_sizes[0]).optimizer);
    heed_eval(model);
    cache = gpt_cache_new(model, rows);
    return NULL;
}

static void end_generate(void)
{
    gpt_cache_free(cache);
    heed_module_free(model);
}

/* ---- the table ---- */

void add_gpts(void)
{
    struct workload w = {.unit = "ms",
                         .scale = 1e3,
                         .prepare = prepare_gpt,
                         .run = training_step,
                         .finish = end_training};
    for (w.variant = 0; w.variant < GPT_SIZES; w.variant++) {
        add_workload(w, "%s", gpt_sizes[w.variant].name);
    }
    w = (struct workload){
        .unit = "us/token", .prepare = prepare_generate, .run = generate, .finish = end_generate};
    for (w.size[0] = 1; w.size[0] <= MOST_ROWS; w.size[0] *= MOST_ROWS) {
        w.scale = 1e6 / (gpt_sizes[0].context * (double)w.size[0]);
        add_workload(w, w.size[0] == 1 ? "generate" : "generate.batch%ld", w.size[0]);
    }
}
