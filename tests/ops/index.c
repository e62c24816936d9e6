/* index_select, gather and scatter_add compared with plain loops, and with PyTorch in
 * special cases. */
#include <math.h>

#include "tests/common/reference.h"

/* ---- shared helpers ---- */

/* clang-format off */
static const heed_shape shapes[] = {
    {0, {0}}, {1, {1}}, {1, {5}}, {1, {600}}, {2, {3, 4}}, {2, {1, 7}}, {2, {6, 1}}, {2, {3, 500}},
    {3, {2, 3, 4}}, {3, {3, 0, 2}}, {3, {2, 1, 3}}, {4, {3, 1, 2, 5}}, {5, {2, 2, 2, 2, 3}},
};
/* clang-format on */
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* An index of this shape into `size` elements, in that layout. */
static heed_tensor *some_index(heed_shape shape, int64_t size, enum layout layout, uint64_t seed)
{
    static double values[20000];
    const int64_t count = count_of(shape);
    ck_assert_int_le(count, 20000);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        values[i] = (double)((int64_t)(seed >> 33) % size);
    }
    return lay_out(values, shape, HEED_I64, layout);
}

/* Adds in that dtype, rounding to it. */
static double add_in(heed_dtype dtype, double a, double b)
{
    switch (dtype) {
    case HEED_F32:
        return (double)(float)(a + b);
    case HEED_BOOL:
        return a != 0 || b != 0;
    default:
        return a + b;
    }
}

static void read_elements(const heed_tensor *t, heed_shape shape, double *values)
{
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        *values++ = element(t, at);
    }
}

static void expect_elements(const char *what, const heed_tensor *y, heed_shape shape,
                            const double *goals)
{
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        expect_element(what, element(y, at), *goals++, 0, y->dtype);
    }
}

/* ---- index_select ---- */

static void check_select(heed_tensor *x, int dim, heed_tensor *index)
{
    const int wrapped = dim < 0 ? dim + x->ndim : dim;
    heed_shape shape = heed_shape_of_tensor(x);
    if (x->ndim > 0) {
        shape.size[wrapped] = index->numel;
    }
    heed_tensor *y = heed_index_select(x, dim, index);
    expect_kind(y, x->dtype, shape);
    ck_assert(heed_is_contiguous(y) && y->storage != x->storage);
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        heed_shape from = at;
        if (x->ndim > 0) {
            from.size[wrapped] = (int64_t)element(index, HEED_SHAPE(at.size[wrapped]));
        }
        expect_element("index_select", element(y, at), element(x, from), 0, x->dtype);
    }
}

START_TEST(rows_are_looked_up)
{
    const heed_shape shape = shapes[_i];
    const int dims = shape.ndim > 0 ? shape.ndim : 1;
    for (int variant = 0; variant < LAYOUTS * HEED_DTYPES * 3; variant++) {
        const enum layout layout = variant % LAYOUTS;
        const heed_dtype dtype = (heed_dtype)(variant / LAYOUTS % HEED_DTYPES);
        const int64_t count = (int64_t[]){0, 1, 9}[variant / LAYOUTS / HEED_DTYPES];
        for (int dim = -dims; dim < dims; dim++) {
            heed_scope scope;
            heed_scope_begin(&scope);
            const int64_t size = shape.ndim > 0 ? shape.size[(dim + dims) % dims] : 1;
            const bool fits = shape.ndim > 0 ? size > 0 || count == 0 : count == 1;
            if (fits) {
                heed_tensor *x = noise(shape, dtype, layout, 1);
                heed_tensor *index =
                    some_index(HEED_SHAPE(count), size, (layout + 1) % LAYOUTS, 2 + (uint64_t)dim);
                check_select(x, dim, index);
            }
            heed_scope_end(&scope);
        }
    }
}
END_TEST

START_TEST(rows_as_in_torch)
{
    heed_tensor *x = heed_from_f32((float[]){0, 1, 2, 3, 4, 5}, HEED_SHAPE(2, 3));
    heed_tensor *five = heed_scalar(5, HEED_F32), *zero = heed_scalar(0, HEED_I64);
    heed_tensor *y = heed_index_select(x, 1, heed_scalar(2, HEED_I64));
    expect_kind(y, HEED_F32, HEED_SHAPE(2, 1));
    EXPECT_VALUES(y, 0, 2, 5);
    expect_kind(heed_index_select(five, 0, heed_zeros(HEED_SHAPE(1), HEED_I64)), HEED_F32,
                HEED_SCALAR);
    expect_kind(heed_index_select(five, -1, zero), HEED_F32, HEED_SCALAR);
    expect_kind(heed_index_select(x, 0, heed_zeros(HEED_SHAPE(0), HEED_I64)), HEED_F32,
                HEED_SHAPE(0, 3));
}
END_TEST

START_TEST(sums_come_in_the_order_of_the_index)
{
    /* In f32 these sums depend on the order; index 1 gets the same numbers in reverse. */
    heed_tensor *index = heed_from_i64((int64_t[]){0, 1, 0, 1, 0, 1}, HEED_SHAPE(6));
    heed_tensor *source = heed_from_f32((float[]){1e8f, 1, -1e8f, -1e8f, 1, 1e8f}, HEED_SHAPE(6));
    heed_tensor *zeros = heed_zeros(HEED_SHAPE(2), HEED_F32);
    EXPECT_VALUES(heed_scatter_add(zeros, 0, index, source), 0, 1, 0);
}
END_TEST

/* ---- gather, scatter_add ---- */

static heed_shape named_place(heed_shape at, int dim, const heed_tensor *index)
{
    heed_shape place = at;
    place.size[dim] = (int64_t)element(index, at);
    return place;
}

static void check_gather(heed_tensor *x, int dim, heed_tensor *index)
{
    const heed_shape shape = heed_shape_of_tensor(index);
    const int wrapped = dim < 0 ? dim + x->ndim : dim;
    heed_tensor *y = heed_gather(x, dim, index);
    expect_kind(y, x->dtype, shape);
    ck_assert(heed_is_contiguous(y));
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        const double goal = element(x, named_place(at, wrapped, index));
        expect_element("gather", element(y, at), goal, 0, x->dtype);
    }
}

static void check_scatter_add(heed_tensor *x, int dim, heed_tensor *index, enum layout layout)
{
    static double goals[20000];
    const heed_shape whole = heed_shape_of_tensor(x), shape = heed_shape_of_tensor(index);
    const int wrapped = dim < 0 ? dim + x->ndim : dim;
    heed_tensor *src = noise(shape, x->dtype, layout, 23);
    read_elements(x, whole, goals);
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        const int64_t place = rank(whole, named_place(at, wrapped, index));
        goals[place] = add_in(x->dtype, goals[place], element(src, at));
    }
    heed_tensor *y = heed_scatter_add(x, dim, index, src);
    expect_kind(y, x->dtype, whole);
    expect_elements("scatter_add", y, whole, goals);
}

/* The index is as large as x, shorter or longer along dim, or smaller in other dims. */
static heed_shape index_shape(heed_shape shape, int dim, int variant)
{
    const int64_t along[] = {shape.size[dim], 0, 1, 2 * shape.size[dim] + 1};
    for (int i = 0; i < shape.ndim; i++) {
        if (i == dim) {
            shape.size[i] = along[variant % 4];
        } else if (variant >= 4 && shape.size[i] > 0) {
            shape.size[i]--;
        }
    }
    return shape;
}

START_TEST(elements_are_looked_up_and_added)
{
    const heed_shape shape = shapes[_i];
    for (int variant = 0; variant < LAYOUTS * HEED_DTYPES * 8; variant++) {
        const enum layout layout = variant % LAYOUTS;
        const heed_dtype dtype = (heed_dtype)(variant / LAYOUTS % HEED_DTYPES);
        for (int dim = -shape.ndim; dim < shape.ndim; dim++) {
            heed_scope scope;
            heed_scope_begin(&scope);
            const int wrapped = (dim + shape.ndim) % shape.ndim;
            const heed_shape of_index =
                index_shape(shape, wrapped, variant / LAYOUTS / HEED_DTYPES);
            if (shape.size[wrapped] > 0 || count_of(of_index) == 0) {
                heed_tensor *x = noise(shape, dtype, layout, 3);
                heed_tensor *index = some_index(of_index, shape.size[wrapped],
                                                (layout + 3) % LAYOUTS, 4 + (uint64_t)dim);
                check_gather(x, dim, index);
                check_scatter_add(x, dim, index, (layout + 1) % LAYOUTS);
            }
            heed_scope_end(&scope);
        }
    }
}
END_TEST

START_TEST(elements_as_in_torch)
{
    heed_tensor *x = heed_from_f32((float[]){0, 1, 2, 3, 4, 5}, HEED_SHAPE(2, 3));
    heed_tensor *line = heed_index_select(x, 0, heed_scalar(0, HEED_I64));
    heed_tensor *five = heed_scalar(5, HEED_F32), *zero = heed_scalar(0, HEED_I64);
    heed_tensor *zeros = heed_zeros(HEED_SHAPE(2), HEED_I64);
    line = heed_reshape(line, HEED_SHAPE(3));
    EXPECT_VALUES(heed_gather(x, 1, heed_from_i64((int64_t[]){0, 0, 2, 1}, HEED_SHAPE(2, 2))), 0, 0,
                  0, 5, 4);
    EXPECT_VALUES(heed_gather(x, 0, heed_from_i64((int64_t[]){0, 1, 1}, HEED_SHAPE(1, 3))), 0, 0, 4,
                  5);
    /* a scalar acts as a tensor of one element */
    expect_kind(heed_gather(five, 0, zero), HEED_F32, HEED_SCALAR);
    expect_kind(heed_gather(five, -1, zeros), HEED_F32, HEED_SHAPE(2));
    EXPECT_VALUES(heed_gather(five, 0, zeros), 0, 5, 5);
    expect_kind(heed_gather(line, 0, heed_scalar(1, HEED_I64)), HEED_F32, HEED_SCALAR);
    EXPECT_VALUES(heed_gather(line, 0, heed_scalar(1, HEED_I64)), 0, 1);
    EXPECT_VALUES(heed_scatter_add(five, 0, zeros, heed_ones(HEED_SHAPE(2), HEED_F32)), 0, 7);
    EXPECT_VALUES(heed_scatter_add(line, 0, zero, five), 0, 5, 1, 2);
    /* an empty index matches any shape */
    expect_kind(heed_gather(x, 1, heed_zeros(HEED_SHAPE(5, 0), HEED_I64)), HEED_F32,
                HEED_SHAPE(5, 0));
    expect_kind(heed_gather(x, 1, heed_zeros(HEED_SHAPE(0), HEED_I64)), HEED_F32, HEED_SHAPE(0));
    expect_kind(heed_gather(x, 0, heed_zeros(HEED_SHAPE(1, 2, 0), HEED_I64)), HEED_F32,
                HEED_SHAPE(1, 2, 0));
}
END_TEST

/* ---- gradients ---- */

static heed_tensor *leaf_of_ones(heed_shape shape)
{
    return heed_set_requires_grad(heed_ones(shape, HEED_F32), true);
}

START_TEST(gradients_as_in_torch)
{
    heed_tensor *index = heed_from_i64((int64_t[]){2, 0, 2}, HEED_SHAPE(3));
    heed_tensor *weights = heed_from_f32((float[]){1, 2, 4}, HEED_SHAPE(3));
    heed_tensor *x = leaf_of_ones(HEED_SHAPE(3));
    heed_backward(heed_sum(heed_mul(heed_index_select(x, 0, index), weights)));
    EXPECT_VALUES(x->grad, 0, 2, 0, 5);
    heed_clear_grad(x);
    heed_backward(heed_sum(heed_mul(heed_gather(x, 0, index), weights)));
    EXPECT_VALUES(x->grad, 0, 2, 0, 5);
    heed_tensor *src = leaf_of_ones(HEED_SHAPE(3));
    heed_clear_grad(x);
    heed_backward(heed_sum(heed_mul(heed_scatter_add(x, 0, index, src), weights)));
    EXPECT_VALUES(x->grad, 0, 1, 2, 4);
    EXPECT_VALUES(src->grad, 0, 4, 1, 4);
    /* NaN upstream reaches only its own element */
    heed_clear_grad(x);
    heed_tensor *nan = heed_from_f32((float[]){NAN, 1, 1}, HEED_SHAPE(3));
    heed_backward(heed_sum(heed_mul(heed_gather(x, 0, index), nan)));
    EXPECT_VALUES(x->grad, 0, 1, 0, (double)NAN);
}
END_TEST

START_TEST(a_gradient_needs_the_index_and_nothing_else)
{
    heed_tensor *index = heed_zeros(HEED_SHAPE(2), HEED_I64);
    heed_tensor *x = leaf_of_ones(HEED_SHAPE(3)), *values = heed_mul_scalar(x, 2);
    heed_tensor *ys[] = {heed_index_select(values, 0, index), heed_gather(values, 0, index),
                         heed_scatter_add(values, 0, index, heed_slice(values, 0, 0, 2, 1))};
    heed_fill_into(values, 7); /* not read by any gradient */
    for (int i = 0; i < 3; i++) {
        heed_backward_retain(heed_sum(ys[i]));
        expect_no_error();
    }
    heed_fill_into(index, 1);
    for (int i = 0; i < 3; i++) {
        heed_backward(heed_sum(ys[i]));
        expect_error(HEED_ERR_VERSION, "was changed in place");
    }
}
END_TEST

void add_index_cases(Suite *suite)
{
    TCase *index = heed_case(suite, "index");
    tcase_add_loop_test(index, rows_are_looked_up, 0, SHAPES);
    tcase_add_test(index, rows_as_in_torch);
    tcase_add_test(index, sums_come_in_the_order_of_the_index);
    tcase_add_loop_test(index, elements_are_looked_up_and_added, 0, SHAPES);
    tcase_add_test(index, elements_as_in_torch);
    tcase_add_test(index, gradients_as_in_torch);
    tcase_add_test(index, a_gradient_needs_the_index_and_nothing_else);
}
