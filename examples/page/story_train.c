/* Attention and training of the story's models. */
#include "examples/page/story_train.h"

#include <math.h>
#include <string.h>

heed_tensor *story_scores(heed_tensor *q, heed_tensor *k)
{
    return heed_div_scalar(heed_matmul(q, heed_transpose(k, -2, -1)),
                           sqrt((double)heed_size(k, -1)));
}

heed_tensor *story_look(struct heed_self_attention *head, heed_tensor *word, heed_tensor *x,
                        heed_tensor **percents)
{
    *percents = NULL;
    if (head == NULL) { /* an error is pending */
        return NULL;
    }
    heed_tensor *q = heed_linear_forward(head->W_q, word), *k = heed_linear_forward(head->W_k, x);
    *percents = heed_softmax(story_scores(q, k), -1);
    return heed_matmul(*percents, heed_linear_forward(head->W_v, x));
}

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

int64_t story_weights(void *module, float *numbers, bool set)
{
    const heed_tensor_list parameters = heed_parameters(module);
    int64_t count = 0;
    for (int i = 0; i < parameters.count; i++) {
        const heed_tensor *t = parameters.tensors[i];
        const size_t size = (size_t)t->numel * sizeof *numbers;
        if (numbers != NULL) {
            memcpy(set ? t->data : numbers + count, set ? numbers + count : t->data, size);
        }
        count += t->numel;
    }
    return count;
}
