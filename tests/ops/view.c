/* Views compared with plain loops, and which share memory; reshape decides as torch's view does. */
#include "tensor/tensor.h"
#include "tests/common/reference.h"

/* A tensor with strides, a new shape, and the strides of the view in that shape if there is one. */
struct reshape {
    int ndim, to_ndim;
    bool is_view;
    int64_t shape[4], strides[4], to_shape[4], to_strides[4];
};

#include "tests/fixtures/ops_reshape.h"

enum { RESHAPES = sizeof reshapes / sizeof *reshapes };

static heed_shape shape_of(int ndim, const int64_t *sizes)
{
    heed_shape shape = {ndim, {0}};
    for (int i = 0; i < ndim; i++) {
        shape.size[i] = sizes[i];
    }
    return shape;
}

/* The numbers 0, 1, 2, ... in memory, with the strides of a row. */
static heed_tensor *on_strides(const struct reshape *row)
{
    int64_t reach = 1;
    for (int i = 0; i < row->ndim; i++) {
        reach += row->shape[i] > 0 ? (row->shape[i] - 1) * row->strides[i] : 0;
    }
    heed_tensor *memory = heed_arange(0, (double)reach, 1, HEED_F32);
    return heed_tensor_view("on_strides", memory, row->ndim, row->shape, row->strides, 0);
}

START_TEST(reshape_decides_as_torch)
{
    const struct reshape *row = &reshapes[_i];
    heed_tensor *x = on_strides(row);
    const heed_shape to = shape_of(row->to_ndim, row->to_shape);
    heed_tensor *y = heed_reshape(x, to);
    expect_kind(y, HEED_F32, to);
    ck_assert_msg((y->storage == x->storage) == row->is_view, row->is_view ? "a copy" : "a view");
    for (int i = 0; row->is_view && i < to.ndim; i++) {
        ck_assert(to.size[i] <= 1 || y->numel == 0 || y->strides[i] == row->to_strides[i]);
    }
    ck_assert(row->is_view || heed_is_contiguous(y));
    expect_same_order("reshape", y, x);
    /* The same with one size as -1. */
    for (int i = 0; x->numel > 0 && i < to.ndim; i++) {
        heed_shape open = to;
        open.size[i] = -1;
        heed_tensor *z = heed_reshape(x, open);
        expect_kind(z, HEED_F32, to);
        ck_assert((z->storage == x->storage) == row->is_view);
    }
}
END_TEST

START_TEST(reshape_to_and_from_scalars)
{
    heed_tensor *x = heed_scalar(3, HEED_I64);
    heed_tensor *y = heed_reshape(x, (heed_shape){8, {1, 1, 1, 1, 1, 1, 1, 1}});
    ck_assert(y->ndim == 8 && y->storage == x->storage);
    expect_kind(heed_reshape(y, HEED_SCALAR), HEED_I64, HEED_SCALAR);
    expect_kind(heed_reshape(x, HEED_SHAPE(-1)), HEED_I64, HEED_SHAPE(1));
    heed_tensor *none = heed_zeros(HEED_SHAPE(2, 0, 3), HEED_F32);
    expect_kind(heed_reshape(none, HEED_SHAPE(-1, 7)), HEED_F32, HEED_SHAPE(0, 7));
    expect_kind(heed_reshape(none, HEED_SHAPE(0, 5)), HEED_F32, HEED_SHAPE(0, 5));
}
END_TEST

/* All elements of an expanded tensor are one, and new dims of size 1 change nothing. */
START_TEST(reshape_adds_dims_to_expanded_tensors)
{
    heed_tensor *x = heed_expand(heed_full(HEED_SHAPE(1), 3, HEED_F32), HEED_SHAPE(4));
    heed_tensor *y = heed_reshape(x, HEED_SHAPE(1, 1, 4));
    expect_kind(y, HEED_F32, HEED_SHAPE(1, 1, 4));
    EXPECT_VALUES(y, 0, 3, 3, 3, 3);
    ck_assert(y->storage == x->storage);
}
END_TEST

START_TEST(reshape_refuses)
{
    heed_tensor *x = heed_zeros(HEED_SHAPE(2, 3), HEED_F32),
                *none = heed_zeros(HEED_SHAPE(0), HEED_F32);
    static const heed_shape wrong[] = {{1, {5}},
                                       {2, {4, -1}},
                                       {2, {-1, 0}},
                                       {2, {-1, -1}},
                                       {2, {-2, -3}},
                                       {0, {0}},
                                       {9, {6}},
                                       {-1, {0}},
                                       {3, {INT64_MAX, INT64_MAX, 6}},
                                       {3, {INT64_C(1) << 32, INT64_C(1) << 32, -1}}};
    for (int i = 0; i < 10; i++) {
        ck_assert_ptr_null(heed_reshape(x, wrong[i]));
        expect_error(HEED_ERR_SHAPE, "reshape");
    }
    ck_assert_ptr_null(heed_reshape(none, HEED_SHAPE(-1, 0)));
    expect_error(HEED_ERR_SHAPE, "reshape: (0) has 0 elements");
}
END_TEST

/* Changes through one show in the other, and both have one version. */
static void expect_shared(heed_tensor *x, heed_tensor *view, double old, double new)
{
    EXPECT(view != NULL, "%s", heed_error_message());
    ck_assert(view != x && view->storage == x->storage);
    const heed_shape zero = {view->ndim, {0}};
    ck_assert_double_eq(heed_at(view, zero), old);
    const uint32_t version = x->storage->version;
    heed_fill_into(view->numel > 1 ? heed_slice(x, 0, 0, 1, 1) : x, new);
    ck_assert_double_eq(heed_at(view, zero), new);
    ck_assert(view->storage->version == version + 1);
}

START_TEST(views_share_memory_and_versions)
{
    heed_tensor *x = heed_zeros(HEED_SHAPE(3, 4), HEED_F32);
    heed_tensor *views[] = {heed_transpose(x, 0, 1),
                            heed_reshape(x, HEED_SHAPE(2, 6)),
                            heed_expand(x, HEED_SHAPE(2, 3, 4)),
                            heed_squeeze(x, 0),
                            heed_unsqueeze(x, 1),
                            heed_slice(x, 1, 0, 4, 2),
                            heed_detach(x),
                            heed_transpose(heed_slice(heed_unsqueeze(x, 0), 2, 0, 2, 1), 0, 2)};
    for (int i = 0; i < 8; i++) {
        expect_shared(x, views[i], i, i + 1);
    }
    ck_assert_int_eq(x->storage->references,
                     1 + 10 + 8); /* with intermediate views and the filled slices */
}
END_TEST

/* Views of a (4, 4) tensor, each with the index of its first element. */
enum { VIEWS = 8 };
static heed_tensor *nth_view(heed_tensor *x, int way, heed_shape *first)
{
    static const heed_shape firsts[VIEWS] = {{2, {0, 0}}, {2, {0, 0}}, {2, {0, 0}}, {2, {2, 0}},
                                             {2, {0, 3}}, {2, {2, 0}}, {2, {0, 2}}, {2, {1, 0}}};
    heed_tensor *parts[4];
    *first = firsts[way];
    switch (way) {
    case 0:
        return heed_permute(x, HEED_DIMS(1, 0));
    case 1:
        return heed_flatten(x, 0, 1);
    case 2:
        return heed_unflatten(x, 0, HEED_SHAPE(2, -1));
    case 3:
        return heed_select(x, 0, 2);
    case 4:
        return heed_select(x, 1, -1);
    case 5:
        return heed_narrow(x, 0, -2, 2);
    case 6:
        return heed_chunk(x, 2, -1, parts) == 2 ? parts[1] : NULL;
    default:
        return heed_select(heed_flatten(heed_narrow(x, 0, 1, 2), 0, -1), 0, 0);
    }
}

/* Copying into a view changes exactly its elements of x; copying into x changes the view. Both
 * raise one version. */
START_TEST(changes_pass_through_views_both_ways)
{
    heed_shape first;
    heed_tensor *x = heed_zeros(HEED_SHAPE(4, 4), HEED_F32), *view = nth_view(x, _i, &first);
    ck_assert(view != NULL && view->storage == x->storage);
    heed_tensor *new = heed_add_scalar(
        heed_reshape(heed_arange(0, (double)view->numel, 1, HEED_F32), heed_shape_of_tensor(view)),
        1);
    ck_assert_int_eq(heed_copy_into(view, new), HEED_OK);
    ck_assert(heed_equal(view, new) && x->storage->version == 1);
    ck_assert_double_eq(heed_at(x, first), 1);
    const double n = (double)view->numel;
    EXPECT_VALUES(heed_sum(x), 0, n * (n + 1) / 2);
    ck_assert_int_eq(heed_copy_into(x, heed_full(HEED_SHAPE(4, 4), 7, HEED_F64)), HEED_OK);
    ck_assert(heed_equal(view, heed_full(heed_shape_of_tensor(view), 7, view->dtype)) &&
              view->storage->version == 2);
}
END_TEST

/* A derivative that would read an element changed through a view fails. */
START_TEST(versions_hold_through_views)
{
    heed_shape first;
    for (int change = 0; change < 2; change++) {
        heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(4, 4), HEED_F64), true);
        heed_tensor *c = heed_ones(HEED_SHAPE(4, 4), HEED_F64), *view = nth_view(c, _i, &first);
        heed_tensor *y = heed_sum(heed_mul(x, c));
        heed_tensor *z = heed_sum(heed_mul(nth_view(x, _i, &first), view));
        if (change) {
            ck_assert_int_eq(heed_fill_into(view, 3), HEED_OK);
            ck_assert_int_eq(heed_backward(y), HEED_ERR_VERSION);
            expect_error(HEED_ERR_VERSION, "mul");
            ck_assert_int_eq(heed_backward(z), HEED_ERR_VERSION);
            expect_error(HEED_ERR_VERSION, "mul");
        } else {
            ck_assert_int_eq(heed_backward(z), HEED_OK);
            EXPECT_VALUES(heed_sum(x->grad), 0, (double)view->numel);
            ck_assert_double_eq(heed_at(x->grad, first), 1);
        }
    }
}
END_TEST

/* A view keeps its memory alive when the original tensor is freed. */
START_TEST(views_outlive_their_origin)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *x = heed_arange(0, 1000, 1, HEED_F64);
    heed_tensor *view = heed_scope_end_with(&scope, heed_slice(x, 0, 990, 1000, 3));
    EXPECT_VALUES(view, 0, 990, 993, 996, 999);
    ck_assert_int_eq(view->storage->references, 1);
    ck_assert_uint_eq(view->storage->bytes, 8000);
}
END_TEST

START_TEST(copies_share_nothing)
{
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
            heed_tensor *x = noise(HEED_SHAPE(2, 3, 4), dtype, layout, 1), *y = heed_clone(x);
            heed_tensor *z = heed_contiguous(x);
            expect_kind(y, dtype, HEED_SHAPE(2, 3, 4));
            ck_assert(y->storage != x->storage && heed_is_contiguous(y) && heed_is_contiguous(z));
            ck_assert((z == x) == (layout == ROWS) && heed_equal(x, y) && heed_equal(x, z));
            heed_tensor *same = heed_clone(x);
            heed_fill_into(y, 0);
            ck_assert(heed_equal(x, same) && y->storage->version == 1 && x->storage->version == 0);
        }
    }
}
END_TEST

START_TEST(contiguity_forgives_sizes_0_and_1)
{
    static const struct {
        heed_shape shape, strides;
        bool contiguous;
    } rows[] = {
        {{0, {0}}, {0, {0}}, true},
        {{1, {5}}, {1, {1}}, true},
        {{1, {5}}, {1, {2}}, false},
        {{1, {1}}, {1, {7}}, true},
        {{1, {5}}, {1, {0}}, false},
        {{2, {1, 5}}, {2, {99, 1}}, true},
        {{2, {5, 1}}, {2, {1, 99}}, true},
        {{2, {5, 1}}, {2, {2, 1}}, false},
        {{2, {2, 3}}, {2, {3, 1}}, true},
        {{2, {2, 3}}, {2, {1, 2}}, false},
        {{2, {0, 3}}, {2, {17, 5}}, true},
        {{3, {2, 1, 3}}, {3, {3, 0, 1}}, true},
        {{3, {2, 2, 3}}, {3, {3, 3, 1}}, false},
    };
    heed_tensor *memory = heed_zeros(HEED_SHAPE(200), HEED_F32);
    for (int i = 0; i < 13; i++) {
        heed_tensor *x = heed_tensor_view("x", memory, rows[i].shape.ndim, rows[i].shape.size,
                                          rows[i].strides.size, 0);
        ck_assert_msg(heed_is_contiguous(x) == rows[i].contiguous, "row %d", i);
        ck_assert((heed_contiguous(x) == x) == rows[i].contiguous);
    }
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

static const heed_shape whole = {3, {2, 6, 4}};

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

void add_view_cases(Suite *suite)
{
    TCase *view = heed_case(suite, "view");
    tcase_add_loop_test(view, reshape_decides_as_torch, 0, RESHAPES);
    tcase_add_test(view, reshape_to_and_from_scalars);
    tcase_add_test(view, reshape_adds_dims_to_expanded_tensors);
    tcase_add_test(view, reshape_refuses);
    tcase_add_test(view, views_share_memory_and_versions);
    tcase_add_loop_test(view, changes_pass_through_views_both_ways, 0, VIEWS);
    tcase_add_loop_test(view, versions_hold_through_views, 0, VIEWS);
    tcase_add_test(view, views_outlive_their_origin);
    tcase_add_test(view, copies_share_nothing);
    tcase_add_test(view, contiguity_forgives_sizes_0_and_1);
    TCase *dims = heed_case(suite, "dims");
    tcase_add_test(dims, transpose_exchanges_any_two);
    tcase_add_test(dims, expand_repeats);
    tcase_add_test(dims, squeeze_and_unsqueeze);
    tcase_add_loop_test(dims, permute_takes_any_order, 0, HEED_DTYPES);
    tcase_add_loop_test(dims, flatten_joins_dims, 0, HEED_DTYPES);
    tcase_add_loop_test(dims, unflatten_cuts_a_dim, 0, HEED_DTYPES);
}
