/* Grades task 3: masks. */
#define GRADER
#include "task3.h"

enum { MOST = 80 };

/* What a function should compute, and how to explain something else. */
struct sought {
    const char *what;          /* the function */
    const char *token;         /* a hidden key */
    heed_tensor *x;            /* the scores in f64, (..., T, S) */
    heed_dtype dtype;          /* of the scores, and so of the weights */
    heed_tensor *hidden;       /* bool, the same shape */
    struct mistake made[MOST]; /* ends with a NULL why */
    int count;
};

/* x, with the score `with` where the mask is true. */
static heed_tensor *hide(heed_tensor *x, heed_tensor *mask, double with)
{
    return grade_try(heed_masked_fill(x, mask, with));
}

static void add(struct sought *s, heed_tensor *result, const char *why)
{
    s->made[s->count].result = result;
    s->made[s->count++].why = why;
}

/* Another mask. A row of which it hides all is NaN, zeros or equal shares. */
static void add_mask(struct sought *s, heed_tensor *mask, const char *why)
{
    heed_tensor *x = hide(s->x, mask, -(double)INFINITY);
    if (x != NULL) {
        add(s, heed_softmax(x, -1), why);
        add(s, heed_safe_softmax(x, -1), why);
        add(s, heed_softmax(hide(s->x, mask, -1e9), -1), why);
    }
}

/* ---- mistakes with any mask ---- */

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
    return !isnan(with) && grade_equal(y, heed_softmax(hide(s->x, s->hidden, with), -1)) ? with
                                                                                         : NAN;
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
    static char text[500];
    const double *weight = grade_numbers(y), *x = grade_numbers(s->x),
                 *hidden = grade_numbers(s->hidden);
    const double *good = grade_numbers(right), with = finite_score(s, y);
    const int64_t S = heed_size(s->x, -1), T = heed_size(s->x, -2);
    const int plain = nan_in_plain_row(s, weight, hidden);
    if (plain >= 0 && heed_item(heed_amax(heed_abs(s->x))) > 700) {
        snprintf(text, sizeof text,
                 "Row %d has NaN, though nothing is hidden in it: exp of scores of this size is 0 "
                 "or infinite. Task 1 says what to subtract from all scores first.",
                 plain);
        return text;
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
            snprintf(text, sizeof text,
                     "Row %d has NaN: its largest score, %.6g, is that of %s. Next to it the "
                     "exponentials of the other keys are 0, and 0 / 0 is NaN. A hidden key must "
                     "not take part in the softmax at all.",
                     row, most_hidden, s->token);
        } else if (nan >= 0) {
            snprintf(
                text, sizeof text,
                "Row %d has NaN. Possible reasons: 0 times inf is NaN (a mask of 0 and 1 "
                "multiplied by -inf), inf - inf is NaN, and so is the softmax of a row in "
                "which every key is hidden, and 0 / 0, if each exp of a row is 0 as exp(-9000) "
                "is.",
                row);
        } else if (seen >= 0 && kept < -1000) {
            snprintf(text, sizeof text,
                     "Row %d: its scores, at most %.6g, are below the number that you hide with, "
                     "so %s gets the largest share. A model can learn such scores, and then sees "
                     "what is hidden.%s",
                     row, kept, s->token,
                     kept < -1e9
                         ? " (-1e9 is below the scores of most models, and task 4 takes it. Here, "
                           "the number that hides must be below all scores.)"
                         : " Hide with a number that is below all scores.");
        } else if (seen >= 0 && !isnan(with)) {
            snprintf(text, sizeof text,
                     "You hide keys with the score %.4g. That is a score like others: %s gets the "
                     "weight %.4g in row %d, and should get exactly 0.",
                     with, s->token, weight[seen], row);
        } else if (seen >= 0) {
            snprintf(text, sizeof text,
                     "Row %d gives the weight %.4g to key %d, which is %s. It should be 0.", row,
                     weight[seen], (int)(seen % S), s->token);
        } else if (!grade_near(sum, 1)) {
            snprintf(text, sizeof text, "Row %d sums to %.6g, and should sum to 1.", row, sum);
        } else {
            snprintf(text, sizeof text,
                     "Hidden keys get 0 and row %d sums to 1, but key %d should have the weight "
                     "%.4g: softmax of the scores that are not hidden.",
                     row, (int)(off % S), good[off]);
        }
        return text;
    }
    return "The numbers are right, and their order is not.";
}

/* Compares yours; `s` has mistakes of its own mask already. */
static void compare(struct sought *s, heed_tensor *yours)
{
    heed_tensor *right = heed_softmax(hide(s->x, s->hidden, -(double)INFINITY), -1);
    right = heed_to(right, s->dtype);
    if (grade_matches(s->what, yours, right)) {
        return;
    }
    heed_tensor *as_number = heed_to(s->hidden, HEED_F64), *shares = heed_softmax(s->x, -1);
    heed_tensor *masked = hide(s->x, s->hidden, -(double)INFINITY);
    static const char
        twice[] = "softmax is applied twice: the second one takes shares for scores. They lie "
                  "between 0 and 1, so it makes them nearly equal.",
        added[] = "You add a mask of 0 and 1 to the scores. A hidden key then has a score that "
                  "differs by 1, which hides nothing.",
        along_queries[] = "Your softmax runs along the queries: columns sum to 1. Each query, a "
                          "row, should divide its attention among the keys.",
        along_first[] = "Your softmax runs along dim 0: the sequences share their weights. Which "
                        "dim has the keys?";
    add(s, heed_softmax(hide(shares, s->hidden, -(double)INFINITY), -1), twice);
    add(s, heed_softmax(heed_softmax(masked, -1), -1), twice);
    add(s, heed_softmax(hide(heed_softmax(masked, -1), s->hidden, -(double)INFINITY), -1), twice);
    add(s, heed_softmax(hide(s->x, s->hidden, 0), -1),
        "The hidden scores are 0 in your code. That is no weight of 0: exp(0) is 1, more than "
        "other keys get if their scores are negative.");
    add(s, hide(shares, s->hidden, 0),
        "Your weights are set to 0 after the softmax, so rows sum to less than 1: the hidden keys "
        "have already taken their share.");
    add(s, heed_softmax(heed_add(s->x, as_number), -1), added);
    add(s, heed_softmax(heed_sub(s->x, as_number), -1), added); /* 1 - mask, too */
    add(s, heed_safe_softmax(masked, -2), along_queries);
    add(s, heed_softmax(masked, -2), along_queries);
    add_mask(s, heed_logical_or(s->hidden, heed_eq_scalar(s->x, 0)),
             "You hide the scores that are 0, too. They are scores like others: a mask depends on "
             "the places of query and key, not on the score.");
    add(s, s->x->ndim > 2 ? heed_softmax(masked, 0) : NULL, along_first);
    add(s, s->x->ndim > 2 ? heed_safe_softmax(masked, 0) : NULL, along_first);
    add(s, masked, "Your result has masked scores, which are not shares yet.");
    add(s, heed_softmax(hide(s->x, s->hidden, INFINITY), -1),
        "You hide keys with +INFINITY, and inf - inf, in the softmax, is NaN. Which score has the "
        "weight 0?");
    grade_show_tensor("scores", grade_first_wrong(s->x, yours, right), NULL);
    const bool fits = grade_has_shape(yours, heed_shape_of_tensor(right));
    const bool low = heed_item(heed_amin(s->x)) < -1000; /* weights are 0 or 1, of many mistakes */
    grade_compare(s->what, yours, right, low ? NULL : s->made,
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
    add(&s, heed_softmax(s.x, -1),
        x->ndim > 2
            ? "Nothing is hidden: a query sees later tokens. (With two dims your code is right. "
              "From which dim does the mask get its size?)"
            : "Nothing is hidden: a query sees later tokens. Trained like this, a model copies the "
              "next token, and it has none to copy when it writes.");
    add(&s, heed_softmax(heed_triu(s.x, 0), -1),
        "The scores of earlier tokens are 0 in your code, and later tokens are seen: the other "
        "triangle is to be kept, and a score of 0 hides nothing, as exp(0) is 1.");
    add_mask(&s, heed_triu(ones(x), 0),
             "You hide the diagonal, too. A token may see itself, and the first one has nothing "
             "else to look at.");
    add_mask(&s, heed_tril(ones(x), -1),
             "Your mask is transposed: it hides earlier tokens and shows later ones. Rows are "
             "queries, columns are keys.");
    add_mask(&s, heed_tril(ones(x), 0),
             "Your mask is inverted: it hides what should be seen, and shows only later tokens. "
             "heed_masked_fill replaces where its mask is true.");
    add_mask(&s, heed_triu(ones(x), 2),
             "Your mask begins one column too late: row i sees token i + 1, which is what it "
             "should predict.");
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
    heed_tensor *queries = heed_reshape(heed_arange(0, (double)T, 1, HEED_I64), HEED_SHAPE(T, 1));
    heed_tensor *length = heed_reshape(lengths, HEED_SHAPE(-1, 1, 1));
    heed_tensor *padding = heed_ge(keys, length), *late = heed_ge(queries, length);
    struct sought s = {.what = "padded_weights",
                       .token = "padding",
                       .x = heed_to(x, HEED_F64),
                       .dtype = x->dtype,
                       .hidden = heed_logical_and(padding, ones(x))};
    add(&s, heed_softmax(s.x, -1), "Nothing is hidden: queries look at padding.");
    add_mask(&s, heed_gt(keys, length),
             "Off by one: the first padding key is still seen. Keys are counted from 0, so the "
             "last real one is length - 1.");
    add_mask(&s, heed_gt(heed_add_scalar(keys, 2), length),
             "Off by one: the last real key is hidden, too. Keys are counted from 0, so it is "
             "length - 1.");
    add_mask(&s, heed_lt(keys, length),
             "Your mask is inverted: it hides the tokens and shows the padding. heed_masked_fill "
             "replaces where its mask is true.");
    add_mask(&s, late,
             "You hide queries: rows of padding. Their results are ignored anyway. What must not "
             "be seen is a key, so a column, in every row.");
    add_mask(&s, heed_logical_or(late, padding),
             "You hide keys, and queries as well. A row of padding then has nothing to look at: "
             "NaN, or equal shares of all keys. Its result is ignored anyway.");
    add_mask(
        &s, grade_try(heed_ge(keys, heed_reshape(lengths, HEED_SHAPE(-1, 1)))),
        "Your mask has a row for each sequence, and is used as one with a row for each query. All "
        "queries of a sequence have the length of that sequence: which shape broadcasts so?");
    add_mask(&s, grade_try(heed_ge(keys, lengths)),
             "Key j is compared with the length of sequence j. Each key of a sequence should be "
             "compared with the length of that sequence: which shape broadcasts so?");
    add_mask(&s, heed_lt(keys, heed_add_scalar(heed_neg(length), (double)S)),
             "You hide the first keys. Padding is at the end: sequence b has the keys 0 to "
             "lengths[b] - 1.");
    add_mask(&s, heed_logical_and(heed_ge(keys, heed_select(lengths, 0, 0)), ones(x)),
             "All sequences get the length of the first one. lengths has one for each.");
    add_mask(&s, heed_triu(ones(x), 1),
             "That is the causal mask: the lengths are not used. Here a query may see later "
             "tokens, but no padding.");
    add_mask(&s, heed_logical_or(padding, heed_gt(keys, queries)),
             "You hide later tokens, too. padded_weights hides padding alone.");
    add_mask(&s, heed_logical_and(heed_ge(keys, heed_amax(lengths)), ones(x)),
             "Your mask hides what is beyond the longest sequence, in all of them. Shorter ones "
             "have more padding.");
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
        grade_fail("causal_weights: your code returns NULL. Is this gap still empty? "
                   "padded_weights is right.");
    }
}

const struct task task = {
    3,
    "causal and padding masks",
    {"Which score has the weight exp(score) = 0, exactly? Write it where a key is hidden, before "
     "the softmax. In row i of a causal mask the hidden keys are those to the right of column i.",
     "heed_triu(x, 1) keeps what is above the diagonal. For padding, compare key numbers, shape "
     "(S), with lengths of the shape (B, 1, 1): the result, (B, 1, S), broadcasts to (B, T, S). A "
     "bool tensor goes into heed_masked_fill."},
    grade,
    {"Row 0 of a causal mask has one key left. Why does its score not matter?",
     "What should the weights be if a length is 0, and what does your code give?"}};
