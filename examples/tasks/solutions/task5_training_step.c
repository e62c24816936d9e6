/* Task 5, solved. -log softmax is computed without the share: log(sum exp(x)) - x_target. With the
 * largest logit subtracted from all, no exponent is above 0 and the sum is at least 1, so neither
 * exp nor log can overflow, and a share that is too small for a double still has its logarithm.
 *
 * The step clears gradients because backward adds to them. The update is no part of the model, so
 * it is computed without a graph; and it goes into the weights themselves, because heed_sub returns
 * a new tensor that the model does not know. */
#include "grade/task5.h"

heed_tensor *cross_entropy(heed_tensor *logits, heed_tensor *targets)
{
    heed_tensor *x = heed_sub(logits, heed_amax_dim(logits, 1, true));
    heed_tensor *log_sum = heed_log(heed_sum_dim(heed_exp(x), 1, true)); /* (N, 1) */
    heed_tensor *target = heed_gather(x, 1, heed_unsqueeze(targets, 1)); /* (N, 1) */
    return heed_mean(heed_sub(log_sum, target));
}

double training_step(struct model *m, heed_tensor *text, double lr)
{
    const int64_t T = heed_size(text, 1) - 1;
    heed_tensor *logits = model_logits(m, heed_narrow(text, 1, 0, T));
    heed_tensor *targets = heed_reshape(heed_narrow(text, 1, 1, T), HEED_SHAPE(-1));
    heed_tensor *loss = cross_entropy(heed_flatten(logits, 0, 1), targets);
    for (int i = 0; i < WEIGHTS; i++) {
        heed_clear_grad(m->weights[i]);
    }
    heed_backward(loss);
    HEED_SCOPE_NO_GRAD(update);
    for (int i = 0; i < WEIGHTS; i++) {
        heed_tensor *w = m->weights[i];
        heed_copy_into(w, heed_sub(w, heed_mul_scalar(w->grad, lr)));
    }
    return heed_item(loss);
}
