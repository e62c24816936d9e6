/* Modules: names of parameters as in torch, registration and its failures, ties, casts, printing
 * and freeing. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "nn/nn.h"
#include "tests/common/test_util.h"

/* ---- a user-defined module ---- */

struct gate {
    heed_module module;
    heed_tensor *scale, *offset;
    struct heed_linear *project;
    int *freed;
};

static void count_free(void *module)
{
    struct gate *m = module;
    ++*m->freed;
}

static const heed_module_kind gate_kind = {
    .name = "Gate", .size = sizeof(struct gate), .destroy = count_free};

static struct gate *gate_new(int64_t d, int *freed)
{
    struct gate *m = heed_module_new(&gate_kind);
    if (m == NULL) {
        return NULL;
    }
    m->freed = freed;
    heed_add_child(m, "project", &m->project, heed_linear_new(d, d));
    heed_add_tensor(m, "offset", &m->offset, heed_zeros(HEED_SHAPE(d), HEED_F32), true);
    heed_add_tensor(m, "scale", &m->scale, heed_ones(HEED_SHAPE(d), HEED_F32), false);
    return m;
}

static heed_tensor *gate_forward(struct gate *m, heed_tensor *x)
{
    heed_tensor *gate = heed_sigmoid(heed_linear_forward(m->project, x));
    return heed_add(heed_mul(heed_mul(x, gate), m->scale), m->offset);
}

static void expect_names(heed_tensor_list list, int count, const char *const *names)
{
    ck_assert_int_eq(list.count, count);
    for (int i = 0; i < count; i++) {
        ck_assert_str_eq(list.names[i], names[i]);
    }
}

START_TEST(test_own_module)
{
    int freed = 0;
    struct gate *m = gate_new(3, &freed);
    expect_names(heed_parameters(m), 3,
                 (const char *const[]){"scale", "project.weight", "project.bias"});
    expect_names(heed_state_dict(m), 4,
                 (const char *const[]){"scale", "offset", "project.weight", "project.bias"});
    ck_assert_ptr_eq(heed_state(m, "project.bias"), m->project->bias);
    ck_assert(m->scale->requires_grad && !m->offset->requires_grad);
    heed_backward(heed_sum(gate_forward(m, heed_ones(HEED_SHAPE(2, 3), HEED_F32))));
    ck_assert_ptr_nonnull(m->scale->grad);
    ck_assert_ptr_nonnull(m->project->weight->grad);
    heed_zero_grad(m);
    ck_assert_ptr_null(m->scale->grad);
    heed_eval(m);
    ck_assert(!m->module.training && !m->project->module.training);
    heed_train(m);
    ck_assert(m->module.training && m->project->module.training);
    heed_module_free(m);
    ck_assert_int_eq(freed, 1);
}
END_TEST

/* Nothing was registered, as an error was pending. */
START_TEST(test_a_module_made_after_an_error)
{
    static const heed_module_kind kind = {.name = "Empty", .size = sizeof(heed_module)};
    heed_fail(HEED_ERR_VALUE, "an earlier error");
    heed_module *m = heed_module_new(&kind);
    expect_error(HEED_ERR_VALUE, "an earlier error");
    if (m != NULL) {
        heed_forward_check("empty_forward", m);
        expect_error(HEED_ERR_VALUE, "this Empty is incomplete: registering an entry");
        heed_module_free(m);
    }
}
END_TEST

/* The lists stay valid until something is added anywhere in the tree. */
START_TEST(test_lists_follow_the_tree)
{
    int freed = 0;
    struct gate *m = gate_new(2, &freed);
    heed_tensor_list before = heed_parameters(m);
    ck_assert_ptr_eq(heed_parameters(m).tensors, before.tensors);
    heed_tensor *extra = NULL;
    heed_add_tensor(m->project, "extra", &extra, m->scale, false); /* tied: the same tensor twice */
    expect_names(heed_parameters(m), 3,
                 (const char *const[]){"scale", "project.weight", "project.bias"});
    expect_names(heed_state_dict(m), 5,
                 (const char *const[]){"scale", "offset", "project.weight", "project.bias",
                                       "project.extra"});
    ck_assert_ptr_eq(heed_state(m, "project.extra"), m->scale);
    heed_tensor *other = NULL;
    heed_set_parameter(m->project, "extra", &other, heed_ones(HEED_SHAPE(2), HEED_F32));
    ck_assert_ptr_eq(heed_state(m, "project.extra"), other);
    heed_module_free(m);
}
END_TEST

/* Without a module, the macros free the child and report an error. */
START_TEST(test_fields_of_no_module)
{
    int freed = 0;
    struct gate *none = NULL;
    HEED_CHILD(none, project, gate_new(2, &freed));
    expect_error(HEED_ERR_NULL, "an entry needs a module and a name");
    ck_assert_int_eq(freed, 1);
    HEED_BUFFER(none, offset, heed_zeros(HEED_SHAPE(2), HEED_F32));
    expect_error(HEED_ERR_NULL, "an entry needs a module and a name");
    HEED_PARAMETER(none, scale, heed_ones(HEED_SHAPE(2), HEED_F32));
    expect_error(HEED_ERR_NULL, "an entry needs a module and a name");
}
END_TEST

/* A child has one owner, which frees it, and cannot own itself. */
START_TEST(test_ownership)
{
    int freed = 0;
    struct gate *m = gate_new(2, &freed), *other = gate_new(2, &freed);
    heed_module_free(m->project);
    expect_error(HEED_ERR_VALUE, "child of a Gate");
    heed_add_child(m, "other", NULL, other);
    heed_add_child(m->project, "above", NULL, m);
    expect_error(HEED_ERR_VALUE, "Gate 'above'");
    heed_module_free(m);
    ck_assert_int_eq(freed, 2);
    ck_assert_ptr_null(heed_module_new(NULL));
    expect_error(HEED_ERR_VALUE, "module_new");
}
END_TEST

START_TEST(test_a_freed_module_is_recognised)
{
    if (!heed_allocator_keeps_blocks()) {
        return; /* else this test reads freed memory */
    }
    int freed = 0;
    struct gate *m = gate_new(2, &freed), *other = gate_new(2, &freed);
    struct gate *parent = gate_new(2, &freed);
    struct heed_linear *child = m->project;
    ck_assert_int_eq(heed_module_free(m), HEED_OK);
    ck_assert_int_eq(heed_module_free(m), HEED_ERR_VALUE);
    expect_error(HEED_ERR_VALUE, "module_free: the module has already been freed");
    heed_module_free(child);
    expect_error(HEED_ERR_VALUE, "module_free: the module has already been freed");
    ck_assert_int_eq(freed, 1);
    ck_assert_ptr_null(heed_linear_forward(child, heed_ones(HEED_SHAPE(2), HEED_F32)));
    expect_error(HEED_ERR_VALUE, "linear_forward: the module has already been freed");
    ck_assert_int_eq(heed_parameters(m).count, 0);
    expect_error(HEED_ERR_VALUE, "parameters: the module has already been freed");
    heed_add_child(parent, "child", NULL, child);
    expect_error(HEED_ERR_VALUE, "module: the child 'child' has already been freed");
    heed_module_free(parent);
    heed_add_child(m, "other", NULL, other); /* frees `other` */
    expect_error(HEED_ERR_VALUE, "module: the module has already been freed");
    heed_module_free(other);
    expect_error(HEED_ERR_VALUE, "module_free: the module has already been freed");
    ck_assert_int_eq(freed, 3);
}
END_TEST

/* Casting keeps the tensors, so tied parameters stay tied and optimisers stay valid. */
START_TEST(test_cast_keeps_ties)
{
    int freed = 0;
    struct gate *m = gate_new(2, &freed);
    heed_tensor *scale = m->scale;
    heed_add_tensor(m->project, "tied", NULL, scale, false);
    heed_add_tensor(m, "ids", NULL, heed_ones(HEED_SHAPE(2), HEED_I64), true);
    heed_optimizer *sgd = heed_sgd_new(heed_parameters(m), 1);
    ck_assert_int_eq(heed_parameters(m).count, 3);
    const void *data = scale->data;
    heed_set_grad(scale, scale);
    heed_module_to(m, HEED_F32);
    ck_assert(scale->data == data && scale->grad != NULL); /* nothing to do */
    const int64_t tensors = heed_live_tensors();
    heed_module_to(m, HEED_F64);
    ck_assert_int_eq(heed_live_tensors(), tensors - 1); /* that gradient went */
    ck_assert_ptr_null(scale->grad);
    ck_assert_int_eq(heed_state(m, "ids")->dtype, HEED_I64);
    ck_assert_int_eq(heed_parameters(m).count, 3);
    ck_assert_ptr_eq(heed_state(m, "project.tied"), scale);
    ck_assert_int_eq(scale->dtype, HEED_F64);
    heed_backward(heed_sum(gate_forward(m, heed_ones(HEED_SHAPE(2), HEED_F64))));
    heed_optimizer_step(sgd);
    ck_assert_double_lt(heed_at(scale, HEED_INDEX(0)), 1);
    heed_optimizer_free(sgd);
    heed_module_free(m);
}
END_TEST

/* A cast changes the version, so a backward that saved the value fails; others by the dtype. */
START_TEST(test_cast_before_backward)
{
    struct heed_linear *m = heed_linear_new(2, 3);
    heed_tensor *y = heed_sum(heed_linear_forward(m, heed_ones(HEED_SHAPE(1, 2), HEED_F32)));
    heed_module_to(m, HEED_F64);
    heed_backward(y);
    expect_error(HEED_ERR_DTYPE, "backward of linear: the gradient of weight is f32 (3, 2), but");
    heed_module_free(m);
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2), HEED_F32), true);
    heed_tensor *loss = heed_sum(heed_mul(x, x));
    heed_share_storage(x, heed_full(HEED_SHAPE(2), 5, HEED_F32));
    ck_assert_int_eq(heed_backward(loss), HEED_ERR_VERSION);
    expect_error(HEED_ERR_VERSION, "mul");
}
END_TEST

/* As torch draws. */
START_TEST(test_initialisation)
{
    heed_manual_seed(7);
    struct heed_linear *linear = heed_linear_new(3, 5);
    struct heed_embedding *embedding = heed_embedding_new(4, 3);
    EXPECT_VALUES(linear->weight, 0, 0x1.4a57dp-5, -0x1.64239ep-2, 0x1.78821p-3, 0x1.7304bp-3,
                  -0x1.3bfc7ep-2, -0x1.626efep-4, -0x1.5a586cp-2, 0x1.32cdd4p-3, -0x1.3e8104p-3,
                  0x1.9f582ap-2, 0x1.a3b084p-2, 0x1.e1cfdp-5, -0x1.f816bcp-3, -0x1.5b407ap-2,
                  -0x1.03b456p-4);
    EXPECT_VALUES(linear->bias, 0, -0x1.4cc3acp-3, 0x1.0494acp-2, -0x1.f8d44p-2, 0x1.15d1d2p-1,
                  -0x1.cfc228p-2);
    EXPECT_VALUES(embedding->weight, 0, 0x1.454d76p-2, 0x1.0ffd1ap-3, 0x1.193d6p-3, 0x1.eca372p-3,
                  0x1.653c44p+0, 0x1.58d67ap+0, 0x1.381734p+1, 0x1.9f3fbcp-3, 0x1.39ab56p+1,
                  0x1.0346ecp+1, 0x1.c776b4p+0, -0x1.d5fb04p-1);
    heed_module_free(linear);
    heed_module_free(embedding);
}
END_TEST

/* ---- large trees ---- */

/* Seconds to register, list, train and free `count` modules. */
static double use_wide_tree(int count)
{
    HEED_SCOPE(scope);
    const clock_t begun = clock();
    struct heed_module_list *m = heed_module_list_new();
    for (int i = 0; i < count; i++) {
        heed_module_list_append(m, heed_linear_new(1, 1, .no_bias = true));
    }
    heed_optimizer *sgd = heed_sgd_new(heed_parameters(m), 1);
    heed_tensor *y = heed_cat(sgd->parameters.tensors, count, 0);
    heed_tensor **grads = heed_scratch((size_t)count * sizeof *grads);
    heed_grad(heed_sum(y), sgd->parameters.tensors, count, grads, false);
    ck_assert(heed_item(grads[0]) == 1 && heed_item(grads[count - 1]) == 1);
    heed_optimizer_free(sgd);
    heed_module_free(m);
    return (double)(clock() - begun) / CLOCKS_PER_SEC;
}

/* If each module or parameter were compared with all others, it would take 64 times as long. */
START_TEST(test_time_grows_with_the_number_of_modules)
{
    const double few = use_wide_tree(5000), many = use_wide_tree(40000);
    ck_assert_msg(many < 30 * few + 0.5, "%g and %g seconds", few, many);
}
END_TEST

/* Lists, modes and freeing do not recurse. */
static void *use_deep_tree(void *unused)
{
    enum { DEEP = 2000 };
    HEED_SCOPE(scope);
    int freed = 0;
    struct gate *innermost = gate_new(2, &freed);
    heed_module *m = &innermost->module;
    for (int i = 0; i < DEEP; i++) {
        struct heed_module_list *outer = heed_module_list_new();
        heed_module_list_append(outer, m);
        m = &outer->module;
    }
    heed_eval(m);
    const heed_tensor_list list = heed_parameters(m);
    ck_assert(list.count == 3 && !innermost->module.training && freed == 0);
    ck_assert_uint_eq(strlen(list.names[0]), 2 * DEEP + strlen("scale"));
    ck_assert_str_eq(list.names[1] + 2 * DEEP, "project.weight");
    heed_module_free(m);
    ck_assert_int_eq(freed, 1);
    return unused;
}

START_TEST(test_trees_may_be_deep)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 17);
    ck_assert_int_eq(pthread_create(&thread, &attributes, use_deep_tree, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}
END_TEST

/* ---- printing and ties ---- */

static void expect_printed(void *module, const char *text)
{
    char buffer[2048] = "";
    FILE *stream = fmemopen(buffer, sizeof buffer, "w");
    heed_module_print(stream, module);
    fclose(stream);
    ck_assert_str_eq(buffer, text);
}

START_TEST(test_tree_as_torch_prints_it)
{
    struct heed_multi_head *m = heed_multi_head_new(4, 1, -2, -1, .head_dim = 2);
    expect_printed(m, "MultiHead(\n"
                      "  (heads): ModuleList(\n"
                      "    (0): SelfAttention(\n"
                      "      (W_q): Linear(in_features=4, out_features=2, bias=False)\n"
                      "      (W_k): Linear(in_features=4, out_features=2, bias=False)\n"
                      "      (W_v): Linear(in_features=4, out_features=2, bias=False)\n"
                      "    )\n"
                      "  )\n"
                      "  (W_o): Linear(in_features=2, out_features=4, bias=False)\n"
                      ")\n");
    heed_module_free(m);
    struct heed_embedding *e = heed_embedding_new(5, 2);
    expect_printed(e, "Embedding(5, 2)\n");
    heed_module_free(e);
}
END_TEST

/* The old tensor is released, the lists are rebuilt, and the new one requires a gradient and
 * outlives its scope. */
START_TEST(set_parameter_sets)
{
    struct heed_linear *m = heed_linear_new(3, 2);
    ck_assert_int_eq(heed_parameters(m).count, 2);
    heed_tensor *old = heed_retain(m->weight);
    const int64_t tensors = heed_live_tensors();
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_set_parameter(m, "weight", &m->weight, heed_ones(HEED_SHAPE(2, 3), HEED_F32));
    heed_scope_end(&scope);
    ck_assert_ptr_ne(m->weight, old);
    heed_release(old);
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert(m->weight->requires_grad);
    ck_assert_ptr_eq(heed_parameters(m).tensors[0], m->weight);
    ck_assert_ptr_eq(heed_state(m, "weight"), m->weight);
    heed_fill_into(m->bias, 0);
    EXPECT_VALUES(heed_linear_forward(m, heed_ones(HEED_SHAPE(3), HEED_F32)), 0, 3, 3);
    heed_set_parameter(m, "weight", NULL, m->weight); /* itself, without a field */
    EXPECT_VALUES(heed_linear_forward(m, heed_ones(HEED_SHAPE(3), HEED_F32)), 0, 3, 3);
    heed_module_free(m);
}
END_TEST

/* An error changes nothing. */
START_TEST(set_parameter_refuses)
{
    struct heed_linear *m = heed_linear_new(3, 2);
    heed_tensor *old = m->weight;
    heed_tensor *values[] = {heed_ones(HEED_SHAPE(3, 2), HEED_F32), heed_mul_scalar(m->weight, 2)};
    static const heed_status errors[] = {HEED_ERR_SHAPE, HEED_ERR_GRAPH};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(heed_set_parameter(m, "weight", &m->weight, values[i]), errors[i]);
        expect_error(errors[i], "");
        ck_assert_ptr_eq(m->weight, old);
        ck_assert_ptr_eq(heed_state(m, "weight"), old);
    }
    heed_module_free(m);
}
END_TEST

/* ---- registration ---- */

/* These tests have no open scope, except where they open one. */
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

static const heed_module_kind plain_kind = {.name = "Gate", .size = sizeof(struct gate)};

static struct gate *plain_new(void)
{
    struct gate *m = heed_module_new(&plain_kind);
    HEED_PARAMETER(m, scale, heed_mul_scalar(heed_rand(HEED_SHAPE(2), HEED_F32), 2));
    HEED_BUFFER(m, offset, heed_exp(heed_zeros(HEED_SHAPE(2), HEED_F32)));
    HEED_CHILD(m, project, heed_linear_new(2, 2));
    heed_normal_into(m->scale, 1, 0.02);
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
    struct gate *m = plain_new();
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

START_TEST(the_mode_and_the_scope_are_restored)
{
    struct gate *m = heed_module_new(&plain_kind);
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

/* ---- each failure ---- */

static const struct failure {
    heed_status status;
    const char *words;
} failures[] = {
    {HEED_ERR_VALUE, "Gate: the name 'scale' is taken, or contains a '.'"},
    {HEED_ERR_VALUE, "Gate: the name 'a.b' is taken, or contains a '.'"},
    {HEED_ERR_NULL, "an entry needs a module and a name"},
    {HEED_ERR_DTYPE, "set_requires_grad: i64 has no gradient"},
    {HEED_ERR_GRAPH, "'sum' has a graph; heed_detach it first"},
    {HEED_ERR_SHAPE, "reshape"},
    {HEED_ERR_VALUE, "linear: in_features is -1; it must be 1"},
    {HEED_ERR_VALUE, "Gate: the name 'project' is taken, or contains a '.'"},
    {HEED_ERR_VALUE, "Linear 'second': it already has an owner"},
};
enum { FAILURES = sizeof failures / sizeof *failures };

/* Makes the failure of that number. */
static void register_wrongly(struct gate *m, int failure)
{
    HEED_SCOPE(scope);
    switch (failure) {
    case 0:
        HEED_PARAMETER(m, scale, heed_ones(HEED_SHAPE(2), HEED_F32));
        break;
    case 1:
        heed_add_tensor(m, "a.b", NULL, heed_ones(HEED_SHAPE(2), HEED_F32), true);
        break;
    case 2:
        heed_add_tensor(m, NULL, NULL, m->scale, false);
        break;
    case 3:
        heed_add_tensor(m, "ids", NULL, heed_ones(HEED_SHAPE(2), HEED_I64), false);
        break;
    case 4:
        heed_add_tensor(m, "sum", NULL, heed_sum(m->scale), true);
        break;
    case 5:
        HEED_BUFFER(m, offset, heed_reshape(heed_ones(HEED_SHAPE(2), HEED_F32), HEED_SHAPE(3)));
        break;
    case 6:
        HEED_CHILD(m, project, heed_linear_new(-1, 2));
        break;
    case 7:
        HEED_CHILD(m, project, plain_new());
        break;
    default:
        heed_add_child(m, "second", NULL, m->project);
    }
}

/* The first failure is the one that is named. Adding the module to another frees it. */
START_TEST(a_failed_registration_makes_the_module_incomplete)
{
    const struct failure *f = &failures[_i];
    struct gate *m = plain_new(), *parent = heed_module_new(&plain_kind);
    register_wrongly(m, _i);
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
    heed_module_list_append(inner, plain_new());
    const heed_tensor_list list = heed_parameters(outer);
    heed_module_list_append(inner, NULL);
    expect_error(HEED_ERR_NULL, "ModuleList: '1' is NULL");
    heed_train(inner);
    expect_incomplete("train", "ModuleList");
    heed_train(outer);
    expect_incomplete("train", "ModuleList");
    heed_module_list_append(outer, plain_new());
    expect_incomplete("module", "ModuleList");
    ck_assert_int_eq(list.count, 5);
    ck_assert_str_eq(list.names[2], "1.0.scale");
    heed_train(heed_module_list_at(inner, 0));
    expect_incomplete("module_list_at", "ModuleList");
    heed_module_free(outer);
    expect_no_error();
}
END_TEST

void add_module_cases(Suite *suite)
{
    TCase *modules = heed_case(suite, "modules");
    tcase_add_test(modules, test_own_module);
    tcase_add_test(modules, test_a_module_made_after_an_error);
    tcase_add_test(modules, test_lists_follow_the_tree);
    tcase_add_test(modules, test_fields_of_no_module);
    tcase_add_test(modules, test_ownership);
    tcase_add_test(modules, test_a_freed_module_is_recognised);
    tcase_add_test(modules, test_cast_keeps_ties);
    tcase_add_test(modules, test_cast_before_backward);
    tcase_add_test(modules, test_initialisation);
    tcase_add_test(modules, test_time_grows_with_the_number_of_modules);
    tcase_add_test(modules, test_trees_may_be_deep);
    tcase_add_test(modules, test_tree_as_torch_prints_it);
    tcase_add_test(modules, set_parameter_sets);
    tcase_add_test(modules, set_parameter_refuses);
    TCase *registration = tcase_create("registration");
    tcase_add_checked_fixture(registration, begin, expect_nothing_left);
    tcase_add_test(registration, values_need_no_scope);
    tcase_add_test(registration, the_mode_and_the_scope_are_restored);
    tcase_add_loop_test(registration, a_failed_registration_makes_the_module_incomplete, 0,
                        FAILURES);
    tcase_add_test(registration, owners_become_incomplete);
    suite_add_tcase(suite, registration);
}
