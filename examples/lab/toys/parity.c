/* parity: whether the number of ones so far is odd. */
#include "examples/lab/toys/task.h"

static toys_shape shape(const toys_settings *s, int64_t length)
{
    (void)s;
    return (toys_shape){.tokens = length, .first = 0, .every = 1, .vocabulary = 2, .outputs = 2};
}

static void draw(const toys_settings *s, int64_t length, const toys_batch *b)
{
    const int64_t *bits = toys_numbers(2, b->rows * length);
    int64_t *row = heed_data_i64(b->inputs), *target = heed_data_i64(b->targets);
    (void)s;
    for (int64_t r = 0; r < b->rows && !heed_error_pending(); r++) {
        int64_t odd = 0;
        for (int64_t t = 0; t < length; t++) {
            *row = bits[r * length + t];
            odd ^= *row++;
            *target++ = odd;
        }
    }
}

const toys_task toys_parity = {
    .name = "parity",
    .about = "0 1 1: whether the number of ones so far is odd, after each token",
    .claim = "Short strings are learned, longer ones than in training are not: one symbol changes "
             "the answer, but attention averages over all.",
    .source = "Hahn 2020, Theoretical Limitations of Self-Attention in Neural Sequence Models, "
              "which is asymptotic",
    .defaults = "length=8 longer=16 symbols=2 layers=2 heads=2 width=32 ff=64 lr=3e-3 steps=3000",
    .shape = shape,
    .draw = draw,
};
