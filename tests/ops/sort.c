/* sort and topk beyond their rows: compared with a plain insertion sort; large integers, long
 * lines, the second result. */
#include <math.h>
#include <stdlib.h>

#include "tests/common/reference.h"

/* Does a come after b in ascending order? */
static bool is_larger(double a, double b)
{
    return isnan(a) ? !isnan(b) : a > b;
}

/* The stable order of n values, as indices. */
static void insertion_sort(const double *values, int64_t n, bool descending, int64_t *places)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i;
        for (; at > 0; at--) {
            const double before = values[places[at - 1]];
            if (descending ? !is_larger(values[i], before) : !is_larger(before, values[i])) {
                break;
            }
            places[at] = places[at - 1];
        }
        places[at] = i;
    }
}

/* Expects that `places` is the order of x along dim and `values` the elements there; both may have
 * fewer along dim, as topk's. */
static void expect_order(heed_tensor *x, int dim, bool descending, const heed_tensor *places,
                         const heed_tensor *values)
{
    double line[1000];
    int64_t order[1000];
    const heed_shape shape = heed_shape_of_tensor(x);
    heed_shape firsts = shape;
    firsts.size[dim] = 1;
    for (heed_shape at = first_index(firsts); at.ndim >= 0; next_index(firsts, &at)) {
        for (int64_t i = 0; i < shape.size[dim]; i++) {
            at.size[dim] = i;
            line[i] = element(x, at);
        }
        insertion_sort(line, shape.size[dim], descending, order);
        for (int64_t i = 0; i < places->shape[dim]; i++) {
            at.size[dim] = i;
            EXPECT(element(places, at) == (double)order[i], "place %g, not %lld, in %s",
                   element(places, at), (long long)order[i], heed_dtype_name(x->dtype));
            expect_element("sort", element(values, at), line[order[i]], 0, x->dtype);
        }
        at.size[dim] = 0;
    }
}

/* Few distinct values, so that many are equal; floats include zeros of both signs, infinities and
 * NaN. */
static heed_tensor *with_ties(heed_shape shape, heed_dtype dtype, enum layout layout, uint64_t seed)
{
    static const double odd[] = {(double)NAN, (double)INFINITY, -HUGE_VAL, -0.0, 0.0, 0x1p-1074};
    double *values = calloc((size_t)count_of(shape) + 1, sizeof *values);
    for (int64_t i = 0; i < count_of(shape); i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const int64_t drawn = (int64_t)(seed >> 40) % 12;
        values[i] = drawn < 6 && dtype <= HEED_F64 ? odd[drawn] : (double)(drawn - 8);
    }
    heed_tensor *x = lay_out(values, shape, dtype, layout);
    free(values);
    return x;
}

static void check_sort(heed_tensor *x, int dim, bool descending)
{
    const heed_shape shape = heed_shape_of_tensor(x);
    heed_tensor *places, *sorted = heed_sort(x, dim - shape.ndim, descending, &places);
    expect_kind(sorted, x->dtype, shape);
    expect_kind(places, HEED_I64, shape);
    expect_order(x, dim, descending, places, sorted);
    const int64_t n = shape.size[dim], counts[] = {0, n / 2, n};
    for (int i = 0; i < 3; i++) {
        heed_shape cut = shape;
        cut.size[dim] = counts[i];
        heed_tensor *first, *values = heed_topk(x, counts[i], dim, descending, &first);
        expect_kind(values, x->dtype, cut);
        expect_kind(first, HEED_I64, cut);
        expect_order(x, dim, descending, first, values);
    }
}

/* clang-format off */
static const heed_shape shapes[] = {
    {1, {1}}, {1, {2}}, {1, {7}}, {1, {8}}, {1, {300}}, {3, {2, 5, 3}}, {2, {33, 2}},
};
/* clang-format on */
enum { SHAPES = sizeof shapes / sizeof *shapes };

START_TEST(everything_is_put_in_order)
{
    for (int variant = 0; variant < LAYOUTS * HEED_DTYPES * 2; variant++) {
        const enum layout layout = variant % LAYOUTS;
        const heed_dtype dtype = (heed_dtype)(variant / LAYOUTS % HEED_DTYPES);
        const bool descending = variant >= LAYOUTS * HEED_DTYPES;
        for (int dim = 0; dim < shapes[_i].ndim; dim++) {
            heed_scope scope;
            heed_scope_begin(&scope);
            check_sort(noise(shapes[_i], dtype, layout, 1), dim, descending);
            check_sort(with_ties(shapes[_i], dtype, layout, 2), dim, descending);
            heed_scope_end(&scope);
        }
    }
}
END_TEST

static heed_tensor *places_of(heed_tensor *x, bool descending)
{
    heed_tensor *places;
    heed_sort(x, 0, descending, &places);
    return places;
}

START_TEST(large_integers_are_told_apart)
{
    const int64_t values[] = {INT64_MAX, INT64_MIN, INT64_MAX - 1, -1, 0, INT64_MIN + 1};
    heed_tensor *x = heed_from_i64(values, HEED_SHAPE(6)), *places;
    const int64_t *sorted = heed_const_data_i64(heed_sort(x, 0, false, &places));
    EXPECT_VALUES(places, 0, 1, 5, 3, 4, 2, 0);
    static const int order[] = {1, 5, 3, 4, 2, 0};
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(sorted[i], values[order[i]]);
    }
    EXPECT_VALUES(places_of(x, true), 0, 0, 2, 4, 3, 5, 1);
}
END_TEST

/* Long lines, in order, reversed or all equal, take n log n. */
START_TEST(no_line_takes_long)
{
    enum { N = 300000 };
    heed_tensor *up = heed_arange(0, N, 1, HEED_F64), *down = heed_flip(up, HEED_DIMS(0));
    ck_assert(heed_equal(heed_sort(up, 0, false, NULL), up));
    ck_assert(heed_equal(heed_sort(down, 0, false, NULL), up));
    ck_assert(heed_equal(heed_sort(up, 0, true, NULL), down));
    heed_tensor *places = places_of(heed_ones(HEED_SHAPE(N), HEED_F32), true);
    ck_assert(heed_equal(places, heed_arange(0, N, 1, HEED_I64)));
}
END_TEST

START_TEST(both_results_are_of_the_callers_scope)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(5, 3), HEED_F32), *places;
    const int64_t tensors = heed_live_tensors();
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *values = heed_topk(x, 2, 0, true, &places);
    ck_assert_int_eq(heed_live_tensors(), tensors + 2);
    ck_assert_int_eq(values->scope_depth, places->scope_depth);
    ck_assert_int_eq(places->storage->bytes, 6 * sizeof(int64_t)); /* of 2 rows, not of 5 */
    heed_scope_end(&scope);
    ck_assert_int_eq(heed_live_tensors(), tensors);
}
END_TEST

START_TEST(indices_are_null_on_error)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_F32), *places = x;
    ck_assert_ptr_null(heed_sort(x, 2, false, &places));
    ck_assert_ptr_null(places);
    places = x;
    ck_assert_ptr_null(heed_topk(x, 1, 1, false, &places)); /* the first error is pending */
    ck_assert_ptr_null(places);
    expect_error(HEED_ERR_DIM, "sort: dim 2");
    places = x;
    ck_assert_ptr_null(heed_topk(x, 4, 1, false, &places));
    ck_assert_ptr_null(places);
    expect_error(HEED_ERR_VALUE, "topk: k is 4");
}
END_TEST

void add_sort_cases(Suite *suite)
{
    TCase *sort = heed_case(suite, "sort");
    tcase_add_loop_test(sort, everything_is_put_in_order, 0, SHAPES);
    tcase_add_test(sort, large_integers_are_told_apart);
    tcase_add_test(sort, no_line_takes_long);
    tcase_add_test(sort, both_results_are_of_the_callers_scope);
    tcase_add_test(sort, indices_are_null_on_error);
}
