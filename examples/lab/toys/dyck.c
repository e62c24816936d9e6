/* dyck: well-nested brackets of several kinds, at most DEPTH open at a time; which closing
 * bracket may follow. */
#include "examples/lab/toys/task.h"

enum { DEPTH = 4 };

/* Opening brackets are the ids below s->symbols, closing ones the others. */
static toys_shape shape(const toys_settings *s, int64_t length)
{
    return (toys_shape){.tokens = length,
                        .first = 0,
                        .every = 1,
                        .vocabulary = 2 * s->symbols,
                        .outputs = s->symbols};
}

/* Opens or closes with probability 1/2, where both are possible. */
static void draw(const toys_settings *s, int64_t length, const toys_batch *b)
{
    const int64_t *opens = toys_numbers(2, b->rows * length);
    const int64_t *kinds = toys_numbers(s->symbols, b->rows * length);
    int64_t *row = heed_data_i64(b->inputs), *target = heed_data_i64(b->targets);
    int64_t stack[DEPTH];
    if (heed_error_pending()) {
        return;
    }
    for (int64_t r = 0; r < b->rows; r++) {
        int64_t open = 0;
        for (int64_t t = 0; t < length; t++) {
            const int64_t at = r * length + t;
            if (open == 0 || (open < DEPTH && opens[at] == 1)) {
                stack[open++] = kinds[at];
                *row++ = kinds[at];
            } else {
                *row++ = s->symbols + stack[--open];
            }
            *target++ = open > 0 ? stack[open - 1] : TOYS_UNSCORED;
        }
    }
}

static void label(const toys_settings *s, int64_t token, char text[TOYS_LABEL])
{
    static const char open[] = "([{<", close[] = ")]}>";
    const bool opens = token < s->symbols;
    const int64_t kind = opens ? token : token - s->symbols;
    if (kind < 4) {
        snprintf(text, TOYS_LABEL, "%c", opens ? open[kind] : close[kind]);
    } else {
        snprintf(text, TOYS_LABEL, "%c%lld", opens ? '(' : ')', (long long)kind);
    }
}

const toys_task toys_dyck = {
    .name = "dyck",
    .about = "( [ ] { ...: which closing bracket may follow, of several kinds",
    .defaults = "length=24 symbols=3 layers=2 heads=2 width=32 ff=64 lr=3e-3 steps=3000",
    .shape = shape,
    .draw = draw,
    .label = label,
};
