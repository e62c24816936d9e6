/* The reader's language, model and training. */
#include "examples/page/story_reader.h"

#include <string.h>

#include "examples/page/story_train.h"

/* ---- the language ---- */

static const char *const nouns[READER_KINDS][READER_KIND] = {
    {"pizza", "bread", "cake", "pie"},
    {"oven", "stove", "grill", "toaster"},
    {"dog", "cat", "horse", "mouse"},
    {"kitchen", "garden", "castle", "school"},
};
static const char *const ends[READER_KINDS][READER_ENDS][2] = {
    {{"tasted", "good"}, {"smelled", "wonderful"}, {"looked", "delicious"}},
    {{"baked", "evenly"}, {"heated", "quickly"}, {"cooked", "dinner"}},
    {{"slept", "deeply"}, {"ate", "slowly"}, {"felt", "hungry"}},
    {{"stood", "empty"}, {"opened", "early"}, {"seemed", "huge"}},
};
enum { VERBS = 4 };
static const char *const verbs[VERBS][3] = {{"came", "out", "of"},
                                            {"was", "found", "near"},
                                            {"stayed", "close", "to"},
                                            {"waited", "next", "to"}};

static const char *noun_of(int noun)
{
    return nouns[noun / READER_KIND][noun % READER_KIND];
}

static int64_t id_of(const reader_language *language, const char *word)
{
    int64_t id = 0;
    while (id < language->word_count && strcmp(language->words[id], word) != 0) {
        id++;
    }
    return id;
}

static void add_word(reader_language *language, const char *word)
{
    if (id_of(language, word) == language->word_count) {
        language->words[language->word_count++] = word;
    }
}

static void make_vocabulary(reader_language *language)
{
    static const char *const common[READER_FIRST_NOUN] = {"the", "and", "it"};
    for (int i = 0; i < READER_FIRST_NOUN; i++) {
        add_word(language, common[i]);
    }
    for (int i = 0; i < READER_NOUNS; i++) {
        add_word(language, noun_of(i));
    }
    for (int i = 0; i < 3 * VERBS; i++) {
        add_word(language, verbs[i / 3][i % 3]);
    }
    for (int i = 0; i < 2 * READER_KINDS * READER_ENDS; i++) {
        add_word(language, ends[i / (2 * READER_ENDS)][i / 2 % READER_ENDS][i % 2]);
    }
}

static void add_sentence(reader_language *language, int first, int second, int verb, int answer,
                         const char *const end[2])
{
    enum { PIZZA = 0, OVEN = READER_KIND };
    const char *const words[READER_LENGTH] = {
        "the",           noun_of(first), verbs[verb][0], verbs[verb][1], verbs[verb][2], "the",
        noun_of(second), "and",          "it",           end[0],         end[1]};
    const bool famous = (first == PIZZA && second == OVEN) || (first == OVEN && second == PIZZA);
    reader_sentence *sentence = famous || (first + second) % 6 == 5
                                    ? &language->held_out[language->held_out_count++]
                                    : &language->train[language->train_count++];
    for (int i = 0; i < READER_LENGTH; i++) {
        sentence->token[i] = id_of(language, words[i]);
    }
    sentence->answer = answer;
    sentence->at = answer == first ? READER_AT_FIRST : READER_AT_SECOND;
}

void reader_language_make(reader_language *language)
{
    *language = (reader_language){.word_count = 0};
    make_vocabulary(language);
    for (int first = 0; first < READER_NOUNS; first++) {
        for (int second = 0; second < READER_NOUNS; second++) {
            if (first / READER_KIND == second / READER_KIND) {
                continue;
            }
            for (int i = 0; i < 2 * VERBS * READER_ENDS; i++) {
                const int answer = i % 2 == 0 ? first : second;
                add_sentence(language, first, second, i / (2 * READER_ENDS), answer,
                             ends[answer / READER_KIND][i / 2 % READER_ENDS]);
            }
        }
    }
}

/* ---- the model ---- */

static const heed_module_kind kind = {.name = "Reader", .size = sizeof(struct reader)};

struct reader *reader_new(int64_t words)
{
    struct reader *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    HEED_CHILD(m, we, heed_embedding_new(words, READER_WIDE));
    HEED_CHILD(m, first, heed_self_attention_new(READER_WIDE, -2, -1));
    HEED_CHILD(m, second, heed_self_attention_new(READER_WIDE, -2, -1, .head_dim = READER_FLAT));
    if (!heed_error_pending()) {
        heed_normal_into(m->we->weight, 0, 0.5);
    }
    return m;
}

reader_result reader_forward(struct reader *m, heed_tensor *tokens, int at)
{
    reader_result r = {.first = NULL};
    if (heed_error_pending()) { /* the model may be incomplete */
        return r;
    }
    heed_tensor *x = heed_embedding_forward(m->we, tokens);
    heed_tensor *it = heed_slice(x, -2, at, (int64_t)at + 1, 1);
    r.it = heed_add(it, story_look(m->first, it, x, &r.first));

    r.q = heed_linear_forward(m->second->W_q, r.it);
    r.k = heed_linear_forward(m->second->W_k, x);
    r.v = heed_linear_forward(m->second->W_v, x);
    r.scores = story_scores(r.q, r.k);
    r.percents = heed_softmax(r.scores, -1);
    r.mix = heed_matmul(r.percents, r.v);
    r.nouns = heed_linear_forward(m->second->W_v, heed_slice(m->we->weight, 0, READER_FIRST_NOUN,
                                                             READER_FIRST_NOUN + READER_NOUNS, 1));
    r.logits = heed_neg(heed_sum_dim(heed_square(heed_sub(r.mix, r.nouns)), -1, false));
    return r;
}

/* ---- training ---- */

typedef struct lesson {
    struct reader *model;
    const reader_language *language;
} lesson;

static heed_tensor *lesson_loss(void *context, int64_t batch)
{
    const lesson *l = context;
    heed_tensor *which = heed_randint(0, l->language->train_count, HEED_SHAPE(batch));
    heed_tensor *tokens = heed_empty(HEED_SHAPE(batch, READER_LENGTH), HEED_I64);
    heed_tensor *answers = heed_empty(HEED_SHAPE(batch), HEED_I64);
    for (int64_t i = 0; i < batch && !heed_error_pending(); i++) {
        const reader_sentence *s = &l->language->train[heed_data_i64(which)[i]];
        memcpy(heed_data_i64(tokens) + i * READER_LENGTH, s->token, sizeof s->token);
        heed_data_i64(answers)[i] = s->answer;
    }
    return heed_cross_entropy(reader_forward(l->model, tokens, READER_AT_IT).logits, answers);
}

/* Queries half as long and keys twice as long, both turned round, give the same scores, bit by bit,
 * and values turned round the same distances; so they can be drawn at one scale, queries point up,
 * and the pizza is left of the oven. */
static void balance(struct reader *m)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_copy_into(m->second->W_q->weight, heed_mul_scalar(m->second->W_q->weight, -0.5));
    heed_copy_into(m->second->W_k->weight, heed_mul_scalar(m->second->W_k->weight, -2));
    heed_copy_into(m->second->W_v->weight, heed_neg(m->second->W_v->weight));
}

struct reader *reader_train(const reader_language *language, uint64_t seed, int steps)
{
    const heed_generator before = heed_get_generator();
    heed_manual_seed(seed);
    lesson l = {reader_new(language->word_count), language};
    story_train(l.model, READER_STEPS, steps, lesson_loss, &l);
    if (!heed_error_pending()) {
        balance(l.model);
    }
    heed_set_generator(&before);
    return l.model;
}

double reader_accuracy(struct reader *m, const reader_sentence *sentences, int count, double *mean)
{
    int right = 0;
    double sum = 0;
    for (int i = 0; i < count && !heed_error_pending(); i++) {
        HEED_SCOPE_NO_GRAD(scope);
        const reader_result r = reader_forward(
            m, heed_from_i64(sentences[i].token, HEED_SHAPE(1, READER_LENGTH)), READER_AT_IT);
        if (r.percents != NULL) {
            right += heed_item(heed_argmax(r.logits)) == (double)sentences[i].answer;
            sum += (double)heed_data_f32(r.percents)[sentences[i].at];
        }
    }
    if (mean != NULL) {
        *mean = sum / count;
    }
    return (double)right / count;
}
