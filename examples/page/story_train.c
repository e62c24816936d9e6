/* Training of the story's models. */
#include "examples/page/story_train.h"

#include <math.h>
#include <string.h>

/* Fixed settings that work for each of them. */
enum { BATCH = 64 };
static const double rate = 0.02, weight_decay = 0.3;

void story_train(void *module, int all, int steps, story_loss *loss, void *context)
{
    if (heed_error_pending()) {
        return;
    }
    heed_set_flush_denormal(true);
    HEED_SCOPE(scope);
    heed_optimizer *adamw = heed_adamw_new(heed_parameters(module), rate, weight_decay);
    for (int step = 0; step < steps && !heed_error_pending(); step++) {
        HEED_SCOPE(one);
        const double up = (step + 1) / (0.1 * all), down = (all - step) / (0.3 * all);
        adamw->lr = rate * fmin(1, fmin(up, down));
        heed_tensor *l = loss(context, BATCH);
        heed_optimizer_zero_grad(adamw);
        heed_backward(l);
        heed_optimizer_step(adamw);
    }
    heed_optimizer_free(adamw);
}

int64_t story_weight_count(void *module)
{
    const heed_tensor_list parameters = heed_parameters(module);
    int64_t count = 0;
    for (int i = 0; i < parameters.count; i++) {
        count += parameters.tensors[i]->numel;
    }
    return count;
}

int64_t story_get_weights(void *module, float *weights)
{
    const heed_tensor_list parameters = heed_parameters(module);
    int64_t count = 0;
    for (int i = 0; i < parameters.count; i++) {
        const heed_tensor *t = parameters.tensors[i];
        memcpy(weights + count, t->data, (size_t)t->numel * sizeof *weights);
        count += t->numel;
    }
    return count;
}

int64_t story_set_weights(void *module, const float *weights)
{
    HEED_SCOPE_NO_GRAD(scope);
    const heed_tensor_list parameters = heed_parameters(module);
    int64_t count = 0;
    for (int i = 0; i < parameters.count; i++) {
        heed_tensor *t = parameters.tensors[i];
        memcpy(t->data, weights + count, (size_t)t->numel * sizeof *weights);
        count += t->numel;
    }
    return count;
}
