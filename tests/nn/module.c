/* Modules: names of parameters as in torch, initialisation, use, casts, printing and freeing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* The lists stay valid until something is added anywhere in the tree. */
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

START_TEST(test_bad_names_and_sizes)
{
    int freed = 0;
    struct gate *m = gate_new(2, &freed);
    ck_assert_ptr_null(heed_state(m, "project.nothing"));
    expect_error(HEED_ERR_VALUE, "project.nothing");
    ck_assert_int_eq(heed_parameters(NULL).count, 0);
    expect_error(HEED_ERR_NULL, "parameters");
    heed_module_free(m);
    ck_assert_ptr_null(heed_linear_new(-1, 2));
    expect_error(HEED_ERR_VALUE, "-1");
    ck_assert_ptr_null(heed_self_attention_new(0, 0, 1));
    expect_error(HEED_ERR_VALUE, "d_model 0");
    ck_assert_ptr_null(heed_multi_head_new(4, 0, 0, 1));
    expect_error(HEED_ERR_VALUE, "heads 0");
    ck_assert_ptr_null(heed_position_encoding_new(2, 0));
    expect_error(HEED_ERR_VALUE, "max_len 0");
    ck_assert_ptr_null(heed_embedding_new(-1, 2));
    expect_error(HEED_ERR_VALUE, "-1 rows");
}
END_TEST

/* HEED_PARAMETER, HEED_BUFFER and HEED_CHILD register a field under its name; if the module is
 * NULL, they free the child and report an error. */
START_TEST(test_fields_are_registered_by_name)
{
    static const heed_module_kind kind = {.name = "Gate", .size = sizeof(struct gate)};
    int freed = 0;
    struct gate *m = heed_module_new(&kind), *none = NULL;
    HEED_CHILD(m, project, heed_linear_new(2, 3));
    HEED_BUFFER(m, offset, heed_zeros(HEED_SHAPE(2), HEED_F32));
    HEED_PARAMETER(m, scale, heed_ones(HEED_SHAPE(2), HEED_F32));
    ck_assert_ptr_eq(heed_state(m, "project.weight"), m->project->weight);
    ck_assert_ptr_eq(heed_state(m, "offset"), m->offset);
    ck_assert_ptr_eq(heed_state(m, "scale"), m->scale);
    ck_assert(m->scale->requires_grad && !m->offset->requires_grad);
    heed_module_free(m);
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
    heed_module_to(m, HEED_F32);
    ck_assert_ptr_eq(scale->data, data); /* nothing to do */
    heed_module_to(m, HEED_F64);
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

/* A cast changes the version, so a backward that saved the value fails. */
START_TEST(test_cast_before_backward)
{
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2), HEED_F32), true);
    heed_tensor *loss = heed_sum(heed_mul(x, x));
    heed_share_storage(x, heed_full(HEED_SHAPE(2), 5, HEED_F32));
    ck_assert_int_eq(heed_backward(loss), HEED_ERR_VERSION);
    expect_error(HEED_ERR_VERSION, "mul");
}
END_TEST

/* Each allocation of a constructor fails once: nothing leaks, and the next call works. */
START_TEST(test_constructors_without_memory)
{
    for (int n = 0;; n++) {
        heed_fail_allocation(n);
        struct heed_multi_head *m = heed_multi_head_new(4, 3, -2, -1, .head_dim = 2);
        heed_fail_allocation(-1);
        if (m != NULL) {
            ck_assert_int_gt(n, 50);
            heed_module_free(m);
            break;
        }
        expect_error(HEED_ERR_MEMORY, "out of memory");
    }
}
END_TEST

/* ---- draws, as in torch ---- */

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

START_TEST(test_linear)
{
    struct heed_linear *m = heed_linear_new(3, 2);
    heed_copy_into(m->weight, heed_from_f32((float[]){1, 2, 3, 4, 5, 6}, HEED_SHAPE(2, 3)));
    heed_copy_into(m->bias, heed_from_f32((float[]){10, 20}, HEED_SHAPE(2)));
    EXPECT_VALUES(heed_linear_forward(m, heed_ones(HEED_SHAPE(3), HEED_F32)), 0, 16, 35);
    heed_tensor *x = heed_reshape(heed_arange(0, 12, 1, HEED_F32), HEED_SHAPE(2, 2, 3));
    EXPECT_VALUES(heed_linear_forward(m, x), 0, 18, 37, 36, 82, 54, 127, 72, 172);
    ck_assert_int_eq(heed_linear_forward(m, heed_zeros(HEED_SHAPE(0, 3), HEED_F32))->numel, 0);
    ck_assert_ptr_null(heed_linear_forward(m, heed_ones(HEED_SHAPE(2), HEED_F32)));
    expect_error(HEED_ERR_SHAPE, "(2)");
    ck_assert_ptr_null(heed_linear_forward(NULL, x));
    expect_error(HEED_ERR_NULL, "linear_forward");
    heed_module_free(m);
    expect_no_error();
}
END_TEST

/* ---- position encoding ---- */

START_TEST(test_position_encoding)
{
    for (int64_t d = 1; d <= 5; d++) {
        struct heed_position_encoding *m = heed_position_encoding_new(d, 7);
        for (int64_t t = 0; t < 7; t++) {
            for (int64_t i = 0; i < d; i++) {
                double angle = (double)t / pow(10000, (double)(i - i % 2) / (double)d);
                double expected = i % 2 == 0 ? sin(angle) : cos(angle);
                ck_assert(fabs(heed_at(m->pe, HEED_INDEX(t, i)) - expected) < 5e-7);
            }
        }
        heed_tensor *x = heed_zeros(HEED_SHAPE(2, 4, d), HEED_F32);
        heed_tensor *y = heed_position_encoding_forward(m, x);
        for (int64_t b = 0; b < 2; b++) {
            heed_tensor *row = heed_squeeze(heed_slice(y, 0, b, b + 1, 1), 0);
            expect_close(row, heed_slice(m->pe, 0, 0, 4, 1), 0);
        }
        ck_assert_ptr_null(
            heed_position_encoding_forward(m, heed_zeros(HEED_SHAPE(8, d), HEED_F32)));
        expect_error(HEED_ERR_SHAPE, "; it must be (..., T, d_model)");
        heed_module_free(m);
    }
}
END_TEST

/* ---- casting and printing ---- */

START_TEST(test_cast)
{
    struct heed_multi_head *m = heed_multi_head_new(4, 2, -2, -1);
    struct heed_self_attention *head = heed_multi_head_head(m, 1);
    heed_tensor *was = heed_clone(head->W_k->weight);
    heed_module_to(m, HEED_F64);
    ck_assert_int_eq(head->W_k->weight->dtype, HEED_F64);
    ck_assert_ptr_eq(heed_state(m, "heads.1.W_k.weight"), head->W_k->weight);
    ck_assert(head->W_k->weight->requires_grad && head->W_k->weight->op == NULL);
    expect_close(heed_to(head->W_k->weight, HEED_F32), was, 0);
    heed_module_to(m, HEED_I64);
    expect_error(HEED_ERR_DTYPE, "i64");
    heed_module_free(m);
}
END_TEST

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

START_TEST(test_heat_map)
{
    char buffer[512] = "";
    const char *const rows[] = {"the", "käse"}, *const columns[] = {"a", "bc"};
    heed_tensor *w = heed_from_f32((float[]){1, 0, 0.25f, 0.75f}, HEED_SHAPE(2, 2));
    FILE *stream = fmemopen(buffer, sizeof buffer, "w");
    heed_heat_map(stream, w, rows, columns, HEED_COLOR_NEVER);
    fclose(stream);
    ck_assert_str_eq(buffer, "            b\n"
                             "        a   c\n"
                             " the █100   ·\n"
                             "käse ░ 25▓ 75\n");
    stream = fmemopen(buffer, sizeof buffer, "w");
    heed_heat_map(stream, w, NULL, NULL, HEED_COLOR_ALWAYS);
    fclose(stream);
    ck_assert_ptr_nonnull(strstr(buffer, "\033[48;5;158m"));
    heed_heat_map(stdout, heed_ones(HEED_SHAPE(2), HEED_F32), NULL, NULL, HEED_COLOR_NEVER);
    expect_error(HEED_ERR_SHAPE, "1 dims");
}
END_TEST

/* A list grows, owns its names, and never uses an argument as a format. */
START_TEST(test_named_tensors_grow)
{
    heed_named_tensors named = {0};
    heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_F32);
    for (int i = 0; i < 40; i++) {
        heed_named_add(&named, x, "%s%d.weight", "100%s", i);
    }
    ck_assert_int_eq(named.count, 40);
    ck_assert_str_eq(named.names[39], "100%s39.weight");
    ck_assert_ptr_eq(named.tensors[39], x);
    heed_named_free(&named);
    ck_assert_int_eq(named.count, 0);
}
END_TEST

/* ---- heed_set_parameter ---- */

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
    heed_tensor *values[] = {NULL, heed_ones(HEED_SHAPE(3, 2), HEED_F32),
                             heed_ones(HEED_SHAPE(2, 3), HEED_F64), heed_mul_scalar(m->weight, 2)};
    static const heed_status errors[] = {HEED_ERR_NULL, HEED_ERR_SHAPE, HEED_ERR_DTYPE,
                                         HEED_ERR_GRAPH};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(heed_set_parameter(m, "weight", &m->weight, values[i]), errors[i]);
        expect_error(errors[i], "");
        ck_assert_ptr_eq(m->weight, old);
        ck_assert_ptr_eq(heed_state(m, "weight"), old);
    }
    heed_module_free(m);
}
END_TEST

void add_module_cases(Suite *suite)
{
    TCase *modules = heed_case(suite, "modules");
    tcase_add_test(modules, test_own_module);
    tcase_add_test(modules, test_a_module_made_after_an_error);
    tcase_add_test(modules, test_lists_follow_the_tree);
    tcase_add_test(modules, test_bad_names_and_sizes);
    tcase_add_test(modules, test_fields_are_registered_by_name);
    tcase_add_test(modules, test_constructors_without_memory);
    tcase_add_test(modules, test_ownership);
    tcase_add_test(modules, test_a_freed_module_is_recognised);
    tcase_add_test(modules, test_cast);
    tcase_add_test(modules, test_cast_keeps_ties);
    tcase_add_test(modules, test_cast_before_backward);
    tcase_add_test(modules, test_tree_as_torch_prints_it);
    tcase_add_test(modules, test_named_tensors_grow);
    TCase *layers = heed_case(suite, "layers");
    tcase_add_test(layers, test_initialisation);
    tcase_add_test(layers, test_linear);
    tcase_add_test(layers, test_position_encoding);
    tcase_add_test(layers, test_heat_map);
    TCase *ties = heed_case(suite, "set_parameter");
    tcase_add_test(ties, set_parameter_sets);
    tcase_add_test(ties, set_parameter_refuses);
}
