/* Grades task 1: softmax of arrays. */
#define GRADER
#include "task1.h"

static const struct {
    int rows, columns, dim;
    double x[12];
} given[] = {
    {1, 3, 1, {1, 2, 3}},
    {2, 3, 1, {1, 2, 3, 0, 0, 2}},
    {2, 3, 0, {1, 2, 3, 0, 0, 2}},
    {3, 1, 1, {5, -5, 0}},
    {1, 4, 0, {7, -7, 0, 1}},
    {1, 2, 1, {1000, 1001}},
    {1, 2, 1, {-1000, -1001}},
    {2, 2, 1, {1000, 1001, -1000, -1001}},
    {2, 2, 1, {-2000, -1999, 2000, 2001}},
    {3, 2, 0, {800, -800, 801, -801, -INFINITY, -900}},
    {2, 4, 1, {1, -INFINITY, 2, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 3}},
    {1, 1, 1, {-1e300}},
    {2, 3, 1, {-3, -3, -3, 1e6, 1e6, -1e6}},
    {3, 3, 0, {-1, -2, -3, -4, -5, -6, -7, -8, -9}},
};

/* Whether softmax leaves all numbers of y as they are. */
static bool writes_nothing(const double *x, double *y, int rows, int columns, int dim)
{
    const int n = rows * columns;
    bool same = true;
    for (int i = 0; i < n; i++) {
        y[i] = 0.25;
    }
    softmax(x, y, rows, columns, dim);
    for (int i = 0; i < n; i++) {
        same = same && y[i] == 0.25;
    }
    return same;
}

/* Fails if an element of y still is `unset`. */
static void check_set(const double *x, const double *y, double unset, int rows, int columns,
                      int dim)
{
    const int n = rows * columns;
    int count = 0;
    for (int i = 0; i < n; i++) {
        count += memcmp(y + i, &unset, sizeof unset) == 0;
    }
    if (count == n && writes_nothing(x, grade_array(n), rows, columns, dim)) {
        grade_fail("For dim %d your code writes no number into y. (y belongs to the caller, who "
                   "does not see another array that your code makes.)",
                   dim);
    }
    if (count == n) {
        grade_fail("Your code reads y, which has no numbers yet: the scores are in x. If you read "
                   "x: does it add to y before y has a number?");
    }
    for (int i = 0; i < n; i++) {
        if (memcmp(y + i, &unset, sizeof unset) == 0) {
            grade_fail("y has no number in row %d, column %d. That is y[%d]: element (r, c) is "
                       "number r * columns + c of x and of y. (If your code does not forget it: "
                       "does it add to y before y has a number?)",
                       i / columns, i % columns, i);
        }
    }
}

/* What the learner's code gives for the row {a, b}. */
static double share_of(double a, double b, int which)
{
    const double x[] = {a, b};
    double y[] = {0, 0};
    softmax(x, y, 1, 2, 1);
    return y[which];
}

/* Why the shares of a row or column are k times what they should be; likely reasons come first. */
static const char *reason_of(const double *x, int n, double most, double k)
{
    double sum = 0, whole = 0, whole_shifted = 0;
    for (int i = 0; i < n; i++) {
        const double e = exp(x[i] - most);
        sum += e;
        whole_shifted = trunc(whole_shifted + e);
        whole = trunc(whole + exp(x[i]));
    }
    const bool is_whole =
        grade_near(k, sum / whole_shifted) || grade_near(k, sum * exp(most) / whole);
    if (is_whole && grade_near(share_of(0, 0, 0), 0.5)) { /* 1 + 1 is a whole number */
        return "the sum has lost its fraction. An int holds whole numbers alone.";
    }
    if (grade_near(k, sum / exp(x[n - 1] - most)) && grade_near(share_of(1, 0, 1), 1)) {
        return "they are divided by the last exponential alone. Are all of them added up (sum +=, "
               "not "
               "sum =)?";
    }
    if (grade_near(k, sum) || grade_near(k, sum * exp(most))) {
        return grade_sentence("undivided");
    }
    return k > 1 ? "what they are divided by is too small. Is each exponential in it?"
                 : "what they are divided by is too large. Is it the sum of their own exponentials "
                   "alone, from 0 on?";
}

/* Fails unless the row or column sums to 1. */
static void check_sum(const double *x, const double *y, int n, const char *name, int line)
{
    const double *right = grade_numbers(heed_softmax(heed_from_f64(x, HEED_SHAPE(n)), 0));
    double sum = 0, most = -INFINITY, factor = NAN;
    bool one_factor = true;
    for (int i = 0; i < n; i++) {
        sum += y[i];
        most = fmax(most, x[i]);
        factor = right[i] > 0 && isnan(factor) ? y[i] / right[i] : factor;
        one_factor = one_factor && grade_near(y[i], factor * right[i]);
    }
    if (isinf(sum) && fabs(most) < 700) {
        grade_fail("%s %d sums to inf: its exponentials are divided by 0. Is the sum still 0 "
                   "there? Each { } has variables of its own, also if names are the same.",
                   name, line);
    }
    if (sum == 0 && fabs(most) < 700) {
        grade_fail("%s %d sums to 0. If you divide integers: in C, 1 / 2 is 0, so 1 / sum is 0 if "
                   "sum is an int.",
                   name, line);
    }
    one_factor = one_factor && fabs(most) < 700 && !grade_near(sum, 1);
    const bool above = grade_near(sum, exp(-most)), below = grade_near(sum, exp(most));
    if (one_factor && (above || below)) {
        grade_fail("one side", name, line, sum, sum < 1 ? -most : most, most,
                   above ? "in the numerator, but not in the sum"
                         : "in the sum, but not in the numerator");
    }
    if (one_factor) {
        grade_fail("factor", name, line, sum, sum > 1 ? "large" : "small",
                   reason_of(x, n, most, sum));
    }
    if (isinf(sum) || (sum == 0 && fabs(most) > 700)) {
        grade_fail("extreme", name, line, sum, most, most > 0 ? "infinite" : "0");
    }
    if (!grade_near(sum, 1)) {
        grade_fail("sum", name, line, sum);
    }
}

/* Explains y, which is not what it should be. */
static _Noreturn void explain(heed_tensor *x, heed_tensor *y, int dim)
{
    const char *line = dim == 1 ? "row" : "column";
    const double *scores = grade_numbers(x), *shares = grade_numbers(y);
    const double total = heed_item(heed_sum(y)), exponentials = heed_item(heed_sum(heed_exp(x)));
    const int n = (int)x->numel, lines = (int)heed_size(x, !dim);
    double most = -INFINITY; /* of the scores without a share */
    bool low = true;         /* each NaN has -inf in its row or column */
    if (heed_size(x, 0) == 1 && shares[0] == shares[n - 1] && shares[0] > 0 && isfinite(total) &&
        scores[0] >= 1000) {
        grade_fail("cut off", scores[0], scores[1]);
    }
    grade_let("x", x);
    grade_let_number("dim", dim);
    if (exponentials > 0 && isfinite(exponentials)) {
        grade_let("moderate", x);
    }
    for (struct mistake *m = grade_mistakes("shares", "y"); m->why != NULL; m++) {
        if (m->result != NULL && grade_equal(y, m->result)) {
            grade_fail("%s", m->why);
        }
    }
    for (int i = 0; i < n; i++) {
        const int columns = (int)heed_size(x, 1);
        heed_tensor *own = heed_select(x, !dim, dim == 1 ? i / columns : i % columns);
        most = isnan(shares[i]) ? fmax(most, scores[i]) : most;
        low = low && (!isnan(shares[i]) || heed_item(heed_amin(own)) == -INFINITY);
    }
    if (isnan(total) && most < -700 && heed_size(x, 0) == 1) {
        grade_fail("nan of small scores");
    }
    if (isnan(total) && most < -700) {
        grade_fail("nan of one line", line, line);
    }
    if (isnan(total) && most < 700) {
        grade_fail("A share is NaN: 0 was divided by 0, or a number outside x was used.");
    }
    if (isnan(total)) {
        grade_fail(low ? "nan beside -inf" : "nan of large scores", line);
    }
    if (grade_near(total, 1) && lines > 1) {
        grade_fail("together", line);
    }
    for (int i = 0; i < lines; i++) {
        check_sum(grade_numbers(heed_select(x, !dim, i)), grade_numbers(heed_select(y, !dim, i)),
                  n / lines, dim == 1 ? "Row" : "Column", i);
    }
    grade_fail("not softmax");
}

static void check(const double *x, int rows, int columns, int dim)
{
    const int n = rows * columns;
    HEED_SCOPE(scope);
    grade_case("x has %d row%s and %d column%s, dim %d", rows, rows == 1 ? "" : "s", columns,
               columns == 1 ? "" : "s", dim);
    double *given_x = grade_array(n), *y = grade_array(n);
    memcpy(given_x, x, (size_t)n * sizeof *x);
    const double unset = y[0];
    softmax(given_x, y, rows, columns, dim);
    grade_guards();
    if (memcmp(given_x, x, (size_t)n * sizeof *x) != 0) {
        grade_fail("Your code changes x, which belongs to the caller.");
    }
    heed_tensor *scores = heed_from_f64(x, HEED_SHAPE(rows, columns));
    heed_tensor *shares = heed_from_f64(y, HEED_SHAPE(rows, columns));
    heed_tensor *right = heed_softmax(scores, dim);
    if (!grade_equal(shares, right)) {
        grade_show_tensor("x", scores, NULL);
        grade_show_tensor("y, as your code computes it (wrong numbers in brackets)", shares, right);
        grade_show_tensor("y, as it should be", right, NULL);
        check_set(x, y, unset, rows, columns, dim);
        explain(scores, shares, dim);
    }
}

static void grade(void)
{
    grade_case("x is {1, 2}, dim 0 and dim 1");
    double x[2] = {1, 2}, y[2]; /* without guard zones, so AddressSanitizer sees what is outside */
    const bool untouched = writes_nothing(x, y, 1, 2, 0);
    if (writes_nothing(x, y, 1, 2, 1) && untouched) {
        grade_not_begun("softmax leaves y as it is, for dim 0 and for dim 1.");
    }
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        check(given[i].x, given[i].rows, given[i].columns, given[i].dim);
    }
    heed_manual_seed(1);
    for (int i = 0; i < 30; i++) {
        HEED_SCOPE(scope);
        const int rows = 1 + i % 5, columns = 1 + i % 7;
        const heed_shape shape = HEED_SHAPE(rows, columns);
        check(heed_data_f64(heed_mul_scalar(heed_randn(shape, HEED_F64), i)), rows, columns,
              i / 2 % 2);
    }
}

const struct task task = {1, grade};
