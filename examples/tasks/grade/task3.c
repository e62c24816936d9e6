/* Grades task 3: masks. */
#define GRADER
#include "task3.h"

/* What a function should compute. */
struct sought {
    const char *what;    /* the function */
    const char *token;   /* a hidden key */
    heed_tensor *x;      /* the scores in f64, (..., T, S) */
    heed_dtype dtype;    /* of the scores, and so of the weights */
    heed_tensor *hidden; /* bool, the same shape */
};

/* ---- what can be seen of a mistake ---- */

/* The score in place of the hidden ones from which softmax would give y; NaN if there is none. */
static double finite_score(const struct sought *s, heed_tensor *y)
{
    const double *weight = grade_numbers(y), *x = grade_numbers(s->x),
                 *hidden = grade_numbers(s->hidden);
    const int64_t S = heed_size(s->x, -1);
    double with = NAN;
    for (int64_t i = 0; i < s->x->numel && isnan(with); i++) {
        for (int64_t j = i / S * S; hidden[i] > 0 && weight[i] > 0 && j < (i / S + 1) * S; j++) {
            if (hidden[j] == 0 && weight[j] > 0) {
                with = x[j] + log(weight[i] / weight[j]);
            }
        }
    }
    return isnan(with) || !grade_equal(y, heed_softmax(heed_masked_fill(s->x, s->hidden, with), -1))
               ? NAN
               : with;
}

/* A row in which nothing is hidden and a weight is NaN; -1 if there is none. */
static int nan_in_plain_row(const struct sought *s, const double *weight, const double *hidden)
{
    const int64_t S = heed_size(s->x, -1), T = heed_size(s->x, -2);
    for (int64_t begin = 0; begin < s->x->numel; begin += S) {
        double sum = 0, count = 0;
        for (int64_t i = begin; i < begin + S; i++) {
            sum += weight[i];
            count += hidden[i];
        }
        if (isnan(sum) && count == 0) {
            return (int)(begin / S % T);
        }
    }
    return -1;
}

/* What is wrong in the first row that is wrong. */
static const char *symptom(const struct sought *s, heed_tensor *y, heed_tensor *right)
{
    const double *weight = grade_numbers(y), *x = grade_numbers(s->x),
                 *hidden = grade_numbers(s->hidden);
    const double *good = grade_numbers(right), with = finite_score(s, y);
    const int64_t S = heed_size(s->x, -1), T = heed_size(s->x, -2);
    const int plain = nan_in_plain_row(s, weight, hidden);
    if (plain >= 0 && heed_item(heed_amax(heed_abs(s->x))) > 700) {
        return say("nan in a plain row", plain);
    }
    for (int64_t begin = 0; begin < s->x->numel; begin += S) {
        const int row = (int)(begin / S % T);
        double sum = 0, kept = -(double)INFINITY, most_hidden = kept;
        int64_t nan = -1, seen = -1, off = -1;
        for (int64_t i = begin; i < begin + S; i++) {
            double *most = hidden[i] > 0 ? &most_hidden : &kept;
            *most = fmax(*most, x[i]);
            sum += weight[i];
            nan = isnan(weight[i]) ? i : nan;
            seen = hidden[i] > 0 && seen < 0 && !grade_near(weight[i], 0) ? i : seen;
            off = !grade_near(weight[i], good[i]) ? i : off;
        }
        if (off < 0) {
            continue;
        }
        if (nan >= 0 && most_hidden - kept > 700) {
            return say("nan beside a larger score", row, most_hidden, s->token);
        }
        if (nan >= 0) {
            return say("nan", row);
        }
        if (seen >= 0 && kept < -1000) {
            return say(kept < -1e9 ? "very low" : "low", row, kept, s->token);
        }
        if (seen >= 0 && !isnan(with)) {
            return say("finite", with, s->token, weight[seen], row);
        }
        if (seen >= 0) {
            return say("seen", row, weight[seen], (int)(seen % S), s->token);
        }
        return grade_near(sum, 1) ? say("share", row, (int)(off % S), good[off])
                                  : say("sum", row, sum);
    }
    return say("order");
}

/* Compares yours; names that only one of the functions has are set already. */
static void compare(const struct sought *s, heed_tensor *yours)
{
    grade_let("x", s->x);
    grade_let("hidden", s->hidden);
    heed_tensor *right = heed_to(grade_right("masks", "weights"), s->dtype);
    if (grade_matches(s->what, yours, right)) {
        return;
    }
    grade_show_tensor("scores", grade_first_wrong(s->x, yours, right), NULL);
    const bool fits = grade_has_shape(yours, heed_shape_of_tensor(right));
    const bool low = heed_item(heed_amin(s->x)) < -1000; /* weights are 0 or 1, of many mistakes */
    grade_compare(s->what, yours, right,
                  low ? NULL : grade_mistakes("masks", "weights zeros finite"),
                  fits ? symptom(s, heed_to(heed_detach(yours), HEED_F64), right) : "");
}

/* ---- causal ---- */

static heed_tensor *ones(heed_tensor *x)
{
    return heed_to(heed_ones_like(x), HEED_BOOL);
}

static void check_causal(heed_tensor *x)
{
    grade_case("causal_weights, scores %s, %s", heed_shape_text(x->ndim, x->shape).text,
               x->dtype == HEED_F32 ? "f32" : "f64");
    heed_tensor *before = heed_clone(x), *yours = causal_weights(x);
    grade_answered("causal_weights", yours);
    grade_unchanged("scores", x, before);
    struct sought s = {.what = "causal_weights",
                       .token = "a later token",
                       .x = heed_to(x, HEED_F64),
                       .dtype = x->dtype,
                       .hidden = heed_triu(ones(x), 1)};
    grade_let(x->ndim > 2 ? "deep" : "flat", x);
    grade_let("ones", ones(x));
    compare(&s, yours);
}

/* ---- padding ---- */

static void check_padded(heed_tensor *x, heed_tensor *lengths)
{
    char list[100] = "";
    for (int64_t b = 0; b < heed_size(lengths, 0); b++) {
        const size_t end = strlen(list);
        snprintf(list + end, sizeof list - end, "%s%d", b > 0 ? ", " : "",
                 (int)heed_at(lengths, HEED_INDEX(b)));
    }
    grade_case("padded_weights, scores %s, lengths {%s}", heed_shape_text(x->ndim, x->shape).text,
               list);
    heed_tensor *before = heed_clone(x), *lengths_before = heed_clone(lengths);
    heed_tensor *yours = padded_weights(x, lengths);
    grade_answered("padded_weights", yours);
    grade_unchanged("scores", x, before);
    grade_unchanged("lengths", lengths, lengths_before);

    const int64_t T = heed_size(x, 1), S = heed_size(x, 2);
    heed_tensor *keys = heed_arange(0, (double)S, 1, HEED_I64);
    heed_tensor *length = heed_reshape(lengths, HEED_SHAPE(-1, 1, 1));
    heed_tensor *padding = heed_ge(keys, length);
    grade_let("padded", x);
    grade_let("keys", keys);
    grade_let("queries", heed_reshape(heed_arange(0, (double)T, 1, HEED_I64), HEED_SHAPE(T, 1)));
    grade_let("length", length);
    grade_let("lengths", lengths);
    grade_let_number("S", (double)S);
    struct sought s = {.what = "padded_weights",
                       .token = "padding",
                       .x = heed_to(x, HEED_F64),
                       .dtype = x->dtype,
                       .hidden = heed_logical_and(padding, ones(x))};
    compare(&s, yours);
}

/* ---- cases ---- */

/* Scores of this size were found in a trained model, whose mask of -1e4 they undercut. */
static heed_tensor *low_scores(void)
{
    return heed_from_f64(
        (double[]){-15000, -9000, -9500, -14000, -17000, -8000, -12000, -13000, -14000},
        HEED_SHAPE(3, 3));
}

static void check_all_causal(void)
{
    HEED_SCOPE(all);
    check_causal(heed_from_f64((double[]){1, 2, 0, 0, 1, 3, 2, 0, 1}, HEED_SHAPE(3, 3)));
    check_causal(heed_from_f64((double[]){-5, -6, -7, -8, -5, -6, -7, -8, -5}, HEED_SHAPE(3, 3)));
    check_causal(heed_zeros(HEED_SHAPE(1, 1), HEED_F64));
    check_causal(low_scores());
    check_causal(heed_mul_scalar(low_scores(), 1e6));
    heed_manual_seed(3);
    for (int i = 0; i < 20; i++) {
        HEED_SCOPE(scope);
        heed_shape shape = {2 + i % 3, {1 + i % 2, 2 + i % 3, 0, 0}};
        shape.size[shape.ndim - 2] = shape.size[shape.ndim - 1] = 1 + i % 7;
        heed_tensor *x = heed_randn(shape, i % 2 ? HEED_F32 : HEED_F64);
        check_causal(heed_mul_scalar(x, i % 2 ? 1 : i)); /* f32 rounds large scores too much */
    }
}

static void check_all_padded(void)
{
    HEED_SCOPE(all);
    /* As many sequences, queries and keys: wrong shapes of a mask then broadcast. The first length
     * is not the longest, and the longest leaves padding. */
    heed_tensor *x = heed_from_f64((double[]){1, 2, 0, 3, 0, 1, 3, -1, 2, 0, 1, -2, -1, 3, 2, 1},
                                   HEED_SHAPE(4, 4));
    heed_tensor *low = heed_add_scalar(x, -5), *four[] = {x, low, x, low};
    check_padded(heed_stack(four, 4, 0), heed_from_i64((int64_t[]){2, 1, 3, 2}, HEED_SHAPE(4)));
    check_padded(heed_reshape(heed_arange(-8, 8, 1, HEED_F64), HEED_SHAPE(2, 2, 4)),
                 heed_from_i64((int64_t[]){3, 4}, HEED_SHAPE(2)));
    check_padded(heed_zeros(HEED_SHAPE(1, 1, 1), HEED_F64), heed_ones(HEED_SHAPE(1), HEED_I64));
    heed_tensor *two = heed_full(HEED_SHAPE(1), 2, HEED_I64);
    heed_tensor *rows = heed_unsqueeze(heed_narrow(low_scores(), 0, 0, 2), 0);
    check_padded(heed_cat((heed_tensor *[]){rows, rows}, 2, 0),
                 heed_from_i64((int64_t[]){2, 3}, HEED_SHAPE(2)));
    check_padded(heed_mul_scalar(heed_unsqueeze(heed_narrow(low_scores(), 0, 1, 1), 0), 1e6), two);
    for (int i = 0; i < 20; i++) {
        HEED_SCOPE(scope);
        const int64_t B = 1 + i % 4, T = 1 + i % 3, S = 1 + i % 6;
        heed_tensor *random = heed_randn(HEED_SHAPE(B, T, S), i % 2 ? HEED_F32 : HEED_F64);
        check_padded(heed_mul_scalar(random, i % 2 ? 1 : i), heed_randint(1, S + 1, HEED_SHAPE(B)));
    }
}

static void grade(void)
{
    HEED_SCOPE(all);
    grade_case("which of the two functions are written");
    heed_tensor *score = heed_zeros(HEED_SHAPE(1, 1, 1), HEED_F64);
    const bool causal = causal_weights(score) != NULL || heed_error() != HEED_OK;
    const bool padded = padded_weights(score, heed_ones(HEED_SHAPE(1), HEED_I64)) != NULL ||
                        heed_error() != HEED_OK;
    if (!causal && !padded) {
        grade_not_begun("Both functions return NULL.");
    }
    if (causal) {
        check_all_causal();
    }
    heed_manual_seed(33);
    check_all_padded();
    if (!causal) {
        grade_case("causal_weights");
        grade_fail("empty");
    }
}

const struct task task = {3, grade};
