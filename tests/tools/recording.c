/* Recordings: which results and gradients they keep. */
#include <math.h>
#include <pthread.h>

#include "tests/common/observe_util.h"

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

void add_recording_cases(Suite *suite)
{
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
}
