/* reverse: write a sequence backwards after a separator. */
#include "examples/lab/toys/task.h"

static void answer(const int64_t *symbols, int64_t n, int64_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = symbols[n - 1 - i];
    }
}

static void draw(const toys_settings *s, int64_t length, const toys_batch *b)
{
    toys_draw_answers(s, length, b, answer);
}

const toys_task toys_reverse = {
    .name = "reverse",
    .about = "a b c = c b a: write a sequence backwards after a separator",
    .claim = "One layer suffices: the answer at a position stands at one other position.",
    .source = "Weiss et al. 2021, Thinking Like Transformers: reverse is one attention operation "
              "once the length is known",
    .defaults = "length=8 symbols=16 layers=1 heads=2 width=32 lr=5e-3 steps=1500",
    .shape = toys_answer_shape,
    .draw = draw,
    .label = toys_answer_label,
};
