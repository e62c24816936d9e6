/* Flattened parameters and gradients: layout, shared memory, and training on them. */
#include <math.h>

#include "tests/common/test_util.h"

static heed_tensor_list listed(heed_tensor **tensors, int count)
{
    return (heed_tensor_list){count, tensors, NULL};
}

static heed_tensor *leaf(heed_tensor *x)
{
    return heed_set_requires_grad(x, true);
}

/* (2, 2), one that the loss does not reach (3), a scalar, an empty one (0, 2). */
enum { LEAVES = 4 };
static heed_tensor_list four_leaves(heed_tensor **ps)
{
    ps[0] = leaf(heed_from_f32((float[]){1, 2, 3, 4}, HEED_SHAPE(2, 2)));
    ps[1] = leaf(heed_ones(HEED_SHAPE(3), HEED_F32));
    ps[2] = leaf(heed_scalar(5, HEED_F32));
    ps[3] = leaf(heed_zeros(HEED_SHAPE(0, 2), HEED_F32));
    return listed(ps, LEAVES);
}

/* Its gradients are 2 p, and 3. */
static heed_tensor *loss_of(heed_tensor **ps)
{
    return heed_add(heed_sum(heed_mul(ps[0], ps[0])), heed_mul_scalar(ps[2], 3));
}

/* ---- heed_flatten_grads ---- */

START_TEST(gradients_stand_in_the_order_of_the_list)
{
    heed_tensor *ps[LEAVES];
    const heed_tensor_list list = four_leaves(ps);
    heed_backward(loss_of(ps));
    heed_tensor *flat = heed_flatten_grads(list);
    EXPECT_VALUES(flat, 0, 2, 4, 6, 8, 0, 0, 0, 3);
    ck_assert(flat->ndim == 1 && flat->op == NULL && !flat->requires_grad);
    for (int i = 0; i < LEAVES; i++) {
        const heed_tensor *p = ps[i], *g = p->grad;
        ck_assert(g->storage == flat->storage && heed_is_contiguous(g) && g->op == NULL);
        expect_shape(g, heed_shape_of_tensor(p));
    }
    heed_tensor *again = heed_flatten_grads(list); /* flat is then unused */
    EXPECT_VALUES(again, 0, 2, 4, 6, 8, 0, 0, 0, 3);
    ck_assert_ptr_ne(again->storage, flat->storage);
    ck_assert_int_eq(flat->storage->references, 1);
}
END_TEST

START_TEST(what_is_done_to_the_tensor_is_done_to_the_gradients)
{
    heed_tensor *ps[LEAVES];
    const heed_tensor_list list = four_leaves(ps);
    heed_backward(loss_of(ps));
    heed_tensor *flat = heed_flatten_grads(list);
    heed_data_f32(flat)[4] = 40;
    heed_scale_into(flat, 0.5);
    EXPECT_VALUES(ps[0]->grad, 0, 1, 2, 3, 4);
    EXPECT_VALUES(ps[1]->grad, 0, 20, 0, 0);
    EXPECT_VALUES(ps[2]->grad, 0, 1.5);
    heed_backward(loss_of(ps));
    EXPECT_VALUES(flat, 0, 3, 6, 9, 12, 20, 0, 0, 4.5);
    heed_clear_grad(ps[0]); /* releases the view only */
    heed_backward(loss_of(ps));
    EXPECT_VALUES(ps[0]->grad, 0, 2, 4, 6, 8);
    EXPECT_VALUES(flat, 0, 3, 6, 9, 12, 20, 0, 0, 7.5);
}
END_TEST

/* The tensor belongs to the scope; the gradients keep its memory alive. */
START_TEST(gradients_outlive_the_tensor)
{
    heed_tensor *ps[LEAVES];
    const heed_tensor_list list = four_leaves(ps);
    heed_scope step;
    heed_scope_begin(&step);
    heed_backward(loss_of(ps));
    heed_flatten_grads(list);
    heed_scope_end(&step);
    EXPECT_VALUES(ps[0]->grad, 0, 2, 4, 6, 8);
    EXPECT_VALUES(ps[2]->grad, 0, 3);
}
END_TEST

/* Flattened once and zeroed at each step, the tensor collects all gradients. */
START_TEST(flattened_once_it_serves_all_steps)
{
    heed_tensor *ps[LEAVES];
    heed_tensor *flat = heed_retain(heed_flatten_grads(four_leaves(ps)));
    EXPECT_VALUES(flat, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    for (int i = 0; i < 3; i++) {
        heed_fill_into(flat, 0);
        heed_backward(loss_of(ps));
        EXPECT_VALUES(flat, 0, 2, 4, 6, 8, 0, 0, 0, 3);
    }
    heed_release(flat);
}
END_TEST

/* A vector of parameters needs none that are trained. */
START_TEST(a_list_without_parameters_is_an_error)
{
    ck_assert_ptr_null(heed_parameters_to_vector((heed_tensor_list){0}));
    ck_assert_str_eq(heed_error_message(), "parameters_to_vector: no parameters");
    expect_error(HEED_ERR_VALUE, "");
    ck_assert_ptr_null(heed_flatten_grads((heed_tensor_list){0}));
    ck_assert_str_eq(heed_error_message(), "flatten_grads: no parameters that require a gradient; "
                                           "call heed_set_requires_grad");
    expect_error(HEED_ERR_VALUE, "");
}
END_TEST

START_TEST(what_is_not_trained_is_left_out)
{
    heed_tensor *ps[LEAVES], *ids = heed_arange(0, 4, 1, HEED_I64);
    four_leaves(ps);
    heed_backward(loss_of(ps));
    heed_set_requires_grad(ps[0], false);
    heed_tensor *some[] = {ids, ps[0], ps[2]};
    EXPECT_VALUES(heed_flatten_grads(listed(some, 3)), 0, 3);
    ck_assert_ptr_null(ids->grad);
    EXPECT_VALUES(ps[0]->grad, 0, 2, 4, 6, 8);
}
END_TEST

/* ---- training on it ---- */

static struct heed_multihead_attention *model(void)
{
    heed_manual_seed(7);
    return heed_multihead_attention_new(8, 2);
}

static void train(struct heed_multihead_attention *m, bool flatten)
{
    heed_optimizer *adamw = heed_adamw_new(heed_parameters(m), 0.01, 0.1);
    for (int i = 0; i < 5; i++) {
        heed_scope step;
        heed_scope_begin(&step);
        heed_tensor *x = heed_randn(HEED_SHAPE(5, 3, 8), HEED_F32);
        heed_tensor *y = heed_multihead_attention_forward(m, x, x, x);
        heed_backward(heed_sum(heed_mul(y, y)));
        if (flatten) {
            heed_flatten_grads(heed_parameters(m));
        }
        heed_clip_grad_norm(heed_parameters(m), 1);
        heed_optimizer_step(adamw);
        heed_zero_grad(m);
        heed_scope_end(&step);
    }
    heed_optimizer_free(adamw);
}

START_TEST(clipping_and_steps_give_the_same_bits)
{
    heed_tensor *trained[2];
    for (int i = 0; i < 2; i++) {
        struct heed_multihead_attention *m = model();
        train(m, i == 1);
        trained[i] = heed_detach(heed_parameters_to_vector(heed_parameters(m)));
        heed_module_free(m);
    }
    expect_no_error();
    expect_close(trained[0], trained[1], 0);
}
END_TEST

/* ---- parameters ---- */

START_TEST(parameters_go_to_a_vector_and_back)
{
    heed_tensor *ps[LEAVES];
    const heed_tensor_list list = four_leaves(ps);
    heed_tensor *vec = heed_parameters_to_vector(list);
    EXPECT_VALUES(vec, 0, 1, 2, 3, 4, 1, 1, 1, 5);
    heed_backward(heed_sum(heed_mul(vec, vec)));
    EXPECT_VALUES(ps[0]->grad, 0, 2, 4, 6, 8);
    heed_tensor *other = heed_arange(10, 18, 1, HEED_F32);
    ck_assert_int_eq(heed_vector_to_parameters(other, list), HEED_OK);
    heed_fill_into(other, 0); /* they share no memory */
    EXPECT_VALUES(ps[0], 0, 10, 11, 12, 13);
    EXPECT_VALUES(ps[1], 0, 14, 15, 16);
    EXPECT_VALUES(ps[2], 0, 17);
    EXPECT_VALUES(ps[0]->grad, 0, 2, 4, 6, 8);
    heed_tensor *strided = heed_slice(heed_arange(0, 16, 1, HEED_F32), 0, 0, 16, 2);
    heed_vector_to_parameters(strided, list);
    EXPECT_VALUES(heed_parameters_to_vector(list), 0, 0, 2, 4, 6, 8, 10, 12, 14);
}
END_TEST

START_TEST(a_vector_that_does_not_fit_changes_nothing)
{
    heed_tensor *ps[LEAVES];
    const heed_tensor_list list = four_leaves(ps);
    heed_vector_to_parameters(heed_zeros(HEED_SHAPE(9), HEED_F32), list);
    expect_error(HEED_ERR_SHAPE, "vector_to_parameters: vec is (9), but the parameters need (8)");
    heed_vector_to_parameters(heed_zeros(HEED_SHAPE(8), HEED_F64), list);
    expect_error(HEED_ERR_DTYPE, "vector_to_parameters: vec is f64");
    EXPECT_VALUES(heed_parameters_to_vector(list), 0, 1, 2, 3, 4, 1, 1, 1, 5);
}
END_TEST

/* ---- failing allocations ---- */

/* Each allocation fails in turn: gradients keep their values, and missing ones stay missing or
 * become zeros. */
START_TEST(without_memory_gradients_keep_their_values)
{
    heed_tensor *ps[LEAVES], *flat = NULL;
    const heed_tensor_list list = four_leaves(ps);
    heed_backward(loss_of(ps));
    for (int i = 0; flat == NULL; i++) {
        ck_assert_int_lt(i, 200);
        heed_fail_allocation(i);
        flat = heed_flatten_grads(list);
        heed_fail_allocation(-1);
        ck_assert(flat != NULL || heed_error() == HEED_ERR_MEMORY);
        EXPECT_VALUES(ps[0]->grad, 0, 2, 4, 6, 8);
        EXPECT_VALUES(ps[2]->grad, 0, 3);
    }
    EXPECT_VALUES(flat, 0, 2, 4, 6, 8, 0, 0, 0, 3);
}
END_TEST

START_TEST(without_memory_there_is_no_vector)
{
    heed_tensor *ps[LEAVES], *vec = NULL;
    const heed_tensor_list list = four_leaves(ps);
    for (int i = 0; vec == NULL; i++) {
        ck_assert_int_lt(i, 200);
        heed_fail_allocation(i);
        vec = heed_parameters_to_vector(list);
        heed_fail_allocation(-1);
        ck_assert(vec != NULL || heed_error() == HEED_ERR_MEMORY);
    }
    EXPECT_VALUES(vec, 0, 1, 2, 3, 4, 1, 1, 1, 5);
}
END_TEST

void add_flatten_cases(Suite *suite)
{
    TCase *flat = heed_case(suite, "flatten");
    tcase_add_test(flat, gradients_stand_in_the_order_of_the_list);
    tcase_add_test(flat, what_is_done_to_the_tensor_is_done_to_the_gradients);
    tcase_add_test(flat, gradients_outlive_the_tensor);
    tcase_add_test(flat, flattened_once_it_serves_all_steps);
    tcase_add_test(flat, what_is_not_trained_is_left_out);
    tcase_add_test(flat, a_list_without_parameters_is_an_error);
    tcase_add_test(flat, clipping_and_steps_give_the_same_bits);
    tcase_add_test(flat, parameters_go_to_a_vector_and_back);
    tcase_add_test(flat, a_vector_that_does_not_fit_changes_nothing);
    tcase_add_test(flat, without_memory_gradients_keep_their_values);
    tcase_add_test(flat, without_memory_there_is_no_vector);
}
