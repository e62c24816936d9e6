/* Using a graph: a second backward, kept gradients, values changed in place. */
#include "tensor/tensor.h"
#include "tests/common/engine_util.h"

/* ---- retained and freed graphs ---- */

START_TEST(retained_gradients)
{
    heed_tensor *x = LEAF(1, 2);
    heed_tensor *h = heed_mul(x, x), *plain = heed_mul_scalar(h, 3);
    ck_assert_ptr_eq(heed_retain_grad(h), h);
    heed_tensor *y = heed_sum(plain);
    heed_backward_retain(y);
    EXPECT_VALUES(h->grad, 0, 3, 3);
    ck_assert_ptr_null(plain->grad);
    heed_backward(y);
    EXPECT_VALUES(h->grad, 0, 6, 6);
    EXPECT_VALUES(x->grad, 0, 12, 24);
    heed_retain_grad(x); /* no effect: leaves keep theirs anyway */
    heed_clear_grad(x);
    heed_backward(sum_of_squares(x));
    EXPECT_VALUES(x->grad, 0, 2, 4);
    heed_retain_grad(heed_detach(x));
    expect_error(HEED_ERR_GRAPH, "does not require a gradient");
}
END_TEST

START_TEST(a_graph_is_used_up)
{
    heed_tensor *x = LEAF(1, 2), *y = sum_of_squares(x);
    heed_backward_retain(y);
    heed_backward_retain(y);
    heed_backward(y);
    EXPECT_VALUES(x->grad, 0, 6, 12);
    heed_backward(y);
    expect_error(HEED_ERR_GRAPH, "backward: the graph through sum () was used up");
    heed_backward_retain(y);
    expect_error(HEED_ERR_GRAPH, "heed_backward_retain the first time");
    EXPECT_VALUES(x->grad, 0, 6, 12);
}
END_TEST

START_TEST(a_partly_used_up_graph)
{
    heed_tensor *x = LEAF(1, 2), *z = LEAF(3, 4);
    heed_tensor *h = heed_exp(x);
    heed_backward(heed_sum(h));
    heed_tensor *fresh = heed_mul(z, z), *both = heed_sum(heed_mul(fresh, h)), *dh;
    heed_backward(both);
    expect_error(HEED_ERR_GRAPH, "exp (2) was used up");
    ck_assert_ptr_null(z->grad);
    heed_backward_retain(heed_sum(fresh)); /* the new part is intact */
    EXPECT_VALUES(z->grad, 0, 6, 8);
    heed_grad(both, &h, 1, &dh, false); /* the graph behind h is not needed */
    EXPECT_VALUES(dh, 0, 9, 16);
}
END_TEST

/* ---- versions ---- */

static void expect_moved(heed_tensor *y, const char *operation)
{
    ck_assert_int_eq(heed_backward(y), HEED_ERR_VERSION);
    expect_error(HEED_ERR_VERSION, operation);
}

static void expect_counts(const heed_tensor *t, int references, int uses)
{
    ck_assert_int_eq(t->references, references);
    ck_assert_int_eq(t->uses, uses);
}

/* The counts that docs/autograd.md gives for tanh(w x + b): references to handles and uses of
 * values. */
START_TEST(counts_are_as_documented)
{
    heed_tensor *w = LEAF(0.5), *x = LEAF(2), *b = LEAF(-0.4);
    heed_scope forward;
    heed_scope_begin(&forward);
    heed_tensor *mul = heed_mul(w, x), *add = heed_add(mul, b), *y = heed_tanh(add);
    const heed_tensor *all[] = {y, add, mul};
    for (int i = 0; i < 3; i++) { /* the thread's list, newest first */
        ck_assert_ptr_eq(i == 0 ? heed_self.tensors : all[i - 1]->next, all[i]);
    }
    expect_counts(w, 2, 2);
    expect_counts(x, 2, 2);
    expect_counts(b, 2, 1);
    expect_counts(mul, 2, 1);
    expect_counts(add, 2, 1);
    expect_counts(y, 1, 2);
    y = heed_scope_end_with(&forward, y);
    expect_counts(mul, 1, 0);
    ck_assert_ptr_null(mul->storage);
    expect_counts(add, 1, 0);
    ck_assert_ptr_null(add->storage);
    expect_counts(y, 1, 2);
    heed_backward(y);
    expect_counts(y, 1, 1);
    expect_counts(w, 2, 1);
    EXPECT_VALUES(b->grad, 1e-4, 0.7116);
    EXPECT_VALUES(w->grad, 1e-4, 1.4232);
    EXPECT_VALUES(x->grad, 1e-4, 0.3558);
}
END_TEST

START_TEST(a_saved_value_must_not_change)
{
    heed_tensor *x = LEAF(1, 2), *w = LEAF(3, 4), *y = heed_sum(heed_mul(x, w));
    heed_data_f64(w)[0] = 5;
    expect_moved(y, "derivative of mul");
    ck_assert(x->grad == NULL && w->grad == NULL);
    y = heed_sum(heed_exp(x));
    heed_uniform_into(x, 0, 1); /* exp's derivative reads its result, not x */
    ck_assert_int_eq(heed_backward(y), HEED_OK);
    heed_tensor *h = heed_exp(x);
    y = heed_sum(h);
    heed_copy_into(h, w);
    expect_moved(y, "derivative of exp");
    heed_backward(heed_sum(heed_mul(x, w)));
    expect_no_error();
}
END_TEST

START_TEST(other_values_may_change)
{
    heed_tensor *x = LEAF(1, 2), *c = heed_ones(HEED_SHAPE(2), HEED_F64);
    heed_tensor *sum = heed_add(x, c), *y = heed_sum(heed_neg(sum));
    heed_fill_into(x, 7);
    heed_fill_into(c, 7);
    heed_fill_into(sum, 7);
    ck_assert_int_eq(heed_backward(y), HEED_OK);
    EXPECT_VALUES(x->grad, 0, -1, -1);
    y = heed_sum(heed_mul(x, c)); /* c requires no gradient, so x is not read */
    heed_fill_into(x, 8);
    ck_assert_int_eq(heed_backward_retain(y), HEED_OK);
    heed_fill_into(x, 9); /* after a backward any value may change */
    ck_assert_int_eq(heed_backward_retain(y), HEED_OK);
    heed_fill_into(c, 9);
    expect_moved(y, "derivative of mul");
    const double read = heed_const_data_f64(x)[0] + heed_item(heed_sum(x));
    ck_assert_double_eq(read, 9 + 18);
}
END_TEST

/* Each function that changes the elements of a tensor raises its version. */
START_TEST(every_change_raises_the_version)
{
    for (int way = 0; way < 6; way++) {
        heed_tensor *w = LEAF(1, 2), *t = heed_ones(HEED_SHAPE(2), HEED_F64);
        heed_tensor *y = heed_sum(heed_mul(w, t));
        way == 0   ? (void)heed_fill_into(t, 2)
        : way == 1 ? (void)heed_copy_into(t, w)
        : way == 2 ? heed_share_storage(t, heed_ones(HEED_SHAPE(2), HEED_F64))
        : way == 3 ? (void)heed_data_f64(t)
        : way == 4 ? (void)heed_uniform_into(t, 0, 1)
                   : (void)heed_normal_into(t, 0, 1);
        expect_no_error();
        expect_moved(y, "derivative of mul");
    }
}
END_TEST

START_TEST(a_moved_version_stops_grad)
{
    heed_tensor *x = LEAF(1, 2), *dx = x, *h = heed_mul(x, x), *y = heed_sum(heed_mul(h, h));
    heed_fill_into(h, 1);
    heed_grad(y, &x, 1, &dx, true);
    expect_error(HEED_ERR_VERSION, "grad: a value that the derivative of mul");
    ck_assert_ptr_null(dx);
    heed_grad(y = heed_sum(heed_mul(x, x)), &x, 1, &dx, true);
    heed_fill_into(x, 3);
    heed_backward(heed_sum(heed_mul(dx, dx))); /* the gradient's graph reads x as well */
    expect_no_error();
    EXPECT_VALUES(x->grad, 0, 8, 16);
}
END_TEST

/* ---- gradients set by the user ---- */

/* .grad is a copy: it never has a graph, and two tensors may be each other's gradient. */
START_TEST(a_given_gradient_has_no_graph)
{
    heed_tensor *x = LEAF(1, 2), *y = LEAF(3, 4);
    heed_set_grad(x, heed_mul(y, y));
    ck_assert(!x->grad->requires_grad && x->grad->op == NULL);
    EXPECT_VALUES(x->grad, 0, 9, 16);
    heed_set_grad(x, y);
    heed_set_grad(y, x);
    heed_set_grad(x, x->grad);
    EXPECT_VALUES(x->grad, 0, 3, 4);
    EXPECT_VALUES(y->grad, 0, 1, 2);
    heed_set_grad(y, y);
    EXPECT_VALUES(y->grad, 0, 3, 4);
    ck_assert_ptr_ne(y->grad->storage, y->storage);
    heed_fail_allocation(0);
    heed_set_grad(x, y->grad);
    expect_error(HEED_ERR_MEMORY, "");
    EXPECT_VALUES(x->grad, 0, 3, 4);
}
END_TEST

void add_saved_cases(Suite *suite)
{
    TCase *uses = heed_case(suite, "reusing_graphs");
    tcase_add_test(uses, retained_gradients);
    tcase_add_test(uses, a_graph_is_used_up);
    tcase_add_test(uses, a_partly_used_up_graph);
    tcase_add_test(uses, counts_are_as_documented);
    TCase *given = heed_case(suite, "given_gradients");
    tcase_add_test(given, a_given_gradient_has_no_graph);
    TCase *versions = heed_case(suite, "versions");
    tcase_add_test(versions, a_saved_value_must_not_change);
    tcase_add_test(versions, other_values_may_change);
    tcase_add_test(versions, every_change_raises_the_version);
    tcase_add_test(versions, a_moved_version_stops_grad);
}
