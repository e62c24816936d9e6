/* cat and stack, compared with plain loops. */
#include <math.h>

#include "tests/common/reference.h"

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

void add_cat_cases(Suite *suite)
{
    TCase *join = heed_case(suite, "cat");
    tcase_add_loop_test(join, cat_joins, 0, JOINS);
    tcase_add_test(join, cat_of_many_and_of_one_twice);
    tcase_add_test(join, cat_refuses);
    tcase_add_loop_test(join, stack_joins_along_a_new_dim, 0, 6);
    tcase_add_test(join, stack_of_many_and_of_one_twice);
}
