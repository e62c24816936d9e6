/* Steps of training, and evaluation. */
#include "examples/gpt/train.h"

#include <math.h>

int64_t gpt_learnt(int64_t tokens)
{
    return (int64_t)(0.9 * (double)tokens);
}

double gpt_lr(const gpt_train_options *o, int64_t step)
{
    const int64_t rest = o->steps - o->warmup, after = step - o->warmup;
    if (after < 0 || o->schedule == GPT_COSINE) {
        return heed_warmup_cosine_lr(step, o->lr, o->warmup, o->steps, o->min_lr);
    }
    switch (o->schedule) {
    case GPT_LINEAR:
        return heed_linear_lr(after, o->lr, 1, o->min_lr / o->lr, rest);
    case GPT_STEP:
        return heed_step_lr(after, o->lr, (rest + 2) / 3, 0.1);
    default:
        return o->lr;
    }
}

/* ---- pieces of the text ---- */

gpt_windows gpt_windows_of(int64_t first, int64_t count, int64_t context, int64_t most)
{
    const int64_t all = count > 0 ? (count - 1) / context : 0;
    const int64_t every = all > most ? all / most : 1;
    return (gpt_windows){first, every * context, all > most ? most : all};
}

/* The mean loss of pieces that begin at these places: of all but the last token, what follows each. */
static heed_tensor *loss_at(struct heed_gpt *m, const corpus *text, const int64_t *starts,
                            int64_t count)
{
    const int64_t context = m->config.block_size, length = context + 1;
    heed_tensor *pieces = heed_empty(HEED_SHAPE(count, length), HEED_I64);
    int64_t *ids = heed_data_i64(pieces);
    for (int64_t i = 0; i < count && !heed_error_pending(); i++) {
        corpus_read(text, starts[i], length, ids + i * length);
    }
    return heed_gpt_loss(m, heed_narrow(pieces, 1, 0, context), heed_narrow(pieces, 1, 1, context));
}

double gpt_evaluate(struct heed_gpt *m, const corpus *text, const gpt_windows *windows,
                    int64_t batch)
{
    const bool training = m->module.training;
    double sum = 0;
    heed_eval(m);
    for (int64_t done = 0; done < windows->count && !heed_error_pending(); done += batch) {
        const int64_t left = windows->count - done, count = left < batch ? left : batch;
        heed_scope scope;
        heed_scope_begin_no_grad(&scope);
        heed_tensor *starts = heed_empty(HEED_SHAPE(count), HEED_I64);
        int64_t *start = heed_data_i64(starts);
        for (int64_t i = 0; start != NULL && i < count; i++) {
            start[i] = windows->first + (done + i) * windows->apart;
        }
        sum += (double)count * heed_item(loss_at(m, text, start, count));
        heed_scope_end(&scope);
    }
    if (training) {
        heed_train(m);
    }
    return windows->count > 0 ? sum / (double)windows->count : (double)NAN;
}

/* ---- steps ---- */

heed_optimizer *gpt_optimizer_new(struct heed_gpt *m, const gpt_train_options *o)
{
    heed_optimizer *adamw = heed_adamw_new_with(
        heed_decay_parameters(m), o->lr, o->weight_decay,
        (heed_adam_options){.betas = (const double[]){o->beta1, o->beta2}, .eps = 1e-8});
    heed_add_param_group(adamw, heed_no_decay_parameters(m),
                         (heed_group_options){.weight_decay = &(const double){0}});
    return adamw;
}

/* Adds the gradients of one batch, a part of a step; returns its loss. */
static double learn_batch(struct heed_gpt *m, const gpt_train_options *o, const corpus *text,
                          int64_t learnt)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *starts = heed_randint(0, learnt - o->context, HEED_SHAPE(o->batch));
    heed_tensor *loss = loss_at(m, text, heed_data_i64(starts), o->batch);
    heed_backward(heed_div_scalar(loss, (double)o->accumulate));
    const double value = heed_item(loss);
    heed_scope_end(&scope);
    return value;
}

heed_status gpt_take_step(struct heed_gpt *m, heed_optimizer *optimizer, const gpt_train_options *o,
                          const corpus *text, int64_t learnt, gpt_step *step)
{
    double sum = 0;
    step->lr = gpt_lr(o, optimizer->steps);
    heed_optimizer_zero_grad(optimizer);
    for (int64_t i = 0; i < o->accumulate && !heed_error_pending(); i++) {
        sum += learn_batch(m, o, text, learnt);
    }
    step->loss = sum / (double)o->accumulate;
    step->grad_norm =
        heed_clip_grad_norm(heed_parameters(m), o->clip > 0 ? o->clip : (double)INFINITY);
    if (!heed_error_pending() && !(isfinite(step->loss) && isfinite(step->grad_norm))) {
        heed_fail(HEED_ERR_VALUE,
                  "the loss is %g at step %lld, and the norm of its gradient %g; try a lower --lr, "
                  "a longer --warmup or a smaller --clip",
                  step->loss, (long long)optimizer->steps + 1, step->grad_norm);
    }
    optimizer->lr = step->lr;
    return heed_optimizer_step(optimizer);
}
