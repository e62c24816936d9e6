/* nn.MultiheadAttention: names, draws and files of PyTorch, layouts and masks. parity_modules.c
 * compares its numbers and gradients with PyTorch's. */
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
} attention;

static attention begin(void)
{
    heed_manual_seed(8);
    attention a = {.m = heed_multihead_attention_new(WIDTH, HEADS)};
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
    attention a = begin();
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

/* All masks apply; what is blocked has no weight. is_causal is the same as a causal attn_mask. */
START_TEST(masks)
{
    attention a = begin();
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

void add_torch_multihead_attention_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "MultiheadAttention");
    tcase_add_test(tests, state_dicts_are_torchs);
    tcase_add_loop_test(tests, draws_are_torchs_to_the_bit, 0, DRAWN);
    tcase_add_test(tests, first_draws);
    tcase_add_test(tests, a_state_dict_loads);
    tcase_add_test(tests, layouts_agree);
    tcase_add_test(tests, masks);
}
