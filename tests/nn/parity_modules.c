/* Every module compared with PyTorch, by the table in parity_modules.def. */
#include <stdio.h>
#include <string.h>

#include "examples/lab/gpt/model.h"
#include "tests/ops/parity.h"

/* ---- the table ---- */

static heed_tensor *attention_weights(void *m, heed_tensor *x, heed_tensor *block_mask)
{
    heed_tensor *weights = NULL;
    heed_self_attention_forward_weights(m, x, block_mask, &weights);
    return weights;
}

static heed_tensor *multihead_weights(void *m, heed_tensor *const *in, heed_tensor *attn_mask)
{
    heed_tensor *weights = NULL;
    heed_multihead_attention_forward(m, in[0], in[1], in[2], .attn_mask = attn_mask,
                                     .weights = &weights);
    return weights;
}

static struct heed_layer_norm *layer_norm_with(double eps)
{
    struct heed_layer_norm *m = heed_layer_norm_new(HEED_SHAPE(6));
    m->eps = eps;
    return m;
}

static void follow_torch_2(uint64_t seed)
{
    heed_manual_seed(seed);
}

static heed_tensor *in_eval(void *m, heed_tensor *x)
{
    heed_eval(m);
    return heed_forward(m, x);
}

static struct gpt *small_gpt(gpt_config config)
{
    config.vocab_size = config.vocab_size != 0 ? config.vocab_size : 7;
    config.block_size = config.block_size != 0 ? config.block_size : 6;
    config.n_layer = config.n_layer != 0 ? config.n_layer : 1;
    config.n_head = config.n_head != 0 ? config.n_head : 2;
    config.n_embd = config.n_embd != 0 ? config.n_embd : 8;
    return gpt_new(config);
}

static heed_tensor *gpt_weights(struct gpt *m, heed_tensor *idx)
{
    struct gpt_attention *attention = gpt_block_at(m, 1)->attn;
    attention->keep_weights = true;
    gpt_forward(m, idx);
    return attention->attention_percent;
}

#define A in[0]
#define B in[1]
#define C in[2]
#define D in[3]
#define E in[4]
#define F in[5]
#define M m
#define MODULE(kind, form, constructor, forward)                                                   \
    static void *new_##kind##_##form(void)                                                         \
    {                                                                                              \
        return constructor;                                                                        \
    }                                                                                              \
    static heed_tensor *forward_##kind##_##form(void *m, heed_tensor *const *in)                   \
    {                                                                                              \
        return forward;                                                                            \
    }
#include "tests/nn/parity_modules.def"

typedef struct module_row {
    const char *kind, *form;
    void *(*make)(void);
    heed_tensor *(*forward)(void *m, heed_tensor *const *in);
} module_row;

#define MODULE(kind, form, constructor, forward)                                                   \
    {#kind, #form, new_##kind##_##form, forward_##kind##_##form},

static const module_row rows[] = {
#include "tests/nn/parity_modules.def"
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* ---- a test for each row ---- */

/* Number of the case's tensors whose names have that prefix. */
static int count_parts(const parity_case *c, const char *prefix)
{
    char start[120];
    int count = 0;
    const size_t length = (size_t)snprintf(start, sizeof start, "%s.%s", c->name, prefix);
    for (int i = 0; i < heed_safetensors_count(c->file); i++) {
        count += strncmp(heed_safetensors_name(c->file, i), start, length) == 0;
    }
    return count;
}

/* Loads the module's state dict from the file, which must have the same names. */
static void load(const parity_case *c, void *m)
{
    const heed_tensor_list state = heed_state_dict(m);
    EXPECT(count_parts(c, "m.") == state.count, "%s: a state dict of %d, not %d", c->name,
           count_parts(c, "m."), state.count);
    for (int i = 0; i < state.count; i++) {
        char part[100];
        snprintf(part, sizeof part, "m.%s", state.names[i]);
        heed_tensor *value = parity_case_part(c, part);
        EXPECT(value != NULL, "%s: no %s in PyTorch's state dict", c->name, state.names[i]);
        heed_copy_into(state.tensors[i], heed_to(value, state.tensors[i]->dtype));
        expect_no_error();
    }
}

/* Compares the buffers with PyTorch's. Their errors come last in the list. */
static void check_buffers(const parity_case *c, void *m)
{
    const heed_tensor_list state = heed_state_dict(m);
    heed_tensor *error = parity_case_part(c, "error");
    int64_t at = error->numel - count_parts(c, "b.");
    for (int i = 0; i < state.count; i++) {
        if (!state.tensors[i]->requires_grad) {
            char part[100];
            snprintf(part, sizeof part, "b.%s", state.names[i]);
            expect_part(c, part, state.tensors[i], heed_at(error, HEED_INDEX(at++)), SCALED);
        }
    }
    ck_assert_int_eq(at, error->numel);
}

static void check_forward(const module_row *row, const parity_case *c, void *m, heed_dtype dtype,
                          enum layout layout)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_tensor *inputs[PARITY_INPUTS];
    parity_leaf leaves[PARITY_LEAVES];
    char names[PARITY_LEAVES][100];
    parity_inputs(c, dtype, layout, inputs);
    int count = parity_input_leaves(c, inputs, leaves);
    load(c, m);
    const heed_tensor_list parameters = heed_parameters(m);
    for (int i = 0; i < parameters.count; i++) {
        snprintf(names[i], sizeof names[i], "m.%s", parameters.names[i]);
        leaves[count++] = (parity_leaf){names[i], parameters.tensors[i]};
    }
    expect_case(c, row->forward(m, inputs), SCALED, leaves, count);
    heed_scope_end(&scope);
}

START_TEST(module_is_torchs)
{
    const module_row *row = &rows[_i];
    heed_safetensors *file = parity_open("modules");
    const parity_case c = parity_case_of(file, row->kind, row->form);
    void *m = row->make();
    EXPECT(m != NULL, "%s", heed_error_message());
    ck_assert_str_eq(((heed_module *)m)->kind->name, row->kind);
    check_buffers(&c, m);
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_module_to(m, dtype);
        for (enum layout layout = 0; layout < LAYOUTS; layout++) {
            check_forward(row, &c, m, dtype, layout);
        }
    }
    heed_module_free(m);
    heed_safetensors_close(file);
}
END_TEST

/* ---- the table itself ---- */

static bool has_case(const char *area, const char *name)
{
    (void)area;
    for (int i = 0; i < ROW_COUNT; i++) {
        char row[100];
        snprintf(row, sizeof row, "%s.%s", rows[i].kind, rows[i].form);
        if (strcmp(row, name) == 0) {
            return true;
        }
    }
    return false;
}

START_TEST(every_case_has_a_row)
{
    parity_every_case("modules", has_case);
}
END_TEST

void add_parity_modules_cases(Suite *suite)
{
    TCase *modules = heed_case(suite, "modules");
    tcase_add_loop_test(modules, module_is_torchs, 0, ROW_COUNT);
    tcase_add_test(modules, every_case_has_a_row);
}
