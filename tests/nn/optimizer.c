/* Optimisers in typical use. parity_optimisers.c compares their steps with PyTorch's. */
#include <math.h>
#include <stdio.h>

#include "tensor/tensor.h"
#include "tests/common/test_util.h"

static heed_tensor *parameter(void)
{
    return heed_set_requires_grad(heed_from_f64((double[]){1, -0.5, 0.25, 2}, HEED_SHAPE(4)), true);
}

/* A parameter without a gradient is unchanged, and its step count does not advance. */
START_TEST(test_without_gradient)
{
    heed_tensor *both[] = {parameter(), parameter()};
    heed_optimizer *adam = heed_adam_new((heed_tensor_list){2, both, NULL}, 0.1);
    heed_backward(heed_sum(both[0]));
    heed_optimizer_step(adam);
    EXPECT_VALUES(both[0], 1e-7, 0.9, -0.6, 0.15, 1.9);
    EXPECT_VALUES(both[1], 0, 1, -0.5, 0.25, 2);
    heed_optimizer_zero_grad(adam);
    ck_assert_ptr_null(both[0]->grad);
    heed_backward(heed_sum(both[1]));
    heed_optimizer_step(adam);
    EXPECT_VALUES(both[1], 1e-7, 0.9, -0.6, 0.15, 1.9);
    heed_optimizer_free(adam);
}
END_TEST

/* With betas of 0 a step depends only on the sign of its gradient. The numbers are PyTorch's. */
START_TEST(test_adam_without_memory)
{
    static const double gradients[] = {1e8, 1, -2};
    static const double steps[] = {-0.1, -0.2, -0.1};
    heed_tensor *p = heed_set_requires_grad(heed_zeros(HEED_SCALAR, (heed_dtype)_i), true);
    heed_optimizer *adam = heed_adam_new((heed_tensor_list){1, &p, NULL}, 0.1);
    adam->betas[0] = adam->betas[1] = 0;
    for (int t = 0; t < 3; t++) {
        heed_optimizer_zero_grad(adam);
        heed_backward(heed_mul_scalar(p, gradients[t]));
        heed_optimizer_step(adam);
        EXPECT_VALUES(p, 1e-6, steps[t]);
    }
    heed_optimizer_free(adam);
}
END_TEST

/* Options are fields: a step refuses those that the constructor would. */
START_TEST(test_options_are_checked_at_each_step)
{
    heed_tensor *p = parameter();
    heed_optimizer *adam = heed_adam_new((heed_tensor_list){1, &p, NULL}, 0.1);
    double *const fields[] = {&adam->lr, &adam->weight_decay, &adam->momentum, &adam->eps};
    const char *const names[] = {"lr", "weight_decay", "momentum", "eps"};
    for (int i = 0; i < 4; i++) {
        const double right = *fields[i];
        char words[60];
        snprintf(words, sizeof words, "optimizer_step: %s is -1", names[i]);
        *fields[i] = -1;
        step_with_gradient(adam, heed_ones_like(p));
        expect_error(HEED_ERR_VALUE, words);
        *fields[i] = right;
    }
    adam->betas[1] = 1;
    step_with_gradient(adam, heed_ones_like(p));
    expect_error(HEED_ERR_VALUE, "optimizer_step: betas 0.9 and 1");
    ck_assert_int_eq(adam->steps, 0);
    heed_optimizer_free(adam);
}
END_TEST

/* A step changes values in place, so a backward that still needs the old ones fails. */
START_TEST(test_step_raises_the_version)
{
    heed_tensor *p = parameter();
    heed_optimizer *sgd = heed_sgd_new((heed_tensor_list){1, &p, NULL}, 1);
    heed_tensor *loss = heed_sum(heed_mul(p, p));
    heed_backward_retain(loss);
    heed_optimizer_step(sgd);
    ck_assert_int_eq(heed_backward(loss), HEED_ERR_VERSION);
    expect_error(HEED_ERR_VERSION, "mul");
    heed_optimizer_free(sgd);
}
END_TEST

/* As in torch, the buffer begins with the first gradient after momentum was switched on, even if
 * its state has been saved before. */
START_TEST(test_momentum_may_begin_later)
{
    heed_tensor *p = parameter(), *g = heed_ones_like(p);
    heed_optimizer *sgd = heed_sgd_new((heed_tensor_list){1, &p, NULL}, 1);
    step_with_gradient(sgd, g);
    EXPECT_VALUES(p, 0, 0, -1.5, -0.75, 1);
    sgd->momentum = 0.5;
    make_moments(sgd);
    step_with_gradient(sgd, g);
    EXPECT_VALUES(p, 0, -1, -2.5, -1.75, 0);
    step_with_gradient(sgd, g);
    EXPECT_VALUES(p, 0, -2.5, -4, -3.25, -1.5);
    EXPECT_VALUES(sgd->slots[0].state[0], 0, 1.5, 1.5, 1.5, 1.5);
    heed_optimizer_free(sgd);
}
END_TEST

/* Sizes around the edges of work items, empty, and enough for several threads: the same bits for
 * any number of threads. */
START_TEST(test_threads_change_no_bit)
{
    static const int64_t sizes[] = {1, 2047, 2048, 0, 2049, 70001, 5, 40000};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    const int before = heed_get_num_threads();
    heed_tensor *ps[COUNT], *first[COUNT];
    for (int threads = 1; threads <= 3; threads++) {
        heed_set_num_threads(threads);
        heed_manual_seed(1);
        for (int i = 0; i < COUNT; i++) {
            const heed_shape shape = HEED_SHAPE(sizes[i]);
            ps[i] = heed_set_requires_grad(heed_randn(shape, (heed_dtype)_i), true);
            heed_set_grad(ps[i], heed_randn(shape, (heed_dtype)_i));
        }
        const heed_tensor_list list = {COUNT, ps, NULL};
        heed_optimizer *adam = heed_adam_new(list, 0.1);
        heed_optimizer *sgd = heed_sgd_new(list, 0.1);
        sgd->momentum = 0.9;
        for (int step = 0; step < 3; step++) {
            heed_clip_grad_norm(list, 100.0 / (step + 1));
            heed_optimizer_step(adam);
            heed_optimizer_step(sgd);
        }
        expect_no_error();
        heed_optimizer_free(adam);
        heed_optimizer_free(sgd);
        for (int i = 0; i < COUNT; i++) {
            first[i] = threads == 1 ? ps[i] : first[i];
            expect_same_bits(ps[i], first[i]);
        }
    }
    heed_set_num_threads(before);
}
END_TEST

/* A parameter that was cast after its first step no longer fits its state; nothing is updated. */
START_TEST(test_cast_parameters_are_refused)
{
    heed_tensor *ps[] = {parameter(), parameter()};
    heed_optimizer *adam = heed_adam_new((heed_tensor_list){2, ps, NULL}, 0.1);
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 2; i++) {
            heed_set_grad(ps[i], heed_ones_like(ps[i]));
        }
        ck_assert_int_eq(heed_optimizer_step(adam), step == 0 ? HEED_OK : HEED_ERR_SHAPE);
        if (step == 0) {
            heed_share_storage(ps[1], heed_to(heed_detach(ps[1]), HEED_F32));
        }
    }
    expect_error(HEED_ERR_SHAPE, "optimizer_step: parameter 1, now f32 (4), must be contiguous");
    EXPECT_VALUES(ps[0], 1e-7, 0.9, -0.6, 0.15, 1.9);
    heed_optimizer_free(adam);
}
END_TEST

/* The schedule at its ends; huge counts do not overflow. */
START_TEST(test_rates_stay_at_the_end)
{
    const int64_t last = INT64_MAX;
    ck_assert_double_eq(heed_warmup_cosine_lr(last, 0.5, 0, 1, 0.125), 0.125);
    ck_assert_double_eq(heed_warmup_cosine_lr(7, 0.5, last - 1, last, 0), 0.5 * 8 / 0x1p63);
    ck_assert_double_eq(heed_warmup_cosine_lr(49, 3e-4, 10, 49, 3e-5), 3e-5);
    ck_assert_double_eq(heed_warmup_cosine_lr(10, 3e-4, 10, 49, 3e-5), 3e-4);
    ck_assert_double_eq(heed_warmup_cosine_lr(4, 1e308, 0, 4, -1e308), -1e308);
    heed_fail(HEED_ERR_VALUE, "test: this");
    ck_assert(isnan(heed_warmup_cosine_lr(0, 0.1, 1, 2, 1)));
    expect_error(HEED_ERR_VALUE, "test: this");
}
END_TEST

void add_optimizer_cases(Suite *suite)
{
    TCase *use = heed_case(suite, "use");
    tcase_add_test(use, test_without_gradient);
    tcase_add_loop_test(use, test_adam_without_memory, HEED_F32, HEED_F64 + 1);
    tcase_add_test(use, test_step_raises_the_version);
    tcase_add_test(use, test_momentum_may_begin_later);
    tcase_add_test(use, test_options_are_checked_at_each_step);
    tcase_add_loop_test(use, test_threads_change_no_bit, HEED_F32, HEED_F64 + 1);
    tcase_add_test(use, test_cast_parameters_are_refused);
    tcase_add_test(use, test_rates_stay_at_the_end);
}
