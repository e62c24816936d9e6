/* nn.MultiheadAttention: masks and weights, derivatives by inputs and parameters, threads, and
 * failing allocations. */
#include <math.h>

#include "tests/common/multihead_util.h"

/* ---- masks ---- */

static heed_tensor *padding_of_sentences(void)
{
    heed_tensor *lengths = heed_from_i64((int64_t[]){S, 2, 4}, HEED_SHAPE(BATCH));
    return heed_squeeze(heed_padding_block_mask(lengths, S), -2);
}

/* Bool, float and mixed masks, shared by all heads or one per head, give the same numbers. */
START_TEST(masks_of_all_kinds_agree)
{
    attention a = begin((heed_multihead_attention_options){0});
    heed_tensor *block = heed_triu(heed_ones(HEED_SHAPE(L, S), HEED_BOOL), 1);
    heed_tensor *bias = heed_bias_mask_of_block(block, HEED_F32);
    heed_tensor *padding = padding_of_sentences();
    heed_tensor *added = heed_bias_mask_of_block(padding, HEED_F32);
    heed_tensor *for_each = heed_clone(heed_expand(block, HEED_SHAPE(BATCH * HEADS, L, S)));
    const heed_multihead_attention_forward_options same[] = {
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
    const heed_multihead_attention_forward_options causal[] = {
        {.is_causal = true}, {.attn_mask = block}, {.attn_mask = bias, .is_causal = true}};
    for (int i = 1; i < 3; i++) {
        expect_equal(forward(&a, causal[i]), forward(&a, causal[0]));
    }
    ck_assert(!heed_equal(heed_detach(y), heed_detach(forward(&a, causal[0]))));
    end(&a);
}
END_TEST

/* Each head of each sentence uses its own mask; padding has no weight. */
START_TEST(masks_are_where_torch_has_them)
{
    attention a = begin((heed_multihead_attention_options){0});
    heed_tensor *block = heed_zeros(HEED_SHAPE(BATCH * HEADS, L, S), HEED_BOOL);
    bool *blocked = heed_data_bool(block);
    for (int64_t i = 0; i < block->numel; i++) {
        blocked[i] = i * 7 % 5 < 2;
    }
    heed_tensor *padding = padding_of_sentences();
    const bool *padded = heed_const_data_bool(heed_contiguous(padding));
    heed_tensor *weights = weights_of(
        &a, (heed_multihead_attention_forward_options){
                .attn_mask = block, .key_padding_mask = padding, .no_average_attn_weights = true});
    expect_shape(weights, HEED_SHAPE(BATCH, HEADS, L, S));
    const float *weight = heed_const_data_f32(weights);
    for (int64_t i = 0; i < weights->numel; i++) {
        const int64_t key = i % S, sentence = i / (HEADS * L * S);
        ck_assert((weight[i] == 0) == (blocked[i] || padded[sentence * S + key]));
    }
    end(&a);
}
END_TEST

/* A query that may attend to no key gives out_proj's bias, and nothing else gets a gradient. */
START_TEST(closed_queries_learn_nothing)
{
    attention a = begin((heed_multihead_attention_options){0});
    heed_tensor *mask = heed_zeros(HEED_SHAPE(L, S), HEED_BOOL), *weights;
    heed_fill_into(heed_select(mask, 0, 2), 1);
    heed_multihead_attention_forward_options options = {
        .attn_mask = _i == 0 ? mask : heed_bias_mask_of_block(mask, HEED_F32)};
    heed_tensor *y = heed_multihead_attention_forward_weights_with(a.m, a.in[0], a.in[1], a.in[2],
                                                                   &weights, options);
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

/* Masks do not block the keys that the module adds. */
START_TEST(added_keys_are_open)
{
    attention a =
        begin((heed_multihead_attention_options){.add_bias_kv = true, .add_zero_attn = true});
    heed_multihead_attention_forward_options options = {
        .attn_mask = heed_ones(HEED_SHAPE(L, S), HEED_BOOL), .is_causal = true};
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
    attention a = begin((heed_multihead_attention_options){0});
    heed_tensor *each =
        weights_of(&a, (heed_multihead_attention_forward_options){.no_average_attn_weights = true});
    heed_tensor *mean = weights_of(&a, no_masks);
    expect_equal(mean, heed_mean_dim(each, 1, false));
    ck_assert(mean->requires_grad);
    ck_assert_ptr_null(a.m->attention_percent);
    a.m->keep_weights = true;
    forward(&a, no_masks);
    forward(&a, no_masks); /* the first copy is freed */
    expect_equal(a.m->attention_percent, each);
    ck_assert(a.m->attention_percent->op == NULL && !a.m->attention_percent->requires_grad);
    a.m->keep_weights = false;
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_tensor *weights,
        *y = heed_multihead_attention_forward_weights(a.m, a.in[0], a.in[1], a.in[2], &weights);
    ck_assert(y->op == NULL && weights->op == NULL && !y->requires_grad);
    heed_scope_end(&scope);
    end(&a);
}
END_TEST

/* ---- derivatives ---- */

typedef struct checked {
    attention a;
    heed_multihead_attention_forward_options options;
    bool by_parameters;
} checked;

/* A function of the inputs, or of the parameters, which a copy of the module then uses. */
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
    heed_tensor *y = heed_multihead_attention_forward_weights_with(&m, in[0], in[1], in[2],
                                                                   &weights, c->options);
    return heed_cat((heed_tensor *[]){heed_flatten(y, 0, -1), heed_flatten(weights, 0, -1)}, 2, 0);
}

static heed_multihead_attention_forward_options options_of(int i)
{
    heed_tensor *mask = heed_zeros(HEED_SHAPE(L, S), HEED_BOOL);
    heed_fill_into(heed_select(mask, 0, 1), 1); /* query 1 attends to no key */
    heed_fill_into(heed_select(mask, 1, 3), 1);
    switch (i) {
    case 0:
        return no_masks;
    case 1:
        return (heed_multihead_attention_forward_options){.attn_mask = mask,
                                                          .no_average_attn_weights = true};
    case 2:
        return (heed_multihead_attention_forward_options){.is_causal = true};
    default:
        return (heed_multihead_attention_forward_options){
            .is_causal = true, .key_padding_mask = padding_of_sentences()};
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
    const heed_gradcheck_options zeros = {.linear = HEED_ALL_INPUTS, .unused = HEED_ALL_INPUTS};
    heed_gradcheck_with(function, &c, c.a.in, 3, zeros);
    expect_no_error();
    heed_gradgradcheck_with(function, &c, c.a.in, 3, zeros);
    expect_no_error();
    c.by_parameters = true;
    heed_tensor_list list = heed_parameters(c.a.m);
    heed_gradcheck_with(function, &c, list.tensors, list.count, zeros);
    expect_no_error();
    end(&c.a);
}
END_TEST

START_TEST(second_derivatives_by_parameters)
{
    checked c = {.a = begin((heed_multihead_attention_options){0}), .by_parameters = true};
    heed_module_to(c.a.m, HEED_F64);
    for (int i = 0; i < 3; i++) {
        heed_tensor *x = heed_select(heed_to(c.a.in[i], HEED_F64), 1, 0);
        c.a.in[i] = heed_clone(heed_detach(heed_narrow(x, 0, 0, 3)));
    }
    heed_tensor_list list = heed_parameters(c.a.m);
    heed_gradgradcheck_with(
        function, &c, list.tensors, list.count,
        (heed_gradcheck_options){.linear = HEED_ALL_INPUTS, .unused = HEED_ALL_INPUTS});
    expect_no_error();
    end(&c.a);
}
END_TEST

/* ---- failing allocations ---- */

START_TEST(constructors_without_memory)
{
    for (int n = 0;; n++) {
        heed_fail_allocation(n);
        struct heed_multihead_attention *m = heed_multihead_attention_new_with(
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
    const heed_multihead_attention_forward_options options = {
        .is_causal = true,
        .key_padding_mask = padding_of_sentences(),
        .attn_mask = heed_zeros(HEED_SHAPE(BATCH * HEADS, L, S), HEED_F32)};
    int failures = 0;
    for (heed_tensor *y = NULL, *weights; y == NULL; failures++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_fail_allocation(failures);
        y = heed_multihead_attention_forward_weights_with(a.m, a.in[0], a.in[1], a.in[2], &weights,
                                                          options);
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

void add_multihead_masks_cases(Suite *suite)
{
    TCase *masks = heed_case(suite, "masks_and_weights");
    tcase_add_test(masks, masks_of_all_kinds_agree);
    tcase_add_test(masks, masks_are_where_torch_has_them);
    tcase_add_loop_test(masks, closed_queries_learn_nothing, 0, 2);
    tcase_add_test(masks, added_keys_are_open);
    tcase_add_test(masks, weights_are_means_over_heads);
    TCase *checks = heed_case(suite, "derivatives_threads_and_memory");
    tcase_add_loop_test(checks, derivatives, 0, 4);
    tcase_add_test(checks, second_derivatives_by_parameters);
    tcase_add_loop_test(checks, constructors_without_memory, 0, 2);
    tcase_add_test(checks, forwards_without_memory);
}
