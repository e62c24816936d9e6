/* induction: a random sequence that repeats after a random number of tokens, its period; what
 * follows is predicted by what followed the last time. */
#include <math.h>

#include "examples/lab/toys/task.h"

static int64_t least_period(int64_t length)
{
    return length / 4 > 1 ? length / 4 : 1;
}

static int64_t most_period(int64_t length)
{
    return length / 2 > 1 ? length / 2 : 1;
}

/* The first token that has been seen before is the one after the shortest period. */
static toys_shape shape(const toys_settings *s, int64_t length)
{
    return (toys_shape){.tokens = length,
                        .first = least_period(length),
                        .every = 1,
                        .vocabulary = s->symbols,
                        .outputs = s->symbols};
}

/* Token t + 1 is scored once token t has been seen before: t >= period. */
static void draw(const toys_settings *s, int64_t length, const toys_batch *b)
{
    const int64_t least = least_period(length), first = b->shape.first;
    const int64_t scored = toys_scored(&b->shape);
    const int64_t *periods = toys_numbers(most_period(length) - least + 1, b->rows);
    const int64_t *symbols = toys_numbers(s->symbols, b->rows * length);
    int64_t *row = heed_data_i64(b->inputs), *target = heed_data_i64(b->targets);
    for (int64_t r = 0; r < b->rows && !heed_error_pending(); r++, row += length) {
        const int64_t period = least + periods[r];
        for (int64_t t = 0; t < length; t++) {
            row[t] = t < period ? symbols[r * length + t] : row[t - period];
        }
        for (int64_t t = first; t < length; t++) {
            target[r * scored + t - first] = t < period ? TOYS_UNSCORED : row[t + 1 - period];
        }
    }
}

/* ---- the best predictor, and the simple one ---- */

/* True if tokens 0 ... t repeat after `period` tokens. */
static bool repeats(const int64_t *row, int64_t t, int64_t period)
{
    for (int64_t i = period; i <= t; i++) {
        if (row[i] != row[i - period]) {
            return false;
        }
    }
    return true;
}

/* A period that fits what has been read has a posterior proportional to symbols^-period, because it
 * explains all tokens after the first `period`; here that of the shortest is 1. Only positions t >=
 * period count, so the period is known to be at most t. */
static double likelihood(const toys_settings *s, const int64_t *row, int64_t length, int64_t t,
                         int64_t target)
{
    const int64_t most = most_period(length);
    int64_t shortest = -1;
    double right = 0, all = 0;
    for (int64_t period = least_period(length); period <= (t < most ? t : most); period++) {
        if (repeats(row, t, period)) {
            shortest = shortest < 0 ? period : shortest;
            const double weight = pow((double)s->symbols, (double)(shortest - period));
            all += weight;
            right += row[t + 1 - period] == target ? weight : 0;
        }
    }
    return right / all;
}

/* The share of `target` among tokens 0 ... t. */
static double frequency(const toys_settings *s, const int64_t *row, int64_t length, int64_t t,
                        int64_t target)
{
    double count = 0;
    (void)s, (void)length;
    for (int64_t i = 0; i <= t; i++) {
        count += row[i] == target;
    }
    return count / (double)(t + 1);
}

typedef double predictor(const toys_settings *s, const int64_t *row, int64_t length, int64_t t,
                         int64_t target);

static void write_losses(const toys_settings *s, const toys_batch *b, predictor *p, double *losses)
{
    const int64_t length = b->shape.tokens, first = b->shape.first;
    const int64_t *row = heed_const_data_i64(b->inputs), *target = heed_const_data_i64(b->targets);
    for (int64_t r = 0; r < b->rows && !heed_error_pending(); r++, row += length) {
        for (int64_t t = first; t < length; t++, target++) {
            *losses++ =
                *target == TOYS_UNSCORED ? (double)NAN : -log(p(s, row, length, t, *target));
        }
    }
}

static void best(const toys_settings *s, const toys_batch *b, double *losses)
{
    write_losses(s, b, likelihood, losses);
}

static void simple(const toys_settings *s, const toys_batch *b, double *losses)
{
    write_losses(s, b, frequency, losses);
}

/* The token after the last earlier occurrence of token `at`. */
static int64_t induction_target(const toys_batch *b, int64_t row, int64_t at)
{
    const int64_t *tokens = heed_const_data_i64(b->inputs) + row * b->shape.tokens;
    for (int64_t i = at - 1; i >= 0; i--) {
        if (tokens[i] == tokens[at]) {
            return i + 1;
        }
    }
    return -1;
}

const toys_task toys_induction = {
    .name = "induction",
    .about = "a b c d a b c d ...: a random sequence that repeats after a random number of tokens",
    .defaults = "length=32 symbols=32 layers=2 heads=4 width=64 batch=32 lr=3e-3 steps=2000",
    .shape = shape,
    .draw = draw,
    .best = best,
    .simple = simple,
    .simple_name = "unigram of the context",
    .induction_target = induction_target,
};
