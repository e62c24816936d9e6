/* Training: AdamW on new batches, evaluated on a test batch. */
#include "examples/lab/toys/run.h"

#include <math.h>

#include "examples/lab/common/console.h"

static const uint64_t test_seeds = 1000000007; /* added to the seed for the test batches */

/* ---- beginning ---- */

static toys_batch keep(toys_batch b)
{
    b.inputs = heed_retain(b.inputs);
    b.targets = heed_retain(b.targets);
    return b;
}

static void draw_batches(toys_run *r)
{
    const toys_task *t = r->task;
    const toys_settings *s = &r->settings;
    if (t->fix != NULL) {
        heed_tensor *all = t->fix(s);
        r->train = keep(toys_draw_fixed(t, s, all, false));
        r->test = keep(toys_draw_fixed(t, s, all, true));
    } else {
        r->test = keep(toys_draw(t, s, s->length, s->test_rows));
        if (s->longer > 0) {
            r->longer = keep(toys_draw(t, s, s->longer, s->test_rows));
        }
    }
    r->result.best = t->best != NULL ? toys_mean_loss(toys_predict(t->best, s, &r->test), -1) : 0;
    r->result.simple =
        t->simple != NULL ? toys_mean_loss(toys_predict(t->simple, s, &r->test), -1) : (double)NAN;
}

static void evaluate(toys_run *r)
{
    HEED_SCOPE_NO_GRAD(scope);
    r->result.test = toys_measure(&r->test, toys_forward(r->model, &r->test));
    r->measured = true;
    if (r->result.learned_at < 0 && r->result.test.score >= r->settings.learned) {
        r->result.learned_at = r->step;
    }
}

void toys_run_begin(toys_run *r, const toys_task *task, const toys_settings *s, uint64_t seed)
{
    const int64_t most = s->longer > s->length ? s->longer : s->length;
    *r = (toys_run){.task = task, .settings = *s, .loss = (double)NAN};
    r->result = (toys_result){.learned_at = -1,
                              .train_loss = (double)NAN,
                              .longer = (double)NAN,
                              .seconds = console_clock()};
    HEED_SCOPE(scope);
    heed_manual_seed(seed + test_seeds);
    draw_batches(r);
    heed_manual_seed(seed);
    r->model = toys_model_new(s, task->shape(s, most));
    r->adamw =
        heed_adamw_new(heed_parameters(r->model), s->lr, s->weight_decay, .betas = {0.9, 0.98});
    if (!heed_error_pending()) {
        evaluate(r);
    }
}

/* ---- steps ---- */

double toys_rate(const toys_settings *s, int64_t step)
{
    const double left = (double)(s->steps - step) / (double)(s->steps - s->warmup);
    if (step < s->warmup) {
        return s->lr * (double)(step + 1) / (double)(s->warmup + 1);
    }
    return s->schedule == SCHEDULE_COSINE ? s->lr * (1 - cos(acos(-1) * left)) / 2 : s->lr;
}

static double take_step(toys_run *r)
{
    const toys_settings *s = &r->settings;
    HEED_SCOPE(step);
    const toys_batch b =
        r->train.inputs != NULL ? r->train : toys_draw(r->task, s, s->length, s->batch);
    heed_tensor *loss = toys_loss(r->model, &b, toys_forward(r->model, &b));
    heed_optimizer_zero_grad(r->adamw);
    heed_backward(loss);
    r->adamw->lr = toys_rate(s, r->step);
    heed_optimizer_step(r->adamw);
    return heed_item(loss);
}

bool toys_run_step(toys_run *r)
{
    const toys_settings *s = &r->settings;
    r->measured = false;
    if (r->step >= s->steps || heed_error_pending()) {
        return false;
    }
    r->loss = take_step(r);
    r->step++;
    if (heed_error_pending() || !isfinite(r->loss)) {
        return false;
    }
    if (r->step % s->eval_every == 0 || r->step == s->steps) {
        evaluate(r);
    }
    const bool reached = r->measured && s->until > 0 && r->result.test.score >= s->until;
    return !reached && r->step < s->steps && !heed_error_pending();
}

toys_result toys_run_end(toys_run *r)
{
    HEED_SCOPE_NO_GRAD(scope);
    r->result.steps = r->step;
    r->result.train_loss = r->loss;
    if (r->longer.inputs != NULL) {
        r->result.longer = toys_measure(&r->longer, toys_forward(r->model, &r->longer)).score;
    }
    r->result.seconds = console_clock() - r->result.seconds;
    return r->result;
}

static void release(const toys_batch *b)
{
    heed_release(b->inputs);
    heed_release(b->targets);
}

void toys_run_free(toys_run *r)
{
    heed_optimizer_free(r->adamw);
    heed_module_free(r->model);
    release(&r->train);
    release(&r->test);
    release(&r->longer);
}
