/* gpt eval: how well a model foresees a text. */
#include <math.h>
#include <stdio.h>

#include "examples/gpt/commands.h"
#include "examples/gpt/loaded.h"
#include "examples/gpt/train.h"

typedef struct measured {
    corpus text;
    gpt_windows windows;
    int64_t first, count; /* tokens of the part */
} measured;

static void take_text(measured *m, const gpt_loaded *l, const gpt_eval_options *o)
{
    const int64_t context = l->model->config.block_size;
    if (o->text == NULL) {
        heed_fail(HEED_ERR_VALUE, "no --text FILE to foresee");
    }
    corpus_open(&m->text, o->text);
    if (corpus_index(&m->text, &l->record.tokenizer) != HEED_OK) {
        return;
    }
    m->first = o->part == GPT_PART_VALIDATION ? gpt_learnt(m->text.count) : 0;
    m->count = m->text.count - m->first;
    m->windows = gpt_windows_of(m->first, m->count, context,
                                o->eval_windows > 0 ? o->eval_windows : INT64_MAX);
    if (m->windows.count == 0) {
        heed_fail(HEED_ERR_VALUE, "%s: too short: %s has %lld tokens, and the model needs %lld",
                  o->text, m->first > 0 ? "its last tenth" : "it", (long long)m->count,
                  (long long)context + 1);
    }
}

static void print(const measured *m, const gpt_loaded *l, double loss)
{
    const double bytes_of_token = (double)m->text.length / (double)m->text.count;
    printf("loss           %.4f nats per token\n", loss);
    printf("perplexity     %.4g of %lld tokens\n", exp(loss), (long long)l->record.tokenizer.count);
    printf("bits per byte  %.4f\n", loss / log(2) / bytes_of_token);
    printf("measured over  %lld of %lld tokens, by %s\n",
           (long long)(m->windows.count * l->model->config.block_size), (long long)m->count,
           token_level_name(l->record.tokenizer.level));
}

int gpt_eval(int argc, char **argv)
{
    gpt_eval_options o = {.load = NULL};
    gpt_loaded l = {.model = NULL};
    measured m = {.count = 0};
    int status = 0;
    if (!gpt_begin(&gpt_eval_flags, &o, argc, argv, &status)) {
        return status;
    }
    flags_complete(&gpt_eval_flags, &o, 0);
    if (gpt_load(&l, "--load", o.load) == HEED_OK) {
        take_text(&m, &l, &o);
    }
    const bool ready = !heed_error_pending();
    if (ready) {
        const double loss = gpt_evaluate(l.model, &m.text, &m.windows, o.batch);
        if (!heed_error_pending()) {
            print(&m, &l, loss);
        }
    }
    status = gpt_end(ready);
    corpus_close(&m.text);
    gpt_loaded_free(&l);
    return status;
}
