/* dropout as PyTorch's of tensors in every layout, and rejected arguments. */

#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/reference.h"

struct dropped {
    uint64_t seed;
    double p;
    heed_shape shape;
    int64_t strides[HEED_MAX_DIMS];
    float scale;
    const char *kept;
};

#include "tests/fixtures/dropout.h"

enum { DROPPED = sizeof dropped / sizeof *dropped };

static heed_tensor *wanted(heed_tensor *x)
{
    return heed_set_requires_grad(x, true);
}

static heed_tensor *view_of(const heed_tensor *t, heed_shape shape, const int64_t *strides)
{
    return heed_tensor_view("view", t, shape.ndim, shape.size, strides, 0);
}

static void check_dropped(const struct dropped *r, heed_dtype dtype)
{
    heed_tensor *memory = noise(HEED_SHAPE(400), dtype, ROWS, r->seed);
    heed_tensor *x = wanted(view_of(memory, r->shape, r->strides)), *dx;
    heed_manual_seed(r->seed);
    heed_tensor *y = heed_dropout(x, r->p, true);
    expect_kind(heed_detach(y), dtype, r->shape);
    heed_grad(heed_sum(y), &x, 1, &dx, false);
    const double scale = dtype == HEED_F32 ? (double)r->scale : 1 / (1 - r->p);
    for (heed_shape at = first_index(r->shape); at.ndim >= 0; next_index(r->shape, &at)) {
        const int64_t i = rank(r->shape, at);
        const double factor = r->kept[i] == '1' ? scale : 0;
        expect_element("dropout", element(y, at), factor * element(x, at), ROUNDED_ONCE, dtype);
        expect_element("ddropout", element(dx, at), factor, 0, dtype);
    }
}

START_TEST(dropped_as_torch_does)
{
    check_dropped(&dropped[_i], HEED_F32);
    check_dropped(&dropped[_i], HEED_F64);
}
END_TEST

static bool same_state(const heed_generator *a)
{
    const heed_generator b = heed_get_generator();
    return a->next == b.next && memcmp(a->state, b.state, sizeof b.state) == 0;
}

START_TEST(nothing_is_drawn_where_nothing_is_left_to_chance)
{
    heed_manual_seed(1);
    const heed_generator before = heed_get_generator();
    for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
        heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), dtype),
                    *none = heed_ones(HEED_SHAPE(0), dtype);
        ck_assert_ptr_eq(heed_dropout(x, 0, true), x);
        ck_assert_ptr_eq(heed_dropout(x, 0.5, false), x);
        ck_assert_ptr_eq(heed_dropout(x, 1, false), x);
        ck_assert_ptr_eq(heed_dropout(none, 0.5, true), none);
    }
    const heed_shape four = HEED_SHAPE(4);
    heed_tensor *x = wanted(heed_from_f32((float[]){1, INFINITY, NAN, -2}, four)), *dx;
    heed_tensor *upstream = heed_from_f32((float[]){1, 1, 1, INFINITY}, four);
    heed_tensor *y = heed_dropout(x, 1, true);
    EXPECT_VALUES(y, 0, 0, (double)NAN, (double)NAN, 0); /* x times 0, as in torch */
    heed_grad(heed_sum(heed_mul(y, upstream)), &x, 1, &dx, false);
    EXPECT_VALUES(dx, 0, 0, 0, 0, (double)NAN);
    ck_assert(same_state(&before));
}
END_TEST

START_TEST(each_call_draws_anew)
{
    heed_manual_seed(3);
    heed_tensor *x = heed_ones(HEED_SHAPE(64), HEED_F32);
    heed_tensor *first = heed_dropout(x, 0.5, true), *second = heed_dropout(x, 0.5, true);
    ck_assert(!heed_equal(first, second));
    heed_manual_seed(3);
    ck_assert(heed_equal(heed_dropout(x, 0.5, true), first));
}
END_TEST

START_TEST(dropout_refuses_and_draws_nothing)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_F32);
    static const double outside[] = {-0.1, 1.1, (double)NAN, HUGE_VAL};
    const heed_generator before = heed_get_generator();
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_null(heed_dropout(x, outside[i], i % 2 == 0));
        expect_error(HEED_ERR_VALUE, "dropout: p is");
    }
    for (heed_dtype dtype = HEED_I64; dtype < HEED_DTYPES; dtype++) {
        ck_assert_ptr_null(heed_dropout(heed_to(x, dtype), 0.5, true));
        expect_error(HEED_ERR_DTYPE, "not a float; heed_to(x, HEED_F32)");
    }
    ck_assert(same_state(&before));
    heed_tensor *t = heed_transpose(x, 0, 1), *y = NULL;
    int failures = 0;
    for (; y == NULL; failures++) {
        heed_fail_allocation(failures);
        y = heed_dropout(t, 0.5, true);
        heed_fail_allocation(-1);
        ck_assert(y != NULL || heed_error() == HEED_ERR_MEMORY);
    }
    ck_assert_int_gt(failures, 3);
}
END_TEST

void add_dropout_cases(Suite *suite)
{
    TCase *dropout = heed_case(suite, "dropout");
    tcase_add_loop_test(dropout, dropped_as_torch_does, 0, DROPPED);
    tcase_add_test(dropout, nothing_is_drawn_where_nothing_is_left_to_chance);
    tcase_add_test(dropout, each_call_draws_anew);
    tcase_add_test(dropout, dropout_refuses_and_draws_nothing);
}
