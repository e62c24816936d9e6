/* Updates of several parameters in one call: the same bits as one after the other, for any number
 * of threads. */
#include <string.h>

#include "tests/common/test_util.h"

/* Sizes around the edges of work items, empty, and enough for several threads. */
static const int64_t sizes[] = {1, 2047, 2048, 0, 2049, 70001, 5, 40000};
enum { COUNT = sizeof sizes / sizeof *sizes, MOST_THREADS = 3 };

/* The same numbers at each call. */
static void make(heed_update *all, heed_dtype dtype)
{
    heed_manual_seed(1);
    for (int i = 0; i < COUNT; i++) {
        const heed_shape shape = HEED_SHAPE(sizes[i]);
        all[i].p = heed_randn(shape, dtype);
        all[i].g = heed_randn(shape, dtype);
        all[i].b = heed_randn(shape, dtype);
        all[i].m = heed_randn(shape, dtype);
        all[i].v = heed_rand(shape, dtype);
    }
}

static const heed_adam_step adam = {
    .lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1, .t = 3};
static const heed_sgd_step sgd = {
    .lr = 0.01, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true};

/* The expected result: one call after the other, on one thread. */
static void update_each(heed_update *all, bool by_adam)
{
    heed_set_num_threads(1);
    for (int i = 0; i < COUNT; i++) {
        const heed_update *u = &all[i];
        if (by_adam) {
            adam_update(u->p, u->g, u->m, u->v, &adam);
        } else {
            sgd_update(u->p, u->g, u->b, &sgd);
        }
    }
}

START_TEST(test_all_at_once)
{
    const bool by_adam = _i % 2;
    const heed_dtype dtype = _i < 2 ? HEED_F32 : HEED_F64;
    const int before = heed_get_num_threads();
    heed_update expected[COUNT], all[COUNT];
    make(expected, dtype);
    update_each(expected, by_adam);
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        heed_set_num_threads(threads);
        make(all, dtype);
        const heed_status status = by_adam ? heed_adam_update_all(all, COUNT, &adam)
                                           : heed_sgd_update_all(all, COUNT, &sgd);
        ck_assert_int_eq(status, HEED_OK);
        for (int i = 0; i < COUNT; i++) {
            expect_same_bits(all[i].p, expected[i].p);
            expect_same_bits(all[i].b, expected[i].b);
            expect_same_bits(all[i].m, expected[i].m);
            expect_same_bits(all[i].v, expected[i].v);
        }
    }
    heed_set_num_threads(before);
}
END_TEST

START_TEST(test_scaled_at_once)
{
    const int before = heed_get_num_threads();
    heed_update expected[COUNT], all[COUNT];
    heed_tensor *tensors[COUNT];
    make(expected, HEED_F32);
    for (int i = 0; i < COUNT; i++) {
        tensors[i] = expected[i].p;
        heed_scale_into(expected[i].p, 0.3);
    }
    const double norm = heed_get_total_norm((const heed_tensor *const *)tensors, COUNT, 2);
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        heed_set_num_threads(threads);
        make(all, HEED_F32);
        for (int i = 0; i < COUNT; i++) {
            tensors[i] = all[i].p;
        }
        ck_assert_int_eq(heed_scale_all_into(tensors, COUNT, 0.3), HEED_OK);
        for (int i = 0; i < COUNT; i++) {
            expect_same_bits(all[i].p, expected[i].p);
        }
        ck_assert(heed_get_total_norm((const heed_tensor *const *)tensors, COUNT, 2) == norm);
    }
    heed_set_num_threads(before);
}
END_TEST

START_TEST(empty_tensors_have_no_norm)
{
    const heed_tensor *tensors[] = {heed_zeros(HEED_SHAPE(0), HEED_F32),
                                    heed_full(HEED_SHAPE(3), -5, HEED_F32)};
    ck_assert(heed_get_total_norm(tensors, 2, -(double)INFINITY) == 5);
    ck_assert(heed_get_total_norm(tensors, 1, -(double)INFINITY) == 0);
}
END_TEST

/* More parameters than fit into one call, some without a gradient, some first updated at the second
 * step. */
START_TEST(test_many_parameters)
{
    enum { MANY = 150 };
    heed_tensor *parameters[MANY], *alone[MANY];
    for (int i = 0; i < MANY; i++) {
        parameters[i] = heed_set_requires_grad(heed_full(HEED_SHAPE(3), i, HEED_F64), true);
        alone[i] = heed_set_requires_grad(heed_full(HEED_SHAPE(3), i, HEED_F64), true);
    }
    heed_optimizer *all = heed_adam_new((heed_tensor_list){MANY, parameters, NULL}, 0.1);
    heed_optimizer *each[MANY];
    for (int i = 0; i < MANY; i++) {
        each[i] = heed_adam_new((heed_tensor_list){1, &alone[i], NULL}, 0.1);
    }
    for (int step = 0; step < 3; step++) {
        heed_optimizer_zero_grad(all);
        for (int i = 0; i < MANY; i++) {
            heed_optimizer_zero_grad(each[i]);
            if (i % 3 != step) {
                heed_set_grad(parameters[i], heed_full(HEED_SHAPE(3), step + 1, HEED_F64));
                heed_set_grad(alone[i], heed_full(HEED_SHAPE(3), step + 1, HEED_F64));
            }
            ck_assert_int_eq(heed_optimizer_step(each[i]), HEED_OK);
        }
        ck_assert_int_eq(heed_optimizer_step(all), HEED_OK);
    }
    for (int i = 0; i < MANY; i++) {
        expect_same_bits(parameters[i], alone[i]);
        heed_optimizer_free(each[i]);
    }
    heed_optimizer_free(all);
}
END_TEST

START_TEST(test_none_after_an_error)
{
    heed_update all[COUNT], before[COUNT];
    make(all, HEED_F32);
    make(before, HEED_F32);
    all[COUNT - 1].g = heed_ones(HEED_SHAPE(7), HEED_F32);
    ck_assert_int_eq(heed_adam_update_all(all, COUNT, &adam), HEED_ERR_SHAPE);
    expect_error(HEED_ERR_SHAPE, "adam_update: p (40000) and g (7)");
    ck_assert_int_eq(heed_sgd_update_all(all, COUNT, &sgd), HEED_ERR_SHAPE);
    expect_error(HEED_ERR_SHAPE, "sgd_update: p (40000) and g (7)");
    all[COUNT - 1].g = before[COUNT - 1].g;
    all[COUNT - 1].b = all[COUNT - 1].m = heed_ones(HEED_SHAPE(8), HEED_F32);
    ck_assert_int_eq(heed_adam_update_all(all, COUNT, &adam), HEED_ERR_SHAPE);
    expect_error(HEED_ERR_SHAPE, "adam_update: p (40000) and m (8)");
    ck_assert_int_eq(heed_sgd_update_all(all, COUNT, &sgd), HEED_ERR_SHAPE);
    expect_error(HEED_ERR_SHAPE, "sgd_update: p (40000) and b (8)");
    for (int i = 0; i < COUNT - 1; i++) {
        expect_same_bits(all[i].p, before[i].p);
        expect_same_bits(all[i].m, before[i].m);
    }
    expect_same_bits(all[COUNT - 1].p, before[COUNT - 1].p);
    ck_assert_int_eq(heed_adam_update_all(NULL, 0, &adam), HEED_OK);
}
END_TEST

void add_optim_update_cases(Suite *suite)
{
    TCase *update = heed_case(suite, "update");
    tcase_add_loop_test(update, test_all_at_once, 0, 4);
    tcase_add_test(update, test_scaled_at_once);
    tcase_add_test(update, empty_tensors_have_no_norm);
    tcase_add_test(update, test_many_parameters);
    tcase_add_test(update, test_none_after_an_error);
}
