/* The training run of the toy model, whose every step can be reached again. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "examples/lab/common/text.h"
#include "examples/page/parts.h"

enum { MOST_STEPS = 20000, BATCH = 32 };
enum { SNAPSHOT_EVERY = 50 }; /* a snapshot of one head takes 150 KB */

struct run run;

bool run_exists(void)
{
    if (run.now.net.model == NULL) {
        heed_fail(HEED_ERR_VALUE, "the page: no run has been started");
    }
    return !heed_error_pending();
}

/* ---- snapshots ---- */

/* Of each parameter: itself, its gradient if steps accumulate it, and both moments. */
enum { VALUE, GRADIENT, MOMENTS, COPIES = MOMENTS + 2 };

static void free_snapshot(snapshot *s)
{
    for (int i = 0; s->tensors != NULL && i < COPIES * s->count; i++) {
        heed_release(s->tensors[i]);
    }
    heed_free(s->tensors);
    heed_free(s->steps);
}

static void drop_snapshots(training *t, size_t kept)
{
    while (t->snapshot_count > kept) {
        free_snapshot(&t->snapshots[--t->snapshot_count]);
    }
}

static void take_snapshot(void)
{
    HEED_SCOPE_NO_GRAD(scope);
    const heed_optimizer *adamw = run.now.adamw;
    const int count = adamw != NULL ? adamw->parameters.count : 0; /* NULL: out of memory */
    snapshot s = {.generator = run.now.generator,
                  .tensors = heed_alloc_zeroed((size_t)(COPIES * count) * sizeof(heed_tensor *)),
                  .steps = heed_alloc_zeroed((size_t)count * sizeof(int64_t)),
                  .count = count};
    snapshot *snapshots = list_grow(run.now.snapshots, &run.now.snapshot_capacity,
                                    run.now.snapshot_count + 1, sizeof *snapshots);
    run.now.snapshots = snapshots != NULL ? snapshots : run.now.snapshots;
    for (int i = 0; i < count && !heed_error_pending(); i++) {
        heed_tensor *p = adamw->parameters.tensors[i];
        heed_tensor *const *moments = adamw->slots[i].state;
        heed_tensor *grad = (run.breaks & BREAK_NO_ZERO_GRAD) ? p->grad : NULL;
        heed_tensor *const from[COPIES] = {p, grad, moments[0], moments[1]};
        for (int k = 0; k < COPIES; k++) {
            s.tensors[COPIES * i + k] = from[k] != NULL ? heed_retain(heed_clone(from[k])) : NULL;
        }
        s.steps[i] = adamw->slots[i].steps;
    }
    if (heed_error_pending()) {
        free_snapshot(&s);
    } else {
        snapshots[run.now.snapshot_count++] = s;
    }
}

static void restore_snapshot(size_t at)
{
    HEED_SCOPE_NO_GRAD(scope);
    const snapshot *s = &run.now.snapshots[at];
    heed_optimizer *adamw = run.now.adamw;
    heed_optimizer_zero_grad(adamw);
    for (int i = 0; i < s->count; i++) {
        heed_tensor *p = adamw->parameters.tensors[i];
        heed_tensor *const *copies = s->tensors + COPIES * i;
        heed_copy_into(p, copies[VALUE]);
        if (copies[GRADIENT] != NULL) {
            heed_set_grad(p, heed_clone(copies[GRADIENT]));
        }
        for (int k = 0; k < 2 && adamw->slots[i].state[k] != NULL; k++) {
            heed_tensor *moment = copies[MOMENTS + k]; /* NULL before the first step: zeros */
            heed_copy_into(adamw->slots[i].state[k], moment != NULL ? moment : heed_zeros_like(p));
        }
        adamw->slots[i].steps = s->steps[i];
    }
    run.now.step = (int)at * SNAPSHOT_EVERY;
    adamw->steps = run.now.step;
    run.now.generator = s->generator;
}

/* ---- begin and end ---- */

static void free_training(training *t)
{
    drop_snapshots(t, 0);
    heed_free(t->snapshots);
    heed_optimizer_free(t->adamw);
    network_free(&t->net);
}

void run_end(void)
{
    free_training(&run.now);
    heed_release(run.block_mask);
    heed_release(run.training_mask);
    run = (struct run){.seed = 0};
}

/* Step 0 of a model, after the random numbers that drew its weights. */
static void begin_training(struct token_model *model)
{
    run.now = (training){.net = {.model = model},
                         .adamw = train_optimizer(model, run.options.lr),
                         .generator = heed_get_generator()};
    take_snapshot();
}

EXPORT(page_start)
bool page_start(double seed, int heads, double lr, int steps, unsigned breaks)
{
    if (!is_seed(seed)) {
        return false;
    }
    if (heads < 1 || heads > MODEL_MOST_HEADS || steps < 1 || steps > MOST_STEPS ||
        !(lr >= 0 && lr <= 1000) || breaks >= BREAKS) {
        heed_fail(HEED_ERR_VALUE,
                  "%d heads, rate %g, %d steps: heads are 1 to %d, the rate is 0 to 1000, steps "
                  "are 1 to %d",
                  heads, lr, steps, MODEL_MOST_HEADS, MOST_STEPS);
        return false;
    }
    HEED_SCOPE(scope);
    heed_set_flush_denormal(true); /* as next_token */
    forget_pass();
    run_end();
    toy_language_make(&run.language, (uint64_t)seed);
    run.options = (train_options){steps, BATCH, breaks & BREAK_LR_100 ? 100 * lr : lr};
    run.seed = (uint64_t)seed;
    run.breaks = breaks;
    run.block_mask = heed_retain(heed_causal_block_mask(CONTEXT));
    run.training_mask = heed_retain(run.block_mask);
    heed_manual_seed(run.seed);
    begin_training(model_new((model_sizes){run.language.word_count, CONTEXT, D_MODEL, heads}));
    if (heed_error_pending()) {
        run_end();
    }
    return !heed_error_pending();
}

/* ---- training ---- */

heed_tensor *run_loss(heed_tensor *rows, heed_tensor *block_mask)
{
    heed_tensor *inputs = heed_slice(rows, 1, 0, -1, 1);
    forward_begin();
    return model_loss_of(forward_logits(&run.now.net, inputs, block_mask, run.breaks), rows);
}

/* Weights without a gradient only decay, and stay at the smallest number above 0. Many processors
 * multiply such subnormal numbers slowly, and WebAssembly has no mode that takes them for 0, as
 * next_token does. */
static void flush_weights(void)
{
    const heed_tensor_list parameters = heed_parameters(run.now.net.model);
    for (int i = 0; i < parameters.count; i++) {
        float *weights = parameters.tensors[i]->data;
        for (int64_t at = 0; at < parameters.tensors[i]->numel; at++) {
            weights[at] *= fabsf(weights[at]) >= FLT_MIN; /* keeps the sign */
        }
    }
}

static double take_step(void)
{
    HEED_SCOPE(step);
    heed_set_generator(&run.now.generator);
    run.now.adamw->lr = train_rate(&run.options, run.now.step);
    heed_tensor *loss = run_loss(train_batch(&run.language, BATCH), run.training_mask);
    run.now.generator = heed_get_generator();
    if (!(run.breaks & BREAK_NO_ZERO_GRAD)) {
        heed_optimizer_zero_grad(run.now.adamw);
    }
    heed_backward(loss);
    heed_optimizer_step(run.now.adamw);
    flush_weights();
    run.now.step++;
    return heed_item(loss);
}

EXPORT(page_step) double page_step(void)
{
    double loss = (double)NAN;
    if (run_exists() && run.now.step >= run.options.steps) {
        heed_fail(HEED_ERR_VALUE, "the run has only %lld steps", (long long)run.options.steps);
    }
    if (!heed_error_pending()) {
        loss = take_step();
    }
    if (!heed_error_pending() && run.now.step == SNAPSHOT_EVERY * (int)run.now.snapshot_count) {
        take_snapshot();
    }
    return heed_error_pending() ? (double)NAN : loss;
}

EXPORT(page_steps) int page_steps(void)
{
    return run.now.step;
}

EXPORT(page_go_to) bool page_go_to(int step)
{
    if (!run_exists()) {
        return false;
    }
    if (step < 0 || step > run.options.steps) {
        heed_fail(HEED_ERR_VALUE, "step %d is outside [0, %lld]", step,
                  (long long)run.options.steps);
        return false;
    }
    const int last = (int)run.now.snapshot_count - 1;
    const int nearest = step / SNAPSHOT_EVERY < last ? step / SNAPSHOT_EVERY : last;
    if (step < run.now.step || nearest * SNAPSHOT_EVERY > run.now.step) {
        restore_snapshot((size_t)nearest);
    }
    while (run.now.step < step && !heed_error_pending()) {
        page_step();
    }
    return !heed_error_pending();
}

EXPORT(page_hash) const char *page_hash(void)
{
    static char hex[17];
    if (!run_exists()) {
        return NULL;
    }
    const heed_tensor_list parameters = heed_parameters(run.now.net.model);
    text_buffer bytes = {.length = 0};
    for (int i = 0; i < parameters.count; i++) {
        const heed_tensor *t = parameters.tensors[i];
        text_append(&bytes, t->data, (size_t)t->numel * sizeof(float));
    }
    snprintf(hex, sizeof hex, "%016" PRIx64, text_hash(bytes.bytes, bytes.length));
    text_free(&bytes);
    return heed_error_pending() ? NULL : hex;
}

EXPORT(page_set_mask) bool page_set_mask(const uint8_t *blocked)
{
    HEED_SCOPE_NO_GRAD(scope);
    if (!run_exists()) {
        return false;
    }
    heed_tensor *mask =
        blocked != NULL ? mask_of(blocked, CONTEXT) : heed_causal_block_mask(CONTEXT);
    if (mask == NULL) {
        return false;
    }
    heed_release(run.block_mask);
    run.block_mask = heed_retain(mask);
    if (run.now.step == 0 && !heed_equal(mask, run.training_mask)) {
        drop_snapshots(&run.now, 1); /* later ones are of the old mask */
        heed_release(run.training_mask);
        run.training_mask = heed_retain(mask);
    }
    return !heed_error_pending();
}
