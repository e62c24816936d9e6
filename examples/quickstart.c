/* A model with masked self-attention learns to predict the next word. "the cow hid and it mooed"
 * is not in its training data: predicting "mooed" requires looking back from "it" to "cow". */
#include <stdio.h>

#include <heed.h>

enum { WORDS = 12, LENGTH = 6, SENTENCES = 8, D_MODEL = 64 };
static const char *const words[WORDS] = {"the", "cat", "dog", "cow",    "sat",    "ran",
                                         "hid", "and", "it",  "purred", "barked", "mooed"};
static const int64_t sentences[SENTENCES][LENGTH] = {
    {0, 1, 4, 7, 8, 9},  {0, 1, 5, 7, 8, 9},  {0, 1, 6, 7, 8, 9},  {0, 2, 4, 7, 8, 10},
    {0, 2, 5, 7, 8, 10}, {0, 2, 6, 7, 8, 10}, {0, 3, 4, 7, 8, 11}, {0, 3, 5, 7, 8, 11}};
typedef struct model {
    heed_module module; /* must come first: it makes the struct a module */
    struct heed_embedding *embedding;
    struct heed_position_encoding *positions;
    struct heed_self_attention *attention;
    struct heed_linear *output;
} model;
static const heed_module_kind model_kind = {.name = "Model", .size = sizeof(model)};

static model *model_new(void)
{
    model *m = heed_module_new(&model_kind);
    HEED_CHILD(m, embedding, heed_embedding_new(WORDS, D_MODEL));
    HEED_CHILD(m, positions, heed_position_encoding_new(D_MODEL, LENGTH));
    HEED_CHILD(m, attention, heed_self_attention_new(D_MODEL, -2, -1)); /* tokens, features */
    HEED_CHILD(m, output, heed_linear_new(D_MODEL, WORDS));
    return m;
}

static heed_tensor *forward(model *m, heed_tensor *tokens, heed_tensor **weights)
{
    heed_tensor *x = heed_embedding_forward(m->embedding, tokens);
    x = heed_position_encoding_forward(m->positions, x);
    heed_tensor *mask = heed_causal_block_mask(heed_size(tokens, -1)); /* hides later words */
    heed_tensor *y = heed_self_attention_forward_weights(m->attention, x, mask, weights);
    return heed_linear_forward(m->output, heed_add(x, y)); /* a score (logit) for each word */
}

int main(void)
{
    heed_on_error(heed_die); /* the first error prints a message and ends the program */
    heed_manual_seed(42);
    model *m = model_new();
    heed_optimizer *sgd = heed_sgd_new(heed_parameters(m), 0.3);
    heed_tensor *weights, *logits;
    for (int step = 0; step <= 200; step++) {
        HEED_SCOPE(scope); /* the tensors made in this block are freed at its end */
        heed_tensor *all = heed_from_i64(sentences[0], HEED_SHAPE(SENTENCES, LENGTH));
        logits = forward(m, heed_narrow(all, 1, 0, LENGTH - 1), &weights);
        heed_tensor *targets = heed_reshape(heed_narrow(all, 1, 1, LENGTH - 1), HEED_SHAPE(-1));
        heed_tensor *loss = heed_cross_entropy(heed_flatten(logits, 0, 1), targets);
        heed_optimizer_zero_grad(sgd);
        heed_backward(loss);
        heed_optimizer_step(sgd);
        if (step % 50 == 0) {
            printf("step %3d   loss %.3f\n", step, heed_item(loss));
        }
    }
    HEED_SCOPE_NO_GRAD(scope);
    const char *const prompt[] = {"the", "cow", "hid", "and", "it"};
    logits = forward(m, heed_from_i64((int64_t[]){0, 3, 6, 7, 8}, HEED_SHAPE(5)), &weights);
    const int64_t predicted = heed_item_i64(heed_argmax(heed_select(logits, 0, -1)));
    printf("\nthe cow hid and it -> %s\n\n", words[predicted]);
    heed_heat_map(stdout, weights, prompt, prompt, HEED_COLOR_AUTO);
    heed_optimizer_free(sgd);
    return heed_module_free(m) != HEED_OK || fflush(stdout) != 0;
}
