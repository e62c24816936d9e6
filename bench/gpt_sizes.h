/* The GPTs of the benchmark, for Heed and llm.c. peers/serve.py has the same table. */
#ifndef BENCH_GPT_SIZES_H
#define BENCH_GPT_SIZES_H

enum gpt_kind {
    TIED,     /* AdamW with weight decay 0.01, tanh GELU, the output layer shares the embedding */
    UNTIED,   /* exact GELU, a separate output layer */
    GPT_TRAIN /* tied; the step of `gpt train`: clipped gradients, weight decay 0.1 for matrices
                 only */
};

struct gpt_size {
    const char *name;
    int layers, heads, width, context, batch, vocabulary;
    enum gpt_kind kind;
};

/* clang-format off */
static const struct gpt_size gpt_sizes[] = {
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

/* gpt_operations: the floating-point operations of a step's products. Each token is multiplied by
 * each weight of a Linear, and in attention by the keys and values of its row; backward costs twice
 * as much as forward. Masked scores count too. */
static inline double gpt_operations(const struct gpt_size *s)
{
    const double width = s->width, layers = s->layers,
                 weights = layers * 12 * width * width + s->vocabulary * width;
    return 3 * 2.0 * s->batch * s->context * (weights + layers * 2 * s->context * width);
}

#endif
