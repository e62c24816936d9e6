/* Parameter groups and gradient accumulation. */

#include "tests/common/test_util.h"

static heed_tensor *parameter(void)
{
    return heed_set_requires_grad(heed_from_f64((double[]){1, -0.5}, HEED_SHAPE(2)), true);
}

/* ---- groups ---- */

START_TEST(matrices_decay)
{
    struct heed_multihead_attention *m = heed_multihead_attention_new(4, 2);
    const heed_tensor_list all = heed_parameters(m), decay = heed_decay_parameters(m);
    const heed_tensor_list rest = heed_no_decay_parameters(m);
    ck_assert_int_eq(decay.count, 2);
    ck_assert_str_eq(decay.names[0], "in_proj_weight");
    ck_assert_str_eq(decay.names[1], "out_proj.weight");
    ck_assert_int_eq(rest.count, 2);
    ck_assert_str_eq(rest.names[0], "in_proj_bias");
    ck_assert_str_eq(rest.names[1], "out_proj.bias");
    ck_assert_int_eq(all.count, 4);
    ck_assert_ptr_eq(heed_parameters(m).tensors, all.tensors);
    heed_module_free(m);
    struct heed_linear *l = heed_linear_new_with(3, 4, (heed_linear_options){.no_bias = true});
    ck_assert_int_eq(heed_decay_parameters(l).count, 1);
    ck_assert_int_eq(heed_no_decay_parameters(l).count, 0);
    heed_optimizer *sgd = heed_sgd_new(heed_decay_parameters(l), 0.1);
    ck_assert_int_eq(heed_add_param_group(sgd, heed_no_decay_parameters(l)), HEED_OK);
    ck_assert_int_eq(sgd->group_count, 2);
    heed_backward(heed_sum(l->weight));
    ck_assert_int_eq(heed_optimizer_step(sgd), HEED_OK);
    heed_optimizer_free(sgd);
    heed_module_free(l);
}
END_TEST

/* A group without its own learning rate follows the optimiser's until one is set. */
START_TEST(rates_of_groups)
{
    heed_tensor *ps[] = {parameter(), parameter(), parameter()};
    heed_optimizer *sgd = heed_sgd_new((heed_tensor_list){1, &ps[0], NULL}, 1);
    heed_param_group slower = heed_optimizer_defaults(sgd);
    slower.own_lr = true;
    slower.lr = 0.5;
    heed_add_param_group_with(sgd, (heed_tensor_list){1, &ps[1], NULL}, slower);
    heed_add_param_group(sgd, (heed_tensor_list){1, &ps[2], NULL});
    ck_assert(!sgd->groups[0].own_lr && !sgd->groups[2].own_lr);
    ck_assert(sgd->groups[1].own_lr && sgd->groups[1].lr == 0.5);
    for (int i = 0; i < 3; i++) {
        heed_backward(heed_sum(ps[i]));
    }
    sgd->lr = 0.25;
    heed_optimizer_step(sgd);
    EXPECT_VALUES(ps[0], 0, 0.75, -0.75);
    EXPECT_VALUES(ps[1], 0, 0.5, -1);
    EXPECT_VALUES(ps[2], 0, 0.75, -0.75);
    sgd->groups[2].own_lr = true;
    sgd->groups[2].lr = 0;
    sgd->groups[0].weight_decay = 4;
    heed_optimizer_step(sgd);
    EXPECT_VALUES(ps[0], 0, -0.25, -0.25);
    EXPECT_VALUES(ps[1], 0, 0, -1.5);
    EXPECT_VALUES(ps[2], 0, 0.75, -0.75);
    heed_optimizer_zero_grad(sgd);
    ck_assert_ptr_null(ps[2]->grad);
    const heed_tensor_list state = heed_optimizer_state_dict(sgd);
    sgd->groups[0].own_lr = true;
    sgd->groups[1].own_lr = sgd->groups[2].own_lr = false;
    ck_assert_int_eq(heed_optimizer_load_state_dict(sgd, state), HEED_OK);
    ck_assert(!sgd->groups[0].own_lr && sgd->groups[1].own_lr && sgd->groups[2].own_lr);
    ck_assert(sgd->groups[1].lr == 0.5 && sgd->groups[2].lr == 0);
    heed_optimizer_free(sgd);
}
END_TEST

/* Options of the other kind of optimiser. */
START_TEST(options_must_fit)
{
    heed_tensor *ps[] = {parameter(), parameter()};
    const heed_tensor_list rest = {1, &ps[1], NULL};
    heed_optimizer *sgd = heed_sgd_new((heed_tensor_list){1, ps, NULL}, 1);
    heed_optimizer *adam = heed_adam_new((heed_tensor_list){1, ps, NULL}, 1);
    for (int i = 0; i < 3; i++) {
        heed_param_group options = heed_optimizer_defaults(sgd);
        *(i == 0 ? &options.betas[0] : i == 1 ? &options.betas[1] : &options.eps) = 0.5;
        heed_add_param_group_with(sgd, rest, options);
        expect_error(HEED_ERR_VALUE, "add_param_group: SGD has no betas or eps");
        options = heed_optimizer_defaults(adam);
        options.momentum = i == 0 ? 0.5 : 0;
        options.dampening = i == 1 ? 0.5 : 0;
        options.nesterov = i == 2;
        heed_add_param_group_with(adam, rest, options);
        expect_error(HEED_ERR_VALUE,
                     "add_param_group: Adam has no momentum, dampening or nesterov");
    }
    heed_optimizer_free(sgd);
    heed_optimizer_free(adam);
}
END_TEST

/* If adding a group fails, the optimiser is unchanged. */
START_TEST(a_group_is_added_or_not)
{
    for (int n = 0;; n++) {
        heed_tensor *ps[] = {parameter(), parameter(), parameter()};
        heed_optimizer *adam = heed_adam_new((heed_tensor_list){1, ps, NULL}, 0.1);
        const heed_tensor_list rest = {2, ps + 1, (const char *const[]){"a", "b"}};
        heed_add_param_group(adam, (heed_tensor_list){2, ps, NULL});
        expect_error(HEED_ERR_VALUE, "Adam: parameter 0 was already added");
        heed_fail_allocation(n);
        const heed_status status = heed_add_param_group(adam, rest);
        heed_fail_allocation(-1);
        if (status != HEED_OK) {
            expect_error(HEED_ERR_MEMORY, "out of memory");
            ck_assert_int_eq(adam->group_count, 1);
            heed_add_param_group(adam, rest);
        }
        ck_assert_int_eq(adam->group_count, 2);
        heed_backward(heed_sum(heed_mul(ps[1], ps[2])));
        heed_optimizer_step(adam);
        EXPECT_VALUES(ps[1], 1e-7, 0.9, -0.4);
        heed_optimizer_free(adam);
        if (status == HEED_OK) {
            ck_assert_int_gt(n, 3);
            break;
        }
    }
}
END_TEST

/* ---- gradient accumulation ---- */

/* The loss of some rows in a small attention model; rows do not affect each other. */
static heed_tensor *loss_of(struct heed_self_attention *m, heed_tensor *tokens,
                            heed_tensor *targets)
{
    return heed_mse_loss(heed_self_attention_forward(m, tokens, NULL), targets);
}

/* k backward passes of a loss / k give the gradients of the whole batch. */
START_TEST(parts_of_a_batch_add_up)
{
    enum { ROWS = 12, PARTS = 4 };
    heed_manual_seed(3);
    struct heed_self_attention *m = heed_self_attention_new(8, -2, -1);
    heed_module_to(m, HEED_F64);
    heed_tensor *tokens = heed_randn(HEED_SHAPE(ROWS, 5, 8), HEED_F64);
    heed_tensor *targets = heed_randn(HEED_SHAPE(ROWS, 5, 8), HEED_F64);
    const heed_tensor_list ps = heed_parameters(m);
    heed_tensor *whole[8];
    heed_backward(loss_of(m, tokens, targets));
    for (int i = 0; i < ps.count; i++) {
        whole[i] = heed_clone(ps.tensors[i]->grad);
    }
    heed_zero_grad(m);
    for (int64_t i = 0; i < PARTS; i++) {
        const int64_t rows = ROWS / PARTS;
        heed_scope part;
        heed_scope_begin(&part);
        heed_tensor *loss = loss_of(m, heed_narrow(tokens, 0, i * rows, rows),
                                    heed_narrow(targets, 0, i * rows, rows));
        heed_backward(heed_div_scalar(loss, PARTS));
        heed_scope_end(&part);
    }
    ck_assert_int_eq(ps.count, 3);
    for (int i = 0; i < ps.count; i++) {
        expect_close(ps.tensors[i]->grad, whole[i], 1e-15);
        ck_assert_double_gt(heed_item(heed_norm(whole[i], 2)), 1e-3);
    }
    heed_module_free(m);
}
END_TEST

void add_param_groups_cases(Suite *suite)
{
    TCase *groups = heed_case(suite, "groups");
    tcase_add_test(groups, matrices_decay);
    tcase_add_test(groups, rates_of_groups);
    tcase_add_test(groups, options_must_fit);
    tcase_add_test(groups, a_group_is_added_or_not);
    tcase_add_test(groups, parts_of_a_batch_add_up);
}
