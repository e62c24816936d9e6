/* The engine's part for the tab "Onward". As engine.h. */
#ifndef HEED_PAGE_ONWARD_H
#define HEED_PAGE_ONWARD_H

/* page_split: where the numbers of `tokens` tokens of `d_model` features go when they are cut into
 * heads and joined again, with BREAK_SPLIT_VIEW and BREAK_MERGE_VIEW. Number 17 is feature 7 of
 * token 1.
 *
 *   {"x": [(tokens, d_model)], "split": [(heads, tokens, d_model / heads)], "merged": [as x]}
 *
 * HEED_ERR_VALUE: more than 10 tokens or features, or heads do not divide them. */
const char *page_split(int tokens, int d_model, int heads, unsigned breaks);

#endif
