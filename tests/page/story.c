/* Prints what the page's story must show, computed without a browser, one line of JSON each; all
 * numbers have all their digits, so that equal text means equal bits:
 *
 *     page_story FILE        the numbers that page_train has written
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/page/engine.h"
#include "examples/page/story.h"
#include "examples/page/story_reader.h"

enum { SEEDS = 24 }; /* of the readers that the page speaks of */

static int failures;

static void say(const char *name, const char *json)
{
    printf("%s %s\n", name, json != NULL ? json : page_error());
    failures += json == NULL;
}

/* The ids of a sentence, from the list of words in `language`, which page_story_open returned. */
static int ids_of(const char *language, const char *sentence, int32_t *ids)
{
    char word[32];
    int count = 0, length;
    for (; sscanf(sentence, "%30s%n", word, &length) == 1; sentence += length, count++) {
        const char *at = strstr(language, "[\""), *end = strchr(at, ']');
        int32_t id = 0;
        const size_t size = strlen(word);
        while (at < end && (strncmp(at + 2, word, size) != 0 || at[2 + size] != '"')) {
            at = strstr(at + 2, ",\"");
            id++;
        }
        ids[count] = id;
    }
    return count;
}

static void read_sentence(const char *language, const char *sentence)
{
    enum { IT = 2 };
    int32_t ids[32];
    const int count = ids_of(language, sentence, ids);
    int at = 0;
    while (at < count && ids[at] != IT) {
        at++;
    }
    say(sentence, page_story_read(ids, count, at));
}

/* Of a reader of this seed: the share of new sentences that it answers right, and how much of its
 * attention *it* gives to the right noun. */
static void train_reader(int seed)
{
    static reader_language language;
    reader_language_make(&language);
    struct reader *m = reader_train(&language, (uint64_t)seed, READER_STEPS);
    double looks = 0;
    const double unseen = reader_accuracy(m, language.held_out, language.held_out_count, &looks);
    printf("seed %d {\"unseen\":%.9g,\"looks\":%.9g}\n", seed, unseen, looks);
    heed_module_free(m);
}

/* The next-token model after 300 steps: its score, and the attention of one word of the sentence
 * about the pizza in the oven on all of it. */
static void train(const char *name, bool masked, int row)
{
    enum { STEPS = 300, CONTEXT = 11, SUBJECT = 4 }; /* SUBJECT: the id of "pizza" */
    const uint8_t nothing[CONTEXT * CONTEXT] = {0};
    int32_t ids[CONTEXT];
    page_start(0, 1, 0.02, 2000, 0);
    const char *next = page_language();
    next = next != NULL ? strstr(next, "heldOut") : NULL;
    next = next != NULL ? strstr(next, "[1,4,") : NULL;
    for (int i = 0; next != NULL && i < CONTEXT; i++) {
        ids[i] = (int32_t)strtol(next + 1, (char **)&next, 10);
    }
    page_set_mask(masked ? NULL : nothing);
    page_go_to(STEPS);
    say(name, page_score());
    const char *attention = page_attention(ids, CONTEXT);
    const char *at = attention != NULL ? strstr(attention, "\"at\":") : NULL;
    const float *weights = at != NULL ? (const float *)(uintptr_t)strtoull(at + 5, NULL, 10) : NULL;
    printf("%s row", name);
    for (int i = 0; weights != NULL && i < CONTEXT; i++) {
        printf("%s%.9g", i == 0 ? " [" : ",", (double)weights[row * CONTEXT + i]);
    }
    puts("]");
}

int main(int argc, char **argv)
{
    const int count = page_story_numbers();
    float *numbers = calloc((size_t)count, sizeof *numbers);
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL || fread(numbers, sizeof *numbers, (size_t)count, file) != (size_t)count) {
        fprintf(stderr, "page_story: name the file that page_train has written\n");
        return EXIT_FAILURE;
    }
    fclose(file);
    char *language = NULL;
    const char *opened = page_story_open(numbers, count);
    say("open", opened);
    if (opened != NULL) {
        language = malloc(strlen(opened) + 1);
        memcpy(language, opened, strlen(opened) + 1);
        read_sentence(language, "the pizza came out of the oven and it tasted good");
        read_sentence(language, "the pizza came out of the oven and it baked evenly");
    }
    read_sentence(language, "good oven the and pizza it out came the tasted of");
    say("words", page_story_words());
    say("places", page_story_places(101));
    say("one head", page_story_heads(1, 0, 1));
    say("two heads", page_story_heads(2, 0, 1));
    for (int seed = 0; seed < SEEDS; seed++) {
        train_reader(seed);
    }
    train("closed", true, 8);
    train("cheat", false, 1);
    say("dots 2", page_story_dots(3, 2, 1000));
    say("dots 512", page_story_dots(513, 512, 1000));
    free(language);
    free(numbers);
    page_end();
    return failures > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
