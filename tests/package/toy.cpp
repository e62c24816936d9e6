// A module defined in C++ learns the toy language, as in examples/lab/next_token.
#include <cstdio>

#include "heed.hpp"

extern "C" {
#include "examples/lab/next_token/toy_language.h"
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

heed::tensor forward(Model *m, heed::tensor tokens)
{
    heed::tensor x = heed_embedding_forward(m->we, tokens);
    x = heed_position_encoding_forward(m->pe, x);
    heed::tensor mask = heed::causal_block_mask(heed::size(tokens, -1));
    return heed_linear_forward(m->fc_layer,
                               x + heed_self_attention_forward(m->self_attention, x, mask));
}

const heed_module_kind kind = heed::kind<Model, forward>("Model");

heed::owner<Model> new_model(int64_t words, int64_t d_model)
{
    return heed::make<Model>(kind, [&](Model *m) {
        HEED_CHILD(m, we, heed_embedding_new(words, d_model));
        HEED_CHILD(m, pe, heed_position_encoding_new(d_model, TOY_LENGTH));
        HEED_CHILD(m, self_attention, heed_self_attention_new(d_model, -2, -1));
        HEED_CHILD(m, fc_layer, heed_linear_new(d_model, words));
    });
}

double take_step(Model *m, const toy_language &language, heed_optimizer *adamw)
{
    constexpr int64_t batch = 32;
    heed::scope step;
    heed::tensor all =
        heed_from_i64(language.train[0].token, HEED_SHAPE(language.train_count, TOY_LENGTH));
    heed::tensor rows = heed::randint(0, language.train_count, {batch}, HEED_I64);
    heed::tensor tokens = heed::index_select(all, 0, rows);
    heed::tensor logits = forward(m, heed::slice(tokens, 1, 0, TOY_LENGTH - 1, 1));
    heed::tensor targets = heed::reshape(heed::slice(tokens, 1, 1, TOY_LENGTH, 1), {-1});
    heed::tensor loss = heed::cross_entropy(heed::flatten(logits, 0, 1), targets);
    heed_optimizer_zero_grad(adamw);
    heed::backward(loss);
    heed::check(heed_optimizer_step(adamw));
    return heed::item(loss);
}

// Number of held-out sentences whose word after *it* is predicted correctly.
int count_right(Model *m, const toy_language &language)
{
    int right = 0;
    for (int i = 0; i < language.held_out_count; i++) {
        heed::scope scope(heed::no_grad);
        const int64_t *sentence = language.held_out[i].token;
        heed::tensor logits = heed_forward(m, heed::from(sentence, TOY_AT_IT + 1, {TOY_AT_IT + 1}));
        right += heed::item_i64(heed::argmax(logits[-1])) == sentence[TOY_AT_IT + 1];
    }
    return right;
}

bool learns(const toy_language &language)
{
    heed::owner<Model> m = new_model(language.word_count, 32);
    heed_adam_options options{};
    options.eps = 1e-4;
    auto adamw = heed::own(heed_adamw_new_with(heed_parameters(m), 1e-2, 0.1, options));
    double loss = 0;
    for (int step = 0; step < 1500; step++) {
        loss = take_step(m, language, adamw);
    }
    const int right = count_right(m, language);
    std::printf("C++: loss %.3f, %d of %d held-out sentences right\n", loss, right,
                language.held_out_count);
    return right >= language.held_out_count * 9 / 10;
}

toy_language language; // too large for a stack

} // namespace

int main()
{
    toy_language_make(&language, 0);
    heed_manual_seed(0);
    const bool learned = learns(language);
    return learned && heed_live_tensors() == 0 && !heed_error_pending() ? 0 : 1;
}
