/* Scopes: ownership, handing out and release of tensors; references and uses; the grad mode. */
#include <math.h>
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/test_util.h"

/* of a tensor with one dim */
enum { HANDLE = sizeof(heed_tensor) + sizeof(heed_storage) + 2 * sizeof(int64_t) };

static heed_tensor *leaf(heed_shape shape)
{
    return heed_set_requires_grad(heed_ones(shape, HEED_F32), true);
}

/* ---- what a scope owns ---- */

START_TEST(a_scope_lets_go_of_all_it_owns)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *x = heed_ones(HEED_SHAPE(100), HEED_F32);
    heed_add(x, heed_mul_scalar(x, 2));
    heed_transpose(heed_ones(HEED_SHAPE(1, 2, 3, 4, 5, 6, 7, 8), HEED_I64), 0, -1);
    ck_assert_int_eq(heed_live_tensors(), tensors + 5);
    ck_assert_int_gt(heed_live_bytes(), bytes + 3 * 400 + 40320 * 8);
    ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

START_TEST(keep_hands_a_tensor_to_the_scope_outside)
{
    const int64_t tensors = heed_live_tensors();
    heed_scope outer, inner;
    heed_scope_begin(&outer);
    heed_scope_begin(&inner);
    heed_tensor *one = heed_scalar(1, HEED_F32), *kept = heed_scalar(2, HEED_F32);
    heed_tensor *far = heed_scalar(3, HEED_F32), *last = heed_scalar(4, HEED_F32);
    ck_assert_ptr_eq(heed_scope_keep(&inner, kept), kept);
    ck_assert_ptr_eq(heed_scope_keep(&inner, kept), kept); /* it is not of inner any more */
    ck_assert_ptr_eq(heed_scope_keep(&outer, far), far);   /* two scopes out at once */
    heed_add(one, last);
    heed_scope_end(&inner);
    ck_assert_int_eq(heed_live_tensors(), tensors + 2);
    EXPECT_VALUES(heed_add(kept, far), 0, 5);
    heed_scope_end(&outer);
    ck_assert_int_eq(heed_live_tensors(), tensors + 1);
    EXPECT_VALUES(far, 0, 3);
}
END_TEST

START_TEST(keep_returns_what_is_not_of_the_scope)
{
    heed_tensor *outside = heed_scalar(1, HEED_F32);
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *parameter = heed_retain(heed_scalar(2, HEED_F32));
    heed_scope_end(&scope);
    heed_scope_begin(&scope);
    ck_assert_ptr_eq(heed_scope_keep(&scope, outside), outside);
    ck_assert_ptr_eq(heed_scope_keep(&scope, parameter), parameter);
    ck_assert_ptr_eq(heed_scope_end_with(&scope, parameter), parameter);
    EXPECT_VALUES(heed_add(outside, parameter), 0, 3);
    ck_assert_int_eq(parameter->references, 1); /* the retain alone: no scope took it in */
    heed_release(parameter);
}
END_TEST

START_TEST(end_with_ends_the_scope_after_an_error_too)
{
    const int64_t tensors = heed_live_tensors();
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_F32);
    ck_assert_ptr_null(
        heed_scope_end_with(&scope, heed_matmul(x, heed_ones(HEED_SCALAR, HEED_F32))));
    ck_assert_int_eq(heed_live_tensors(), tensors);
    expect_error(HEED_ERR_SHAPE, "matmul: (2) x ()");
    heed_scope_begin(&scope);
    ck_assert_ptr_null(heed_scope_end_with(&scope, NULL));
    expect_error(HEED_ERR_NULL, "scope_end_with: t is NULL");
    ck_assert_int_eq(heed_scope_end(&scope), HEED_ERR_SCOPE); /* it has ended */
    expect_error(HEED_ERR_SCOPE, "scope_end: this scope is not open");
}
END_TEST

/* ---- HEED_SCOPE ---- */

enum leave { BY_ITS_END, BY_BREAK, BY_RETURN, BY_END_WITH, LEAVES };

static heed_tensor *leave_by(enum leave leave)
{
    for (int i = 0; i < 1; i++) {
        HEED_SCOPE(outer);
        heed_tensor *x = heed_ones(HEED_SHAPE(100), HEED_F32);
        HEED_SCOPE_NO_GRAD(inner);
        heed_tensor *y = heed_mul(x, x);
        ck_assert(!heed_is_grad_enabled());
        if (leave == BY_BREAK) {
            break;
        }
        if (leave == BY_RETURN) {
            return NULL;
        }
        if (leave == BY_END_WITH) { /* out of both */
            return heed_scope_end_with(&outer, heed_scope_end_with(&inner, y));
        }
    }
    return NULL;
}

START_TEST(a_scope_ends_however_its_block_is_left)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    for (int leave = 0; leave < LEAVES; leave++) {
        heed_scope around;
        heed_scope_begin(&around);
        heed_tensor *y = leave_by(leave);
        expect_no_error();
        ck_assert(heed_is_grad_enabled());
        ck_assert_int_eq(heed_live_tensors(), tensors + (y != NULL));
        ck_assert_int_eq(y != NULL, leave == BY_END_WITH);
        ck_assert_int_eq(heed_scope_end(&around), HEED_OK); /* no other is open */
        ck_assert_int_eq(heed_live_bytes(), bytes);
    }
}
END_TEST

START_TEST(closing_a_scope_that_has_ended_does_nothing)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_F32);
    {
        HEED_SCOPE(scope);
        heed_exp(x);
        ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
        heed_exp(x); /* of the scope outside, and stays */
    }
    expect_no_error();
    {
        heed_scope outer;
        heed_scope_begin(&outer);
        HEED_SCOPE(inner);
        ck_assert_int_eq(heed_scope_end(&outer), HEED_ERR_SCOPE); /* ends inner too, and says so */
        expect_error(HEED_ERR_SCOPE, "scope_end: 1 scope(s) inside this one were still open");
        heed_scope_close(&inner);
    }
    expect_no_error();
}
END_TEST

/* ---- scopes that are not ended, or not in order ---- */

__attribute__((noinline)) static void leave_scopes_open(void)
{
    heed_scope scopes[5];
    for (int i = 0; i < 5; i++) {
        heed_scope_begin(&scopes[i]);
        heed_set_grad_enabled(false);
        heed_add_scalar(heed_ones(HEED_SHAPE(50), HEED_F32), i);
    }
}

__attribute__((noinline)) static void overwrite_the_stack(void)
{
    volatile unsigned char bytes[4096];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = 0xa5;
    }
}

START_TEST(scopes_left_open_in_dead_frames_are_ended)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    heed_scope scope;
    heed_scope_begin(&scope);
    leave_scopes_open();
    overwrite_the_stack();
    ck_assert(!heed_is_grad_enabled());
    ck_assert_int_eq(heed_live_tensors(), tensors + 10);
    ck_assert_int_eq(heed_scope_end(&scope), HEED_ERR_SCOPE);
    expect_error(HEED_ERR_SCOPE, "scope_end: 5 scope(s) inside this one were still open");
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
    ck_assert(heed_is_grad_enabled());
    heed_scope_begin(&scope);
    heed_ones(HEED_SHAPE(50), HEED_F32);
    ck_assert_int_eq(heed_scope_end(&scope), HEED_OK); /* depths fit again */
}
END_TEST

START_TEST(a_scope_ends_once)
{
    heed_scope outer, inner, never = {0}, copy;
    heed_scope_begin(&outer);
    heed_scope_begin(&inner);
    copy = inner;
    heed_tensor *x = heed_scalar(7, HEED_F32);
    ck_assert_int_eq(heed_scope_end(&copy), HEED_ERR_SCOPE);
    expect_error(HEED_ERR_SCOPE, "scope_end: this scope is not open; begin");
    ck_assert_ptr_null(heed_scope_keep(&never, x));
    expect_error(HEED_ERR_SCOPE, "scope_keep: this scope is not open");
    EXPECT_VALUES(x, 0, 7); /* none of that ended anything */
    heed_scope_end(&inner);
    heed_scope_begin(&copy); /* as deep as the one that has ended */
    ck_assert_int_eq(heed_scope_end(&inner), HEED_ERR_SCOPE);
    expect_error(HEED_ERR_SCOPE, "scope_end: this scope is not open");
    heed_scope_end(&outer);
    expect_error(HEED_ERR_SCOPE, "1 scope(s)");
    ck_assert_int_eq(heed_scope_end(&copy), HEED_ERR_SCOPE); /* the outer one ended it */
    expect_error(HEED_ERR_SCOPE, "scope_end: this scope is not open");
}
END_TEST

/* ---- references and uses ---- */

START_TEST(a_retained_tensor_outlives_its_scope)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *x = heed_full(HEED_SHAPE(20), 4, HEED_F32);
    ck_assert_ptr_eq(heed_retain(heed_retain(x)), x);
    ck_assert_int_eq(x->references, 3);
    ck_assert_int_eq(x->retains, 2);
    heed_scope_end(&scope);
    ck_assert_int_eq(x->references, 2);
    ck_assert_int_eq(heed_release(x), HEED_OK);
    ck_assert_double_eq(heed_at(x, HEED_INDEX(19)), 4.0);
    ck_assert_int_eq(heed_live_tensors(), tensors + 1);
    ck_assert_int_eq(heed_release(x), HEED_OK);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

/* In a debug build freed memory holds NaN, and a tensor used after its scope is an error. */
START_TEST(debug_builds_report_freed_tensors)
{
    heed_tensor *x;
    const float *data;
    {
        HEED_SCOPE(inner);
        x = heed_ones(HEED_SHAPE(2, 50), HEED_F32);
        data = heed_const_data_f32(x);
    }
    if (HEED_IS_DEBUG && !HEED_SYSTEM_ALLOCATOR) {
        ck_assert(isnan(data[20]));
        for (int i = 0; i < 100; i++) {
            heed_ones(HEED_SHAPE(2, 50), HEED_F32); /* would use its handle again */
        }
        ck_assert_ptr_null(heed_exp(x));
        expect_error(HEED_ERR_SCOPE, "exp: the value of input 0 (2, 50) has been freed; "
                                     "heed_retain it in its scope");
    }
}
END_TEST

START_TEST(values_that_nothing_will_read_go_before_their_handles)
{
    heed_tensor *x = leaf(HEED_SHAPE(100));
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *read = heed_exp(x), *unread = heed_add_scalar(read, 1);
    heed_tensor *y = heed_sum(unread);
    heed_scope_keep(&scope, y);
    int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    const int64_t value = 400;
    heed_scope_end(&scope);
    ck_assert_int_eq(heed_live_tensors(), tensors); /* the handles are links of y's graph */
    ck_assert_int_eq(heed_live_bytes(), bytes - value);
    ck_assert(unread->storage == NULL && unread->data == NULL);
    ck_assert_ptr_nonnull(read->storage); /* its own derivative reads it */
    heed_backward(y);
    ck_assert_ptr_null(read->storage); /* read, and gone */
    ck_assert_int_eq(heed_live_bytes(), bytes - 2 * value + value + HANDLE);
    ck_assert_double_eq_tol(heed_at(x->grad, HEED_INDEX(99)), 2.718281828, 1e-6);
}
END_TEST

/* ---- grad mode ---- */

START_TEST(the_end_of_a_scope_restores_the_grad_mode)
{
    heed_tensor *x = leaf(HEED_SHAPE(2));
    heed_scope off, inner;
    ck_assert(heed_neg(x)->requires_grad);
    heed_scope_begin(&off);
    ck_assert(heed_set_grad_enabled(false));
    heed_tensor *y = heed_neg(x);
    ck_assert(!heed_is_grad_enabled() && !y->requires_grad && y->input_count == 0);
    heed_scope_begin(&inner); /* inherits */
    ck_assert(!heed_set_grad_enabled(true));
    ck_assert(heed_neg(x)->requires_grad);
    heed_scope_end(&inner);
    ck_assert(!heed_is_grad_enabled());
    heed_scope_end(&off);
    ck_assert(heed_is_grad_enabled());
}
END_TEST

/* ---- without a scope; these run without heed_case, whose scope would be open ---- */

START_TEST(without_a_scope_results_have_no_owner)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *w = heed_retain(leaf(HEED_SHAPE(2))), *dw;
    heed_tensor *loss = heed_retain(heed_sum(heed_mul(w, w)));
    ck_assert_ptr_null(heed_scope_keep(&scope, loss));
    expect_error(HEED_ERR_SCOPE, "scope_keep: no scope is open outside this one; heed_retain");
    heed_scope_end(&scope);
    heed_scope_begin(&scope);
    ck_assert_ptr_eq(heed_scope_keep(&scope, w), w); /* a parameter, which no scope owns */
    heed_scope_end(&scope);
    ck_assert_int_eq(heed_grad(loss, &w, 1, &dw, true), HEED_ERR_SCOPE);
    ck_assert_ptr_null(dw);
    expect_error(HEED_ERR_SCOPE, "grad: no scope is open");
    ck_assert_double_eq(heed_item(loss), 2.0); /* reading needs none */
    ck_assert_int_eq(heed_backward(loss), HEED_OK);
    EXPECT_VALUES(w->grad, 0, 2, 2);
    heed_scope_begin(&scope);
    ck_assert_ptr_eq(heed_scope_keep(&scope, w->grad), w->grad); /* nor does one own its gradient */
    heed_scope_end(&scope);
    heed_release(loss);
    heed_release(w);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

/* ---- errors unwind ---- */

static void fail_inside(void *context)
{
    *(int *)context = heed_self.depth;
    heed_scope left_open;
    heed_scope_begin(&left_open);
    heed_set_grad_enabled(false);
    heed_scratch(1000);
    heed_zeros(HEED_SHAPE(2, 2, 2, 2, 2), HEED_F32);
    heed_self.operation = "inside";
    heed_check_tensor("fail_inside", "x", NULL);
    ck_abort_msg("an error returned");
}

START_TEST(an_error_unwinds_to_its_door)
{
    int depth = 0;
    const int before = heed_self.depth;
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    ck_assert_int_eq(heed_try(fail_inside, &depth), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "fail_inside: x is NULL");
    ck_assert_int_eq(depth, before + 1);
    ck_assert_int_eq(heed_self.depth, before);
    ck_assert(heed_is_grad_enabled() && heed_self.operation == NULL && heed_self.door == NULL);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

void add_scope_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "scope"), *bare = tcase_create("no_scope");
    tcase_add_test(tests, a_scope_lets_go_of_all_it_owns);
    tcase_add_test(tests, keep_hands_a_tensor_to_the_scope_outside);
    tcase_add_test(tests, keep_returns_what_is_not_of_the_scope);
    tcase_add_test(tests, end_with_ends_the_scope_after_an_error_too);
    tcase_add_test(tests, a_scope_ends_however_its_block_is_left);
    tcase_add_test(tests, closing_a_scope_that_has_ended_does_nothing);
    tcase_add_test(tests, scopes_left_open_in_dead_frames_are_ended);
    tcase_add_test(tests, a_scope_ends_once);
    tcase_add_test(tests, a_retained_tensor_outlives_its_scope);
    tcase_add_test(tests, debug_builds_report_freed_tensors);
    tcase_add_test(tests, values_that_nothing_will_read_go_before_their_handles);
    tcase_add_test(tests, the_end_of_a_scope_restores_the_grad_mode);
    tcase_add_test(tests, an_error_unwinds_to_its_door);
    tcase_add_test(bare, without_a_scope_results_have_no_owner);
    suite_add_tcase(suite, bare);
}
