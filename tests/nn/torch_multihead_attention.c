/* nn.MultiheadAttention: names, draws and files of PyTorch, layouts, masks, derivatives, threads
 * and failing allocations. parity_modules.c compares its numbers with PyTorch's. */
#include <math.h>

#include "tests/common/module_util.h"

struct drawn {
    int64_t embed_dim;
    int num_heads;
    bool bias;
    uint64_t sum;
};

#include "tests/fixtures/multihead.h"

enum { DRAWN = sizeof drawn / sizeof *drawn, SEEDS = sizeof seeds / sizeof *seeds };

/* ---- names, draws, files ---- */

static void *make(const void *row)
{
    const struct drawn *r = row;
    return heed_multihead_attention_new(r->embed_dim, r->num_heads, .no_bias = !r->bias);
}

static void expect_state_of(void *module, int count, const char *const *names)
{
    expect_state(module, count, names);
    heed_module_free(module);
}

START_TEST(state_dicts_are_torchs)
{
    expect_state_of(make(&drawn[0]), 4,
                    (const char *const[]){"in_proj_weight (24, 8)", "in_proj_bias (24)",
                                          "out_proj.weight (8, 8)", "out_proj.bias (8)"});
    expect_state_of(make(&drawn[1]), 2,
                    (const char *const[]){"in_proj_weight (24, 8)", "out_proj.weight (8, 8)"});
}
END_TEST

START_TEST(draws_are_torchs_to_the_bit)
{
    expect_draws(make, &drawn[_i], seeds, SEEDS, drawn[_i].sum);
}
END_TEST

START_TEST(first_draws)
{
    heed_manual_seed(42);
    struct heed_multihead_attention *m = make(&drawn[0]);
    EXPECT_VALUES(heed_select(m->in_proj_weight, 0, 0), 0, IN_PROJ_WEIGHT);
    EXPECT_VALUES(heed_select(m->out_proj->weight, 0, 0), 0, OUT_PROJ_WEIGHT);
    expect_equal(m->in_proj_bias, heed_zeros(HEED_SHAPE(24), HEED_F32));
    expect_equal(m->out_proj->bias, heed_zeros(HEED_SHAPE(8), HEED_F32));
    expect_tree(m, "MultiheadAttention(\n"
                   "  (out_proj): Linear(in_features=8, out_features=8, bias=True)\n"
                   ")");
    heed_module_free(m);
}
END_TEST

/* The file that PyTorch saved after torch.manual_seed(42) equals the module drawn after
 * heed_manual_seed(42). */
START_TEST(a_state_dict_loads)
{
    heed_manual_seed(42);
    struct heed_multihead_attention *drawn_so = make(&drawn[0]), *loaded = make(&drawn[0]);
    heed_tensor_list a = heed_state_dict(drawn_so), b = heed_state_dict(loaded);
    ck_assert(!heed_equal(heed_detach(a.tensors[0]), heed_detach(b.tensors[0])));
    heed_load_state_dict(loaded, "tests/fixtures/multihead.safetensors");
    for (int i = 0; i < a.count; i++) {
        expect_equal(a.tensors[i], b.tensors[i]);
    }
    heed_module_free(drawn_so);
    heed_module_free(loaded);
}
END_TEST

/* ---- forward ---- */

/* embed_dim 4, 2 heads; 3 sequences of 4 queries and 6 keys. */
enum { BATCH = 3, L = 4, S = 6, WIDTH = 4, HEADS = 2 };

typedef struct attention {
    struct heed_multihead_attention *m;
    heed_tensor *in[3];
    heed_multihead_attention_forward_args masks;
    bool by_parameters;
} attention;

static attention begin(double dropout)
{
    heed_manual_seed(8);
    attention a = {.m = heed_multihead_attention_new(WIDTH, HEADS, dropout)};
    heed_tensor_list list = heed_parameters(a.m);
    for (int i = 0; i < list.count; i++) {
        heed_normal_into(list.tensors[i], 0, 0.7); /* biases too, which start at 0 */
    }
    for (int i = 0; i < 3; i++) {
        heed_tensor *x = heed_randn(HEED_SHAPE(i == 0 ? L : S, BATCH, WIDTH), HEED_F32);
        a.in[i] = heed_set_requires_grad(x, true);
    }
    return a;
}

#define forward(a, ...)                                                                            \
    heed_multihead_attention_forward((a)->m, (a)->in[0], (a)->in[1], (a)->in[2], __VA_ARGS__)

static heed_tensor *padding_of_sentences(void)
{
    heed_tensor *lengths = heed_from_i64((int64_t[]){S, 2, 4}, HEED_SHAPE(BATCH));
    return heed_squeeze(heed_padding_block_mask(lengths, S), -2);
}

/* Sequence first and batch first give the same results. */
START_TEST(layouts_agree)
{
    attention a = begin(0);
    heed_tensor *weights, *others, *turned[3];
    heed_tensor *y = forward(&a, .is_causal = true, .weights = &weights);
    expect_shape(y, HEED_SHAPE(L, BATCH, WIDTH));
    expect_shape(weights, HEED_SHAPE(BATCH, HEADS, L, S));
    for (int i = 0; i < 3; i++) {
        turned[i] = heed_transpose(a.in[i], 0, 1);
    }
    a.m->batch_first = true;
    heed_tensor *same = heed_multihead_attention_forward(a.m, turned[0], turned[1], turned[2],
                                                         .is_causal = true, .weights = &others);
    ck_assert(heed_is_contiguous(y) && heed_is_contiguous(same));
    expect_close(heed_transpose(same, 0, 1), y, 1e-6);
    expect_close(others, weights, 1e-6);
    heed_module_free(a.m);
}
END_TEST

/* Compares with the formula, head by head. */
START_TEST(heads_are_slices_of_the_projections)
{
    attention a = begin(0);
    heed_tensor *projected[3], *matrices[3], *biases[3], *heads[HEADS];
    heed_chunk(a.m->in_proj_weight, 3, 0, matrices);
    heed_chunk(a.m->in_proj_bias, 3, 0, biases);
    for (int i = 0; i < 3; i++) {
        heed_tensor *x = heed_transpose(a.in[i], 0, 1);
        projected[i] = heed_add(heed_matmul(x, heed_transpose(matrices[i], 0, 1)), biases[i]);
    }
    for (int h = 0; h < HEADS; h++) {
        heed_tensor *part[3];
        for (int i = 0; i < 3; i++) {
            part[i] = heed_narrow(projected[i], -1, 2 * h, 2);
        }
        heed_tensor *scores = heed_matmul(part[0], heed_transpose(part[1], -2, -1));
        heads[h] = heed_matmul(heed_softmax(heed_div_scalar(scores, sqrt(2)), -1), part[2]);
    }
    heed_tensor *y = heed_linear_forward(a.m->out_proj, heed_cat(heads, HEADS, -1));
    expect_close(forward(&a, .is_causal = false), heed_transpose(y, 0, 1), 2e-6);
    heed_module_free(a.m);
}
END_TEST

/* All masks apply; what is blocked has no weight. is_causal is the same as a causal attn_mask. */
START_TEST(masks)
{
    attention a = begin(0);
    heed_tensor *block = heed_triu(heed_ones(HEED_SHAPE(L, S), HEED_BOOL), 1), *weights;
    heed_tensor *padding = padding_of_sentences();
    heed_tensor *both =
        forward(&a, .attn_mask = block, .key_padding_mask = padding, .weights = &weights);
    expect_close(forward(&a, .is_causal = true, .key_padding_mask = padding), both, 1e-6);
    expect_close(forward(&a, .is_causal = true), forward(&a, .attn_mask = block), 1e-6);
    const bool *blocked = heed_const_data_bool(block);
    const bool *padded = heed_const_data_bool(heed_contiguous(padding));
    for (int64_t i = 0; i < weights->numel; i++) {
        const int64_t key = i % S, sentence = i / (HEADS * L * S);
        ck_assert((heed_const_data_f32(weights)[i] == 0) ==
                  (blocked[i % (L * S)] || padded[sentence * S + key]));
    }
    heed_module_free(a.m);
}
END_TEST

/* A query that may attend to no key gives out_proj's bias, and nothing else gets a gradient. */
START_TEST(closed_queries_learn_nothing)
{
    attention a = begin(0);
    heed_tensor *mask = heed_zeros(HEED_SHAPE(L, S), HEED_BOOL);
    heed_fill_into(heed_select(mask, 0, 2), 1);
    heed_tensor *closed = heed_select(forward(&a, .attn_mask = mask), 0, 2);
    expect_equal(closed, heed_expand(a.m->out_proj->bias, HEED_SHAPE(BATCH, WIDTH)));
    heed_backward(heed_sum(heed_mul_scalar(closed, 3)));
    heed_tensor_list list = heed_parameters(a.m);
    for (int i = 0; i < list.count + 3; i++) {
        heed_tensor *x = i < list.count ? list.tensors[i] : a.in[i - list.count];
        expect_equal(x->grad, heed_full(heed_shape_of_tensor(x),
                                        x == a.m->out_proj->bias ? 3 * BATCH : 0, HEED_F32));
    }
    heed_module_free(a.m);
}
END_TEST

/* No sentences, no queries, no keys. */
START_TEST(sizes_of_0)
{
    static const int64_t sizes[][3] = {{0, 4, 6}, {2, 0, 6}, {2, 4, 0}};
    const int64_t batch = sizes[_i][0], queries = sizes[_i][1], keys = sizes[_i][2];
    attention a = begin(0);
    heed_tensor *x = heed_randn(HEED_SHAPE(queries, batch, WIDTH), HEED_F32);
    heed_tensor *memory = heed_randn(HEED_SHAPE(keys, batch, WIDTH), HEED_F32);
    heed_set_requires_grad(memory, true);
    for (int i = 0; i < 3; i++) {
        a.in[i] = i == 0 ? x : memory;
    }
    heed_tensor *y = forward(&a, .is_causal = true,
                             .attn_mask = heed_zeros(HEED_SHAPE(queries, keys), HEED_BOOL));
    expect_shape(y, heed_shape_of_tensor(x));
    heed_backward(heed_sum(heed_mul(y, y)));
    expect_no_error();
    if (keys == 0) { /* out_proj's bias alone */
        expect_equal(y, heed_expand(a.m->out_proj->bias, heed_shape_of_tensor(y)));
    }
    heed_module_free(a.m);
}
END_TEST

/* As after torch.manual_seed(7) with the same module and inputs: the same weights are dropped. */
START_TEST(dropout_is_torchs)
{
    heed_manual_seed(7);
    struct heed_multihead_attention *m = heed_multihead_attention_new(4, 2, .dropout = 0.4);
    heed_tensor *x = heed_randn(HEED_SHAPE(3, 2, 4), HEED_F32), *memory[2], *weights, *whole;
    memory[0] = heed_randn(HEED_SHAPE(5, 2, 4), HEED_F32);
    memory[1] = heed_randn(HEED_SHAPE(5, 2, 4), HEED_F32);
    heed_multihead_attention_forward(m, x, memory[0], memory[1], .weights = &weights);
    heed_eval(m);
    heed_multihead_attention_forward(m, x, memory[0], memory[1], .weights = &whole);
    for (int i = 0; i < 60; i++) {
        const double of_all = (double)heed_const_data_f32(whole)[i];
        const double left = (double)heed_const_data_f32(weights)[i];
        const double expected = kept_weights[i] == '1' ? of_all / 0.6 : 0;
        ck_assert_msg(fabs(left - expected) < 1e-6, "%d: %g, not %g", i, left, expected);
    }
    heed_module_free(m);
}
END_TEST

/* ---- derivatives ---- */

/* A function of the inputs, or of the parameters, which a copy of the module then uses. */
static heed_tensor *function(heed_tensor *const *inputs, void *context)
{
    const attention *a = context;
    struct heed_multihead_attention m = *a->m;
    struct heed_linear out_proj = *a->m->out_proj;
    heed_tensor *const *in = a->by_parameters ? a->in : inputs, *weights;
    if (a->by_parameters) {
        m.in_proj_weight = inputs[0];
        m.in_proj_bias = inputs[1];
        out_proj.weight = inputs[2];
        out_proj.bias = inputs[3];
        m.out_proj = &out_proj;
    }
    heed_tensor *y = heed_multihead_attention_forward(
        &m, in[0], in[1], in[2], .key_padding_mask = a->masks.key_padding_mask,
        .attn_mask = a->masks.attn_mask, .is_causal = a->masks.is_causal, .weights = &weights);
    return heed_cat((heed_tensor *[]){heed_flatten(y, 0, -1), heed_flatten(weights, 0, -1)}, 2, 0);
}

START_TEST(derivatives)
{
    attention a = begin(_i == 1 ? 0.3 : 0);
    heed_tensor *mask = heed_zeros(HEED_SHAPE(L, S), HEED_BOOL);
    heed_fill_into(heed_select(mask, 0, 1), 1); /* query 1 attends to no key */
    heed_fill_into(heed_select(mask, 1, 3), 1);
    a.masks.is_causal = _i == 2;
    a.masks.key_padding_mask = _i == 2 ? padding_of_sentences() : NULL;
    a.masks.attn_mask = _i == 1 ? mask : NULL;
    heed_module_to(a.m, HEED_F64);
    for (int i = 0; i < 3; i++) {
        a.in[i] = heed_set_requires_grad(heed_detach(heed_to(a.in[i], HEED_F64)), true);
    }
    heed_gradcheck(function, &a, a.in, 3, .unused = HEED_ALL_INPUTS);
    expect_no_error();
    heed_gradgradcheck(function, &a, a.in, 3, .linear = HEED_ALL_INPUTS, .unused = HEED_ALL_INPUTS);
    expect_no_error();
    a.by_parameters = true;
    heed_tensor_list list = heed_parameters(a.m);
    heed_gradcheck(function, &a, list.tensors, list.count, .unused = HEED_ALL_INPUTS);
    expect_no_error();
    heed_module_free(a.m);
}
END_TEST

/* ---- failing allocations ---- */

static void *make_in(void *context)
{
    return make(context);
}

static heed_tensor *masked(heed_tensor *const *inputs, void *context)
{
    (void)inputs;
    return function(((attention *)context)->in, context);
}

START_TEST(without_memory)
{
    expect_module_without_memory(make_in, (void *)&drawn[0], 10);
    attention a = begin(0);
    a.masks.is_causal = true;
    a.masks.key_padding_mask = padding_of_sentences();
    expect_forward_without_memory(masked, &a, a.in, 30);
    heed_module_free(a.m);
}
END_TEST

void add_torch_multihead_attention_cases(Suite *suite)
{
    TCase *torch = heed_case(suite, "compared_with_torch");
    tcase_add_test(torch, state_dicts_are_torchs);
    tcase_add_loop_test(torch, draws_are_torchs_to_the_bit, 0, DRAWN);
    tcase_add_test(torch, first_draws);
    tcase_add_test(torch, a_state_dict_loads);
    TCase *forwards = heed_case(suite, "forward");
    tcase_add_test(forwards, layouts_agree);
    tcase_add_test(forwards, heads_are_slices_of_the_projections);
    tcase_add_test(forwards, masks);
    tcase_add_test(forwards, closed_queries_learn_nothing);
    tcase_add_loop_test(forwards, sizes_of_0, 0, 3);
    tcase_add_test(forwards, dropout_is_torchs);
    TCase *checks = heed_case(suite, "derivatives_and_memory");
    tcase_add_loop_test(checks, derivatives, 0, 3);
    tcase_add_test(checks, without_memory);
}
