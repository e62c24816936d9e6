/* copy: repeat a sequence after a separator. */
#include <string.h>

#include "examples/lab/toys/task.h"

static void answer(const int64_t *symbols, int64_t n, int64_t *to)
{
    memcpy(to, symbols, (size_t)n * sizeof *to);
}

static void draw(const toys_settings *s, int64_t length, const toys_batch *b)
{
    toys_draw_answers(s, length, b, answer);
}

const toys_task toys_copy = {
    .name = "copy",
    .about = "a b c = a b c: repeat a sequence after a separator",
    .claim = "One layer suffices where positions tell which symbol comes next: it attends a fixed "
             "number of tokens back.",
    .source = "Vaswani et al. 2017, section 3.5: relative offsets are linear in sinusoidal "
              "positions",
    .defaults = "length=8 symbols=16 layers=1 heads=2 width=32 lr=5e-3 steps=1500",
    .shape = toys_answer_shape,
    .draw = draw,
    .label = toys_answer_label,
};
