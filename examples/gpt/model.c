/* From settings to a model. */
#include "examples/gpt/model.h"

struct heed_gpt *gpt_model_new(const gpt_train_options *s, int64_t tokens)
{
    static heed_activation_function *const activations[] = {heed_gelu_tanh, heed_gelu, heed_relu};
    return heed_gpt_new((heed_gpt_config){
        .vocab_size = tokens,
        .block_size = s->context,
        .n_layer = (int)s->n_layer,
        .n_head = (int)s->n_head,
        .n_embd = s->n_embd,
        .dropout = s->dropout,
        .activation = activations[s->activation],
        .no_bias = s->no_bias,
        .untied = s->untied,
        .sinusoidal = s->positions == 1,
    });
}

struct heed_gpt *gpt_model_load(const gpt_record *r, const char *flag, const char *path)
{
    struct heed_gpt *model = gpt_model_new(&r->settings, r->tokenizer.count);
    if (model != NULL) {
        heed_load_checkpoint(model, NULL, path);
        heed_eval(model);
    }
    if (flags_blame(flag, HEED_ERR_VALUE) != HEED_OK) {
        heed_gpt_free(model);
        return NULL;
    }
    return model;
}

/* What each block keeps of a token for backward, what the logits take, and parameters with gradients
 * and AdamW's two averages. */
double gpt_step_bytes(const gpt_train_options *s, int64_t tokens)
{
    const double width = (double)s->n_embd, layers = (double)s->n_layer;
    const double at_once = (double)s->batch * (double)s->context;
    const double of_token = layers * (18 * width + 2 * (double)s->n_head * (double)s->context) +
                            3 * (double)tokens + 4 * width;
    const double parameters = 12 * layers * width * width +
                              (s->untied ? 2 : 1) * (double)tokens * width +
                              (double)s->context * width;
    return 4 * (at_once * of_token + 4 * parameters);
}
