/* cat, stack, slice and its backward compared with plain loops, and other views. */
#include <math.h>

#include "tests/common/ops_cases.h"

/* ---- slice ---- */

/* The indices in Python's range(size)[start:end:step]; returns their number. */
static int64_t sliced_places(int64_t size, int64_t start, int64_t end, int64_t step,
                             int64_t *places)
{
    int64_t count = 0;
    start = start < 0 ? start + size : start;
    end = end < 0 ? end + size : end;
    for (int64_t i = 0; i < size; i++) {
        int64_t from = start < 0 ? 0 : start;
        if (i >= from && i < end && (i - from) % step == 0) {
            places[count++] = i;
        }
    }
    return count;
}

static void check_slice(heed_tensor *x, int dim, int64_t start, int64_t end, int64_t step)
{
    int64_t places[16];
    heed_shape whole = heed_shape_of_tensor(x), part = whole;
    part.size[dim] = sliced_places(whole.size[dim], start, end, step, places);
    heed_tensor *y = heed_slice(x, dim - whole.ndim, start, end, step);
    expect_kind(y, x->dtype, part);
    EXPECT(y->storage == x->storage, "slice is not a view");
    for (heed_shape at = first_index(part); at.ndim >= 0; next_index(part, &at)) {
        heed_shape from = at;
        from.size[dim] = places[at.size[dim]];
        expect_element("slice", element(y, at), element(x, from), 0, x->dtype);
    }
    heed_tensor *back = heed_slice_backward(y, whole, dim, start, end, step);
    expect_kind(back, x->dtype, whole);
    for (heed_shape at = first_index(whole); at.ndim >= 0; next_index(whole, &at)) {
        bool taken = false;
        for (int64_t i = 0; i < part.size[dim]; i++) {
            taken = taken || places[i] == at.size[dim];
        }
        double goal = taken ? element(x, at) : 0;
        expect_element("slice_backward", element(back, at), goal, 0, x->dtype);
    }
}

START_TEST(slice_takes_what_python_takes)
{
    const heed_shape shape = HEED_SHAPE(2, 7, 3);
    for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
        heed_tensor *x = noise(shape, dtype, (enum layout)_i, 1);
        for (int64_t start = -9; start <= 9; start++) {
            for (int64_t end = -9; end <= 9; end++) {
                check_slice(x, 1, start, end, 1 + (start + end + 18) % 4);
            }
            check_slice(x, 2, start, INT64_MAX, 2);
            check_slice(x, 0, INT64_MIN, start, INT64_MAX);
        }
    }
}
END_TEST

START_TEST(slice_of_slice)
{
    heed_tensor *x = heed_arange(0, 60, 1, HEED_I64);
    heed_tensor *y = heed_slice(heed_slice(x, 0, 3, 50, 4), 0, 1, -1, 3);
    EXPECT_VALUES(y, 0, 7, 19, 31, 43);
    heed_tensor *z =
        heed_slice(heed_transpose(heed_reshape(x, HEED_SHAPE(6, 10)), 0, 1), 0, 2, 9, 5);
    EXPECT_VALUES(z, 0, 2, 12, 22, 32, 42, 52, 7, 17, 27, 37, 47, 57);
    expect_kind(heed_slice(y, 0, 2, 2, 1), HEED_I64, HEED_SHAPE(0));
    ck_assert_ptr_null(heed_slice(x, 0, 0, 1, 0));
    expect_error(HEED_ERR_VALUE, "slice: step is 0");
    ck_assert_ptr_null(heed_slice(heed_scalar(1, HEED_F32), 0, 0, 1, 1));
    expect_error(HEED_ERR_DIM, "slice");
    ck_assert_ptr_null(heed_slice_backward(y, HEED_SHAPE(9), 0, 0, 5, 1));
    expect_error(HEED_ERR_SHAPE, "slice_backward: g (4) does not have the slice's shape (5)");
}
END_TEST

/* ---- cat ---- */

/* clang-format off */
static const struct parts {
    int dim, count;
    heed_shape parts[3], y;
} joins[] = {
    {0, 1, {{1, {3}}}, {1, {3}}},
    {0, 3, {{1, {3}}, {1, {0}}, {1, {2}}}, {1, {5}}},
    {-1, 2, {{2, {2, 3}}, {2, {2, 1}}}, {2, {2, 4}}},
    {0, 3, {{2, {2, 3}}, {2, {1, 3}}, {2, {0, 3}}}, {2, {3, 3}}},
    {1, 3, {{3, {2, 1, 5}}, {3, {2, 70, 5}}, {3, {2, 3, 5}}}, {3, {2, 74, 5}}},
    {-3, 2, {{3, {2, 3, 4}}, {3, {1, 3, 4}}}, {3, {3, 3, 4}}},
    {1, 2, {{2, {0, 3}}, {2, {0, 2}}}, {2, {0, 5}}},
    {3, 2, {{4, {2, 3, 1, 2}}, {4, {2, 3, 1, 300}}}, {4, {2, 3, 1, 302}}},
    {1, 3, {{1, {0}}, {2, {2, 3}}, {2, {2, 1}}}, {2, {2, 4}}}, /* empty (0) parts are skipped */
    {-2, 3, {{3, {2, 3, 4}}, {1, {0}}, {3, {2, 1, 4}}}, {3, {2, 4, 4}}},
    {0, 2, {{1, {0}}, {1, {0}}}, {1, {0}}},
    {7, 2, {{8, {1, 2, 1, 2, 1, 2, 1, 2}}, {8, {1, 2, 1, 2, 1, 2, 1, 1}}}, {8, {1, 2, 1, 2, 1, 2, 1, 3}}},
};
/* clang-format on */
enum { JOINS = sizeof joins / sizeof *joins };

static void check_cat(const struct parts *join, const heed_dtype *dtypes, enum layout layout)
{
    heed_tensor *parts[3];
    heed_dtype expected = dtypes[0]; /* the smallest: f32, f64, i64, bool in this order */
    for (int i = 0; i < join->count; i++) {
        parts[i] = noise(join->parts[i], dtypes[i], (layout + (enum layout)i) % LAYOUTS, 2);
        expected = dtypes[i] < expected ? dtypes[i] : expected;
    }
    heed_tensor *y = heed_cat(parts, join->count, join->dim);
    expect_kind(y, expected, join->y);
    const int dim = join->dim < 0 ? join->dim + join->y.ndim : join->dim;
    for (heed_shape at = first_index(join->y); at.ndim >= 0; next_index(join->y, &at)) {
        heed_shape from = at;
        int part = 0;
        for (;; part++) {
            const int64_t size = parts[part]->numel > 0 ? parts[part]->shape[dim] : 0;
            if (from.size[dim] < size) {
                break;
            }
            from.size[dim] -= size;
        }
        expect_element("cat", element(y, at), element(parts[part], from), 0, expected);
    }
}

START_TEST(cat_joins)
{
    static const heed_dtype dtypes[][3] = {
        {HEED_F32, HEED_F32, HEED_F32},  {HEED_F64, HEED_F64, HEED_F64},
        {HEED_I64, HEED_I64, HEED_I64},  {HEED_BOOL, HEED_BOOL, HEED_BOOL},
        {HEED_I64, HEED_F32, HEED_BOOL}, {HEED_BOOL, HEED_F64, HEED_I64},
        {HEED_BOOL, HEED_I64, HEED_BOOL}};
    for (int i = 0; i < 7; i++) {
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            check_cat(&joins[_i], dtypes[i], layout);
        }
    }
}
END_TEST

START_TEST(cat_of_many_and_of_one_twice)
{
    heed_tensor *parts[300];
    for (int i = 0; i < 300; i++) {
        parts[i] = heed_full(HEED_SHAPE(1), i, HEED_F32);
    }
    ck_assert(heed_equal(heed_cat(parts, 300, 0), heed_arange(0, 300, 1, HEED_F32)));
    parts[0] = parts[1] =
        heed_transpose(heed_reshape(heed_arange(0, 4, 1, HEED_I64), HEED_SHAPE(2, 2)), 0, 1);
    EXPECT_VALUES(heed_cat(parts, 2, 1), 0, 0, 2, 0, 2, 1, 3, 1, 3);
}
END_TEST

START_TEST(cat_refuses)
{
    heed_tensor *a = heed_ones(HEED_SHAPE(2, 3), HEED_F32),
                *b = heed_ones(HEED_SHAPE(3, 3), HEED_F32);
    heed_tensor *c = heed_ones(HEED_SHAPE(2, 3), HEED_F64), *d = heed_scalar(1, HEED_F32);
    ck_assert_ptr_null(heed_cat((heed_tensor *[]){a, b}, 2, 1));
    expect_error(HEED_ERR_SHAPE, "cat: tensor 1 (3, 3) cannot be joined to (2, 3) along dim 1");
    ck_assert_ptr_null(heed_cat((heed_tensor *[]){a, c}, 2, 0));
    expect_error(HEED_ERR_DTYPE, "cat");
    ck_assert_ptr_null(heed_cat((heed_tensor *[]){d, d}, 2, 0));
    expect_error(HEED_ERR_SHAPE, "cat");
    ck_assert_ptr_null(heed_cat((heed_tensor *[]){a, a}, 2, 2));
    expect_error(HEED_ERR_DIM, "cat: dim 2");
    ck_assert_ptr_null(heed_cat((heed_tensor *[]){a}, 0, 0));
    expect_error(HEED_ERR_VALUE, "cat");
}
END_TEST

/* ---- stack ---- */

static void check_stack(heed_shape shape, int count, int dim, const heed_dtype *dtypes,
                        enum layout layout)
{
    heed_tensor *tensors[3];
    heed_dtype expected = dtypes[0];
    for (int i = 0; i < count; i++) {
        tensors[i] = noise(shape, dtypes[i], (layout + (enum layout)i) % LAYOUTS, (uint64_t)i);
        expected = dtypes[i] < expected ? dtypes[i] : expected;
    }
    heed_tensor *y = heed_stack(tensors, count, dim % 2 == 0 ? dim : dim - shape.ndim - 1);
    heed_shape whole = {shape.ndim + 1, {0}};
    for (int i = 0; i < whole.ndim; i++) {
        whole.size[i] = i == dim ? count : shape.size[i - (i > dim)];
    }
    expect_kind(y, expected, whole);
    EXPECT(heed_is_contiguous(y), "stack: not contiguous");
    for (heed_shape at = first_index(whole); at.ndim >= 0; next_index(whole, &at)) {
        heed_shape from = {shape.ndim, {0}};
        for (int i = 0; i < shape.ndim; i++) {
            from.size[i] = at.size[i + (i >= dim)];
        }
        expect_element("stack", element(y, at), element(tensors[at.size[dim]], from), 0, expected);
    }
}

START_TEST(stack_joins_along_a_new_dim)
{
    static const heed_shape shapes[] = {{0, {0}},    {1, {3}},         {2, {2, 3}},
                                        {2, {2, 0}}, {3, {2, 1, 300}}, {7, {1, 2, 1, 2, 1, 2, 3}}};
    static const heed_dtype dtypes[][3] = {
        {HEED_F32, HEED_F32, HEED_F32},  {HEED_F64, HEED_F64, HEED_F64},
        {HEED_I64, HEED_I64, HEED_I64},  {HEED_BOOL, HEED_BOOL, HEED_BOOL},
        {HEED_BOOL, HEED_I64, HEED_F32}, {HEED_F64, HEED_BOOL, HEED_I64},
        {HEED_BOOL, HEED_I64, HEED_BOOL}};
    for (int i = 0; i < 7; i++) {
        for (int dim = 0; dim <= shapes[_i].ndim; dim++) {
            check_stack(shapes[_i], 1 + (i + dim) % 3, dim, dtypes[i],
                        (enum layout)(dim % LAYOUTS));
        }
    }
}
END_TEST

START_TEST(stack_of_many_and_of_one_twice)
{
    heed_tensor *parts[300];
    for (int i = 0; i < 300; i++) {
        parts[i] = heed_full(HEED_SCALAR, i, HEED_I64);
    }
    ck_assert(heed_equal(heed_stack(parts, 300, -1), heed_arange(0, 300, 1, HEED_I64)));
    parts[0] = parts[1] = heed_arange(0, 2, 1, HEED_F32);
    heed_tensor *y = heed_stack(parts, 2, 1);
    EXPECT_VALUES(y, 0, 0, 0, 1, 1);
    heed_fill_into(y, 5); /* a copy, even of a single tensor */
    heed_fill_into(heed_stack(parts, 1, 0), 5);
    EXPECT_VALUES(parts[0], 0, 0, 1);
    for (int n = 0; n < 7; n++) {
        heed_fail_allocation(n);
        ck_assert_ptr_null(heed_stack(parts, 2, 0));
        expect_error(HEED_ERR_MEMORY, "out of memory");
    }
    heed_fail_allocation(-1);
}
END_TEST

/* ---- transpose, expand, squeeze, unsqueeze ---- */

static void check_transpose(heed_tensor *x, int i, int j)
{
    heed_shape shape = heed_shape_of_tensor(x), turned = shape;
    turned.size[i] = shape.size[j];
    turned.size[j] = shape.size[i];
    heed_tensor *y = heed_transpose(x, i - shape.ndim, j);
    expect_kind(y, x->dtype, turned);
    EXPECT(y->storage == x->storage, "transpose is not a view");
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        heed_shape to = at;
        to.size[i] = at.size[j];
        to.size[j] = at.size[i];
        expect_element("transpose", element(y, to), element(x, at), 0, x->dtype);
    }
}

START_TEST(transpose_exchanges_any_two)
{
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        heed_tensor *x = noise(HEED_SHAPE(2, 3, 4, 5), (heed_dtype)layout, layout, 3);
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) {
                check_transpose(x, i, j);
            }
        }
    }
    heed_tensor *scalar = heed_scalar(5, HEED_F32);
    expect_kind(heed_transpose(scalar, 0, -1), HEED_F32, HEED_SCALAR);
    ck_assert_ptr_null(heed_transpose(scalar, 0, 1));
    expect_error(HEED_ERR_DIM, "transpose: dim 1");
}
END_TEST

START_TEST(expand_repeats)
{
    static const heed_shape asked[] = {{3, {4, 3, 2}},
                                       {2, {3, 2}},
                                       {2, {-1, 0}},
                                       {4, {5, 1, -1, 2}},
                                       {2, {3, -1}},
                                       {3, {0, 3, 1}},
                                       {8, {1, 1, 1, 1, 1, 2, 3, 2}}};
    static const heed_shape given[] = {{3, {4, 3, 2}},
                                       {2, {3, 2}},
                                       {2, {3, 0}},
                                       {4, {5, 1, 3, 2}},
                                       {2, {3, 1}},
                                       {3, {0, 3, 1}},
                                       {8, {1, 1, 1, 1, 1, 2, 3, 2}}};
    heed_tensor *x = noise(HEED_SHAPE(3, 1), HEED_F32, STEPPED, 4);
    for (int i = 0; i < 7; i++) {
        heed_tensor *y = heed_expand(x, asked[i]), *copy = heed_clone(y);
        expect_kind(y, HEED_F32, given[i]);
        expect_kind(copy, HEED_F32, given[i]);
        ck_assert(y->storage == x->storage && copy->storage != x->storage);
        for (heed_shape at = first_index(given[i]); at.ndim >= 0; next_index(given[i], &at)) {
            expect_element("expand", element(y, at), element(x, at), 0, HEED_F32);
            expect_element("clone", element(copy, at), element(x, at), 0, HEED_F32);
        }
    }
    ck_assert_ptr_null(heed_expand(x, HEED_SHAPE(2, 1)));
    expect_error(HEED_ERR_SHAPE, "expand: (3, 1) does not expand to (2, 1)");
    ck_assert_ptr_null(heed_expand(x, HEED_SHAPE(-1, 3, 1)));
    expect_error(HEED_ERR_SHAPE, "expand");
    ck_assert_ptr_null(heed_expand(x, HEED_SHAPE(3)));
    expect_error(HEED_ERR_SHAPE, "expand");
}
END_TEST

START_TEST(squeeze_and_unsqueeze)
{
    heed_tensor *x = noise(HEED_SHAPE(2, 1, 3), HEED_F32, COLUMNS, 5);
    expect_kind(heed_squeeze(x, 1), HEED_F32, HEED_SHAPE(2, 3));
    expect_kind(heed_squeeze(x, -1), HEED_F32, HEED_SHAPE(2, 1, 3));
    expect_kind(heed_unsqueeze(x, 0), HEED_F32, HEED_SHAPE(1, 2, 1, 3));
    expect_kind(heed_unsqueeze(x, 3), HEED_F32, HEED_SHAPE(2, 1, 3, 1));
    expect_kind(heed_unsqueeze(x, -1), HEED_F32, HEED_SHAPE(2, 1, 3, 1));
    expect_kind(heed_unsqueeze(x, -4), HEED_F32, HEED_SHAPE(1, 2, 1, 3));
    heed_tensor *y = heed_unsqueeze(heed_squeeze(x, 1), 2);
    for (heed_shape at = {3, {0}}; at.ndim >= 0; next_index(HEED_SHAPE(2, 3, 1), &at)) {
        heed_shape from = HEED_SHAPE(at.size[0], 0, at.size[1]);
        expect_element("squeeze", element(y, at), element(x, from), 0, HEED_F32);
    }
    heed_tensor *one = heed_squeeze(heed_ones(HEED_SHAPE(1), HEED_BOOL), 0);
    expect_kind(one, HEED_BOOL, HEED_SCALAR);
    expect_kind(heed_squeeze(one, -1), HEED_BOOL, HEED_SCALAR);
    expect_kind(heed_unsqueeze(one, -1), HEED_BOOL, HEED_SHAPE(1));
    ck_assert_ptr_null(heed_unsqueeze(x, 4));
    expect_error(HEED_ERR_DIM, "unsqueeze: dim 4");
    ck_assert_ptr_null(heed_squeeze(x, 3));
    expect_error(HEED_ERR_DIM, "squeeze: dim 3");
    ck_assert_ptr_null(
        heed_unsqueeze(heed_ones((heed_shape){8, {1, 1, 1, 1, 1, 1, 1, 1}}, HEED_F32), 0));
    expect_error(HEED_ERR_SHAPE, "unsqueeze");
}
END_TEST

void add_join_cases(Suite *suite)
{
    TCase *join = heed_case(suite, "join");
    tcase_add_loop_test(join, slice_takes_what_python_takes, 0, LAYOUTS);
    tcase_add_test(join, slice_of_slice);
    tcase_add_loop_test(join, cat_joins, 0, JOINS);
    tcase_add_test(join, cat_of_many_and_of_one_twice);
    tcase_add_test(join, cat_refuses);
    tcase_add_loop_test(join, stack_joins_along_a_new_dim, 0, 6);
    tcase_add_test(join, stack_of_many_and_of_one_twice);
    tcase_add_test(join, transpose_exchanges_any_two);
    tcase_add_test(join, expand_repeats);
    tcase_add_test(join, squeeze_and_unsqueeze);
}
