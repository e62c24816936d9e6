/* The functions of the story: its models, whose weights are trained when the page is built, and
 * small computations with numbers that the reader of the page drags. As in engine.h, they return
 * JSON or, on an error, NULL; numbers are written with all their digits (%.9g). */
#ifndef HEED_PAGE_STORY_H
#define HEED_PAGE_STORY_H

#include <stdbool.h>
#include <stdint.h>

/* page_story_numbers: how many numbers the story's file has: the weights of the reader and of the
 * models with one head and two heads, then the accuracies of HEADS_SEEDS models with one head and
 * as many with two, on unseen pairs. page_story_make: trains them and writes them to `numbers`,
 * after at most `steps` steps each (0: all). */
int page_story_numbers(void);
bool page_story_make(float *numbers, int steps);

/* page_story_open: takes the numbers of that file: {"words", "nouns", "it", "train", "heldOut",
 * "animals", "verbs", "accuracy": [[...], [...]], "hash": FNV-1a of all numbers}. Words are those
 * of the reader; nouns: the id of the first, and how many. */
const char *page_story_open(const float *numbers, int count);

/* page_story_read: the reader's sentence of READER_LENGTH ids with *it* at position `at`: {"first",
 * "it", "q", "k", "v", "scores", "percents", "mix", "nouns", "answers"}: as reader_result,
 * "answers" after a softmax.
 * page_story_heads: "the WHO VERB the WHOM ." by the model with 1 or 2 heads: {"percents": of each
 * head, "who", "whom": probabilities}. */
const char *page_story_read(const int32_t *tokens, int count, int at);
const char *page_story_heads(int heads, int who, int verb, int whom);

/* page_story_words: {"embedding"}: of the reader's words (words, READER_WIDE), and the weights "q",
 * "k" and "v" of its second look (2, READER_WIDE). page_story_places: {"places"}: what is added to
 * a word at each of the first `count` positions (count, READER_WIDE). */
const char *page_story_words(void);
const char *page_story_places(int count);

/* page_story_train: trains one more model, from the start, with a seed: 0: the reader, 1 and 2: of
 * one and two heads. {"hash": of its weights, "seen", "unseen": accuracies, "looks": of the reader:
 * the mean percentage of *it* on the right noun in unseen sentences}. */
const char *page_story_train(int heads, double seed);

/* page_story_attend: a query (2) and `count` keys and values (count, 2): {"dots", "scores",
 * "percents", "mix"}. page_story_weigh: the softmax of scores and the mean of values (count, 2)
 * with its percentages: {"percents", "mix"}; values NULL: without "mix". page_story_mix: the mean
 * with given weights, which are not below 0: {"percents": the weights divided by their sum, "mix"}.
 */
const char *page_story_attend(const float *q, const float *k, const float *v, int count);
const char *page_story_weigh(const float *scores, const float *v, int count);
const char *page_story_mix(const float *weights, const float *v, int count);

/* page_story_dots: the products of `count` random queries (d) with STORY_KEYS random keys each, all
 * numbers of which are normal with standard deviation 1: {"dots", "scores": divided by sqrt(d),
 * "spread": the standard deviations of both, "shares": the mean of each query's shares, the largest
 * first, of both}. */
enum { STORY_KEYS = 6 };
const char *page_story_dots(double seed, int d, int count);

/* story_end: frees the models. */
void story_end(void);

#endif
