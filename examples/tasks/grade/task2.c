/* Grades task 2: scores of queries and keys. */
#define GRADER
#include "task2.h"

/* After the first case, which is square. Of each number of dims, sizes that are equal come first: a
 * wrong transpose then gives numbers, which can be explained, and not an error of shapes. */
static const struct {
    heed_shape q, k;
} shapes[] = {
    {{2, {3, 1}}, {2, {4, 1}}},
    {{2, {3, 4}}, {2, {2, 4}}},
    {{2, {1, 3}}, {2, {2, 3}}},
    {{3, {2, 2, 2}}, {3, {2, 2, 2}}},
    {{3, {2, 3, 4}}, {3, {2, 2, 4}}},
    {{4, {2, 2, 2, 2}}, {4, {2, 2, 2, 2}}},
    {{4, {2, 3, 2, 4}}, {4, {2, 3, 3, 4}}},
};

/* Different whole numbers around 0, so that no transpose is the same by chance. */
static heed_tensor *numbered(heed_shape shape)
{
    const int64_t n = heed_zeros(shape, HEED_F64)->numel;
    return heed_reshape(heed_add_scalar(heed_to(heed_randperm(n), HEED_F64), -(double)(n / 2)),
                        shape);
}

/* In f32 whole numbers, which are added without rounding. */
static heed_tensor *drawn(heed_shape shape, heed_dtype dtype)
{
    return dtype == HEED_F32 ? heed_to(heed_randint(-2, 3, shape), dtype)
                             : heed_randn(shape, dtype);
}

/* ---- what a wrong answer is ---- */

/* c t with the c that comes closest to yours; NULL if the shapes differ. */
static heed_tensor *fitted(heed_tensor *t, heed_tensor *yours, double *c)
{
    if (t == NULL || !grade_has_shape(t, heed_shape_of_tensor(yours))) {
        return NULL;
    }
    if (!isfinite(heed_item(heed_sum(yours)))) {
        return NULL;
    }
    const double squares = heed_item(heed_sum(heed_mul(t, t)));
    *c = squares > 0 ? heed_item(heed_sum(heed_mul(t, yours))) / squares : 0;
    return heed_mul_scalar(t, *c);
}

/* What the learner's code divides by, for sizes that are all different. */
static double divisor_of(int64_t T, int64_t S, int64_t d)
{
    heed_tensor *s =
        scores(heed_ones(HEED_SHAPE(T, d), HEED_F64), heed_ones(HEED_SHAPE(S, d), HEED_F64));
    return heed_error() == HEED_OK && s != NULL ? (double)d / heed_item(heed_amax(s)) : NAN;
}

/* Scores that are c times what they should be. */
static const char *explain_scale(heed_tensor *q, double c)
{
    static char text[400];
    const double d = (double)heed_size(q, -1);
    const double divisor = divisor_of(5, 11, 7);
    const double heads = q->ndim == 4 ? (double)heed_size(q, 1) : 1;
    if (c == 0) {
        return "All your scores are 0. If you divide integers: in C, 1 / 2 is 0.";
    }
    for (int i = 0; i < 4; i++) { /* before d, which may be as large */
        const double tokens = i % 2 == 0 ? 11 : 5;
        if (grade_near(divisor, i < 2 ? sqrt(tokens) : tokens)) {
            snprintf(text, sizeof text,
                     "You divide by the %snumber of %s. A longer text would change the scores of "
                     "the same two tokens. What grows a score is how many products are added up in "
                     "it.",
                     i < 2 ? "root of the " : "", i % 2 == 0 ? "keys" : "queries");
            return text;
        }
    }
    /* Before d, which may be as large: earlier cases have found a division by d. */
    if (heads > 1 && grade_near(c, 1 / sqrt(heads))) {
        snprintf(text, sizeof text,
                 "You divide by the root of %g = %g heads of %g features, the width of the model. "
                 "A score in one head is a sum of %g products only.",
                 heads * d, heads, d, d);
        return text;
    }
    if (grade_near(c, sqrt(d))) {
        return "Your scores are products that are not scaled. A sum of d products grows with d, "
               "and softmax of large scores gives nearly everything to one key, with a gradient of "
               "nearly 0. (If you scale: C has made the divisor 1. In C, 1 / 2 is 0, so pow(d, 1 / "
               "2) is 1, and (int)sqrt(2) is 1, too.)";
    }
    if (grade_near(c, d)) {
        return "You multiply by the root of d. The products are too large already: they are to "
               "become smaller.";
    }
    if (grade_near(c, 1 / sqrt(d))) {
        return "You divide by d, without the root (or by the root twice). The scores become too "
               "small, and softmax gives all keys nearly the same share.";
    }
    snprintf(text, sizeof text,
             "Each of your scores is %.4g times what it should be: the products are right, and "
             "what you divide by, %.4g, does not follow from the shapes of this case.",
             c, sqrt(d) / c);
    return text;
}

/* Whether each row or column sums to 1 and nothing is negative. */
static bool are_shares(heed_tensor *x, int dim)
{
    return heed_size(x, dim) > 1 && heed_item(heed_amin(x)) >= 0 &&
           grade_near(heed_item(heed_amax(
                          heed_abs(heed_add_scalar(heed_sum_dim(heed_detach(x), dim, false), -1)))),
                      0);
}

static void explain(heed_tensor *q, heed_tensor *k, heed_tensor *yours, heed_tensor *right)
{
    double c = 0;
    yours = heed_to(heed_detach(yours), HEED_F64);
    q = heed_to(q, HEED_F64);
    k = heed_to(k, HEED_F64);
    struct mistake mistakes[] = {
        {right, NULL}, /* the scale is wrong */
        {grade_try(heed_matmul(q, k)),
         "Your keys are not transposed (a reshape does not do that: it keeps the order of the "
         "numbers): a row of q is multiplied by columns of k, which have one feature of all keys. "
         "A score belongs to one query and one key."},
        {grade_try(heed_matmul(k, heed_transpose(q, -2, -1))),
         "Your scores are transposed, k q^T: row i has the scores of key i with all queries. Each "
         "row should belong to a query, because softmax runs along rows."},
        {grade_try(heed_matmul(heed_transpose(q, -2, -1), k)),
         "You multiply q^T k: that compares features, each with each, added up over the tokens. A "
         "score compares a query with a key."},
        {grade_try(heed_mul(q, k)),
         "You multiply numbers in the same place, q * k. A score is the sum of d such products, of "
         "each query with each key."},
        {k->ndim > 2 ? grade_try(heed_matmul(q, heed_transpose(k, 0, 1))) : NULL,
         "You exchange dims 0 and 1 of the keys. In a batch these are the sequences and the "
         "tokens, so queries meet keys of other sequences. Which dims are always the tokens and "
         "the features?"},
        {k->ndim > 3 ? grade_try(heed_matmul(q, heed_transpose(k, 1, 2))) : NULL,
         "You exchange dims 1 and 2 of the keys. With heads these are the heads and the tokens, so "
         "queries meet keys of other heads. Which dims are always the tokens and the features?"},
        {NULL, NULL}};
    for (int i = (int)(sizeof mistakes / sizeof *mistakes) - 2; i >= 0; i--) {
        mistakes[i].result = fitted(mistakes[i].result, yours, &c);
    }
    mistakes[0].why = explain_scale(q, c);
    grade_show_tensor("q", grade_first_wrong(q, yours, right), NULL);
    grade_show_tensor("k", grade_first_wrong(k, yours, right), NULL);
    grade_compare("scores", yours, right, mistakes,
                  heed_item(heed_amin(yours)) == -INFINITY
                      ? "Some of your scores are -inf: hidden by a mask. Masks come in task 3."
                  : yours->ndim > 1 && (are_shares(yours, -1) || are_shares(yours, -2))
                      ? "Your scores are shares already: they sum to 1. Softmax comes later, after "
                        "a mask has hidden some of the scores."
                      : "Score (i, j) is the sum of the products of the features of query i and "
                        "key j, divided by the root of the number of features. Compute one of the "
                        "numbers in brackets by hand.");
}

/* ---- cases ---- */

static void check(heed_tensor *q, heed_tensor *k)
{
    grade_case("q %s, k %s, %s", heed_shape_text(q->ndim, q->shape).text,
               heed_shape_text(k->ndim, k->shape).text, q->dtype == HEED_F32 ? "f32" : "f64");
    heed_tensor *q_before = heed_clone(q), *k_before = heed_clone(k);
    heed_tensor *yours = scores(q, k);
    grade_answered("scores", yours);
    grade_unchanged("q", q, q_before);
    grade_unchanged("k", k, k_before);
    heed_tensor *right = heed_div_scalar(
        heed_matmul(heed_to(q, HEED_F64), heed_transpose(heed_to(k, HEED_F64), -2, -1)),
        sqrt((double)heed_size(q, -1)));
    if (!grade_matches("scores", yours, heed_to(right, q->dtype))) {
        explain(q, k, yours, right);
    }
}

static void grade(void)
{
    HEED_SCOPE(all);
    heed_tensor *q = heed_from_f64((double[]){1, 2, 3, 4}, HEED_SHAPE(2, 2));
    check(q, heed_from_f64((double[]){1, 0, 2, 1}, HEED_SHAPE(2, 2)));
    heed_manual_seed(2);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        HEED_SCOPE(scope);
        check(numbered(shapes[i].q), numbered(shapes[i].k));
    }
    for (int i = 0; i < 30; i++) {
        HEED_SCOPE(scope);
        heed_shape shape = {2 + i % 3, {1 + i % 2, 1 + i / 2 % 3, 0, 0}};
        shape.size[shape.ndim - 2] = 1 + i % 5;
        shape.size[shape.ndim - 1] = 1 + i * 3 % 7;
        heed_shape keys = shape;
        keys.size[shape.ndim - 2] = 1 + i % 4;
        const heed_dtype dtype = i % 2 ? HEED_F32 : HEED_F64;
        check(drawn(shape, dtype), drawn(keys, dtype));
    }
}

const struct task task = {
    2,
    "scores of queries and keys",
    {"Write down the shapes: (T, d) times (d, S) gives (T, S). k has (S, d). Which function "
     "exchanges two dims, and which two are the same with and without a batch?",
     "Dims counted from the end, -1 and -2, are the features and the tokens with any number of "
     "dims in front. heed_size(q, -1) is d: an int64_t, so convert it before you take a root."},
    grade,
    {"Queries and keys of 64 features have a variance of 1. How large are typical products of a "
     "query and a key, and how large are typical scores?",
     "The scores of a text of 10 tokens are computed, and then those of the same text with an 11th "
     "token. Which of the old scores change?"}};
