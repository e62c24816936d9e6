/* Sums, means, amax, amin and argmax beyond their rows: several dims, exactness of long sums, lines
 * of every length, extreme i64 values. */
#include <math.h>

#include "autograd/autograd.h"
#include "tests/common/reference.h"

/* Integers, whose sums are exact. */
START_TEST(sums_over_all_choices_of_dims)
{
    const heed_shape shape = {5, {2, 3, 1, 40, 2}};
    for (int variant = 0; variant < 32 * LAYOUTS; variant++) {
        const unsigned set = (unsigned)variant / LAYOUTS;
        heed_tensor *x = whole_noise(shape, HEED_F32, (enum layout)(variant % LAYOUTS), 7);
        heed_shape kept = shape;
        heed_dims dims = {0, {0}};
        double goals[480] = {0}, count = set == 0 ? 480 : 1;
        for (int i = 0; i < shape.ndim; i++) {
            if (set >> i & 1) {
                dims.dim[dims.count++] = i % 2 ? i : i - shape.ndim;
                count *= (double)shape.size[i];
            }
            kept.size[i] = set == 0 || set >> i & 1 ? 1 : shape.size[i]; /* no dims means all */
        }
        for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
            heed_shape to = at;
            for (int i = 0; i < shape.ndim; i++) {
                to.size[i] = kept.size[i] == 1 ? 0 : at.size[i];
            }
            goals[rank(kept, to)] += element(x, at);
        }
        heed_tensor *sums = heed_sum_dims(x, dims, true), *means = heed_mean_dims(x, dims, true);
        expect_kind(sums, HEED_F32, kept);
        for (heed_shape at = first_index(kept); at.ndim >= 0; next_index(kept, &at)) {
            const double goal = goals[rank(kept, at)];
            expect_element("sum", element(sums, at), goal, 0, HEED_F32);
            expect_element("mean", element(means, at), goal / count, 1, HEED_F32);
        }
        heed_tensor *dropped = heed_sum_dims(x, dims, false);
        ck_assert_int_eq(dropped->ndim, set == 0 ? 0 : shape.ndim - dims.count);
        ck_assert(heed_equal(heed_reshape(dropped, kept), sums));
    }
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

/* ---- amax, amin, argmax ---- */

/* Lines of every length around vector sizes, with the extreme, or NaN, at each index. */
START_TEST(extremes_in_every_place)
{
    for (int n = 1; n < 80; n++) {
        for (int place = 0; place < n; place++) {
            heed_scope scope;
            heed_scope_begin(&scope);
            heed_tensor *x = heed_full(HEED_SHAPE(n), -HUGE_VAL, HEED_F32);
            heed_tensor *y = heed_zeros(HEED_SHAPE(n), HEED_F64);
            heed_data_f32(x)[place] = -1e30f;
            heed_data_f64(y)[place] = (double)NAN;
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

/* Lines and columns that many vectors and threads share. */
START_TEST(extremes_of_long_lines_and_columns)
{
    heed_tensor *x = noise(HEED_SHAPE(300, 601), (heed_dtype)(_i / LAYOUTS), _i % LAYOUTS, 11);
    for (int dim = 0; dim < 2; dim++) {
        heed_tensor *most = heed_amax_dim(x, dim, false), *places = heed_argmax_dim(x, dim, false);
        for (int64_t i = 0; i < most->numel; i++) {
            int64_t place = 0;
            for (int64_t j = 0; j < x->shape[dim]; j++) {
                place = element(x, dim == 0 ? HEED_INDEX(j, i) : HEED_INDEX(i, j)) >
                                element(x, dim == 0 ? HEED_INDEX(place, i) : HEED_INDEX(i, place))
                            ? j
                            : place;
            }
            const heed_shape at = dim == 0 ? HEED_INDEX(place, i) : HEED_INDEX(i, place);
            ck_assert_int_eq((int64_t)element(places, HEED_INDEX(i)), place);
            ck_assert_double_eq(element(most, HEED_INDEX(i)), element(x, at));
        }
    }
    const double least = heed_item(heed_amin(x));
    ck_assert_double_eq(least, heed_item(heed_neg(heed_amax(heed_neg(x)))));
}
END_TEST

START_TEST(extremes_of_large_integers)
{
    const int64_t ends[] = {INT64_MIN, INT64_MIN, INT64_MAX, INT64_MAX - 1};
    heed_tensor *whole = heed_from_i64(ends, HEED_SHAPE(4));
    ck_assert_int_eq(heed_item_i64(heed_amax(whole)), INT64_MAX);
    ck_assert_int_eq(heed_item_i64(heed_amin(whole)), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_amax(heed_slice(whole, 0, 0, 2, 1))), INT64_MIN);
    ck_assert_int_eq(heed_item_i64(heed_argmax(whole)), 2);
}
END_TEST

void add_reductions_cases(Suite *suite)
{
    TCase *reduce = heed_case(suite, "reduce");
    tcase_add_test(reduce, sums_over_all_choices_of_dims);
    tcase_add_loop_test(reduce, large_sums_are_exact, 0, LAYOUTS);
    tcase_add_loop_test(reduce, sums_that_cancel_are_as_exact_as_in_double, 0, 14);
    tcase_add_test(reduce, whole_sums_are_exact_and_wrap);
    tcase_add_test(reduce, extremes_in_every_place);
    tcase_add_loop_test(reduce, extremes_of_long_lines_and_columns, 0, HEED_BOOL * LAYOUTS);
    tcase_add_test(reduce, extremes_of_large_integers);
}
