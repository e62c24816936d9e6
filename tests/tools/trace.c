/* Inspecting a computation: traces, recordings, arguments of operations, sets of tensors, and
 * pictures of graphs. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "autograd/notify.h"
#include "tests/common/test_util.h"
#include "tests/ops/table.h"
#include "tools/observe/tensor_set.h"

static heed_tensor *leaf(double value)
{
    return heed_set_requires_grad(heed_scalar(value, HEED_F32), true);
}

/* The text that `run` writes to a stream; free it. */
static char *written_by(void (*run)(FILE *stream))
{
    static char *text; /* static: gcc 12 believes that the result points to it */
    static size_t size;
    FILE *stream = open_memstream(&text, &size);
    run(stream);
    fclose(stream);
    return text;
}

static void expect_text(void (*run)(FILE *stream), const char *expected)
{
    char *text = written_by(run);
    ck_assert_str_eq(text, expected);
    free(text);
}

static void expect_words(void (*run)(FILE *stream), const char *words)
{
    char *text = written_by(run);
    ck_assert_msg(strstr(text, words) != NULL, "no \"%s\" in:\n%s", words, text);
    free(text);
}

/* How often `words` occur in `text`. */
static int count_words(const char *text, const char *words)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, words)) != NULL; at += strlen(words)) {
        count++;
    }
    return count;
}

/* ---- the trace ---- */

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

static heed_status twice_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_add(call->inputs[0], call->inputs[0]));
}

static void twice_backward(const heed_vjp *v)
{
    v->grads[0] = heed_mul_scalar(v->g, 2);
}

static const heed_op twice = {
    .name = "twice", .inputs = 1, .forward = twice_forward, .backward = twice_backward};

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

static void *operate(void *stream)
{
    HEED_SCOPE(scope);
    if (stream != NULL) {
        fputs("from the thread\n", stream);
    }
    heed_backward(heed_square(leaf(3)));
    return heed_error_pending() == HEED_OK && heed_trace(NULL) == NULL ? "done" : NULL;
}

static void run_thread(FILE *stream)
{
    pthread_t thread;
    void *result = NULL;
    ck_assert_int_eq(pthread_create(&thread, NULL, operate, stream), 0);
    pthread_join(thread, &result);
    ck_assert_ptr_nonnull(result);
}

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

/* ---- arguments ---- */

static const heed_recorded *last_of(const heed_recording *r)
{
    expect_no_error();
    return heed_recording_at(r, heed_recording_count(r) - 1);
}

/* For each argument struct, read according to its declared layout. */
START_TEST(arguments_are_shown_as_text)
{
    heed_recording *r = heed_recording_begin();
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_F64);
    heed_tensor *ids = heed_from_i64((int64_t[]){1, 0}, HEED_SHAPE(2)), *y;
#define EXPECT(call, text)                                                                         \
    y = call;                                                                                      \
    ck_assert_ptr_eq(last_of(r)->result, y);                                                       \
    ck_assert_str_eq(last_of(r)->arguments, text)

    EXPECT(heed_neg(x), "");
    EXPECT(heed_add(x, x), "");
    EXPECT(heed_mul_scalar(x, 0.5), "b=0.5");
    EXPECT(heed_mul_scalar(x, -(double)NAN), "b=nan");
    EXPECT(heed_lt_scalar(x, -1e30), "b=-1e+30");
    EXPECT(heed_lerp_scalar(x, x, 0.25), "c=0.25");
    EXPECT(heed_clamp(x, -HUGE_VAL, 2), "min=-inf, max=2");
    EXPECT(heed_transpose(x, 0, -1), "dim0=0, dim1=-1");
    EXPECT(heed_permute(x, HEED_DIMS(1, 0)), "dims=(1, 0)");
    EXPECT(heed_expand(x, HEED_SHAPE(4, 2, 3)), "shape=(4, 2, 3)");
    EXPECT(heed_reshape(x, HEED_SHAPE(6)), "shape=(6)");
    EXPECT(heed_squeeze(x, 1), "dim=1");
    EXPECT(heed_unsqueeze(x, 2), "dim=2");
    EXPECT(heed_to(x, HEED_F32), "dtype=f32");
    EXPECT(heed_sum(x), "");
    EXPECT(heed_sum_dim(x, 1, true), "dims=(1), keepdim=True");
    EXPECT(heed_mean_dims(x, HEED_DIMS(0, 1), false), "dims=(0, 1)");
    EXPECT(heed_amax_dim(x, -1, false), "dims=(-1)");
    EXPECT(heed_argmax_dim(x, 0, true), "dims=(0), keepdim=True");
    EXPECT(heed_var_dim(x, 1, 1, true), "dims=(1), keepdim=True, correction=1");
    EXPECT(heed_std_dim(x, 1, 0, false), "dims=(1), correction=0");
    EXPECT(heed_norm_dim(x, 2, 1, false), "dims=(1), p=2");
    EXPECT(heed_cumsum(x, 1), "dim=1");
    EXPECT(heed_softmax(x, -1), "dim=-1");
    EXPECT(heed_argsort(x, 1, true), "dim=1, descending=True");
    EXPECT(heed_index_select(x, 0, ids), "dim=0");
    EXPECT(heed_embedding_dense_backward(x, ids, 5), "num_embeddings=5");
    EXPECT(heed_cat((heed_tensor *[]){x, x}, 2, 1), "dim=1");
    EXPECT(heed_flip(x, HEED_DIMS(0)), "dims=(0)");
    EXPECT(heed_masked_fill(x, heed_ones(HEED_SHAPE(3), HEED_BOOL), -HUGE_VAL), "value=-inf");
    EXPECT(heed_triu(x, -1), "diagonal=-1");
    EXPECT(heed_slice(x, 1, 0, 3, 2), "dim=1, start=0, end=3, step=2");
    EXPECT(heed_slice_backward(heed_ones(HEED_SHAPE(1, 3), HEED_F64), HEED_SHAPE(4, 3), 0, 1, 2, 1),
           "shape=(4, 3), dim=0, start=1, end=2, step=1");
    EXPECT(heed_diagonal(x, 1, 0, 1), "offset=1, dim1=0, dim2=1");
    EXPECT(heed_layer_norm(x, HEED_SHAPE(3), NULL, NULL, 1e-5), "eps=1e-05");
    EXPECT(heed_cross_entropy(x, ids), "ignore_index=-100, label_smoothing=0, reduction=mean");
    EXPECT(heed_nll_loss_with(x, ids, (heed_nll_loss_options){.reduction = HEED_SUM}),
           "ignore_index=-100, label_smoothing=0, reduction=sum");
    heed_recording_free(r);
}
END_TEST

/* Every operation with arguments declares their layout. */
START_TEST(no_operation_hides_its_arguments)
{
    heed_recording *r = heed_recording_begin();
    for (int i = 0; i < operation_row_count; i++) {
        heed_tensor *inputs[ROW_INPUTS];
        if (operation_rows[i].derivative != NOT_CHECKED) {
            row_inputs(&operation_rows[i], inputs);
            operation_rows[i].f(inputs, NULL);
        }
    }
    const size_t origin_size = heed_self.observers->origin_size;
    heed_trace(NULL);
    heed_recording_stop(r);
    int shown = 0;
    for (int64_t i = 0; i < heed_recording_count(r); i++) {
        const heed_recorded *entry = heed_recording_at(r, i);
        const size_t origin = entry->result->has_origin ? origin_size : 0;
        if (entry->result->args_size > origin) {
            ck_assert_msg(entry->op->args != NULL, "%s declares no .args", entry->op->name);
            shown += *entry->arguments != '\0';
        }
    }
    expect_no_error();
    ck_assert_int_gt(shown, 50);
    heed_recording_free(r);
}
END_TEST

START_TEST(a_wrong_layout_reads_nothing_behind_the_arguments)
{
    const struct {
        int dim;
        double scale;
    } args = {3, 0.5};
    const char *const layouts[] = {"int dim, double scale", "int dim, double scale, int64 more",
                                   "int dim, float scale",  "int dim, double",
                                   "shape shape",           ""};
    const char *const texts[] = {"dim=3, scale=0.5", "dim=3, scale=0.5", "dim=3", "dim=3", "", ""};
    for (int i = 0; i < 6; i++) {
        const heed_op op = {.name = "own", .args = layouts[i]};
        const heed_text text = heed_args_text(&op, &args, sizeof args);
        ck_assert_str_eq(text.text, texts[i]);
    }
    ck_assert_str_eq(heed_args_text(NULL, &args, sizeof args).text, "");
    ck_assert_str_eq(heed_args_text(&twice, NULL, 0).text, "");
}
END_TEST

/* ---- recordings ---- */

static heed_tensor *tutorial_input(void)
{
    return heed_from_f32((float[]){1.16f, 0.23f, 0.57f, 1.36f, 4.41f, -2.16f}, HEED_SHAPE(3, 2));
}

/* Values and gradients inside a module's forward agree with those of the same steps applied here
 * with heed_retain_grad. */
START_TEST(inner_results_and_their_gradients_stay)
{
    heed_manual_seed(42);
    struct heed_self_attention *m = heed_self_attention_new(2, 0, 1);
    heed_tensor *x = tutorial_input(), *mask = heed_causal_block_mask(3);
    heed_recording *r = heed_recording_begin();
    {
        HEED_SCOPE(step);
        heed_backward(heed_sum(heed_square(heed_self_attention_forward(m, x, mask))));
    }
    heed_recording_stop(r);
    heed_neg(x);
    ck_assert_str_eq(last_of(r)->op->name, "sum");

    heed_tensor *q = heed_retain_grad(heed_linear_forward(m->W_q, x));
    heed_tensor *k = heed_retain_grad(heed_linear_forward(m->W_k, x));
    heed_tensor *v = heed_retain_grad(heed_linear_forward(m->W_v, x));
    heed_tensor *sims = heed_retain_grad(heed_matmul(q, heed_transpose(k, 0, 1)));
    heed_tensor *scaled = heed_retain_grad(heed_div_scalar(sims, sqrt(2)));
    heed_tensor *filled = heed_retain_grad(heed_masked_fill(scaled, mask, -HUGE_VAL));
    heed_tensor *percent = heed_retain_grad(heed_safe_softmax(filled, 1));
    heed_tensor *scores = heed_retain_grad(heed_matmul(percent, v));
    heed_zero_grad(m);
    heed_backward(heed_sum(heed_square(scores)));

    const struct {
        heed_tensor *expected;
        const char *path, *operation;
        int n;
    } inner[] = {
        {q, "SelfAttention.W_q", "linear", 0},
        {k, "SelfAttention.W_k", NULL, 0},
        {v, NULL, "linear", 2},
        {sims, "SelfAttention", "matmul", 0},
        {scaled, "SelfAttention", "div_scalar", 0},
        {filled, "SelfAttention", "masked_fill", 0},
        {percent, "SelfAttention", "safe_softmax", 0},
        {scores, "SelfAttention", "matmul", 1},
    };
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        const heed_recorded *entry =
            heed_recording_find(r, inner[i].path, inner[i].operation, inner[i].n);
        ck_assert_ptr_nonnull(entry);
        ck_assert(heed_equal(entry->result, inner[i].expected));
        ck_assert_ptr_nonnull(entry->gradient);
        expect_close(entry->gradient, inner[i].expected->grad, 1e-6);
        ck_assert(!entry->in_backward);
        ck_assert_ptr_eq(heed_recording_of(r, entry->result), entry);
    }
    heed_module_free(m);
    const heed_recorded *linear = heed_recording_find(r, "SelfAttention.W_q", "linear", 0);
    ck_assert_int_eq(linear->input_count, 2);
    ck_assert_ptr_eq(linear->inputs[0], x);
    expect_shape(linear->inputs[1], HEED_SHAPE(2, 2));
    ck_assert_ptr_null(heed_recording_find(r, "SelfAttention.W_q", "linear", 1));
    expect_error(HEED_ERR_VALUE, "recording_find: no such operation: linear in SelfAttention.W_q");
    ck_assert_ptr_null(heed_recording_find(r, "W_q", NULL, 0));
    expect_error(HEED_ERR_VALUE, "linear in SelfAttention.W_k, ");
    ck_assert_ptr_null(heed_recording_of(r, x));
    heed_recording_free(r);
}
END_TEST

START_TEST(inputs_are_known_under_no_grad)
{
    heed_recording *r = heed_recording_begin();
    {
        HEED_SCOPE_NO_GRAD(scope);
        heed_tensor *x = leaf(3);
        heed_mul(heed_add_scalar(x, 1), x);
    }
    ck_assert_int_eq(heed_recording_count(r), 2);
    const heed_recorded *product = heed_recording_at(r, 1);
    ck_assert_ptr_eq(product->inputs[0], heed_recording_at(r, 0)->result);
    ck_assert_double_eq(heed_item(product->inputs[1]), 3);
    ck_assert_double_eq(heed_item(product->result), 12);
    ck_assert_ptr_null(product->result->op);
    ck_assert_ptr_null(product->gradient);
    heed_recording_free(r);
}
END_TEST

/* y = x^3: the second pass also records gradients of the derivative's own operations. */
START_TEST(derivatives_are_recorded_under_create_graph)
{
    heed_tensor *x = leaf(2), *dx = NULL, *ddx = NULL;
    heed_recording *r = heed_recording_begin();
    heed_tensor *square = heed_mul(x, x), *y = heed_mul(square, x);
    heed_grad(y, &x, 1, &dx, true);
    const int64_t forward_and_backward = heed_recording_count(r);
    ck_assert_int_gt(forward_and_backward, 2);
    for (int64_t i = 0; i < forward_and_backward; i++) {
        ck_assert_int_eq(heed_recording_at(r, i)->in_backward, i >= 2);
    }
    ck_assert_double_eq(heed_item(heed_recording_of(r, square)->gradient), 2);
    ck_assert_double_eq(heed_item(heed_recording_of(r, y)->gradient), 1);
    heed_grad(dx, &x, 1, &ddx, false);
    ck_assert_double_eq(heed_item(ddx), 12);
    ck_assert_int_eq(heed_recording_count(r), forward_and_backward);
    ck_assert_double_eq(heed_item(heed_recording_of(r, square)->gradient),
                        1); /* dx = square + ... */
    heed_recording_free(r);
}
END_TEST

START_TEST(the_last_pass_gives_the_gradient)
{
    heed_tensor *x = leaf(2), *dh = NULL;
    heed_recording *r = heed_recording_begin();
    heed_tensor *h = heed_square(x), *a = heed_mul_scalar(h, 3), *b = heed_mul_scalar(h, 5);
    heed_backward_retain(a);
    ck_assert_double_eq(heed_item(heed_recording_of(r, h)->gradient), 3);
    heed_backward_retain(b);
    ck_assert_double_eq(heed_item(heed_recording_of(r, h)->gradient), 5);
    heed_grad(a, &h, 1, &dh, false);
    ck_assert_double_eq(heed_item(heed_recording_of(r, h)->gradient), 3);
    ck_assert_double_eq(heed_item(x->grad), 32);
    heed_recording_free(r);
}
END_TEST

/* A loss whose gradients are summed in many ways: in place, of slices, of a tensor used twice. */
static heed_tensor *sums(heed_tensor *x, heed_tensor *w)
{
    heed_tensor *h = heed_linear(heed_tanh(heed_linear(x, w, NULL)), w, NULL);
    heed_tensor *a = heed_slice(h, 0, 0, 2, 1), *b = heed_slice(h, 0, 1, 3, 1);
    return heed_sum(heed_add(heed_mul(a, b), heed_add(a, a)));
}

START_TEST(observed_gradients_are_the_same)
{
    heed_manual_seed(3);
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(4, 5), HEED_F64), true);
    heed_tensor *w = heed_set_requires_grad(heed_randn(HEED_SHAPE(5, 5), HEED_F64), true);
    heed_tensor *expected[2], *grads[2], *both[] = {x, w};
    heed_grad(sums(x, w), both, 2, expected, false);
    FILE *null = fopen("/dev/null", "w");
    for (int mode = 0; mode < 8; mode++) {
        heed_recording *r = mode & 1 ? heed_recording_begin() : NULL;
        heed_trace(mode & 2 ? null : NULL);
        heed_set_detect_anomaly(mode & 4);
        heed_grad(sums(x, w), both, 2, grads, mode == 3);
        heed_clear_grad(x);
        heed_clear_grad(w);
        heed_backward(sums(x, w));
        heed_backward(sums(x, w));
        heed_recording_free(r);
        expect_close(grads[0], expected[0], 1e-12);
        expect_close(grads[1], expected[1], 1e-12);
        expect_close(x->grad, heed_mul_scalar(expected[0], 2), 1e-12);
        expect_close(w->grad, heed_mul_scalar(expected[1], 2), 1e-12);
    }
    heed_trace(NULL);
    heed_set_detect_anomaly(false);
    fclose(null);
}
END_TEST

/* Recorded gradients are not changed by later sums or by an optimiser. */
START_TEST(kept_gradients_do_not_change)
{
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(3), HEED_F32), true);
    heed_recording *r = heed_recording_begin();
    heed_tensor *h = heed_mul_scalar(x, 2);
    heed_backward(heed_sum(heed_add(heed_add(h, h), h)));
    heed_backward(heed_sum(heed_reshape(x, HEED_SHAPE(3, 1))));
    heed_backward(heed_sum(heed_reshape(x, HEED_SHAPE(3, 1))));
    EXPECT_VALUES(x->grad, 0, 8, 8, 8);
    EXPECT_VALUES(heed_recording_of(r, h)->gradient, 0, 3, 3, 3);
    EXPECT_VALUES(heed_recording_find(r, NULL, "reshape", 0)->gradient, 0, 1, 1, 1);
    heed_recording_free(r);
}
END_TEST

START_TEST(a_recording_may_outlive_its_scope_and_end_before_it)
{
    heed_recording *r = NULL, *second = NULL;
    {
        HEED_SCOPE(scope);
        r = heed_recording_begin();
        heed_tensor *y = heed_exp(leaf(0));
        heed_recording_stop(r);
        heed_recording_stop(r);
        second = heed_recording_begin();
        heed_tensor *z = heed_exp(y);
        heed_recording_free(second);
        ck_assert_double_eq_tol(heed_item(z), exp(1), 1e-6);
    }
    ck_assert_int_eq(heed_recording_count(r), 1);
    ck_assert_double_eq(heed_item(heed_recording_at(r, 0)->result), 1);
    heed_recording_free(r);
    heed_recording_free(NULL);
    ck_assert_int_eq(heed_recording_count(NULL), 0);
    ck_assert_ptr_null(heed_recording_of(NULL, NULL));
}
END_TEST

static void *stop_and_free(void *r)
{
    const heed_status status = heed_recording_stop(r);
    heed_error();
    heed_recording_free(r);
    heed_error();
    return status == HEED_ERR_VALUE ? "refused" : NULL;
}

START_TEST(misuse_is_refused)
{
    pthread_t thread;
    void *refused = NULL;
    heed_recording *r = heed_recording_begin();
    ck_assert_ptr_null(heed_recording_begin());
    expect_error(HEED_ERR_VALUE, "recording_begin: this thread is already recording");
    ck_assert_ptr_null(heed_recording_at(r, 0));
    expect_error(HEED_ERR_INDEX, "recording_at: entry 0 of 0");
    heed_exp(leaf(0));
    ck_assert_ptr_null(heed_recording_at(r, -1));
    expect_error(HEED_ERR_INDEX, "entry -1 of 1");
    ck_assert_int_eq(heed_recording_stop(NULL), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "recording_stop: the recording is NULL");
    ck_assert_int_eq(pthread_create(&thread, NULL, stop_and_free, r), 0);
    pthread_join(thread, &refused);
    ck_assert_ptr_nonnull(refused);
    ck_assert_int_eq(heed_recording_count(r), 1);

    heed_matmul(leaf(1), leaf(1)); /* fails; is not recorded */
    ck_assert_ptr_null(heed_exp(leaf(0)));
    ck_assert_ptr_null(heed_recording_begin());
    ck_assert_int_eq(heed_recording_count(r), 1);
    ck_assert_int_eq(heed_recording_stop(r), HEED_ERR_SHAPE);
    heed_recording_free(r);
    expect_error(HEED_ERR_SHAPE, "matmul");
}
END_TEST

START_TEST(another_thread_is_not_recorded)
{
    heed_recording *r = heed_recording_begin();
    run_thread(NULL);
    ck_assert_int_eq(heed_recording_count(r), 0);
    heed_recording_free(r);
}
END_TEST

/* Only results returned to a caller are recorded; the trace prints the same ones. */
START_TEST(operations_inside_a_forward_are_not_recorded)
{
    heed_tensor *x = leaf(3);
    heed_recording *r = heed_recording_begin();
    heed_backward(heed_apply(&twice, &x, 1, NULL, 0));
    ck_assert_int_eq(heed_recording_count(r), 1);
    ck_assert_str_eq(heed_recording_at(r, 0)->op->name, "twice");
    heed_recording_free(r);
}
END_TEST

START_TEST(without_memory_recording_and_drawing_fail_cleanly)
{
    FILE *null = fopen("/dev/null", "w");
    int n = 0;
    for (bool failed = true; failed; n++) {
        HEED_SCOPE(scope);
        heed_tensor *x = leaf(0.5), *y = x, *dx = NULL;
        heed_fail_allocation(n);
        heed_recording *r = heed_recording_begin();
        heed_trace(null);
        for (int i = 0; i < 70; i++) { /* the arrays grow */
            y = heed_tanh(y);
        }
        heed_grad(y, &x, 1, &dx, true);
        heed_graph_dot(null, y != NULL ? y : x, (heed_graph_options){.recording = r});
        heed_fail_allocation(-1);
        heed_trace(NULL);
        heed_recording_free(r);
        failed = heed_error_pending() == HEED_ERR_MEMORY;
        if (failed) {
            expect_error(HEED_ERR_MEMORY, "out of memory");
        }
    }
    ck_assert_int_gt(n, 200);
    fclose(null);
}
END_TEST

/* ---- sets of tensors ---- */

START_TEST(a_set_has_each_tensor_once)
{
    enum { COUNT = 5000 };
    heed_tensor_set set = {0};
    heed_tensor *first = leaf(1);
    ck_assert_int_eq(heed_tensor_set_find(&set, first), -1);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(heed_tensor_set_add(&set, i == 0 ? first : heed_neg(first)), i);
        ck_assert_int_eq(heed_tensor_set_add(&set, set.tensors[i / 2]), i / 2);
    }
    ck_assert_int_eq(set.count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(heed_tensor_set_find(&set, set.tensors[i]), i);
    }
    ck_assert_int_eq(heed_tensor_set_find(&set, leaf(1)), -1);
    heed_tensor_set_free(&set);
    ck_assert_int_eq(set.count, 0);
    ck_assert_int_eq(heed_tensor_set_find(&set, first), -1);
}
END_TEST

/* ---- pictures of graphs ---- */

static heed_tensor *drawn; /* set and drawn by the functions below */
static heed_graph_options how;

static void draw(FILE *stream)
{
    ck_assert_int_eq(heed_graph_dot(stream, drawn, how), HEED_OK);
}

START_TEST(a_shared_tensor_is_drawn_once)
{
    heed_tensor *x = leaf(3);
    drawn = heed_mul(x, heed_add_scalar(x, 1));
    how =
        (heed_graph_options){.title = "a < b", .names = {1, &x, (const char *[]){"x & \"y\"\\\n"}}};
    heed_backward(drawn);
    char *text = written_by(draw);
    ck_assert_int_eq(count_words(text, " [label=<"), 3);
    ck_assert_int_eq(count_words(text, " -> "), 3);
    ck_assert_int_eq(count_words(text, "<B>x &amp; &quot;y&quot;&#92;?</B><BR/>()"), 1);
    ck_assert_int_eq(count_words(text, "label=<a &lt; b>;"), 1);
    ck_assert_int_eq(count_words(text, "<B>add_scalar</B>&#160;b=1<BR/>()"), 1);
    ck_assert_int_eq(count_words(text, "gradient&#160;7.<"), 1);
    ck_assert_int_eq(count_words(text, ">12.<"), 1);
    free(text);
}
END_TEST

START_TEST(malformed_names_become_valid_utf8)
{
    heed_tensor *x = leaf(3);
    drawn = x;
    how = (heed_graph_options){
        .values = -1,
        .names = {1, &x, (const char *[]){"\xC3\xA9\xE2\x82\xFF\x80\x80\x80 \xF0\x9F\x98\x80"}}};
    expect_words(draw, "<B>\xC3\xA9?????? \xF0\x9F\x98\x80</B><BR/>()>,");
}
END_TEST

START_TEST(long_names_are_drawn_whole)
{
    char name[1001] = "", expected[1100];
    heed_tensor *x = leaf(3);
    for (int i = 0; i < 500; i++) {
        strcat(name, "\xC3\xA9");
    }
    drawn = x;
    how = (heed_graph_options){.names = {1, &x, (const char *[]){name}}};
    snprintf(expected, sizeof expected, "<B>%s</B>", name);
    expect_words(draw, expected);
}
END_TEST

/* Values that no derivative reads are freed with their scope. */
static heed_tensor *freed_inside(heed_tensor *x)
{
    HEED_SCOPE(scope);
    return heed_scope_keep(&scope, heed_add_scalar(heed_mul_scalar(x, 7), 1));
}

START_TEST(values_are_drawn_where_they_exist)
{
    heed_tensor *x = leaf(3);
    drawn = freed_inside(x);
    how = (heed_graph_options){0};
    char *text = written_by(draw);
    ck_assert_int_eq(count_words(text, ">21.<"), 0);
    ck_assert_int_eq(count_words(text, ">22.<"), 1);
    free(text);

    heed_recording *r = heed_recording_begin();
    drawn = freed_inside(x);
    how.recording = r;
    expect_words(draw, ">21.<");
    heed_backward(drawn);
    expect_words(draw,
                 ">21.</FONT><BR/><FONT COLOR=\"#A03030\" POINT-SIZE=\"10\">gradient&#160;1.<");
    how.values = -1;
    text = written_by(draw);
    ck_assert_int_eq(count_words(text, "FONT"), 0);
    free(text);

    heed_tensor *wide = heed_mul_scalar(heed_ones(HEED_SHAPE(2, 5), HEED_F64), 1.5);
    drawn = wide;
    how.values = 9;
    text = written_by(draw);
    ck_assert_int_eq(count_words(text, "FONT"), 0);
    free(text);
    how.values = 10;
    expect_words(draw, "<BR/>f64 (2, 5)<BR/><FONT COLOR=\"#1B4F8C\" POINT-SIZE=\"10\">"
                       "[[1.500,&#160;1.500,&#160;1.500,&#160;1.500,&#160;1.500],<BR/>"
                       "&#160;[1.500,&#160;1.500,&#160;1.500,&#160;1.500,&#160;1.500]]</FONT>>,");
    drawn = heed_neg(heed_ones(HEED_SHAPE(101), HEED_F32));
    how.values = 1000;
    text = written_by(draw);
    ck_assert_int_eq(count_words(text, "FONT"), 0);
    free(text);
    heed_recording_free(r);
}
END_TEST

/* Without a graph, the recording supplies the inputs. Parameters have their state dict names and
 * are framed with the module that reads them. */
START_TEST(modules_frame_what_they_computed)
{
    heed_manual_seed(1);
    struct heed_self_attention *m = heed_self_attention_new(2, 0, 1);
    heed_recording *r = heed_recording_begin();
    {
        HEED_SCOPE_NO_GRAD(scope);
        drawn = heed_scope_keep(&scope, heed_self_attention_forward(m, tutorial_input(), NULL));
    }
    how = (heed_graph_options){.module = m, .recording = r};
    char *text = written_by(draw);
    ck_assert_int_eq(count_words(text, " [label=<&#160;"), 6); /* named edges */
    ck_assert_int_eq(count_words(text, "<B>linear</B>"), 3);
    ck_assert_int_eq(
        count_words(text, "subgraph \"cluster_SelfAttention\" { label=<SelfAttention> subgraph "
                          "\"cluster_SelfAttention.W_q\" { label=<W_q> n"),
        2);
    ck_assert_int_eq(count_words(text, "<B>W_q.weight</B><BR/>(2, 2)"), 1);
    ck_assert_int_eq(count_words(text, "\nn"), 1 + 1 + 13); /* node [...], the input, edges */
    ck_assert_int_eq(count_words(text, " -> "), 13);
    ck_assert_int_eq(count_words(text, "{"), count_words(text, "}"));
    free(text);
    heed_recording_free(r);
    heed_module_free(m);
}
END_TEST

START_TEST(a_long_chain_is_drawn)
{
    enum { LENGTH = 100000 };
    FILE *null = fopen("/dev/null", "w");
    heed_tensor *y = leaf(1);
    for (int i = 0; i < LENGTH; i++) {
        y = heed_mul_scalar(y, 1);
    }
    ck_assert_int_eq(heed_graph_dot(null, y, (heed_graph_options){0}), HEED_OK);
    fclose(null);
}
END_TEST

START_TEST(drawing_reports_errors)
{
    heed_tensor *x = leaf(1);
    FILE *unwritable = fopen("/dev/null", "r");
    ck_assert_int_eq(heed_graph_dot(NULL, x, (heed_graph_options){0}), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "graph_dot: the file or the loss is NULL");
    ck_assert_int_eq(heed_graph_dot(stdout, NULL, (heed_graph_options){0}), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "graph_dot");
    ck_assert_int_eq(heed_graph_dot(unwritable, x, (heed_graph_options){0}), HEED_ERR_FILE);
    expect_error(HEED_ERR_FILE, "graph_dot: stream: cannot write");
    fclose(unwritable);
    FILE *full = fopen("/dev/full", "w"); /* fails when flushed */
    if (full != NULL) {
        ck_assert_int_eq(heed_graph_dot(full, x, (heed_graph_options){0}), HEED_ERR_FILE);
        expect_file_error("graph_dot: stream: cannot write", ENOSPC);
        fclose(full);
    }
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

    TCase *arguments = heed_case(suite, "arguments");
    tcase_add_test(arguments, arguments_are_shown_as_text);
    tcase_add_test(arguments, no_operation_hides_its_arguments);
    tcase_add_test(arguments, a_wrong_layout_reads_nothing_behind_the_arguments);

    TCase *recordings = heed_case(suite, "recordings");
    tcase_add_test(recordings, inner_results_and_their_gradients_stay);
    tcase_add_test(recordings, inputs_are_known_under_no_grad);
    tcase_add_test(recordings, derivatives_are_recorded_under_create_graph);
    tcase_add_test(recordings, the_last_pass_gives_the_gradient);
    tcase_add_test(recordings, observed_gradients_are_the_same);
    tcase_add_test(recordings, kept_gradients_do_not_change);
    tcase_add_test(recordings, a_recording_may_outlive_its_scope_and_end_before_it);
    tcase_add_test(recordings, misuse_is_refused);
    tcase_add_test(recordings, another_thread_is_not_recorded);
    tcase_add_test(recordings, operations_inside_a_forward_are_not_recorded);
    tcase_add_test(recordings, without_memory_recording_and_drawing_fail_cleanly);

    TCase *sets = heed_case(suite, "sets");
    tcase_add_test(sets, a_set_has_each_tensor_once);

    TCase *graphs = heed_case(suite, "graphs");
    tcase_add_test(graphs, a_shared_tensor_is_drawn_once);
    tcase_add_test(graphs, malformed_names_become_valid_utf8);
    tcase_add_test(graphs, long_names_are_drawn_whole);
    tcase_add_test(graphs, values_are_drawn_where_they_exist);
    tcase_add_test(graphs, modules_frame_what_they_computed);
    tcase_add_test(graphs, a_long_chain_is_drawn);
    tcase_add_test(graphs, drawing_reports_errors);
}
