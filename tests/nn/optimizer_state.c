/* The state dict of an optimiser. parity_optimisers.c compares its values with PyTorch's;
 * tests/nn/training.c tests files. */
#include <math.h>
#include <string.h>

#include "tensor/handle.h"
#include "tests/common/test_util.h"

static heed_tensor *parameter(double a, double b)
{
    return heed_set_requires_grad(heed_from_f64((double[]){a, b}, HEED_SHAPE(2)), true);
}

static heed_tensor *state_of(heed_tensor_list list, const char *name)
{
    for (int i = 0; i < list.count; i++) {
        if (strcmp(list.names[i], name) == 0) {
            return list.tensors[i];
        }
    }
    ck_abort_msg("no %s", name);
}

START_TEST(sgd_by_name)
{
    heed_tensor *ps[] = {parameter(1, 2), parameter(3, 4)};
    const heed_tensor_list list = {2, ps, (const char *const[]){"w", "layer.b"}};
    heed_optimizer *sgd = heed_sgd_new(list, 0.5);
    sgd->momentum = 0.5;
    heed_backward(heed_sum(ps[1]));
    heed_optimizer_step(sgd);
    const heed_tensor_list state = heed_optimizer_state_dict(sgd);
    ck_assert_int_eq(state.count, 7 + 2 * 2);
    ck_assert_int_eq(heed_item_i64(state_of(state, "SGD.steps")), 1);
    EXPECT_VALUES(state_of(state, "SGD.lr"), 0, 0.5);
    EXPECT_VALUES(state_of(state, "state.layer.b.momentum_buffer"), 0, 1, 1);
    EXPECT_VALUES(state_of(state, "state.w.momentum_buffer"), 0, 0, 0);
    ck_assert_int_eq(heed_item_i64(state_of(state, "state.w.step")), 0);
    ck_assert_int_eq(heed_item_i64(state_of(state, "state.layer.b.step")), 1);
    EXPECT_VALUES(state_of(state, "SGD.momentum"), 0, 0.5);
    heed_optimizer_free(sgd);
}
END_TEST

/* State moves to another optimiser, and to itself. */
START_TEST(state_moves)
{
    heed_tensor *ps[] = {parameter(1, 2), parameter(3, 4)};
    heed_tensor *qs[] = {parameter(1, 2), parameter(3, 4)};
    const heed_tensor_list p = {2, ps, (const char *const[]){"a", "b"}};
    const heed_tensor_list q = {2, qs, p.names};
    heed_optimizer *from = heed_adam_new(p, 0.5), *to = heed_adam_new(q, 0.1);
    heed_backward(heed_sum(heed_mul(heed_mul(ps[0], ps[0]), ps[1])));
    heed_optimizer_step(from);
    heed_share_storage(qs[0], heed_detach(heed_clone(ps[0])));
    heed_share_storage(qs[1], heed_detach(heed_clone(ps[1])));
    ck_assert_int_eq(heed_optimizer_load_state_dict(to, heed_optimizer_state_dict(from)), HEED_OK);
    ck_assert_int_eq(heed_optimizer_load_state_dict(to, heed_optimizer_state_dict(to)), HEED_OK);
    ck_assert(to->lr == 0.5 && to->steps == 1);
    heed_backward(heed_sum(heed_mul(heed_mul(qs[0], qs[0]), qs[1])));
    heed_optimizer_zero_grad(from);
    heed_backward(heed_sum(heed_mul(heed_mul(ps[0], ps[0]), ps[1])));
    heed_optimizer_step(from);
    heed_optimizer_step(to);
    expect_close(qs[0], ps[0], 0);
    expect_close(qs[1], ps[1], 0);
    heed_optimizer_free(from);
    heed_optimizer_free(to);
}
END_TEST

/* Steps cannot be loaded that could not be counted on. */
START_TEST(counts_of_steps_do_not_overflow)
{
    const int64_t most = INT64_C(1) << 53;
    heed_tensor *p = parameter(1, 2);
    heed_optimizer *o = heed_adam_new((heed_tensor_list){1, &p, (const char *const[]){"p"}}, 0.5);
    const heed_tensor_list state = heed_optimizer_state_dict(o);
    heed_tensor *all = state_of(state, "Adam.steps"), *own = state_of(state, "state.p.step");
    *heed_data_i64(all) = *heed_data_i64(own) = most;
    ck_assert_int_eq(heed_optimizer_load_state_dict(o, state), HEED_OK);
    step_with_gradient(o, heed_ones_like(p));
    EXPECT_VALUES(p, 1e-6, 1 - 0.05 / sqrt(1e-3), 2 - 0.05 / sqrt(1e-3));
    ck_assert(o->steps == most + 1 && o->slots[0].steps == most + 1);
    *heed_data_i64(all) = most + 1;
    heed_optimizer_load_state_dict(o, state);
    expect_error(HEED_ERR_VALUE, "9007199254740993 steps; the number must be in [0, 2^53]");
    heed_optimizer_free(o);
}
END_TEST

START_TEST(state_that_does_not_fit)
{
    heed_tensor *p = parameter(1, 2), *q = parameter(1, 2);
    heed_optimizer *adam = heed_adam_new((heed_tensor_list){1, &p, NULL}, 0.5);
    heed_optimizer *adamw = heed_adamw_new((heed_tensor_list){1, &q, NULL}, 0.5, 0.1);
    heed_optimizer_load_state_dict(adam, heed_optimizer_state_dict(adamw));
    expect_error(HEED_ERR_VALUE, "optimizer_load_state_dict: 10 tensors do not fit the 10 of this "
                                 "Adam; tensor 0 must be Adam.steps ()");
    heed_tensor_list state = heed_optimizer_state_dict(adam);
    state.count--;
    heed_optimizer_load_state_dict(adam, state);
    expect_error(HEED_ERR_VALUE, "9 tensors do not fit the 10 of this Adam");
    heed_optimizer_load_state_dict(adam, (heed_tensor_list){1, &p, NULL});
    expect_error(HEED_ERR_VALUE, "1 tensors do not fit the 10 of this Adam");
    state = heed_optimizer_state_dict(adam);
    heed_tensor *tensors[10];
    memcpy(tensors, state.tensors, sizeof tensors);
    tensors[9] = heed_zeros(HEED_SHAPE(3), HEED_F64);
    heed_optimizer_load_state_dict(adam, (heed_tensor_list){10, tensors, state.names});
    expect_error(HEED_ERR_VALUE, "tensor 9 must be state.0.exp_avg_sq (2)");
    heed_optimizer_free(adam);
    heed_optimizer_free(adamw);
}
END_TEST

START_TEST(a_list_without_memory)
{
    heed_tensor *p = parameter(1, 2);
    heed_optimizer *adam = heed_adam_new((heed_tensor_list){1, &p, NULL}, 0.5);
    for (int n = 0;; n++) {
        heed_fail_allocation(n);
        const heed_tensor_list state = heed_optimizer_state_dict(adam);
        heed_fail_allocation(-1);
        if (!heed_error_pending()) {
            ck_assert_int_gt(n, 4);
            ck_assert_int_eq(state.count, 7 + 3);
            break;
        }
        expect_error(HEED_ERR_MEMORY, "out of memory");
        ck_assert_int_eq(state.count, 0);
    }
    heed_optimizer_free(adam);
}
END_TEST

void add_optimizer_state_cases(Suite *suite)
{
    TCase *state = heed_case(suite, "state");
    tcase_add_test(state, sgd_by_name);
    tcase_add_test(state, state_moves);
    tcase_add_test(state, counts_of_steps_do_not_overflow);
    tcase_add_test(state, state_that_does_not_fit);
    tcase_add_test(state, a_list_without_memory);
}
