/* Training steps and the held-out loss. main.c shows the progress. */
#include "examples/lab/next_token/train.h"

#include <math.h>
#include <string.h>

/* Fixed settings that work for the toy model with 1, 2 and 4 heads, and for texts. */
static const double eps = 1e-4, weight_decay = 0.1;

/* ---- pieces ---- */

pieces pieces_of_text(const int64_t *tokens, int64_t count, int64_t context)
{
    const int64_t windows = count - context;
    return (pieces){tokens, windows > 0 ? windows : 0, 1, context + 1};
}

pieces pieces_in_turn(const int64_t *tokens, int64_t count, int64_t context, int64_t most)
{
    const int64_t windows = count > 0 ? (count - 1) / context : 0;
    const int64_t apart = windows > most ? windows / most : 1; /* spread over the whole text */
    return (pieces){tokens, windows > most ? most : windows, apart * context, context + 1};
}

/* The pieces with these indices as rows (count, length). */
static heed_tensor *rows_of(const pieces *p, const int64_t *which, int64_t count)
{
    heed_tensor *rows = heed_empty(HEED_SHAPE(count, p->length), HEED_I64);
    int64_t *to = heed_data_i64(rows);
    for (int64_t i = 0; to != NULL && i < count; i++) {
        memcpy(to + i * p->length, p->tokens + which[i] * p->stride,
               (size_t)p->length * sizeof *to);
    }
    return rows;
}

heed_tensor *pieces_batch(const pieces *p, int64_t batch)
{
    heed_tensor *which = heed_randint(0, p->count, HEED_SHAPE(batch), HEED_I64);
    return rows_of(p, heed_data_i64(which), batch);
}

double pieces_loss(struct token_model *m, const pieces *p, int64_t batch)
{
    double sum = 0;
    for (int64_t first = 0; first < p->count; first += batch) {
        const int64_t count = p->count - first < batch ? p->count - first : batch;
        HEED_SCOPE_NO_GRAD(scope);
        heed_tensor *which = heed_arange((double)first, (double)(first + count), 1, HEED_I64);
        heed_tensor *loss = model_loss(m, rows_of(p, heed_data_i64(which), count));
        sum += (double)count * heed_item(loss);
    }
    return p->count > 0 ? sum / (double)p->count : (double)NAN;
}

/* ---- steps ---- */

/* True for about TRAIN_MEASUREMENTS steps spread evenly, including the last. */
static bool is_measured(int64_t step, int64_t steps)
{
    const double times = TRAIN_MEASUREMENTS, all = (double)steps;
    return step == steps ||
           floor((double)step * times / all) != floor((double)(step - 1) * times / all);
}

heed_optimizer *train_optimizer(struct token_model *m, double lr)
{
    return heed_adamw_new_with(heed_parameters(m), lr, weight_decay,
                               (heed_adam_options){.eps = eps});
}

double train_rate(const train_options *options, int64_t step)
{
    const double up = (double)(step + 1) / (0.1 * (double)options->steps);
    const double down = (double)(options->steps - step) / (0.3 * (double)options->steps);
    return options->lr * fmin(1, fmin(up, down));
}

/* The loss of one step on a random batch. */
static double take_step(struct token_model *m, const pieces *p, int64_t batch,
                        heed_optimizer *adamw)
{
    HEED_SCOPE(step);
    heed_tensor *loss = model_loss(m, pieces_batch(p, batch));
    heed_optimizer_zero_grad(adamw);
    heed_backward(loss);
    heed_optimizer_step(adamw);
    return heed_item(loss);
}

heed_status train(struct token_model *m, const pieces *training, const pieces *held_out,
                  const train_options *options, train_watch *watch, void *context)
{
    heed_optimizer *adamw = train_optimizer(m, options->lr);
    bool more = adamw != NULL;
    for (int64_t step = 1; step <= options->steps && more; step++) {
        adamw->lr = train_rate(options, step - 1);
        train_state now = {.step = step, .held_out = (double)NAN};
        now.loss = take_step(m, training, options->batch, adamw);
        if (!isfinite(now.loss) && !heed_error_pending()) {
            heed_fail(HEED_ERR_VALUE, "the loss is %f at step %lld; try a lower learning rate",
                      now.loss, (long long)step);
        }
        now.measured = is_measured(step, options->steps);
        if (now.measured) {
            now.held_out = pieces_loss(m, held_out, options->batch);
        }
        more = !heed_error_pending() && (watch == NULL || watch(context, m, &now));
    }
    heed_optimizer_free(adamw);
    return heed_error_pending();
}
