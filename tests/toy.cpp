// Heed from C++17: a user-defined module learns the toy language, as in examples/next_token. Covers
// what a C compiler does not: macros with lists, names shared by a struct and a function, linking.
#include <cstdio>

#include "heed.h"

extern "C" {
#include "examples/next_token/toy_language.h"
}

namespace
{

struct Model {
    heed_module module;
    struct heed_embedding *we;
    struct heed_position_encoding *pe;
    struct heed_self_attention *self_attention;
    struct heed_linear *fc_layer;
};

heed_tensor *forward(Model *m, heed_tensor *tokens)
{
    heed_tensor *x = heed_embedding_forward(m->we, tokens);
    x = heed_position_encoding_forward(m->pe, x);
    heed_tensor *mask = heed_causal_block_mask(heed_size(tokens, -1));
    heed_tensor *attended = heed_self_attention_forward(m->self_attention, x, mask);
    return heed_linear_forward(m->fc_layer, heed_add(x, attended));
}

HEED_MODULE_KIND(kind, Model, "Model", nullptr, forward);

Model *new_model(int64_t words, int64_t d_model)
{
    auto *m = static_cast<Model *>(heed_module_new(&kind));
    HEED_CHILD(m, we, heed_embedding_new(words, d_model));
    HEED_CHILD(m, pe, heed_position_encoding_new(d_model, TOY_LENGTH));
    HEED_CHILD(m, self_attention, heed_self_attention_new(d_model, -2, -1));
    HEED_CHILD(m, fc_layer, heed_linear_new(d_model, words));
    return static_cast<Model *>(heed_module_ready(m));
}

double take_step(Model *m, const toy_language &language, heed_optimizer *adamw)
{
    constexpr int64_t batch = 32;
    HEED_SCOPE(step);
    heed_tensor *all =
        heed_from_i64(language.train[0].token, HEED_SHAPE(language.train_count, TOY_LENGTH));
    heed_tensor *rows = heed_randint(0, language.train_count, HEED_SHAPE(batch), HEED_I64);
    heed_tensor *tokens = heed_index_select(all, 0, rows);
    heed_tensor *logits = forward(m, heed_slice(tokens, 1, 0, TOY_LENGTH - 1, 1));
    heed_tensor *targets = heed_reshape(heed_slice(tokens, 1, 1, TOY_LENGTH, 1), HEED_SHAPE(-1));
    heed_tensor *loss =
        heed_cross_entropy(heed_reshape(logits, HEED_SHAPE(-1, heed_size(logits, -1))), targets);
    heed_optimizer_zero_grad(adamw);
    heed_backward(loss);
    heed_optimizer_step(adamw);
    return heed_item(loss);
}

// Number of held-out sentences whose word after *it* is predicted correctly.
int count_right(Model *m, const toy_language &language)
{
    int right = 0;
    for (int i = 0; i < language.held_out_count; i++) {
        HEED_SCOPE_NO_GRAD(scope);
        const int64_t *sentence = language.held_out[i].token;
        heed_tensor *logits = forward(m, heed_from_i64(sentence, HEED_SHAPE(TOY_AT_IT + 1)));
        heed_tensor *last = heed_select(logits, 0, -1);
        right += heed_item_i64(heed_argmax(last)) == sentence[TOY_AT_IT + 1];
    }
    return right;
}

toy_language language;

} // namespace

int main()
{
    heed_on_error(heed_die);
    toy_language_make(&language, 0);
    heed_manual_seed(0);
    Model *m = new_model(language.word_count, 32);
    heed_adam_options options{};
    options.eps = 1e-4;
    heed_optimizer *adamw = heed_adamw_new_with(heed_parameters(m), 1e-2, 0.1, options);
    double loss = 0;
    for (int step = 0; step < 1500; step++) {
        loss = take_step(m, language, adamw);
    }
    const int right = count_right(m, language);
    std::printf("C++: loss %.3f, %d of %d held-out sentences right\n", loss, right,
                language.held_out_count);
    heed_optimizer_free(adamw);
    heed_module_free(m);
    const bool learned = right >= language.held_out_count * 9 / 10;
    return learned && heed_live_tensors() == 0 && !heed_error_pending() ? 0 : 1;
}
