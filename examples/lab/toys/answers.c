/* copy, reverse and sort: a sequence of symbols, a separator and an answer, which is scored. */
#include <string.h>

#include "examples/lab/toys/task.h"

/* The last symbol of the answer is a target only. */
toys_shape toys_answer_shape(const toys_settings *s, int64_t length)
{
    return (toys_shape){.tokens = 2 * length,
                        .first = length,
                        .every = 1,
                        .vocabulary = s->symbols + 1,
                        .outputs = s->symbols};
}

void toys_answer_label(const toys_settings *s, int64_t token, char text[TOYS_LABEL])
{
    if (token == s->symbols) {
        snprintf(text, TOYS_LABEL, "=");
    } else {
        snprintf(text, TOYS_LABEL, "%lld", (long long)token);
    }
}

/* Writes the answer of n symbols. */
typedef void toys_answer(const int64_t *symbols, int64_t n, int64_t *answer);

static void draw_answers(const toys_settings *s, int64_t length, const toys_batch *b,
                         toys_answer *answer)
{
    const int64_t *symbols = toys_numbers(s->symbols, b->rows * length);
    int64_t *row = heed_data_i64(b->inputs), *target = heed_data_i64(b->targets);
    if (heed_error_pending()) {
        return;
    }
    for (int64_t r = 0; r < b->rows; r++, row += 2 * length, target += length) {
        memcpy(row, symbols + r * length, (size_t)length * sizeof *row);
        answer(row, length, target);
        row[length] = s->symbols; /* the separator */
        memcpy(row + length + 1, target, (size_t)(length - 1) * sizeof *row);
    }
}

/* ---- copy ---- */

static void copy_symbols(const int64_t *symbols, int64_t n, int64_t *to)
{
    memcpy(to, symbols, (size_t)n * sizeof *to);
}

static void draw_copy(const toys_settings *s, int64_t length, const toys_batch *b)
{
    draw_answers(s, length, b, copy_symbols);
}

const toys_task toys_copy = {
    .name = "copy",
    .about = "a b c = a b c: repeat a sequence after a separator",
    .defaults = "length=8 symbols=16 layers=1 heads=2 width=32 lr=5e-3 steps=1500",
    .shape = toys_answer_shape,
    .draw = draw_copy,
    .label = toys_answer_label,
};

/* ---- reverse ---- */

static void reverse_symbols(const int64_t *symbols, int64_t n, int64_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = symbols[n - 1 - i];
    }
}

static void draw_reverse(const toys_settings *s, int64_t length, const toys_batch *b)
{
    draw_answers(s, length, b, reverse_symbols);
}

const toys_task toys_reverse = {
    .name = "reverse",
    .about = "a b c = c b a: write a sequence backwards after a separator",
    .defaults = "length=8 symbols=16 layers=1 heads=2 width=32 lr=5e-3 steps=1500",
    .shape = toys_answer_shape,
    .draw = draw_reverse,
    .label = toys_answer_label,
};

/* ---- sort ---- */

/* Insertion sort: sequences are short. */
static void sort_symbols(const int64_t *symbols, int64_t n, int64_t *to)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        for (; at > 0 && to[at - 1] > symbols[i]; at--) {
            to[at] = to[at - 1];
        }
        to[at] = symbols[i];
    }
}

static void draw_sort(const toys_settings *s, int64_t length, const toys_batch *b)
{
    draw_answers(s, length, b, sort_symbols);
}

const toys_task toys_sort = {
    .name = "sort",
    .about = "c a b = a b c: write a sequence in ascending order after a separator",
    .defaults = "length=8 symbols=16 layers=2 heads=2 width=32 ff=64 lr=5e-3 steps=2000",
    .shape = toys_answer_shape,
    .draw = draw_sort,
    .label = toys_answer_label,
};
