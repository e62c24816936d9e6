/* User-defined operations, with any number of inputs, and derivatives that fail. */
#include <math.h>

#include "tests/common/engine_util.h"

/* ---- a weighted sum of any number of tensors ---- */

static heed_status weighted_forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *sum = heed_mul_scalar(call->inputs[0], 1);
    for (int i = 1; i < call->count; i++) {
        sum = heed_add(sum, heed_mul_scalar(call->inputs[i], i + 1));
    }
    return heed_copy_into(y, sum);
}

static void weighted_backward(const heed_vjp *v)
{
    for (int i = 0; i < v->y->input_count; i++) {
        v->grads[i] = heed_mul_scalar(v->g, i + 1);
    }
}

static const heed_op weighted = {.name = "weighted",
                                 .inputs = HEED_ANY_COUNT,
                                 .forward = weighted_forward,
                                 .backward = weighted_backward};

/* The same, but reads y, whose bit in `saved` follows those of the first inputs. */
static const heed_op weighted_reading_y = {.name = "weighted_reading_y",
                                           .inputs = HEED_ANY_COUNT,
                                           .forward = weighted_forward,
                                           .backward = weighted_backward,
                                           .saves = {HEED_SAVES_OUTPUT}};

static heed_tensor *weighted_sum(heed_tensor *const *inputs, void *context)
{
    return heed_apply(&weighted, inputs, *(const int *)context, NULL, 0);
}

START_TEST(operations_of_many_inputs)
{
    enum { MOST = 40 };
    heed_tensor *inputs[MOST];
    for (int count = 1; count <= MOST; count++) {
        for (int i = 0; i < count; i++) {
            inputs[i] = LEAF(i, 1);
        }
        heed_backward(heed_sum(weighted_sum(inputs, &count)));
        for (int i = 0; i < count; i++) {
            EXPECT_VALUES(inputs[i]->grad, 0, i + 1, i + 1);
        }
        for (int i = 0; i < count; i++) {
            inputs[i] = inputs[0]; /* the same tensor n times */
        }
        heed_clear_grad(inputs[0]);
        heed_backward(heed_sum(weighted_sum(inputs, &count)));
        EXPECT_VALUES(inputs[0]->grad, 0, count * (count + 1) / 2.0, count * (count + 1) / 2.0);
    }
}
END_TEST

START_TEST(saved_results_do_not_count_as_an_input)
{
    enum { COUNT = HEED_SAVED_INPUTS + 1 };
    heed_tensor *inputs[COUNT];
    for (int i = 0; i < COUNT; i++) {
        inputs[i] = LEAF(i, 1);
    }
    const heed_tensor *last = inputs[COUNT - 1];
    const int uses = last->uses;
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *y = heed_apply(&weighted_reading_y, inputs, COUNT, NULL, 0);
    ck_assert((y->saved & HEED_SAVES_OUTPUT) != 0);
    heed_scope_end(&scope);
    ck_assert_int_eq(last->uses, uses);
}
END_TEST

/* ---- a b + c, which reads what it declares ---- */

static heed_status fma_forward(const heed_call *call, heed_tensor *y)
{
    heed_tensor *product = heed_mul(call->inputs[0], call->inputs[1]);
    return heed_copy_into(y, heed_add(product, call->inputs[2]));
}

static void fma_backward(const heed_vjp *v)
{
    if (heed_wants_grad(v, 0)) {
        v->grads[0] = heed_mul(v->g, v->inputs[1]);
    }
    if (heed_wants_grad(v, 1)) {
        v->grads[1] = heed_mul(v->g, v->inputs[0]);
    }
    v->grads[2] = v->g;
}

static const heed_op multiply_add = {.name = "multiply_add",
                                     .signature = "a float, b, c",
                                     .forward = fma_forward,
                                     .backward = fma_backward,
                                     .saves = {HEED_SAVES_INPUT(1), HEED_SAVES_INPUT(0)}};

START_TEST(three_inputs)
{
    for (int wanted = 1; wanted < 8; wanted++) {
        heed_tensor *in[] = {LEAF(1, 2), LEAF(3, 4), LEAF(5, 6)};
        for (int i = 0; i < 3; i++) {
            heed_set_requires_grad(in[i], wanted >> i & 1);
        }
        heed_backward(heed_sum(heed_apply(&multiply_add, in, 3, NULL, 0)));
        const double expected[3][2] = {{3, 4}, {1, 2}, {1, 1}};
        for (int i = 0; i < 3; i++) {
            if (wanted >> i & 1) {
                expect_values(in[i]->grad, expected[i], 2, 0);
            } else {
                ck_assert_ptr_null(in[i]->grad);
            }
        }
    }
}
END_TEST

/* ---- derivatives that misbehave ---- */

static void failing(const heed_vjp *v)
{
    v->grads[0] = heed_clone(v->g);
    heed_fail(HEED_ERR_VALUE, "failing: a test error");
}

static void leaving_a_scope_open(const heed_vjp *v)
{
    static heed_scope forgotten;
    v->grads[0] = heed_clone(v->g);
    heed_scope_begin(&forgotten);
}

static void of_a_wrong_shape(const heed_vjp *v)
{
    v->grads[0] = heed_zeros(HEED_SHAPE(7), v->g->dtype);
}

typedef struct misbehaviour {
    const char *name;
    void (*backward)(const heed_vjp *v);
    heed_status status;
    const char *words;
} misbehaviour;

static const misbehaviour misbehaviours[] = {
    {"failing", failing, HEED_ERR_VALUE, "a test error"},
    {"leaving_open", leaving_a_scope_open, HEED_ERR_SCOPE, "still open"},
    {"wrong_shape", of_a_wrong_shape, HEED_ERR_SHAPE, "(3)"},
};

/* Places the bad node among others whose gradients are in flight when it fails and must be
 * freed. */
static heed_tensor *graph_around(const heed_op *op, heed_tensor *x, heed_tensor *h)
{
    heed_tensor *bad = heed_apply(op, &h, 1, NULL, 0);
    heed_tensor *both = heed_add(heed_mul(bad, h), heed_mul(h, heed_tanh(bad)));
    return heed_sum(heed_add(heed_mul(both, x), heed_exp(h)));
}

START_TEST(an_error_inside_a_derivative)
{
    const misbehaviour *m = &misbehaviours[_i];
    const heed_op op = {
        .name = m->name, .signature = "x float", .forward = copy_forward, .backward = m->backward};
    heed_tensor *x = LEAF(1, 2, 3), *h = heed_mul(x, x), *dx[2];
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    for (int way = 0; way < 3; way++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_tensor *y = graph_around(&op, x, h);
        if (way == 0) {
            heed_backward_retain(y);
        } else {
            heed_grad(y, (heed_tensor *[]){x, h}, 2, dx, way == 2);
            ck_assert(dx[0] == NULL && dx[1] == NULL);
        }
        expect_error(m->status, m->words);
        ck_assert_ptr_null(h->gradient_in_flight);
        ck_assert_int_eq(h->consumers, 0);
        ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
        heed_clear_grad(x); /* accumulated before the error */
        ck_assert_int_eq(heed_live_tensors(), tensors);
        ck_assert_int_eq(heed_live_bytes(), bytes);
    }
    heed_backward(heed_sum(h)); /* the rest of the graph is intact */
    EXPECT_VALUES(x->grad, 0, 2, 4, 6);
}
END_TEST

static void own_input(const heed_vjp *v)
{
    v->grads[0] = v->inputs[0];
}

static heed_tensor *kept;

static void a_tensor_of_the_users(const heed_vjp *v)
{
    (void)v;
    v->grads[0] = kept;
}

static void nothing(const heed_vjp *v)
{
    (void)v;
}

/* A gradient tensor that belongs to someone else is copied. */
START_TEST(borrowed_gradients)
{
    void (*const backwards[])(const heed_vjp *v) = {own_input, a_tensor_of_the_users};
    kept = heed_from_f64((double[]){1, 2}, HEED_SHAPE(2));
    for (int i = 0; i < 2; i++) {
        const heed_op op = {.name = "borrowing",
                            .signature = "x float",
                            .forward = copy_forward,
                            .backward = backwards[i],
                            .saves = {HEED_SAVES_INPUT(0)}};
        heed_tensor *x = LEAF(1, 2);
        for (int times = 1; times <= 2; times++) {
            heed_tensor *y = heed_apply(&op, &x, 1, NULL, 0);
            heed_backward(heed_sum(y));
            ck_assert(x->grad->storage != x->storage && x->grad->storage != kept->storage);
            EXPECT_VALUES(x->grad, 0, times, 2 * times);
        }
        EXPECT_VALUES(x, 0, 1, 2);
        EXPECT_VALUES(kept, 0, 1, 2);
    }
}
END_TEST

START_TEST(a_derivative_that_gives_nothing)
{
    const heed_op op = {
        .name = "nothing", .signature = "x float", .forward = copy_forward, .backward = nothing};
    heed_tensor *x = LEAF(1, 2), *h = heed_mul(x, x), *dx;
    heed_tensor *y = heed_sum(heed_apply(&op, &h, 1, NULL, 0));
    heed_backward_retain(y);
    expect_no_error();
    ck_assert_ptr_null(x->grad);
    heed_grad(y, &x, 1, &dx, false);
    EXPECT_VALUES(dx, 0, 0, 0);
}
END_TEST

static bool mode_in_backward;

static void looking_at_the_mode(const heed_vjp *v)
{
    mode_in_backward = heed_is_grad_enabled();
    heed_set_grad_enabled(!mode_in_backward); /* restored after the derivative */
    v->grads[0] = heed_detach(v->g);
}

START_TEST(grad_mode_inside_a_derivative)
{
    const heed_op op = {.name = "looking",
                        .signature = "x float",
                        .forward = copy_forward,
                        .backward = looking_at_the_mode};
    heed_tensor *x = LEAF(1, 2), *dx;
    heed_tensor *y = heed_sum(heed_apply(&op, &x, 1, NULL, 0));
    heed_backward_retain(y);
    ck_assert(!mode_in_backward && heed_is_grad_enabled());
    heed_grad(y, &x, 1, &dx, true);
    ck_assert(mode_in_backward && heed_is_grad_enabled());
    heed_grad(y, &x, 1, &dx, false);
    ck_assert(!mode_in_backward && heed_is_grad_enabled());
}
END_TEST

static heed_status silent_forward(const heed_call *call, heed_tensor *y)
{
    (void)call, (void)y;
    return HEED_ERR_VALUE;
}

static heed_status silent_ones(const heed_call *call, heed_tensor *y)
{
    (void)call;
    return heed_fill_into(y, 1);
}

static heed_status half_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_narrow(call->inputs[0], 0, 0, 2));
}

static heed_status silent_rule(const heed_call *call, heed_result *result)
{
    (void)call, (void)result;
    return HEED_ERR_INDEX;
}

/* An operation that fails without an error, or lacks a function, gives an error. */
START_TEST(incomplete_operations)
{
    heed_tensor *x = LEAF(1, 2);
    const heed_op mute = {.name = "mute", .signature = "x float", .forward = silent_forward};
    ck_assert_ptr_null(heed_apply(&mute, &x, 1, NULL, 0));
    expect_error(HEED_ERR_VALUE, "mute: forward failed");
    const heed_op unruly = {
        .name = "unruly", .inputs = 1, .rule = silent_rule, .forward = copy_forward};
    ck_assert_ptr_null(heed_apply(&unruly, &x, 1, NULL, 0));
    expect_error(HEED_ERR_INDEX, "unruly: the rule failed");
    /* Without a rule the result has the shape and dtype of the first input. */
    const heed_op no_rule = {.name = "no_rule", .inputs = 1, .forward = copy_forward};
    expect_close(heed_apply(&no_rule, &x, 1, NULL, 0), x, 0);
    const heed_op no_forward = {.name = "no_forward", .signature = "x float"};
    ck_assert_ptr_null(heed_apply(&no_forward, &x, 1, NULL, 0));
    expect_error(HEED_ERR_NULL, "no_forward");
    const heed_op half = {.name = "half", .signature = "x float", .forward = half_forward};
    heed_tensor *four = LEAF(1, 2, 3, 4);
    ck_assert_ptr_null(heed_apply(&half, &four, 1, NULL, 0));
    expect_error(HEED_ERR_SHAPE,
                 "copy_into: source (2) does not broadcast to target (4); if this is the result of "
                 "half, its .rule or .signature must describe the other shape");
    const heed_op fine = {.name = "fine", .signature = "x float", .forward = copy_forward};
    ck_assert_ptr_null(heed_apply(&fine, &x, 1, NULL, 8));
    expect_error(HEED_ERR_VALUE, "8 bytes");
    char large[70000] = "";
    ck_assert_ptr_null(heed_apply(&fine, &x, 1, large, sizeof large));
    expect_error(HEED_ERR_VALUE, "70000 bytes");
}
END_TEST

/* ---- layouts ---- */

/* The result of a rule, in the arguments. */
static heed_status laid_out_rule(const heed_call *call, heed_result *result)
{
    const heed_dtype dtype = result->dtype;
    *result = *(const heed_result *)call->args;
    result->dtype = dtype;
    return HEED_OK;
}

/* Views lie within the storage of x, which has 4 of its 12 elements before the slice; other results
 * have no gaps and no overlaps. */
START_TEST(layouts_of_rules_are_checked)
{
    static const struct {
        bool good;
        heed_result result;
    } rows[] = {
        {true, {.shape = {2, {2, 3}}, .is_view = true, .strides = {4, -1}, .offset = 3}},
        {true, {.shape = {1, {3}}, .is_view = true, .strides = {-4}, .offset = 4}},
        {true, {.shape = {2, {0, 9}}, .is_view = true, .strides = {4, 1}, .offset = 99}},
        {false, {.shape = {1, {3}}, .is_view = true, .strides = {4}}},
        {false, {.shape = {1, {3}}, .is_view = true, .strides = {-4}, .offset = 3}},
        {false, {.shape = {1, {1}}, .is_view = true, .offset = 8}},
        {false, {.shape = {1, {1}}, .is_view = true, .offset = INT64_MIN}},
        {false, {.shape = {1, {3}}, .is_view = true, .strides = {INT64_MAX}}},
        {false, {.shape = {.ndim = 9}, .is_view = true}},
        {true, {.shape = {3, {2, 1, 4}}, .is_strided = true, .strides = {1, 77, 2}}},
        {false, {.shape = {2, {2, 4}}, .is_strided = true, .strides = {1, 3}}},
        {false, {.shape = {2, {2, 4}}, .is_strided = true, .strides = {1, 1}}},
        {false, {.shape = {1, {2}}, .is_strided = true, .strides = {-1}}},
        {false, {.shape = {3, {2, 2, 2}}, .is_strided = true, .strides = {1, 1, 5}}},
    };
    const heed_op op = {
        .name = "laid_out", .inputs = 1, .rule = laid_out_rule, .forward = silent_ones};
    heed_tensor *x = heed_slice(heed_ones(HEED_SHAPE(3, 4), HEED_F64), 0, 1, 3, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const heed_result *given = &rows[i].result;
        heed_tensor *y = heed_apply(&op, &x, 1, given, sizeof *given);
        ck_assert_msg((y != NULL) == rows[i].good, "row %zu", i);
        if (y == NULL) {
            expect_error(HEED_ERR_SHAPE, "laid_out: ");
        } else {
            ck_assert_double_eq(heed_item(heed_sum(y)), (double)y->numel);
        }
    }
}
END_TEST

/* ---- passes inside passes ---- */

/* y = x^2. The derivative computes y again and differentiates that, as checkpointing does. */
static bool detaches;

static heed_status square_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_mul(call->inputs[0], call->inputs[0]));
}

static void again_backward(const heed_vjp *v)
{
    heed_set_grad_enabled(true);
    heed_tensor *x = v->inputs[0];
    if (detaches) {
        x = heed_set_requires_grad(heed_detach(x), true);
    }
    heed_grad(heed_sum(heed_mul(heed_mul(x, x), v->g)), &x, 1, v->grads, false);
}

static const heed_op again = {.name = "again",
                              .inputs = 1,
                              .forward = square_forward,
                              .backward = again_backward,
                              .saves = {HEED_SAVES_INPUT(0)}};

/* The marks of a pass are in its nodes, so a second one cannot go through them. */
START_TEST(a_pass_inside_a_pass)
{
    heed_tensor *w = LEAF(3, 1);
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    HEED_SCOPE(scope);
    heed_tensor *x = heed_mul_scalar(w, 2);
    heed_tensor *y = heed_sum(heed_add(heed_apply(&again, &x, 1, NULL, 0), heed_exp(x)));
    detaches = false;
    heed_backward_retain(y);
    expect_error(HEED_ERR_GRAPH, "grad: another pass is going through mul_scalar (2)");
    heed_clear_grad(w);
    detaches = true;
    heed_backward(y); /* the marks of the failed pass do not stay */
    EXPECT_VALUES(w->grad, 1e-12, 24 + 2 * exp(6), 8 + 2 * exp(2));
    heed_clear_grad(w);
    heed_scope_end(&scope);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

void add_apply_cases(Suite *suite)
{
    TCase *custom = heed_case(suite, "custom");
    tcase_add_test(custom, operations_of_many_inputs);
    tcase_add_test(custom, saved_results_do_not_count_as_an_input);
    tcase_add_test(custom, three_inputs);
    tcase_add_test(custom, incomplete_operations);
    tcase_add_loop_test(custom, an_error_inside_a_derivative, 0,
                        (int)(sizeof misbehaviours / sizeof *misbehaviours));
    tcase_add_test(custom, borrowed_gradients);
    tcase_add_test(custom, a_derivative_that_gives_nothing);
    tcase_add_test(custom, grad_mode_inside_a_derivative);
    tcase_add_test(custom, layouts_of_rules_are_checked);
    tcase_add_test(custom, a_pass_inside_a_pass);
}
