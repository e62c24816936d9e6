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
    enum { T = 5, S = 11, D = 7 };
    const double d = (double)heed_size(q, -1), divisor = divisor_of(T, S, D);
    const double heads = q->ndim == 4 ? (double)heed_size(q, 1) : 1;
    if (c == 0) {
        return say("all 0");
    }
    for (int i = 0; i < 4; i++) {
        const double tokens = i % 2 == 0 ? S : T;
        if (grade_near(divisor, i < 2 ? sqrt(tokens) : tokens)) {
            return say("tokens", i < 2 ? "root of the " : "", i % 2 == 0 ? "keys" : "queries");
        }
    }
    if (heads > 1 && grade_near(c, 1 / sqrt(heads))) {
        return say("width", (int)(heads * d), (int)heads, (int)d, (int)d);
    }
    return grade_near(c, sqrt(d))   ? say("not scaled")
           : grade_near(c, d)       ? say("multiplied")
           : grade_near(divisor, D) ? say("by d")
                                    : say("constant", c, sqrt(d) / c, (int)d);
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
    grade_let("q", q);
    grade_let("k", k);
    struct mistake *mistakes = grade_mistakes("scores", "product");
    int count = 0;
    while (mistakes[count].why != NULL) {
        count++;
    }
    while (count-- > 0) { /* c is that of the right product at last */
        mistakes[count].result = fitted(mistakes[count].result, yours, &c);
    }
    mistakes[0].why = explain_scale(q, c * sqrt((double)heed_size(q, -1)));
    grade_show_tensor("q", grade_first_wrong(q, yours, right), NULL);
    grade_show_tensor("k", grade_first_wrong(k, yours, right), NULL);
    const bool shares = yours->ndim > 1 && (are_shares(yours, -1) || are_shares(yours, -2));
    grade_compare("scores", yours, right, mistakes,
                  say(heed_item(heed_amin(yours)) == -INFINITY ? "masked"
                      : shares                                 ? "shares"
                                                               : "otherwise"));
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

const struct task task = {2, grade};
