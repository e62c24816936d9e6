/* The engine's part for the tab "Onward". As engine.h. */
#ifndef HEED_PAGE_ONWARD_H
#define HEED_PAGE_ONWARD_H

#include <stdint.h>

/* page_split: where the numbers of `tokens` tokens of `d_model` features go when they are cut into
 * heads and joined again, with BREAK_SPLIT_VIEW and BREAK_MERGE_VIEW. Number 17 is feature 7 of
 * token 1.
 *
 *   {"x": [(tokens, d_model)], "split": [(heads, tokens, d_model / heads)], "merged": [as x]}
 *
 * HEED_ERR_VALUE: more than 10 tokens or features, or heads do not divide them. */
const char *page_split(int tokens, int d_model, int heads, unsigned breaks);

/* page_generate: what the run's model, of one head, writes after a sentence, token by token, until
 * the sentence ends. The first step reads the sentence, each other one the word just written; keys
 * and values are kept.
 *
 *   {"width": D_MODEL, "steps": [{"before": tokens kept, "read": tokens after it, "word", "share",
 *    "with": multiplications of attention in this step, "without": those of reading all tokens
 *    again, "difference": the largest between percentages and logits of both}, ...],
 *    "ids": [...], "q": T, "k": T, "v": T, "percents": T}
 *
 * T is {"dtype", "shape", "strides", "at"}, with a row for each token read. Values stay until the
 * next call. */
const char *page_generate(const int32_t *tokens, int count);

/* page_rope: a query and a key (d) at positions at_q and at_k, rotated by heed_rope in pairs of
 * neighbours, and with sines of the same speeds added instead.
 *
 *   {"speeds": [radians for each position, of each pair],
 *    "rotary": {"q": [d], "k": [d], "score": [q k], "moved": [the score with the key at 0 ... most,
 *    the query as far from it as now]}, "sines": the same}
 *
 * pair: the scores are of this pair alone; -1: of all. */
const char *page_rope(const float *q, const float *k, int d, int at_q, int at_k, int most,
                      double base, int pair);

#endif
