/* Out of memory in every kind of module, the GPT and every optimiser. */
#include "tests/oom/oom.h"

#include <stdlib.h>

/* ---- modules: forward, backward, cast, lists, printing ---- */

static heed_tensor *input(heed_shape shape)
{
    return heed_set_requires_grad(heed_randn(shape, HEED_F32), true);
}

typedef struct module_row {
    const char *name;
    void *(*make)(void);
    heed_tensor *(*forward)(void *m);
} module_row;

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
    MODULE(multihead_attention, heed_multihead_attention_new(4, 2, .dropout = 0.2), weights_of(m))

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
#define MODULE(name, new, result) {#name, make_##name, run_##name},
static const module_row module_rows[] = {MODULES};
#undef MODULE
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

/* ---- optimisers, clipping and flat lists ---- */

typedef heed_optimizer *make_optimizer(void *model);

static heed_optimizer *new_sgd(void *model)
{
    heed_optimizer *sgd = heed_sgd_new(heed_parameters(model), 0.1);
    if (sgd != NULL) {
        sgd->momentum = 0.9;
    }
    return sgd;
}

static heed_optimizer *new_adam(void *model)
{
    return heed_adam_new(heed_parameters(model), 0.1);
}

static heed_optimizer *new_adamw(void *model)
{
    return heed_adamw_new(heed_parameters(model), 0.1, 0.2, .decay_matrices_only = true);
}

static make_optimizer *const optimizers[] = {new_sgd, new_adam, new_adamw};

static void take_step(void *model, heed_optimizer *optimizer)
{
    HEED_SCOPE(step);
    heed_optimizer_zero_grad(optimizer);
    heed_backward(heed_sum(heed_square(heed_forward(model, input(HEED_SHAPE(2, 3))))));
    heed_clip_grad_norm(heed_parameters(model), 1);
    heed_optimizer_step(optimizer);
}

static uint64_t run_optimizer(const void *context)
{
    make_optimizer *make = *(make_optimizer *const *)context;
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    void *model = heed_feed_forward_new(3, 4);
    heed_optimizer *optimizer = make(model);
    take_step(model, optimizer);
    take_step(model, optimizer);
    const uint64_t sum = hash_of_list(heed_parameters(model), false, FNV_BASIS);
    heed_optimizer_free(optimizer);
    heed_module_free(model);
    return sum;
}

START_TEST(all_optimizers)
{
    starve("optimiser", run_optimizer, &optimizers[_i], MANY);
}
END_TEST

/* ---- the attention check ---- */

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
                         .module = m, .derivative = true, .report = &report);
    const uint64_t sum = hash_of_list(heed_parameters(m), false, report.passed);
    heed_module_free(m);
    return sum;
}

START_TEST(attention_check)
{
    starve("attention_check", run_attention_check, NULL, FEW);
}
END_TEST

void add_oom_modules_cases(Suite *suite)
{
    TCase *tests = oom_case(suite, "modules");
    tcase_add_loop_test(tests, modules, 0, MODULE_ROWS);
    tcase_add_loop_test(tests, all_optimizers, 0, 3);
    tcase_add_test(tests, attention_check);
}
