/* recall: keys with values, then keys whose values are asked for. */
#include <string.h>

#include "examples/lab/toys/task.h"

/* key value key value ... key key ...: a query for each key, in random order. Keys are the ids
 * below s->symbols, values the others. */
static toys_shape shape(const toys_settings *s, int64_t length)
{
    return (toys_shape){.tokens = 3 * length,
                        .first = 2 * length,
                        .every = 1,
                        .vocabulary = 2 * s->symbols,
                        .outputs = s->symbols};
}

static void draw(const toys_settings *s, int64_t length, const toys_batch *b)
{
    int64_t keys[4096], order[4096];
    const int64_t n = length;
    if (n > s->symbols) {
        heed_fail(HEED_ERR_VALUE, "--length %lld: recall needs as many --symbols", (long long)n);
        return;
    }
    const int64_t *to_keys = toys_numbers(1 << 24, b->rows * n);
    const int64_t *to_order = toys_numbers(1 << 24, b->rows * n);
    const int64_t *values = toys_numbers(s->symbols, b->rows * n);
    int64_t *row = heed_data_i64(b->inputs), *target = heed_data_i64(b->targets);
    for (int64_t r = 0; r < b->rows && !heed_error_pending(); r++, row += 3 * n, target += n) {
        for (int64_t i = 0; i < s->symbols; i++) {
            keys[i] = i;
        }
        for (int64_t i = 0; i < n; i++) {
            order[i] = i;
        }
        toys_shuffle(keys, s->symbols, n, to_keys + r * n);
        toys_shuffle(order, n, n, to_order + r * n);
        for (int64_t i = 0; i < n; i++) {
            row[2 * i] = keys[i];
            row[2 * i + 1] = s->symbols + values[r * n + i];
            row[2 * n + i] = keys[order[i]];
            target[i] = values[r * n + order[i]];
        }
    }
}

/* Keys are k0, k1, ..., values v0, v1, ... */
static void label(const toys_settings *s, int64_t token, char text[TOYS_LABEL])
{
    const bool is_key = token < s->symbols;
    snprintf(text, TOYS_LABEL, "%c%lld", is_key ? 'k' : 'v',
             (long long)(is_key ? token : token - s->symbols));
}

/* The value after the key `at`, which is a query. */
static int64_t induction_target(const toys_batch *b, int64_t row, int64_t at)
{
    const int64_t *tokens = heed_const_data_i64(b->inputs) + row * b->shape.tokens;
    for (int64_t i = 0; i < b->shape.first && at >= b->shape.first; i += 2) {
        if (tokens[i] == tokens[at]) {
            return i + 1;
        }
    }
    return -1;
}

const toys_task toys_recall = {
    .name = "recall",
    .about = "k3 v1 k0 v7 ... k0: keys with values, then the value of a key",
    .defaults = "length=8 symbols=16 layers=2 heads=2 width=32 batch=64 lr=5e-3 steps=2000",
    .shape = shape,
    .draw = draw,
    .label = label,
    .induction_target = induction_target,
};
