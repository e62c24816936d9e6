/* A model's attention over some tokens, and their labels. */
#include "examples/lab/gpt/reading.h"

void gpt_reading_begin(gpt_reading *r, struct gpt *m, const tokenizer *t, const int64_t *ids,
                       int64_t count)
{
    size_t starts[READING_TOKENS];
    const int64_t block_size = m->config.block_size;
    const int64_t most = block_size < READING_TOKENS ? block_size : READING_TOKENS;
    *r = (gpt_reading){.model = m, .count = count < most ? count : most};
    ids += count - r->count;
    for (int64_t i = 0; i < r->count; i++) {
        r->ids[i] = ids[i];
        starts[i] = r->spelling.length;
        tokenizer_decode(t, ids[i], &r->spelling);
        text_append(&r->spelling, "", 1);
    }
    for (int64_t i = 0; i < r->count && !heed_error_pending(); i++) {
        r->labels[i] = r->spelling.bytes + starts[i];
    }
}

static void keep_weights(struct gpt *m, bool keep)
{
    for (int layer = 0; layer < m->config.n_layer; layer++) {
        gpt_block_at(m, layer)->attn->keep_weights = keep;
    }
}

/* Modules cannot be changed while an error is pending, such as that of a failed forward. */
static void restore(struct gpt *m, bool training)
{
    char message[512];
    const heed_status error = heed_error();
    snprintf(message, sizeof message, "%s", heed_error_message());
    keep_weights(m, false);
    if (training) {
        heed_train(m);
    }
    if (error != HEED_OK) {
        heed_fail(error, "%s", message);
    }
}

heed_tensor *gpt_reading_attention(void *reading)
{
    const gpt_reading *r = reading;
    struct gpt *m = r->model;
    const bool training = m->module.training;
    if (heed_error_pending()) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    heed_eval(m);
    keep_weights(m, true);
    gpt_forward(m, heed_from_i64(r->ids, HEED_SHAPE(1, r->count)));
    restore(m, training);
    heed_tensor *all = NULL; /* (layers, heads, T, T) */
    for (int layer = 0; layer < m->config.n_layer && !heed_error_pending(); layer++) {
        heed_tensor *one = gpt_block_at(m, layer)->attn->attention_percent;
        all = layer == 0 ? one : heed_cat((heed_tensor *[]){all, one}, 2, 0);
    }
    return heed_scope_keep(&scope, all);
}

void gpt_reading_free(gpt_reading *r)
{
    text_free(&r->spelling);
    *r = (gpt_reading){.model = NULL};
}
