/* The loss and score at each scored position. */
#include "examples/lab/toys/inside.h"

/* The same batch with one scored position. */
static toys_batch at_position(const toys_batch *b, int64_t position)
{
    toys_batch one = *b;
    one.shape.first = 0;
    one.shape.every = one.shape.tokens = 1;
    one.targets = heed_narrow(b->targets, 1, position, 1);
    return one;
}

static void put_batch(FILE *stream, const toys_run *r, const toys_batch *b)
{
    const toys_task *t = r->task;
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *outputs = toys_forward(r->model, b);
    heed_tensor *best = t->best != NULL ? toys_predict(t->best, &r->settings, b) : NULL;
    heed_tensor *simple = t->simple != NULL ? toys_predict(t->simple, &r->settings, b) : NULL;
    fprintf(stream, "\nposition      loss     score  best loss%s%s\n", simple != NULL ? "  " : "",
            simple != NULL ? t->simple_name : "");
    for (int64_t i = 0; i < toys_scored(&b->shape) && !heed_error_pending(); i++) {
        const toys_batch one = at_position(b, i);
        const toys_score score = toys_measure(&one, heed_narrow(outputs, 1, i, 1));
        fprintf(stream, "%8lld", (long long)(b->shape.first + i * b->shape.every + 1));
        toys_put_number(stream, 10, "%.4f", score.loss);
        toys_put_number(stream, 10, "%.4f", score.score);
        fputc(' ', stream);
        toys_put_number(stream, 10, "%.4f", best != NULL ? toys_mean_loss(best, i) : 0);
        if (simple != NULL) {
            fputc(' ', stream);
            toys_put_number(stream, 10, "%.4f", toys_mean_loss(simple, i));
        }
        fputc('\n', stream);
    }
}

void toys_put_positions(FILE *stream, const toys_run *r, const toys_options *o)
{
    (void)o;
    put_batch(stream, r, &r->test);
    if (r->longer.inputs != NULL && !heed_error_pending()) {
        fprintf(stream, "\nat length %lld\n", (long long)r->settings.longer);
        put_batch(stream, r, &r->longer);
    }
}
