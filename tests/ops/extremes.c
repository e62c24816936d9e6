/* The largest and smallest elements and their indices over every choice of dims, with ties and NaN.
 * Literal numbers are PyTorch's. */
#include <math.h>

#include "tests/common/ops_cases.h"
#include "tests/common/reductions.h"

#define NaN ((double)NAN)
#define INF ((double)INFINITY)

/* ---- compared with plain loops ---- */

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

static heed_tensor *max_value(heed_tensor *x, int dim, bool keepdim)
{
    return heed_max_dim(x, dim, keepdim, NULL);
}

static heed_tensor *max(heed_tensor *x, heed_dims dims, bool keepdim)
{
    return by_dim(max_value, heed_max, x, dims, keepdim);
}

static heed_tensor *max_place(heed_tensor *x, int dim, bool keepdim)
{
    heed_tensor *places = x; /* must be overwritten, also on error */
    heed_max_dim(x, dim, keepdim, &places);
    return places;
}

static heed_tensor *min_value(heed_tensor *x, int dim, bool keepdim)
{
    return heed_min_dim(x, dim, keepdim, NULL);
}

static heed_tensor *min(heed_tensor *x, heed_dims dims, bool keepdim)
{
    return by_dim(min_value, heed_min, x, dims, keepdim);
}

static heed_tensor *min_place(heed_tensor *x, int dim, bool keepdim)
{
    heed_tensor *places = x;
    heed_min_dim(x, dim, keepdim, &places);
    return places;
}

static heed_tensor *max_places(heed_tensor *x, heed_dims dims, bool keepdim)
{
    return max_place(x, dims.dim[0], keepdim);
}

static heed_tensor *min_places(heed_tensor *x, heed_dims dims, bool keepdim)
{
    return min_place(x, dims.dim[0], keepdim);
}

#define AS_IT_IS                                                                                   \
    {                                                                                              \
        HEED_F32, HEED_F64, HEED_I64, HEED_BOOL                                                    \
    }
#define PLACES                                                                                     \
    {                                                                                              \
        HEED_I64, HEED_I64, HEED_I64, HEED_DTYPES                                                  \
    }
#define INDICES                                                                                    \
    {                                                                                              \
        HEED_I64, HEED_I64, HEED_I64, HEED_I64                                                     \
    }
static const struct row {
    reduction r;
    enum { ANY_DIMS, ONE_OR_ALL, ONE } dims;
} rows[] = {
    {{"amax", heed_amax_dims, largest_of, AS_IT_IS, true, 0, {0, 0}}, ANY_DIMS},
    {{"amin", heed_amin_dims, smallest_of, AS_IT_IS, true, 0, {0, 0}}, ANY_DIMS},
    {{"max", max, largest_of, AS_IT_IS, true, 0, {0, 0}}, ONE_OR_ALL},
    {{"min", min, smallest_of, AS_IT_IS, true, 0, {0, 0}}, ONE_OR_ALL},
    {{"argmax", argmax, place_of_largest, PLACES, true, 0, {0, 0}}, ONE_OR_ALL},
    {{"argmin", argmin, place_of_smallest, PLACES, true, 0, {0, 0}}, ONE_OR_ALL},
    {{"max", max_places, place_of_largest, INDICES, true, 0, {0, 0}}, ONE},
    {{"min", min_places, place_of_smallest, INDICES, true, 0, {0, 0}}, ONE},
};
enum { ROWS_ = sizeof rows / sizeof *rows };

static void check_extremes(const struct row *row, heed_tensor *x)
{
    if (row->dims == ANY_DIMS) {
        check_all_reductions(&row->r, x);
        return;
    }
    for (int dim = row->dims == ONE ? 0 : -1; dim < x->ndim; dim++) {
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
                check_extremes(&rows[_i], noise(shape, dtype, layout, 11));
                check_extremes(&rows[_i], alike(shape, dtype, layout, false));
                if (is_float) {
                    check_extremes(&rows[_i], alike(shape, dtype, layout, true));
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
    heed_tensor *none = heed_zeros(HEED_SHAPE(0, 2), HEED_F32), *places;
    expect_kind(heed_amax_dim(none, 1, false), HEED_F32, HEED_SHAPE(0));
    expect_kind(heed_max_dim(none, 1, true, &places), HEED_F32, HEED_SHAPE(0, 1));
    expect_kind(places, HEED_I64, HEED_SHAPE(0, 1));
    expect_kind(heed_argmin_dim(none, -1, false), HEED_I64, HEED_SHAPE(0));
    heed_tensor *scalar = heed_scalar(4, HEED_I64);
    expect_kind(heed_min_dim(scalar, -1, true, &places), HEED_I64, HEED_SCALAR);
    ck_assert_int_eq(heed_item_i64(places), 0);
    ck_assert_int_eq(heed_item_i64(heed_argmax_dim(scalar, 0, false)), 0);
}
END_TEST

/* ---- gradients, as in PyTorch ---- */

static heed_tensor *max_first(heed_tensor *x)
{
    return heed_max_dim(x, 0, false, NULL);
}

static heed_tensor *min_first(heed_tensor *x)
{
    return heed_min_dim(x, 0, true, NULL);
}

static const struct gradient {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *x);
    double x[3], dx[3];
} gradients[] = {
    {"amax", heed_amax, {1, 3, 3}, {0, .5, .5}},
    {"amax of NaN", heed_amax, {1, NaN, 3}, {NaN, NaN, NaN}},
    {"amax of infinities", heed_amax, {INF, INF, 3}, {.5, .5, 0}},
    {"amin", heed_amin, {INF, -INF, 3}, {0, 1, 0}},
    {"max", heed_max, {1, 3, 3}, {0, .5, .5}},
    {"max of NaN", heed_max, {1, NaN, 3}, {0, 1, 0}},
    {"max of several NaN", heed_max, {NaN, NaN, 3}, {.5, .5, 0}},
    {"min of several NaN", heed_min, {NaN, NaN, 3}, {.5, .5, 0}},
    {"min", heed_min, {1, 1, 1}, {1. / 3, 1. / 3, 1. / 3}},
    {"max_dim", max_first, {1, 3, 3}, {0, 1, 0}},
    {"max_dim of NaN", max_first, {1, NaN, NaN}, {0, 1, 0}},
    {"min_dim", min_first, {2, 2, 5}, {1, 0, 0}},
};
enum { GRADIENTS = sizeof gradients / sizeof *gradients };

START_TEST(gradients_of_ties_and_nan)
{
    const struct gradient *row = &gradients[_i];
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

START_TEST(max_of_a_dim_leaves_two_tensors)
{
    heed_tensor *x = heed_from_f32((float[]){1, 5, 2, 7, 0, 7}, HEED_SHAPE(2, 3)), *places;
    heed_set_requires_grad(x, true);
    const int64_t before = heed_live_tensors();
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *y = heed_max_dim(x, 1, false, &places);
    EXPECT_VALUES(y, 0, 5, 7);
    EXPECT_VALUES(places, 0, 1, 0);
    ck_assert(y->requires_grad && !places->requires_grad);
    heed_backward(heed_sum(heed_mul(y, y)));
    EXPECT_VALUES(x->grad, 0, 0, 10, 0, 14, 0, 0);
    heed_scope_end(&scope);
    ck_assert_int_eq(heed_live_tensors(), before + 1); /* the gradient */
    places = x;
    ck_assert_ptr_null(heed_max_dim(x, 2, false, &places));
    ck_assert_ptr_null(places);
    expect_error(HEED_ERR_DIM, "max: dim 2");
}
END_TEST

START_TEST(median_gives_contiguous_indices)
{
    const int64_t numbers[] = {3, 1, 2, 4, 6, 5};
    heed_tensor *places = NULL;
    heed_tensor *x = heed_to(heed_from_i64(numbers, HEED_SHAPE(2, 3)), (heed_dtype)_i);
    EXPECT_VALUES(heed_median_dim(x, 1, false, &places), 0, 2, 5);
    const int64_t *place = heed_const_data_i64(places);
    expect_no_error();
    ck_assert(place[0] == 2 && place[1] == 2);
}
END_TEST

void add_extremes_cases(Suite *suite)
{
    TCase *extremes = heed_case(suite, "extremes");
    tcase_add_loop_test(extremes, extremes_over_all_choices_of_dims, 0, ROWS_);
    tcase_add_test(extremes, extremes_in_every_place);
    tcase_add_test(extremes, extremes_of_special_values);
    tcase_add_loop_test(extremes, gradients_of_ties_and_nan, 0, GRADIENTS);
    tcase_add_test(extremes, max_of_a_dim_leaves_two_tensors);
    tcase_add_loop_test(extremes, median_gives_contiguous_indices, HEED_F32, HEED_BOOL);
}
