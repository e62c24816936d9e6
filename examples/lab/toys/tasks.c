/* The list of tasks, and what they share: batches, scores, random numbers, sequences with answers.
 */
#include <math.h>
#include <string.h>

#include "examples/lab/toys/task.h"

const toys_task *const toys_tasks[] = {
    &toys_copy,   &toys_reverse, &toys_sort,    &toys_induction, &toys_recall,     &toys_majority,
    &toys_parity, &toys_dyck,    &toys_lottery, &toys_modadd,    &toys_regression, NULL};

const toys_task *toys_task_named(const char *name)
{
    for (int i = 0; toys_tasks[i] != NULL; i++) {
        if (strcmp(toys_tasks[i]->name, name) == 0) {
            return toys_tasks[i];
        }
    }
    heed_fail(HEED_ERR_VALUE, "no task is called '%s'; toys list shows all", name);
    return NULL;
}

/* ---- batches ---- */

static toys_batch empty_batch(const toys_task *t, const toys_settings *s, int64_t length,
                              int64_t rows)
{
    toys_batch b = {.shape = t->shape(s, length), .rows = rows};
    const bool ids = b.shape.vocabulary > 0;
    const heed_dtype dtype = ids ? HEED_I64 : HEED_F32;
    b.inputs = ids ? heed_empty(HEED_SHAPE(rows, b.shape.tokens), dtype)
                   : heed_empty(HEED_SHAPE(rows, b.shape.tokens, b.shape.inputs), dtype);
    b.targets = heed_empty(HEED_SHAPE(rows, toys_scored(&b.shape)), dtype);
    return b;
}

toys_batch toys_draw(const toys_task *t, const toys_settings *s, int64_t length, int64_t rows)
{
    toys_batch b = empty_batch(t, s, length, rows);
    if (!heed_error_pending()) {
        t->draw(s, length, &b);
    }
    return b;
}

toys_batch toys_draw_fixed(const toys_task *t, const toys_settings *s, heed_tensor *fixed,
                           bool test)
{
    toys_batch b = empty_batch(t, s, s->length, heed_error_pending() ? 0 : t->fixed_rows(s, test));
    if (!heed_error_pending()) {
        t->draw_fixed(s, &b, fixed, test);
    }
    return b;
}

/* ---- scores ---- */

/* Squared errors; the score counts the last half of the positions. */
static toys_score measure_numbers(const toys_batch *b, heed_tensor *outputs)
{
    const float *y = heed_const_data_f32(heed_contiguous(outputs));
    const float *target = heed_const_data_f32(heed_contiguous(b->targets));
    const int64_t scored = toys_scored(&b->shape);
    double all = 0, error = 0, variance = 0;
    for (int64_t i = 0; i < b->rows * scored && !heed_error_pending(); i++) {
        const double e = (double)y[i] - (double)target[i];
        all += e * e;
        if (i % scored >= scored / 2) {
            error += e * e;
            variance += (double)target[i] * (double)target[i];
        }
    }
    return (toys_score){all / (double)(b->rows * scored), fmax(0, 1 - error / variance)};
}

static int64_t likeliest(const float *logits, int64_t count)
{
    int64_t best = 0;
    for (int64_t i = 1; i < count; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return best;
}

toys_score toys_measure(const toys_batch *b, heed_tensor *outputs)
{
    HEED_SCOPE_NO_GRAD(scope);
    if (b->shape.vocabulary == 0) {
        return measure_numbers(b, outputs);
    }
    const int64_t classes = b->shape.outputs;
    heed_tensor *flat = heed_reshape(outputs, HEED_SHAPE(-1, classes));
    heed_tensor *targets = heed_contiguous(heed_reshape(b->targets, HEED_SHAPE(-1)));
    const double loss = heed_item(heed_cross_entropy(heed_to(flat, HEED_F64), targets));
    const float *logits = heed_const_data_f32(heed_contiguous(flat));
    const int64_t *target = heed_const_data_i64(targets);
    double right = 0, count = 0;
    for (int64_t i = 0; !heed_error_pending() && i < heed_size(targets, 0); i++) {
        if (target[i] != TOYS_UNSCORED) {
            right += likeliest(logits + i * classes, classes) == target[i];
            count++;
        }
    }
    return (toys_score){loss, right / count};
}

heed_tensor *toys_predict(toys_predictor *p, const toys_settings *s, const toys_batch *b)
{
    heed_tensor *losses = heed_zeros(HEED_SHAPE(b->rows, toys_scored(&b->shape)), HEED_F64);
    if (!heed_error_pending()) {
        p(s, b, heed_data_f64(losses));
    }
    return losses;
}

double toys_mean_loss(heed_tensor *losses, int64_t position)
{
    const double *loss = heed_const_data_f64(losses);
    const int64_t scored = heed_size(losses, 1);
    double sum = 0, count = 0;
    for (int64_t i = 0; !heed_error_pending() && i < losses->numel; i++) {
        if (!isnan(loss[i]) && (position < 0 || i % scored == position)) {
            sum += loss[i];
            count++;
        }
    }
    return sum / count;
}

void toys_label(const toys_task *t, const toys_settings *s, int64_t token, char text[TOYS_LABEL])
{
    if (t->label != NULL) {
        t->label(s, token, text);
    } else {
        snprintf(text, TOYS_LABEL, "%lld", (long long)token);
    }
}

/* ---- random numbers ---- */

const int64_t *toys_numbers(int64_t below, int64_t count)
{
    return heed_const_data_i64(heed_randint(0, below, HEED_SHAPE(count)));
}

void toys_shuffle(int64_t *items, int64_t n, int64_t count, const int64_t *numbers)
{
    for (int64_t i = 0; i < count; i++) {
        const int64_t j = i + numbers[i] % (n - i), item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}
