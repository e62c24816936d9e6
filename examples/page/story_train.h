/* What the models of the story share: attention, training, and their weights as a list of numbers.
 */
#ifndef HEED_PAGE_STORY_TRAIN_H
#define HEED_PAGE_STORY_TRAIN_H

#include "heed.h"

/* story_scores: q (..., Q, d) and k (..., T, d) -> q k^T / sqrt(d). story_look: the attention of
 * one word (B, 1, wide) on all words x (B, T, wide); *percents: its percentages (B, 1, T). */
heed_tensor *story_scores(heed_tensor *q, heed_tensor *k);
heed_tensor *story_look(struct heed_self_attention *head, heed_tensor *word, heed_tensor *x,
                        heed_tensor **percents);

/* story_train: takes `steps` of `all` steps, whose learning rate rises over the first tenth of all
 * and falls over the last three tenths. loss draws a batch from this thread's generator. */
typedef heed_tensor *story_loss(void *context, int64_t batch);
void story_train(void *module, int all, int steps, story_loss *loss, void *context);

/* story_weights: copies all parameters, in the order of heed_parameters, to `numbers` or, with
 * `set`, from them; NULL: copies nothing. Returns their number, 0 on error. */
int64_t story_weights(void *module, float *numbers, bool set);

#endif
