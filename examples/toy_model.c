/* The toy model: how it is made, scored and trained. */
#include "examples/toy_model.h"

#include <math.h>

static const heed_module_kind kind = {.name = "ToyModel", .size = sizeof(struct toy_model)};

toy_options toy_defaults(uint64_t seed, int heads)
{
    return (toy_options){
        .seed = seed,
        .heads = heads,
        .d_model = 32,
        .head_dim = heads > 2 ? 32 / heads : 32, /* two heads of d_model, or more that share it */
        .batch = 32,
        .steps = 2000,
        .lr = 2e-2,
        .eps = 1e-4,
        .weight_decay = 0.1,
    };
}

struct toy_model *toy_model_new(const toy_options *options, int64_t words)
{
    struct toy_model *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    const int64_t d_model = options->d_model;
    heed_add_child(m, "we", &m->we, heed_embedding_new(words, d_model));
    heed_add_child(m, "pe", &m->pe, heed_position_encoding_new(d_model, TOY_LENGTH - 1));
    if (options->heads == 1) {
        heed_add_child(m, "self_attention", &m->self_attention,
                       heed_self_attention_new(d_model, -2, -1));
    } else {
        heed_multi_head_options head = {.head_dim = options->head_dim};
        heed_add_child(m, "multi_head", &m->multi_head,
                       heed_multi_head_new(d_model, options->heads, -2, -1, head));
    }
    heed_add_child(m, "fc_layer", &m->fc_layer,
                   heed_linear_new(d_model, words, (heed_linear_options){0}));
    return heed_module_ready(m);
}

heed_tensor *toy_model_forward(struct toy_model *m, heed_tensor *tokens)
{
    heed_tensor *embeddings = heed_embedding_forward(m->we, tokens); /* (B, T, d_model) */
    heed_tensor *encodings = heed_position_encoding_forward(m->pe, embeddings);
    heed_tensor *mask = heed_causal_block_mask(heed_size(tokens, -1)); /* (T, T) */
    heed_tensor *attended = m->multi_head != NULL
                                ? heed_multi_head_forward(m->multi_head, encodings, mask)
                                : heed_self_attention_forward(m->self_attention, encodings, mask);
    return heed_linear_forward(m->fc_layer, heed_add(encodings, attended)); /* (B, T, words) */
}

heed_tensor *toy_model_loss(struct toy_model *m, const toy_sentence *sentences, int64_t count)
{
    heed_tensor *tokens = heed_from_i64(sentences->token, HEED_SHAPE(count, TOY_LENGTH));
    heed_tensor *inputs = heed_slice(tokens, 1, 0, TOY_LENGTH - 1, 1);
    heed_tensor *targets = heed_slice(tokens, 1, 1, TOY_LENGTH, 1);
    heed_tensor *logits = toy_model_forward(m, inputs);
    return heed_cross_entropy(heed_reshape(logits, HEED_SHAPE(-1, heed_size(logits, -1))),
                              heed_reshape(targets, HEED_SHAPE(-1)));
}

/* ---- looking at a model ---- */

static int head_count(const struct toy_model *m)
{
    return m->multi_head != NULL ? heed_module_list_count(m->multi_head->heads) : 1;
}

static struct heed_self_attention *head_of(struct toy_model *m, int head)
{
    return m->multi_head != NULL ? heed_multi_head_head(m->multi_head, head) : m->self_attention;
}

static void keep_weights(struct toy_model *m, bool keep)
{
    for (int head = 0; head < head_count(m); head++) {
        head_of(m, head)->keep_weights = keep;
    }
}

heed_tensor *toy_attention(struct toy_model *m, const int64_t *sentence, int64_t length)
{
    heed_tensor *weights[16];
    const int heads = head_count(m) < 16 ? head_count(m) : 16;
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    keep_weights(m, true);
    toy_model_forward(m, heed_from_i64(sentence, HEED_SHAPE(length)));
    keep_weights(m, false);
    for (int head = 0; head < heads; head++) {
        weights[head] = heed_unsqueeze(head_of(m, head)->attention_percent, 0);
    }
    return heed_scope_end_with(&scope, heed_cat(weights, heads, 0));
}

/* The largest of the logits (B, T, words) at one place. */
static int64_t likeliest(heed_tensor *logits, int64_t row, int64_t position)
{
    int64_t best = 0;
    for (int64_t word = 1; word < heed_size(logits, -1); word++) {
        if (heed_at(logits, HEED_INDEX(row, position, word)) >
            heed_at(logits, HEED_INDEX(row, position, best))) {
            best = word;
        }
    }
    return best;
}

int64_t toy_next_word(struct toy_model *m, const int64_t *tokens, int64_t length)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_tensor *logits = toy_model_forward(m, heed_from_i64(tokens, HEED_SHAPE(1, length)));
    int64_t word = likeliest(logits, 0, length - 1);
    heed_scope_end(&scope);
    return word;
}

/* The attention of *it* on the subject in one sentence: that of the head with the most. */
static double best_attention(struct toy_model *m, int64_t row)
{
    double best = 0;
    for (int head = 0; head < head_count(m); head++) {
        double percent = heed_at(head_of(m, head)->attention_percent,
                                 HEED_INDEX(row, TOY_AT_IT, TOY_AT_SUBJECT));
        best = percent > best ? percent : best;
    }
    return best;
}

toy_score toy_evaluate(struct toy_model *m, const toy_sentence *sentences, int64_t count)
{
    double right = 0, attention = 0;
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_tensor *tokens = heed_from_i64(sentences->token, HEED_SHAPE(count, TOY_LENGTH));
    keep_weights(m, true);
    heed_tensor *logits = toy_model_forward(m, heed_slice(tokens, 1, 0, TOY_LENGTH - 1, 1));
    keep_weights(m, false);
    for (int64_t row = 0; row < count && !heed_error_pending(); row++) {
        right += likeliest(logits, row, TOY_AT_IT) == sentences[row].token[TOY_AT_IT + 1];
        attention += best_attention(m, row);
    }
    heed_scope_end(&scope);
    return (toy_score){right / (double)count, attention / (double)count};
}

/* ---- training ---- */

/* Up over the first tenth, down over the last three. */
static double learning_rate(const toy_options *options, int step)
{
    const double up = (step + 1) / (0.1 * options->steps);
    const double down = (options->steps - step) / (0.3 * options->steps);
    return options->lr * fmin(1, fmin(up, down));
}

/* The loss of one step on a random batch. */
static double take_step(struct toy_model *m, const toy_language *language,
                        const toy_options *options, heed_optimizer *adamw)
{
    toy_sentence sentences[64];
    const int64_t batch = options->batch < 64 ? options->batch : 64;
    heed_scope step;
    heed_scope_begin(&step);
    heed_tensor *rows = heed_randint(0, language->train_count, HEED_SHAPE(batch));
    for (int64_t i = 0; i < batch; i++) {
        sentences[i] = language->train[(int64_t)heed_at(rows, HEED_INDEX(i))];
    }
    heed_tensor *loss = toy_model_loss(m, sentences, batch);
    heed_optimizer_zero_grad(adamw);
    heed_backward(loss);
    heed_optimizer_step(adamw);
    double value = heed_item(loss);
    heed_scope_end(&step);
    return value;
}

heed_status toy_train(struct toy_model *m, const toy_language *language, const toy_options *options,
                      toy_progress *progress, void *context)
{
    heed_optimizer *adamw = heed_adamw_new(heed_parameters(m), options->lr, options->weight_decay,
                                           (heed_adam_options){.eps = options->eps});
    bool more = adamw != NULL;
    for (int step = 0; step < options->steps && more; step++) {
        adamw->lr = learning_rate(options, step);
        double loss = take_step(m, language, options, adamw);
        more = !heed_error_pending() && (progress == NULL || progress(context, m, step, loss));
    }
    heed_optimizer_free(adamw);
    return heed_error_pending();
}
