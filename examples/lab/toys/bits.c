/* majority: which of two symbols is more frequent so far; after an even number of tokens, where
 * there may be a tie, nothing is scored. parity: whether the number of ones so far is odd. */
#include "examples/lab/toys/task.h"

static toys_shape majority_shape(const toys_settings *s, int64_t length)
{
    (void)s;
    return (toys_shape){.tokens = length, .first = 0, .every = 2, .vocabulary = 2, .outputs = 2};
}

static toys_shape parity_shape(const toys_settings *s, int64_t length)
{
    toys_shape shape = majority_shape(s, length);
    shape.every = 1;
    return shape;
}

static void draw(const toys_settings *s, int64_t length, const toys_batch *b)
{
    const int64_t *bits = toys_numbers(2, b->rows * length), every = b->shape.every;
    int64_t *row = heed_data_i64(b->inputs), *target = heed_data_i64(b->targets);
    (void)s;
    for (int64_t r = 0; r < b->rows && !heed_error_pending(); r++) {
        int64_t ones = 0;
        for (int64_t t = 0; t < length; t++) {
            *row = bits[r * length + t];
            ones += *row++;
            if (t % every == 0) {
                *target++ = every == 2 ? 2 * ones > t + 1 : ones % 2;
            }
        }
    }
}

const toys_task toys_majority = {
    .name = "majority",
    .about = "0 1 1: which of two symbols is more frequent, after each odd number of tokens",
    .defaults = "length=31 longer=61 symbols=2 layers=1 heads=1 width=16 positions=none norm=layer "
                "lr=1e-2 steps=1000",
    .shape = majority_shape,
    .draw = draw,
};

const toys_task toys_parity = {
    .name = "parity",
    .about = "0 1 1: whether the number of ones so far is odd, after each token",
    .defaults = "length=8 longer=16 symbols=2 layers=2 heads=2 width=32 ff=64 lr=3e-3 steps=3000",
    .shape = parity_shape,
    .draw = draw,
};
