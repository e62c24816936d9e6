/* The story's functions. */
#include "examples/page/story.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/lab/common/text.h"
#include "examples/page/parts.h"
#include "examples/page/story_heads.h"
#include "examples/page/story_reader.h"
#include "examples/page/story_train.h"

enum { MOST_HEADS = 2 };

static struct {
    reader_language *language; /* large: not static, as most pages' engines have no story */
    struct reader *reader;
    struct heads_model *heads[MOST_HEADS]; /* of one and two heads */
} story;

void story_end(void)
{
    heed_module_free(story.reader);
    story.reader = NULL;
    for (int i = 0; i < MOST_HEADS; i++) {
        heed_module_free(story.heads[i]);
        story.heads[i] = NULL;
    }
    free(story.language);
    story.language = NULL;
}

/* ---- JSON ---- */

static void write_hash(FILE *json, const float *numbers, int64_t count)
{
    fprintf(json, "\"hash\":\"%016" PRIx64 "\"",
            text_hash((const char *)numbers, (size_t)count * sizeof *numbers));
}

/* ---- the file ---- */

static bool make_language(void)
{
    if (story.language == NULL && !heed_error_pending()) {
        story.language = malloc(sizeof *story.language);
        if (story.language == NULL) {
            heed_fail(HEED_ERR_MEMORY, "the page: no memory for the story's sentences");
            return false;
        }
        reader_language_make(story.language);
    }
    return !heed_error_pending();
}

/* Models with random weights. */
static bool make_models(void)
{
    const heed_generator before = heed_get_generator();
    if (make_language() && story.reader == NULL) {
        story.reader = reader_new(story.language->word_count);
        for (int i = 0; i < MOST_HEADS; i++) {
            story.heads[i] = heads_new(i + 1);
        }
    }
    heed_set_generator(&before);
    return !heed_error_pending();
}

EXPORT(page_story_numbers) int page_story_numbers(void)
{
    if (!make_models()) {
        return 0;
    }
    int64_t count = story_weight_count(story.reader) + (int64_t)MOST_HEADS * HEADS_SEEDS;
    for (int i = 0; i < MOST_HEADS; i++) {
        count += story_weight_count(story.heads[i]);
    }
    return (int)count;
}

bool page_story_make(float *numbers, int steps)
{
    if (!make_language()) {
        return false;
    }
    const int count = page_story_numbers();
    if (count == 0) {
        return false;
    }
    float *accuracies = numbers + count - MOST_HEADS * HEADS_SEEDS;
    struct reader *reader =
        reader_train(story.language, READER_SEED, steps > 0 ? steps : READER_STEPS);
    numbers += heed_error_pending() ? 0 : story_get_weights(reader, numbers);
    heed_module_free(reader);
    for (int heads = 1; heads <= MOST_HEADS; heads++) {
        for (int seed = 0; seed < HEADS_SEEDS && !heed_error_pending(); seed++) {
            struct heads_model *m =
                heads_train(heads, (uint64_t)seed, steps > 0 ? steps : HEADS_STEPS);
            *accuracies++ = (float)heads_accuracy(m, true);
            numbers += seed == 0 ? story_get_weights(m, numbers) : 0;
            heed_module_free(m);
        }
    }
    return !heed_error_pending();
}

static void write_language(FILE *json)
{
    fputs("{\"words\":[", json);
    for (int i = 0; i < story.language->word_count; i++) {
        fprintf(json, "%s\"%s\"", i > 0 ? "," : "", story.language->words[i]);
    }
    fprintf(json, "],\"nouns\":[%d,%d],\"it\":%d,\"train\":%d,\"heldOut\":%d", READER_FIRST_NOUN,
            READER_NOUNS, READER_AT_IT, story.language->train_count,
            story.language->held_out_count);
    for (int i = HEADS_FIRST_ANIMAL; i < HEADS_WORDS; i++) {
        const bool first_verb = i == HEADS_FIRST_ANIMAL + HEADS_ANIMALS;
        fprintf(json, "%s\"%s\"",
                i == HEADS_FIRST_ANIMAL ? ",\"animals\":["
                : first_verb            ? "],\"verbs\":["
                                        : ",",
                heads_word(i));
    }
    fputs("],", json);
}

EXPORT(page_story_open) const char *page_story_open(const float *numbers, int count)
{
    if (count != page_story_numbers()) {
        heed_fail(HEED_ERR_VALUE, "the story: %d numbers, but its models have %d", count,
                  page_story_numbers());
    }
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    const float *next = numbers;
    next += story_set_weights(story.reader, next);
    for (int i = 0; i < MOST_HEADS; i++) {
        next += story_set_weights(story.heads[i], next);
    }
    write_language(json);
    for (int i = 0; i < MOST_HEADS * HEADS_SEEDS; i++) {
        fprintf(json, "%s%.9g",
                i == 0                 ? "\"accuracy\":[["
                : i % HEADS_SEEDS == 0 ? "],["
                                       : ",",
                (double)next[i]);
    }
    fputs("]],", json);
    write_hash(json, numbers, count);
    fputc('}', json);
    return end_text(json);
}

static bool is_open(void)
{
    if (story.reader == NULL) {
        heed_fail(HEED_ERR_VALUE, "the story: its numbers have not been opened");
    }
    return !heed_error_pending();
}

/* ---- the models ---- */

EXPORT(page_story_read)
const char *page_story_read(const int32_t *tokens, int count, int at)
{
    HEED_SCOPE_NO_GRAD(scope);
    int64_t ids[READER_LENGTH];
    if (is_open() && count != READER_LENGTH) {
        heed_fail(HEED_ERR_VALUE, "the story: %d words; the reader takes %d", count, READER_LENGTH);
    } else if (at < 0 || at >= READER_LENGTH) {
        heed_fail(HEED_ERR_VALUE, "the story: no word has position %d", at);
    }
    for (int i = 0; i < READER_LENGTH && !heed_error_pending(); i++) {
        ids[i] = tokens[i];
    }
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    const reader_result r =
        reader_forward(story.reader, heed_from_i64(ids, HEED_SHAPE(1, READER_LENGTH)), at);
    write_tensor(json, "{\"first\":", r.first);
    write_tensor(json, ",\"it\":", r.it);
    write_tensor(json, ",\"q\":", r.q);
    write_tensor(json, ",\"k\":", r.k);
    write_tensor(json, ",\"v\":", r.v);
    write_tensor(json, ",\"scores\":", r.scores);
    write_tensor(json, ",\"percents\":", r.percents);
    write_tensor(json, ",\"mix\":", r.mix);
    write_tensor(json, ",\"nouns\":", r.nouns);
    write_tensor(json, ",\"answers\":", heed_softmax(r.logits, -1));
    fputc('}', json);
    return end_text(json);
}

EXPORT(page_story_heads) const char *page_story_heads(int heads, int who, int verb, int whom)
{
    HEED_SCOPE_NO_GRAD(scope);
    if (is_open() && (heads < 1 || heads > MOST_HEADS || who < 0 || who >= HEADS_ANIMALS ||
                      whom < 0 || whom >= HEADS_ANIMALS || verb < 0 || verb >= HEADS_VERBS)) {
        heed_fail(HEED_ERR_VALUE, "the story: %d heads, words %d, %d, %d: out of range", heads, who,
                  verb, whom);
    }
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    const int64_t ids[HEADS_LENGTH] = {
        0, HEADS_FIRST_ANIMAL + who,  HEADS_FIRST_ANIMAL + HEADS_ANIMALS + verb,
        0, HEADS_FIRST_ANIMAL + whom, 1};
    heed_tensor *percents[HEADS_MOST] = {NULL};
    heed_tensor *answers =
        heed_softmax(heads_forward(story.heads[heads - 1],
                                   heed_from_i64(ids, HEED_SHAPE(1, HEADS_LENGTH)), percents),
                     -1);
    for (int i = 0; i < heads; i++) {
        write_tensor(json, i == 0 ? "{\"percents\":[" : ",", percents[i]);
    }
    write_tensor(json, "],\"who\":", heed_slice(answers, 1, 0, 1, 1));
    write_tensor(json, ",\"whom\":", heed_slice(answers, 1, 1, 2, 1));
    fputc('}', json);
    return end_text(json);
}

EXPORT(page_story_train) const char *page_story_train(int heads, double seed)
{
    void *model = NULL;
    double seen = 0, unseen = 0, looks = 0;
    if (!is_seed(seed) || !make_language()) {
        return NULL;
    }
    if (heads < 0 || heads > MOST_HEADS) {
        heed_fail(HEED_ERR_VALUE, "the story: %d heads; 0 to %d", heads, MOST_HEADS);
    } else if (heads == 0) {
        model = reader_train(story.language, (uint64_t)seed, READER_STEPS);
        seen = reader_accuracy(model, story.language->train, story.language->train_count, NULL);
        unseen = reader_accuracy(model, story.language->held_out, story.language->held_out_count,
                                 &looks);
    } else {
        model = heads_train(heads, (uint64_t)seed, HEADS_STEPS);
        seen = heads_accuracy(model, false);
        unseen = heads_accuracy(model, true);
    }
    float *weights = heed_error_pending()
                         ? NULL
                         : heed_alloc((size_t)story_weight_count(model) * sizeof *weights);
    FILE *json = begin_text();
    if (json != NULL) {
        fputc('{', json);
        write_hash(json, weights, story_get_weights(model, weights));
        fprintf(json, ",\"seen\":%.9g,\"unseen\":%.9g,\"looks\":%.9g}", seen, unseen, looks);
    }
    heed_free(weights);
    heed_module_free(model);
    return json != NULL ? end_text(json) : NULL;
}

/* ---- words and places ---- */

EXPORT(page_story_words) const char *page_story_words(void)
{
    FILE *json = is_open() ? begin_text() : NULL;
    if (json == NULL) {
        return NULL;
    }
    const struct heed_self_attention *look = story.reader->second;
    write_tensor(json, "{\"embedding\":", story.reader->we->weight);
    write_tensor(json, ",\"q\":", look->W_q->weight);
    write_tensor(json, ",\"k\":", look->W_k->weight);
    write_tensor(json, ",\"v\":", look->W_v->weight);
    fputc('}', json);
    return end_text(json);
}

EXPORT(page_story_places) const char *page_story_places(int count)
{
    enum { MOST = 1000 };
    if (count < 1 || count > MOST) {
        heed_fail(HEED_ERR_VALUE, "the story: %d positions; 1 to %d", count, MOST);
    }
    struct heed_position_encoding *m =
        heed_error_pending() ? NULL : heed_position_encoding_new(READER_WIDE, count);
    FILE *json = begin_text();
    if (json != NULL) {
        write_tensor(json, "{\"places\":", m->pe);
        fputc('}', json);
    }
    heed_module_free(m);
    return json != NULL ? end_text(json) : NULL;
}

/* ---- numbers that are dragged ---- */

enum { MOST_KEYS = 64 };

static bool is_count(int count)
{
    if (count < 1 || count > MOST_KEYS) {
        heed_fail(HEED_ERR_VALUE, "the story: %d numbers; 1 to %d", count, MOST_KEYS);
    }
    return !heed_error_pending();
}

EXPORT(page_story_attend)
const char *page_story_attend(const float *q, const float *k, const float *v, int count)
{
    HEED_SCOPE_NO_GRAD(scope);
    FILE *json = is_count(count) ? begin_text() : NULL;
    if (json == NULL) {
        return NULL;
    }
    heed_tensor *dots = heed_matmul(
        heed_from_f32(q, HEED_SHAPE(1, READER_FLAT)),
        heed_transpose(heed_from_f32(k, HEED_SHAPE(count, READER_FLAT)), 0, 1)); /* (1, count) */
    heed_tensor *scores = heed_div_scalar(dots, sqrt((double)READER_FLAT));
    heed_tensor *percents = heed_softmax(scores, -1);
    write_tensor(json, "{\"dots\":", dots);
    write_tensor(json, ",\"scores\":", scores);
    write_tensor(json, ",\"percents\":", percents);
    write_tensor(
        json, ",\"mix\":", heed_matmul(percents, heed_from_f32(v, HEED_SHAPE(count, READER_FLAT))));
    fputc('}', json);
    return end_text(json);
}

/* {"percents", "mix"} of percents (1, count). */
static const char *mixed(FILE *json, heed_tensor *percents, const float *v, int count)
{
    write_tensor(json, "{\"percents\":", percents);
    if (v != NULL) {
        write_tensor(json, ",\"mix\":",
                     heed_matmul(percents, heed_from_f32(v, HEED_SHAPE(count, READER_FLAT))));
    }
    fputc('}', json);
    return end_text(json);
}

EXPORT(page_story_weigh)
const char *page_story_weigh(const float *scores, const float *v, int count)
{
    HEED_SCOPE_NO_GRAD(scope);
    FILE *json = is_count(count) ? begin_text() : NULL;
    return json == NULL ? NULL
                        : mixed(json, heed_softmax(heed_from_f32(scores, HEED_SHAPE(1, count)), -1),
                                v, count);
}

EXPORT(page_story_mix)
const char *page_story_mix(const float *weights, const float *v, int count)
{
    HEED_SCOPE_NO_GRAD(scope);
    FILE *json = is_count(count) ? begin_text() : NULL;
    if (json == NULL) {
        return NULL;
    }
    heed_tensor *given = heed_from_f32(weights, HEED_SHAPE(1, count));
    return mixed(json, heed_div(given, heed_sum_dim(given, -1, true)), v, count);
}

static int compare_shares(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* The shares of STORY_KEYS keys of each query (queries, keys), largest first, averaged. */
static heed_tensor *mean_shares(heed_tensor *scores)
{
    heed_tensor *shares = heed_softmax(scores, -1);
    for (int64_t i = 0; !heed_error_pending() && i < shares->numel; i += STORY_KEYS) {
        qsort(heed_data_f32(shares) + i, STORY_KEYS, sizeof(float), compare_shares);
    }
    return heed_mean_dim(shares, 0, false);
}

/* The standard deviation of all elements. */
static heed_tensor *spread_of(heed_tensor *x)
{
    heed_tensor *squares = heed_sum(heed_square(heed_sub(x, heed_mean(x))));
    return heed_sqrt(heed_div_scalar(squares, (double)(x->numel - 1)));
}

EXPORT(page_story_dots) const char *page_story_dots(double seed, int d, int count)
{
    if (!is_seed(seed)) {
        return NULL;
    }
    if (d < 1 || d > 1024 || count < 1 || count > 4096) {
        heed_fail(HEED_ERR_VALUE, "the story: %d queries of vectors with %d numbers", count, d);
    }
    const heed_generator before = heed_get_generator();
    HEED_SCOPE_NO_GRAD(scope);
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    heed_manual_seed((uint64_t)seed);
    heed_tensor *q = heed_randn(HEED_SHAPE(count, 1, d), HEED_F32);
    heed_tensor *k = heed_randn(HEED_SHAPE(count, STORY_KEYS, d), HEED_F32);
    heed_tensor *dots = heed_sum_dim(heed_mul(q, k), -1, false);
    heed_tensor *scores = heed_div_scalar(dots, sqrt((double)d));
    heed_set_generator(&before);
    write_tensor(json, "{\"dots\":", dots);
    write_tensor(json, ",\"scores\":", scores);
    write_tensor(json, ",\"spread\":[", spread_of(dots));
    write_tensor(json, ",", spread_of(scores));
    write_tensor(json, "],\"shares\":[", mean_shares(dots));
    write_tensor(json, ",", mean_shares(scores));
    fputs("]}", json);
    return end_text(json);
}
