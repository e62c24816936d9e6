/* The sentences of the toy language, and its vocabulary. */
#include "examples/lab/next_token/toy_language.h"

#include <stdbool.h>
#include <string.h>

enum { FOODS = 6 }; /* the first subjects */

static const char *const subjects[TOY_SUBJECTS][3] = {
    {"pizza", "tasted", "good"},         {"bread", "smelled", "wonderful"},
    {"cake", "looked", "delicious"},     {"pie", "cooled", "slowly"},
    {"cookie", "crumbled", "easily"},    {"potato", "steamed", "gently"},
    {"dog", "wagged", "happily"},        {"cat", "purred", "softly"},
    {"bird", "sang", "sweetly"},         {"duck", "quacked", "loudly"},
    {"frog", "jumped", "high"},          {"horse", "neighed", "proudly"},
    {"mouse", "squeaked", "twice"},      {"owl", "hooted", "wisely"},
    {"bee", "buzzed", "busily"},         {"dragon", "breathed", "fire"},
    {"ghost", "vanished", "silently"},   {"robot", "beeped", "politely"},
    {"train", "whistled", "cheerfully"}, {"rocket", "flew", "away"},
    {"clock", "ticked", "steadily"},     {"bell", "rang", "clearly"},
    {"ball", "bounced", "around"},       {"lamp", "shone", "brightly"},
};
static const char *const places[TOY_PLACES] = {"oven",   "kitchen", "garden",
                                               "school", "castle",  "forest"};
static const char *const verbs[TOY_VERBS][3] = {{"came", "out", "of"},
                                                {"was", "found", "near"},
                                                {"stayed", "close", "to"},
                                                {"waited", "next", "to"}};

static int64_t id_of(const toy_language *language, const char *word)
{
    int64_t id = 0;
    while (id < language->word_count && strcmp(language->words[id], word) != 0) {
        id++;
    }
    return id;
}

static void add_word(toy_language *language, const char *word)
{
    if (id_of(language, word) == language->word_count) {
        language->words[language->word_count++] = word;
    }
}

static void make_vocabulary(toy_language *language)
{
    static const char *const common[] = {"<eos>", "the", "and", "it"};
    for (int i = 0; i < 4; i++) {
        add_word(language, common[i]);
    }
    for (int i = 0; i < TOY_SUBJECTS; i++) {
        add_word(language, subjects[i][0]);
    }
    for (int i = 0; i < TOY_PLACES; i++) {
        add_word(language, places[i]);
    }
    for (int i = 0; i < 3 * TOY_VERBS; i++) {
        add_word(language, verbs[i / 3][i % 3]);
    }
    for (int i = 0; i < 2 * TOY_SUBJECTS;
         i++) { /* all first words after *it*, then all second ones */
        add_word(language, subjects[i % TOY_SUBJECTS][1 + i / TOY_SUBJECTS]);
    }
}

static void write_sentence(const toy_language *language, int subject, int place, int verb,
                           toy_sentence *sentence)
{
    const char *const words[TOY_LENGTH] = {"the",
                                           subjects[subject][0],
                                           verbs[verb][0],
                                           verbs[verb][1],
                                           verbs[verb][2],
                                           "the",
                                           places[place],
                                           "and",
                                           "it",
                                           subjects[subject][1],
                                           subjects[subject][2],
                                           "<eos>"};
    for (int i = 0; i < TOY_LENGTH; i++) {
        sentence->token[i] = id_of(language, words[i]);
    }
}

void toy_language_make(toy_language *language, uint64_t seed)
{
    *language = (toy_language){.word_count = 0};
    make_vocabulary(language);
    for (int subject = 0; subject < TOY_SUBJECTS; subject++) {
        for (int place = 0; place < TOY_PLACES; place++) {
            for (int verb = 0; verb < TOY_VERBS; verb++) {
                if (verb == 0 && place == 0 && subject >= FOODS) {
                    continue; /* only foods come out of the oven */
                }
                bool held_out = ((uint64_t)(subject + place) + seed % 6) % 6 == 0;
                toy_sentence *sentence = held_out ? &language->held_out[language->held_out_count++]
                                                  : &language->train[language->train_count++];
                write_sentence(language, subject, place, verb, sentence);
            }
        }
    }
}
