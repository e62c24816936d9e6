/* majority: which of two symbols is more frequent so far; positions with a tie are not scored. */
#include "examples/lab/toys/task.h"

static toys_shape shape(const toys_settings *s, int64_t length)
{
    (void)s;
    return (toys_shape){.tokens = length, .first = 0, .every = 2, .vocabulary = 2, .outputs = 2};
}

static void draw(const toys_settings *s, int64_t length, const toys_batch *b)
{
    const int64_t *bits = toys_numbers(2, b->rows * length);
    int64_t *row = heed_data_i64(b->inputs), *target = heed_data_i64(b->targets);
    (void)s;
    for (int64_t r = 0; r < b->rows && !heed_error_pending(); r++) {
        int64_t ones = 0;
        for (int64_t t = 0; t < length; t++) {
            *row = bits[r * length + t];
            ones += *row++;
            if (t % 2 == 0) { /* an odd number of tokens has no tie */
                *target++ = 2 * ones > t + 1;
            }
        }
    }
}

const toys_task toys_majority = {
    .name = "majority",
    .about = "0 1 1: which of two symbols is more frequent, after each odd number of tokens",
    .claim = "One head without positions suffices: attention that is uniform counts.",
    .source = "Perez et al. 2019, On the Turing Completeness of Modern Neural Network "
              "Architectures; Weiss et al. 2021",
    .defaults = "length=31 longer=61 symbols=2 layers=1 heads=1 width=16 positions=none norm=layer "
                "lr=1e-2 steps=1000",
    .shape = shape,
    .draw = draw,
};
