/* sum, mean and the softmaxes over every choice of dims, compared with plain loops in double. */
#include <math.h>
#include <stdlib.h>

#include "tests/common/ops_cases.h"

#define INF HUGE_VAL
#define NaN (double)NAN

/* ---- sum, mean ---- */

/* clang-format off */
static const heed_shape shapes[] = {
    {0, {0}}, {1, {0}}, {1, {1}}, {1, {700}}, {2, {3, 600}}, {2, {600, 3}}, {3, {2, 0, 3}},
    {4, {2, 3, 4, 5}}, {4, {3, 1, 300, 2}}, {4, {1, 2, 2, 270}}, {4, {5, 4, 0, 1}},
    {8, {2, 1, 2, 2, 1, 2, 3, 2}},
};
/* clang-format on */
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The sums of x over the dims of `set`, in `kept`, the shape with these dims of size 1; and the
 * sums of absolute values, which bound the rounding errors. */
static void sum_by_loops(const heed_tensor *x, heed_shape shape, unsigned set, heed_shape kept,
                         double *sums, double *sizes)
{
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        heed_shape to = at;
        for (int i = 0; i < shape.ndim; i++) {
            to.size[i] = set >> i & 1 ? 0 : at.size[i];
        }
        sums[rank(kept, to)] += element(x, at);
        sizes[rank(kept, to)] += fabs(element(x, at));
    }
}

static void expect_sums(heed_tensor *y, const double *sums, const double *sizes, double count)
{
    heed_shape shape = heed_shape_of_tensor(y);
    int64_t place = 0;
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at), place++) {
        double found = element(y, at), goal = sums[place] / count;
        bool close = within_ulps(found, goal, 1, y->dtype) ||
                     (y->dtype == HEED_F64 && fabs(found - goal) <= 1e-15 * sizes[place]);
        EXPECT(close, "place %lld is %.17g, not %.17g", (long long)place, found, goal);
    }
}

static heed_shape without_dims(heed_shape shape, unsigned set)
{
    heed_shape rest = {0, {0}};
    for (int i = 0; i < shape.ndim; i++) {
        if (!(set >> i & 1)) {
            rest.size[rest.ndim++] = shape.size[i];
        }
    }
    return rest;
}

/* Sums and means of x over the dims of `set`, alternately positive and negative. */
static void check_sums(heed_tensor *x, heed_shape shape, unsigned set)
{
    heed_shape kept = shape;
    heed_dims dims = {0, {0}};
    double count = 1;
    for (int i = 0; i < shape.ndim; i++) {
        if (set >> i & 1) {
            dims.dim[dims.count++] = i % 2 ? i : i - shape.ndim;
            kept.size[i] = 1;
            count *= (double)shape.size[i];
        }
    }
    double *sums = calloc((size_t)count_of(kept) + 1, sizeof *sums);
    double *sizes = calloc((size_t)count_of(kept) + 1, sizeof *sizes);
    sum_by_loops(x, shape, set, kept, sums, sizes);
    const bool is_float = x->dtype == HEED_F32 || x->dtype == HEED_F64;
    for (int keepdim = 0; keepdim < 2; keepdim++) {
        heed_shape expected = keepdim ? kept : without_dims(shape, set);
        heed_tensor *y = heed_sum_dims(x, dims, keepdim);
        expect_kind(y, is_float ? x->dtype : HEED_I64, expected);
        expect_sums(y, sums, sizes, 1);
        if (is_float) {
            y = heed_mean_dims(x, dims, keepdim);
            expect_kind(y, x->dtype, expected);
            expect_sums(y, sums, sizes, count);
        }
    }
    free(sums);
    free(sizes);
}

START_TEST(sums_over_all_choices_of_dims)
{
    for (int i = 0; i < SHAPES; i++) {
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            heed_tensor *x = noise(shapes[i], (heed_dtype)_i, layout, 7);
            for (unsigned set = 1; set < 1u << shapes[i].ndim; set++) {
                check_sums(x, shapes[i], set);
            }
        }
    }
}
END_TEST

START_TEST(sum_forms_agree)
{
    heed_tensor *x = heed_from_f32((float[]){1, 2, 3, 4, 5, 6}, HEED_SHAPE(2, 3));
    ck_assert_double_eq(heed_item(heed_sum(x)), 21);
    ck_assert_double_eq(heed_item(heed_mean(x)), 3.5);
    EXPECT_VALUES(heed_sum_dim(x, 0, false), 0, 5, 7, 9);
    EXPECT_VALUES(heed_mean_dim(x, -1, false), 0, 2, 5);
    expect_kind(heed_sum_dim(x, -2, true), HEED_F32, HEED_SHAPE(1, 3));
    /* An empty list means all dims, as in torch. */
    expect_kind(heed_sum_dims(x, (heed_dims){0, {0}}, true), HEED_F32, HEED_SHAPE(1, 1));
    EXPECT_VALUES(heed_mean_dims(x, (heed_dims){0, {0}}, false), 0, 3.5);
    heed_tensor *scalar = heed_scalar(3, HEED_F64);
    ck_assert_double_eq(heed_item(heed_sum(scalar)), 3);
    expect_kind(heed_sum_dim(scalar, -1, true), HEED_F64, HEED_SCALAR);
    ck_assert_double_eq(heed_item(heed_mean_dim(scalar, 0, false)), 3);
}
END_TEST

START_TEST(sums_of_nothing)
{
    heed_tensor *none = heed_zeros(HEED_SHAPE(2, 0), HEED_F32);
    EXPECT_VALUES(heed_sum_dim(none, 1, false), 0, 0, 0);
    EXPECT_VALUES(heed_mean_dim(none, 1, false), 0, (double)NAN, (double)NAN);
    expect_kind(heed_sum_dim(none, 0, false), HEED_F32, HEED_SHAPE(0));
    ck_assert_double_eq(heed_item(heed_sum(none)), 0);
    ck_assert_double_nan(heed_item(heed_mean(none)));
    ck_assert_int_eq(heed_item_i64(heed_sum(heed_zeros(HEED_SHAPE(0), HEED_BOOL))), 0);
}
END_TEST

START_TEST(sums_refuse)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_I64);
    ck_assert_ptr_null(heed_sum_dim(x, 2, false));
    expect_error(HEED_ERR_DIM, "sum: dim 2");
    ck_assert_ptr_null(heed_sum_dims(x, HEED_DIMS(0, -2), false));
    expect_error(HEED_ERR_DIM, "sum: dim 0 is given twice");
    ck_assert_ptr_null(heed_mean(x));
    expect_error(HEED_ERR_DTYPE, "mean");
    ck_assert_ptr_null(heed_mean(heed_ones(HEED_SHAPE(2), HEED_BOOL)));
    expect_error(HEED_ERR_DTYPE, "mean");
}
END_TEST

START_TEST(large_sums_are_exact)
{
    enum { ROWS_ = 1031, COLUMNS_ = 1021 };
    heed_tensor *x = noise(HEED_SHAPE(ROWS_, COLUMNS_), HEED_F32, _i, 8);
    double sum = 0, column[COLUMNS_] = {0};
    const heed_shape shape = HEED_SHAPE(ROWS_, COLUMNS_);
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        sum += element(x, at);
        column[at.size[1]] += element(x, at);
    }
    expect_element("sum", heed_item(heed_sum(x)), sum, 1, HEED_F32);
    expect_element("mean", heed_item(heed_mean(x)), sum / ROWS_ / COLUMNS_, 1, HEED_F32);
    heed_tensor *y = heed_sum_dim(x, 0, false);
    for (int j = 0; j < COLUMNS_; j++) {
        expect_element("column", element(y, HEED_INDEX(j)), column[j], 1, HEED_F32);
    }
    /* In f32 counting by ones would stop at 2^24. */
    heed_tensor *ones = heed_expand(heed_ones(HEED_SHAPE(1), HEED_F32), HEED_SHAPE((1 << 25) + 4));
    ck_assert_double_eq(heed_item(heed_sum(ones)), (1 << 25) + 4);
    ck_assert_double_eq(heed_item(heed_mean(ones)), 1);
}
END_TEST

/* Values of all magnitudes. Many cancel, and partial sums in f32 would overflow. */
static float of_any_size(int64_t i, int64_t n, const float *noise)
{
    const int64_t twin = i % ((n + 1) / 2);
    const float sign = i == twin ? 1 : -1, size = ldexpf(noise[twin], (int)(twin * 37 % 120) - 60);
    return sign * (twin % 5 == 0 ? 3e38f : twin % 5 < 3 ? size : noise[i]);
}

/* Sums of rows and of columns of f32 have the error of sums in double. */
START_TEST(sums_that_cancel_are_as_exact_as_in_double)
{
    enum { LINES = 21 };
    static const int64_t lengths[] = {1, 2, 7, 8, 9, 31, 32, 33, 41, 63, 64, 97, 1000, 40000};
    const int64_t n = lengths[_i];
    const float *values = heed_const_data_f32(noise(HEED_SHAPE(LINES, n), HEED_F32, ROWS, 17));
    heed_tensor *x = heed_empty(HEED_SHAPE(LINES, n), HEED_F32);
    long double sum[LINES] = {0}, sizes[LINES] = {0};
    for (int64_t i = 0; i < LINES * n; i++) {
        const float value = of_any_size(i % n, n, values + i / n * n);
        heed_data_f32(x)[i] = value;
        sum[i / n] += (long double)value;
        sizes[i / n] += fabsl((long double)value);
    }
    heed_tensor *rows = heed_sum_dim(x, 1, false);
    heed_tensor *columns = heed_sum_dim(heed_contiguous(heed_transpose(x, 0, 1)), 0, false);
    for (int i = 0; i < LINES; i++) {
        const double slack = (double)n * 0x1p-53 * (double)sizes[i];
        const double most = slack + ROUNDED_ONCE * 0x1p-23 * fabs((double)sum[i]);
        EXPECT(fabs(heed_at(rows, HEED_INDEX(i)) - (double)sum[i]) <= most, "row %d of %lld", i,
               (long long)n);
        EXPECT(fabs(heed_at(columns, HEED_INDEX(i)) - (double)sum[i]) <= most, "column %d of %lld",
               i, (long long)n);
    }
}
END_TEST

START_TEST(whole_sums_are_exact_and_wrap)
{
    const int64_t big = (INT64_C(1) << 53) + 1, half = INT64_C(1) << 62;
    heed_tensor *x = heed_from_i64((int64_t[]){big, 1, half, half}, HEED_SHAPE(2, 2));
    heed_tensor *y = heed_sum_dim(x, 1, false);
    ck_assert_int_eq(heed_const_data_i64(y)[0], big + 1);
    ck_assert_int_eq(heed_const_data_i64(y)[1], INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_sum(heed_slice(x, 0, 0, 1, 1))), big + 1);
    heed_tensor *yes = heed_expand(heed_ones(HEED_SHAPE(1), HEED_BOOL), HEED_SHAPE(7, 1000));
    ck_assert_int_eq(heed_item_i64(heed_sum(yes)), 7000);
}
END_TEST

START_TEST(sums_pass_nan_and_infinity)
{
    heed_tensor *x = heed_from_f32((float[]){1, INFINITY, -INFINITY, 2, NAN, INFINITY, 3, INFINITY},
                                   HEED_SHAPE(4, 2));
    EXPECT_VALUES(heed_sum_dim(x, 1, false), 0, INF, -INF, NaN, INF);
    EXPECT_VALUES(heed_sum_dim(x, 0, false), 0, NaN, INF);
    EXPECT_VALUES(heed_sum(heed_slice(x, 0, 0, 2, 1)), 0, NaN);
    /* Sums accumulate in double, so intermediate overflow of f32 does no harm. */
    heed_tensor *large = heed_from_f32((float[]){3e38f, 3e38f, -3e38f}, HEED_SHAPE(3));
    EXPECT_VALUES(heed_sum(large), 0, (double)3e38f);
}
END_TEST

/* ---- softmax, log_softmax ---- */

static void check_softmax(heed_shape shape, heed_dtype dtype, enum layout layout, int dim)
{
    heed_tensor *x = heed_mul_scalar(noise(shape, dtype, layout, 9), 4);
    x = lay_out(heed_const_data_f64(heed_to(x, HEED_F64)), shape, dtype, layout);
    heed_tensor *y = heed_softmax(x, dim % 2 ? dim : dim - shape.ndim);
    heed_tensor *z = heed_log_softmax(x, dim);
    expect_kind(y, dtype, shape);
    expect_kind(z, dtype, shape);
    const double epsilon = dtype == HEED_F32 ? 0x1p-23 : 0x1p-52;
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        double total = 0, n = (double)shape.size[dim];
        heed_shape other = at;
        for (other.size[dim] = 0; other.size[dim] < shape.size[dim]; other.size[dim]++) {
            total += exp(element(x, other) - element(x, at));
        }
        expect_element("softmax", element(y, at), 1 / total, dtype == HEED_F32 ? 8 : 64, dtype);
        double found = element(z, at), goal = -log(total);
        EXPECT(fabs(found - goal) <= 2 * epsilon * (fabs(goal) + log(n) + 8),
               "log_softmax is %.17g, not %.17g", found, goal);
    }
}

START_TEST(softmax_over_all_dims)
{
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
            for (int dim = 0; dim < shapes[_i].ndim; dim++) {
                check_softmax(shapes[_i], dtype, layout, dim);
            }
        }
    }
}
END_TEST

START_TEST(softmax_of_scalars_and_refusals)
{
    heed_tensor *x = heed_scalar(-7, HEED_F32), *whole = heed_ones(HEED_SHAPE(3), HEED_I64);
    ck_assert_double_eq(heed_item(heed_softmax(x, 0)), 1);
    ck_assert_double_eq(heed_item(heed_log_softmax(x, -1)), 0);
    ck_assert_double_nan(heed_item(heed_softmax(heed_scalar(-INF, HEED_F64), 0)));
    ck_assert_ptr_null(heed_softmax(x, 1));
    expect_error(HEED_ERR_DIM, "softmax: dim 1");
    ck_assert_ptr_null(heed_log_softmax(whole, 0));
    expect_error(HEED_ERR_DTYPE, "log_softmax: input 0 is i64");
    ck_assert_ptr_null(heed_softmax(heed_to(whole, HEED_BOOL), 0));
    expect_error(HEED_ERR_DTYPE, "softmax: input 0 is bool");
}
END_TEST

void add_reduce_cases(Suite *suite)
{
    TCase *reduce = heed_case(suite, "reduce");
    tcase_add_loop_test(reduce, sums_over_all_choices_of_dims, 0, HEED_DTYPES);
    tcase_add_test(reduce, sum_forms_agree);
    tcase_add_test(reduce, sums_of_nothing);
    tcase_add_test(reduce, sums_refuse);
    tcase_add_loop_test(reduce, large_sums_are_exact, 0, LAYOUTS);
    tcase_add_loop_test(reduce, sums_that_cancel_are_as_exact_as_in_double, 0, 14);
    tcase_add_test(reduce, whole_sums_are_exact_and_wrap);
    tcase_add_test(reduce, sums_pass_nan_and_infinity);
    tcase_add_loop_test(reduce, softmax_over_all_dims, 0, SHAPES);
    tcase_add_test(reduce, softmax_of_scalars_and_refusals);
}
