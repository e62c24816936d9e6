/* Traces of the operations of a forward and a backward pass. */
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
}

START_TEST(arguments_and_dtypes_are_printed)
{
    expect_trace(run_others,
                 "cat(dim=0) i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), "
                 "i64 (2), i64 (2) -> i64 (18)\n"
                 "transpose(dim0=0, dim1=1) (2, 3) -> (3, 2), a view\n"
                 "flip(dims=(0, 1)) f64 (2, 0) -> f64 (2, 0)\n"
                 "mul_scalar(b=2) bool (2) -> i64 (2)\n");
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
    ck_assert_str_eq(heed_args_text(heed_sum(x)->op, NULL).text, "");
    ck_assert_str_eq(args_of(heed_sum_dim(x, 1, true)), "dims=(1), keepdim=True");
    ck_assert_str_eq(args_of(heed_slice(x, 1, 0, 3, 2)), "dim=1, start=0, end=3, step=2");
    ck_assert_str_eq(args_of(heed_cross_entropy(x, ids)), "ignore_index=-100, label_smoothing=0");
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
}
