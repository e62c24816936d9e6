/* sum, mean, amax, amin and argmax, compared with plain loops in double. Literal numbers are
 * PyTorch's. */
#include <math.h>
#include <stdlib.h>

#include "autograd/autograd.h"
#include "tests/common/reference.h"

#define INF HUGE_VAL
#define NaN (double)NAN

/* clang-format off */
static const heed_shape reduction_shapes[] = {
    {0, {0}}, {1, {0}}, {1, {1}}, {1, {700}}, {2, {3, 600}}, {2, {600, 3}}, {3, {2, 0, 3}},
    {4, {2, 3, 4, 5}}, {4, {3, 1, 300, 2}}, {4, {1, 2, 2, 270}}, {4, {5, 4, 0, 1}},
    {8, {2, 1, 2, 2, 1, 2, 3, 2}},
};
/* clang-format on */
enum { REDUCTION_SHAPES = sizeof reduction_shapes / sizeof *reduction_shapes };

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

/* ---- amax, amin, argmax ---- */

typedef struct reduction {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *x, heed_dims dims, bool keepdim);
    double (*reference)(const double *line, int64_t n, heed_dtype dtype);
    heed_dtype result[HEED_DTYPES]; /* HEED_DTYPES: rejected */
} reduction;

/* Few distinct values, so that many are equal; with `nan` every 13th is NaN. */
static heed_tensor *alike(heed_shape shape, heed_dtype dtype, enum layout layout, bool nan)
{
    const int64_t count = count_of(shape);
    double *values = calloc((size_t)count + 1, sizeof *values);
    for (int64_t i = 0; i < count; i++) {
        values[i] = (double)(i * 7 % 11 % 5 - 2);
        if (nan && i % 13 == 5) {
            values[i] = (double)NAN;
        }
    }
    heed_tensor *t = lay_out(values, shape, dtype, layout);
    free(values);
    return t;
}

/* The elements of x, in row-major order, that reduce to the element of y at `at`, an index into x's
 * shape that is 0 in the dims of `set`. */
static int64_t line_of(const heed_tensor *x, unsigned set, heed_shape at, double *line)
{
    heed_shape reduced = heed_shape_of_tensor(x);
    int64_t n = 0;
    for (int i = 0; i < reduced.ndim; i++) {
        reduced.size[i] = set >> i & 1 ? reduced.size[i] : 1;
    }
    for (heed_shape in = first_index(reduced); in.ndim >= 0; next_index(reduced, &in)) {
        heed_shape from = at;
        for (int i = 0; i < reduced.ndim; i++) {
            from.size[i] += in.size[i];
        }
        line[n++] = element(x, from);
    }
    return n;
}

static void expect_fold(const reduction *r, heed_tensor *y, const heed_tensor *x, unsigned set,
                        heed_shape kept, bool keepdim)
{
    double *line = calloc((size_t)x->numel + 1, sizeof *line);
    for (heed_shape at = first_index(kept); at.ndim >= 0; next_index(kept, &at)) {
        heed_shape to = at;
        to.ndim = 0;
        for (int i = 0; i < kept.ndim; i++) {
            if (keepdim || !(set >> i & 1)) {
                to.size[to.ndim++] = at.size[i];
            }
        }
        const int64_t n = line_of(x, set, at, line);
        const double goal = r->reference(line, n, x->dtype), found = element(y, to);
        EXPECT(within_ulps(found, goal, 0, y->dtype), "%s of %s is %.17g, not %.17g", r->name,
               heed_dtype_name(x->dtype), found, goal);
    }
    free(line);
}

/* r of x over the dims in the bit set `set`, alternately positive and negative, with keepdim and
 * without; set 0 means all dims. */
static void check_reduction(const reduction *r, heed_tensor *x, unsigned set)
{
    const heed_shape shape = heed_shape_of_tensor(x);
    heed_shape kept = shape, rest = {0, {0}};
    heed_dims dims = {0, {0}};
    const unsigned reduced = set == 0 ? (1u << shape.ndim) - 1 : set;
    bool nothing = false;
    for (int i = 0; i < shape.ndim; i++) {
        if (set >> i & 1) {
            dims.dim[dims.count++] = i % 2 ? i : i - shape.ndim;
        }
        if (reduced >> i & 1) {
            nothing = nothing || shape.size[i] == 0;
            kept.size[i] = 1;
        } else {
            rest.size[rest.ndim++] = shape.size[i];
        }
    }
    for (int keepdim = 0; keepdim < 2; keepdim++) {
        heed_tensor *y = r->apply(x, dims, keepdim);
        if (r->result[x->dtype] == HEED_DTYPES || nothing) {
            EXPECT(y == NULL, "%s accepts what it must reject", r->name);
            expect_error(r->result[x->dtype] == HEED_DTYPES ? HEED_ERR_DTYPE : HEED_ERR_SHAPE,
                         r->name);
            continue;
        }
        expect_kind(y, r->result[x->dtype], keepdim ? kept : rest);
        expect_fold(r, y, x, reduced, kept, keepdim);
    }
}

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

static heed_tensor *amax(heed_tensor *x, heed_dims dims, bool keepdim)
{
    return by_dim(heed_amax_dim, heed_amax, x, dims, keepdim);
}

static heed_tensor *amin(heed_tensor *x, heed_dims dims, bool keepdim)
{
    return by_dim(NULL, heed_amin, x, dims, keepdim);
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
    bool whole; /* has no form with a dim */
} extremes[] = {
    {{"amax", amax, largest_of, AS_IT_IS}, false},
    {{"amin", amin, smallest_of, AS_IT_IS}, true},
    {{"argmax", argmax, place_of_largest, PLACES}, false},
};
enum { EXTREMES = sizeof extremes / sizeof *extremes };

static void check_extremes(const struct extreme *row, heed_tensor *x)
{
    for (int dim = -1; dim < (row->whole ? 0 : x->ndim); dim++) {
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
            EXPECT(isnan(heed_item(heed_amax(y))), "NaN at %d of %d", place, n);
            EXPECT(isnan(heed_item(heed_amin(y))), "NaN at %d of %d", place, n);
            heed_scope_end(&scope);
        }
    }
}
END_TEST

START_TEST(extremes_of_special_values)
{
    heed_tensor *infinite = heed_from_f64((double[]){-INF, -INF, INF, -INF}, HEED_SHAPE(2, 2));
    EXPECT_VALUES(heed_amax_dim(infinite, 0, false), 0, INF, -INF);
    EXPECT_VALUES(heed_argmax_dim(infinite, 1, false), 0, 0, 0);
    const int64_t ends[] = {INT64_MIN, INT64_MIN, INT64_MAX, INT64_MAX - 1};
    heed_tensor *whole = heed_from_i64(ends, HEED_SHAPE(4));
    ck_assert_int_eq(heed_item_i64(heed_amax(whole)), INT64_MAX);
    ck_assert_int_eq(heed_item_i64(heed_amin(whole)), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_amax(heed_slice(whole, 0, 0, 2, 1))), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_argmax(whole)), 2);
    heed_tensor *none = heed_zeros(HEED_SHAPE(0, 2), HEED_F32);
    expect_kind(heed_amax_dim(none, 1, false), HEED_F32, HEED_SHAPE(0));
    expect_kind(heed_argmax_dim(none, -1, false), HEED_I64, HEED_SHAPE(0));
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
}
