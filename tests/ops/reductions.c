/* sum, mean, max, min, var and std over every choice of dims, compared with plain loops
 * in double. Literal numbers are PyTorch's. */
#include <math.h>
#include <stdlib.h>

#include "tests/common/reductions.h"

#define INF HUGE_VAL
#define NaN (double)NAN

/* ---- sum, mean ---- */

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
    for (int i = 0; i < REDUCTION_SHAPES; i++) {
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            heed_tensor *x = noise(reduction_shapes[i], (heed_dtype)_i, layout, 7);
            for (unsigned set = 1; set < 1u << reduction_shapes[i].ndim; set++) {
                check_sums(x, reduction_shapes[i], set);
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

/* ---- max, min, argmax, argmin, amax, amin ---- */

static int64_t place_of_extreme(const double *line, int64_t n, double sign)
{
    int64_t place = 0;
    for (int64_t i = 1; i < n && !isnan(line[place]); i++) {
        place = isnan(line[i]) || sign * line[i] > sign * line[place] ? i : place;
    }
    return place;
}

static double largest_of(const double *line, int64_t n, heed_dtype dtype)
{
    (void)dtype;
    return line[place_of_extreme(line, n, 1)];
}

static double smallest_of(const double *line, int64_t n, heed_dtype dtype)
{
    (void)dtype;
    return line[place_of_extreme(line, n, -1)];
}

static double place_of_largest(const double *line, int64_t n, heed_dtype dtype)
{
    (void)dtype;
    return (double)place_of_extreme(line, n, 1);
}

static double place_of_smallest(const double *line, int64_t n, heed_dtype dtype)
{
    (void)dtype;
    return (double)place_of_extreme(line, n, -1);
}

/* Adapts the forms with one dim and with all dims to a list of dims. */
static heed_tensor *by_dim(heed_tensor *(*one)(heed_tensor *, int, bool),
                           heed_tensor *(*all)(heed_tensor *), heed_tensor *x, heed_dims dims,
                           bool keepdim)
{
    if (dims.count == 1) {
        return one(x, dims.dim[0], keepdim);
    }
    heed_tensor *y = all(x);
    heed_shape ones = {x->ndim, {1, 1, 1, 1, 1, 1, 1, 1}};
    return keepdim ? heed_reshape(y, ones) : y;
}

static heed_tensor *argmax(heed_tensor *x, heed_dims dims, bool keepdim)
{
    return by_dim(heed_argmax_dim, heed_argmax, x, dims, keepdim);
}

static heed_tensor *argmin(heed_tensor *x, heed_dims dims, bool keepdim)
{
    return by_dim(heed_argmin_dim, heed_argmin, x, dims, keepdim);
}

static heed_tensor *max(heed_tensor *x, heed_dims dims, bool keepdim)
{
    return by_dim(NULL, heed_max, x, dims, keepdim);
}

static heed_tensor *min(heed_tensor *x, heed_dims dims, bool keepdim)
{
    return by_dim(NULL, heed_min, x, dims, keepdim);
}

#define AS_IT_IS                                                                                   \
    {                                                                                              \
        HEED_F32, HEED_F64, HEED_I64, HEED_BOOL                                                    \
    }
#define PLACES                                                                                     \
    {                                                                                              \
        HEED_I64, HEED_I64, HEED_I64, HEED_DTYPES                                                  \
    }
static const struct extreme {
    reduction r;
    enum { ANY_DIMS, ONE_OR_ALL, ALL } dims;
} extremes[] = {
    {{"amax", heed_amax_dims, largest_of, AS_IT_IS, true, 0, {0, 0}}, ANY_DIMS},
    {{"amin", heed_amin_dims, smallest_of, AS_IT_IS, true, 0, {0, 0}}, ANY_DIMS},
    {{"max", max, largest_of, AS_IT_IS, true, 0, {0, 0}}, ALL},
    {{"min", min, smallest_of, AS_IT_IS, true, 0, {0, 0}}, ALL},
    {{"argmax", argmax, place_of_largest, PLACES, true, 0, {0, 0}}, ONE_OR_ALL},
    {{"argmin", argmin, place_of_smallest, PLACES, true, 0, {0, 0}}, ONE_OR_ALL},
};
enum { EXTREMES = sizeof extremes / sizeof *extremes };

static void check_extremes(const struct extreme *row, heed_tensor *x)
{
    if (row->dims == ANY_DIMS) {
        check_all_reductions(&row->r, x);
        return;
    }
    for (int dim = -1; dim < (row->dims == ALL ? 0 : x->ndim); dim++) {
        check_reduction(&row->r, x, dim < 0 ? 0 : 1u << dim);
    }
}

START_TEST(extremes_over_all_choices_of_dims)
{
    for (int i = 0; i < REDUCTION_SHAPES; i++) {
        const heed_shape shape = reduction_shapes[i];
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
                const bool is_float = dtype == HEED_F32 || dtype == HEED_F64;
                check_extremes(&extremes[_i], noise(shape, dtype, layout, 11));
                check_extremes(&extremes[_i], alike(shape, dtype, layout, false));
                if (is_float) {
                    check_extremes(&extremes[_i], alike(shape, dtype, layout, true));
                }
            }
        }
    }
}
END_TEST

/* Lines of every length around vector sizes, with the extreme, or NaN, at each index. */
START_TEST(extremes_in_every_place)
{
    for (int n = 1; n < 80; n++) {
        for (int place = 0; place < n; place++) {
            heed_scope scope;
            heed_scope_begin(&scope);
            heed_tensor *x = heed_full(HEED_SHAPE(n), -INF, HEED_F32);
            heed_tensor *y = heed_zeros(HEED_SHAPE(n), HEED_F64);
            heed_data_f32(x)[place] = -1e30f;
            heed_data_f64(y)[place] = NaN;
            EXPECT(heed_item(heed_amax(x)) == (double)-1e30f, "%d of %d", place, n);
            EXPECT(heed_item_i64(heed_argmax(x)) == place, "%d of %d", place, n);
            EXPECT(heed_item_i64(heed_argmax(y)) == place, "NaN at %d of %d", place, n);
            EXPECT(heed_item_i64(heed_argmin(y)) == place, "NaN at %d of %d", place, n);
            EXPECT(isnan(heed_item(heed_amax(y))), "NaN at %d of %d", place, n);
            EXPECT(isnan(heed_item(heed_min(y))), "NaN at %d of %d", place, n);
            heed_scope_end(&scope);
        }
    }
}
END_TEST

START_TEST(extremes_of_special_values)
{
    heed_tensor *infinite = heed_from_f64((double[]){-INF, -INF, INF, -INF}, HEED_SHAPE(2, 2));
    EXPECT_VALUES(heed_amax_dim(infinite, 0, false), 0, INF, -INF);
    EXPECT_VALUES(heed_amin_dim(infinite, 1, true), 0, -INF, -INF);
    EXPECT_VALUES(heed_argmax_dim(infinite, 1, false), 0, 0, 0);
    const int64_t ends[] = {INT64_MIN, INT64_MIN, INT64_MAX, INT64_MAX - 1};
    heed_tensor *whole = heed_from_i64(ends, HEED_SHAPE(4));
    ck_assert_int_eq(heed_item_i64(heed_max(whole)), INT64_MAX);
    ck_assert_int_eq(heed_item_i64(heed_min(whole)), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_amax(heed_slice(whole, 0, 0, 2, 1))), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_argmax(whole)), 2);
    ck_assert_int_eq(heed_item_i64(heed_argmin(whole)), 0);
    heed_tensor *none = heed_zeros(HEED_SHAPE(0, 2), HEED_F32);
    expect_kind(heed_amax_dim(none, 1, false), HEED_F32, HEED_SHAPE(0));
    expect_kind(heed_argmin_dim(none, -1, false), HEED_I64, HEED_SHAPE(0));
    heed_tensor *scalar = heed_scalar(4, HEED_I64);
    ck_assert_int_eq(heed_item_i64(heed_argmax_dim(scalar, 0, false)), 0);
}
END_TEST

/* ---- their gradients, as in PyTorch ---- */

static const struct extreme_gradient {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *x);
    double x[3], dx[3];
} extreme_gradients[] = {
    {"amax", heed_amax, {1, 3, 3}, {0, .5, .5}},
    {"amax of NaN", heed_amax, {1, NaN, 3}, {NaN, NaN, NaN}},
    {"amax of infinities", heed_amax, {INF, INF, 3}, {.5, .5, 0}},
    {"amin", heed_amin, {INF, -INF, 3}, {0, 1, 0}},
    {"max", heed_max, {1, 3, 3}, {0, .5, .5}},
    {"max of NaN", heed_max, {1, NaN, 3}, {0, 1, 0}},
    {"max of several NaN", heed_max, {NaN, NaN, 3}, {.5, .5, 0}},
    {"min of several NaN", heed_min, {NaN, NaN, 3}, {.5, .5, 0}},
    {"min", heed_min, {1, 1, 1}, {1. / 3, 1. / 3, 1. / 3}},
};
enum { EXTREME_GRADIENTS = sizeof extreme_gradients / sizeof *extreme_gradients };

START_TEST(gradients_of_ties_and_nan)
{
    const struct extreme_gradient *row = &extreme_gradients[_i];
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *x = lay_out(row->x, HEED_SHAPE(3), dtype, STEPPED);
        heed_set_requires_grad(x, true);
        heed_backward(heed_sum(row->apply(x)));
        expect_no_error();
        for (int i = 0; i < 3; i++) {
            expect_element(row->name, element(x->grad, HEED_INDEX(i)), row->dx[i], 1, dtype);
        }
    }
}
END_TEST

/* ---- var, std ---- */

static double variance(const double *line, int64_t n, double correction)
{
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) {
        mean += line[i];
    }
    mean /= (double)n;
    for (int64_t i = 0; i < n && n > 1; i++) {
        squares += (line[i] - mean) * (line[i] - mean);
    }
    return squares / fmax(0, (double)n - correction);
}

/* A form of an operation, and its reference. */
#define FORM(name, call, reference)                                                                \
    static heed_tensor *name(heed_tensor *x, heed_dims dims, bool keepdim)                         \
    {                                                                                              \
        return call;                                                                               \
    }                                                                                              \
    static double name##_of(const double *line, int64_t n, heed_dtype dtype)                       \
    {                                                                                              \
        (void)dtype;                                                                               \
        return reference;                                                                          \
    }
FORM(var0, heed_var_dims(x, dims, 0, keepdim), variance(line, n, 0))
FORM(var1, heed_var_dims(x, dims, 1, keepdim), variance(line, n, 1))
FORM(std1, heed_std_dims(x, dims, 1, keepdim), sqrt(variance(line, n, 1)))

#define FLOATS                                                                                     \
    {                                                                                              \
        HEED_F32, HEED_F64, HEED_DTYPES, HEED_DTYPES                                               \
    }
static const reduction spreads[] = {
    {"var", var1, var1_of, FLOATS, false, 1, {0, 256}},
    {"var", var0, var0_of, FLOATS, false, 1, {0, 256}},
    {"std", std1, std1_of, FLOATS, false, 1, {0, 256}},
};
enum { SPREADS = sizeof spreads / sizeof *spreads };

START_TEST(folds_over_all_choices_of_dims)
{
    check_reduction_everywhere(&spreads[_i]);
}
END_TEST

START_TEST(large_means_do_not_cancel)
{
    heed_tensor *x = heed_from_f32((float[]){1e8f, 1e8f + 16, 1e8f + 8}, HEED_SHAPE(3));
    EXPECT_VALUES(heed_var(x), 0, 64);
    EXPECT_VALUES(heed_std(x), 0, 8);
    heed_tensor *y = heed_from_f64((double[]){1e15, 1e15 + 2, 1e15 + 4}, HEED_SHAPE(3));
    EXPECT_VALUES(heed_var(y), 0, 4);
}
END_TEST

START_TEST(variances_of_few)
{
    heed_tensor *x = heed_from_f64((double[]){1, 2, 4}, HEED_SHAPE(3));
    EXPECT_VALUES(heed_var_dims(x, (heed_dims){0, {0}}, 0, false), 1e-12, 14. / 9);
    EXPECT_VALUES(heed_var_dims(x, (heed_dims){0, {0}}, 2, false), 1e-12, 14. / 3);
    EXPECT_VALUES(heed_var_dims(x, (heed_dims){0, {0}}, -1, false), 1e-12, 7. / 6);
    EXPECT_VALUES(heed_var_dims(x, (heed_dims){0, {0}}, 3, false), 0, INF);
    EXPECT_VALUES(heed_std_dims(x, (heed_dims){0, {0}}, 4, false), 0, INF);
    heed_tensor *equal = heed_ones(HEED_SHAPE(2), HEED_F32), *one = heed_scalar(3, HEED_F32);
    EXPECT_VALUES(heed_var_dims(equal, (heed_dims){0, {0}}, 2, false), 0, NaN);
    EXPECT_VALUES(heed_std(equal), 0, 0);
    EXPECT_VALUES(heed_var(one), 0, NaN);
    EXPECT_VALUES(heed_var_dim(one, 0, 0, true), 0, 0);
    EXPECT_VALUES(heed_var_dim(heed_ones(HEED_SHAPE(1, 0), HEED_F64), 1, -1, false), 0, NaN);
    EXPECT_VALUES(heed_var(heed_from_f32((float[]){INFINITY, 1}, HEED_SHAPE(2))), 0, NaN);
}
END_TEST

static heed_tensor *apply_var(heed_tensor *x, double correction)
{
    return heed_var_dims(x, (heed_dims){0, {0}}, (int)correction, false);
}

static heed_tensor *apply_std(heed_tensor *x, double correction)
{
    return heed_std_dims(x, (heed_dims){0, {0}}, (int)correction, false);
}

static const struct spread_gradient {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *x, double argument);
    double argument;
    double x[3], dx[3];
} spread_gradients[] = {
    {"var", apply_var, 1, {1, 2, 4}, {-4. / 3, -1. / 3, 5. / 3}},
    {"var / 0", apply_var, 3, {1, 2, 4}, {-INF, -INF, INF}},
    {"var / -1", apply_var, 4, {1, 2, 4}, {8. / 3, 2. / 3, -10. / 3}},
    {"var 0 / 0", apply_var, 3, {2, 2, 2}, {NaN, NaN, NaN}},
    {"var of inf", apply_var, 1, {INF, 2, 3}, {NaN, -INF, -INF}},
    {"std of equals", apply_std, 1, {2, 2, 2}, {0, 0, 0}},
    {"std / 0", apply_std, 3, {1, 2, 4}, {NaN, NaN, NaN}},
    {"std / -1", apply_std, 4, {1, 2, 4}, {0, 0, 0}},
};
enum { SPREAD_GRADIENTS = sizeof spread_gradients / sizeof *spread_gradients };

START_TEST(gradients_at_kinks_and_ends)
{
    const struct spread_gradient *row = &spread_gradients[_i];
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *x = lay_out(row->x, HEED_SHAPE(3), dtype, STEPPED);
        heed_set_requires_grad(x, true);
        heed_backward(row->apply(x, row->argument));
        expect_no_error();
        for (int i = 0; i < 3; i++) {
            expect_element(row->name, element(x->grad, HEED_INDEX(i)), row->dx[i], 8, dtype);
        }
    }
}
END_TEST

/* Where std is 0, torch takes its derivative as 0; second derivatives follow from that. */
START_TEST(second_derivatives_at_kinks_are_0)
{
    heed_tensor *x = heed_full(HEED_SHAPE(2), 2, HEED_F64), *dx, *ddx;
    heed_set_requires_grad(x, true);
    heed_grad(apply_std(x, 1), &x, 1, &dx, true);
    EXPECT_VALUES(dx, 0, 0, 0);
    heed_tensor *weights = heed_from_f64((double[]){1, 2}, HEED_SHAPE(2));
    heed_grad(heed_sum(heed_mul(dx, weights)), &x, 1, &ddx, false);
    EXPECT_VALUES(ddx, 0, 0, 0);
}
END_TEST

void add_reductions_cases(Suite *suite)
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
    TCase *most = heed_case(suite, "extremes");
    tcase_add_loop_test(most, extremes_over_all_choices_of_dims, 0, EXTREMES);
    tcase_add_test(most, extremes_in_every_place);
    tcase_add_test(most, extremes_of_special_values);
    tcase_add_loop_test(most, gradients_of_ties_and_nan, 0, EXTREME_GRADIENTS);
    TCase *spread = heed_case(suite, "spread");
    tcase_add_loop_test(spread, folds_over_all_choices_of_dims, 0, SPREADS);
    tcase_add_test(spread, large_means_do_not_cancel);
    tcase_add_test(spread, variances_of_few);
    tcase_add_loop_test(spread, gradients_at_kinks_and_ends, 0, SPREAD_GRADIENTS);
    tcase_add_test(spread, second_derivatives_at_kinks_are_0);
}
