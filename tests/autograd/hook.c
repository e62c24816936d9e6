/* Hooks: what they see, in which order, and what they may change. Traces,
 * which are hooks: inspect.c. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/test_util.h"

static heed_tensor *leaf(double a, double b)
{
    return heed_set_requires_grad(heed_from_f64((double[]){a, b}, HEED_SHAPE(2)), true);
}

/* ---- what a hook sees ---- */

typedef struct event_log {
    const char *who; /* begins each line, if there are several hooks */
    char *text;      /* LOG_SIZE bytes */
} event_log;
enum { LOG_SIZE = 2000 };

__attribute__((format(printf, 2, 3))) static void note(heed_hook *self, const char *format, ...)
{
    const event_log *log = self->context;
    const size_t at = strlen(log->text);
    va_list values;
    va_start(values, format);
    const int length = snprintf(log->text + at, LOG_SIZE - at, "%s", log->who);
    vsnprintf(log->text + at + length, LOG_SIZE - at - (size_t)length, format, values);
    va_end(values);
}

static heed_tensor *log_result(heed_hook *self, const heed_call *call, heed_tensor *y)
{
    note(self, "%s\n", call->op->name);
    return y;
}

static void log_derivative(heed_hook *self, const heed_vjp *vjp)
{
    note(self, "derivative of %s: %g ->", vjp->y->op->name, heed_item(heed_sum(vjp->g)));
    for (int i = 0; i < vjp->y->input_count; i++) {
        vjp->grads[i] != NULL ? note(self, " %g", heed_item(heed_sum(vjp->grads[i])))
                              : note(self, " none");
    }
    note(self, "\n");
}

static heed_hook logger(event_log *log)
{
    return (heed_hook){.context = log, .result = log_result, .derivative = log_derivative};
}

START_TEST(every_event_is_seen_once_and_in_order)
{
    char text[LOG_SIZE] = "";
    heed_hook hook = logger(&(event_log){"", text});
    heed_tensor *x = leaf(1, 2);
    heed_hook_add(&hook);
    heed_backward(
        heed_sum(heed_mul(heed_mul_scalar(x, 3), heed_from_f64((double[]){1, 4}, HEED_SHAPE(2)))));
    heed_add(x, heed_zeros(HEED_SHAPE(3), HEED_F64)); /* fails: there is no result */
    ck_assert_int_eq(heed_error(), HEED_ERR_SHAPE);
    heed_hook_remove(&hook);
    heed_backward(heed_sum(x));
    ck_assert_str_eq(text, "mul_scalar\n"
                           "mul\n"
                           "sum\n"
                           "derivative of sum: 1 -> 2\n"
                           "derivative of mul: 2 -> 5 none\n"
                           "derivative of mul_scalar: 5 -> 15\n");
}
END_TEST

/* Appends "operation path" of each operation. */
static heed_tensor *log_paths(heed_hook *self, const heed_call *call, heed_tensor *y)
{
    char *text = self->context;
    const heed_text path = heed_module_path();
    const size_t length = strlen(text);
    snprintf(text + length, LOG_SIZE - length, "%s %s\n", call->op->name, path.text);
    return y;
}

/* Operations of a forward belong to its module or one inside it. heed_forward would name it too. */
START_TEST(each_module_names_its_operations)
{
    char text[LOG_SIZE];
    heed_hook hook = {.context = text, .result = log_paths};
    heed_tensor *x = heed_ones(HEED_SHAPE(1, 3, 4), HEED_F32);
    heed_tensor *ids = heed_zeros(HEED_SHAPE(1, 3), HEED_I64);
    heed_hook_add(&hook);
#define EXPECT_NAMED(kind, name, module, ...)                                                      \
    {                                                                                              \
        struct heed_##name *m = module;                                                            \
        strcpy(text, "\n");                                                                        \
        heed_##name##_forward(m, __VA_ARGS__);                                                     \
        expect_no_error();                                                                         \
        ck_assert_msg(strstr(text, " " kind) != NULL && strstr(text, " \n") == NULL, "%s", text);  \
        heed_module_free(m);                                                                       \
    }
    EXPECT_NAMED("Linear", linear, heed_linear_new(4, 2), x)
    EXPECT_NAMED("Embedding", embedding, heed_embedding_new(5, 3), ids)
    EXPECT_NAMED("PositionEncoding", position_encoding, heed_position_encoding_new(4, 3), x)
    EXPECT_NAMED("LayerNorm", layer_norm, heed_layer_norm_new(HEED_SHAPE(4)), x)
    EXPECT_NAMED("Dropout", dropout, heed_dropout_new(0.5), x)
    EXPECT_NAMED("FeedForward", feed_forward, heed_feed_forward_new(4, 8), x)
    EXPECT_NAMED("SelfAttention", self_attention, heed_self_attention_new(4, 1, 2), x, NULL)
    EXPECT_NAMED("MultiHead", multi_head, heed_multi_head_new(4, 2, 1, 2), x, NULL)
    EXPECT_NAMED("MultiheadAttention", multihead_attention, heed_multihead_attention_new(4, 2), x,
                 x, x)
    heed_hook_remove(&hook);
}
END_TEST

START_TEST(long_paths_omit_their_first_names)
{
    char name[100];
    memset(name, 'a', 99);
    name[99] = '\0';
    const heed_place outer = {NULL, "root"}, middle = {&outer, name}, inner = {&middle, name};
    const heed_place *before = heed_enter_place(&inner);
    const heed_text path = heed_module_path();
    heed_leave_place(&before);
    ck_assert_int_eq(*path.text, '.');
    ck_assert_str_eq(path.text + 1, name);
}
END_TEST

/* ---- the list ---- */

START_TEST(hooks_run_in_the_order_in_which_they_were_added)
{
    char text[LOG_SIZE] = "";
    heed_hook first = logger(&(event_log){"1: ", text});
    heed_hook second = logger(&(event_log){"2: ", text});
    heed_hook_add(&second);
    heed_hook_add(&first);
    heed_neg(leaf(1, 2));
    heed_hook_remove(&second);
    heed_hook_add(&second);
    heed_exp(leaf(1, 2));
    heed_hook_remove(&first);
    heed_hook_remove(&second);
    ck_assert_str_eq(text, "2: neg\n1: neg\n1: exp\n2: exp\n");
}
END_TEST

START_TEST(the_list_takes_any_call)
{
    char text[LOG_SIZE] = "";
    heed_hook hook = {.context = NULL}, last = logger(&(event_log){"", text});
    heed_hook_add(&hook);
    heed_hook_add(&last);
    heed_hook_add(&last); /* no second time */
    heed_fail(HEED_ERR_VALUE, "mine");
    heed_hook_add(&hook);
    heed_hook_remove(&hook);
    heed_hook_remove(&hook);
    expect_error(HEED_ERR_VALUE, "mine");
    heed_hook_add(&hook);
    heed_backward(heed_sum(leaf(1, 2))); /* no callback of the first is set */
    heed_hook_remove(&hook);
    heed_hook_remove(&last);
    expect_no_error();
    ck_assert_str_eq(text, "sum\nderivative of sum: 1 -> 2\n");
    ck_assert_str_eq(heed_origin_path(NULL).text, "");
    ck_assert_str_eq(heed_shape_text(2, NULL).text, "()");
    ck_assert_str_eq(heed_args_text(NULL, NULL).text, "");
    ck_assert_str_eq(heed_input_name(NULL, 1).text, "input 1");
    heed_hook_add(NULL);
    expect_error(HEED_ERR_NULL, "hook_add: hook is NULL");
}
END_TEST

/* ---- replacing results ---- */

/* Replaces the results of `operation`, or of all operations. */
typedef struct change {
    const char *operation;
    heed_tensor *(*by)(heed_tensor *y);
    heed_tensor *patch; /* instead of by(y) */
    int calls;
} change;

static heed_tensor *replace(heed_hook *self, const heed_call *call, heed_tensor *y)
{
    change *h = self->context;
    const bool chosen =
        (h->operation == NULL || strcmp(call->op->name, h->operation) == 0) && !heed_in_backward();
    h->calls += chosen;
    return !chosen ? NULL : h->patch != NULL ? h->patch : h->by(y);
}

static heed_tensor *double_square(heed_tensor *y)
{
    heed_tensor *square = heed_square(y);
    return heed_add(heed_mul_scalar(square, 2), y);
}

START_TEST(a_replacement_is_the_result)
{
    change h = {.operation = "exp", .by = double_square};
    heed_hook hook = {.context = &h, .result = replace};
    heed_tensor *x = leaf(0, log(2));
    heed_hook_add(&hook);
    heed_tensor *y = heed_exp(x);
    heed_backward(heed_sum(y));
    heed_hook_remove(&hook);
    ck_assert_int_eq(h.calls, 1); /* operations in callbacks are not seen */
    EXPECT_VALUES(y, 1e-12, 3, 10);
    EXPECT_VALUES(x->grad, 1e-12, 5, 18); /* (4 e^x + 1) e^x: exp still reads its own result */
}
END_TEST

/* A replacement made in the callback joins the scope of the operation; any other stays where it is.
 */
START_TEST(a_replacement_of_others_stays_theirs)
{
    heed_tensor *outer = leaf(5, 6);
    change h = {.operation = "exp", .patch = outer};
    heed_hook hook = {.context = &h, .result = replace};
    heed_tensor *retained = heed_retain(heed_from_f64((double[]){7, 8}, HEED_SHAPE(2)));
    const int64_t live = heed_live_tensors();
    heed_hook_add(&hook);
    for (int i = -1; i < 2; i++) {
        HEED_SCOPE(inner);
        heed_set_grad_enabled(i >= 0);
        heed_tensor *y = heed_exp(leaf(1, 2));
        ck_assert_ptr_eq(y, h.patch);
        if (i < 0) { /* a leaf keeps its gradient without a graph */
            ck_assert(y->requires_grad && y->op == NULL && !heed_is_grad_enabled());
            continue;
        }
        if (i == 0) {
            heed_backward(heed_sum(y));
            EXPECT_VALUES(outer->grad, 0, 1, 1);
            heed_clear_grad(outer);
        }
        h.patch = retained;
    }
    ck_assert_int_eq(heed_live_tensors(), live);
    heed_hook_remove(&hook);
    EXPECT_VALUES(retained, 0, 7, 8);
    heed_release(retained);
}
END_TEST

static heed_tensor *transposed_copy(heed_tensor *y)
{
    return heed_transpose(y, 0, 1);
}

static heed_tensor *in_f64(heed_tensor *y)
{
    return heed_to(y, HEED_F64);
}

/* The handle stays as a link of the graph; its value, which no derivative reads, is freed. */
static heed_tensor *freed(heed_tensor *y)
{
    HEED_SCOPE(scope);
    heed_tensor *negative = heed_neg(y);
    heed_scope_keep(&scope, heed_exp(negative));
    return negative;
}

static heed_tensor *refuse(heed_tensor *y)
{
    heed_fail(HEED_ERR_VALUE, "hook: no");
    return y;
}

/* The operation fails, and nothing leaks. */
START_TEST(a_wrong_replacement_fails_the_operation)
{
    static const struct {
        heed_tensor *(*by)(heed_tensor *y);
        heed_status status;
        const char *words;
    } rows[] = {
        {transposed_copy, HEED_ERR_SHAPE,
         "tanh: a hook returned f32 (3, 2) in place of the result f32 (2, 3)"},
        {in_f64, HEED_ERR_DTYPE,
         "tanh: a hook returned f64 (2, 3) in place of the result f32 (2, 3)"},
        {freed, HEED_ERR_SCOPE, "tanh: "},
        {refuse, HEED_ERR_VALUE, "hook: no"},
    };
    char text[LOG_SIZE];
    heed_hook last = logger(&(event_log){"", text});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        change h = {.operation = "tanh", .by = rows[i].by};
        heed_hook hook = {.context = &h, .result = replace};
        heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2, 3), HEED_F32), true);
        *text = '\0';
        heed_hook_add(&hook);
        heed_hook_add(&last);
        ck_assert_ptr_null(heed_exp(heed_tanh(x)));
        heed_hook_remove(&hook);
        heed_hook_remove(&last);
        expect_error(rows[i].status, rows[i].words);
        ck_assert_str_eq(text, "");
    }
}
END_TEST

static void fail_at(heed_hook *self, const heed_vjp *vjp)
{
    if (strcmp(vjp->y->op->name, self->context) == 0) {
        heed_fail(HEED_ERR_VALUE, "hook: no gradient");
    }
}

START_TEST(an_error_of_a_callback_fails_the_pass)
{
    heed_hook hook = {.context = "exp", .derivative = fail_at};
    heed_tensor *x = leaf(1, 2), *dx;
    heed_hook_add(&hook);
    ck_assert_int_eq(heed_backward(heed_sum(heed_exp(x))), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "hook: no gradient");
    ck_assert_int_eq(heed_grad(heed_sum(heed_exp(x)), &x, 1, &dx, true), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "hook: no gradient");
    heed_hook_remove(&hook);
    ck_assert_ptr_null(x->grad);
}
END_TEST

static void copy_another_shape(heed_hook *self, const heed_vjp *vjp)
{
    heed_copy_into(self->context, vjp->g);
}

/* It is no forward of an operation, whose rule could describe another shape. */
START_TEST(an_error_of_a_derivative_callback_names_no_rule)
{
    heed_hook hook = {.context = heed_ones(HEED_SHAPE(3), HEED_F32),
                      .derivative = copy_another_shape};
    heed_tensor *x = leaf(1, 2);
    heed_hook_add(&hook);
    heed_backward(heed_sum(heed_exp(x)));
    heed_hook_remove(&hook);
    expect_error(HEED_ERR_SHAPE, "copy_into: source");
    ck_assert_ptr_null(strstr(heed_error_message(), ".rule"));
}
END_TEST

static heed_tensor *end_callers_scope(heed_hook *self, const heed_call *call, heed_tensor *y)
{
    (void)call;
    heed_scope_end(self->context);
    return y;
}

START_TEST(a_callback_cannot_end_the_scope_of_its_caller)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_hook hook = {.context = &scope, .result = end_callers_scope};
    heed_tensor *x = leaf(1, 2);
    heed_hook_add(&hook);
    ck_assert_ptr_null(heed_exp(x));
    expect_error(HEED_ERR_SCOPE, "scope_end: this scope is not open");
    heed_hook_remove(&hook);
    EXPECT_VALUES(x, 0, 1, 2);
    ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
}
END_TEST

/* A backward pass of a callback is not seen, and leaves the outer one alone. */
static heed_tensor *differentiate(heed_hook *self, const heed_call *call, heed_tensor *y)
{
    (void)call;
    heed_tensor *x = leaf(1, 2), *dx;
    ++*(int *)self->context;
    heed_set_grad_enabled(true);
    heed_grad(heed_sum(heed_exp(x)), &x, 1, &dx, true);
    heed_scope left_open;
    heed_scope_begin(&left_open);
    heed_set_grad_enabled(false);
    heed_scope_end(&left_open);
    return y;
}

START_TEST(a_callback_may_run_a_pass)
{
    int calls = 0;
    heed_hook hook = {.context = &calls, .result = differentiate};
    heed_tensor *x = leaf(1, 2), *dx;
    heed_hook_add(&hook);
    {
        HEED_SCOPE_NO_GRAD(scope);
        heed_tensor *y = heed_neg(x);
        ck_assert(!heed_is_grad_enabled() && !y->requires_grad);
    }
    ck_assert_int_eq(calls, 1);
    heed_grad(heed_sum(heed_square(x)), &x, 1, &dx, true);
    heed_hook_remove(&hook);
    EXPECT_VALUES(dx, 0, 2, 4);
    ck_assert(dx->requires_grad && !heed_in_backward());
    ck_assert_int_gt(calls, 3);
}
END_TEST

/* A pass of a derivative callback is not seen either, and what it makes goes. */
static void count_and_differentiate(heed_hook *self, const heed_vjp *vjp)
{
    (void)vjp;
    heed_set_grad_enabled(true);
    heed_tensor *x = leaf(1, 2), *dx;
    ++*(int *)self->context;
    heed_grad(heed_sum(heed_exp(x)), &x, 1, &dx, false);
    EXPECT_VALUES(dx, 1e-15, exp(1), exp(2));
}

START_TEST(a_derivative_callback_may_run_a_pass)
{
    int calls = 0;
    heed_hook hook = {.context = &calls, .derivative = count_and_differentiate};
    heed_tensor *x = leaf(1, 2), *y = heed_sum(heed_square(x));
    const int64_t before = heed_live_tensors();
    heed_hook_add(&hook);
    ck_assert_int_eq(heed_backward(y), HEED_OK);
    heed_hook_remove(&hook);
    ck_assert_int_eq(calls, 2);
    ck_assert_int_eq(heed_live_tensors(), before + 1); /* x->grad */
}
END_TEST

void add_hook_cases(Suite *suite)
{
    TCase *events = heed_case(suite, "events");
    tcase_add_test(events, every_event_is_seen_once_and_in_order);
    tcase_add_test(events, each_module_names_its_operations);
    tcase_add_test(events, long_paths_omit_their_first_names);
    TCase *list = heed_case(suite, "list");
    tcase_add_test(list, hooks_run_in_the_order_in_which_they_were_added);
    tcase_add_test(list, the_list_takes_any_call);
    TCase *results = heed_case(suite, "results");
    tcase_add_test(results, a_replacement_is_the_result);
    tcase_add_test(results, a_replacement_of_others_stays_theirs);
    tcase_add_test(results, a_wrong_replacement_fails_the_operation);
    tcase_add_test(results, an_error_of_a_callback_fails_the_pass);
    tcase_add_test(results, an_error_of_a_derivative_callback_names_no_rule);
    tcase_add_test(results, a_callback_cannot_end_the_scope_of_its_caller);
    tcase_add_test(results, a_callback_may_run_a_pass);
    tcase_add_test(results, a_derivative_callback_may_run_a_pass);
}
