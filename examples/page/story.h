/* The functions of the story: its models, whose weights are trained when the page is built, and
 * small computations with numbers that the reader of the page drags. As in engine.h, they return
 * JSON or, on an error, NULL; tensors are flat lists of numbers with all their digits (%.9g). */
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

/* page_story_open: takes the numbers of that file: {"words": of the reader, "animals", "nouns": the
 * id of the first, and how many, "train": sentences the reader has learned from, "accuracy":
 * [[...], [...]]}. */
const char *page_story_open(const float *numbers, int count);

/* page_story_read: the reader's sentence of READER_LENGTH ids with *it* at position `at`: {"first",
 * "it", "q", "k", "v", "scores", "percents", "mix", "nouns", "answers"}: as reader_result,
 * "answers" after a softmax. page_story_words: {"embedding"}: of the reader's words (words,
 * READER_WIDE), and the weights "q", "k" and "v" of its second look (2, READER_WIDE).
 * page_story_places: {"places"}: what is added to a word at each of the first `count` positions
 * (count, READER_WIDE). page_story_heads: "the WHO chased the WHOM ." by the model with 1 or 2
 * heads: {"percents" (1, heads, T), "who", "whom": probabilities}. */
const char *page_story_read(const int32_t *tokens, int count, int at);
const char *page_story_words(void);
const char *page_story_places(int count);
const char *page_story_heads(int heads, int who, int whom);

/* page_story_attend: a query (2) and `count` keys (count, 2): {"scores", "percents"}.
 * page_story_weigh: the softmax of scores: {"percents"}. page_story_mix: the mean of values (count,
 * 2) with given weights, which are not below 0: {"percents": the weights divided by their sum,
 * "mix"}. */
const char *page_story_attend(const float *q, const float *k, int count);
const char *page_story_weigh(const float *scores, int count);
const char *page_story_mix(const float *weights, const float *v, int count);

/* page_story_dots: the products of `count` random queries (d) with STORY_KEYS random keys each, all
 * numbers of which are normal with standard deviation 1: {"dots", "scores": divided by sqrt(d),
 * "spread" (2): the standard deviations of both, "shares" (2, STORY_KEYS): of both, the mean of
 * each query's shares, the largest first}. */
enum { STORY_KEYS = 6 };
const char *page_story_dots(double seed, int d, int count);

/* story_end: frees the models. */
void story_end(void);

#endif
