/* Out of memory in every row of the gradcheck table, every kind of module and optimiser, files, and
 * functions without a row (oom.h). */
#include "tests/oom/oom.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"
#include "tests/ops/table.h"

/* ---- the rows of the gradcheck table ---- */

/* sum(y u) for fixed values u that are not all equal; NULL if y needs no gradient. */
static heed_tensor *weighed_sum(heed_tensor *y)
{
    if (y == NULL || !y->requires_grad) {
        return NULL;
    }
    heed_tensor *u = heed_arange(0, (double)y->numel, 1, y->dtype);
    return heed_sum(heed_mul(heed_reshape(y, HEED_SHAPE(y->numel)), u));
}

/* Forward and two backward passes without create_graph; the second adds to the gradients. */
static uint64_t first_derivatives(const operation_row *row, heed_tensor *const *inputs,
                                  uint64_t sum)
{
    for (int pass = 0; pass < 2; pass++) {
        heed_tensor *y = row->f(inputs, NULL), *loss = weighed_sum(y);
        sum = hash_of(y, sum);
        if (loss != NULL) {
            heed_backward(loss);
        }
    }
    return sum;
}

/* A backward pass that records its graph, and a second one through it. */
static uint64_t second_derivatives(const operation_row *row, heed_tensor *const *inputs, int count,
                                   uint64_t sum)
{
    heed_tensor *leaves[ROW_INPUTS], *grads[ROW_INPUTS], *squares = NULL;
    int found = 0;
    for (int i = 0; i < count; i++) {
        if (inputs[i] != NULL && inputs[i]->requires_grad) {
            leaves[found++] = inputs[i];
        }
    }
    heed_tensor *loss = weighed_sum(row->f(inputs, NULL));
    if (loss == NULL || heed_grad(loss, leaves, found, grads, true) != HEED_OK) {
        return sum;
    }
    for (int i = 0; i < found; i++) {
        sum = hash_of(grads[i], sum);
        if (grads[i] != NULL && grads[i]->requires_grad) {
            heed_tensor *square = heed_sum(heed_square(grads[i]));
            squares = squares == NULL ? square : heed_add(squares, square);
        }
    }
    if (squares != NULL) {
        heed_backward(squares);
    }
    return sum;
}

static uint64_t run_row(const void *context)
{
    const operation_row *row = context;
    heed_tensor *inputs[ROW_INPUTS];
    uint64_t sum = FNV_BASIS;
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    const int count = row_inputs(row, inputs);
    if (!heed_error_pending()) {
        sum = first_derivatives(row, inputs, sum);
        sum = second_derivatives(row, inputs, count, sum);
        for (int i = 0; i < count; i++) {
            sum = hash_of(inputs[i]->grad, sum);
        }
    }
    return sum;
}

START_TEST(operations)
{
    const operation_row *row = &operation_rows[_i];
    char name[200];
    snprintf(name, sizeof name, "%s, %s", row->operation, row->form);
    starve(name, run_row, row, FEW);
}
END_TEST

/* ---- modules: construction, forward, backward, cast, lists, printing ---- */

static heed_tensor *input(heed_shape shape)
{
    return heed_set_requires_grad(heed_randn(shape, HEED_F32), true);
}

static struct heed_self_attention *new_self_attention(void)
{
    struct heed_self_attention *m = heed_self_attention_new(4, -2, -1);
    if (m != NULL) {
        m->keep_weights = true;
    }
    return m;
}

static heed_tensor *weights_of(struct heed_multihead_attention *m)
{
    heed_tensor *weights = NULL, *keys = input(HEED_SHAPE(5, 2, 4));
    heed_tensor *y = heed_multihead_attention_forward(m, input(HEED_SHAPE(3, 2, 4)), keys, keys,
                                                      .weights = &weights);
    return heed_add(heed_sum(y), heed_sum(heed_square(weights)));
}

struct gate {
    heed_module module;
    heed_tensor *scale, *offset;
    struct heed_linear *project;
};

static heed_tensor *gate_forward(struct gate *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    heed_forward_check("gate_forward", m);
    return heed_blocked()
               ? NULL
               : heed_add(heed_mul(heed_linear_forward(m->project, x), m->scale), m->offset);
}

HEED_MODULE_KIND(gate_kind, struct gate, "Gate", NULL, gate_forward);

/* A user's constructor, which checks nothing. */
static struct gate *new_gate(void)
{
    struct gate *m = heed_module_new(&gate_kind);
    HEED_PARAMETER(m, scale, heed_mul_scalar(heed_rand(HEED_SHAPE(2), HEED_F32), 2));
    HEED_BUFFER(m, offset, heed_exp(heed_zeros(HEED_SHAPE(2), HEED_F32)));
    HEED_CHILD(m, project, heed_linear_new(2, 2));
    return m;
}

/* MODULE(name, new module, result of m): a constructor and a function that calls its forward. */
#define MODULES                                                                                    \
    MODULE(linear, heed_linear_new(3, 4), heed_forward(m, input(HEED_SHAPE(2, 3))))                \
    MODULE(embedding, heed_embedding_new(5, 3), heed_forward(m, heed_arange(0, 5, 1, HEED_I64)))   \
    MODULE(layer_norm, heed_layer_norm_new(HEED_SHAPE(4)),                                         \
           heed_forward(m, input(HEED_SHAPE(3, 4))))                                               \
    MODULE(position_encoding, heed_position_encoding_new(4, 6),                                    \
           heed_forward(m, input(HEED_SHAPE(2, 5, 4))))                                            \
    MODULE(feed_forward, heed_feed_forward_new(3, 5), heed_forward(m, input(HEED_SHAPE(2, 3))))    \
    MODULE(self_attention, new_self_attention(),                                                   \
           heed_self_attention_forward(m, input(HEED_SHAPE(2, 3, 4)), heed_causal_block_mask(3)))  \
    MODULE(cross_attention, heed_self_attention_new(4, -2, -1),                                    \
           heed_cross_attention_forward(m, input(HEED_SHAPE(2, 3, 4)), input(HEED_SHAPE(2, 5, 4)), \
                                        NULL))                                                     \
    MODULE(multi_head, heed_multi_head_new(4, 2, -2, -1),                                          \
           heed_multi_head_forward(m, input(HEED_SHAPE(3, 4)), NULL))                              \
    MODULE(multihead_attention, heed_multihead_attention_new(4, 2, .dropout = 0.2), weights_of(m)) \
    MODULE(gate, new_gate(), heed_forward(m, input(HEED_SHAPE(3, 2))))

#define MODULE(name, new, result)                                                                  \
    static void *make_##name(void)                                                                 \
    {                                                                                              \
        return new;                                                                                \
    }                                                                                              \
    static heed_tensor *run_##name(void *m)                                                        \
    {                                                                                              \
        return result;                                                                             \
    }
MODULES
#undef MODULE

typedef struct module_row {
    const char *name;
    void *(*make)(void);
    heed_tensor *(*forward)(void *m);
} module_row;

#define MODULE(name, new, result) {#name, make_##name, run_##name},
static const module_row module_rows[] = {MODULES};
enum { MODULE_ROWS = sizeof module_rows / sizeof *module_rows };

static uint64_t hash_of_list(heed_tensor_list list, bool grads, uint64_t sum)
{
    for (int i = 0; i < list.count; i++) {
        sum = hash_of(grads ? list.tensors[i]->grad : list.tensors[i], sum);
    }
    return sum;
}

static uint64_t hash_of_print(void *m, uint64_t sum)
{
    char text[2000] = "";
    FILE *stream = fmemopen(text, sizeof text, "w");
    heed_module_print(stream, m);
    fclose(stream);
    return heed_error_pending() ? sum : fnv(text, sizeof text, sum);
}

static uint64_t run_module(const void *context)
{
    const module_row *row = context;
    uint64_t sum = FNV_BASIS;
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    void *m = row->make();
    for (int pass = 0; pass < 2; pass++) { /* the second adds to the gradients */
        heed_tensor *y = row->forward(m);
        heed_backward(heed_sum(heed_square(y)));
        sum = hash_of(y, sum);
    }
    sum = hash_of_list(heed_parameters(m), true, sum);
    sum = hash_of_print(m, sum);
    heed_zero_grad(m);
    heed_eval(m);
    sum = hash_of(row->forward(m), sum);
    heed_module_to(m, HEED_F64);
    sum = hash_of_list(heed_state_dict(m), false, sum);
    heed_module_free(m);
    return sum;
}

START_TEST(modules)
{
    starve(module_rows[_i].name, run_module, &module_rows[_i], MANY);
}
END_TEST

/* ---- optimisers and clipping ---- */

static heed_optimizer *new_optimizer(int kind, void *model, double lr)
{
    const heed_tensor_list parameters = heed_parameters(model);
    heed_optimizer *o = kind == 0 ? heed_sgd_new(parameters, lr)
                        : kind == 1
                            ? heed_adam_new(parameters, lr)
                            : heed_adamw_new(parameters, lr, 0.2, .decay_matrices_only = true);
    if (o != NULL) {
        o->momentum = 0.9;
    }
    return o;
}

static uint64_t run_optimizer(const void *context)
{
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    void *model = heed_feed_forward_new(3, 4);
    heed_optimizer *optimizer = new_optimizer(*(const int *)context, model, 0.1);
    for (int i = 0; i < 2; i++) {
        HEED_SCOPE(step);
        heed_optimizer_zero_grad(optimizer);
        heed_backward(heed_sum(heed_square(heed_forward(model, input(HEED_SHAPE(2, 3))))));
        heed_clip_grad_norm(heed_parameters(model), 1);
        heed_optimizer_step(optimizer);
    }
    const uint64_t sum = hash_of_list(heed_parameters(model), false, FNV_BASIS);
    heed_optimizer_free(optimizer);
    heed_module_free(model);
    return sum;
}

START_TEST(optimizers)
{
    starve("optimiser", run_optimizer, &_i, MANY);
}
END_TEST

/* ---- files ---- */

static uint64_t run_tensors(const void *context)
{
    (void)context;
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    const char *path = in_folder("tensors");
    heed_tensor *tensors[] = {
        heed_rand(HEED_SHAPE(2, 3), HEED_F32),
        heed_transpose(heed_rand(HEED_SHAPE(2, 3), HEED_F64), 0, 1),
        heed_zeros(HEED_SHAPE(4), HEED_BOOL),
    };
    const char *const names[] = {"a.weight", "b", "c"};
    const heed_metadata about[] = {{"text", "\"quoted\"\n"}, {"b", ""}, {NULL, NULL}};
    heed_save_file((heed_tensor_list){3, tensors, names}, path, about);
    heed_safetensors *file = heed_safetensors_open(path);
    uint64_t sum = FNV_BASIS;
    for (int i = 0; i < 3; i++) {
        sum = hash_of(heed_safetensors_tensor(file, names[i]), sum);
    }
    const char *text = heed_safetensors_metadata(file, "text");
    sum = text != NULL ? fnv(text, strlen(text), sum) : sum;
    heed_safetensors_close(file);
    return sum;
}

/* What a checkpoint changes, whether or not an error is pending. */
static uint64_t hash_of_run(heed_tensor_list parameters, const heed_optimizer *adam)
{
    const heed_generator generator = heed_get_generator();
    uint64_t sum = fnv(generator.state, sizeof generator.state, FNV_BASIS);
    for (int i = 0; i < parameters.count; i++) {
        sum = fnv(parameters.tensors[i]->data, (size_t)parameters.tensors[i]->numel * 4, sum);
    }
    return adam == NULL ? sum : fnv(&adam->lr, sizeof adam->lr, fnv(&adam->steps, 8, sum));
}

/* A failed load changes nothing. */
static uint64_t run_loading(const void *context)
{
    (void)context;
    HEED_SCOPE(scope);
    heed_manual_seed(4);
    void *model = heed_linear_new(2, 3);
    heed_optimizer *adam = new_optimizer(1, model, 0.2);
    const heed_tensor_list parameters = heed_parameters(model);
    uint64_t sum = hash_of_run(parameters, adam);
    const bool failed = heed_load_checkpoint(model, adam, in_folder("run")) != HEED_OK;
    ck_assert(failed == (hash_of_run(parameters, adam) == sum));
    sum = hash_of_run(parameters, adam);
    heed_load_state_dict(model, in_folder("run"), .no_strict = true);
    heed_optimizer_free(adam);
    heed_module_free(model);
    return sum;
}

static uint64_t run_saving(const void *context)
{
    (void)context;
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    void *model = heed_linear_new(2, 3);
    heed_optimizer *adam = new_optimizer(1, model, 0.1);
    heed_backward(heed_sum(heed_forward(model, heed_ones(HEED_SHAPE(2), HEED_F32))));
    heed_optimizer_step(adam);
    heed_save_checkpoint(model, adam, in_folder("run"), NULL);
    heed_optimizer_free(adam);
    heed_module_free(model);
    return 0;
}

/* No temporary file is left. FEW failures of writers, because each run waits for the disk. */
START_TEST(files)
{
    starve("safetensors", run_tensors, NULL, FEW);
    starve("saving", run_saving, NULL, FEW);
    starve("loading", run_loading, NULL, MANY);
    ck_assert_int_eq(files_in_folder(), 2);
}
END_TEST

/* ---- functions without a row ---- */

static heed_tensor *softmax_of_product(heed_tensor *const *inputs, void *context)
{
    (void)context;
    return heed_softmax(heed_matmul(inputs[0], inputs[1]), -1);
}

static uint64_t run_gradchecks(const void *context)
{
    (void)context;
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    heed_tensor *inputs[] = {
        heed_set_requires_grad(heed_rand(HEED_SHAPE(1, 2), HEED_F64), true),
        heed_set_requires_grad(heed_rand(HEED_SHAPE(2, 2), HEED_F64), true),
    };
    if (!heed_error_pending()) {
        heed_gradcheck(softmax_of_product, NULL, inputs, 2);
        heed_gradgradcheck(softmax_of_product, NULL, inputs, 2);
    }
    return hash_of(inputs[1], hash_of(inputs[0], FNV_BASIS)); /* restored */
}

static heed_tensor *attend(heed_tensor *x, void *m)
{
    return heed_multi_head_forward(m, x, heed_causal_block_mask(heed_size(x, 1)));
}

static uint64_t run_attention_check(const void *context)
{
    (void)context;
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    struct heed_multi_head *m = heed_multi_head_new(4, 2, -2, -1);
    heed_attention_report report = {0};
    heed_attention_check(attend, m, .d_model = 4, .heads = 2, .longest = 3, .causal = true,
                         .module = m, .report = &report);
    const uint64_t sum = hash_of_list(heed_parameters(m), false, report.passed);
    heed_module_free(m);
    return sum;
}

/* More inputs and nodes than fit in the engine's stack arrays, some of them used twice. */
static uint64_t run_wide_graph(const void *context)
{
    enum { PARTS = 40 };
    (void)context;
    HEED_SCOPE(scope);
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(3), HEED_F64), true);
    heed_tensor *parts[PARTS], *grad = NULL;
    for (int i = 0; i < PARTS; i++) {
        parts[i] = i % 3 == 0 ? x : heed_retain_grad(heed_mul_scalar(parts[i - 1], 1.1));
    }
    heed_tensor *y = heed_sum(heed_square(heed_cat(parts, PARTS, 0)));
    heed_backward_retain(y);
    heed_tensor *once = heed_error_pending() ? NULL : parts[1]->grad;
    uint64_t sum = hash_of(once, hash_of(x != NULL ? x->grad : NULL, FNV_BASIS));
    if (heed_grad(y, &x, 1, &grad, true) == HEED_OK) {
        heed_backward(heed_sum(grad));
        sum = hash_of(x->grad, hash_of(grad, sum));
    }
    return sum;
}

/* Random numbers, masks and printing. */
static uint64_t run_rest(const void *context)
{
    (void)context;
    char text[4000] = "";
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    uint64_t sum = hash_of(heed_randperm(9), FNV_BASIS);
    sum = hash_of(heed_randint(-3, 9, HEED_SHAPE(4, 5)), sum);
    heed_tensor *p = heed_rand(HEED_SHAPE(3, 6), HEED_F32);
    sum = hash_of(heed_multinomial(p, 4), sum);
    heed_tensor *lengths = heed_from_i64((const int64_t[]){1, 4}, HEED_SHAPE(2));
    heed_tensor *mask =
        heed_logical_or(heed_padding_block_mask(lengths, 5), heed_causal_block_mask(5));
    sum = hash_of(heed_masked_fill(heed_scalar(0, HEED_F64), mask, -HUGE_VAL), sum);
    heed_snprint(text, sizeof text / 2, heed_slice(p, 1, 0, 6, 3));
    FILE *stream = fmemopen(text + sizeof text / 2, sizeof text / 2, "w");
    heed_heat_map(stream, heed_softmax(heed_narrow(p, 1, 0, 3), -1),
                  (const char *const[]){"a", "b", "c"}, NULL, HEED_COLOR_NEVER);
    fclose(stream);
    return heed_error_pending() ? sum : fnv(text, sizeof text, sum);
}

static const struct {
    const char *name;
    scenario *run;
    int few;
} others[] = {
    {"gradient checks", run_gradchecks, MANY},
    {"attention check", run_attention_check, FEW},
    {"wide graph", run_wide_graph, MANY},
    {"other functions", run_rest, MANY},
};

START_TEST(other_functions)
{
    starve(others[_i].name, others[_i].run, NULL, others[_i].few);
}
END_TEST

void add_out_of_memory_cases(Suite *suite)
{
    TCase *tests = oom_case(suite, "out_of_memory");
    for (int i = 0; i < operation_row_count; i++) {
        if (operation_rows[i].derivative != NOT_CHECKED) {
            add_row(tests, operations, i, row_name(i));
        }
    }
    tcase_add_loop_test(tests, modules, 0, MODULE_ROWS);
    tcase_add_loop_test(tests, optimizers, 0, 3);
    tcase_add_test(tests, files);
    tcase_add_loop_test(tests, other_functions, 0, sizeof others / sizeof *others);
}
