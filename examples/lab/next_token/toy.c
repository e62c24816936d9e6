/* The score on the toy task and its heat maps, from the attention weights that the model keeps. */
#include "examples/lab/next_token/toy.h"

#include <string.h>

#include "examples/lab/common/console.h"
#include "examples/lab/next_token/write.h"

enum { SEEN = TOY_LENGTH - 1 }; /* input tokens: a sentence without its last token */

vocabulary toy_vocabulary(const toy_language *language)
{
    text_buffer words = {.length = 0};
    for (int id = 0; id < language->word_count; id++) {
        text_append(&words, " ", id > 0);
        text_append(&words, language->words[id], strlen(language->words[id]));
    }
    text_append(&words, "", 1);
    vocabulary v = {.level = TEXT_WORD};
    if (!heed_error_pending()) {
        v = vocabulary_of_list(TEXT_WORD, false, words.bytes);
    }
    text_free(&words);
    return v;
}

pieces toy_pieces(const toy_sentence *sentences, int64_t count)
{
    return (pieces){sentences->token, count, TOY_LENGTH, TOY_LENGTH};
}

/* ---- the score ---- */

/* True if `word` is the likeliest after *it*. Logits are (B, T, words). */
static bool is_foreseen(heed_tensor *logits, int64_t row, int64_t word)
{
    int64_t best = 0;
    for (int64_t other = 1; other < heed_size(logits, -1); other++) {
        if (heed_at(logits, HEED_INDEX(row, TOY_AT_IT, other)) >
            heed_at(logits, HEED_INDEX(row, TOY_AT_IT, best))) {
            best = other;
        }
    }
    return best == word;
}

/* The attention of *it* on the subject in one sentence, maximised over heads. */
static double best_attention(struct token_model *m, int64_t row)
{
    double best = 0;
    for (int head = 0; head < model_head_count(m); head++) {
        double percent = heed_at(model_head(m, head)->attention_percent,
                                 HEED_INDEX(row, TOY_AT_IT, TOY_AT_SUBJECT));
        best = percent > best ? percent : best;
    }
    return best;
}

toy_score toy_evaluate(struct token_model *m, const toy_sentence *sentences, int64_t count)
{
    double right = 0, attention = 0;
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *tokens = heed_from_i64(sentences->token, HEED_SHAPE(count, TOY_LENGTH));
    model_keep_weights(m, true);
    heed_tensor *logits = model_forward(m, heed_slice(tokens, 1, 0, SEEN, 1));
    model_keep_weights(m, false);
    for (int64_t row = 0; row < count && !heed_error_pending(); row++) {
        right += is_foreseen(logits, row, sentences[row].token[TOY_AT_IT + 1]);
        attention += best_attention(m, row);
    }
    return (toy_score){right / (double)count, attention / (double)count};
}

/* ---- output ---- */

/* The head of weights (heads, T, T) whose *it* attends most to the subject. */
static int64_t best_head(heed_tensor *weights)
{
    int64_t best = 0;
    for (int64_t head = 1; head < heed_size(weights, 0); head++) {
        if (heed_at(weights, HEED_INDEX(head, TOY_AT_IT, TOY_AT_SUBJECT)) >
            heed_at(weights, HEED_INDEX(best, TOY_AT_IT, TOY_AT_SUBJECT))) {
            best = head;
        }
    }
    return best;
}

void toy_show_attention(FILE *stream, struct token_model *m, const toy_language *language,
                        const toy_sentence *sentence, const char *title)
{
    const char *words[SEEN];
    HEED_SCOPE(scope);
    for (int i = 0; i < SEEN; i++) {
        words[i] = language->words[sentence->token[i]];
    }
    heed_tensor *weights = model_attention(m, sentence->token, SEEN);
    const int64_t heads = heed_size(weights, 0), best = best_head(weights);
    fprintf(stream, "\n%s", title);
    if (heads > 1) {
        fprintf(stream, ", head %lld of %lld", (long long)best + 1, (long long)heads);
    }
    fprintf(stream, " (rows attend to columns, in percent)\n\n");
    heed_tensor *picture = heed_squeeze(heed_slice(weights, 0, best, best + 1, 1), 0);
    heed_heat_map(stream, picture, words, words, HEED_COLOR_AUTO);
    console_drawn();
}

/* Lets the model continue a sentence after *it*. */
static void show_continuation(FILE *stream, struct token_model *m, const vocabulary *v,
                              const toy_sentence *sentence, double temperature)
{
    token_list tokens = {.count = 0};
    for (int i = 0; i <= TOY_AT_IT; i++) {
        token_list_add(&tokens, sentence->token[i]);
    }
    if (!heed_error_pending()) {
        text_joint joint = write_start(stream, v, &tokens, NULL);
        fprintf(stream, " ->");
        write_on(stream, m, v, &tokens, joint,
                 (write_options){TOY_LENGTH - tokens.count, temperature, 0 /* <eos> */});
        fprintf(stream, "\n");
    }
    token_list_free(&tokens);
}

void toy_show_writing(FILE *stream, struct token_model *m, const toy_language *language,
                      const vocabulary *v, double temperature)
{
    fprintf(stream, "\nWhat the model writes after *it*, in sentences that it has never seen:\n\n");
    for (int i = 0; i < language->held_out_count; i += language->held_out_count / 6) {
        show_continuation(stream, m, v, &language->held_out[i], temperature);
    }
}
