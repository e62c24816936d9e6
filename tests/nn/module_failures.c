/* Constructors that fail: a failed registration makes the module incomplete; it is refused,
 * and freed without a trace. The constructors of the quickstart, of custom_module.c and of lesson 3
 * (example_reader.c) are those of the examples. No scope is open, except where a test opens one. */
#include <string.h>

#include "nn/nn.h"
#include "tests/common/test_util.h"

int quickstart_main(void), custom_module_main(void);
#define main quickstart_main
#include "examples/quickstart.c"
#undef main
#define main custom_module_main
#include "examples/custom_module.c"
#undef main

void *example_reader(void);

static int64_t tensors_before, bytes_before;

static void begin(void)
{
    tensors_before = heed_live_tensors();
    bytes_before = heed_live_bytes();
}

static void expect_nothing_left(void)
{
    expect_no_error();
    ck_assert_int_eq(heed_live_tensors(), tensors_before);
    ck_assert_int_eq(heed_live_bytes(), bytes_before);
    ck_assert(heed_is_grad_enabled());
    heed_scalar(1, HEED_F32);
    expect_error(HEED_ERR_SCOPE, "scalar: no scope is open");
}

/* ---- a module with all kinds of entries ---- */

struct gate {
    heed_module module;
    heed_tensor *scale, *offset;
    struct heed_linear *project;
};

static heed_tensor *gate_forward(struct gate *m, heed_tensor *x)
{
    return heed_add(heed_mul(heed_linear_forward(m->project, x), m->scale), m->offset);
}

HEED_MODULE_KIND(gate_kind, struct gate, "Gate", NULL, gate_forward);

static struct gate *gate_new(void)
{
    struct gate *m = heed_module_new(&gate_kind);
    HEED_PARAMETER(m, scale, heed_mul_scalar(heed_rand(HEED_SHAPE(2), HEED_F32), 2));
    HEED_BUFFER(m, offset, heed_exp(heed_zeros(HEED_SHAPE(2), HEED_F32)));
    HEED_CHILD(m, project, heed_linear_new(2, 2));
    heed_normal_into(m->scale, 1, 0.02);
    return m;
}

static struct gate *incomplete_new(void)
{
    struct gate *m = gate_new();
    ck_assert_int_eq(HEED_CHILD(m, project, NULL), HEED_ERR_NULL);
    expect_error(HEED_ERR_NULL, "'project' is NULL");
    return m;
}

static void expect_incomplete(const char *function, const char *kind)
{
    char message[200];
    snprintf(message, sizeof message,
             "%s: this %s is incomplete: registering an entry of it failed", function, kind);
    ck_assert_str_eq(heed_error_message(), message);
    expect_error(HEED_ERR_VALUE, message);
}

/* ---- scopes, grad mode and random numbers ---- */

START_TEST(values_need_no_scope)
{
    heed_manual_seed(7);
    struct gate *m = gate_new();
    expect_no_error();
    ck_assert(m->scale->requires_grad && m->scale->op == NULL && !m->offset->requires_grad);
    heed_manual_seed(7);
    {
        HEED_SCOPE(scope);
        heed_tensor *expected = heed_rand(HEED_SHAPE(2), HEED_F32);
        struct heed_linear *project = heed_linear_new(2, 2);
        heed_normal_into(expected, 1, 0.02);
        ck_assert(heed_equal(m->scale, expected));
        ck_assert(heed_equal(m->project->weight, project->weight));
        EXPECT_VALUES(m->offset, 0, 1, 1);
        heed_module_free(project);
    }
    heed_module_free(m);
}
END_TEST

/* The values of a parameter that requires a gradient are replaced in grad mode. */
START_TEST(initialisers_need_no_scope)
{
    struct heed_linear *m = heed_linear_new(3, 4);
    heed_tensor *w = m->weight;
    const uint32_t version = w->storage->version;
    heed_uniform_into(w, 0, 1);
    heed_normal_into(w, 0, 1);
    heed_copy_into(w, m->bias == NULL ? NULL : heed_parameters(m).tensors[0]);
    heed_fill_into(w, 3);
    heed_module_to(m, HEED_F64);
    heed_normal_into(w, 0, 1);
    expect_no_error();
    ck_assert_uint_gt(w->storage->version, version);
    ck_assert(w->requires_grad && w->op == NULL);
    heed_module_free(m);
}
END_TEST

START_TEST(the_mode_and_the_scope_are_restored)
{
    struct gate *m = heed_module_new(&gate_kind);
    {
        HEED_SCOPE(scope);
        heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2), HEED_F32), true);
        if (heed_is_grad_enabled())
            HEED_PARAMETER(m, scale, heed_mul_scalar(x, 3));
        else
            ck_abort();
        ck_assert(heed_is_grad_enabled());
        ck_assert(m->scale->op == NULL && heed_mul(x, x)->op != NULL);
        HEED_BUFFER(m, offset, x); /* not trained, and still a leaf of the caller's scope */
        ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
    }
    heed_module_free(m);
}
END_TEST

static heed_tensor *ones_of(struct gate *other)
{
    HEED_PARAMETER(other, scale, heed_ones(HEED_SHAPE(3), HEED_F32));
    return heed_mul(other->scale, heed_full(HEED_SHAPE(3), 5, HEED_F32));
}

START_TEST(a_value_may_register_others)
{
    struct gate *m = heed_module_new(&gate_kind), *other = heed_module_new(&gate_kind);
    HEED_PARAMETER(m, offset, ones_of(m)); /* in the same module */
    HEED_PARAMETER(other, offset, ones_of(other));
    expect_no_error();
    HEED_SCOPE(scope);
    EXPECT_VALUES(heed_detach(m->offset), 0, 5, 5, 5);
    EXPECT_VALUES(heed_detach(m->scale), 0, 1, 1, 1);
    ck_assert_int_eq(heed_parameters(other).count, 2);
    heed_scope_end(&scope);
    heed_module_free(m);
    heed_module_free(other);
}
END_TEST

/* ---- each failure ---- */

static void taken(struct gate *m)
{
    HEED_PARAMETER(m, scale, heed_ones(HEED_SHAPE(2), HEED_F32));
}

static void dotted(struct gate *m)
{
    HEED_SCOPE(scope);
    heed_add_tensor(m, "a.b", NULL, heed_ones(HEED_SHAPE(2), HEED_F32), true);
}

static void nameless(struct gate *m)
{
    heed_add_tensor(m, NULL, NULL, m->scale, false);
}

static void not_trainable(struct gate *m)
{
    HEED_SCOPE(scope);
    heed_add_tensor(m, "ids", NULL, heed_ones(HEED_SHAPE(2), HEED_I64), false);
}

static void no_value(struct gate *m)
{
    heed_add_tensor(m, "none", NULL, NULL, false);
}

static void value_with_graph(struct gate *m)
{
    HEED_SCOPE(scope);
    heed_add_tensor(m, "sum", NULL, heed_sum(m->scale), true);
}

static void failed_value(struct gate *m)
{
    HEED_BUFFER(m, offset, heed_reshape(heed_ones(HEED_SHAPE(2), HEED_F32), HEED_SHAPE(3)));
}

static void no_scope(struct gate *m)
{
    heed_add_tensor(m, "late", NULL, heed_ones(HEED_SHAPE(2), HEED_F32), false);
}

static void no_child(struct gate *m)
{
    HEED_CHILD(m, project, heed_linear_new(-1, 2));
}

static void child_taken(struct gate *m)
{
    HEED_CHILD(m, project, gate_new());
}

static void child_of_another(struct gate *m)
{
    heed_add_child(m, "second", NULL, m->project);
}

static void child_of_itself(struct gate *m)
{
    heed_add_child(m, "self", NULL, m);
}

static const struct failure {
    void (*registration)(struct gate *m);
    heed_status status;
    const char *words;
} failures[] = {
    {taken, HEED_ERR_VALUE, "Gate: the name 'scale' is taken, or contains a '.'"},
    {dotted, HEED_ERR_VALUE, "Gate: the name 'a.b' is taken, or contains a '.'"},
    {nameless, HEED_ERR_NULL, "an entry needs a module and a name"},
    {not_trainable, HEED_ERR_DTYPE, "set_requires_grad: i64 has no gradient"},
    {no_value, HEED_ERR_NULL, "'none' is NULL"},
    {value_with_graph, HEED_ERR_GRAPH, "'sum' has a graph; heed_detach it first"},
    {failed_value, HEED_ERR_SHAPE, "reshape"},
    {no_scope, HEED_ERR_SCOPE, "ones: no scope is open to own the result"},
    {no_child, HEED_ERR_VALUE, "linear: in_features -1, out_features 2"},
    {child_taken, HEED_ERR_VALUE, "Gate: the name 'project' is taken, or contains a '.'"},
    {child_of_another, HEED_ERR_VALUE, "Linear 'second': it already has an owner"},
    {child_of_itself, HEED_ERR_VALUE, "Gate 'self': it already has an owner, or"},
};
enum { FAILURES = sizeof failures / sizeof *failures };

/* The first failure is the one that is named. Adding the module to another frees it. */
START_TEST(a_failed_registration_makes_the_module_incomplete)
{
    const struct failure *f = &failures[_i];
    struct gate *m = gate_new(), *parent = heed_module_new(&gate_kind);
    f->registration(m);
    heed_add_tensor(m, "later", NULL, NULL, false); /* while the error is pending */
    expect_error(f->status, f->words);
    ck_assert_int_eq(heed_parameters(m).count, 0);
    expect_incomplete("parameters", "Gate");
    HEED_BUFFER(m, offset, heed_ones(HEED_SHAPE(2), HEED_F32));
    expect_incomplete("module", "Gate");
    ck_assert_ptr_null(m->offset);
    HEED_CHILD(parent, project, (struct heed_linear *)(void *)m);
    expect_incomplete("module", "Gate");
    ck_assert_ptr_null(parent->project);
    heed_eval(parent);
    expect_incomplete("eval", "Gate");
    heed_module_free(parent);
}
END_TEST

/* Modules that contain it become incomplete, too; their lists stay valid. */
START_TEST(owners_become_incomplete)
{
    struct heed_module_list *outer = heed_module_list_new(), *inner = heed_module_list_new();
    heed_module_list_append(outer, heed_linear_new(2, 2));
    heed_module_list_append(outer, inner);
    heed_module_list_append(inner, gate_new());
    const heed_tensor_list list = heed_parameters(outer);
    heed_module_list_append(inner, NULL);
    expect_error(HEED_ERR_NULL, "ModuleList: '1' is NULL");
    heed_train(inner);
    expect_incomplete("train", "ModuleList");
    heed_train(outer);
    expect_incomplete("train", "ModuleList");
    heed_module_list_append(outer, gate_new());
    expect_incomplete("module", "ModuleList");
    ck_assert_int_eq(list.count, 5);
    ck_assert_str_eq(list.names[2], "1.0.scale");
    heed_train(heed_module_list_at(inner, 0));
    expect_incomplete("module_list_at", "ModuleList");
    heed_module_free(outer);
    expect_no_error();

    struct heed_module_list *deep = heed_module_list_new(), *at = deep;
    for (int i = 0; i < 30; i++) {
        struct heed_module_list *next = heed_module_list_new();
        heed_add_child(at, "a_name_of_24_characters_", NULL, next);
        at = next;
    }
    expect_no_error();
    heed_add_child(at, "project", NULL, NULL);
    expect_error(HEED_ERR_NULL, "'project' is NULL");
    heed_eval(deep);
    expect_incomplete("eval", "ModuleList");
    heed_module_free(deep);
}
END_TEST

/* ---- every function refuses an incomplete module ---- */

/* X(function in the message, call); `m` is an incomplete Gate. */
#define FUNCTIONS                                                                                  \
    X(parameters, heed_parameters(m))                                                              \
    X(state_dict, heed_state_dict(m))                                                              \
    X(state_dict, heed_state(m, "scale"))                                                          \
    X(set_parameter, heed_set_parameter(m, "scale", NULL, m->scale))                               \
    X(zero_grad, heed_zero_grad(m))                                                                \
    X(train, heed_train(m))                                                                        \
    X(eval, heed_eval(m))                                                                          \
    X(module_to, heed_module_to(m, HEED_F64))                                                      \
    X(module_print, heed_module_print(stdout, m))                                                  \
    X(forward, heed_forward(m, m->scale))                                                          \
    X(gate_forward, heed_forward_check("gate_forward", m))                                         \
    X(gate, heed_module_check("gate", m))                                                          \
    X(module, heed_add_tensor(m, "new", NULL, m->scale, true))                                     \
    X(module, heed_add_tensor(m, "new", NULL, m->scale, false))                                    \
    X(module, heed_add_child(m, "new", NULL, heed_linear_new(2, 2)))                               \
    X(parameters, heed_sgd_new(heed_parameters(m), 0.1))                                           \
    X(parameters, heed_clip_grad_norm(heed_parameters(m), 1))                                      \
    X(save_state_dict, heed_save_state_dict(m, "/nowhere/gate", NULL))                             \
    X(load_state_dict, heed_load_state_dict(m, "/nowhere/gate"))                                   \
    X(load_state_dict, heed_load_state_dict(m, "/nowhere/gate"))                                   \
    X(save_checkpoint, heed_save_checkpoint(m, NULL, "/nowhere/gate", NULL))                       \
    X(load_checkpoint, heed_load_checkpoint(m, NULL, "/nowhere/gate"))

START_TEST(every_function_refuses_it)
{
    struct gate *m = incomplete_new();
    HEED_SCOPE(scope);
#define X(name, call)                                                                              \
    (void)call;                                                                                    \
    expect_incomplete(#name, "Gate");
    FUNCTIONS
#undef X
    heed_scope_end(&scope);
    heed_module_free(m);
}
END_TEST

/* The library's modules, with a child that they cannot have. X(kind, name of the function, new
 * module, call) */
#define MODULES                                                                                    \
    X(linear, "Linear", linear_forward, heed_linear_new(2, 2), heed_linear_forward(m, x))          \
    X(linear, "Linear", forward, heed_linear_new(2, 2), heed_forward(m, x))                        \
    X(embedding, "Embedding", embedding_forward, heed_embedding_new(2, 2),                         \
      heed_embedding_forward(m, x))                                                                \
    X(position_encoding, "PositionEncoding", position_encoding_forward,                            \
      heed_position_encoding_new(2, 2), heed_position_encoding_forward(m, x))                      \
    X(layer_norm, "LayerNorm", layer_norm_forward, heed_layer_norm_new(HEED_SHAPE(2)),             \
      heed_layer_norm_forward(m, x))                                                               \
    X(dropout, "Dropout", dropout_forward, heed_dropout_new(0.5), heed_dropout_forward(m, x))      \
    X(feed_forward, "FeedForward", feed_forward_forward, heed_feed_forward_new(2, 2),              \
      heed_feed_forward_forward(m, x))                                                             \
    X(module_list, "ModuleList", module_list_count, heed_module_list_new(),                        \
      heed_module_list_count(m))                                                                   \
    X(module_list, "ModuleList", module_list_at, heed_module_list_new(),                           \
      heed_module_list_at(m, 0))                                                                   \
    X(module_list, "ModuleList", module, heed_module_list_new(),                                   \
      heed_module_list_append(m, gate_new()))                                                      \
    X(self_attention, "SelfAttention", self_attention_forward, heed_self_attention_new(2, 0, 1),   \
      heed_self_attention_forward(m, x, NULL))                                                     \
    X(self_attention, "SelfAttention", cross_attention_forward, heed_self_attention_new(2, 0, 1),  \
      heed_cross_attention_forward(m, x, x, NULL))                                                 \
    X(multi_head, "MultiHead", multi_head_forward, heed_multi_head_new(2, 1, 0, 1),                \
      heed_multi_head_forward(m, x, NULL))                                                         \
    X(multi_head, "MultiHead", multi_head_head, heed_multi_head_new(2, 1, 0, 1),                   \
      heed_multi_head_head(m, 0))                                                                  \
    X(multihead_attention, "MultiheadAttention", multihead_attention_forward,                      \
      heed_multihead_attention_new(2, 1), heed_multihead_attention_forward(m, x, x, x))

START_TEST(modules_of_the_library_refuse)
{
    HEED_SCOPE(scope);
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 2), HEED_F32);
#define X(type, kind, name, made, call)                                                            \
    {                                                                                              \
        struct heed_##type *m = made;                                                              \
        expect_no_error();                                                                         \
        heed_add_child(m, "extra", NULL, NULL);                                                    \
        expect_error(HEED_ERR_NULL, "'extra' is NULL");                                            \
        (void)(call);                                                                              \
        expect_incomplete(#name, kind);                                                            \
        heed_module_free(m);                                                                       \
    }
    MODULES
#undef X
    heed_scope_end(&scope);
}
END_TEST

/* ---- memory runs out ---- */

static void *quickstart_model(void)
{
    return model_new();
}

static void *custom_model(void)
{
    return gated_new(2, 1);
}

static void *gate_model(void)
{
    struct gate *m = heed_module_new(&gate_kind);
    HEED_PARAMETER(m, scale, heed_mul_scalar(heed_rand(HEED_SHAPE(2), HEED_F32), 2));
    HEED_BUFFER(m, offset, heed_exp(heed_zeros(HEED_SHAPE(2), HEED_F32)));
    HEED_CHILD(m, project, heed_linear_new(2, 2));
    return m;
}

static const struct starved {
    void *(*make)(void);
    const char *kind; /* NULL: the constructor returns NULL */
    int least;        /* allocations */
} starved[] = {
    {quickstart_model, "Model", 40},
    {custom_model, "Gated", 15},
    {example_reader, "Reader", 40},
    {gate_model, "Gate", 15},
};

/* Each allocation of a constructor fails once, alone or with all later ones. */
START_TEST(constructors_without_memory)
{
    const struct starved *s = &starved[_i / 2];
    int n = 0;
    for (int64_t before = -1; before < heed_self.failures; n++) {
        before = heed_self.failures;
        heed_fail_allocations(n, _i % 2 == 0 ? 1 : INT64_MAX);
        void *m = s->make();
        heed_fail_allocation(-1);
        if (heed_self.failures == before) {
            expect_no_error();
            ck_assert_ptr_nonnull(m);
            ck_assert_int_gt(heed_parameters(m).count, 0);
        } else {
            ck_assert_int_ne(heed_self.unread, 0); /* not reported while it was constructed */
            expect_error(HEED_ERR_MEMORY, "out of memory");
            ck_assert(m == NULL || s->kind != NULL);
            if (m != NULL) {
                char message[100];
                snprintf(message, sizeof message, "zero_grad: this %s is incomplete: registering ",
                         s->kind);
                heed_zero_grad(m);
                expect_error(HEED_ERR_VALUE, message);
            }
        }
        heed_module_free(m);
        expect_nothing_left();
    }
    ck_assert_int_gt(n, s->least);
}
END_TEST

void add_module_failures_cases(Suite *suite)
{
    TCase *test_case = tcase_create("module_failures");
    tcase_add_checked_fixture(test_case, begin, expect_nothing_left);
    tcase_add_test(test_case, values_need_no_scope);
    tcase_add_test(test_case, initialisers_need_no_scope);
    tcase_add_test(test_case, the_mode_and_the_scope_are_restored);
    tcase_add_test(test_case, a_value_may_register_others);
    tcase_add_loop_test(test_case, a_failed_registration_makes_the_module_incomplete, 0, FAILURES);
    tcase_add_test(test_case, owners_become_incomplete);
    tcase_add_test(test_case, every_function_refuses_it);
    tcase_add_test(test_case, modules_of_the_library_refuse);
    tcase_add_loop_test(test_case, constructors_without_memory, 0,
                        2 * sizeof starved / sizeof *starved);
    suite_add_tcase(suite, test_case);
}
