/* Observers: what they see, in which order, and what they may change. Traces, recordings and
 * anomaly mode, which are observers, have suites of their own. */
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/gpt/model.h"
#include "tests/oom/oom.h"

static heed_tensor *leaf(double a, double b)
{
    return heed_set_requires_grad(heed_from_f64((double[]){a, b}, HEED_SHAPE(2)), true);
}

/* ---- what an observer sees ---- */

typedef struct event_log {
    const char *who; /* begins each line, if there are several observers */
    char *text;      /* LOG_SIZE bytes */
} event_log;
enum { LOG_SIZE = 2000 };

__attribute__((format(printf, 2, 3))) static void note(heed_observer *self, const char *format, ...)
{
    const event_log *log = self->context;
    const size_t at = strlen(log->text);
    va_list values;
    va_start(values, format);
    const int length = snprintf(log->text + at, LOG_SIZE - at, "%s", log->who);
    vsnprintf(log->text + at + length, LOG_SIZE - at - (size_t)length, format, values);
    va_end(values);
}

static heed_tensor *log_result(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    note(self, "%s%s %s\n", heed_in_backward() ? "in backward: " : "", call->op->name,
         y != NULL ? "done" : "failed");
    return y;
}

static void log_backward(heed_observer *self, const char *function, heed_tensor *y)
{
    note(self, "%s of %g\n", function, heed_item(y));
}

static void log_gradient(heed_observer *self, heed_tensor *node, heed_tensor *g)
{
    note(self, "d/d%s: %g%s%s\n", node->op->name, heed_item(heed_sum(g)),
         *heed_origin_path(node).text != '\0' ? " in " : "", heed_origin_path(node).text);
}

static void log_derivative(heed_observer *self, const heed_derivative *d)
{
    note(self, "derivative of %s: %g ->", d->node->op->name, heed_item(heed_sum(d->g)));
    for (int i = 0; i < d->node->input_count; i++) {
        d->grads[i] != NULL ? note(self, " %g", heed_item(heed_sum(d->grads[i])))
                            : note(self, " none");
    }
    note(self, "%s\n", d->adds_to_grad ? ", into .grad" : "");
}

static heed_observer logger(event_log *log)
{
    return (heed_observer){.context = log,
                           .result = log_result,
                           .backward = log_backward,
                           .gradient = log_gradient,
                           .derivative = log_derivative};
}

START_TEST(every_event_is_seen_once_and_in_order)
{
    char text[LOG_SIZE] = "";
    heed_observer observer = logger(&(event_log){"", text});
    heed_tensor *x = leaf(1, 2);
    ck_assert_int_eq(heed_observer_add(&observer), HEED_OK);
    heed_backward(heed_sum(heed_mul_scalar(x, 3)));
    heed_add(x, heed_zeros(HEED_SHAPE(3), HEED_F64));
    ck_assert_int_eq(heed_error(), HEED_ERR_SHAPE);
    heed_matmul(x, NULL); /* no operation is applied */
    ck_assert_int_eq(heed_error(), HEED_ERR_NULL);
    ck_assert_int_eq(heed_observer_remove(&observer), HEED_OK);
    heed_backward(heed_sum(x));
    ck_assert_str_eq(text, "mul_scalar done\n"
                           "sum done\n"
                           "backward of 9\n"
                           "d/dsum: 1\n"
                           "derivative of sum: 1 -> 2, into .grad\n"
                           "d/dmul_scalar: 2\n"
                           "derivative of mul_scalar: 2 -> 6, into .grad\n"
                           "add failed\n");
}
END_TEST

/* Under create_graph a derivative's operations are seen; the gradient of an x is complete even if
 * the pass ends there. */
START_TEST(derivatives_are_seen_under_create_graph)
{
    char text[LOG_SIZE] = "";
    heed_observer observer = logger(&(event_log){"", text});
    heed_tensor *x = leaf(1, 2), *h = heed_exp(x), *dh;
    heed_tensor *y = heed_sum(heed_square(h));
    heed_observer_add(&observer);
    heed_grad(y, &h, 1, &dh, false);
    heed_tensor *y2 = heed_sum(heed_square(h));
    *text = '\0';
    heed_grad(y2, &h, 1, &dh, true);
    heed_observer_remove(&observer);
    ck_assert_ptr_nonnull(strstr(text, "grad of "));
    ck_assert_ptr_nonnull(strstr(text, "in backward: mul"));
    ck_assert_ptr_nonnull(strstr(text, "derivative of square"));
    ck_assert_ptr_nonnull(strstr(text, "d/dexp: "));
    ck_assert_ptr_null(strstr(text, "derivative of exp"));
    ck_assert_ptr_null(strstr(text, "into .grad"));
    ck_assert(!heed_in_backward());
}
END_TEST

START_TEST(the_module_path_is_at_hand)
{
    char text[LOG_SIZE] = "";
    heed_observer observer = {.context = &(event_log){"", text}, .gradient = log_gradient};
    struct heed_self_attention *m = heed_self_attention_new(2, -2, -1);
    heed_observer_add(&observer);
    heed_backward(
        heed_sum(heed_self_attention_forward(m, heed_ones(HEED_SHAPE(3, 2), HEED_F32), NULL)));
    heed_observer_remove(&observer);
    ck_assert_ptr_nonnull(strstr(text, " in SelfAttention.W_q\n"));
    ck_assert_ptr_nonnull(strstr(text, "d/dmatmul: 6 in SelfAttention\n"));
    heed_module_free(m);
}
END_TEST

/* Counts the operations, and those outside the module whose kind has this name. */
typedef struct path_count {
    const char *name;
    int operations, outside;
} path_count;

static heed_tensor *count_paths(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    path_count *count = self->context;
    const heed_text path = heed_module_path();
    (void)call;
    count->operations++;
    count->outside += strncmp(path.text, count->name, strlen(count->name)) != 0;
    return y;
}

static path_count paths;
static heed_observer paths_observer = {.context = &paths, .result = count_paths};

static void *watched(void *module)
{
    paths = (path_count){.name = ((heed_module *)module)->kind->name};
    heed_observer_add(&paths_observer);
    return module;
}

static void expect_named(void *module)
{
    heed_observer_remove(&paths_observer);
    expect_no_error();
    ck_assert_msg(paths.operations > 0 && paths.outside == 0, "%s: %d of %d operations outside",
                  paths.name, paths.outside, paths.operations);
    heed_module_free(module);
}

/* Operations of a forward belong to its module or one inside it. heed_forward would name it too. */
START_TEST(each_module_names_its_operations)
{
#define EXPECT_NAMED(type, module, ...)                                                            \
    {                                                                                              \
        struct heed_##type *m = watched(module);                                                   \
        heed_##type##_forward(m, __VA_ARGS__);                                                     \
        expect_named(m);                                                                           \
    }
    heed_tensor *x = heed_ones(HEED_SHAPE(1, 3, 4), HEED_F32);
    const heed_multihead_attention_forward_options no_masks = {0};
    EXPECT_NAMED(linear, heed_linear_new(4, 2), x)
    EXPECT_NAMED(embedding, heed_embedding_new(5, 3), heed_zeros(HEED_SHAPE(1, 3), HEED_I64))
    EXPECT_NAMED(position_encoding, heed_position_encoding_new(4, 3), x)
    EXPECT_NAMED(layer_norm, heed_layer_norm_new(HEED_SHAPE(4)), x)
    EXPECT_NAMED(dropout, heed_dropout_new(0.5), x)
    EXPECT_NAMED(feed_forward, heed_feed_forward_new(4, 8), x)
    EXPECT_NAMED(self_attention, heed_self_attention_new(4, 1, 2), x, NULL)
    EXPECT_NAMED(multi_head, heed_multi_head_new(4, 2, 1, 2), x, NULL)
    struct heed_multihead_attention *m =
        watched(heed_multihead_attention_new_with(4, 2, (heed_multihead_attention_options){0}));
    heed_multihead_attention_forward_with(m, x, x, x, no_masks);
    expect_named(m);
#undef EXPECT_NAMED
}
END_TEST

/* Appends "operation path" of each operation. */
static heed_tensor *log_paths(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    char *text = self->context;
    const heed_text path = heed_module_path();
    const size_t length = strlen(text);
    snprintf(text + length, LOG_SIZE - length, "%s %s\n", call->op->name, path.text);
    return y;
}

START_TEST(the_parts_of_a_gpt_name_their_operations)
{
    char text[LOG_SIZE] = "\n";
    heed_observer observer = {.context = text, .result = log_paths};
    struct gpt *m = gpt_new(
        (gpt_config){.vocab_size = 3, .block_size = 2, .n_layer = 1, .n_head = 1, .n_embd = 4});
    heed_observer_add(&observer);
    heed_tensor *ids = heed_zeros(HEED_SHAPE(1, 2), HEED_I64);
    gpt_loss(m, ids, ids);
    heed_observer_remove(&observer);
    expect_no_error();
    static const char *const lines[] = {
        "\nembedding GPT.transformer.wte\n",     "\nadd GPT\n",
        "\nadd GPT.transformer.h.0\n",           "\nattend GPT.transformer.h.0.attn\n",
        "\ngelu_tanh GPT.transformer.h.0.mlp\n", "\ncross_entropy GPT\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ck_assert_msg(strstr(text, lines[i]) != NULL, "no %s in %s", lines[i], text);
    }
    heed_module_free(m);
}
END_TEST

/* ---- the list ---- */

START_TEST(observers_run_in_the_order_in_which_they_were_added)
{
    char text[LOG_SIZE] = "";
    heed_observer first = logger(&(event_log){"1: ", text});
    heed_observer second = logger(&(event_log){"2: ", text});
    heed_observer_add(&second);
    heed_observer_add(&first);
    heed_neg(leaf(1, 2));
    heed_observer_remove(&second);
    heed_observer_remove(&second); /* a no-op */
    heed_observer_add(&second);
    heed_exp(leaf(1, 2));
    heed_observer_remove(&first);
    heed_observer_remove(&second);
    ck_assert_str_eq(text, "2: neg done\n1: neg done\n1: exp done\n2: exp done\n");
}
END_TEST

START_TEST(the_list_reports_misuse)
{
    heed_observer observer = {.context = NULL};
    ck_assert_int_eq(heed_observer_add(NULL), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "observer_add: the observer is NULL");
    ck_assert_int_eq(heed_observer_remove(NULL), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "observer_remove: the observer is NULL");
    heed_observer_add(&observer);
    ck_assert_int_eq(heed_observer_add(&observer), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "observer_add: this thread already has this observer");
    heed_backward(heed_sum(leaf(1, 2))); /* no callback is set */
    expect_no_error();
    heed_fail(HEED_ERR_VALUE, "mine");
    ck_assert_int_eq(heed_observer_remove(&observer), HEED_ERR_VALUE);
    ck_assert_int_eq(heed_observer_add(&observer), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "mine");
    ck_assert_int_eq(heed_observer_remove(&observer), HEED_OK);
}
END_TEST

typedef struct chain {
    heed_observer observers[3];
    int calls[3];
} chain;

static int number_of(const heed_observer *self)
{
    return (int)(self - ((chain *)self->context)->observers);
}

static heed_tensor *count_result(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    (void)call;
    ((chain *)self->context)->calls[number_of(self)]++;
    return y;
}

static heed_tensor *remove_all(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    chain *c = self->context;
    for (int i = 0; i < 3; i++) {
        heed_observer_remove(&c->observers[i]);
    }
    return count_result(self, call, y);
}

static heed_tensor *remove_self(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    heed_observer_remove(self);
    return count_result(self, call, y);
}

static heed_tensor *add_third(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    chain *c = self->context;
    heed_observer_remove(self);
    heed_observer_add(&c->observers[2]);
    return count_result(self, call, y);
}

static heed_tensor *add_itself_again(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    heed_observer_remove(self);
    heed_observer_add(self);
    return count_result(self, call, y);
}

static void apply_with(chain *c, int count)
{
    for (int i = 0; i < 3; i++) {
        c->calls[i] = 0;
        c->observers[i].context = c;
        c->observers[i].result =
            c->observers[i].result != NULL ? c->observers[i].result : count_result;
    }
    for (int i = 0; i < count; i++) {
        heed_observer_add(&c->observers[i]);
    }
    heed_neg(leaf(1, 2));
    heed_neg(leaf(1, 2));
    for (int i = 0; i < 3; i++) {
        heed_observer_remove(&c->observers[i]);
    }
}

START_TEST(a_callback_may_add_and_remove)
{
    chain c = {.observers = {{.result = remove_self}}};
    apply_with(&c, 3);
    ck_assert(c.calls[0] == 1 && c.calls[1] == 2 && c.calls[2] == 2);
    c = (chain){.observers = {{.result = NULL}, {.result = remove_all}}};
    apply_with(&c, 3);
    ck_assert(c.calls[0] == 1 && c.calls[1] == 1 && c.calls[2] == 0);
    c = (chain){.observers = {{.result = NULL}, {.result = add_third}}};
    apply_with(&c, 2);
    ck_assert(c.calls[0] == 2 && c.calls[1] == 1 && c.calls[2] == 1);
    c = (chain){.observers = {{.result = add_third}}};
    apply_with(&c, 1);
    ck_assert(c.calls[0] == 1 && c.calls[2] == 1);
    c = (chain){.observers = {{.result = add_itself_again}, {.result = NULL}}};
    apply_with(&c, 2);
    ck_assert(c.calls[0] == 2 && c.calls[1] == 2);
}
END_TEST

static void *operate(void *unused)
{
    (void)unused;
    HEED_SCOPE(scope);
    heed_backward(heed_sum(heed_exp(leaf(1, 2))));
    return NULL;
}

START_TEST(other_threads_are_not_observed)
{
    char text[LOG_SIZE] = "";
    heed_observer observer = logger(&(event_log){"", text});
    heed_observer_add(&observer);
    pthread_t thread;
    pthread_create(&thread, NULL, operate, NULL);
    pthread_join(thread, NULL);
    ck_assert_str_eq(text, "");
    heed_observer_remove(&observer);
}
END_TEST

/* ---- replacing results ---- */

/* Replaces the results of `operation`, or of all in the module `path`. */
typedef struct hook {
    const char *operation, *path;
    heed_tensor *(*change)(heed_tensor *y);
    heed_tensor *patch; /* instead of change(y) */
    int calls;
} hook;

static heed_tensor *replace(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    hook *h = self->context;
    const bool chosen = (h->operation == NULL || strcmp(call->op->name, h->operation) == 0) &&
                        (h->path == NULL || strcmp(heed_module_path().text, h->path) == 0) &&
                        !heed_in_backward();
    h->calls += chosen;
    return !chosen || y == NULL ? NULL : h->patch != NULL ? h->patch : h->change(y);
}

static heed_tensor *zero(heed_tensor *y)
{
    return heed_mul_scalar(y, 0);
}

static heed_tensor *double_square(heed_tensor *y)
{
    heed_tensor *square = heed_square(y);
    return heed_add(heed_mul_scalar(square, 2), y);
}

START_TEST(a_replacement_is_the_result)
{
    hook h = {.operation = "exp", .change = double_square};
    heed_observer observer = {.context = &h, .result = replace};
    heed_tensor *x = leaf(0, log(2));
    heed_observer_add(&observer);
    heed_tensor *y = heed_exp(x);
    heed_backward(heed_sum(y));
    heed_observer_remove(&observer);
    ck_assert_int_eq(h.calls, 1); /* operations in callbacks are not observed */
    EXPECT_VALUES(y, 1e-12, 3, 10);
    EXPECT_VALUES(x->grad, 1e-12, 5, 18); /* (4 e^x + 1) e^x: exp still reads its own result */
}
END_TEST

/* It joins the innermost scope, even if it belongs to another one or to the program. */
START_TEST(a_replacement_belongs_to_the_scope)
{
    heed_tensor *outer = leaf(5, 6);
    hook h = {.operation = "exp", .patch = outer};
    heed_observer observer = {.context = &h, .result = replace};
    heed_tensor *retained = heed_retain(heed_from_f64((double[]){7, 8}, HEED_SHAPE(2)));
    const int64_t live = heed_live_tensors();
    heed_observer_add(&observer);
    for (int i = 0; i < 2; i++) {
        HEED_SCOPE(inner);
        heed_tensor *y = heed_exp(leaf(1, 2));
        ck_assert_ptr_ne(y, h.patch);
        EXPECT_VALUES(y, 0, i == 0 ? 5 : 7, i == 0 ? 6 : 8);
        if (i == 0) {
            heed_backward(heed_sum(y));
            EXPECT_VALUES(outer->grad, 0, 1, 1);
            heed_clear_grad(outer);
        }
        h.patch = retained;
    }
    ck_assert_int_eq(heed_live_tensors(), live);
    heed_tensor *kept = NULL;
    {
        HEED_SCOPE_NO_GRAD(inner);
        kept = heed_scope_keep(&inner, heed_exp(leaf(1, 2)));
    }
    heed_observer_remove(&observer);
    heed_release(retained);
    EXPECT_VALUES(kept, 0, 7, 8);
    ck_assert(!kept->requires_grad);
}
END_TEST

/* The result of a view may be replaced, and so may an operation by its input. */
static heed_tensor *skip(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    (void)self;
    return y != NULL && strcmp(call->op->name, "neg") == 0 ? call->inputs[0] : y;
}

START_TEST(views_may_be_replaced)
{
    hook h = {.operation = "transpose", .change = double_square};
    heed_observer observer = {.context = &h, .result = replace}, other = {.result = skip};
    heed_tensor *x =
        heed_set_requires_grad(heed_from_f64((double[]){1, 2, 3, 4, 5, 6}, HEED_SHAPE(2, 3)), true);
    heed_observer_add(&observer);
    heed_observer_add(&other);
    heed_tensor *y = heed_neg(heed_transpose(x, 0, 1));
    heed_backward(heed_sum(heed_slice(y, 0, 0, 2, 1)));
    heed_observer_remove(&observer);
    heed_observer_remove(&other);
    EXPECT_VALUES(y, 0, 3, 36, 10, 55, 21, 78);
    EXPECT_VALUES(x->grad, 0, 5, 9, 0, 17, 21, 0);
    EXPECT_VALUES(x, 0, 1, 2, 3, 4, 5, 6);
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
        heed_tensor *(*change)(heed_tensor *y);
        heed_status status;
        const char *words;
    } rows[] = {
        {transposed_copy, HEED_ERR_SHAPE,
         "tanh: an observer returned f32 (3, 2) in place of the result f32 (2, 3)"},
        {in_f64, HEED_ERR_DTYPE,
         "tanh: an observer returned f64 (2, 3) in place of the result f32 (2, 3)"},
        {freed, HEED_ERR_SCOPE, "tanh: "},
        {refuse, HEED_ERR_VALUE, "hook: no"},
    };
    char text[LOG_SIZE];
    heed_observer last = logger(&(event_log){"", text});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hook h = {.operation = "tanh", .change = rows[i].change};
        heed_observer observer = {.context = &h, .result = replace};
        heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2, 3), HEED_F32), true);
        *text = '\0';
        heed_observer_add(&observer);
        heed_observer_add(&last);
        ck_assert_ptr_null(heed_exp(heed_tanh(x)));
        heed_observer_remove(&observer);
        heed_observer_remove(&last);
        expect_error(rows[i].status, rows[i].words);
        ck_assert_str_eq(text, "tanh failed\n");
    }
}
END_TEST

/* The callback may read the error, but cannot make up for the result. */
static heed_tensor *recover(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    (void)call;
    *(heed_status *)self->context = y == NULL ? heed_error() : HEED_OK;
    return leaf(1, 2);
}

START_TEST(a_failed_operation_has_no_replacement)
{
    heed_status status;
    heed_observer observer = {.context = &status, .result = recover};
    heed_tensor *x = leaf(1, 2), *other = heed_zeros(HEED_SHAPE(3), HEED_F64);
    heed_observer_add(&observer);
    ck_assert_ptr_null(heed_add(x, other));
    heed_observer_remove(&observer);
    ck_assert_int_eq(status, HEED_ERR_SHAPE);
}
END_TEST

static void fail_at_gradient(heed_observer *self, heed_tensor *node, heed_tensor *g)
{
    (void)g;
    if (strcmp(node->op->name, self->context) == 0) {
        heed_fail(HEED_ERR_VALUE, "hook: no gradient");
    }
}

static void fail_at_derivative(heed_observer *self, const heed_derivative *d)
{
    fail_at_gradient(self, d->node, d->g);
}

static void fail_at_root(heed_observer *self, const char *function, heed_tensor *y)
{
    fail_at_gradient(self, y, y);
    (void)function;
}

START_TEST(an_error_of_a_callback_fails_the_pass)
{
    heed_observer observers[] = {
        {.context = "exp", .gradient = fail_at_gradient},
        {.context = "exp", .derivative = fail_at_derivative},
        {.context = "sum", .backward = fail_at_root},
    };
    heed_tensor *x = leaf(1, 2), *dx;
    for (int i = 0; i < 3; i++) {
        heed_observer_add(&observers[i]);
        ck_assert_int_eq(heed_backward(heed_sum(heed_exp(x))), HEED_ERR_VALUE);
        expect_error(HEED_ERR_VALUE, "hook: no gradient");
        ck_assert_int_eq(heed_grad(heed_sum(heed_exp(x)), &x, 1, &dx, true), HEED_ERR_VALUE);
        expect_error(HEED_ERR_VALUE, "hook: no gradient");
        heed_observer_remove(&observers[i]);
        ck_assert_ptr_null(x->grad);
    }
}
END_TEST

/* ---- modules ---- */

static heed_tensor *attend(heed_tensor *const *inputs, void *m)
{
    return heed_multi_head_forward(m, inputs[0], NULL);
}

static struct heed_multi_head *two_heads(void)
{
    heed_manual_seed(7);
    struct heed_multi_head *m = heed_multi_head_new(4, 2, -2, -1);
    heed_module_to(m, HEED_F64);
    return m;
}

/* Without the values of one head, its W_v gets no gradient but zeros. */
START_TEST(a_head_can_be_ablated)
{
    struct heed_multi_head *m = two_heads();
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(3, 4), HEED_F64), true);
    hook h = {.operation = "linear", .path = "MultiHead.heads.1.W_v", .change = zero};
    heed_observer observer = {.context = &h, .result = replace};
    heed_observer_add(&observer);
    heed_tensor *y = heed_multi_head_forward(m, x, NULL);
    heed_backward(heed_sum(heed_square(y)));
    ck_assert_int_eq(h.calls, 1);
    ck_assert_double_eq(
        heed_item(heed_max(heed_abs(heed_multi_head_head(m, 1)->W_v->weight->grad))), 0);
    ck_assert_double_gt(
        heed_item(heed_max(heed_abs(heed_multi_head_head(m, 0)->W_v->weight->grad))), 0.01);
    heed_gradcheck(attend, m, &x, 1);
    heed_gradgradcheck(attend, m, &x, 1);
    expect_no_error();
    heed_observer_remove(&observer);
    heed_tensor *only =
        heed_linear(heed_self_attention_forward(heed_multi_head_head(m, 0), x, NULL),
                    heed_slice(m->W_o->weight, 1, 0, 4, 1), NULL);
    expect_close(y, only, 1e-12);
    heed_module_free(m);
}
END_TEST

/* The activation of another input takes the place of this one's. */
START_TEST(an_activation_can_be_patched)
{
    struct heed_multi_head *m = two_heads();
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(3, 4), HEED_F64), true);
    heed_tensor *other = heed_randn(HEED_SHAPE(3, 4), HEED_F64), *inputs[2] = {x};
    heed_tensor *q = heed_linear_forward(heed_multi_head_head(m, 0)->W_q, other);
    hook h = {.operation = "linear", .path = "MultiHead.heads.0.W_q", .patch = q};
    heed_observer observer = {.context = &h, .result = replace};
    heed_observer_add(&observer);
    heed_gradcheck(attend, m, inputs, 1);
    heed_gradgradcheck(attend, m, inputs, 1);
    heed_tensor *y = heed_multi_head_forward(m, x, NULL);
    heed_observer_remove(&observer);
    expect_no_error();
    ck_assert(!heed_allclose(y, heed_multi_head_forward(m, x, NULL), 1e-5, 1e-8, false));
    /* The gradient of what was patched in reaches its own graph. */
    heed_clear_grad(heed_multi_head_head(m, 0)->W_q->weight);
    heed_backward(heed_sum(y));
    heed_tensor *grad = heed_multi_head_head(m, 0)->W_q->weight->grad;
    ck_assert_double_gt(heed_item(heed_max(heed_abs(grad))), 1e-6);
    heed_module_free(m);
}
END_TEST

/* A backward pass of a callback is not observed, and leaves the outer one alone. */
static heed_tensor *differentiate(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    (void)call;
    heed_tensor *x = leaf(1, 2), *dx;
    ++*(int *)self->context;
    heed_set_grad_enabled(true);
    heed_grad(heed_sum(heed_exp(x)), &x, 1, &dx, true);
    heed_scope left_open;
    heed_scope_begin_no_grad(&left_open);
    heed_scope_end(&left_open);
    return y;
}

START_TEST(a_callback_may_run_a_pass)
{
    int calls = 0;
    heed_observer observer = {.context = &calls, .result = differentiate};
    heed_tensor *x = leaf(1, 2), *dx;
    heed_observer_add(&observer);
    {
        HEED_SCOPE_NO_GRAD(scope);
        heed_tensor *y = heed_neg(x);
        ck_assert(!heed_is_grad_enabled() && !y->requires_grad);
    }
    ck_assert_int_eq(calls, 1);
    heed_grad(heed_sum(heed_square(x)), &x, 1, &dx, true);
    heed_observer_remove(&observer);
    EXPECT_VALUES(dx, 0, 2, 4);
    ck_assert(dx->requires_grad && !heed_in_backward());
    ck_assert_int_gt(calls, 3);
}
END_TEST

static heed_tensor *square_of_sine(heed_tensor *const *x, void *unused)
{
    (void)unused;
    return heed_square(heed_sin(x[0]));
}

/* Every result is replaced; the check's own operations are not observed. */
START_TEST(a_check_tests_the_replaced_function)
{
    hook h = {.change = double_square};
    heed_observer observer = {.context = &h, .result = replace};
    heed_tensor *x = leaf(0.1, 0.2);
    heed_observer_add(&observer);
    heed_gradcheck(square_of_sine, NULL, &x, 1);
    heed_gradgradcheck(square_of_sine, NULL, &x, 1);
    heed_observer_remove(&observer);
    expect_no_error();
}
END_TEST

/* ---- memory ---- */

static uint64_t train_with_hooks(const void *unused)
{
    (void)unused;
    hook h = {.operation = "linear", .path = "SelfAttention.W_v", .change = double_square};
    char text[LOG_SIZE] = "";
    heed_observer observer = {.context = &h, .result = replace};
    heed_observer last = logger(&(event_log){"", text});
    uint64_t sum = FNV_BASIS;
    HEED_SCOPE(scope);
    heed_manual_seed(1);
    struct heed_self_attention *m = heed_self_attention_new(2, -2, -1);
    heed_observer_add(&observer);
    heed_observer_add(&last);
    if (m != NULL) {
        heed_tensor *y =
            heed_self_attention_forward(m, heed_ones(HEED_SHAPE(3, 2), HEED_F32), NULL);
        heed_backward(heed_sum(y));
        sum = hash_of(m->W_v->weight->grad, hash_of(y, sum));
    }
    heed_observer_remove(&observer);
    heed_observer_remove(&last);
    heed_module_free(m);
    return sum;
}

START_TEST(running_out_of_memory_in_callbacks_is_an_error)
{
    starve("observers", train_with_hooks, NULL, MANY);
}
END_TEST

void add_observer_cases(Suite *suite)
{
    TCase *events = heed_case(suite, "events");
    tcase_add_test(events, every_event_is_seen_once_and_in_order);
    tcase_add_test(events, derivatives_are_seen_under_create_graph);
    tcase_add_test(events, the_module_path_is_at_hand);
    tcase_add_test(events, each_module_names_its_operations);
    tcase_add_test(events, the_parts_of_a_gpt_name_their_operations);
    TCase *list = heed_case(suite, "list");
    tcase_add_test(list, observers_run_in_the_order_in_which_they_were_added);
    tcase_add_test(list, the_list_reports_misuse);
    tcase_add_test(list, a_callback_may_add_and_remove);
    tcase_add_test(list, other_threads_are_not_observed);
    TCase *results = heed_case(suite, "results");
    tcase_add_test(results, a_replacement_is_the_result);
    tcase_add_test(results, a_replacement_belongs_to_the_scope);
    tcase_add_test(results, views_may_be_replaced);
    tcase_add_test(results, a_wrong_replacement_fails_the_operation);
    tcase_add_test(results, a_failed_operation_has_no_replacement);
    tcase_add_test(results, an_error_of_a_callback_fails_the_pass);
    tcase_add_test(results, a_head_can_be_ablated);
    tcase_add_test(results, an_activation_can_be_patched);
    tcase_add_test(results, a_callback_may_run_a_pass);
    tcase_add_test(results, a_check_tests_the_replaced_function);
    tcase_add_test(oom_case(suite, "memory"), running_out_of_memory_in_callbacks_is_an_error);
}
