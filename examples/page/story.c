/* The story's functions. */
#include "examples/page/story.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

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
    heed_free(story.language);
    story.language = NULL;
}

/* {name: tensor, ...}; a NULL name ends the list. */
static const char *tensors(const char *name, heed_tensor *t, ...)
{
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    va_list more;
    va_start(more, t);
    for (int i = 0; name != NULL; i++) {
        fprintf(json, "%s\"%s\":", i == 0 ? "{" : ",", name);
        write_tensor(json, "", t);
        name = va_arg(more, const char *);
        t = name != NULL ? va_arg(more, heed_tensor *) : NULL;
    }
    va_end(more);
    fputc('}', json);
    return end_text(json);
}

/* Fails unless low <= value <= high. */
static bool is_within(const char *what, int value, int low, int high)
{
    if (!heed_error_pending() && (value < low || value > high)) {
        heed_fail(HEED_ERR_VALUE, "the story: %s %d; %d to %d", what, value, low, high);
    }
    return !heed_error_pending();
}

/* ---- the file ---- */

/* The language, and models with random weights. */
static bool make_models(void)
{
    const heed_generator before = heed_get_generator();
    if (story.language == NULL) {
        story.language = heed_alloc(sizeof *story.language);
        if (story.language != NULL) {
            reader_language_make(story.language);
        }
    }
    if (story.language != NULL && story.reader == NULL) {
        story.reader = reader_new(story.language->word_count);
        for (int i = 0; i < MOST_HEADS; i++) {
            story.heads[i] = heads_new(i + 1);
        }
    }
    heed_set_generator(&before);
    return !heed_error_pending();
}

int page_story_numbers(void)
{
    if (!make_models()) {
        return 0;
    }
    int64_t count = story_weights(story.reader, NULL, false) + (int64_t)MOST_HEADS * HEADS_SEEDS;
    for (int i = 0; i < MOST_HEADS; i++) {
        count += story_weights(story.heads[i], NULL, false);
    }
    return (int)count;
}

bool page_story_make(float *numbers, int steps)
{
    const int count = page_story_numbers();
    if (count == 0) {
        return false;
    }
    float *accuracies = numbers + count - MOST_HEADS * HEADS_SEEDS;
    struct reader *reader =
        reader_train(story.language, READER_SEED, steps > 0 ? steps : READER_STEPS);
    numbers += heed_error_pending() ? 0 : story_weights(reader, numbers, false);
    heed_module_free(reader);
    for (int heads = 1; heads <= MOST_HEADS; heads++) {
        for (int seed = 0; seed < HEADS_SEEDS && !heed_error_pending(); seed++) {
            struct heads_model *m =
                heads_train(heads, (uint64_t)seed, steps > 0 ? steps : HEADS_STEPS);
            *accuracies++ = (float)heads_accuracy(m, true);
            numbers += seed == 0 ? story_weights(m, numbers, false) : 0;
            heed_module_free(m);
        }
    }
    return !heed_error_pending();
}

static void write_words(FILE *json, const char *name, const char *const *words, int count)
{
    fprintf(json, "\"%s\":", name);
    for (int i = 0; i < count; i++) {
        fprintf(json, "%s\"%s\"", i == 0 ? "[" : ",", words[i]);
    }
    fputs("],", json);
}

EXPORT(page_story_open) const char *page_story_open(const float *numbers, int count)
{
    const int all = page_story_numbers();
    if (count != all) {
        heed_fail(HEED_ERR_VALUE, "the story: %d numbers, but its models have %d", count, all);
    }
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    const reader_language *language = story.language;
    float *next = (float *)numbers;
    next += story_weights(story.reader, next, true);
    for (int i = 0; i < MOST_HEADS; i++) {
        next += story_weights(story.heads[i], next, true);
    }
    fputc('{', json);
    write_words(json, "words", language->words, language->word_count);
    write_words(json, "animals", heads_words + HEADS_FIRST_ANIMAL, HEADS_ANIMALS);
    fprintf(json, "\"nouns\":[%d,%d],\"train\":%d,\"accuracy\":", READER_FIRST_NOUN, READER_NOUNS,
            language->train_count);
    for (int i = 0; i < MOST_HEADS * HEADS_SEEDS; i++) {
        const char *before = i == 0 ? "[[" : i % HEADS_SEEDS == 0 ? "],[" : ",";
        fprintf(json, "%s%.9g", before, (double)next[i]);
    }
    fputs("]]}", json);
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
    if (!is_open() || !is_within("words:", count, READER_LENGTH, READER_LENGTH) ||
        !is_within("position", at, 0, READER_LENGTH - 1)) {
        return NULL;
    }
    for (int i = 0; i < READER_LENGTH; i++) {
        ids[i] = tokens[i];
    }
    const reader_result r =
        reader_forward(story.reader, heed_from_i64(ids, HEED_SHAPE(1, READER_LENGTH)), at);
    return tensors("first", r.first, "it", r.it, "q", r.q, "k", r.k, "v", r.v, "scores", r.scores,
                   "percents", r.percents, "mix", r.mix, "nouns", r.nouns, "answers",
                   heed_softmax(r.logits, -1), NULL);
}

EXPORT(page_story_words) const char *page_story_words(void)
{
    if (!is_open()) {
        return NULL;
    }
    const struct heed_self_attention *look = story.reader->second;
    return tensors("embedding", story.reader->we->weight, "q", look->W_q->weight, "k",
                   look->W_k->weight, "v", look->W_v->weight, NULL);
}

EXPORT(page_story_places) const char *page_story_places(int count)
{
    struct heed_position_encoding *m = is_within("positions:", count, 1, 1000)
                                           ? heed_position_encoding_new(READER_WIDE, count)
                                           : NULL;
    const char *json = m != NULL ? tensors("places", m->pe, NULL) : NULL;
    heed_module_free(m);
    return json;
}

EXPORT(page_story_heads) const char *page_story_heads(int heads, int who, int whom)
{
    HEED_SCOPE_NO_GRAD(scope);
    if (!is_open() || !is_within("heads:", heads, 1, MOST_HEADS) ||
        !is_within("animal", who, 0, HEADS_ANIMALS - 1) ||
        !is_within("animal", whom, 0, HEADS_ANIMALS - 1)) {
        return NULL;
    }
    const int64_t ids[HEADS_LENGTH] = {
        0, HEADS_FIRST_ANIMAL + who,  HEADS_FIRST_ANIMAL + HEADS_ANIMALS,
        0, HEADS_FIRST_ANIMAL + whom, 1};
    heed_tensor *percents[MOST_HEADS] = {NULL};
    heed_tensor *tokens = heed_from_i64(ids, HEED_SHAPE(1, HEADS_LENGTH));
    heed_tensor *answers =
        heed_softmax(heads_forward(story.heads[heads - 1], tokens, percents), -1);
    return tensors("percents", heed_cat(percents, heads, 1), "who", heed_select(answers, 1, 0),
                   "whom", heed_select(answers, 1, 1), NULL);
}

/* ---- numbers that are dragged ---- */

enum { MOST_KEYS = 64 };

EXPORT(page_story_attend)
const char *page_story_attend(const float *q, const float *k, int count)
{
    HEED_SCOPE_NO_GRAD(scope);
    if (!is_within("keys:", count, 1, MOST_KEYS)) {
        return NULL;
    }
    heed_tensor *keys = heed_from_f32(k, HEED_SHAPE(count, READER_FLAT));
    heed_tensor *scores = story_scores(heed_from_f32(q, HEED_SHAPE(1, READER_FLAT)), keys);
    return tensors("scores", scores, "percents", heed_softmax(scores, -1), NULL);
}

EXPORT(page_story_weigh) const char *page_story_weigh(const float *scores, int count)
{
    HEED_SCOPE_NO_GRAD(scope);
    return is_within("scores:", count, 1, MOST_KEYS)
               ? tensors("percents", heed_softmax(heed_from_f32(scores, HEED_SHAPE(count)), -1),
                         NULL)
               : NULL;
}

EXPORT(page_story_mix)
const char *page_story_mix(const float *weights, const float *v, int count)
{
    HEED_SCOPE_NO_GRAD(scope);
    if (!is_within("values:", count, 1, MOST_KEYS)) {
        return NULL;
    }
    heed_tensor *given = heed_from_f32(weights, HEED_SHAPE(1, count));
    heed_tensor *percents = heed_div(given, heed_sum_dim(given, -1, true));
    heed_tensor *values = heed_from_f32(v, HEED_SHAPE(count, READER_FLAT));
    return tensors("percents", percents, "mix", heed_matmul(percents, values), NULL);
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
    HEED_SCOPE_NO_GRAD(scope);
    if (!is_seed(seed) || !is_within("numbers:", d, 1, 1024) ||
        !is_within("queries:", count, 1, 4096)) {
        return NULL;
    }
    const heed_generator before = heed_get_generator();
    heed_manual_seed((uint64_t)seed);
    heed_tensor *q = heed_randn(HEED_SHAPE(count, 1, d), HEED_F32);
    heed_tensor *k = heed_randn(HEED_SHAPE(count, STORY_KEYS, d), HEED_F32);
    heed_set_generator(&before);
    heed_tensor *dots = heed_sum_dim(heed_mul(q, k), -1, false);
    heed_tensor *scores = heed_div_scalar(dots, sqrt((double)d));
    if (heed_error_pending()) {
        return NULL;
    }
    heed_tensor *spread[] = {spread_of(dots), spread_of(scores)};
    heed_tensor *shares[] = {mean_shares(dots), mean_shares(scores)};
    return tensors("dots", dots, "scores", scores, "spread", heed_stack(spread, 2, 0), "shares",
                   heed_stack(shares, 2, 0), NULL);
}
