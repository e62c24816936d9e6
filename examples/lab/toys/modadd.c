/* modadd: a + b mod p, trained on a share of all pairs at once, and tested on the others. */
#include <string.h>

#include "examples/lab/toys/task.h"

/* a b =: the answer is asked for at the last token. */
static toys_shape shape(const toys_settings *s, int64_t length)
{
    (void)length;
    return (toys_shape){
        .tokens = 3, .first = 2, .every = 1, .vocabulary = s->symbols + 1, .outputs = s->symbols};
}

/* All pairs in random order. */
static heed_tensor *fix(const toys_settings *s)
{
    return heed_randperm(s->symbols * s->symbols);
}

static int64_t fixed_rows(const toys_settings *s, bool test)
{
    const int64_t pairs = s->symbols * s->symbols;
    int64_t train = (int64_t)(s->share * (double)pairs);
    train = train < 1 ? 1 : train < pairs ? train : pairs - 1;
    return test ? pairs - train : train;
}

static void draw_fixed(const toys_settings *s, const toys_batch *b, heed_tensor *fixed, bool test)
{
    const int64_t *pair = heed_const_data_i64(fixed);
    int64_t *row = heed_data_i64(b->inputs), *target = heed_data_i64(b->targets);
    pair += test ? fixed_rows(s, false) : 0;
    for (int64_t r = 0; r < b->rows && !heed_error_pending(); r++) {
        const int64_t x = pair[r] / s->symbols, y = pair[r] % s->symbols;
        memcpy(row + 3 * r, (int64_t[]){x, y, s->symbols}, 3 * sizeof *row);
        target[r] = (x + y) % s->symbols;
    }
}

const toys_task toys_modadd = {
    .name = "modadd",
    .about = "a b =: a + b mod p, trained on a share of the pairs: grokking",
    .defaults = "symbols=59 share=0.5 layers=1 heads=4 width=64 ff=256 norm=none lr=3e-3 "
                "warmup=10 weight_decay=1 loss=f64 steps=5000 eval_every=100",
    .shape = shape,
    .fix = fix,
    .fixed_rows = fixed_rows,
    .draw_fixed = draw_fixed,
    .label = toys_answer_label,
};
