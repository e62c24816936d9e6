/* Anomaly mode: its findings, the modules it names, and no findings in healthy training. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/gpt/model.h"
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
    expect_error(HEED_ERR_ANOMALY, "log: -inf at (0, 1) of the result (1, 3), from (1, 3) with "
                                   "values from 0 to 2; clamp or mask");
    heed_sqrt(row(1, 4, -1));
    expect_error(HEED_ERR_ANOMALY, "sqrt: nan at (0, 2)");
    heed_div(row(1, 2, 3), row(1, 1, 0));
    expect_error(HEED_ERR_ANOMALY, "div: inf at (0, 2) of the result (1, 3), from (1, 3) with "
                                   "values from 1 to 3 and (1, 3) with values from 0 to 1");
    heed_log(row(1, -1, 0));
    expect_error(HEED_ERR_ANOMALY, "log: nan at (0, 1)");
    heed_reciprocal(heed_from_i64((int64_t[]){3, 0}, HEED_SHAPE(2)));
    expect_error(HEED_ERR_ANOMALY,
                 "inf at (1) of the result (2), from (2) with values from 0 to 3");
    heed_exp(heed_transpose(row(1, 2, 1000), 0, 1));
    expect_error(HEED_ERR_ANOMALY, "exp: inf at (2, 0) of the result (3, 1)");
    heed_matmul(heed_full(HEED_SHAPE(2, 3), 1e30, HEED_F32),
                heed_full(HEED_SHAPE(3, 1), 1e30, HEED_F32));
    expect_error(HEED_ERR_ANOMALY, "matmul: inf at (0, 0) of the result (2, 1)");
    heed_mul_scalar(row(1, -inf, inf), 0);
    expect_error(HEED_ERR_ANOMALY, "mul_scalar: nan at (0, 1)");
    heed_softmax(row(-inf, -inf, -inf), -1);
    expect_error(HEED_ERR_ANOMALY, "heed_safe_softmax gives zeros");
    heed_softmax(row(1, inf, 2), -1);
    expect_error(HEED_ERR_ANOMALY, "a row has inf, or only -inf");
    heed_mean(heed_zeros(HEED_SHAPE(0), HEED_F32));
    expect_error(HEED_ERR_ANOMALY, "mean: nan at () of the result (), from (0);");
}
END_TEST

START_TEST(infinite_constants_are_fine)
{
    const double inf = HUGE_VAL;
    heed_tensor *block = heed_causal_block_mask(4), *x = heed_randn(HEED_SHAPE(4, 4), HEED_F32);
    heed_tensor *filled = heed_masked_fill(x, block, -inf);
    heed_softmax(filled, -1);
    heed_log_softmax(filled, -1);
    heed_logsumexp_dim(filled, -1, false);
    heed_max(filled);
    heed_add(x, heed_causal_bias_mask(4, HEED_F32));
    heed_where(block, heed_full(HEED_SHAPE(4, 4), inf, HEED_F32), x);
    heed_safe_softmax(heed_masked_fill(x, heed_ones(HEED_SHAPE(4, 4), HEED_BOOL), -inf), -1);
    heed_masked_fill(x, block, (double)NAN);
    heed_exp(filled);
    heed_log(row(0, 0.5, 0.5));
    heed_add_scalar(x, -inf);
    heed_mul_scalar(row(1, 2, 3), inf);
    heed_mul_scalar(x, (double)NAN);
    heed_neg(row(inf, (double)NAN, 1)); /* in the data itself */
    heed_isnan(row(inf, (double)NAN, 1));
    heed_argsort(filled, -1, false);
    expect_no_error();
}
END_TEST

/* Derivatives and composed functions may compute an infinity that is not selected. */
START_TEST(only_results_are_checked)
{
    heed_tensor *x = leaf(0, 0, 0), *dx[1];
    heed_backward(heed_norm(x, 2));
    heed_backward(heed_sum(heed_abs(x)));
    heed_grad(heed_norm(x, 2), &x, 1, dx, true);
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
                 "backward of sqrt: inf at (0, 1) of the gradient of input 0 (1, "
                 "3), from a gradient (1, 3) with values from 1 to 1; if the derivative");
    ck_assert_ptr_null(x->grad);

    heed_tensor *root = heed_sqrt(x);
    heed_backward(heed_sum(heed_where(heed_gt_scalar(x, 0), root, x)));
    expect_error(HEED_ERR_ANOMALY, "backward of sqrt: nan at (0, 1)");

    heed_tensor *safe = heed_where(heed_gt_scalar(x, 0), x, row(1, 1, 1));
    heed_backward(heed_sum(heed_where(heed_gt_scalar(x, 0), heed_sqrt(safe), x)));
    expect_no_error();
}
END_TEST

/* Builds with HEED_DEBUG print where the forward was called, others nothing. */
START_TEST(callers_are_printed_in_debug_builds)
{
    static char text[20000]; /* a debug build prints the calls that led to the error, too */
    FILE *file = tmpfile();
    const int saved = dup(STDERR_FILENO);
    heed_tensor *y = heed_sum(heed_sqrt(leaf(4, 0, 1)));
    dup2(fileno(file), STDERR_FILENO);
    heed_backward(y);
    dup2(saved, STDERR_FILENO);
    close(saved);
    expect_error(HEED_ERR_ANOMALY, "backward of sqrt");
    rewind(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
#ifdef HEED_DEBUG
    ck_assert_uint_gt(size, 0);
    ck_assert_ptr_nonnull(strstr(text, "heed: the forward of this sqrt was called here:"));
#else
    ck_assert_msg(size == 0, "%s", text);
#endif
}
END_TEST

/* Outside the mode, matmul adds directly to an existing gradient, without a temporary tensor. */
START_TEST(added_gradients_are_checked)
{
    heed_tensor *w = heed_full(HEED_SHAPE(2, 1), 1e30, HEED_F32);
    heed_tensor *x = heed_set_requires_grad(heed_full(HEED_SHAPE(1, 2), 1e-38, HEED_F32), true);
    heed_backward(heed_sum(heed_matmul(x, w)));
    expect_no_error();
    ck_assert_ptr_nonnull(x->grad);
    heed_backward(heed_sum(heed_mul_scalar(heed_matmul(x, w), 1e20)));
    expect_error(HEED_ERR_ANOMALY, "backward of matmul: inf at (0, 0) of the gradient of input 0");
}
END_TEST

START_TEST(the_loss_is_checked)
{
    heed_tensor *x = leaf(1, 2, 3), *dx[1];
    heed_tensor *loss = heed_sum(heed_mul(x, row(1, (double)NAN, 1)));
    heed_backward(loss);
    expect_error(HEED_ERR_ANOMALY, "backward: y is nan, although no operation produced it");
    heed_backward_retain(heed_sum(heed_add_scalar(x, HUGE_VAL)));
    expect_error(HEED_ERR_ANOMALY, "backward_retain: y is inf");
    heed_grad(loss, &x, 1, dx, false);
    expect_error(HEED_ERR_ANOMALY, "grad: y is nan");
    ck_assert_ptr_null(dx[0]);
}
END_TEST

/* ---- the setting ---- */

static void *mode_of_thread(void *unused)
{
    (void)unused;
    return heed_is_anomaly_enabled() ? "on" : NULL;
}

START_TEST(the_mode_belongs_to_the_thread)
{
    pthread_t thread;
    void *other = NULL;
    ck_assert(heed_is_anomaly_enabled());
    ck_assert_int_eq(pthread_create(&thread, NULL, mode_of_thread, NULL), 0);
    pthread_join(thread, &other);
    ck_assert_ptr_null(other);
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
        y = heed_sin(
            heed_clamp(heed_add_scalar(heed_cat((heed_tensor *[]){y, y, y}, 3, 0), 1), -9, 9));
        y = heed_slice(y, 0, 0, 4, 1);
        y = heed_reshape(y, HEED_SHAPE(2, 6));
    }
    heed_backward(heed_sum(y));
    expect_no_error();
}
END_TEST

static heed_status copy_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, call->inputs[0]);
}

static void last_argument_backward(const heed_vjp *v)
{
    v->grads[0] = heed_mul_scalar(v->g, *((const char *)v->args + UINT16_MAX - 1));
}

/* With the longest arguments, adding the origin of the node would overflow. */
START_TEST(arguments_may_have_any_size)
{
    static const heed_op op = {
        .name = "long", .inputs = 1, .forward = copy_forward, .backward = last_argument_backward};
    static const char args[UINT16_MAX] = {[UINT16_MAX - 1] = 7};
    heed_tensor *x = leaf(1, 2, 3);
    heed_backward(heed_sum(heed_apply(&op, &x, 1, args, sizeof args)));
    expect_no_error();
    ck_assert_double_eq(heed_at(x->grad, HEED_INDEX(0, 2)), 7);
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

struct twice {
    heed_module module;
    struct heed_sequential *inner;
    struct heed_linear *W;
};

static heed_tensor *twice_forward(void *module, heed_tensor *x)
{
    struct twice *m = module;
    HEED_FORWARD(m);
    return heed_sqrt(note_path(heed_linear_forward(m->W, heed_sequential_forward(m->inner, x))));
}

static const heed_module_kind twice_kind = {
    .name = "Twice", .size = sizeof(struct twice), .forward = twice_forward};

static struct twice *twice_new(heed_activation_function *activation)
{
    struct twice *m = heed_module_new(&twice_kind);
    heed_add_child(m, "inner", &m->inner, heed_sequential_new());
    heed_sequential_append(
        m->inner,
        heed_feed_forward_new_with(3, 4, (heed_feed_forward_options){.activation = activation}));
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
    heed_sequential_forward(m->inner, row(1, 2, 3));
    ck_assert_int_eq(heed_error(), HEED_ERR_DTYPE);
    heed_module_to(m, HEED_F64);
    heed_fill_into(m->W->weight, 0);
    heed_sequential_forward(m->inner, row(1, 2, 3));
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

static jmp_buf escape;

static heed_tensor *jump(heed_tensor *x)
{
    (void)x;
    longjmp(escape, 1);
}

START_TEST(a_module_left_by_longjmp_is_forgotten_when_freed)
{
    struct heed_feed_forward *m =
        heed_feed_forward_new_with(3, 4, (heed_feed_forward_options){.activation = jump});
    heed_tensor *x = heed_ones(HEED_SHAPE(1, 3), HEED_F32);
    heed_scope scope;
    heed_scope_begin(&scope);
    if (setjmp(escape) == 0) {
        heed_feed_forward_forward(m, x);
    }
    ck_assert_int_eq(heed_scope_end(&scope), HEED_ERR_SCOPE);
    heed_error();
    expect_path("FeedForward");
    heed_module_free(m);
    expect_path("");
}
END_TEST

static heed_tensor *token_ids(int64_t rows, int64_t columns, int64_t kinds)
{
    return heed_randint(0, kinds, HEED_SHAPE(rows, columns), HEED_I64);
}

static struct gpt *small_gpt(double dropout)
{
    return gpt_new((gpt_config){.vocab_size = 11,
                                .block_size = 6,
                                .n_layer = 2,
                                .n_head = 2,
                                .n_embd = 8,
                                .dropout = dropout});
}

START_TEST(errors_name_the_module)
{
    struct gpt *gpt = small_gpt(0);
    heed_fill_into(heed_state(gpt, "transformer.h.1.mlp.c_fc.weight"), 3e38);
    gpt_loss(gpt, token_ids(2, 6, 11), token_ids(2, 6, 11));
    expect_error(HEED_ERR_ANOMALY, "linear in GPT.transformer.h.1.mlp.c_fc: ");
    heed_module_free(gpt);

    struct twice *m = twice_new(NULL); /* the graph may outlive the module */
    heed_fill_into(heed_state(m, "W.weight"), 0);
    heed_fill_into(heed_state(m, "W.bias"), 0);
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_F32);
    heed_tensor *loss = heed_sum(heed_forward(m, x));
    expect_no_error();
    heed_module_free(m);
    heed_backward(loss);
    expect_error(HEED_ERR_ANOMALY, "backward of sqrt in Twice: inf at (0, 0)");
}
END_TEST

/* ---- mistakes in calls ---- */

START_TEST(the_loss_of_probabilities_is_found)
{
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(2, 4, 5), HEED_F32), true);
    heed_tensor *ids = token_ids(8, 1, 5), *flat = heed_squeeze(ids, 1);
    heed_cross_entropy(heed_flatten(heed_softmax(x, -1), 0, 1), flat);
    expect_error(HEED_ERR_ANOMALY, "cross_entropy of (8, 5): its input was made by softmax");
    heed_cross_entropy(
        heed_reshape(heed_transpose(heed_safe_softmax(x, 1), 0, 1), HEED_SHAPE(8, 5)), flat);
    expect_error(HEED_ERR_ANOMALY, "softmax is applied again; pass the logits");
    heed_cross_entropy(
        heed_flatten(heed_matmul(heed_softmax(x, -1), heed_transpose(x, 1, 2)), 0, 1),
        heed_squeeze(token_ids(8, 1, 4), 1));
    heed_cross_entropy(heed_log_softmax(heed_flatten(x, 0, 1), -1), flat);
    expect_no_error();
}
END_TEST

START_TEST(softmax_over_the_queries_is_found)
{
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(2, 4, 4), HEED_F32), true);
    heed_tensor *scores = heed_div_scalar(heed_matmul(x, heed_transpose(x, -2, -1)), 2);
    heed_matmul(heed_softmax(scores, -2), x);
    expect_error(HEED_ERR_ANOMALY, "matmul of (2, 4, 4): the weights come from a softmax over "
                                   "a dim other than the last");
    heed_tensor *masked = heed_masked_fill(scores, heed_causal_block_mask(4), -HUGE_VAL);
    heed_matmul(heed_dropout(heed_safe_softmax(masked, 1), 0.5, true), x);
    expect_error(HEED_ERR_ANOMALY, "use heed_softmax(x, -1)");
    heed_matmul(heed_softmax(scores, 0), x);
    expect_error(HEED_ERR_ANOMALY, "a dim other than the last");

    heed_matmul(heed_softmax(masked, 2), x);
    heed_matmul(heed_softmax(x, -2), x);                              /* not a product */
    heed_matmul(heed_transpose(heed_softmax(scores, -2), -2, -1), x); /* keys first */
    heed_matmul(heed_transpose(heed_softmax(x, -2), -2, -1), x);      /* linear attention */
    heed_tensor *p = heed_softmax(scores, -2);                        /* slot attention */
    heed_matmul(heed_div(p, heed_sum_dim(p, -1, true)), x);
    heed_tensor *pool = heed_softmax(heed_matmul(x, heed_ones(HEED_SHAPE(4, 1), HEED_F32)), 1);
    heed_matmul(pool, heed_ones(HEED_SHAPE(1, 4), HEED_F32)); /* outer product */
    expect_no_error();
}
END_TEST

/* Attention with a mask, in each of the forms in which a mask is applied before softmax. */
static heed_tensor *attend_with(heed_tensor *block, int form)
{
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(4, 4, 4), HEED_F32), true);
    heed_tensor *scores = heed_matmul(x, heed_transpose(x, -2, -1)), *weights;
    heed_tensor *keep = heed_keep_mask_of_block(block);
    heed_tensor *bias = heed_bias_mask_of_block(block, HEED_F32);
    switch (form) {
    case 0:
        return heed_safe_softmax(heed_masked_fill(scores, block, -1e9), -1);
    case 1:
        return heed_safe_softmax(heed_where(keep, scores, heed_scalar(-1e9, HEED_F32)), -1);
    case 2:
        return heed_safe_softmax(heed_add(scores, bias), -1);
    case 3:
        return heed_scaled_dot_product_attention(x, x, x, keep, 0, false, 0);
    case 4:
        return heed_scaled_dot_product_attention(x, x, x, bias, 0, false, 0);
    case 5:
        return heed_safe_softmax(heed_where(block, heed_scalar(-1e9, HEED_F32), scores), -1);
    default:
        return heed_scaled_dot_product_attention_weights(x, x, x, keep, 0.5, false, 0, &weights);
    }
}

START_TEST(an_inverted_mask_is_found)
{
    heed_tensor *causal = heed_causal_block_mask(4), *ones = heed_ones(HEED_SHAPE(4, 4), HEED_BOOL);
    heed_tensor *diagonal = heed_tril(heed_triu(ones, 0), 0);
    attend_with(heed_logical_not(causal), _i);
    expect_error(HEED_ERR_ANOMALY, "the attention mask seems to be inverted");
    attend_with(heed_unsqueeze(heed_logical_not(diagonal), 0), _i);
    expect_error(HEED_ERR_ANOMALY, "pass heed_logical_not(mask)");

    heed_tensor *bias = heed_mul_scalar(heed_to(heed_logical_not(causal), HEED_F32), -1e4);
    heed_tensor *x = heed_randn(HEED_SHAPE(1, 4, 4), HEED_F32); /* -10000 blocks, as in BERT */
    heed_scaled_dot_product_attention(x, x, x, bias, 0, false, 0);
    expect_error(HEED_ERR_ANOMALY, "the attention mask seems to be inverted");

    attend_with(causal, _i);
    attend_with(diagonal, _i);
    attend_with(heed_logical_not(ones), _i);
    attend_with(ones, _i);
    attend_with(heed_transpose(causal, 0, 1), _i);                /* from right to left */
    attend_with(heed_unsqueeze(heed_causal_keep_mask(4), 1), _i); /* four rows, not a square */
    attend_with(heed_padding_block_mask(heed_from_i64((int64_t[]){1}, HEED_SHAPE(1)), 4), _i);
    expect_no_error();
}
END_TEST

/* A float mask, in each of the forms in which it is added to the scores. */
static heed_tensor *attend_adding(heed_tensor *mask, int form)
{
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(2, 4, 4), HEED_F32), true);
    heed_tensor *scores = heed_div_scalar(heed_matmul(x, heed_transpose(x, -2, -1)), 2), *weights;
    switch (form) {
    case 0:
        return heed_softmax(heed_add(scores, mask), -1);
    case 1:
        return heed_softmax(heed_add(mask, scores), -1);
    case 2:
        return heed_scaled_dot_product_attention(x, x, x, mask, 0, false, 0);
    default:
        return heed_scaled_dot_product_attention_weights(x, x, x, mask, 0, false, 0, &weights);
    }
}

START_TEST(an_added_mask_of_0_and_1_is_found)
{
    heed_tensor *keep = heed_to(heed_causal_keep_mask(4), HEED_F32);
    heed_tensor *ids = heed_from_i64((int64_t[]){3, 2}, HEED_SHAPE(2));
    heed_tensor *padding = heed_padding_block_mask(ids, 4);
    heed_tensor *causal = heed_causal_bias_mask(4, HEED_F32);
    attend_adding(keep, _i);
    expect_error(HEED_ERR_ANOMALY, "the mask is a float tensor of 0 and 1, and is added to the "
                                   "scores, so it blocks nothing; pass a bool mask, or 0 for keys");
    attend_adding(heed_to(padding, HEED_F32), _i);
    expect_error(HEED_ERR_ANOMALY, "float tensor of 0 and 1");
    attend_adding(heed_add(heed_expand(heed_to(padding, HEED_F32), HEED_SHAPE(2, 4, 4)), causal),
                  _i);
    expect_error(HEED_ERR_ANOMALY, "float tensor of 0 and 1");

    attend_adding(causal, _i);
    attend_adding(heed_zeros(HEED_SHAPE(4, 4), HEED_F32), _i); /* nothing is blocked */
    attend_adding(heed_ones(HEED_SHAPE(4, 4), HEED_F32), _i);
    attend_adding(heed_mul_scalar(heed_to(heed_causal_block_mask(4), HEED_F32), -1e9), _i);
    attend_adding(heed_mul_scalar(keep, 0.5), _i);                     /* ALiBi and the like */
    attend_adding(heed_set_requires_grad(heed_clone(keep), true), _i); /* learned */
    expect_no_error();
    HEED_SCOPE_NO_GRAD(scope);
    heed_softmax(heed_add(heed_randn(HEED_SHAPE(4, 4), HEED_F32), keep), -1); /* no scores */
    expect_no_error();
}
END_TEST

START_TEST(modules_with_a_mask_of_0_and_1_are_found)
{
    heed_tensor *x = heed_randn(HEED_SHAPE(4, 6), HEED_F32);
    struct heed_multihead_attention *m = heed_multihead_attention_new(6, 2);
    heed_multihead_attention_forward_options options = {
        .attn_mask = heed_to(heed_causal_keep_mask(4), HEED_F32)};
    heed_multihead_attention_forward_with(m, x, x, x, options);
    expect_error(HEED_ERR_ANOMALY, " in MultiheadAttention: the mask is a float tensor of 0 and 1");
    options.attn_mask = heed_causal_bias_mask(4, HEED_F32);
    heed_multihead_attention_forward_with(m, x, x, x, options);
    expect_no_error();
    heed_module_free(m);
}
END_TEST

START_TEST(attention_of_one_token_is_found)
{
    struct heed_self_attention *m = heed_self_attention_new(6, -2, -1);
    heed_tensor *batch =
        heed_randn(HEED_SHAPE(5, 6), HEED_F32); /* five tokens, taken for a batch */
    heed_self_attention_forward(m, heed_unsqueeze(batch, 1), NULL);
    expect_error(HEED_ERR_ANOMALY, "safe_softmax of (5, 1, 1) in SelfAttention: attention with one "
                                   "query and one key: its only weight is always 1, so W_q and "
                                   "W_k get no gradient");
    heed_self_attention_forward(m, heed_unsqueeze(batch, 1), heed_causal_block_mask(1));
    expect_error(HEED_ERR_ANOMALY, "one query and one key");
    struct heed_multihead_attention *heads = heed_multihead_attention_new(6, 2);
    heed_tensor *x = heed_unsqueeze(batch, 0); /* (L, N, E): one token in each of five sequences */
    heed_multihead_attention_forward_with(heads, x, x, x,
                                          (heed_multihead_attention_forward_options){0});
    expect_error(HEED_ERR_ANOMALY, " in MultiheadAttention: attention with one query and one key");

    heed_tensor *one = heed_slice(batch, 0, 0, 1, 1);
    heed_self_attention_forward(m, one, NULL); /* a text of one token */
    heed_self_attention_forward(m, heed_unsqueeze(one, 0), NULL);
    expect_no_error();
    heed_self_attention_forward(m, batch, NULL);
    heed_self_attention_forward(m, heed_unsqueeze(batch, 1), NULL);      /* after longer ones */
    heed_scaled_dot_product_attention(one, one, one, NULL, 0, false, 0); /* nothing to learn */
    heed_tensor *q = heed_set_requires_grad(heed_clone(batch), true);
    heed_scaled_dot_product_attention(q, one, one, NULL, 0, false, 0);      /* one key for all */
    heed_scaled_dot_product_attention(one, q, q, NULL, 0, false, 0);        /* one query */
    heed_softmax(heed_matmul(q, heed_ones(HEED_SHAPE(6, 1), HEED_F32)), 0); /* pooling */
    heed_softmax(heed_matmul(heed_unsqueeze(q, 1), heed_ones(HEED_SHAPE(6, 1), HEED_F32)), 0);
    expect_no_error();
    HEED_SCOPE_NO_GRAD(scope); /* the first token of a text that is generated */
    heed_self_attention_forward(m, heed_unsqueeze(batch, 1), NULL);
    heed_multihead_attention_forward_with(heads, x, x, x,
                                          (heed_multihead_attention_forward_options){0});
    expect_no_error();
    heed_module_free(m);
    heed_module_free(heads);
}
END_TEST

static heed_tensor *loss_times(double scale, heed_cross_entropy_options options)
{
    heed_tensor *logits = heed_eye(6, 20, HEED_F32), *ids = heed_arange(1, 7, 1, HEED_I64);
    heed_set_requires_grad(logits, true);
    return heed_cross_entropy_with(heed_mul_scalar(logits, scale), ids, options);
}

static void restart(void)
{
    mode_off();
    mode_on();
}

START_TEST(a_first_loss_above_guessing_is_found)
{
    const heed_cross_entropy_options plain = {0};
    loss_times(8, plain);
    expect_error(HEED_ERR_ANOMALY, "cross_entropy of (6, 20): the first loss is 8.006, but "
                                   "guessing gives ln 20 = 2.996; start from smaller weights");
    loss_times(8, plain); /* only the first: a model may become that bad later */
    expect_no_error();
    restart();
    loss_times(5.945, plain); /* 5.9936; the limit is ln 20 + 3 = 5.9957 */
    loss_times(8, plain);
    expect_no_error();
    restart();
    loss_times(5.95, plain);
    expect_error(HEED_ERR_ANOMALY, "the first loss is 5.998");
    restart();
    loss_times(8, (heed_cross_entropy_options){.reduction = HEED_SUM});
    expect_no_error();
    restart();
    loss_times(8, (heed_cross_entropy_options){.reduction = HEED_NONE});
    expect_no_error();
    restart();
    heed_scope evaluation;
    heed_scope_begin_no_grad(&evaluation);
    loss_times(8, plain);
    heed_scope_end(&evaluation);
    heed_log_softmax(heed_set_requires_grad(heed_randn(HEED_SHAPE(3, 4), HEED_F32), true), -1);
    expect_no_error();
    loss_times(8, plain);
    expect_error(HEED_ERR_ANOMALY, "the first loss is 8.006");
}
END_TEST

START_TEST(mistakes_name_the_module)
{
    heed_tensor *x = heed_randn(HEED_SHAPE(4, 6), HEED_F32);
    struct heed_self_attention *m = heed_self_attention_new(6, 0, 1);
    heed_self_attention_forward(m, x, heed_causal_keep_mask(4));
    expect_error(HEED_ERR_ANOMALY, "safe_softmax of (4, 4) in SelfAttention: the attention mask");
    heed_module_free(m);
    struct heed_multihead_attention *heads = heed_multihead_attention_new(6, 2);
    heed_multihead_attention_forward_with(
        heads, x, x, x,
        (heed_multihead_attention_forward_options){.attn_mask = heed_causal_keep_mask(4)});
    expect_error(HEED_ERR_ANOMALY, " in MultiheadAttention: the attention mask");
    heed_module_free(heads);
}
END_TEST

/* ---- mistakes around a step ---- */

static heed_tensor *loss_of(struct heed_linear *m)
{
    return heed_mean(heed_linear_forward(m, heed_randn(HEED_SHAPE(4, 3), HEED_F32)));
}

START_TEST(uncleared_gradients_are_found)
{
    struct heed_linear *m = heed_linear_new(3, 2);
    heed_optimizer *adam = heed_adam_new(heed_parameters(m), 1e-2);
    heed_backward(loss_of(m));
    heed_backward(loss_of(m)); /* may accumulate before a step */
    heed_optimizer_step(adam);
    heed_optimizer_step(adam); /* the same gradients again */
    expect_no_error();
    heed_backward(loss_of(m));
    ck_assert_int_eq(heed_optimizer_step(adam), HEED_ERR_ANOMALY);
    expect_error(HEED_ERR_ANOMALY, "backward has added to the gradient of weight that the last "
                                   "step used; call heed_optimizer_zero_grad");
    ck_assert_int_eq(adam->steps, 2);
    heed_zero_grad(m);
    heed_backward(loss_of(m));
    heed_optimizer_step(adam);
    expect_no_error();
    heed_optimizer_free(adam);
    heed_module_free(m);
}
END_TEST

START_TEST(a_loss_without_parameters_is_found)
{
    struct heed_linear *m = heed_linear_new(3, 2);
    heed_optimizer *sgd = heed_sgd_new(heed_parameters(m), 1e-2);
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2), HEED_F32), true);
    heed_backward(heed_sum(heed_mul(x, heed_detach(heed_select(m->weight, 1, 0)))));
    heed_optimizer_step(sgd);
    expect_error(HEED_ERR_ANOMALY, "optimizer_step: no parameter has a gradient");
    heed_optimizer_free(sgd);
    heed_module_free(m);
}
END_TEST

/* `used` is the number of the 20 steps that use the second layer. */
static void take_steps_with_two_layers(int used)
{
    struct heed_sequential *m = heed_sequential_new();
    heed_sequential_append(m, heed_linear_new(3, 2));
    heed_sequential_append(m, heed_linear_new(3, 2));
    heed_optimizer *sgd = heed_sgd_new(heed_parameters(m), 1e-2);
    for (int i = 0; i < 20 && !heed_error_pending(); i++) {
        HEED_SCOPE(step);
        heed_optimizer_zero_grad(sgd);
        heed_backward(loss_of(heed_module_list_at(&m->list, i >= 10 - used && i < 10)));
        heed_optimizer_step(sgd);
    }
    heed_optimizer_free(sgd);
    heed_module_free(m);
}

START_TEST(a_parameter_without_gradients_is_found)
{
    take_steps_with_two_layers(0);
    expect_error(HEED_ERR_ANOMALY, "optimizer_step: the parameter 1.weight had no gradient in any "
                                   "step so far");
    take_steps_with_two_layers(1);
    expect_no_error();
}
END_TEST

START_TEST(a_parameter_that_overflows_is_found)
{
    struct heed_linear *m = heed_linear_new(3, 2);
    heed_optimizer *sgd = heed_sgd_new(heed_parameters(m), 3e38);
    heed_backward(heed_mul_scalar(loss_of(m), 1e3));
    heed_optimizer_step(sgd);
    expect_error(HEED_ERR_ANOMALY, "the parameter weight is no longer finite after step 1; lower");
    heed_optimizer_free(sgd);
    heed_module_free(m);
}
END_TEST

/* ---- healthy training: no alarm, and the same losses as without the mode ---- */

enum { STEPS = 100, TIMES = 2 }; /* TIMES: backward passes per step, on purpose */

typedef heed_tensor *loss_function(void *module);

static heed_tensor *loss_of_gpt(void *m)
{
    return gpt_loss(m, token_ids(3, 6, 11), token_ids(3, 6, 11));
}

static void *new_gpt(void)
{
    return small_gpt(0.2);
}

static heed_tensor *toy_loss(void *m)
{
    struct heed_sequential *layers = m;
    heed_tensor *x = heed_forward(heed_module_list_at(&layers->list, 0), token_ids(5, 1, 9));
    x = heed_position_encoding_forward(heed_module_list_at(&layers->list, 1), heed_squeeze(x, 1));
    x = heed_self_attention_forward(heed_module_list_at(&layers->list, 2), x,
                                    heed_causal_block_mask(5));
    x = heed_forward(heed_module_list_at(&layers->list, 3), x);
    return heed_cross_entropy(x, heed_squeeze(token_ids(5, 1, 9), 1));
}

static void *new_toy(void)
{
    struct heed_sequential *m = heed_sequential_new();
    heed_sequential_append(m, heed_embedding_new(9, 4));
    heed_sequential_append(m, heed_position_encoding_new(4, 6));
    heed_sequential_append(m, heed_self_attention_new(4, 0, 1));
    heed_sequential_append(m, heed_linear_new(4, 9));
    return m;
}

static heed_tensor *heads_loss(void *m)
{
    heed_tensor *x = heed_randn(HEED_SHAPE(2, 4, 6), HEED_F32);
    heed_tensor *y = heed_multi_head_forward(m, x, heed_causal_block_mask(4));
    heed_tensor *length = heed_sqrt(heed_add_scalar(heed_sum_dim(heed_square(y), -1, true), 1e-6));
    return heed_mean(
        heed_binary_cross_entropy_with_logits(heed_div(y, length), heed_gt_scalar(x, 0)));
}

static void *new_heads(void)
{
    return heed_multi_head_new(6, 3, 1, 2);
}

/* A bias by distance, as in ALiBi, and sequences of several lengths. */
static heed_tensor *biased_loss(void *m)
{
    static int calls;
    const int64_t length = 2 + calls++ % 4;
    heed_tensor *x = heed_randn(HEED_SHAPE(length, 8), HEED_F32);
    heed_tensor *at = heed_arange(0, (double)length, 1, HEED_F32);
    heed_tensor *apart = heed_sub(at, heed_unsqueeze(at, 1)); /* key - query */
    heed_tensor *y = heed_multihead_attention_forward_with(
        m, x, x, x,
        (heed_multihead_attention_forward_options){
            .attn_mask = calls % 2 == 0 ? apart : heed_neg(heed_abs(apart))});
    return heed_cross_entropy_with(heed_mul_scalar(y, 3), heed_squeeze(token_ids(length, 1, 8), 1),
                                   (heed_cross_entropy_options){.label_smoothing = 0.1});
}

static void *new_biased(void)
{
    return heed_multihead_attention_new(8, 2);
}

static const struct {
    void *(*make)(void);
    loss_function *loss;
} healthy[] = {{new_gpt, loss_of_gpt},
               {new_toy, toy_loss},
               {new_heads, heads_loss},
               {new_biased, biased_loss}};

enum { HEALTHY = sizeof healthy / sizeof *healthy };

static double train(int i, bool anomaly_mode)
{
    heed_manual_seed(5);
    void *m = healthy[i].make();
    heed_optimizer *adam = heed_adamw_new(heed_parameters(m), 1e-2, 0.01);
    double last = 0;
    heed_set_detect_anomaly(anomaly_mode);
    for (int step = 0; step < STEPS; step++) {
        step % 2 == 0 ? heed_optimizer_zero_grad(adam) : heed_zero_grad(m);
        for (int time = 0; time < TIMES; time++) {
            HEED_SCOPE(scope);
            heed_tensor *loss = healthy[i].loss(m);
            heed_backward(heed_div_scalar(loss, TIMES));
            last = heed_item(loss);
        }
        heed_clip_grad_norm(heed_parameters(m), 1);
        heed_optimizer_step(adam);
        expect_no_error();
    }
    heed_optimizer_free(adam);
    heed_module_free(m);
    return last;
}

START_TEST(healthy_training_raises_no_alarm)
{
    const double with = train(_i, true), without = train(_i, false);
    ck_assert_double_eq_tol(with, without, 1e-4 * fabs(without));
}
END_TEST

START_TEST(new_models_raise_no_alarm)
{
    for (int seed = 0; seed < 20; seed++) {
        HEED_SCOPE(scope);
        heed_manual_seed((uint64_t)seed);
        restart();
        void *m = healthy[_i].make();
        heed_backward(healthy[_i].loss(m));
        expect_no_error();
        heed_module_free(m);
    }
}
END_TEST

/* The generator's loss adds to the critic's gradients, which are cleared before they are used. */
START_TEST(two_optimisers_raise_no_alarm)
{
    struct heed_linear *generator = heed_linear_new(2, 3), *critic = heed_linear_new(3, 1);
    heed_optimizer *of_generator = heed_adam_new(heed_parameters(generator), 1e-2);
    heed_optimizer *of_critic = heed_adam_new(heed_parameters(critic), 1e-2);
    for (int i = 0; i < STEPS; i++) {
        HEED_SCOPE(step);
        heed_tensor *made = heed_linear_forward(generator, heed_randn(HEED_SHAPE(4, 2), HEED_F32));
        heed_optimizer_zero_grad(of_critic);
        heed_backward(
            heed_sub(heed_mean(heed_linear_forward(critic, heed_detach(made))), loss_of(critic)));
        heed_optimizer_step(of_critic);
        heed_optimizer_zero_grad(of_generator);
        heed_backward(heed_neg(heed_mean(heed_linear_forward(critic, made))));
        heed_optimizer_step(of_generator);
        expect_no_error();
    }
    heed_optimizer_free(of_generator);
    heed_optimizer_free(of_critic);
    heed_module_free(generator);
    heed_module_free(critic);
}
END_TEST

static TCase *anomaly_case(Suite *suite, const char *name)
{
    TCase *test_case = heed_case(suite, name);
    tcase_add_checked_fixture(test_case, mode_on, mode_off);
    return test_case;
}

void add_anomaly_cases(Suite *suite)
{
    TCase *numbers = anomaly_case(suite, "NaN_and_infinity");
    tcase_add_test(numbers, forward_is_checked);
    tcase_add_test(numbers, infinite_constants_are_fine);
    tcase_add_test(numbers, only_results_are_checked);
    tcase_add_test(numbers, nothing_is_computed_from_an_anomaly);
    tcase_add_test(numbers, backward_is_checked);
    tcase_add_test(numbers, callers_are_printed_in_debug_builds);
    tcase_add_test(numbers, added_gradients_are_checked);
    tcase_add_test(numbers, the_loss_is_checked);
    TCase *mode = anomaly_case(suite, "the_mode");
    tcase_add_test(mode, the_mode_belongs_to_the_thread);
    tcase_add_test(mode, the_mode_may_change_within_a_graph);
    tcase_add_test(mode, arguments_may_have_any_size);
    tcase_add_test(mode, without_memory_it_fails_cleanly);
    TCase *paths = anomaly_case(suite, "module_paths");
    tcase_add_test(paths, paths_are_the_names_of_the_state_dict);
    tcase_add_test(paths, long_paths_omit_their_first_names);
    tcase_add_test(paths, a_module_left_by_longjmp_is_forgotten_when_freed);
    tcase_add_test(paths, errors_name_the_module);
    TCase *calls = anomaly_case(suite, "mistakes_in_calls");
    tcase_add_test(calls, the_loss_of_probabilities_is_found);
    tcase_add_test(calls, softmax_over_the_queries_is_found);
    tcase_add_loop_test(calls, an_inverted_mask_is_found, 0, 7);
    tcase_add_loop_test(calls, an_added_mask_of_0_and_1_is_found, 0, 4);
    tcase_add_test(calls, modules_with_a_mask_of_0_and_1_are_found);
    tcase_add_test(calls, attention_of_one_token_is_found);
    tcase_add_test(calls, a_first_loss_above_guessing_is_found);
    tcase_add_test(calls, mistakes_name_the_module);
    TCase *steps = anomaly_case(suite, "mistakes_around_a_step");
    tcase_add_test(steps, uncleared_gradients_are_found);
    tcase_add_test(steps, a_loss_without_parameters_is_found);
    tcase_add_test(steps, a_parameter_without_gradients_is_found);
    tcase_add_test(steps, a_parameter_that_overflows_is_found);
    TCase *training = anomaly_case(suite, "healthy_training");
    tcase_add_loop_test(training, healthy_training_raises_no_alarm, 0, HEALTHY);
    tcase_add_loop_test(training, new_models_raise_no_alarm, 0, HEALTHY);
    tcase_add_test(training, two_optimisers_raise_no_alarm);
}
