/* Training steps, the score on held-out sentences, heat maps and generation. */
#include "examples/lab/next_token/toy.h"

#include <math.h>
#include <string.h>

#include "examples/lab/common/console.h"

enum { SEEN = TOY_LENGTH - 1 }; /* input tokens: a sentence without its last token */

/* Fixed settings that work for 1, 2 and 4 heads. */
static const double eps = 1e-4, weight_decay = 0.1;

/* ---- training ---- */

heed_tensor *train_batch(const toy_language *language, int64_t batch)
{
    heed_tensor *which = heed_randint(0, language->train_count, HEED_SHAPE(batch));
    heed_tensor *rows = heed_empty(HEED_SHAPE(batch, TOY_LENGTH), HEED_I64);
    for (int64_t i = 0; i < batch && !heed_error_pending(); i++) {
        memcpy(heed_data_i64(rows) + i * TOY_LENGTH,
               language->train[heed_const_data_i64(which)[i]].token, sizeof(toy_sentence));
    }
    return rows;
}

heed_optimizer *train_optimizer(struct token_model *m, double lr)
{
    return heed_adamw_new(heed_parameters(m), lr, weight_decay, .eps = eps);
}

double train_rate(const train_options *options, int64_t step)
{
    const double up = (double)(step + 1) / (0.1 * (double)options->steps);
    const double down = (double)(options->steps - step) / (0.3 * (double)options->steps);
    return options->lr * fmin(1, fmin(up, down));
}

static double take_step(struct token_model *m, const toy_language *language, int64_t batch,
                        heed_optimizer *adamw)
{
    HEED_SCOPE(step);
    heed_tensor *loss = model_loss(m, train_batch(language, batch));
    heed_optimizer_zero_grad(adamw);
    heed_backward(loss);
    heed_optimizer_step(adamw);
    return heed_item(loss);
}

heed_status train(struct token_model *m, const toy_language *language, const train_options *options,
                  train_watch *watch, void *context)
{
    heed_optimizer *adamw = train_optimizer(m, options->lr);
    bool more = adamw != NULL;
    for (int64_t step = 1; step <= options->steps && more; step++) {
        adamw->lr = train_rate(options, step - 1);
        const double loss = take_step(m, language, options->batch, adamw);
        if (!isfinite(loss) && !heed_error_pending()) {
            heed_fail(HEED_ERR_VALUE, "the loss is %f at step %lld; try a lower learning rate",
                      loss, (long long)step);
        }
        more = !heed_error_pending() && (watch == NULL || watch(context, m, step, loss));
    }
    heed_optimizer_free(adamw);
    return heed_error_pending();
}

/* ---- the score ---- */

toy_score toy_evaluate(struct token_model *m, const toy_language *language)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *rows =
        heed_from_i64(language->held_out->token, HEED_SHAPE(language->held_out_count, TOY_LENGTH));
    model_keep_weights(m, true);
    heed_tensor *logits = model_forward(m, heed_slice(rows, 1, 0, SEEN, 1));
    model_keep_weights(m, false);
    heed_tensor *guess = heed_argmax_dim(heed_select(logits, 1, TOY_AT_IT), -1, false);
    heed_tensor *right = heed_eq(guess, heed_select(rows, 1, TOY_AT_IT + 1));
    heed_tensor *best = NULL; /* of the heads, by sentence */
    for (int head = 0; head < model_head_count(m); head++) {
        heed_tensor *of_it = heed_select(model_head(m, head)->attention_percent, 1, TOY_AT_IT);
        heed_tensor *percent = heed_select(of_it, 1, TOY_AT_SUBJECT);
        best = best == NULL ? percent : heed_maximum(best, percent);
    }
    return (toy_score){.accuracy = heed_item(heed_sum(right)) / language->held_out_count,
                       .attention = heed_item(heed_mean(best)),
                       .loss = heed_item(model_loss_of(logits, rows))};
}

/* ---- output ---- */

void toy_show_attention(FILE *stream, struct token_model *m, const toy_language *language,
                        const toy_sentence *sentence, const char *title)
{
    const char *words[SEEN];
    HEED_SCOPE_NO_GRAD(scope);
    for (int i = 0; i < SEEN; i++) {
        words[i] = language->words[sentence->token[i]];
    }
    heed_tensor *weights = model_attention(m, sentence->token, SEEN);
    heed_tensor *of_it = heed_select(heed_select(weights, 1, TOY_AT_IT), 1, TOY_AT_SUBJECT);
    const int64_t heads = heed_size(weights, 0), best = heed_item_i64(heed_argmax(of_it));
    fprintf(stream, "\n%s", title);
    if (heads > 1) {
        fprintf(stream, ", head %lld of %lld", (long long)best + 1, (long long)heads);
    }
    fprintf(stream, " (rows attend to columns, in percent)\n\n");
    heed_heat_map(stream, heed_select(weights, 0, best), words, words, HEED_COLOR_AUTO);
    console_drawn();
}

void toy_write(FILE *stream, struct token_model *m, const toy_language *language,
               const int64_t *tokens, int64_t count, int most)
{
    int64_t seen[SEEN]; /* the last tokens */
    const int64_t skipped = count > SEEN ? count - SEEN : 0;
    count -= skipped;
    memcpy(seen, tokens + skipped, (size_t)count * sizeof *seen);
    for (int i = 0; i < most && !heed_error_pending(); i++) {
        HEED_SCOPE_NO_GRAD(scope);
        heed_tensor *logits = model_forward(m, heed_from_i64(seen, HEED_SHAPE(count)));
        const int64_t next = heed_item_i64(heed_argmax(heed_select(logits, 0, -1)));
        if (heed_error_pending() || strcmp(language->words[next], "<eos>") == 0) {
            break;
        }
        fprintf(stream, " %s", language->words[next]);
        if (count == SEEN) {
            memmove(seen, seen + 1, (SEEN - 1) * sizeof *seen);
            count--;
        }
        seen[count++] = next;
    }
}
