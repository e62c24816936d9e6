/* Which views share memory, and what changes in place do to them. */
#include "tensor/tensor.h"
#include "tests/common/reference.h"

/* Shape and strides of a tensor, and a new shape: torch's view exists, or it is a copy. */
static const struct reshape {
    heed_shape shape, strides, to;
    bool is_view;
} reshapes[] = {
    {{2, {2, 3}}, {2, {3, 1}}, {3, {3, 1, 2}}, true},
    {{2, {2, 3}}, {2, {1, 2}}, {1, {6}}, false},
    {{2, {2, 3}}, {2, {6, 2}}, {2, {6, 1}}, true},
    {{2, {2, 4}}, {2, {1, 2}}, {3, {2, 2, 2}}, true},
    {{2, {4, 2}}, {2, {1, 4}}, {2, {2, 4}}, false},
    {{3, {2, 3, 4}}, {3, {24, 4, 1}}, {2, {2, 12}}, true},
    {{3, {2, 3, 4}}, {3, {24, 4, 1}}, {2, {6, 4}}, false},
    {{3, {2, 1, 3}}, {3, {3, 99, 1}}, {1, {6}}, true},
    {{2, {1, 4}}, {2, {7, 2}}, {2, {2, 2}}, true},
    {{2, {3, 2}}, {2, {0, 1}}, {1, {6}}, false},
    {{2, {3, 2}}, {2, {0, 1}}, {3, {3, 1, 2}}, true},
    {{1, {4}}, {1, {0}}, {3, {1, 2, 2}}, true},
    {{2, {0, 3}}, {2, {17, 5}}, {2, {0, 7}}, true},
    {{0, {0}}, {0, {0}}, {2, {1, 1}}, true},
    {{2, {1, 1}}, {2, {5, 9}}, {0, {0}}, true},
};
enum { RESHAPES = sizeof reshapes / sizeof *reshapes };

START_TEST(reshape_decides_as_torch)
{
    const struct reshape *row = &reshapes[_i];
    heed_tensor *memory = heed_arange(0, 100, 1, HEED_F32);
    heed_tensor *x =
        heed_tensor_view("x", memory, row->shape.ndim, row->shape.size, row->strides.size, 0);
    for (int i = -1; i < (x->numel > 0 ? row->to.ndim : 0); i++) { /* each size as -1, too */
        heed_shape to = row->to;
        to.size[i < 0 ? HEED_MAX_DIMS - 1 : i] = -1;
        heed_tensor *y = heed_reshape(x, to);
        expect_kind(y, HEED_F32, row->to);
        ck_assert((y->storage == x->storage) == row->is_view);
        float before[100], after[100];
        heed_copy_out(x, before, x->numel);
        heed_copy_out(y, after, x->numel);
        ck_assert_mem_eq(before, after, (size_t)x->numel * sizeof(float));
    }
}
END_TEST

/* Views of a (4, 4) tensor, each with the index of its first element. */
enum { VIEWS = 10 };
static heed_tensor *nth_view(heed_tensor *x, int way, heed_shape *first)
{
    static const heed_shape firsts[VIEWS] = {{2, {0, 0}}, {2, {0, 0}}, {2, {0, 0}}, {2, {2, 0}},
                                             {2, {0, 3}}, {2, {2, 0}}, {2, {0, 2}}, {2, {0, 0}},
                                             {2, {0, 1}}, {2, {1, 0}}};
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
    case 7:
        return heed_transpose(heed_squeeze(heed_unsqueeze(x, 1), 1), 0, 1);
    case 8:
        return heed_slice(x, 1, 1, 4, 2);
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
    ck_assert(heed_detach(view)->storage == view->storage);
    ck_assert(heed_expand(view, HEED_SHAPE(2, 4))->storage == view->storage);
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

/* More dims than a small tensor's. */
START_TEST(views_of_eight_dims)
{
    heed_tensor *x = noise((heed_shape){8, {1, 2, 1, 3, 1, 2, 1, 4}}, HEED_F32, STEPPED, 2);
    heed_tensor *rows = heed_contiguous(x),
                *y = heed_permute(x, HEED_DIMS(7, -3, 3, 1, 0, 2, 4, 6));
    expect_kind(y, HEED_F32, (heed_shape){8, {4, 2, 3, 2, 1, 1, 1, 1}});
    ck_assert(heed_equal(heed_permute(y, HEED_DIMS(4, 3, 5, 2, 6, 1, 7, 0)), rows));
    ck_assert(heed_equal(heed_transpose(x, 1, 7), heed_transpose(rows, 1, 7)));
    ck_assert(heed_equal(heed_slice(x, 3, 1, 3, 1), heed_slice(rows, 3, 1, 3, 1)));
    ck_assert(heed_equal(heed_squeeze(x, 4), heed_squeeze(rows, 4)));
    ck_assert(heed_equal(heed_expand(heed_squeeze(x, 0), heed_shape_of_tensor(x)), rows));
}
END_TEST

void add_view_cases(Suite *suite)
{
    TCase *view = heed_case(suite, "view");
    tcase_add_loop_test(view, reshape_decides_as_torch, 0, RESHAPES);
    tcase_add_loop_test(view, changes_pass_through_views_both_ways, 0, VIEWS);
    tcase_add_loop_test(view, versions_hold_through_views, 0, VIEWS);
    tcase_add_test(view, views_outlive_their_origin);
    tcase_add_test(view, copies_share_nothing);
    tcase_add_test(view, contiguity_forgives_sizes_0_and_1);
    tcase_add_test(view, views_of_eight_dims);
}
