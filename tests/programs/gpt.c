/* The GPT: its draws, names, dropout, derivatives, attention weights, tied weights.
 * tests/nn/parity_modules.c compares its numbers with PyTorch's; generate.c
 * tests generation. */
#include <math.h>
#include <string.h>

#include "examples/lab/gpt/model.h"
#include "tests/common/files_util.h"
#include "tests/common/module_util.h"

struct drawn {
    int64_t vocab, block;
    int layers, heads;
    int64_t width;
    bool tied;
    uint64_t sum;
};

#include "tests/fixtures/gpt.h"

enum { DRAWN = sizeof drawn / sizeof *drawn, SEEDS = sizeof seeds / sizeof *seeds };

/* ---- compared with nanoGPT ---- */

static void *make(const void *row)
{
    const struct drawn *r = row;
    return gpt_new((gpt_config){.vocab_size = r->vocab,
                                .block_size = r->block,
                                .n_layer = r->layers,
                                .n_head = r->heads,
                                .n_embd = r->width,
                                .untied = !r->tied});
}

START_TEST(draws_are_torchs_to_the_bit)
{
    expect_draws(make, &drawn[_i], seeds, SEEDS, drawn[_i].sum);
}
END_TEST

static struct gpt *small(gpt_config config)
{
    config.vocab_size = 5;
    config.block_size = 4;
    config.n_layer = config.n_layer != 0 ? config.n_layer : 2;
    config.n_head = 2;
    config.n_embd = 4;
    struct gpt *m = gpt_new(config);
    const heed_tensor_list list = heed_parameters(m);
    for (int i = 0; i < list.count; i++) {
        heed_normal_into(list.tensors[i], 0, 0.7); /* biases and norms too */
    }
    return m;
}

START_TEST(state_dicts_are_nanogpts)
{
    struct gpt *m = small((gpt_config){.n_layer = 1});
    expect_state(
        m, 17,
        (const char *const[]){
            "transformer.wte.weight (5, 4)", "transformer.wpe.weight (4, 4)",
            "transformer.h.0.ln_1.weight (4)", "transformer.h.0.ln_1.bias (4)",
            "transformer.h.0.attn.c_attn.weight (12, 4)", "transformer.h.0.attn.c_attn.bias (12)",
            "transformer.h.0.attn.c_proj.weight (4, 4)", "transformer.h.0.attn.c_proj.bias (4)",
            "transformer.h.0.ln_2.weight (4)", "transformer.h.0.ln_2.bias (4)",
            "transformer.h.0.mlp.c_fc.weight (16, 4)", "transformer.h.0.mlp.c_fc.bias (16)",
            "transformer.h.0.mlp.c_proj.weight (4, 16)", "transformer.h.0.mlp.c_proj.bias (4)",
            "transformer.ln_f.weight (4)", "transformer.ln_f.bias (4)", "lm_head.weight (5, 4)"});
    heed_module_free(m);
}
END_TEST

/* Dropout drops the same elements as torch, in all four places; in eval mode none. */
START_TEST(dropout_is_torchs)
{
    heed_manual_seed(7);
    struct gpt *m = gpt_new((gpt_config){.vocab_size = 11,
                                         .block_size = 8,
                                         .n_layer = _i + 1,
                                         .n_head = 2,
                                         .n_embd = 8,
                                         .dropout = 0.3});
    int64_t ids[14];
    for (int i = 0; i < 14; i++) {
        ids[i] = i % 11;
    }
    heed_tensor *idx = heed_from_i64(ids, HEED_SHAPE(2, 7)), *y = gpt_forward(m, idx);
    expect_values(heed_narrow(heed_flatten(y, 0, -1), 0, 0, 16), trained[_i], 16, 1e-7);
    heed_eval(m);
    const heed_generator before = heed_get_generator();
    heed_tensor *a = gpt_forward(m, idx);
    ck_assert_int_eq(heed_get_generator().next, before.next);
    expect_close(gpt_forward(m, idx), a, 0);
    ck_assert(!heed_equal(heed_detach(a), heed_detach(y)));
    heed_module_free(m);
}
END_TEST

/* ---- forward ---- */

START_TEST(attention_can_be_looked_at)
{
    struct gpt *m = small((gpt_config){0});
    struct gpt_attention *attention = gpt_block_at(m, 1)->attn;
    heed_tensor *idx = heed_randint(0, 5, HEED_SHAPE(3, 4));
    gpt_forward(m, idx);
    ck_assert_ptr_null(attention->attention_percent);
    attention->keep_weights = true;
    gpt_forward(m, idx);
    heed_tensor *weights = heed_clone(attention->attention_percent);
    expect_shape(weights, HEED_SHAPE(3, 2, 4, 4));
    expect_close(heed_tril(weights, 0), weights, 0);
    expect_shape(gpt_forward(m, heed_narrow(idx, 0, 0, 1)), HEED_SHAPE(1, 4, 5));
    expect_shape(gpt_forward(m, heed_select(idx, 0, 0)), HEED_SHAPE(4, 5));
    gpt_cache *cache = gpt_cache_new(m, 3);
    gpt_forward_cached(m, heed_narrow(idx, 1, 0, 2), cache, false);
    gpt_forward_cached(m, heed_narrow(idx, 1, 2, 2), cache, false);
    expect_close(attention->attention_percent, heed_narrow(weights, 2, 2, 2), 1e-6);
    gpt_cache_free(cache);
    heed_module_free(m);
}
END_TEST

/* ---- derivatives ---- */

static heed_tensor *run_loss(heed_tensor *const *inputs, void *context)
{
    return gpt_loss(context, inputs[0], inputs[1]);
}

START_TEST(derivatives)
{
    static const gpt_config configs[] = {{.untied = true, .activation = heed_gelu},
                                         {.dropout = 0.3}};
    heed_manual_seed(3);
    struct gpt *m = small(configs[_i]);
    heed_tensor *inputs[] = {heed_randint(0, 5, HEED_SHAPE(2, 3)),
                             heed_randint(0, 5, HEED_SHAPE(2, 3))};
    expect_parameter_derivatives(m, run_loss, m, inputs);
    heed_module_free(m);
}
END_TEST

/* ---- tied weights ---- */

static void expect_tied(struct gpt *m)
{
    ck_assert_ptr_eq(m->lm_head->weight, m->transformer->wte->weight);
    ck_assert_ptr_eq(heed_state(m, "lm_head.weight"), m->lm_head->weight);
    ck_assert_ptr_eq(heed_state(m, "transformer.wte.weight"), m->lm_head->weight);
    ck_assert_int_eq(heed_parameters(m).count + 1, heed_state_dict(m).count);
}

START_TEST(tied_weights_stay_tied)
{
    struct gpt *m = small((gpt_config){0}), *other = small((gpt_config){0});
    heed_tensor *idx = heed_randint(0, 5, HEED_SHAPE(2, 4));
    expect_tied(m);
    heed_save_state_dict(m, in_folder("a"), NULL);
    heed_load_state_dict(other, in_folder("a"));
    expect_tied(other);
    expect_close(gpt_forward(other, idx), gpt_forward(m, idx), 0);
    heed_optimizer *adam = heed_adam_new(heed_parameters(m), 0.1);
    heed_tensor *before = heed_clone(heed_detach(m->lm_head->weight));
    heed_backward(gpt_loss(m, idx, idx));
    heed_optimizer_step(adam);
    expect_tied(m);
    ck_assert(!heed_equal(before, heed_detach(m->lm_head->weight)));
    heed_module_to(m, HEED_F64);
    expect_tied(m);
    ck_assert_int_eq(gpt_forward(m, idx)->dtype, HEED_F64);
    heed_optimizer_free(adam);
    heed_module_free(m);
    heed_module_free(other);
}
END_TEST

void add_gpt_cases(Suite *suite)
{
    TCase *models = files_case(suite, "models");
    tcase_add_loop_test(models, draws_are_torchs_to_the_bit, 0, DRAWN);
    tcase_add_test(models, state_dicts_are_nanogpts);
    tcase_add_loop_test(models, dropout_is_torchs, 0, 2);
    tcase_add_test(models, attention_can_be_looked_at);
    tcase_add_loop_test(models, derivatives, 0, 2);
    tcase_add_test(models, tied_weights_stay_tied);
}
