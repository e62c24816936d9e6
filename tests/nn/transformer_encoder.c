/* FeedForward, nn.TransformerEncoderLayer, nn.TransformerEncoder: names, draws and files of
 * PyTorch, results, masks and derivatives. parity_modules.c compares their numbers with
 * PyTorch's. */
#include <math.h>
#include <string.h>

#include "tests/common/module_util.h"

struct drawn {
    int64_t d_model;
    int nhead;
    int64_t dim_feedforward;
    bool bias;
    int num_layers;
    uint64_t sums[4];
};

#include "tests/fixtures/transformer.h"

enum { DRAWN = sizeof drawn / sizeof *drawn, SEEDS = sizeof seeds / sizeof *seeds };

static const double no_dropout = 0;

typedef heed_transformer_encoder_layer_options layer_options;
typedef heed_transformer_encoder_forward_options forward_options;

/* ---- compared with torch ---- */

static void *make(const void *row)
{
    const struct drawn *r = row;
    struct heed_transformer_encoder_layer *layer = heed_transformer_encoder_layer_new_with(
        r->d_model, r->nhead,
        (layer_options){.dim_feedforward = r->dim_feedforward, .no_bias = !r->bias});
    if (r->num_layers == 0) {
        return layer;
    }
    const heed_layer_norm_options norm = {.no_bias = !r->bias};
    return heed_transformer_encoder_new_with(
        layer, r->num_layers,
        (heed_transformer_encoder_options){
            .norm = heed_layer_norm_new_with(HEED_SHAPE(r->d_model), norm)});
}

START_TEST(draws_are_torchs_to_the_bit)
{
    expect_draws(make, &drawn[_i], seeds, SEEDS, drawn[_i].sums);
}
END_TEST

START_TEST(state_dicts_are_torchs)
{
    struct heed_transformer_encoder_layer *m = heed_transformer_encoder_layer_new(8, 2);
    expect_state(
        m, 12,
        (const char *const[]){"self_attn.in_proj_weight (24, 8)", "self_attn.in_proj_bias (24)",
                              "self_attn.out_proj.weight (8, 8)", "self_attn.out_proj.bias (8)",
                              "linear1.weight (2048, 8)", "linear1.bias (2048)",
                              "linear2.weight (8, 2048)", "linear2.bias (8)", "norm1.weight (8)",
                              "norm1.bias (8)", "norm2.weight (8)", "norm2.bias (8)"});
    heed_module_free(m);
    m = heed_transformer_encoder_layer_new_with(
        8, 2, (layer_options){.no_bias = true, .dim_feedforward = 5});
    struct heed_transformer_encoder *stack = heed_transformer_encoder_new(m, 2);
    expect_state(stack, 12,
                 (const char *const[]){
                     "layers.0.self_attn.in_proj_weight (24, 8)",
                     "layers.0.self_attn.out_proj.weight (8, 8)", "layers.0.linear1.weight (5, 8)",
                     "layers.0.linear2.weight (8, 5)", "layers.0.norm1.weight (8)",
                     "layers.0.norm2.weight (8)", "layers.1.self_attn.in_proj_weight (24, 8)",
                     "layers.1.self_attn.out_proj.weight (8, 8)", "layers.1.linear1.weight (5, 8)",
                     "layers.1.linear2.weight (8, 5)", "layers.1.norm1.weight (8)",
                     "layers.1.norm2.weight (8)"});
    heed_module_free(stack);
    struct heed_feed_forward *feed = heed_feed_forward_new(3, 5);
    expect_state(feed, 4,
                 (const char *const[]){"linear1.weight (5, 3)", "linear1.bias (5)",
                                       "linear2.weight (3, 5)", "linear2.bias (3)"});
    heed_module_free(feed);
}
END_TEST

/* The file that PyTorch saved after torch.manual_seed(42) equals the module drawn after
 * heed_manual_seed(42). */
START_TEST(state_dicts_load)
{
    const struct drawn *r = &drawn[6];
    heed_manual_seed(42);
    void *drawn_so = make(r), *loaded = make(r);
    heed_load_state_dict(loaded, "tests/fixtures/transformer.safetensors");
    heed_tensor_list a = heed_state_dict(drawn_so), b = heed_state_dict(loaded);
    ck_assert_int_eq(a.count, 38);
    ck_assert_str_eq(a.names[37], "norm.bias");
    for (int i = 0; i < a.count; i++) {
        expect_close(heed_detach(a.tensors[i]), heed_detach(b.tensors[i]), 0);
    }
    heed_module_free(drawn_so);
    heed_module_free(loaded);
}
END_TEST

START_TEST(trees)
{
    struct heed_transformer_encoder *m = heed_transformer_encoder_new_with(
        heed_transformer_encoder_layer_new(8, 2), 1,
        (heed_transformer_encoder_options){.norm = heed_layer_norm_new(HEED_SHAPE(8))});
    expect_tree(m, "TransformerEncoder(\n"
                   "  (layers): ModuleList(\n"
                   "    (0): TransformerEncoderLayer(\n"
                   "      (self_attn): MultiheadAttention(\n"
                   "        (out_proj): Linear(in_features=8, out_features=8, bias=True)\n"
                   "      )\n"
                   "      (linear1): Linear(in_features=8, out_features=2048, bias=True)\n"
                   "      (dropout): Dropout(p=0.1, inplace=False)\n"
                   "      (linear2): Linear(in_features=2048, out_features=8, bias=True)\n"
                   "      (norm1): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)\n"
                   "      (norm2): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)\n"
                   "      (dropout1): Dropout(p=0.1, inplace=False)\n"
                   "      (dropout2): Dropout(p=0.1, inplace=False)\n"
                   "    )\n"
                   "  )\n"
                   "  (norm): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)\n"
                   ")");
    heed_module_free(m);
    struct heed_feed_forward *feed =
        heed_feed_forward_new_with(3, 5, (heed_feed_forward_options){.dropout = 0.5});
    expect_tree(feed, "FeedForward(\n"
                      "  (linear1): Linear(in_features=3, out_features=5, bias=True)\n"
                      "  (dropout): Dropout(p=0.5, inplace=False)\n"
                      "  (linear2): Linear(in_features=5, out_features=3, bias=True)\n"
                      ")");
    heed_module_free(feed);
}
END_TEST

/* ---- forward ---- */

/* As after torch.manual_seed(7) with the same module and src: dropout drops the same elements, in
 * all four places; in eval mode none. */
START_TEST(dropout_is_torchs)
{
    const double dropout = 0.3;
    heed_manual_seed(7);
    struct heed_transformer_encoder_layer *m = heed_transformer_encoder_layer_new_with(
        8, 2, (layer_options){.dim_feedforward = 16, .dropout = &dropout, .norm_first = _i == 1});
    heed_tensor *src = heed_randn(HEED_SHAPE(5, 3, 8), HEED_F32);
    heed_tensor *y = heed_transformer_encoder_layer_forward(m, src);
    expect_values(heed_narrow(heed_flatten(y, 0, -1), 0, 0, 16), trained[_i], 16, 5e-6);
    heed_eval(m);
    const heed_generator before = heed_get_generator();
    heed_tensor *a = heed_transformer_encoder_layer_forward(m, src);
    ck_assert_int_eq(heed_get_generator().next, before.next);
    ck_assert(!heed_equal(heed_detach(a), heed_detach(y)));
    heed_train(m);
    m->self_attn->dropout = m->dropout->p = m->dropout1->p = m->dropout2->p = 0;
    expect_close(heed_transformer_encoder_layer_forward(m, src), a, 0);
    heed_module_free(m);
}
END_TEST

static struct heed_transformer_encoder_layer *small(layer_options options)
{
    options.dim_feedforward = 6;
    options.dropout = options.dropout != NULL ? options.dropout : &no_dropout;
    struct heed_transformer_encoder_layer *m =
        heed_transformer_encoder_layer_new_with(4, 2, options);
    heed_tensor_list list = heed_parameters(m);
    for (int i = 0; i < list.count; i++) {
        heed_normal_into(list.tensors[i], 0, 0.7); /* biases and norms too */
    }
    return m;
}

/* Sequence first, batch first and unbatched inputs give the same results, as do all kinds of
 * masks. */
START_TEST(layouts_and_masks_agree)
{
    struct heed_transformer_encoder_layer *m = small((layer_options){.norm_first = _i == 1});
    heed_tensor *src = heed_randn(HEED_SHAPE(5, 3, 4), HEED_F32);
    heed_tensor *causal = heed_causal_block_mask(5);
    heed_tensor *y =
        heed_transformer_encoder_layer_forward_with(m, src, (forward_options){.is_causal = true});
    expect_close(
        heed_transformer_encoder_layer_forward_with(m, src, (forward_options){.src_mask = causal}),
        y, 2e-6);
    heed_tensor *bias = heed_bias_mask_of_block(causal, HEED_F32);
    expect_close(
        heed_transformer_encoder_layer_forward_with(m, src, (forward_options){.src_mask = bias}), y,
        2e-6);
    m->self_attn->batch_first = true;
    heed_tensor *turned = heed_transpose(src, 0, 1);
    heed_tensor *z = heed_transformer_encoder_layer_forward_with(
        m, turned, (forward_options){.src_mask = causal});
    expect_close(heed_transpose(z, 0, 1), y, 2e-6);
    heed_tensor *one = heed_transformer_encoder_layer_forward_with(
        m, heed_select(src, 1, 2), (forward_options){.is_causal = true});
    expect_close(one, heed_select(y, 1, 2), 2e-6);
    heed_module_free(m);
}
END_TEST

/* Later tokens and padding do not affect other tokens; a sentence of padding alone gives no NaN in
 * the gradients. */
START_TEST(masks_hide)
{
    struct heed_transformer_encoder *m = heed_transformer_encoder_new(
        small((layer_options){.batch_first = true, .norm_first = _i == 1}), 2);
    heed_tensor *src = heed_randn(HEED_SHAPE(3, 5, 4), HEED_F32), *other = heed_clone(src);
    heed_fill_into(heed_narrow(other, 1, 3, 2), 5);
    const heed_transformer_encoder_forward_options causal = {.is_causal = true};
    heed_tensor *y = heed_transformer_encoder_forward_with(m, src, causal);
    heed_tensor *z = heed_transformer_encoder_forward_with(m, other, causal);
    expect_close(heed_narrow(y, 1, 0, 3), heed_narrow(z, 1, 0, 3), 0);
    ck_assert(!heed_equal(heed_detach(y), heed_detach(z)));
    heed_tensor *lengths = heed_from_i64((int64_t[]){3, 2, 0}, HEED_SHAPE(3));
    const heed_transformer_encoder_forward_options padding = {
        .src_key_padding_mask = heed_squeeze(heed_padding_block_mask(lengths, 5), -2)};
    y = heed_transformer_encoder_forward_with(m, src, padding);
    z = heed_transformer_encoder_forward_with(m, other, padding);
    expect_close(heed_narrow(y, 1, 0, 3), heed_narrow(z, 1, 0, 3), 0);
    heed_backward(heed_sum(heed_mul(y, y)));
    heed_tensor_list list = heed_parameters(m);
    for (int i = 0; i < list.count; i++) {
        heed_tensor *g = list.tensors[i]->grad;
        ck_assert(isfinite(heed_item(heed_sum(heed_mul(g, g)))));
    }
    heed_module_free(m);
}
END_TEST

START_TEST(sizes_of_0)
{
    struct heed_transformer_encoder_layer *m = small((layer_options){0});
    static const heed_shape shapes[] = {{3, {0, 2, 4}}, {3, {5, 0, 4}}, {2, {0, 4}}};
    heed_tensor *src = heed_set_requires_grad(heed_randn(shapes[_i], HEED_F32), true);
    heed_tensor *y =
        heed_transformer_encoder_layer_forward_with(m, src, (forward_options){.is_causal = true});
    expect_close(heed_detach(y), heed_detach(src), 0);
    heed_backward(heed_sum(y));
    expect_no_error();
    heed_module_free(m);
}
END_TEST

/* Copies start with the layer's weights, options, mode and dtype, and are independent from then
 * on. */
START_TEST(layers_are_copies)
{
    const double dropout = 0.2;
    heed_manual_seed(9);
    struct heed_transformer_encoder_layer *first = small((layer_options){
        .dropout = &dropout, .activation = heed_gelu, .norm_first = true, .layer_norm_eps = 0.1});
    first->dropout2->p = 0.3;
    first->self_attn->keep_weights = true;
    heed_set_requires_grad(first->linear1->bias, false);
    heed_module_to(first, HEED_F64);
    heed_eval(first);
    const heed_generator before = heed_get_generator();
    struct heed_transformer_encoder *m = heed_transformer_encoder_new(first, 2);
    const heed_generator after = heed_get_generator();
    ck_assert(memcmp(before.state, after.state, sizeof before.state) == 0);
    ck_assert_int_eq(before.next, after.next);
    struct heed_transformer_encoder_layer *second = heed_transformer_encoder_layer_at(m, 1);
    ck_assert_ptr_eq(heed_transformer_encoder_layer_at(m, 0), first);
    ck_assert(second->dropout2->p == 0.3 && second->dropout->p == 0.2 && second->norm_first);
    ck_assert(second->activation == heed_gelu && !second->module.training);
    ck_assert(second->self_attn->keep_weights && second->self_attn->dropout == 0.2);
    ck_assert(second->norm1->eps == 0.1 && second->norm2->eps == 0.1);
    ck_assert_int_eq(second->self_attn->batch_first, first->self_attn->batch_first);
    ck_assert(!second->linear1->module.training && !second->linear1->bias->requires_grad);
    ck_assert(second->linear2->bias->requires_grad);
    heed_tensor *src = heed_randn(HEED_SHAPE(3, 4), HEED_F64);
    expect_close(heed_forward(second, src), heed_forward(first, src), 0);
    expect_close(heed_forward(m, src), heed_forward(second, heed_forward(first, src)), 0);
    heed_fill_into(first->linear2->bias, 2);
    ck_assert(!heed_equal(heed_detach(first->linear2->bias), heed_detach(second->linear2->bias)));
    heed_train(m);
    ck_assert(second->dropout1->module.training);
    heed_module_free(m);
}
END_TEST

START_TEST(attention_can_be_looked_at)
{
    struct heed_transformer_encoder_layer *m = small((layer_options){0});
    m->self_attn->keep_weights = true;
    heed_tensor *src = heed_randn(HEED_SHAPE(5, 3, 4), HEED_F32);
    heed_transformer_encoder_layer_forward_with(m, src, (forward_options){.is_causal = true});
    heed_tensor *weights = m->self_attn->attention_percent;
    expect_shape(weights, HEED_SHAPE(3, 2, 5, 5));
    expect_close(heed_tril(weights, 0), weights, 0);
    heed_module_free(m);
}
END_TEST

/* ---- derivatives and memory ---- */

typedef struct checked {
    struct heed_transformer_encoder *m;
    heed_transformer_encoder_forward_options masks;
} checked;

static heed_tensor *run(heed_tensor *const *inputs, void *context)
{
    const checked *c = context;
    return heed_transformer_encoder_forward_with(c->m, inputs[0], c->masks);
}

static struct heed_transformer_encoder *stack_new(int i)
{
    const double dropout = i == 3 ? 0.3 : 0;
    return heed_transformer_encoder_new_with(
        small((layer_options){.dropout = &dropout,
                              .activation = i == 0 ? NULL : heed_gelu,
                              .norm_first = i % 2 == 1,
                              .no_bias = i == 2}),
        i < 2 ? 2 : 1,
        (heed_transformer_encoder_options){.norm =
                                               i == 1 ? heed_layer_norm_new(HEED_SHAPE(4)) : NULL});
}

START_TEST(derivatives)
{
    heed_manual_seed(3);
    checked c = {.m = stack_new(_i), .masks = {.is_causal = _i % 2 == 1}};
    if (_i == 2) {
        heed_tensor *lengths = heed_from_i64((int64_t[]){3, 2}, HEED_SHAPE(2));
        c.masks.src_key_padding_mask = heed_squeeze(heed_padding_block_mask(lengths, 3), -2);
    }
    heed_tensor *src = heed_set_requires_grad(heed_randn(HEED_SHAPE(3, 2, 4), HEED_F64), true);
    expect_derivatives(c.m, run, &c, &src, 1);
    heed_module_free(c.m);
}
END_TEST

/* Squared, because a network of ReLUs has no second derivative. */
static heed_tensor *run_feed(heed_tensor *const *inputs, void *context)
{
    heed_tensor *y = heed_forward(context, inputs[0]);
    return heed_mul(y, y);
}

START_TEST(derivatives_of_feed_forward)
{
    heed_manual_seed(4);
    const heed_feed_forward_options options = {
        .activation = _i == 0 ? NULL : heed_gelu, .dropout = _i == 0 ? 0.2 : 0, .no_bias = _i == 2};
    struct heed_feed_forward *m = heed_feed_forward_new_with(3, 5, options);
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(2, 2, 3), HEED_F64), true);
    expect_derivatives(m, run_feed, m, &x, 1);
    heed_module_free(m);
}
END_TEST

static void *make_stack(void *context)
{
    (void)context;
    return make(&drawn[6]);
}

START_TEST(without_memory)
{
    expect_module_without_memory(make_stack, NULL, 100);
    checked c = {.m = stack_new(1), .masks = {.is_causal = true}};
    heed_tensor *src = heed_randn(HEED_SHAPE(3, 2, 4), HEED_F32);
    expect_forward_without_memory(run, &c, &src, 50);
    heed_module_free(c.m);
}
END_TEST

/* ---- the sequence's dim ---- */

/* x with its positions, as many programs go on: through a dropout and times a factor. */
static heed_tensor *positioned(struct heed_position_encoding *positions, heed_tensor *x)
{
    x = heed_position_encoding_forward(positions, x);
    return heed_mul_scalar(heed_dropout(x, 0.1, true), 2);
}

static const char along_batch[] =
    "is causal over dim 0, but its position encoding runs along dim 1; set .batch_first if dim 0 "
    "is the batch, else pass a causal mask instead of .is_causal";

START_TEST(positions_along_the_batch_are_found)
{
    struct heed_position_encoding *positions = heed_position_encoding_new(4, 9);
    struct heed_transformer_encoder *m =
        heed_transformer_encoder_new(small((layer_options){.norm_first = _i == 1}), 2);
    struct heed_multihead_attention *attention = heed_multihead_attention_new(4, 2);
    const forward_options causal = {.is_causal = true};
    static const int64_t sequences[] = {3, 7, 1};
    for (int i = 0; i < 3; i++) {
        heed_tensor *x =
            heed_set_requires_grad(heed_randn(HEED_SHAPE(sequences[i], 7, 4), HEED_F32), true);
        heed_tensor *direct = heed_position_encoding_forward(positions, x);
        heed_transformer_encoder_forward_with(m, direct, causal);
        expect_error(HEED_ERR_SHAPE, "transformer_encoder_forward: src (");
        heed_transformer_encoder_forward_with(m, positioned(positions, x), causal);
        expect_error(HEED_ERR_SHAPE, along_batch);
        heed_transformer_encoder_layer_forward_with(heed_transformer_encoder_layer_at(m, 0), direct,
                                                    causal);
        expect_error(HEED_ERR_SHAPE, "transformer_encoder_layer_forward: src (");
        heed_multihead_attention_forward_with(
            attention, direct, direct, direct,
            (heed_multihead_attention_forward_options){.is_causal = true});
        expect_error(HEED_ERR_SHAPE, "multihead_attention_forward: query (");
        heed_set_grad_enabled(false);
        heed_transformer_encoder_forward_with(m, heed_position_encoding_forward(positions, x),
                                              causal);
        expect_error(HEED_ERR_SHAPE, along_batch);
        heed_set_grad_enabled(true);
    }
    heed_module_free(positions);
    heed_module_free(attention);
    heed_module_free(m);
}
END_TEST

/* Whether a model with these shapes is wrong cannot be known, or it is right. */
START_TEST(other_positions_raise_no_alarm)
{
    struct heed_position_encoding *positions = heed_position_encoding_new(4, 9);
    struct heed_transformer_encoder *m = heed_transformer_encoder_new(small((layer_options){0}), 2);
    struct heed_transformer_encoder *first =
        heed_transformer_encoder_new(small((layer_options){.batch_first = true}), 2);
    const forward_options causal = {.is_causal = true};
    heed_tensor *x =
        heed_set_requires_grad(heed_randn(HEED_SHAPE(3, 7, 4), HEED_F32), true); /* (N, S, E) */
    heed_tensor *along_1 = positioned(positions, x);
    ck_assert_ptr_nonnull(heed_transformer_encoder_forward_with(first, along_1, causal));
    /* no batch */
    heed_tensor *one = positioned(positions, heed_select(x, 0, 1));
    ck_assert_ptr_nonnull(heed_transformer_encoder_forward_with(m, one, causal));
    /* the sequence comes first */
    ck_assert_ptr_nonnull(
        heed_transformer_encoder_forward_with(m, heed_transpose(along_1, 0, 1), causal));
    heed_tensor *pe = heed_unsqueeze(heed_slice(positions->pe, 0, 0, 3, 1), 1);
    ck_assert_ptr_nonnull(heed_transformer_encoder_forward_with(m, heed_add(x, pe), causal));
    /* over other tokens of dim 1 first, then causal over dim 0: frames of patches */
    heed_tensor *within = heed_transformer_encoder_forward(first, along_1);
    ck_assert_ptr_nonnull(heed_transformer_encoder_forward_with(m, within, causal));
    /* attention over channels, and causal on purpose */
    ck_assert_ptr_nonnull(heed_transformer_encoder_forward(m, along_1));
    ck_assert_ptr_nonnull(heed_transformer_encoder_forward_with(
        m, along_1, (forward_options){.src_mask = heed_causal_block_mask(3)}));
    /* a vector for each sequence */
    heed_tensor *kinds = heed_randn(HEED_SHAPE(7, 4), HEED_F32);
    ck_assert_ptr_nonnull(heed_transformer_encoder_forward_with(m, heed_add(x, kinds), causal));
    heed_module_free(positions);
    heed_module_free(first);
    heed_module_free(m);
}
END_TEST

void add_transformer_encoder_cases(Suite *suite)
{
    TCase *torch = heed_case(suite, "compared_with_torch");
    tcase_add_loop_test(torch, draws_are_torchs_to_the_bit, 0, DRAWN);
    tcase_add_test(torch, state_dicts_are_torchs);
    tcase_add_test(torch, state_dicts_load);
    tcase_add_test(torch, trees);
    TCase *forwards = heed_case(suite, "forward");
    tcase_add_loop_test(forwards, dropout_is_torchs, 0, 2);
    tcase_add_loop_test(forwards, layouts_and_masks_agree, 0, 2);
    tcase_add_loop_test(forwards, masks_hide, 0, 2);
    tcase_add_loop_test(forwards, sizes_of_0, 0, 3);
    tcase_add_test(forwards, layers_are_copies);
    tcase_add_test(forwards, attention_can_be_looked_at);
    TCase *layout = heed_case(suite, "layout");
    tcase_add_loop_test(layout, positions_along_the_batch_are_found, 0, 2);
    tcase_add_test(layout, other_positions_raise_no_alarm);
    TCase *checks = heed_case(suite, "derivatives_and_memory");
    tcase_add_loop_test(checks, derivatives, 0, 4);
    tcase_add_loop_test(checks, derivatives_of_feed_forward, 0, 3);
    tcase_add_test(checks, without_memory);
}
