/* lottery: labels that are drawn again for each batch. Nobody can learn them: a negative control,
 * which would show a test batch that leaks into training, or a target into the input. */
#include <math.h>

#include "examples/lab/toys/task.h"

static toys_shape shape(const toys_settings *s, int64_t length)
{
    return (toys_shape){
        .tokens = length, .first = 0, .every = 1, .vocabulary = s->symbols, .outputs = s->symbols};
}

static void draw(const toys_settings *s, int64_t length, const toys_batch *b)
{
    const int64_t count = b->rows * length;
    const int64_t *symbols = toys_numbers(s->symbols, count);
    const int64_t *labels = toys_numbers(s->symbols, count);
    int64_t *row = heed_data_i64(b->inputs), *target = heed_data_i64(b->targets);
    for (int64_t i = 0; i < count && !heed_error_pending(); i++) {
        row[i] = symbols[i];
        target[i] = labels[i];
    }
}

static void best(const toys_settings *s, const toys_batch *b, double *losses)
{
    for (int64_t i = 0; i < b->targets->numel; i++) {
        losses[i] = log((double)s->symbols);
    }
}

const toys_task toys_lottery = {
    .name = "lottery",
    .about = "labels drawn again for each batch: a negative control",
    .defaults = "length=16 symbols=4 layers=2 heads=2 width=32 ff=64 lr=3e-3 steps=1000 "
                "learned=0.3",
    .shape = shape,
    .draw = draw,
    .best = best,
};
