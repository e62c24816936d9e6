/* Traces: what they print of the operations of a forward and a backward pass. */
#include "tests/common/observe_util.h"

static void trace_expression(FILE *stream)
{
    heed_tensor *w = leaf(0.5), *x = leaf(2), *b = leaf(-0.4);
    ck_assert_ptr_null(heed_trace(stream));
    heed_backward(heed_tanh(heed_add(heed_mul(w, x), b)));
    ck_assert_ptr_eq(heed_trace(NULL), stream);
    ck_assert(!heed_is_anomaly_enabled());
    heed_neg(x);
}

START_TEST(an_expression_is_printed_forward_and_backward)
{
    expect_text(trace_expression, "mul (), () -> () = tensor(1.)\n"
                                  "add (), () -> () = tensor(0.6000)\n"
                                  "tanh () -> () = tensor(0.5370)\n"
                                  "backward of tanh: g () -> input 0 ()\n"
                                  "  g = tensor(1.)\n"
                                  "  input 0 = tensor(0.7116)\n"
                                  "backward of add: g () -> input 0 (), input 1 ()\n"
                                  "  g = tensor(0.7116)\n"
                                  "  input 0 = tensor(0.7116)\n"
                                  "  input 1 (a leaf, added to .grad) = tensor(0.7116)\n"
                                  "backward of mul: g () -> input 0 (), input 1 ()\n"
                                  "  g = tensor(0.7116)\n"
                                  "  input 0 (a leaf, added to .grad) = tensor(1.4232)\n"
                                  "  input 1 (a leaf, added to .grad) = tensor(0.3558)\n");
}
END_TEST

static heed_tensor *first_column(void *module, heed_tensor *x)
{
    HEED_FORWARD(module);
    return heed_linear_forward(module, heed_narrow(x, 1, 0, 2));
}

static void trace_modules(FILE *stream)
{
    heed_manual_seed(1);
    struct heed_self_attention *m = heed_self_attention_new(2, 0, 1);
    heed_copy_into(m->W_q->weight, heed_full(HEED_SHAPE(2, 2), 1, HEED_F32));
    heed_copy_into(m->W_k->weight, heed_full(HEED_SHAPE(2, 2), 0, HEED_F32));
    heed_copy_into(m->W_v->weight, heed_full(HEED_SHAPE(2, 2), 1, HEED_F32));
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 2), HEED_F32);
    heed_trace(stream);
    heed_tensor *y = heed_self_attention_forward(m, x, NULL);
    first_column(m->W_q, heed_ones(HEED_SHAPE(7, 3), HEED_F32));
    heed_backward(heed_sum(y));
    heed_trace(NULL);
    heed_module_free(m);
}

START_TEST(operations_are_indented_below_their_module)
{
    expect_words(trace_modules, "SelfAttention\n"
                                "  W_q\n"
                                "    linear x (2, 2), weight (2, 2) -> (2, 2)\n"
                                "      tensor([[2., 2.],\n"
                                "              [2., 2.]])\n"
                                "  W_k\n"
                                "    linear x (2, 2), weight (2, 2) -> (2, 2)\n"
                                "      tensor([[0., 0.],\n"
                                "              [0., 0.]])\n"
                                "  W_v\n");
    expect_words(trace_modules, "      tensor([[2., 2.],\n"
                                "              [2., 2.]])\n"
                                "  transpose(dim0=0, dim1=1) (2, 2) -> (2, 2), a view\n"
                                "    tensor([[0., 0.],\n"
                                "            [0., 0.]])\n"
                                "  matmul (2, 2) x (2, 2) -> (2, 2)\n");
    expect_words(trace_modules,
                 "  matmul (2, 2) x (2, 2) -> (2, 2)\n"
                 "    tensor([[2., 2.],\n"
                 "            [2., 2.]])\n"
                 "  W_q\n" /* entered again */
                 "    slice(dim=1, start=0, end=2, step=1) (7, 3) -> (7, 2), a view\n"
                 "    linear x (7, 2), weight (2, 2) -> (7, 2)\n"
                 "sum (2, 2) -> () = tensor(8.)\n"
                 "backward of sum: g () -> input 0 (2, 2)\n");
    expect_words(trace_modules,
                 "backward of linear in SelfAttention.W_v: g (2, 2) -> weight (2, 2)\n"
                 "  g\n"
                 "    tensor([[1., 1.],\n"
                 "            [1., 1.]])\n"
                 "  weight (a leaf, added to .grad)\n"
                 "    tensor([[2., 2.],\n"
                 "            [2., 2.]])\n");
}
END_TEST

static void trace_twice(FILE *stream)
{
    struct heed_linear *m = heed_linear_new_with(1, 1, (heed_linear_options){.no_bias = true});
    heed_tensor *x = heed_zeros(HEED_SHAPE(0, 1), HEED_F32);
    for (int i = 0; i < 2; i++) {
        heed_trace(stream);
        heed_linear_forward(m, x);
        heed_linear_forward(m, x);
    }
    heed_trace(NULL);
    heed_module_free(m);
}

START_TEST(a_new_trace_names_the_module_again)
{
    const char *line = "  linear x (0, 1), weight (1, 1) -> (0, 1)\n";
    char expected[200];
    snprintf(expected, sizeof expected, "Linear\n%s%sLinear\n%s%s", line, line, line, line);
    expect_text(trace_twice, expected);
}
END_TEST

static void trace_others(FILE *stream)
{
    heed_tensor *ids = heed_from_i64((int64_t[]){1, 0}, HEED_SHAPE(2)), *many[9];
    heed_tensor *weight = heed_zeros(HEED_SHAPE(2, 1), HEED_F64);
    for (int i = 0; i < 9; i++) {
        many[i] = ids;
    }
    heed_trace(stream);
    heed_embedding(ids, weight);
    heed_cat(many, 8, 0);
    heed_cat(many, 9, 0);
    heed_rms_norm(heed_zeros(HEED_SHAPE(1), HEED_F32), HEED_SHAPE(1), NULL, 0.5);
    heed_sum(heed_ones(HEED_SHAPE(2, 0), HEED_F32));
    heed_mul_scalar(heed_ones(HEED_SHAPE(12), HEED_BOOL), 2);
    heed_trace(NULL);
}

START_TEST(dtypes_and_long_lists_are_printed)
{
    expect_text(
        trace_others,
        "embedding ids i64 (2), weight f64 (2, 1) -> f64 (2, 1)\n"
        "  tensor([[0.],\n"
        "          [0.]], dtype=torch.float64)\n"
        "cat(dim=0) i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), i64 (2) "
        "-> i64 (16)\n"
        "cat(dim=0) i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), i64 (2), "
        "... (9 inputs) -> i64 (18)\n"
        "rms_norm(eps=0.5) (1) -> (1) = tensor([0.])\n"
        "sum (2, 0) -> () = tensor(0.)\n"
        "mul_scalar(b=2) bool (12) -> i64 (12) = tensor([2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2])\n");
}
END_TEST

static void trace_failure(FILE *stream)
{
    heed_tensor *a = heed_ones(HEED_SHAPE(2, 3), HEED_F32);
    heed_trace(stream);
    heed_neg(heed_matmul(a, a));
    heed_sum(a);
    expect_error(HEED_ERR_SHAPE, "matmul");
    heed_permute(a, (heed_dims){.count = HEED_MAX_DIMS + 1});
    expect_error(HEED_ERR_DIM, "permute");
    heed_trace(NULL);
}

START_TEST(the_operation_that_fails_is_printed)
{
    expect_text(trace_failure, "matmul (2, 3) x (2, 3) failed: HEED_ERR_SHAPE\n"
                               "permute(dims=(0, 0, 0, 0, 0, 0, 0, 0, ...)) (2, 3) failed: "
                               "HEED_ERR_DIM\n");
}
END_TEST

static void trace_second_derivative(FILE *stream)
{
    heed_tensor *x = leaf(3), *dx = NULL, *ddx = NULL;
    heed_tensor *y = heed_square(heed_apply(&twice, &x, 1, NULL, 0));
    heed_trace(stream);
    heed_grad(y, &x, 1, &dx, true);
    fputs("#\n", stream);
    heed_grad(dx, &x, 1, &ddx, false);
    heed_trace(NULL);
    ck_assert_double_eq(heed_item(ddx), 8);
}

/* Operations inside an operation's forward are not printed, nor are those of derivatives without
 * create_graph. */
START_TEST(create_graph_prints_the_operations_of_derivatives)
{
    char *text = written_by(trace_second_derivative);
    const size_t first = strcspn(text, "#");
    ck_assert_ptr_nonnull(strstr(text, "  mul_scalar(b=2) () -> () = tensor(24.)\n"
                                       "backward of twice: g () -> input 0 ()\n"
                                       "  g = tensor(12.)\n"
                                       "  input 0 (a leaf) = tensor(24.)\n"));
    ck_assert_ptr_null(strstr(text, "add (), ()"));
    ck_assert_ptr_null(strstr(text + first, "\n  mul"));
    ck_assert_ptr_nonnull(strstr(text + first, "backward of twice: g ()"));
    free(text);
}
END_TEST

/* Only anomaly mode rejects NaN and infinity. */
START_TEST(observing_does_not_check)
{
    FILE *null = fopen("/dev/null", "w");
    heed_trace(null);
    heed_recording *r = heed_recording_begin();
    heed_backward(heed_sqrt(heed_neg(leaf(1))));
    heed_backward(heed_log(leaf(0)));
    expect_no_error();
    heed_trace(NULL);
    heed_recording_free(r);
    fclose(null);
}
END_TEST

START_TEST(a_stream_that_fails_is_switched_off)
{
    FILE *stream = fopen("/dev/null", "r");
    ck_assert_ptr_nonnull(stream);
    setvbuf(stream, NULL, _IONBF, 0);
    heed_trace(stream);
    heed_tensor *x = leaf(2);
    heed_backward(heed_square(x));
    expect_no_error();
    ck_assert_double_eq(heed_item(x->grad), 4);
    ck_assert_ptr_null(heed_trace(NULL));
    fclose(stream);
}
END_TEST

static void trace_beside_a_thread(FILE *stream)
{
    heed_trace(stream);
    heed_backward(heed_neg(leaf(3)));
    run_thread(stream); /* the stream is not locked */
    heed_trace(NULL);
}

START_TEST(another_thread_is_not_traced)
{
    expect_text(trace_beside_a_thread, "neg () -> () = tensor(-3.)\n"
                                       "backward of neg: g () -> input 0 ()\n"
                                       "  g = tensor(1.)\n"
                                       "  input 0 (a leaf, added to .grad) = tensor(-1.)\n"
                                       "from the thread\n");
}
END_TEST

static void all_off(void)
{
    heed_trace(NULL);
    heed_set_detect_anomaly(false);
}

void add_trace_cases(Suite *suite)
{
    TCase *trace = heed_case(suite, "trace");
    tcase_add_checked_fixture(trace, NULL, all_off);
    tcase_add_test(trace, an_expression_is_printed_forward_and_backward);
    tcase_add_test(trace, operations_are_indented_below_their_module);
    tcase_add_test(trace, a_new_trace_names_the_module_again);
    tcase_add_test(trace, dtypes_and_long_lists_are_printed);
    tcase_add_test(trace, the_operation_that_fails_is_printed);
    tcase_add_test(trace, create_graph_prints_the_operations_of_derivatives);
    tcase_add_test(trace, observing_does_not_check);
    tcase_add_test(trace, a_stream_that_fails_is_switched_off);
    tcase_add_test(trace, another_thread_is_not_traced);
}
