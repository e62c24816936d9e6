/* Small runs of the program gpt, for suites and fuzzers. */
#ifndef HEED_TESTS_GPT_OPTIONS_H
#define HEED_TESTS_GPT_OPTIONS_H

#include "examples/lab/gpt/train.h"

/* small_gpt: a run on this text with a model of one layer. */
static inline gpt_train_options small_gpt(const char *text, int heads, int width, int context,
                                          int batch, int steps)
{
    gpt_train_options o = {.text = text,
                           .n_layer = 1,
                           .n_head = heads,
                           .n_embd = width,
                           .context = context,
                           .batch = batch,
                           .steps = steps};
    o.given.n_layer = o.given.n_head = o.given.n_embd = o.given.context = true;
    o.given.batch = o.given.steps = true;
    return o;
}

#endif
