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

/* Along `dim` of y, where x begins at `at`: the expected shares of one row or column. */
static void shares(const double *x, double *y, int n, int step)
{
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++) {
        most = fmax(most, x[i * step]);
    }
    for (int i = 0; i < n; i++) {
        y[i * step] = exp(x[i * step] - most);
        sum += y[i * step];
    }
    for (int i = 0; i < n; i++) {
        y[i * step] /= sum;
    }
}

static void softmax_of(const double *x, double *y, int rows, int columns, int dim)
{
    if (dim == 1) {
        for (int r = 0; r < rows; r++) {
            shares(x + r * columns, y + r * columns, columns, 1);
        }
    } else {
        for (int c = 0; c < columns; c++) {
            shares(x + c, y + c, rows, columns);
        }
    }
}

static bool all_near(const double *y, const double *z, int n)
{
    bool near = true;
    for (int i = 0; i < n; i++) {
        near = near && grade_near(y[i], z[i]);
    }
    return near;
}

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

static const char *const which =
    "The shares stay the same if one number is subtracted from all scores first; which one?";

/* What the learner's code gives for the row {a, b}. */
static double share_of(double a, double b, int which)
{
    const double x[] = {a, b};
    double y[] = {0, 0};
    softmax(x, y, 1, 2, 1);
    return y[which];
}

/* Why the shares of a row or column are k times what they should be; likely reasons come first. */
static const char *reason_of(const double *x, int n, int step, double most, double k)
{
    double sum = 0, whole = 0, whole_shifted = 0;
    for (int i = 0; i < n; i++) {
        const double e = exp(x[i * step] - most);
        sum += e;
        whole_shifted = trunc(whole_shifted + e);
        whole = trunc(whole + exp(x[i * step]));
    }
    const bool is_whole =
        grade_near(k, sum / whole_shifted) || grade_near(k, sum * exp(most) / whole);
    if (is_whole && grade_near(share_of(0, 0, 0), 0.5)) { /* 1 + 1 is a whole number */
        return "the sum has lost its fraction. An int holds whole numbers alone";
    }
    if (grade_near(k, sum / exp(x[(n - 1) * step] - most)) && grade_near(share_of(1, 0, 1), 1)) {
        return "they are divided by the last exponential alone. Are all of them added up (sum +=, "
               "not "
               "sum =)?";
    }
    if (grade_near(k, sum) || grade_near(k, sum * exp(most))) {
        return "its exponentials are not divided by their sum";
    }
    return k > 1 ? "what they are divided by is too small. Is each exponential in it?"
                 : "what they are divided by is too large. Is it the sum of their own exponentials "
                   "alone, from 0 on?";
}

/* Fails unless the row or column sums to 1. */
static void check_sum(const double *x, const double *y, int n, int step, const char *name, int line)
{
    double sum = 0, most = -INFINITY, factor = NAN;
    bool one_factor = true;
    double *right = grade_array(n);
    for (int i = 0; i < n; i++) {
        sum += y[i * step];
        most = fmax(most, x[i * step]);
        right[i] = x[i * step];
    }
    softmax_of(right, right, 1, n, 1);
    for (int i = 0; i < n; i++) {
        factor = right[i] > 0 && isnan(factor) ? y[i * step] / right[i] : factor;
        one_factor = one_factor && grade_near(y[i * step], factor * right[i]);
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
    if (one_factor && (grade_near(sum, exp(-most)) || grade_near(sum, exp(most)))) {
        grade_fail("%s %d sums to %.6g = exp(%g), and should sum to 1. Its largest score, %g, is "
                   "subtracted %s: it has to be subtracted from all scores, in the numerator and "
                   "in the sum.",
                   name, line, sum, sum < 1 ? -most : most, most,
                   grade_near(sum, exp(-most)) ? "in the numerator, but not in the sum"
                                               : "in the sum, but not in the numerator");
    }
    if (one_factor) {
        const char *why = reason_of(x, n, step, most, sum);
        grade_fail("%s %d sums to %.6g: all its shares are too %s by that factor, because %s%s",
                   name, line, sum, sum > 1 ? "large" : "small", why,
                   why[strlen(why) - 1] == '?' ? "" : ".");
    }
    if (isinf(sum) || (sum == 0 && fabs(most) > 700)) {
        grade_fail("%s %d sums to %g: its largest score is %g, and exp of that is %s. %s", name,
                   line, sum, most, most > 0 ? "infinite" : "0", which);
    }
    if (!grade_near(sum, 1)) {
        grade_fail("%s %d sums to %.6g, and should sum to 1.", name, line, sum);
    }
}

/* Explains y, which is not what it should be. */
static _Noreturn void explain(const double *x, const double *y, int rows, int columns, int dim)
{
    const int n = rows * columns;
    double *z = grade_array(n), sum = 0, most = -INFINITY;
    bool any_nan = false, ones = true, low = true; /* low: each NaN has -inf in its row or column */
    if (rows == 1 && y[0] == y[n - 1] && y[0] > 0 && isfinite(y[0]) && x[0] >= 1000) {
        grade_fail("Scores that differ get the same share. If you cut off what is too large for "
                   "exp, %g and %g become the same number. Subtract one number from all scores "
                   "instead: their differences stay.",
                   x[0], x[1]);
    }
    for (int i = 0; i < n; i++) {
        any_nan = any_nan || isnan(y[i]);
        most = isnan(y[i]) ? fmax(most, x[i]) : most; /* of the scores without a share */
        ones = ones && grade_near(y[i], exp(x[i]));
        bool lowest = false;
        for (int j = 0; j < n; j++) {
            const bool same = dim == 1 ? j / columns == i / columns : j % columns == i % columns;
            lowest = lowest || (same && x[j] == -INFINITY);
        }
        low = low && (lowest || !isnan(y[i]));
    }
    for (int i = 0; i < n; i++) {
        z[i] = -x[i];
    }
    softmax_of(z, z, rows, columns, dim);
    if (all_near(y, z, n)) {
        grade_fail("That is softmax of -x: the lowest score gets the largest share. A sign is "
                   "wrong in an exponent.");
    }
    softmax_of(x, z, rows, columns, !dim);
    if (all_near(y, z, n)) {
        grade_fail(
            "Your shares run along the other dim. dim 1 is along a row, dim 0 along a column.");
    }
    if (any_nan && most < -700 && rows == 1) {
        grade_fail("A share is NaN: each exp is so small that it is 0, and 0 / 0 is NaN. Subtract "
                   "the largest score. If you do: a search for it that begins at 0 or DBL_MIN "
                   "finds that, because all scores here are smaller. Begin with the first score.");
    }
    if (any_nan && most < -700) {
        grade_fail("A share is NaN: all exponents of a %s are so small that exp gives 0, and 0 / 0 "
                   "is NaN. The largest number of another %s does not help this one.",
                   dim == 1 ? "row" : "column", dim == 1 ? "row" : "column");
    }
    if (any_nan && most < 700) {
        grade_fail("A share is NaN: 0 was divided by 0, or a number outside x was used.");
    }
    if (any_nan && low) {
        grade_fail("A share is NaN. A score of the same %s is -inf, and so is what you subtract if "
                   "it is a mean, the smallest or the last score: -inf - -inf is NaN. %s",
                   dim == 1 ? "row" : "column", which);
    }
    if (any_nan) {
        grade_fail("A share is NaN: exp of a large score is infinite, and inf / inf is NaN. %s",
                   which);
    }
    for (int i = 0; i < n; i++) {
        sum += y[i];
    }
    if (ones && sum > 0 && isfinite(sum)) {
        grade_fail("y is exp(x), which is not divided by anything yet.");
    }
    if (grade_near(sum, 1) && (dim == 1 ? rows : columns) > 1) {
        grade_fail("All shares together sum to 1. Each %s should sum to 1.",
                   dim == 1 ? "row" : "column");
    }
    for (int line = 0; line < (dim == 1 ? rows : columns); line++) {
        const int begin = dim == 1 ? line * columns : line;
        check_sum(x + begin, y + begin, dim == 1 ? columns : rows, dim == 1 ? 1 : columns,
                  dim == 1 ? "Row" : "Column", line);
    }
    grade_fail("The shares sum to 1, but they are not exp(x) divided by the sum of exp(x).");
}

static void check(const double *x, int rows, int columns, int dim)
{
    const int n = rows * columns;
    HEED_SCOPE(scope);
    grade_case("x has %d row%s and %d column%s, dim %d", rows, rows == 1 ? "" : "s", columns,
               columns == 1 ? "" : "s", dim);
    double *given_x = grade_array(n), *y = grade_array(n), *right = grade_array(n);
    memcpy(given_x, x, (size_t)n * sizeof *x);
    const double unset = y[0];
    softmax(given_x, y, rows, columns, dim);
    grade_guards();
    if (memcmp(given_x, x, (size_t)n * sizeof *x) != 0) {
        grade_fail("Your code changes x, which belongs to the caller.");
    }
    softmax_of(x, right, rows, columns, dim);
    if (!all_near(y, right, n)) {
        bool wrong[64] = {false};
        for (int i = 0; i < n && i < 64; i++) {
            wrong[i] = !grade_near(y[i], right[i]);
        }
        grade_show("x", x, rows, columns, NULL);
        grade_show("y, as your code computes it (wrong numbers in brackets)", y, rows, columns,
                   wrong);
        grade_show("y, as it should be", right, rows, columns, NULL);
        check_set(x, y, unset, rows, columns, dim);
        explain(x, y, rows, columns, dim);
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

const struct task task = {
    1,
    "softmax along a dim",
    {"Nothing in the formula changes if you replace each x_i by x_i - m, for any m: numerator and "
     "denominator both become exp(m) times smaller.",
     "With m the largest score of the row (or column) no exponent is above 0, and one is 0: the "
     "sum is at least 1. Element (r, c) is x[r * columns + c], so along a column the next number "
     "is `columns` further."},
    grade,
    {"Two words have the scores 3 and 1. What are the shares if both scores become 10 larger, and "
     "what if both become 10 times as large?",
     "Why does attention need softmax along the keys, and not along the queries?"}};
