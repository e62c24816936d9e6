/* permute, flatten, unflatten, broadcast_to, select, narrow, split, chunk, unbind, index and
 * diagonal, compared with plain loops. view.c tests the memory that views share. */
#include "tests/common/ops_cases.h"

static const heed_shape whole = {3, {2, 6, 4}};

/* Expects that y[at] is x[from]. */
static void expect_same(const char *name, const heed_tensor *y, heed_shape at, const heed_tensor *x,
                        heed_shape from)
{
    expect_element(name, element(y, at), element(x, from), 0, x->dtype);
}

/* ---- permute ---- */

static void check_permute(heed_tensor *x, const int *order, bool negative)
{
    heed_dims dims = {.count = 3};
    heed_shape turned = {3, {0}};
    for (int i = 0; i < 3; i++) {
        dims.dim[i] = order[i] - (negative ? 3 : 0);
        turned.size[i] = whole.size[order[i]];
    }
    heed_tensor *y = heed_permute(x, dims);
    expect_kind(y, x->dtype, turned);
    EXPECT(y->storage == x->storage, "permute is not a view");
    for (heed_shape at = first_index(turned); at.ndim >= 0; next_index(turned, &at)) {
        heed_shape from = at;
        for (int i = 0; i < 3; i++) {
            from.size[order[i]] = at.size[i];
        }
        expect_same("permute", y, at, x, from);
    }
}

START_TEST(permute_takes_any_order)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        heed_tensor *x = noise(whole, (heed_dtype)_i, layout, 1);
        for (int i = 0; i < 12; i++) {
            check_permute(x, orders[i / 2], i % 2 == 1);
        }
    }
    heed_tensor *scalar = heed_scalar(1, (heed_dtype)_i);
    expect_kind(heed_permute(scalar, (heed_dims){0}), (heed_dtype)_i, HEED_SCALAR);
    heed_tensor *eight =
        noise((heed_shape){8, {1, 2, 1, 3, 1, 2, 1, 4}}, (heed_dtype)_i, COLUMNS, 2);
    heed_tensor *y = heed_permute(eight, HEED_DIMS(7, -3, 3, 1, 0, 2, 4, 6));
    expect_kind(y, (heed_dtype)_i, (heed_shape){8, {4, 2, 3, 2, 1, 1, 1, 1}});
    y = heed_permute(y, HEED_DIMS(4, 3, 5, 2, 6, 1, 7, 0));
    ck_assert(heed_equal(y, eight));
}
END_TEST

/* ---- flatten, unflatten ---- */

static bool lie_as_one(const heed_tensor *x, int start, int end)
{
    bool so = true;
    for (int i = (start + 3) % 3; i < (end + 3) % 3; i++) {
        so = so && x->strides[i] == x->strides[i + 1] * x->shape[i + 1];
    }
    return so;
}

START_TEST(flatten_joins_dims)
{
    static const struct {
        int start, end;
        heed_shape y;
    } rows[] = {{0, 2, {1, {48}}},    {0, -1, {1, {48}}},     {-3, 1, {2, {12, 4}}},
                {1, 2, {2, {2, 24}}}, {1, 1, {3, {2, 6, 4}}}, {-1, -1, {3, {2, 6, 4}}}};
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        heed_tensor *x = noise(whole, (heed_dtype)_i, layout, 3);
        for (int i = 0; i < 6; i++) {
            heed_tensor *y = heed_flatten(x, rows[i].start, rows[i].end);
            expect_kind(y, (heed_dtype)_i, rows[i].y);
            expect_same_order("flatten", y, x);
            ck_assert((y->storage == x->storage) == lie_as_one(x, rows[i].start, rows[i].end));
            ck_assert((y == x) == (rows[i].y.ndim == 3));
        }
    }
    expect_kind(heed_flatten(heed_scalar(1, HEED_F32), -1, 0), HEED_F32, HEED_SHAPE(1));
    heed_tensor *none = heed_zeros(HEED_SHAPE(2, 0, 3), HEED_F32);
    expect_kind(heed_flatten(none, 0, 1), HEED_F32, HEED_SHAPE(0, 3));
    expect_kind(heed_flatten(none, 0, -1), HEED_F32, HEED_SHAPE(0));
}
END_TEST

START_TEST(unflatten_cuts_a_dim)
{
    static const struct {
        int dim;
        heed_shape sizes, y;
    } rows[] = {{1, {2, {2, 3}}, {4, {2, 2, 3, 4}}},
                {-2, {2, {3, -1}}, {4, {2, 3, 2, 4}}},
                {0, {2, {-1, 1}}, {4, {2, 1, 6, 4}}},
                {-1, {3, {2, 1, 2}}, {5, {2, 6, 2, 1, 2}}},
                {2, {1, {-1}}, {3, {2, 6, 4}}},
                {1, {6, {1, 1, 6, 1, 1, 1}}, {8, {2, 1, 1, 6, 1, 1, 1, 4}}}};
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        heed_tensor *x = noise(whole, (heed_dtype)_i, layout, 4);
        for (int i = 0; i < 6; i++) {
            heed_tensor *y = heed_unflatten(x, rows[i].dim, rows[i].sizes);
            expect_kind(y, (heed_dtype)_i, rows[i].y);
            expect_same_order("unflatten", y, x);
            ck_assert_msg(y->storage == x->storage, "unflatten is not a view");
        }
    }
    heed_tensor *none = heed_zeros(HEED_SHAPE(0, 2), HEED_F32);
    expect_kind(heed_unflatten(none, 0, HEED_SHAPE(3, -1)), HEED_F32, HEED_SHAPE(3, 0, 2));
    expect_kind(heed_unflatten(none, 0, HEED_SHAPE(0, 7)), HEED_F32, HEED_SHAPE(0, 7, 2));
    expect_kind(heed_unflatten(none, 1, HEED_SHAPE(-1, 2)), HEED_F32, HEED_SHAPE(0, 1, 2));
}
END_TEST

START_TEST(broadcast_to_is_expand)
{
    heed_tensor *x = noise(HEED_SHAPE(3, 1), (heed_dtype)_i, STEPPED, 5);
    static const heed_shape asked[] = {{3, {2, 3, 4}}, {2, {-1, -1}}, {2, {3, 0}}, {2, {3, 1}}};
    for (int i = 0; i < 4; i++) {
        heed_tensor *y = heed_broadcast_to(x, asked[i]), *same = heed_expand(x, asked[i]);
        expect_kind(y, (heed_dtype)_i, heed_shape_of_tensor(same));
        ck_assert(y->storage == x->storage && heed_equal(y, same));
    }
}
END_TEST

/* ---- select, narrow ---- */

static heed_shape without(heed_shape shape, int dim)
{
    heed_shape rest = {0, {0}};
    for (int i = 0; i < shape.ndim; i++) {
        if (i != dim) {
            rest.size[rest.ndim++] = shape.size[i];
        }
    }
    return rest;
}

/* The index with one more dim. */
static heed_shape with(heed_shape index, int dim, int64_t place)
{
    heed_shape full = {index.ndim + 1, {0}};
    for (int i = 0; i < full.ndim; i++) {
        full.size[i] = i == dim ? place : index.size[i - (i > dim)];
    }
    return full;
}

static void check_select(heed_tensor *x, int dim)
{
    const heed_shape rest = without(whole, dim);
    const int64_t size = whole.size[dim];
    for (int64_t index = -size; index < size; index++) {
        heed_tensor *y = heed_select(x, dim - (index % 2 == 0 ? 3 : 0), index);
        expect_kind(y, x->dtype, rest);
        EXPECT(y->storage == x->storage, "select is not a view");
        for (heed_shape at = first_index(rest); at.ndim >= 0; next_index(rest, &at)) {
            expect_same("select", y, at, x, with(at, dim, index < 0 ? index + size : index));
        }
    }
}

static void check_narrow(heed_tensor *x, int dim)
{
    const int64_t size = whole.size[dim];
    for (int64_t start = -size - 2; start <= size + 2; start++) {
        for (int64_t length = -1; length <= size + 1; length++) {
            const int64_t first = start < 0 ? start + size : start;
            heed_tensor *y = heed_narrow(x, dim, start, length);
            if (first < 0 || length < 0 || first + length > size) {
                EXPECT(y == NULL, "narrow %lld, %lld", (long long)start, (long long)length);
                expect_error(length < 0 ? HEED_ERR_VALUE : HEED_ERR_INDEX, "narrow: ");
                continue;
            }
            EXPECT(y != NULL && y->shape[dim] == length && y->storage == x->storage, "narrow");
            expect_kind(y, x->dtype, heed_shape_of_tensor(y));
            ck_assert(heed_equal(y, heed_slice(x, dim, first, first + length, 1)));
        }
    }
}

START_TEST(select_and_narrow_take_places)
{
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        heed_tensor *x = noise(whole, (heed_dtype)_i, layout, 6);
        for (int dim = 0; dim < 3; dim++) {
            check_select(x, dim);
            check_narrow(x, dim);
        }
    }
    expect_kind(heed_select(heed_zeros(HEED_SHAPE(1, 1), HEED_F32), 0, 0), HEED_F32, HEED_SHAPE(1));
    expect_kind(heed_select(heed_zeros(HEED_SHAPE(2), HEED_F32), 0, 1), HEED_F32, HEED_SCALAR);
    expect_kind(heed_select(heed_zeros(HEED_SHAPE(2, 0), HEED_F32), 0, 1), HEED_F32, HEED_SHAPE(0));
}
END_TEST

/* ---- split, chunk, unbind ---- */

enum { ROOM = 12 };
static heed_tensor *parts[ROOM];

static void fill_parts(void)
{
    for (int i = 0; i < ROOM; i++) {
        parts[i] = (heed_tensor *)&parts; /* old contents, which must be overwritten */
    }
}

/* The parts are x split into these sizes, and only the first `room` entries of the list were
 * written. */
static void expect_parts(heed_tensor *x, int dim, int count, const int64_t *sizes, int room)
{
    int64_t start = 0;
    for (int i = 0; i < ROOM; i++) {
        EXPECT(i < room || parts[i] == (heed_tensor *)&parts, "part %d was touched", i);
        EXPECT(i < count || i >= room || parts[i] == NULL, "part %d", i);
        if (i < count) {
            heed_tensor *goal = heed_slice(x, dim, start, start + sizes[i], 1);
            EXPECT(parts[i]->shape[dim] == sizes[i] && parts[i]->storage == x->storage, "%d", i);
            EXPECT(heed_equal(parts[i], goal), "part %d", i);
            start += sizes[i];
        }
    }
    ck_assert_int_eq(start, x->shape[dim]);
}

/* torch's sizes of the parts, up to the first -1. */
static const struct cut_row {
    bool is_chunk;
    int64_t size, by, lengths[ROOM];
} cut_rows[] = {
    {false, 5, 2, {2, 2, 1, -1}},
    {false, 5, 7, {5, -1}},
    {false, 0, 0, {0, -1}},
    {false, 0, 3, {0, -1}},
    {false, 6, 3, {3, 3, -1}},
    {false, 5, 5, {5, -1}},
    {false, 5, INT64_MAX, {5, -1}},
    {false, 3, 1, {1, 1, 1, -1}},
    {true, 5, 3, {2, 2, 1, -1}},
    {true, 6, 4, {2, 2, 2, -1}},
    {true, 5, 8, {1, 1, 1, 1, 1, -1}},
    {true, 0, 3, {0, 0, 0, -1}},
    {true, 12, 5, {3, 3, 3, 3, -1}},
    {true, 5, 1, {5, -1}},
    {true, 1, 2, {1, -1}},
};
enum { CUT_ROWS = sizeof cut_rows / sizeof *cut_rows };

START_TEST(split_and_chunk_cut_as_torch)
{
    const struct cut_row *row = &cut_rows[_i];
    for (int dim = 0; dim < 3; dim++) {
        heed_shape shape = HEED_SHAPE(2, 3, 2);
        shape.size[dim] = row->size;
        heed_tensor *x =
            noise(shape, (heed_dtype)(_i % HEED_DTYPES), (enum layout)(_i % LAYOUTS), 7);
        fill_parts();
        const int room = row->is_chunk ? (int)row->by : ROOM - 1;
        const int count = row->is_chunk ? heed_chunk(x, room, dim - 3, parts)
                                        : heed_split(x, row->by, dim - 3, parts, room);
        int goal = 0;
        while (row->lengths[goal] >= 0) {
            goal++;
        }
        ck_assert_int_eq(count, goal);
        expect_parts(x, dim, count, row->lengths, room);
        fill_parts();
        ck_assert_int_eq(heed_split_sizes(x, row->lengths, goal, dim, parts), goal);
        expect_parts(x, dim, goal, row->lengths, goal);
    }
}
END_TEST

START_TEST(split_takes_sizes)
{
    heed_tensor *x = noise(HEED_SHAPE(3, 7), HEED_F64, COLUMNS, 8);
    static const int64_t sizes[] = {2, 0, 4, 1, 0};
    fill_parts();
    ck_assert_int_eq(heed_split_sizes(x, sizes, 5, -1, parts), 5);
    expect_parts(x, 1, 5, sizes, 5);
    ck_assert_int_eq(heed_split_sizes(heed_zeros(HEED_SHAPE(0), HEED_F32), NULL, 0, 0, parts), 0);
    expect_no_error();
    fill_parts();
    ck_assert_int_eq(heed_split(x, 1, 1, parts, 7), 7); /* the list has room for exactly these */
    ck_assert(parts[6] != NULL && parts[7] == (heed_tensor *)&parts);
}
END_TEST

START_TEST(unbind_takes_each_index)
{
    for (int dim = 0; dim < 3; dim++) {
        heed_tensor *x = noise(whole, (heed_dtype)_i, (enum layout)(_i % LAYOUTS), 8);
        const int size = (int)whole.size[dim];
        fill_parts();
        ck_assert_int_eq(heed_unbind(x, dim - 3, parts, size + 1), size);
        for (int i = 0; i < size; i++) {
            ck_assert(parts[i]->storage == x->storage);
            ck_assert(heed_equal(parts[i], heed_select(x, dim, i)));
        }
        ck_assert(parts[size] == NULL && parts[size + 1] == (heed_tensor *)&parts);
        ck_assert_int_eq(heed_unbind(x, dim, parts, size), size);
    }
    fill_parts();
    ck_assert_int_eq(heed_unbind(heed_zeros(HEED_SHAPE(2, 0), HEED_F32), 1, parts, 1), 0);
    expect_no_error();
    ck_assert_ptr_null(parts[0]);
}
END_TEST

static int any_cut(heed_tensor *x, int way)
{
    static const int64_t sizes[] = {1, 4, 1};
    fill_parts();
    return way == 0   ? heed_split(x, 2, 0, parts, 3)
           : way == 1 ? heed_split_sizes(x, sizes, 3, 0, parts)
           : way == 2 ? heed_chunk(x, 3, 0, parts)
                      : heed_unbind(x == NULL ? x : heed_reshape(x, HEED_SHAPE(3, 2)), 0, parts, 3);
}

static void expect_no_parts(void)
{
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_null(parts[i]);
    }
    ck_assert(parts[3] == (heed_tensor *)&parts);
}

START_TEST(after_an_error_there_are_no_parts)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(6), HEED_F32);
    ck_assert_int_eq(any_cut(NULL, _i), 0);
    expect_no_parts();
    expect_error(HEED_ERR_NULL, "x is NULL");
    heed_fail(HEED_ERR_VALUE, "pending");
    ck_assert_int_eq(any_cut(x, _i), 0);
    expect_no_parts();
    expect_error(HEED_ERR_VALUE, "pending");
    for (int n = 0; n < 3; n++) {
        heed_fail_allocation(n);
        ck_assert_int_eq(any_cut(x, _i), 0);
        expect_no_parts();
        expect_error(HEED_ERR_MEMORY, "out of memory");
    }
    ck_assert_int_eq(any_cut(x, _i), 3);
}
END_TEST

/* ---- index ---- */

START_TEST(index_reads_the_string)
{
    heed_tensor *x = noise(whole, HEED_F32, COLUMNS, 10), *y = heed_index(x, "1, ::3, -1");
    EXPECT_VALUES(y, 0, heed_at(x, HEED_INDEX(1, 0, 3)), heed_at(x, HEED_INDEX(1, 3, 3)));
    ck_assert(y->storage == x->storage);
    static const char *const same[][2] = {{" 1 ,: : 3,  -1 ", "1,::3,-1"},
                                          {"1:", "1:,..."},
                                          {"...,...,2", "...,2"},
                                          {" ... , 2", "...,2"},
                                          {"None , 1", "None,1"},
                                          {":-1:", ":-1:1"},
                                          {"0:4:2", ":4:2"},
                                          {"-99:99", ":"},
                                          {"1::9223372036854775808", "1:2"},
                                          {"...,0,0", ":,0,0"},
                                          {"0,0,0,...", "0,0,0"}};
    for (int i = 0; i < (int)(sizeof same / sizeof *same); i++) {
        heed_tensor *left = heed_index(x, same[i][0]), *right = heed_index(x, same[i][1]);
        EXPECT(left != NULL && right != NULL && heed_equal(left, right), "\"%s\", \"%s\"",
               same[i][0], same[i][1]);
    }
    ck_assert_ptr_eq(heed_index(x, "..., :"), x);
    heed_copy_into(heed_index(x, "1, ::3, -1"), heed_from_f32((float[]){7, 8}, HEED_SHAPE(2)));
    EXPECT_VALUES(y, 0, 7, 8);
    EXPECT_VALUES(heed_index(heed_arange(0, 24, 1, HEED_I64), "10::12"), 0, 10, 22);
    heed_tensor *scalar = heed_scalar(1, HEED_F32);
    ck_assert_ptr_eq(heed_index(scalar, "..."), scalar);
    expect_kind(heed_index(x, "None, ..., None, None, 0, None"), HEED_F32,
                (heed_shape){6, {1, 2, 6, 1, 1, 1}});
}
END_TEST

START_TEST(index_leaves_one_tensor)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(3, 3, 3), HEED_F32);
    const int64_t before = heed_live_tensors();
    heed_index(x, "0, 1:, None, ::2");
    ck_assert_int_eq(heed_live_tensors(), before + 1);
    ck_assert_ptr_null(heed_index(x, "3"));
    expect_error(HEED_ERR_INDEX, "column 1: index 3 is outside dim 0");
    ck_assert_ptr_null(heed_index(x, "0, 1:, None, 5"));
    expect_error(HEED_ERR_INDEX, "column 14: index 5 is outside dim 2");
    for (int n = 0; n < 5; n++) {
        heed_fail_allocation(n);
        ck_assert_ptr_null(heed_index(x, "0, 1:, None, ::2"));
        expect_error(HEED_ERR_MEMORY, "out of memory");
    }
    ck_assert_int_eq(heed_live_tensors(), before + 1);
}
END_TEST

/* ---- diagonal ---- */

static void check_diagonal(heed_tensor *x, int dim1, int dim2, int64_t offset)
{
    const int64_t m = x->shape[dim1], n = x->shape[dim2];
    int64_t count = 0;
    for (int64_t i = 0; i < m; i++) {
        count += i + offset >= 0 && i + offset < n;
    }
    heed_shape part = without(without(whole, dim1 > dim2 ? dim1 : dim2), dim1 < dim2 ? dim1 : dim2);
    part.size[part.ndim++] = count;
    heed_tensor *y = heed_diagonal(x, offset, dim1, dim2 - 3);
    expect_kind(y, x->dtype, part);
    EXPECT(y->storage == x->storage, "diagonal is not a view");
    if (heed_is_float(x->dtype)) {
        x = heed_set_requires_grad(heed_detach(x), true);
        heed_backward(heed_sum(heed_mul(heed_diagonal(x, offset, dim1 - 3, dim2), y)));
        expect_kind(x->grad, x->dtype, whole);
    }
    for (heed_shape from = first_index(whole); from.ndim >= 0; next_index(whole, &from)) {
        const bool is_on = from.size[dim2] - from.size[dim1] == offset;
        const heed_shape at =
            HEED_SHAPE(from.size[3 - dim1 - dim2], from.size[dim1] + (offset < 0 ? offset : 0));
        if (is_on) {
            expect_same("diagonal", y, at, x, from);
        }
        if (heed_is_float(x->dtype)) {
            expect_element("gradient of diagonal", element(x->grad, from),
                           is_on ? element(x, from) : 0, 0, x->dtype);
        }
    }
}

START_TEST(diagonal_takes_any_two_dims)
{
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        heed_tensor *x = noise(whole, (heed_dtype)_i, layout, 9);
        for (int pair = 0; pair < 9; pair++) {
            for (int64_t offset = -7; offset <= 7 && pair / 3 != pair % 3; offset++) {
                check_diagonal(x, pair / 3, pair % 3, offset);
            }
        }
        expect_kind(heed_diagonal(x, INT64_MIN, 0, 1), (heed_dtype)_i, HEED_SHAPE(4, 0));
        expect_kind(heed_diagonal(x, INT64_MAX, 0, 1), (heed_dtype)_i, HEED_SHAPE(4, 0));
    }
    heed_tensor *none = heed_zeros(HEED_SHAPE(0, 3), (heed_dtype)_i);
    expect_kind(heed_diagonal(none, 0, 0, 1), (heed_dtype)_i, HEED_SHAPE(0));
    expect_kind(heed_diagonal(none, 1, 1, 0), (heed_dtype)_i, HEED_SHAPE(0));
    heed_tensor *x = heed_reshape(heed_arange(0, 24, 1, HEED_I64), HEED_SHAPE(2, 3, 4));
    EXPECT_VALUES(heed_diagonal(x, 1, 0, 2), 0, 1, 14, 5, 18, 9, 22); /* torch's values */
    EXPECT_VALUES(heed_diagonal(x, 0, 2, 0), 0, 0, 13, 4, 17, 8, 21);
}
END_TEST

void add_shape_cases(Suite *suite)
{
    TCase *shape = heed_case(suite, "shape");
    tcase_add_loop_test(shape, permute_takes_any_order, 0, HEED_DTYPES);
    tcase_add_loop_test(shape, flatten_joins_dims, 0, HEED_DTYPES);
    tcase_add_loop_test(shape, unflatten_cuts_a_dim, 0, HEED_DTYPES);
    tcase_add_loop_test(shape, broadcast_to_is_expand, 0, HEED_DTYPES);
    tcase_add_loop_test(shape, select_and_narrow_take_places, 0, HEED_DTYPES);
    tcase_add_loop_test(shape, split_and_chunk_cut_as_torch, 0, CUT_ROWS);
    tcase_add_test(shape, split_takes_sizes);
    tcase_add_loop_test(shape, unbind_takes_each_index, 0, HEED_DTYPES);
    tcase_add_test(shape, index_reads_the_string);
    tcase_add_test(shape, index_leaves_one_tensor);
    tcase_add_loop_test(shape, diagonal_takes_any_two_dims, 0, HEED_DTYPES);
    tcase_add_loop_test(shape, after_an_error_there_are_no_parts, 0, 4);
}
