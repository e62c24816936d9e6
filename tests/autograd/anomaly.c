/* Anomaly mode: its findings, and the modules that it names. */
#include <math.h>
#include <string.h>

#include "tests/common/test_util.h"

static void mode_on(void)
{
    heed_set_detect_anomaly(true);
}

static void mode_off(void)
{
    heed_set_detect_anomaly(false);
}

static heed_tensor *row(double a, double b, double c)
{
    return heed_from_f64((double[]){a, b, c}, HEED_SHAPE(1, 3));
}

static heed_tensor *leaf(double a, double b, double c)
{
    return heed_set_requires_grad(row(a, b, c), true);
}

/* ---- NaN and infinity in the forward pass ---- */

START_TEST(forward_is_checked)
{
    const double inf = HUGE_VAL;
    heed_log(leaf(1, 0, 2));
    expect_error(HEED_ERR_ANOMALY, "log: inf in the result (1, 3); clamp or mask");
    heed_sqrt(row(1, 4, -1));
    expect_error(HEED_ERR_ANOMALY, "sqrt: nan in the result (1, 3)");
    heed_div(row(1, 2, 3), row(1, 1, 0));
    expect_error(HEED_ERR_ANOMALY, "div: inf in the result (1, 3)");
    heed_log(row(1, -1, 0));
    expect_error(HEED_ERR_ANOMALY, "log: nan in the result (1, 3)");
    heed_rsqrt(heed_from_i64((int64_t[]){3, 0}, HEED_SHAPE(2)));
    expect_error(HEED_ERR_ANOMALY, "rsqrt: inf in the result (2)");
    heed_exp(heed_transpose(row(1, 2, 1000), 0, 1));
    expect_error(HEED_ERR_ANOMALY, "exp: inf in the result (3, 1)");
    heed_matmul(heed_full(HEED_SHAPE(2, 3), 1e30, HEED_F32),
                heed_full(HEED_SHAPE(3, 1), 1e30, HEED_F32));
    expect_error(HEED_ERR_ANOMALY, "matmul: inf in the result (2, 1)");
    heed_mul_scalar(row(1, -inf, inf), 0);
    expect_error(HEED_ERR_ANOMALY, "mul_scalar: nan in the result (1, 3)");
    heed_softmax(row(-inf, -inf, -inf), -1);
    expect_error(HEED_ERR_ANOMALY, "heed_safe_softmax gives zeros");
    heed_softmax(row(1, inf, 2), -1);
    expect_error(HEED_ERR_ANOMALY, "a row has inf, or only -inf");
    heed_mean(heed_zeros(HEED_SHAPE(0), HEED_F32));
    expect_error(HEED_ERR_ANOMALY, "mean: nan in the result ();");
}
END_TEST

START_TEST(infinite_constants_are_fine)
{
    const double inf = HUGE_VAL;
    heed_tensor *block = heed_causal_block_mask(4), *x = heed_randn(HEED_SHAPE(4, 4), HEED_F32);
    heed_tensor *filled = heed_masked_fill(x, block, -inf);
    heed_softmax(filled, -1);
    heed_log_softmax(filled, -1);
    heed_amax(filled);
    heed_add(x, heed_masked_fill(heed_scalar(0, HEED_F32), block, -inf));
    heed_where(block, heed_full(HEED_SHAPE(4, 4), inf, HEED_F32), x);
    heed_safe_softmax(heed_masked_fill(x, heed_ones(HEED_SHAPE(4, 4), HEED_BOOL), -inf), -1);
    heed_masked_fill(x, block, (double)NAN);
    heed_exp(filled);
    heed_log(row(0, 0.5, 0.5));
    heed_add_scalar(x, -inf);
    heed_mul_scalar(row(1, 2, 3), inf);
    heed_mul_scalar(x, (double)NAN);
    heed_neg(row(inf, (double)NAN, 1)); /* in the data itself */
    heed_logical_not(row(inf, (double)NAN, 1));
    expect_no_error();
}
END_TEST

/* Derivatives and composed functions may compute an infinity that is not selected. */
START_TEST(only_results_are_checked)
{
    heed_tensor *x = leaf(0, 0, 0), *dx[1];
    heed_backward(heed_sum(heed_abs(x)));
    heed_grad(heed_amax(x), &x, 1, dx, true);
    expect_no_error();
}
END_TEST

START_TEST(nothing_is_computed_from_an_anomaly)
{
    heed_tensor *x = leaf(1, -1, 0);
    ck_assert_ptr_null(heed_sum(heed_exp(heed_sqrt(x))));
    ck_assert_int_eq(heed_backward(heed_sum(x)), HEED_ERR_ANOMALY);
    expect_error(HEED_ERR_ANOMALY, "sqrt: nan");
    ck_assert_ptr_null(x->grad);
}
END_TEST

/* ---- in the backward pass ---- */

START_TEST(backward_is_checked)
{
    heed_tensor *x = leaf(4, 0, 1);
    heed_backward(heed_sum(heed_sqrt(x)));
    expect_error(HEED_ERR_ANOMALY,
                 "backward of sqrt: inf in the gradient of input 0 (1, 3); if the derivative");
    ck_assert_ptr_null(x->grad);

    heed_tensor *root = heed_sqrt(x);
    heed_backward(heed_sum(heed_where(heed_gt_scalar(x, 0), root, x)));
    expect_error(HEED_ERR_ANOMALY, "backward of sqrt: nan in the gradient");

    heed_tensor *safe = heed_where(heed_gt_scalar(x, 0), x, row(1, 1, 1));
    heed_backward(heed_sum(heed_where(heed_gt_scalar(x, 0), heed_sqrt(safe), x)));
    expect_no_error();
}
END_TEST

/* Data is not checked, but what it does to gradients. */
START_TEST(nan_in_data_is_found)
{
    heed_tensor *x = leaf(1, 2, 3), *dx[1];
    heed_tensor *loss = heed_sum(heed_mul(x, row(1, (double)NAN, 1)));
    heed_backward_retain(loss);
    expect_error(HEED_ERR_ANOMALY, "backward of mul: nan in the gradient of input 0 (1, 3); if");
    ck_assert_ptr_null(x->grad);
    heed_grad(heed_sum(heed_mul(x, row(1, HUGE_VAL, 1))), &x, 1, dx, false);
    expect_error(HEED_ERR_ANOMALY, "else look for NaN and infinity in the data");
    ck_assert_ptr_null(dx[0]);
}
END_TEST

/* ---- the setting ---- */

START_TEST(the_mode_is_turned_off)
{
    ck_assert(heed_set_detect_anomaly(true));
    ck_assert(heed_set_detect_anomaly(false));
    ck_assert(!heed_set_detect_anomaly(false));
    heed_tensor *x = leaf(0, 1, 4);
    heed_backward(heed_sum(heed_log(heed_sqrt(x))));
    expect_no_error();
    ck_assert(!isfinite(heed_item(heed_sum(x->grad))));
}
END_TEST

/* Nodes with short, long and no arguments, created before and after the mode was turned on. */
START_TEST(the_mode_may_change_within_a_graph)
{
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2, 6), HEED_F64), true), *y = x;
    for (int i = 0; i < 4; i++) {
        heed_set_detect_anomaly(i % 2 == 0);
        y = heed_reshape(heed_permute(y, HEED_DIMS(1, 0)), HEED_SHAPE(4, 3));
        y = heed_sin(heed_relu(heed_add_scalar(heed_cat((heed_tensor *[]){y, y, y}, 3, 0), 1)));
        y = heed_slice(y, 0, 0, 4, 1);
        y = heed_reshape(y, HEED_SHAPE(2, 6));
    }
    heed_backward(heed_sum(y));
    expect_no_error();
}
END_TEST

static void run_without_memory(void (*run)(void *context), void *context, int least)
{
    int n = 0;
    for (bool failed = true; failed; n++) {
        HEED_SCOPE(scope);
        heed_fail_allocation(n);
        run(context);
        heed_fail_allocation(-1);
        failed = heed_error_pending() == HEED_ERR_MEMORY;
        if (failed) {
            expect_error(HEED_ERR_MEMORY, "out of memory");
        }
    }
    ck_assert_int_gt(n, least);
}

static void differentiate(void *context)
{
    heed_tensor *x = context;
    heed_tensor *y = heed_matmul(heed_transpose(x, 0, 1), heed_sqrt(x));
    heed_clear_grad(x);
    heed_backward(heed_sum(heed_expand(heed_sum(y), HEED_SHAPE(2, 3))));
}

START_TEST(without_memory_it_fails_cleanly)
{
    run_without_memory(differentiate, leaf(1, 2, 3), 10);
    expect_no_error();
    run_without_memory(differentiate, leaf(1, 0, 3), 10);
    expect_error(HEED_ERR_ANOMALY, "backward of sqrt");
}
END_TEST

/* ---- module paths ---- */

static heed_text seen;

static heed_tensor *note_path(heed_tensor *x)
{
    seen = heed_module_path();
    return heed_relu(x);
}

typedef heed_tensor *activation(heed_tensor *x);

/* A module that calls a function inside its forward. */
struct calling {
    heed_module module;
    activation *function;
};

static const heed_module_kind calling_kind = {.name = "Calling", .size = sizeof(struct calling)};

static struct calling *calling_new(activation *function)
{
    struct calling *m = heed_module_new(&calling_kind);
    m->function = function;
    return m;
}

static heed_tensor *calling_forward(struct calling *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    heed_scope scope;
    heed_scope_begin(&scope);
    return heed_scope_end_with(&scope, m->function(x));
}

struct twice {
    heed_module module;
    struct heed_module_list *inner;
    struct heed_linear *W;
};

static heed_tensor *twice_forward(void *module, heed_tensor *x)
{
    struct twice *m = module;
    HEED_FORWARD(m);
    return heed_sqrt(
        note_path(heed_linear_forward(m->W, calling_forward(heed_module_list_at(m->inner, 0), x))));
}

static const heed_module_kind twice_kind = {
    .name = "Twice", .size = sizeof(struct twice), .forward = twice_forward};

static struct twice *twice_new(activation *function)
{
    struct twice *m = heed_module_new(&twice_kind);
    heed_add_child(m, "inner", &m->inner, heed_module_list_new());
    heed_module_list_append(m->inner, calling_new(function));
    heed_add_child(m, "W", &m->W, heed_linear_new(3, 3));
    return m;
}

static void expect_path(const char *path)
{
    const heed_text found = heed_module_path();
    ck_assert_str_eq(found.text, path);
}

START_TEST(paths_are_the_names_of_the_state_dict)
{
    struct twice *m = twice_new(note_path);
    expect_path("");
    heed_linear_forward(m->W, row(1, 2, 3));
    ck_assert_int_eq(heed_error(), HEED_ERR_DTYPE);
    heed_module_to(m, HEED_F64);
    heed_fill_into(m->W->weight, 0);
    calling_forward(heed_module_list_at(m->inner, 0), row(1, 2, 3));
    ck_assert_str_eq(seen.text, "Twice.inner.0");
    heed_forward(m, row(1, 2, 3));
    ck_assert_str_eq(seen.text, "Twice");
    expect_path("");
    heed_linear_forward(NULL, row(1, 2, 3));
    ck_assert_int_eq(heed_error(), HEED_ERR_NULL);
    expect_path("");
    expect_no_error();
    heed_module_free(m);
}
END_TEST

START_TEST(long_paths_omit_their_first_names)
{
    struct heed_module_list *list = heed_module_list_new(), *inner;
    heed_module *root = &list->module;
    char name[100];
    memset(name, 'a', 99);
    name[99] = '\0';
    for (int i = 0; i < 2; i++, list = inner) {
        inner = heed_module_list_new();
        heed_add_child(list, name, NULL, inner);
    }
    {
        HEED_FORWARD(list);
        const heed_text path = heed_module_path();
        ck_assert_str_eq(path.text + 1, name);
        ck_assert_int_eq(*path.text, '.');
    }
    heed_module_free(root);
}
END_TEST

START_TEST(errors_name_the_module)
{
    struct twice *m = twice_new(heed_relu); /* the graph may outlive the module */
    heed_fill_into(heed_state(m, "W.weight"), 0);
    heed_fill_into(heed_state(m, "W.bias"), 0);
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_F32);
    heed_tensor *loss = heed_sum(heed_forward(m, x));
    expect_no_error();
    heed_module_free(m);
    heed_backward(loss);
    expect_error(HEED_ERR_ANOMALY, "backward of sqrt in Twice: inf in the gradient");
}
END_TEST

/* Nothing is reported, and the losses are the same to the bit. */
START_TEST(healthy_training_is_unchanged)
{
    double losses[2];
    for (int on = 0; on < 2; on++) {
        HEED_SCOPE(scope);
        heed_set_detect_anomaly(on != 0);
        heed_manual_seed(3);
        struct heed_self_attention *m = heed_self_attention_new(4, 0, 1);
        heed_optimizer *adam = heed_adam_new(heed_parameters(m), 0.01);
        heed_tensor *x = heed_randn(HEED_SHAPE(5, 4), HEED_F32);
        for (int step = 0; step < 10; step++) {
            heed_tensor *y = heed_self_attention_forward(m, x, heed_causal_block_mask(5));
            heed_tensor *loss = heed_mean(heed_square(heed_sub(y, x)));
            heed_optimizer_zero_grad(adam);
            heed_backward(loss);
            heed_optimizer_step(adam);
            losses[on] = heed_item(loss);
        }
        heed_optimizer_free(adam);
        heed_module_free(m);
    }
    expect_no_error();
    ck_assert_double_eq(losses[0], losses[1]);
}
END_TEST

void add_anomaly_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "anomaly");
    tcase_add_checked_fixture(tests, mode_on, mode_off);
    tcase_add_test(tests, forward_is_checked);
    tcase_add_test(tests, infinite_constants_are_fine);
    tcase_add_test(tests, only_results_are_checked);
    tcase_add_test(tests, nothing_is_computed_from_an_anomaly);
    tcase_add_test(tests, backward_is_checked);
    tcase_add_test(tests, nan_in_data_is_found);
    tcase_add_test(tests, the_mode_is_turned_off);
    tcase_add_test(tests, the_mode_may_change_within_a_graph);
    tcase_add_test(tests, without_memory_it_fails_cleanly);
    tcase_add_test(tests, paths_are_the_names_of_the_state_dict);
    tcase_add_test(tests, long_paths_omit_their_first_names);
    tcase_add_test(tests, errors_name_the_module);
    tcase_add_test(tests, healthy_training_is_unchanged);
}
