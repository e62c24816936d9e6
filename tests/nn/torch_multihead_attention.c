/* nn.MultiheadAttention: names, draws and files of PyTorch, layouts and sizes.
 * multihead_masks.c tests masks, weights and derivatives; parity_modules.c compares its numbers
 * with PyTorch's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/module_util.h"
#include "tests/common/multihead_util.h"

struct drawn {
    int64_t embed_dim;
    int num_heads;
    bool bias, add_bias_kv;
    int64_t kdim, vdim;
    uint64_t sum;
};

#include "tests/fixtures/multihead.h"

enum { DRAWN = sizeof drawn / sizeof *drawn, SEEDS = sizeof seeds / sizeof *seeds };

static const heed_multihead_attention_options plain = {0};

/* ---- names, draws, files ---- */

static void *make(const void *row)
{
    const struct drawn *r = row;
    const heed_multihead_attention_options options = {
        .kdim = r->kdim, .vdim = r->vdim, .no_bias = !r->bias, .add_bias_kv = r->add_bias_kv};
    return heed_multihead_attention_new_with(r->embed_dim, r->num_heads, options);
}

static void expect_state_of(void *module, int count, const char *const *names)
{
    expect_state(module, count, names);
    heed_module_free(module);
}

START_TEST(state_dicts_are_torchs)
{
    expect_state_of(heed_multihead_attention_new(8, 2), 4,
                    (const char *const[]){"in_proj_weight (24, 8)", "in_proj_bias (24)",
                                          "out_proj.weight (8, 8)", "out_proj.bias (8)"});
    expect_state_of(heed_multihead_attention_new_with(
                        8, 2, (heed_multihead_attention_options){.no_bias = true}),
                    2, (const char *const[]){"in_proj_weight (24, 8)", "out_proj.weight (8, 8)"});
    expect_state_of(heed_multihead_attention_new_with(
                        6, 3, (heed_multihead_attention_options){.vdim = 5, .add_bias_kv = true}),
                    8,
                    (const char *const[]){"q_proj_weight (6, 6)", "k_proj_weight (6, 6)",
                                          "v_proj_weight (6, 5)", "in_proj_bias (18)",
                                          "bias_k (1, 1, 6)", "bias_v (1, 1, 6)",
                                          "out_proj.weight (6, 6)", "out_proj.bias (6)"});
    expect_state_of(heed_multihead_attention_new_with(
                        4, 4, (heed_multihead_attention_options){.kdim = 4, .vdim = 4}),
                    4,
                    (const char *const[]){"in_proj_weight (12, 4)", "in_proj_bias (12)",
                                          "out_proj.weight (4, 4)", "out_proj.bias (4)"});
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
    struct heed_multihead_attention *m = heed_multihead_attention_new(8, 2);
    EXPECT_VALUES(heed_select(m->in_proj_weight, 0, 0), 0, IN_PROJ_WEIGHT);
    EXPECT_VALUES(heed_select(m->out_proj->weight, 0, 0), 0, OUT_PROJ_WEIGHT);
    expect_equal(m->in_proj_bias, heed_zeros(HEED_SHAPE(24), HEED_F32));
    expect_equal(m->out_proj->bias, heed_zeros(HEED_SHAPE(8), HEED_F32));
    heed_module_free(m);
}
END_TEST

/* The file that PyTorch saved after torch.manual_seed(42) equals the module drawn after
 * heed_manual_seed(42). */
START_TEST(state_dicts_load)
{
    static const char *const paths[] = {"tests/fixtures/multihead.safetensors",
                                        "tests/fixtures/multihead_kdim.safetensors"};
    const struct drawn *r = &drawn[_i == 0 ? 0 : 8];
    heed_manual_seed(42);
    struct heed_multihead_attention *drawn_so = make(r), *loaded = make(r);
    heed_tensor_list a = heed_state_dict(drawn_so), b = heed_state_dict(loaded);
    ck_assert(!heed_equal(heed_detach(a.tensors[0]), heed_detach(b.tensors[0])));
    heed_load_state_dict(loaded, paths[_i]);
    for (int i = 0; i < a.count; i++) {
        expect_equal(a.tensors[i], b.tensors[i]);
    }
    heed_load_state_dict(loaded, paths[1 - _i]);
    expect_error(HEED_ERR_VALUE, "in_proj_weight");
    heed_module_free(drawn_so);
    heed_module_free(loaded);
}
END_TEST

START_TEST(tree)
{
    struct heed_multihead_attention *m = heed_multihead_attention_new(8, 2);
    expect_tree(m, "MultiheadAttention(\n"
                   "  (out_proj): Linear(in_features=8, out_features=8, bias=True)\n"
                   ")");
    heed_module_free(m);
}
END_TEST

/* ---- layouts ---- */

/* torch draws the mask of a dropout that follows in the order (L, N, E). */
START_TEST(a_result_to_drop_lies_as_in_torch)
{
    struct heed_multihead_attention *m = heed_multihead_attention_new_with(
        8, 2, (heed_multihead_attention_options){.batch_first = true, .dropout = 0.5});
    heed_tensor *x = heed_rand(HEED_SHAPE(3, 5, 8), HEED_F32);
    heed_tensor *y = heed_multihead_attention_forward(m, x, x, x);
    expect_shape(y, HEED_SHAPE(3, 5, 8));
    ck_assert(!heed_is_contiguous(y) && heed_is_contiguous(heed_transpose(y, 0, 1)));
    heed_eval(m);
    y = heed_multihead_attention_forward(m, x, x, x);
    expect_shape(y, HEED_SHAPE(3, 5, 8));
    ck_assert(heed_is_contiguous(y));
    heed_module_free(m);
}
END_TEST

/* Sequence first, batch first and unbatched inputs give the same results. */
START_TEST(layouts_agree)
{
    attention a = begin(plain);
    const heed_multihead_attention_forward_options causal = {.is_causal = true,
                                                             .no_average_attn_weights = _i == 1};
    heed_tensor *weights;
    heed_tensor *y = heed_multihead_attention_forward_weights_with(a.m, a.in[0], a.in[1], a.in[2],
                                                                   &weights, causal);
    expect_shape(y, HEED_SHAPE(L, BATCH, WIDTH));
    ck_assert(heed_is_contiguous(y));
    expect_shape(weights, _i == 1 ? HEED_SHAPE(BATCH, HEADS, L, S) : HEED_SHAPE(BATCH, L, S));
    heed_tensor *turned[3], *one[3], *of_turned, *of_one;
    for (int i = 0; i < 3; i++) {
        turned[i] = heed_transpose(a.in[i], 0, 1);
    }
    a.m->batch_first = true;
    heed_tensor *same = heed_multihead_attention_forward_weights_with(
        a.m, turned[0], turned[1], turned[2], &of_turned, causal);
    ck_assert(heed_is_contiguous(same));
    expect_close(heed_transpose(same, 0, 1), y, 1e-6);
    expect_close(of_turned, weights, 1e-6);
    for (int64_t n = 0; n < BATCH; n++) {
        for (int i = 0; i < 3; i++) {
            one[i] = heed_select(a.in[i], 1, n);
        }
        a.m->batch_first = n == 1; /* no effect without a batch */
        heed_tensor *alone = heed_multihead_attention_forward_weights_with(a.m, one[0], one[1],
                                                                           one[2], &of_one, causal);
        expect_shape(alone, HEED_SHAPE(L, WIDTH));
        expect_close(alone, heed_select(y, 1, n), 1e-6);
        expect_close(of_one, heed_select(weights, 0, n), 1e-6);
    }
    end(&a);
}
END_TEST

/* Compares with the formula, head by head. */
START_TEST(heads_are_slices_of_the_projections)
{
    attention a = begin(plain);
    heed_tensor *projected[3], *biases[3], *heads[HEADS];
    heed_tensor *matrices[] = {a.m->q_proj_weight, a.m->k_proj_weight, a.m->v_proj_weight};
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
    expect_close(forward(&a, no_masks), heed_transpose(y, 0, 1), 2e-6);
    end(&a);
}
END_TEST

START_TEST(sizes_of_0)
{
    static const heed_shape shapes[][3] = {
        {{3, {4, 0, WIDTH}}, {3, {6, 0, 3}}, {3, {6, 0, 5}}}, /* no sentences */
        {{3, {0, 2, WIDTH}}, {3, {6, 2, 3}}, {3, {6, 2, 5}}}, /* no queries */
        {{3, {4, 2, WIDTH}}, {3, {0, 2, 3}}, {3, {0, 2, 5}}}, /* no keys */
        {{2, {0, WIDTH}}, {2, {6, 3}}, {2, {6, 5}}},
        {{2, {4, WIDTH}}, {2, {0, 3}}, {2, {0, 5}}}};
    const heed_multihead_attention_options added = {.add_bias_kv = true, .add_zero_attn = true};
    attention a = begin(_i % 2 == 0 ? plain : added);
    const heed_shape *shape = shapes[_i / 2];
    for (int i = 0; i < 3; i++) {
        a.in[i] = heed_set_requires_grad(heed_randn(shape[i], HEED_F32), true);
    }
    const bool batched = shape[0].ndim == 3;
    const int64_t queries = shape[0].size[0], keys = shape[1].size[0], batch = shape[0].size[1];
    heed_multihead_attention_forward_options options = {
        .attn_mask =
            heed_zeros(HEED_SHAPE((batched ? batch : 1) * HEADS, queries, keys), HEED_BOOL),
        .key_padding_mask =
            heed_zeros(batched ? HEED_SHAPE(batch, keys) : HEED_SHAPE(keys), HEED_F32)};
    heed_tensor *weights, *grads[3];
    heed_tensor *y = heed_multihead_attention_forward_weights_with(a.m, a.in[0], a.in[1], a.in[2],
                                                                   &weights, options);
    expect_shape(y, shape[0]);
    const int64_t all = keys + (_i % 2 == 0 ? 0 : 2);
    expect_shape(weights, batched ? HEED_SHAPE(batch, queries, all) : HEED_SHAPE(queries, all));
    heed_grad(heed_sum(heed_mul(y, y)), a.in, 3, grads, false);
    expect_no_error();
    if (all == 0 && y->numel > 0) { /* no keys: out_proj's bias alone */
        heed_tensor *bias = heed_expand(a.m->out_proj->bias, heed_shape_of_tensor(y));
        expect_equal(y, bias);
    }
    options = (heed_multihead_attention_forward_options){.is_causal = true};
    expect_shape(forward(&a, options), shape[0]);
    end(&a);
}
END_TEST

/* As after torch.manual_seed(7) with the same module and inputs: the same weights are dropped. */
START_TEST(dropout_is_torchs)
{
    heed_manual_seed(7);
    struct heed_multihead_attention *m =
        heed_multihead_attention_new_with(4, 2, (heed_multihead_attention_options){.dropout = 0.4});
    heed_tensor *in[] = {randn(HEED_SHAPE(3, 2, 4)), randn(HEED_SHAPE(5, 2, 4)),
                         randn(HEED_SHAPE(5, 2, 4))};
    const heed_multihead_attention_forward_options per_head = {.no_average_attn_weights = true};
    heed_tensor *weights, *whole;
    const heed_generator before = heed_get_generator();
    heed_multihead_attention_forward_weights_with(m, in[0], in[1], in[2], &weights, per_head);
    heed_eval(m);
    heed_tensor *y =
        heed_multihead_attention_forward_weights_with(m, in[0], in[1], in[2], &whole, per_head);
    for (int i = 0; i < 60; i++) {
        const double of_all = (double)heed_const_data_f32(whole)[i];
        const double left = (double)heed_const_data_f32(weights)[i];
        const double expected = kept_weights[i] == '1' ? of_all / 0.6 : 0;
        ck_assert_msg(fabs(left - expected) < 1e-6, "%d: %g, not %g", i, left, expected);
    }
    heed_train(m);
    heed_set_generator(&before);
    heed_tensor *trained = heed_multihead_attention_forward(m, in[0], in[1], in[2]);
    ck_assert(!heed_equal(heed_detach(y), heed_detach(trained)));
    heed_module_free(m);
}
END_TEST

void add_torch_multihead_attention_cases(Suite *suite)
{
    TCase *torch = heed_case(suite, "compared_with_torch");
    tcase_add_test(torch, state_dicts_are_torchs);
    tcase_add_loop_test(torch, draws_are_torchs_to_the_bit, 0, DRAWN);
    tcase_add_test(torch, first_draws);
    tcase_add_loop_test(torch, state_dicts_load, 0, 2);
    tcase_add_test(torch, tree);
    TCase *forwards = heed_case(suite, "forward");
    tcase_add_test(forwards, a_result_to_drop_lies_as_in_torch);
    tcase_add_loop_test(forwards, layouts_agree, 0, 2);
    tcase_add_test(forwards, heads_are_slices_of_the_projections);
    tcase_add_loop_test(forwards, sizes_of_0, 0, 10);
    tcase_add_test(forwards, dropout_is_torchs);
}
