/* The hooks that come with Heed: traces of the operations of a forward and a backward pass, and
 * anomaly mode. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/oom/oom.h"

/* ---- traces ---- */

static heed_tensor *scalar_leaf(double value)
{
    return heed_set_requires_grad(heed_scalar(value, HEED_F32), true);
}

/* The text that a trace of `run` prints; free it. */
static char *trace_of(void (*run)(void))
{
    static char *text; /* static: gcc 12 believes that the result points to it */
    static size_t size;
    FILE *stream = open_memstream(&text, &size);
    ck_assert_ptr_null(heed_trace(stream));
    run();
    ck_assert_ptr_eq(heed_trace(NULL), stream);
    heed_neg(scalar_leaf(1)); /* not traced */
    fclose(stream);
    return text;
}

static void expect_trace(void (*run)(void), const char *expected)
{
    char *text = trace_of(run);
    ck_assert_str_eq(text, expected);
    free(text);
}

static void run_expression(void)
{
    heed_backward(
        heed_tanh(heed_add(heed_mul(scalar_leaf(0.5), scalar_leaf(2)), scalar_leaf(-0.4))));
}

START_TEST(an_expression_is_printed_forward_and_backward)
{
    expect_trace(run_expression, "mul (), () -> () = tensor(1.)\n"
                                 "add (), () -> () = tensor(0.6000)\n"
                                 "tanh () -> () = tensor(0.5370)\n"
                                 "backward of tanh: g () = tensor(1.)\n"
                                 "  input 0: () = tensor(0.7116)\n"
                                 "backward of add: g () = tensor(0.7116)\n"
                                 "  input 0: () = tensor(0.7116)\n"
                                 "  input 1, a leaf: () = tensor(0.7116)\n"
                                 "backward of mul: g () = tensor(0.7116)\n"
                                 "  input 0, a leaf: () = tensor(1.4232)\n"
                                 "  input 1, a leaf: () = tensor(0.3558)\n");
}
END_TEST

static void run_module(void)
{
    struct heed_linear *m = heed_linear_new(2, 2, .no_bias = true);
    heed_fill_into(m->weight, 1);
    heed_backward(heed_sum(heed_linear_forward(m, heed_ones(HEED_SHAPE(2, 2), HEED_F32))));
    heed_module_free(m);
}

START_TEST(modules_are_named)
{
    expect_trace(run_module, "linear in Linear: x (2, 2), weight (2, 2) -> (2, 2)\n"
                             "sum (2, 2) -> () = tensor(8.)\n"
                             "backward of sum: g () = tensor(1.)\n"
                             "  x: (2, 2)\n"
                             "backward of linear in Linear: g (2, 2)\n"
                             "  weight, a leaf: (2, 2)\n");
}
END_TEST

static void run_others(void)
{
    heed_tensor *ids = heed_from_i64((int64_t[]){1, 0}, HEED_SHAPE(2)), *many[9];
    heed_tensor *a = heed_ones(HEED_SHAPE(2, 3), HEED_F32);
    for (int i = 0; i < 9; i++) {
        many[i] = ids;
    }
    heed_cat(many, 9, 0);
    heed_transpose(a, 0, 1);
    heed_flip(heed_ones(HEED_SHAPE(2, 0), HEED_F64), HEED_DIMS(0, 1));
    heed_mul_scalar(heed_ones(HEED_SHAPE(2), HEED_BOOL), 2);
    heed_sort(heed_ones(HEED_SHAPE(13), HEED_F32), -1, true, NULL);
}

START_TEST(arguments_and_dtypes_are_printed)
{
    expect_trace(run_others,
                 "cat(dim=0) i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), "
                 "i64 (2), i64 (2) -> i64 (18)\n"
                 "transpose(dim0=0, dim1=1) (2, 3) -> (3, 2), a view\n"
                 "flip(dims=(0, 1)) f64 (2, 0) -> f64 (2, 0)\n"
                 "mul_scalar(b=2) bool (2) -> i64 (2)\n"
                 "argsort(dim=0, descending=True) (13) -> i64 (13)\n"
                 "gather(dim=0) x (13), index i64 (13) -> (13)\n");
}
END_TEST

static void run_second_derivative(void)
{
    heed_tensor *x = scalar_leaf(3), *dx = NULL, *ddx = NULL;
    heed_grad(heed_square(x), &x, 1, &dx, true);
    heed_grad(dx, &x, 1, &ddx, false);
    ck_assert_double_eq(heed_item(ddx), 2);
}

/* Those of derivatives without create_graph are not printed. */
START_TEST(create_graph_prints_the_operations_of_derivatives)
{
    char *text = trace_of(run_second_derivative);
    ck_assert_ptr_nonnull(strstr(text, "\n  mul"));
    const char *last = strstr(text, "backward of mul");
    ck_assert_ptr_nonnull(last);
    ck_assert_ptr_null(strstr(last, "\n  mul"));
    free(text);
}
END_TEST

/* The text of the arguments of the operation that computed y, a node of a graph. */
static const char *args_of(const heed_tensor *y)
{
    static heed_text text;
    text = heed_args_text(y->op, y->args);
    return text.text;
}

/* Each type of field, hidden fields, and values that are left out. */
START_TEST(arguments_are_read_as_their_operation_declares)
{
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2, 3), HEED_F64), true);
    heed_tensor *ids = heed_from_i64((int64_t[]){1, 0}, HEED_SHAPE(2));
    ck_assert_str_eq(args_of(heed_neg(x)), "");
    ck_assert_str_eq(args_of(heed_mul_scalar(x, 0.5)), "b=0.5");
    ck_assert_str_eq(args_of(heed_mul_scalar(x, -(double)NAN)), "b=nan");
    ck_assert_str_eq(args_of(heed_transpose(x, 0, -1)), "dim0=0, dim1=-1");
    ck_assert_str_eq(args_of(heed_expand(x, HEED_SHAPE(4, 2, 3))), "shape=(4, 2, 3)");
    ck_assert_str_eq(args_of(heed_to(x, HEED_F32)), "dtype=f32");
    ck_assert_str_eq(args_of(heed_sum(x)), "");
    ck_assert_str_eq(args_of(heed_sum_dim(x, 1, true)), "dims=(1), keepdim=True");
    ck_assert_str_eq(args_of(heed_slice(x, 1, 0, 3, 2)), "dim=1, start=0, end=3, step=2");
    ck_assert_str_eq(args_of(heed_cross_entropy(x, ids)), "ignore_index=-100, label_smoothing=0");
}
END_TEST

/* ---- anomaly mode: NaN and infinity in the forward pass ---- */

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

START_TEST(forward_is_checked)
{
    const double inf = HUGE_VAL;
    heed_log(leaf(1, 0, 2));
    expect_error(HEED_ERR_ANOMALY, "log: inf in the result (1, 3); clamp or mask");
    heed_log(row(1, -1, 0));
    expect_error(HEED_ERR_ANOMALY, "log: nan in the result (1, 3)");
    heed_rsqrt(heed_from_i64((int64_t[]){3, 0}, HEED_SHAPE(2)));
    expect_error(HEED_ERR_ANOMALY, "rsqrt: inf in the result (2)");
    heed_exp(heed_transpose(row(1, 2, 1000), 0, 1));
    expect_error(HEED_ERR_ANOMALY, "exp: inf in the result (3, 1)");
    heed_mul_scalar(row(1, -inf, inf), 0);
    expect_error(HEED_ERR_ANOMALY, "mul_scalar: nan in the result (1, 3)");
    heed_softmax(row(-inf, -inf, -inf), -1);
    expect_error(HEED_ERR_ANOMALY, "a row has inf, or only -inf, for which heed_safe_softmax");
    heed_tensor *x = leaf(1, -1, 0);
    ck_assert_ptr_null(heed_sum(heed_exp(heed_sqrt(x))));
    ck_assert_int_eq(heed_backward(heed_sum(x)), HEED_ERR_ANOMALY);
    expect_error(HEED_ERR_ANOMALY, "sqrt: nan"); /* nothing is computed from it */
}
END_TEST

START_TEST(infinite_constants_are_fine)
{
    const double inf = HUGE_VAL;
    heed_tensor *block = heed_causal_block_mask(4), *x = heed_randn(HEED_SHAPE(4, 4), HEED_F32);
    heed_tensor *filled = heed_masked_fill(x, block, -inf);
    heed_softmax(filled, -1);
    heed_amax(filled);
    heed_add(x, heed_masked_fill(heed_scalar(0, HEED_F32), block, -inf));
    heed_where(block, heed_full(HEED_SHAPE(4, 4), inf, HEED_F32), x);
    heed_safe_softmax(heed_masked_fill(x, heed_ones(HEED_SHAPE(4, 4), HEED_BOOL), -inf), -1);
    heed_masked_fill(x, block, (double)NAN);
    heed_log(row(0, 0.5, 0.5));
    heed_add_scalar(x, -inf);
    heed_mul_scalar(x, (double)NAN);
    heed_neg(row(inf, (double)NAN, 1)); /* in the data itself */
    heed_logical_not(row(inf, (double)NAN, 1));
    heed_transpose(row(inf, (double)NAN, 1), 0, 1);
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

/* ---- in the backward pass ---- */

START_TEST(backward_is_checked)
{
    heed_tensor *x = leaf(4, 0, 1);
    heed_backward(heed_sum(heed_sqrt(x)));
    expect_error(HEED_ERR_ANOMALY,
                 "backward of sqrt: inf in the gradient of input 0 (1, 3); if the derivative");
    ck_assert_ptr_null(x->grad);
    heed_tensor *safe = heed_where(heed_gt_scalar(x, 0), x, row(1, 1, 1));
    heed_backward(heed_sum(heed_where(heed_gt_scalar(x, 0), heed_sqrt(safe), x)));
    expect_no_error();
    heed_backward(heed_sum(heed_mul(x, row(1, (double)NAN, 1)))); /* NaN in the data */
    expect_error(HEED_ERR_ANOMALY, "backward of mul: nan in the gradient of input 0 (1, 3); if");
}
END_TEST

START_TEST(errors_name_the_module)
{
    struct heed_linear *m = heed_linear_new(3, 2, .no_bias = true); /* the graph may outlive it */
    heed_tensor *x = heed_full(HEED_SHAPE(1, 3), 1e30, HEED_F32);
    heed_fill_into(m->weight, 0);
    heed_tensor *loss = heed_sum(heed_mul_scalar(heed_linear_forward(m, x), 1e30));
    heed_fill_into(m->weight, 1e30);
    heed_linear_forward(m, x);
    expect_error(HEED_ERR_ANOMALY, "linear in Linear: inf in the result (1, 2)");
    heed_module_free(m);
    heed_backward(loss);
    expect_error(HEED_ERR_ANOMALY, "backward of linear in Linear: inf in the gradient of input 1");
}
END_TEST

START_TEST(healthy_training_has_the_same_bits)
{
    double losses[2];
    for (int on = 0; on < 2; on++) {
        HEED_SCOPE(scope);
        heed_set_detect_anomaly(on != 0);
        heed_manual_seed(3);
        struct heed_self_attention *m = heed_self_attention_new(4, 0, 1);
        heed_optimizer *adam = heed_adam_new(heed_parameters(m), 0.01);
        heed_tensor *x = heed_randn(HEED_SHAPE(5, 4), HEED_F32);
        for (int step = 0; step < 5; step++) {
            heed_tensor *y = heed_self_attention_forward(m, x, heed_causal_block_mask(5));
            heed_tensor *loss = heed_mean(heed_square(heed_sub(y, x)));
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
        y = heed_reshape(heed_slice(y, 0, 0, 4, 1), HEED_SHAPE(2, 6));
    }
    heed_backward(heed_sum(y));
    expect_no_error();
}
END_TEST

static uint64_t differentiate(const void *unused)
{
    (void)unused;
    HEED_SCOPE(scope);
    heed_tensor *x = leaf(1, 2, 3);
    heed_set_detect_anomaly(true);
    heed_backward(heed_sum(heed_matmul(heed_transpose(x, 0, 1), heed_sqrt(x))));
    heed_set_detect_anomaly(false);
    return heed_error_pending() ? 0 : hash_of(x->grad, FNV_BASIS);
}

START_TEST(without_memory_it_fails_cleanly)
{
    starve("anomaly mode", differentiate, NULL, MANY);
}
END_TEST

void add_inspect_cases(Suite *suite)
{
    TCase *traces = heed_case(suite, "trace");
    tcase_add_test(traces, an_expression_is_printed_forward_and_backward);
    tcase_add_test(traces, modules_are_named);
    tcase_add_test(traces, arguments_and_dtypes_are_printed);
    tcase_add_test(traces, create_graph_prints_the_operations_of_derivatives);
    tcase_add_test(traces, arguments_are_read_as_their_operation_declares);
    TCase *anomalies = heed_case(suite, "anomaly");
    tcase_add_checked_fixture(anomalies, mode_on, mode_off);
    tcase_add_test(anomalies, forward_is_checked);
    tcase_add_test(anomalies, infinite_constants_are_fine);
    tcase_add_test(anomalies, only_results_are_checked);
    tcase_add_test(anomalies, backward_is_checked);
    tcase_add_test(anomalies, errors_name_the_module);
    tcase_add_test(anomalies, healthy_training_has_the_same_bits);
    tcase_add_test(anomalies, the_mode_is_turned_off);
    tcase_add_test(anomalies, the_mode_may_change_within_a_graph);
    tcase_add_test(oom_case(suite, "memory"), without_memory_it_fails_cleanly);
}
