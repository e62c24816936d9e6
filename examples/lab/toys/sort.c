/* sort: write a sequence in ascending order after a separator; symbols may be equal. */
#include <string.h>

#include "examples/lab/toys/task.h"

/* Insertion sort: sequences are short. */
static void answer(const int64_t *symbols, int64_t n, int64_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        for (; at > 0 && to[at - 1] > symbols[i]; at--) {
            to[at] = to[at - 1];
        }
        to[at] = symbols[i];
    }
}

static void draw(const toys_settings *s, int64_t length, const toys_batch *b)
{
    toys_draw_answers(s, length, b, answer);
}

const toys_task toys_sort = {
    .name = "sort",
    .about = "c a b = a b c: write a sequence in ascending order after a separator",
    .claim = "The next symbol is the smallest that is not below the last one: attention over "
             "values, not positions. Equal symbols need counting.",
    .source = "Weiss et al. 2021, Thinking Like Transformers: sort takes two layers and one head",
    .defaults = "length=8 symbols=16 layers=2 heads=2 width=32 ff=64 lr=5e-3 steps=2000",
    .shape = toys_answer_shape,
    .draw = draw,
    .label = toys_answer_label,
};
