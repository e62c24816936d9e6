/* The run's language, and what its model makes of sentences. */
#include <math.h>

#include "examples/page/parts.h"

/* ---- all sentences ---- */

static void write_sentences(FILE *json, const char *name, const toy_sentence *sentences, int count)
{
    fprintf(json, ",\n\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        fprintf(json, "%s", i > 0 ? "," : "");
        write_list(json, sentences[i].token, TOY_LENGTH);
    }
    fprintf(json, "]");
}

EXPORT(page_language) const char *page_language(void)
{
    FILE *json = run_exists() ? begin_text() : NULL;
    if (json == NULL) {
        return NULL;
    }
    fprintf(json, "{\"words\":[");
    for (int i = 0; i < run.language.word_count; i++) {
        fprintf(json, "%s\"%s\"", i > 0 ? "," : "", run.language.words[i]);
    }
    fprintf(json, "],\"context\":%d,\"it\":%d,\"subject\":%d", CONTEXT, TOY_AT_IT, TOY_AT_SUBJECT);
    write_sentences(json, "train", run.language.train, run.language.train_count);
    write_sentences(json, "heldOut", run.language.held_out, run.language.held_out_count);
    fprintf(json, "}\n");
    return end_text(json);
}

/* JSON has no NaN: null. */
static void write_real(FILE *json, const char *name, double value)
{
    if (isfinite(value)) {
        fprintf(json, "\"%s\":%.9g", name, value);
    } else {
        fprintf(json, "\"%s\":null", name);
    }
}

EXPORT(page_score) const char *page_score(void)
{
    FILE *json = run_exists() ? begin_text() : NULL;
    if (json == NULL) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    const int64_t count = run.language.held_out_count;
    heed_tensor *rows = heed_from_i64(run.language.held_out->token, HEED_SHAPE(count, TOY_LENGTH));
    const double loss = heed_item(run_loss(rows, run.block_mask));
    heed_tensor *logits = heed_select(forward_find_mark("logits", 0), 1, TOY_AT_IT);
    heed_tensor *right =
        heed_eq(heed_argmax_dim(logits, -1, false), heed_select(rows, 1, TOY_AT_IT + 1));
    heed_tensor *best = NULL; /* (count) */
    for (int head = 0; head < network_head_count(&run.now.net); head++) {
        heed_tensor *percents = forward_find_mark("attention_percents", head);
        heed_tensor *on_subject =
            heed_select(heed_select(percents, 1, TOY_AT_IT), 1, TOY_AT_SUBJECT);
        best = best != NULL ? heed_maximum(best, on_subject) : on_subject;
    }
    fputc('{', json);
    write_real(json, "accuracy", heed_item(heed_sum(right)) / (double)count);
    fputc(',', json);
    write_real(json, "attention", heed_item(heed_mean(best)));
    fputc(',', json);
    write_real(json, "loss", loss);
    fputs("}\n", json);
    return end_text(json);
}

/* ---- one sentence ---- */

bool run_tokens(int64_t *ids, const int32_t *tokens, int count)
{
    if (!run_exists()) {
        return false;
    }
    if (count < 1 || count > TOY_LENGTH) {
        heed_fail(HEED_ERR_SHAPE, "the sentence has %d words; it needs 1 to %d", count, TOY_LENGTH);
        return false;
    }
    for (int i = 0; i < count; i++) {
        ids[i] = tokens[i];
        if (ids[i] < 0 || ids[i] >= run.language.word_count) {
            heed_fail(HEED_ERR_INDEX, "word %d: there is no word %d", i, tokens[i]);
            return false;
        }
    }
    return true;
}

/* logits (count, words) */
static heed_tensor *logits_of(const int64_t *ids, int64_t count)
{
    forward_begin();
    return forward_logits(&run.now.net, heed_from_i64(ids, HEED_SHAPE(count)), run.block_mask,
                          run.breaks);
}

EXPORT(page_attention) const char *page_attention(const int32_t *tokens, int count)
{
    static float weights[MODEL_MOST_HEADS * CONTEXT * CONTEXT];
    int64_t ids[TOY_LENGTH];
    if (!run_tokens(ids, tokens, count)) {
        return NULL;
    }
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    const int seen = count < CONTEXT ? count : CONTEXT, heads = network_head_count(&run.now.net);
    logits_of(ids, seen);
    for (int head = 0; head < heads; head++) {
        heed_copy_out(forward_find_mark("attention_percents", head), weights + head * seen * seen,
                      (int64_t)seen * seen);
    }
    fprintf(json, "{\"heads\":%d,\"tokens\":%d,\"at\":%llu}\n", heads, seen,
            (unsigned long long)(uintptr_t)weights);
    return end_text(json);
}

EXPORT(page_write) const char *page_write(const int32_t *tokens, int count, int most)
{
    int64_t ids[2 * TOY_LENGTH];
    const int eos = 0;
    if (!run_tokens(ids, tokens, count)) {
        return NULL;
    }
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    fprintf(json, "{\"words\":[");
    for (int written = 0; written < most && count < CONTEXT + 1 && !heed_error_pending();
         written++) {
        HEED_SCOPE_NO_GRAD(scope);
        const int first = count > CONTEXT ? count - CONTEXT : 0;
        heed_tensor *logits = logits_of(ids + first, count - first);
        ids[count] = (int64_t)heed_item(heed_argmax_dim(heed_select(logits, 0, -1), 0, false));
        fprintf(json, "%s%lld", written > 0 ? "," : "", (long long)ids[count]);
        if (ids[count++] == eos) {
            break;
        }
    }
    fprintf(json, "]}\n");
    return end_text(json);
}
