/* From settings to a model. */
#include "examples/gpt/model.h"

#include <sys/stat.h>

struct heed_gpt *gpt_model_new(const gpt_train_options *s, int64_t tokens)
{
    static heed_activation_function *const activations[] = {
        [GPT_GELU_TANH] = heed_gelu_tanh, [GPT_GELU] = heed_gelu, [GPT_RELU] = heed_relu};
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
        .sinusoidal = s->positions == GPT_SINUSOIDAL,
    });
}

/* All but the biases. */
static double count_parameters(const gpt_train_options *s, int64_t tokens)
{
    const double width = (double)s->n_embd;
    return 12 * (double)s->n_layer * width * width + (s->untied ? 2 : 1) * (double)tokens * width +
           (s->positions == 0 ? (double)s->context * width : 0);
}

/* Settings that are damaged may be those of a model that fills all memory. */
static heed_status check_size(const gpt_record *r, const char *flag, const char *path)
{
    struct stat at;
    const double bytes = sizeof(float) * count_parameters(&r->settings, r->tokenizer.count);
    if (!heed_error_pending() && stat(path, &at) == 0 && (double)at.st_size < bytes) {
        heed_fail(HEED_ERR_VALUE,
                  "%s: %s: damaged: it has %lld bytes, and a model of its settings has %.0f", flag,
                  path, (long long)at.st_size, bytes);
    }
    return heed_error_pending();
}

struct heed_gpt *gpt_model_load(const gpt_record *r, const char *flag, const char *path)
{
    if (check_size(r, flag, path) != HEED_OK) {
        return NULL;
    }
    struct heed_gpt *model = gpt_model_new(&r->settings, r->tokenizer.count);
    if (model != NULL) {
        heed_load_checkpoint(model, NULL, path);
        heed_eval(model);
    }
    if (flags_blame(flag, HEED_ERR_VALUE) != HEED_OK) {
        heed_module_free(model);
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
    return 4 * (at_once * of_token + 4 * count_parameters(s, tokens));
}
