/* nn.MultiheadAttention: names, draws and files of PyTorch; layouts, masks, weights and dropout; its
 * derivatives by inputs and parameters. tests/parity/ holds its numbers against PyTorch's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/alloc.h"
#include "tests/test_util.h"

Suite *multihead_suite(void);

struct drawn {
    int64_t embed_dim;
    int num_heads;
    bool bias, add_bias_kv;
    int64_t kdim, vdim;
    uint64_t sums[4];
};

#include "tests/fixtures/multihead.h"

enum { DRAWN = sizeof drawn / sizeof *drawn, SEEDS = sizeof seeds / sizeof *seeds };

static const heed_multihead_attention_options plain = {0};
static const heed_attention_options no_masks = {0};

static heed_tensor *randn(heed_shape shape)
{
    return heed_set_requires_grad(heed_randn(shape, HEED_F32), true);
}

static void expect_equal(heed_tensor *a, heed_tensor *b)
{
    expect_no_error();
    ck_assert(heed_equal(heed_detach(a), heed_detach(b)));
}

static void expect_shape(heed_tensor *x, heed_shape shape)
{
    expect_no_error();
    ck_assert_ptr_nonnull(x);
    ck_assert_str_eq(heed_shape_text(x->ndim, x->shape).text,
                     heed_shape_text(shape.ndim, shape.size).text);
}

/* ---- names, draws, files ---- */

static struct heed_multihead_attention *make(const struct drawn *r)
{
    const heed_multihead_attention_options options = {
        .kdim = r->kdim, .vdim = r->vdim, .no_bias = !r->bias, .add_bias_kv = r->add_bias_kv};
    return heed_multihead_attention_new(r->embed_dim, r->num_heads, options);
}

static void expect_state(void *module, int count, const char *const *names)
{
    heed_tensor_list list = heed_state_dict(module);
    ck_assert_int_eq(list.count, count);
    for (int i = 0; i < count; i++) {
        const heed_tensor *x = list.tensors[i];
        char line[200];
        snprintf(line, sizeof line, "%s %s", list.names[i],
                 heed_shape_text(x->ndim, x->shape).text);
        ck_assert_str_eq(line, names[i]);
        ck_assert(x->requires_grad);
    }
    heed_module_free(module);
}

START_TEST(state_dicts_are_torchs)
{
    expect_state(heed_multihead_attention_new(8, 2, plain), 4,
                 (const char *const[]){"in_proj_weight (24, 8)", "in_proj_bias (24)",
                                       "out_proj.weight (8, 8)", "out_proj.bias (8)"});
    expect_state(
        heed_multihead_attention_new(8, 2, (heed_multihead_attention_options){.no_bias = true}), 2,
        (const char *const[]){"in_proj_weight (24, 8)", "out_proj.weight (8, 8)"});
    expect_state(heed_multihead_attention_new(
                     6, 3, (heed_multihead_attention_options){.vdim = 5, .add_bias_kv = true}),
                 8,
                 (const char *const[]){"q_proj_weight (6, 6)", "k_proj_weight (6, 6)",
                                       "v_proj_weight (6, 5)", "in_proj_bias (18)",
                                       "bias_k (1, 1, 6)", "bias_v (1, 1, 6)",
                                       "out_proj.weight (6, 6)", "out_proj.bias (6)"});
    expect_state(heed_multihead_attention_new(
                     4, 4, (heed_multihead_attention_options){.kdim = 4, .vdim = 4}),
                 4,
                 (const char *const[]){"in_proj_weight (12, 4)", "in_proj_bias (12)",
                                       "out_proj.weight (4, 4)", "out_proj.bias (4)"});
}
END_TEST

START_TEST(draws_are_torchs_to_the_bit)
{
    const struct drawn *r = &drawn[_i];
    for (heed_random_flavor flavor = 0; flavor <= HEED_RANDOM_TORCH_2_PLAIN; flavor++) {
        uint64_t sum = UINT64_C(0xcbf29ce484222325);
        heed_set_random_flavor(flavor);
        for (int i = 0; i < SEEDS; i++) {
            heed_manual_seed(seeds[i]);
            struct heed_multihead_attention *m = make(r);
            heed_tensor_list list = heed_state_dict(m);
            for (int j = 0; j < list.count; j++) {
                const float *values = heed_const_data_f32(list.tensors[j]);
                sum = fnv(values, (size_t)list.tensors[j]->numel * sizeof *values, sum);
            }
            heed_tensor *next[] = {heed_rand(HEED_SHAPE(1), HEED_F32),
                                   heed_randn(HEED_SHAPE(1), HEED_F32)};
            sum = fnv(heed_const_data_f32(next[0]), sizeof(float), sum);
            sum = fnv(heed_const_data_f32(next[1]), sizeof(float), sum);
            heed_multihead_attention_free(m);
        }
        ck_assert_msg(sum == r->sums[flavor], "flavor %d: 0x%016llx", (int)flavor,
                      (unsigned long long)sum);
    }
    heed_set_random_flavor(HEED_RANDOM_TORCH_1);
}
END_TEST

START_TEST(first_draws)
{
    heed_manual_seed(42);
    struct heed_multihead_attention *m = heed_multihead_attention_new(8, 2, plain);
    EXPECT_VALUES(heed_select(m->in_proj_weight, 0, 0), 0, IN_PROJ_WEIGHT);
    EXPECT_VALUES(heed_select(m->out_proj->weight, 0, 0), 0, OUT_PROJ_WEIGHT);
    expect_equal(m->in_proj_bias, heed_zeros(HEED_SHAPE(24), HEED_F32));
    expect_equal(m->out_proj->bias, heed_zeros(HEED_SHAPE(8), HEED_F32));
    heed_multihead_attention_free(m);
}
END_TEST

/* What PyTorch saved after torch.manual_seed(42) is what is drawn here after heed_manual_seed(42). */
START_TEST(state_dicts_load)
{
    static const char *const paths[] = {"tests/fixtures/multihead.safetensors",
                                        "tests/fixtures/multihead_kdim.safetensors"};
    const struct drawn *r = &drawn[_i == 0 ? 0 : 8];
    heed_manual_seed(42);
    struct heed_multihead_attention *drawn_so = make(r), *loaded = make(r);
    heed_tensor_list a = heed_state_dict(drawn_so), b = heed_state_dict(loaded);
    ck_assert(!heed_equal(heed_detach(a.tensors[0]), heed_detach(b.tensors[0])));
    heed_load_state_dict(loaded, paths[_i], (heed_load_options){0});
    for (int i = 0; i < a.count; i++) {
        expect_equal(a.tensors[i], b.tensors[i]);
    }
    heed_load_state_dict(loaded, paths[1 - _i], (heed_load_options){0});
    expect_error(HEED_ERR_VALUE, "in_proj_weight");
    heed_multihead_attention_free(drawn_so);
    heed_multihead_attention_free(loaded);
}
END_TEST

START_TEST(tree)
{
    struct heed_multihead_attention *m = heed_multihead_attention_new(8, 2, plain);
    char buffer[500] = "";
    FILE *stream = fmemopen(buffer, sizeof buffer, "w");
    heed_module_print(stream, m);
    fclose(stream);
    ck_assert_str_eq(buffer, "MultiheadAttention(\n"
                             "  (out_proj): Linear(in_features=8, out_features=8, bias=True)\n"
                             ")\n");
    heed_multihead_attention_free(m);
}
END_TEST

/* ---- layouts ---- */

/* (4, 2 heads), kdim 3, vdim 5: three inputs of three sentences, L 4, S 6. */
enum { BATCH = 3, L = 4, S = 6, WIDTH = 4, HEADS = 2 };

typedef struct attention {
    struct heed_multihead_attention *m;
    heed_tensor *in[3];
} attention;

static attention begin(heed_multihead_attention_options options)
{
    options.kdim = 3;
    options.vdim = 5;
    heed_manual_seed(8);
    attention a = {.m = heed_multihead_attention_new(WIDTH, HEADS, options)};
    heed_tensor_list list = heed_parameters(a.m);
    for (int i = 0; i < list.count; i++) {
        heed_normal_into(list.tensors[i], 0, 0.7); /* biases too */
    }
    const int64_t sizes[] = {WIDTH, 3, 5};
    for (int i = 0; i < 3; i++) {
        const int64_t length = i == 0 ? L : S;
        a.in[i] = randn(options.batch_first ? HEED_SHAPE(BATCH, length, sizes[i])
                                            : HEED_SHAPE(length, BATCH, sizes[i]));
    }
    return a;
}

static heed_tensor *forward(const attention *a, heed_attention_options options)
{
    return heed_multihead_attention_forward(a->m, a->in[0], a->in[1], a->in[2], options);
}

static heed_tensor *weights_of(const attention *a, heed_attention_options options)
{
    heed_tensor *weights;
    heed_multihead_attention_forward_weights(a->m, a->in[0], a->in[1], a->in[2], options, &weights);
    return weights;
}

static void end(const attention *a)
{
    heed_multihead_attention_free(a->m);
}

/* Lengths first, the batch first, and one sentence alone give the same. */
START_TEST(layouts_agree)
{
    attention a = begin(plain);
    const heed_attention_options causal = {.is_causal = true, .weights_per_head = _i == 1};
    heed_tensor *weights;
    heed_tensor *y =
        heed_multihead_attention_forward_weights(a.m, a.in[0], a.in[1], a.in[2], causal, &weights);
    expect_shape(y, HEED_SHAPE(L, BATCH, WIDTH));
    ck_assert(heed_is_contiguous(y));
    expect_shape(weights, _i == 1 ? HEED_SHAPE(BATCH, HEADS, L, S) : HEED_SHAPE(BATCH, L, S));
    heed_tensor *turned[3], *one[3], *of_turned, *of_one;
    for (int i = 0; i < 3; i++) {
        turned[i] = heed_transpose(a.in[i], 0, 1);
    }
    a.m->batch_first = true;
    heed_tensor *same = heed_multihead_attention_forward_weights(a.m, turned[0], turned[1],
                                                                 turned[2], causal, &of_turned);
    ck_assert(heed_is_contiguous(same));
    expect_close(heed_transpose(same, 0, 1), y, 1e-6);
    expect_close(of_turned, weights, 1e-6);
    for (int64_t n = 0; n < BATCH; n++) {
        for (int i = 0; i < 3; i++) {
            one[i] = heed_select(a.in[i], 1, n);
        }
        a.m->batch_first = n == 1; /* which says nothing here */
        heed_tensor *alone =
            heed_multihead_attention_forward_weights(a.m, one[0], one[1], one[2], causal, &of_one);
        expect_shape(alone, HEED_SHAPE(L, WIDTH));
        expect_close(alone, heed_select(y, 1, n), 1e-6);
        expect_close(of_one, heed_select(weights, 0, n), 1e-6);
    }
    end(&a);
}
END_TEST

/* Head by head, as the formula says. */
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
    heed_attention_options options = {
        .attn_mask =
            heed_zeros(HEED_SHAPE((batched ? batch : 1) * HEADS, queries, keys), HEED_BOOL),
        .key_padding_mask =
            heed_zeros(batched ? HEED_SHAPE(batch, keys) : HEED_SHAPE(keys), HEED_F32)};
    heed_tensor *weights, *grads[3];
    heed_tensor *y =
        heed_multihead_attention_forward_weights(a.m, a.in[0], a.in[1], a.in[2], options, &weights);
    expect_shape(y, shape[0]);
    const int64_t all = keys + (_i % 2 == 0 ? 0 : 2);
    expect_shape(weights, batched ? HEED_SHAPE(batch, queries, all) : HEED_SHAPE(queries, all));
    heed_grad(heed_sum(heed_mul(y, y)), a.in, 3, grads, false);
    expect_no_error();
    if (all == 0 && y->numel > 0) { /* nothing to see: the bias alone */
        heed_tensor *bias = heed_expand(a.m->out_proj->bias, heed_shape_of_tensor(y));
        expect_equal(y, bias);
    }
    options = (heed_attention_options){.is_causal = true};
    expect_shape(forward(&a, options), shape[0]);
    end(&a);
}
END_TEST

/* ---- masks ---- */

static heed_tensor *padding_of_sentences(void)
{
    heed_tensor *lengths = heed_from_i64((int64_t[]){S, 2, 4}, HEED_SHAPE(BATCH));
    return heed_squeeze(heed_padding_block_mask(lengths, S), -2);
}

/* bool, float and both kinds mixed; one for all heads and one for each: the same numbers. */
START_TEST(masks_of_all_kinds_agree)
{
    attention a = begin(plain);
    heed_tensor *block = heed_triu(heed_ones(HEED_SHAPE(L, S), HEED_BOOL), 1);
    heed_tensor *bias = heed_bias_mask_of_block(block, HEED_F32);
    heed_tensor *padding = padding_of_sentences();
    heed_tensor *added = heed_bias_mask_of_block(padding, HEED_F32);
    heed_tensor *for_each = heed_clone(heed_expand(block, HEED_SHAPE(BATCH * HEADS, L, S)));
    const heed_attention_options same[] = {
        {.attn_mask = block, .key_padding_mask = padding},
        {.attn_mask = bias, .key_padding_mask = added},
        {.attn_mask = bias, .key_padding_mask = padding},
        {.attn_mask = block, .key_padding_mask = added},
        {.attn_mask = for_each, .key_padding_mask = padding},
        {.is_causal = true, .key_padding_mask = padding},
        {.is_causal = true, .key_padding_mask = added},
        {.is_causal = true, .attn_mask = block, .key_padding_mask = padding}};
    heed_tensor *y = forward(&a, same[0]);
    for (int i = 1; i < (int)(sizeof same / sizeof *same); i++) {
        expect_equal(forward(&a, same[i]), y);
    }
    const heed_attention_options causal[] = {
        {.is_causal = true}, {.attn_mask = block}, {.attn_mask = bias, .is_causal = true}};
    for (int i = 1; i < 3; i++) {
        expect_equal(forward(&a, causal[i]), forward(&a, causal[0]));
    }
    ck_assert(!heed_equal(heed_detach(y), heed_detach(forward(&a, causal[0]))));
    end(&a);
}
END_TEST

/* Each head of each sentence has its own mask; padding is seen by nobody. */
START_TEST(masks_are_where_torch_has_them)
{
    attention a = begin(plain);
    heed_tensor *block = heed_zeros(HEED_SHAPE(BATCH * HEADS, L, S), HEED_BOOL);
    bool *blocked = heed_data_bool(block);
    for (int64_t i = 0; i < block->numel; i++) {
        blocked[i] = i * 7 % 5 < 2;
    }
    heed_tensor *padding = padding_of_sentences();
    const bool *padded = heed_const_data_bool(heed_contiguous(padding));
    heed_tensor *weights = weights_of(&a, (heed_attention_options){.attn_mask = block,
                                                                   .key_padding_mask = padding,
                                                                   .weights_per_head = true});
    expect_shape(weights, HEED_SHAPE(BATCH, HEADS, L, S));
    const float *weight = heed_const_data_f32(weights);
    for (int64_t i = 0; i < weights->numel; i++) {
        const int64_t key = i % S, sentence = i / (HEADS * L * S);
        ck_assert((weight[i] == 0) == (blocked[i] || padded[sentence * S + key]));
    }
    end(&a);
}
END_TEST

/* A query that sees nothing gives out_proj's bias, and nothing but that learns from it. */
START_TEST(closed_queries_learn_nothing)
{
    attention a = begin(plain);
    heed_tensor *mask = heed_zeros(HEED_SHAPE(L, S), HEED_BOOL), *weights;
    heed_fill_into(heed_select(mask, 0, 2), 1);
    heed_attention_options options = {.attn_mask =
                                          _i == 0 ? mask : heed_bias_mask_of_block(mask, HEED_F32)};
    heed_tensor *y =
        heed_multihead_attention_forward_weights(a.m, a.in[0], a.in[1], a.in[2], options, &weights);
    heed_tensor *closed = heed_select(y, 0, 2);
    expect_equal(closed, heed_expand(a.m->out_proj->bias, HEED_SHAPE(BATCH, WIDTH)));
    expect_equal(heed_select(weights, 1, 2), heed_zeros(HEED_SHAPE(BATCH, S), HEED_F32));
    heed_backward_retain(heed_sum(heed_mul_scalar(closed, 3)));
    heed_tensor_list list = heed_parameters(a.m);
    for (int i = 0; i < list.count + 3; i++) {
        heed_tensor *x = i < list.count ? list.tensors[i] : a.in[i - list.count];
        expect_equal(x->grad, heed_full(heed_shape_of_tensor(x),
                                        x == a.m->out_proj->bias ? 3 * BATCH : 0, HEED_F32));
    }
    heed_backward(heed_add(heed_sum(heed_mul(y, y)), heed_sum(heed_mul(weights, weights))));
    for (int i = 0; i < list.count; i++) {
        heed_tensor *g = list.tensors[i]->grad;
        ck_assert(isfinite(heed_item(heed_sum(heed_mul(g, g)))));
    }
    end(&a);
}
END_TEST

/* The keys that the module adds are seen through every mask. */
START_TEST(added_keys_are_open)
{
    attention a =
        begin((heed_multihead_attention_options){.add_bias_kv = true, .add_zero_attn = true});
    heed_attention_options options = {.attn_mask = heed_ones(HEED_SHAPE(L, S), HEED_BOOL),
                                      .is_causal = true};
    heed_tensor *weights = weights_of(&a, options);
    expect_shape(weights, HEED_SHAPE(BATCH, L, S + 2));
    expect_equal(heed_narrow(weights, 2, 0, S), heed_zeros(HEED_SHAPE(BATCH, L, S), HEED_F32));
    heed_tensor *sums = heed_sum_dim(heed_narrow(weights, 2, S, 2), 2, false);
    expect_close(sums, heed_ones(HEED_SHAPE(BATCH, L), HEED_F32), 1e-6);
    end(&a);
}
END_TEST

/* ---- weights ---- */

START_TEST(weights_are_means_over_heads)
{
    attention a = begin(plain);
    heed_tensor *each = weights_of(&a, (heed_attention_options){.weights_per_head = true});
    heed_tensor *mean = weights_of(&a, no_masks);
    expect_equal(mean, heed_mean_dim(each, 1, false));
    ck_assert(mean->requires_grad);
    ck_assert_ptr_null(a.m->attention_percent);
    a.m->keep_weights = true;
    forward(&a, no_masks);
    forward(&a, no_masks); /* the first copy is let go */
    expect_equal(a.m->attention_percent, each);
    ck_assert(a.m->attention_percent->op == NULL && !a.m->attention_percent->requires_grad);
    a.m->keep_weights = false;
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_tensor *weights, *y = heed_multihead_attention_forward_weights(
                              a.m, a.in[0], a.in[1], a.in[2], no_masks, &weights);
    ck_assert(y->op == NULL && weights->op == NULL && !y->requires_grad);
    heed_scope_end(&scope);
    end(&a);
}
END_TEST

/* torch.manual_seed(7), then the same module and inputs: which weights are left. */
START_TEST(dropout_is_torchs)
{
    heed_manual_seed(7);
    struct heed_multihead_attention *m =
        heed_multihead_attention_new(4, 2, (heed_multihead_attention_options){.dropout = 0.4});
    heed_tensor *in[] = {randn(HEED_SHAPE(3, 2, 4)), randn(HEED_SHAPE(5, 2, 4)),
                         randn(HEED_SHAPE(5, 2, 4))};
    const heed_attention_options per_head = {.weights_per_head = true};
    heed_tensor *weights, *whole;
    const heed_generator before = heed_get_generator();
    heed_multihead_attention_forward_weights(m, in[0], in[1], in[2], per_head, &weights);
    heed_eval(m);
    heed_tensor *y =
        heed_multihead_attention_forward_weights(m, in[0], in[1], in[2], per_head, &whole);
    for (int i = 0; i < 60; i++) {
        const double of_all = (double)heed_const_data_f32(whole)[i];
        const double left = (double)heed_const_data_f32(weights)[i];
        const double expected = kept_weights[i] == '1' ? of_all / 0.6 : 0;
        ck_assert_msg(fabs(left - expected) < 1e-6, "%d: %g, not %g", i, left, expected);
    }
    heed_train(m);
    heed_set_generator(&before);
    heed_tensor *trained = heed_multihead_attention_forward(m, in[0], in[1], in[2], no_masks);
    ck_assert(!heed_equal(heed_detach(y), heed_detach(trained)));
    heed_multihead_attention_free(m);
}
END_TEST

/* ---- derivatives ---- */

typedef struct checked {
    attention a;
    heed_attention_options options;
    bool by_parameters;
} checked;

/* Of the inputs, or of the parameters, which the module then takes from those that the check hands
 * in. */
static heed_tensor *function(heed_tensor *const *inputs, void *context)
{
    const checked *c = context;
    struct heed_multihead_attention m = *c->a.m;
    struct heed_linear out_proj = *c->a.m->out_proj;
    heed_tensor *const *in = c->by_parameters ? c->a.in : inputs, *weights;
    if (c->by_parameters) {
        heed_tensor **fields[] = {&m.q_proj_weight, &m.k_proj_weight, &m.v_proj_weight,
                                  &m.in_proj_bias,  &m.bias_k,        &m.bias_v,
                                  &out_proj.weight, &out_proj.bias};
        m.out_proj = &out_proj;
        for (int i = 0, found = 0; i < 8; i++) {
            if (*fields[i] != NULL) {
                *fields[i] = inputs[found++];
            }
        }
    }
    heed_tensor *y =
        heed_multihead_attention_forward_weights(&m, in[0], in[1], in[2], c->options, &weights);
    return heed_cat((heed_tensor *[]){heed_flatten(y, 0, -1), heed_flatten(weights, 0, -1)}, 2, 0);
}

static heed_attention_options options_of(int i)
{
    heed_tensor *mask = heed_zeros(HEED_SHAPE(L, S), HEED_BOOL);
    heed_fill_into(heed_select(mask, 0, 1), 1); /* query 1 sees nothing */
    heed_fill_into(heed_select(mask, 1, 3), 1);
    switch (i) {
    case 0:
        return no_masks;
    case 1:
        return (heed_attention_options){.attn_mask = mask, .weights_per_head = true};
    case 2:
        return (heed_attention_options){.is_causal = true};
    default:
        return (heed_attention_options){.is_causal = true,
                                        .key_padding_mask = padding_of_sentences()};
    }
}

START_TEST(derivatives)
{
    const heed_multihead_attention_options options = {.add_bias_kv = _i == 3,
                                                      .add_zero_attn = _i == 3,
                                                      .no_bias = _i == 2,
                                                      .dropout = _i == 1 ? 0.3 : 0};
    checked c = {.a = begin(options), .options = options_of(_i)};
    heed_module_to(c.a.m, HEED_F64);
    for (int i = 0; i < 3; i++) {
        c.a.in[i] = heed_set_requires_grad(heed_detach(heed_to(c.a.in[i], HEED_F64)), true);
    }
    const heed_gradcheck_options zeros = {.allow_zero = true};
    heed_gradcheck(function, &c, c.a.in, 3, zeros);
    expect_no_error();
    heed_gradgradcheck(function, &c, c.a.in, 3, zeros);
    expect_no_error();
    c.by_parameters = true;
    heed_tensor_list list = heed_parameters(c.a.m);
    heed_gradcheck(function, &c, list.tensors, list.count, zeros);
    expect_no_error();
    end(&c.a);
}
END_TEST

START_TEST(second_derivatives_by_parameters)
{
    checked c = {.a = begin(plain), .by_parameters = true};
    heed_module_to(c.a.m, HEED_F64);
    for (int i = 0; i < 3; i++) {
        heed_tensor *x = heed_select(heed_to(c.a.in[i], HEED_F64), 1, 0);
        c.a.in[i] = heed_clone(heed_detach(heed_narrow(x, 0, 0, 3)));
    }
    heed_tensor_list list = heed_parameters(c.a.m);
    heed_gradgradcheck(function, &c, list.tensors, list.count,
                       (heed_gradcheck_options){.allow_zero = true});
    expect_no_error();
    end(&c.a);
}
END_TEST

/* ---- memory ---- */

START_TEST(constructors_without_memory)
{
    for (int n = 0;; n++) {
        heed_fail_allocation(n);
        struct heed_multihead_attention *m = heed_multihead_attention_new(
            4, 2, (heed_multihead_attention_options){.add_bias_kv = true, .kdim = _i == 0 ? 4 : 3});
        heed_fail_allocation(-1);
        if (m != NULL) {
            ck_assert_int_gt(n, 20);
            heed_module_free(m);
            break;
        }
        expect_error(HEED_ERR_MEMORY, "out of memory");
    }
}
END_TEST

START_TEST(forwards_without_memory)
{
    attention a =
        begin((heed_multihead_attention_options){.add_bias_kv = true, .add_zero_attn = true});
    a.m->keep_weights = true;
    const heed_attention_options options = {
        .is_causal = true,
        .key_padding_mask = padding_of_sentences(),
        .attn_mask = heed_zeros(HEED_SHAPE(BATCH * HEADS, L, S), HEED_F32)};
    int failures = 0;
    for (heed_tensor *y = NULL, *weights; y == NULL; failures++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_fail_allocation(failures);
        y = heed_multihead_attention_forward_weights(a.m, a.in[0], a.in[1], a.in[2], options,
                                                     &weights);
        heed_fail_allocation(-1);
        ck_assert((y == NULL) == (heed_error_pending() != HEED_OK));
        ck_assert((weights == NULL) == (y == NULL));
        if (y == NULL) {
            expect_error(HEED_ERR_MEMORY, "out of memory");
        }
        heed_scope_end(&scope);
    }
    ck_assert_int_gt(failures, 50);
    end(&a);
}
END_TEST

Suite *multihead_suite(void)
{
    Suite *suite = suite_create("multihead");
    TCase *torch = heed_case(suite, "as torch makes it");
    tcase_add_test(torch, state_dicts_are_torchs);
    tcase_add_loop_test(torch, draws_are_torchs_to_the_bit, 0, DRAWN);
    tcase_add_test(torch, first_draws);
    tcase_add_loop_test(torch, state_dicts_load, 0, 2);
    tcase_add_test(torch, tree);
    TCase *forwards = heed_case(suite, "forward");
    tcase_add_loop_test(forwards, layouts_agree, 0, 2);
    tcase_add_test(forwards, heads_are_slices_of_the_projections);
    tcase_add_loop_test(forwards, sizes_of_0, 0, 10);
    tcase_add_test(forwards, masks_of_all_kinds_agree);
    tcase_add_test(forwards, masks_are_where_torch_has_them);
    tcase_add_loop_test(forwards, closed_queries_learn_nothing, 0, 2);
    tcase_add_test(forwards, added_keys_are_open);
    tcase_add_test(forwards, weights_are_means_over_heads);
    tcase_add_test(forwards, dropout_is_torchs);
    TCase *checks = heed_case(suite, "derivatives and memory");
    tcase_add_loop_test(checks, derivatives, 0, 4);
    tcase_add_test(checks, second_derivatives_by_parameters);
    tcase_add_loop_test(checks, constructors_without_memory, 0, 2);
    tcase_add_test(checks, forwards_without_memory);
    return suite;
}
