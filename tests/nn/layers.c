/* LayerNorm, Dropout, activations, Sequential, and heed_forward, which calls any module with one
 * input. parity_modules.c compares their numbers with PyTorch's. */
#include "tests/common/module_util.h"

/* ---- a user-defined module ---- */

struct twice {
    heed_module module;
};

static heed_tensor *twice_forward(void *module, heed_tensor *x)
{
    (void)module;
    return heed_mul_scalar(x, 2);
}

static const heed_module_kind twice_kind = {
    .name = "Twice", .size = sizeof(struct twice), .forward = twice_forward};
static const heed_module_kind silent_kind = {.name = "Silent", .size = sizeof(struct twice)};

static void *twice_new(void)
{
    return heed_module_new(&twice_kind);
}

/* ---- names and state ---- */

static void expect_printed(void *m, const char *text)
{
    expect_tree(m, text);
    heed_module_free(m);
}

START_TEST(printed_as_torch)
{
    expect_printed(heed_layer_norm_new(HEED_SHAPE(2, 3)),
                   "LayerNorm((2, 3), eps=1e-05, elementwise_affine=True, bias=True)");
    expect_printed(heed_layer_norm_new_with(
                       HEED_SHAPE(4), (heed_layer_norm_options){.eps = 1e-3, .no_bias = true}),
                   "LayerNorm((4,), eps=0.001, elementwise_affine=True, bias=False)");
    expect_printed(heed_layer_norm_new_with(
                       HEED_SHAPE(4), (heed_layer_norm_options){.no_elementwise_affine = true}),
                   "LayerNorm((4,), eps=1e-05, elementwise_affine=False, bias=False)");
    expect_printed(heed_dropout_new(0.25), "Dropout(p=0.25, inplace=False)");
    expect_printed(heed_gelu_new(), "GELU(approximate='none')");
    expect_printed(heed_relu_new(), "ReLU()");
    expect_printed(heed_sequential_new(), "Sequential()");
}
END_TEST

static struct heed_sequential *stack_new(void)
{
    struct heed_sequential *m = heed_sequential_new(), *inner = heed_sequential_new();
    heed_sequential_append(m, heed_linear_new(3, 5));
    heed_sequential_append(m, heed_layer_norm_new(HEED_SHAPE(5)));
    heed_sequential_append(inner, heed_gelu_new());
    heed_sequential_append(inner, heed_dropout_new(0.4));
    heed_sequential_append(m, inner);
    heed_sequential_append(m, heed_linear_new(5, 2));
    return m;
}

START_TEST(sequential_is_a_tree)
{
    struct heed_sequential *m = stack_new();
    expect_state(m, 6,
                 (const char *const[]){"0.weight (5, 3)", "0.bias (5)", "1.weight (5)",
                                       "1.bias (5)", "3.weight (2, 5)", "3.bias (2)"});
    expect_tree(m, "Sequential(\n"
                   "  (0): Linear(in_features=3, out_features=5, bias=True)\n"
                   "  (1): LayerNorm((5,), eps=1e-05, elementwise_affine=True, bias=True)\n"
                   "  (2): Sequential(\n"
                   "    (0): GELU(approximate='none')\n"
                   "    (1): Dropout(p=0.4, inplace=False)\n"
                   "  )\n"
                   "  (3): Linear(in_features=5, out_features=2, bias=True)\n"
                   ")");
    ck_assert_int_eq(heed_module_list_count(&m->list), 4);
    struct heed_layer_norm *norm = heed_module_list_at(&m->list, 1);
    ck_assert_ptr_eq(norm->weight, heed_state(m, "1.weight"));
    heed_module_free(m);
}
END_TEST

START_TEST(layer_norm_starts_with_ones_and_zeros)
{
    heed_manual_seed(1);
    const heed_generator before = heed_get_generator();
    struct heed_layer_norm *m = heed_layer_norm_new(HEED_SHAPE(2, 3));
    const heed_generator after = heed_get_generator();
    ck_assert_int_eq(after.next, before.next);
    expect_close(m->weight, heed_ones(HEED_SHAPE(2, 3), HEED_F32), 0);
    expect_close(m->bias, heed_zeros(HEED_SHAPE(2, 3), HEED_F32), 0);
    heed_module_free(m);
    m = heed_layer_norm_new(HEED_SHAPE(2, 0));
    expect_shape(m->weight, HEED_SHAPE(2, 0));
    heed_module_free(m);
    m = heed_layer_norm_new_with(HEED_SHAPE(2), (heed_layer_norm_options){.no_bias = true});
    expect_state(m, 1, (const char *const[]){"weight (2)"});
    ck_assert_ptr_null(m->bias);
    heed_module_free(m);
    m = heed_layer_norm_new_with(HEED_SHAPE(2),
                                 (heed_layer_norm_options){.no_elementwise_affine = true});
    expect_state(m, 0, NULL);
    heed_tensor *x = heed_from_f64((double[]){1, 3}, HEED_SHAPE(2)); /* any float: no parameters */
    EXPECT_VALUES(heed_layer_norm_forward(m, x), 1e-5, -1, 1);
    heed_module_free(m);
}
END_TEST

/* ---- forward ---- */

/* The modules of a Sequential draw in order, as in torch. */
START_TEST(sequential_runs_in_order)
{
    heed_manual_seed(5);
    struct heed_sequential *m = stack_new();
    heed_manual_seed(5);
    struct heed_linear *first = heed_linear_new(3, 5), *last = heed_linear_new(5, 2);
    expect_close(heed_state(m, "0.bias"), first->bias, 0);
    expect_close(heed_state(m, "3.weight"), last->weight, 0);
    heed_eval(m);
    heed_tensor *x = heed_randn(HEED_SHAPE(4, 3), HEED_F32);
    heed_tensor *h = heed_layer_norm(heed_linear_forward(first, x), HEED_SHAPE(5), NULL, NULL, 0);
    expect_close(heed_sequential_forward(m, x), heed_linear_forward(last, heed_gelu(h)), 1e-6);
    heed_module_free(m);
    heed_module_free(first);
    heed_module_free(last);
}
END_TEST

START_TEST(dropout_drops_while_training)
{
    struct heed_sequential *m = heed_sequential_new();
    heed_sequential_append(m, heed_dropout_new(0.4));
    heed_tensor *x = heed_randn(HEED_SHAPE(6, 7), HEED_F32);
    heed_manual_seed(3);
    heed_tensor *y = heed_sequential_forward(m, x);
    heed_manual_seed(3);
    expect_close(y, heed_dropout(x, 0.4, true), 0);
    ck_assert(!heed_equal(x, y));
    heed_eval(m);
    const heed_generator before = heed_get_generator();
    ck_assert_ptr_eq(heed_sequential_forward(m, x), x);
    ck_assert_int_eq(heed_get_generator().next, before.next);
    heed_train(m);
    ck_assert_ptr_ne(heed_sequential_forward(m, x), x);
    struct heed_dropout *dropout = heed_module_list_at(&m->list, 0);
    dropout->p = 0;
    ck_assert_ptr_eq(heed_sequential_forward(m, x), x);
    heed_module_free(m);
}
END_TEST

START_TEST(forward_runs_any_module)
{
    heed_tensor *x = heed_randn(HEED_SHAPE(3, 4), HEED_F32);
    heed_tensor *ids = heed_from_i64((int64_t[]){2, 0}, HEED_SHAPE(2));
    struct heed_linear *linear = heed_linear_new(4, 2);
    expect_close(heed_forward(linear, x), heed_linear_forward(linear, x), 0);
    struct heed_embedding *embedding = heed_embedding_new(3, 4);
    expect_close(heed_forward(embedding, ids), heed_embedding_forward(embedding, ids), 0);
    struct heed_position_encoding *position = heed_position_encoding_new(4, 5);
    expect_close(heed_forward(position, x), heed_position_encoding_forward(position, x), 0);
    struct heed_self_attention *one = heed_self_attention_new(4, 0, 1);
    expect_close(heed_forward(one, x), heed_self_attention_forward(one, x, NULL), 0);
    struct heed_multi_head *several = heed_multi_head_new(4, 2, 0, 1);
    expect_close(heed_forward(several, x), heed_multi_head_forward(several, x, NULL), 0);
    struct heed_layer_norm *norm = heed_layer_norm_new(HEED_SHAPE(4));
    expect_close(heed_forward(norm, x), heed_layer_norm_forward(norm, x), 0);
    void *own = twice_new();
    expect_close(heed_forward(own, x), heed_add(x, x), 0);
    void *all[] = {linear, embedding, position, one, several, norm, own};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        heed_module_free(all[i]);
    }
}
END_TEST

static void expect_not_appended(void *child, heed_status status, const char *words)
{
    struct heed_sequential *m = heed_sequential_new();
    heed_sequential_append(m, child);
    expect_error(status, words);
    heed_module_free(m);
}

/* The error names modules without a one-input forward; modules that a Sequential rejects are
 * freed. */
START_TEST(modules_without_a_forward)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_F32);
    struct heed_module_list *list = heed_module_list_new();
    ck_assert_ptr_null(heed_forward(list, x));
    expect_error(HEED_ERR_VALUE, "forward: a ModuleList has no forward that takes one tensor");
    expect_not_appended(heed_module_new(&silent_kind), HEED_ERR_VALUE,
                        "sequential_append: a Silent has no forward");
    expect_not_appended(heed_multihead_attention_new(4, 2), HEED_ERR_VALUE,
                        "a MultiheadAttention has no forward");
    void *child = heed_module_new(&silent_kind), *owned = twice_new();
    heed_module_list_append(list, child);
    expect_not_appended(child, HEED_ERR_VALUE, "Silent"); /* the list still owns it */
    heed_module_list_append(list, owned);
    expect_not_appended(owned, HEED_ERR_VALUE, "it already has an owner");
    expect_not_appended(heed_linear_new(-1, 2), HEED_ERR_VALUE, "linear: -1 features");
    struct heed_sequential *m = heed_sequential_new();
    heed_sequential_append(m, m);
    expect_error(HEED_ERR_VALUE, "contains this module");
    heed_module_free(m);
    m = heed_sequential_new();
    heed_sequential_append(NULL, twice_new());
    expect_error(HEED_ERR_NULL, "module");
    ck_assert_int_eq(heed_module_list_count(&m->list), 0);
    heed_sequential_append(m, twice_new());
    EXPECT_VALUES(heed_sequential_forward(m, x), 0, 2, 2);
    heed_module_free(m);
    heed_module_free(list);
}
END_TEST

/* ---- derivatives and memory ---- */

static heed_tensor *run(heed_tensor *const *inputs, void *context)
{
    return heed_forward(context, inputs[0]);
}

START_TEST(derivatives)
{
    heed_manual_seed(6);
    struct heed_sequential *m = stack_new();
    heed_normal_into(heed_state(m, "1.weight"), 0, 1);
    heed_normal_into(heed_state(m, "1.bias"), 0, 1);
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(2, 2, 3), HEED_F64), true);
    if (_i == 1) {
        heed_eval(m);
    }
    expect_derivatives(m, run, m, &x, 1);
    heed_module_free(m);
}
END_TEST

static void *make_stack(void *context)
{
    (void)context;
    struct heed_sequential *m = stack_new();
    if (heed_error_pending() != HEED_OK) {
        heed_module_free(m);
        return NULL;
    }
    return m;
}

START_TEST(without_memory)
{
    expect_module_without_memory(make_stack, NULL, 30);
    struct heed_sequential *m = stack_new();
    heed_tensor *x = heed_randn(HEED_SHAPE(2, 3), HEED_F32);
    expect_forward_without_memory(run, m, &x, 10);
    heed_module_free(m);
}
END_TEST

void add_layers_cases(Suite *suite)
{
    TCase *names = heed_case(suite, "names_and_state");
    tcase_add_test(names, printed_as_torch);
    tcase_add_test(names, sequential_is_a_tree);
    tcase_add_test(names, layer_norm_starts_with_ones_and_zeros);
    TCase *forwards = heed_case(suite, "forward");
    tcase_add_test(forwards, sequential_runs_in_order);
    tcase_add_test(forwards, dropout_drops_while_training);
    tcase_add_test(forwards, forward_runs_any_module);
    tcase_add_test(forwards, modules_without_a_forward);
    TCase *checks = heed_case(suite, "derivatives_and_memory");
    tcase_add_loop_test(checks, derivatives, 0, 2);
    tcase_add_test(checks, without_memory);
}
