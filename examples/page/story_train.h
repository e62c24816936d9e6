/* What the models of the story share: training, and their weights as a list of numbers. */
#ifndef HEED_PAGE_STORY_TRAIN_H
#define HEED_PAGE_STORY_TRAIN_H

#include "heed.h"

/* story_train: takes `steps` of `all` steps, whose learning rate rises over the first tenth of all
 * and falls over the last three tenths. loss draws a batch from this thread's generator. */
typedef heed_tensor *story_loss(void *context, int64_t batch);
void story_train(void *module, int all, int steps, story_loss *loss, void *context);

/* story_weight_count: of all parameters. story_get_weights, story_set_weights: copy them, in the
 * order of heed_parameters; return their number, 0 on error. */
int64_t story_weight_count(void *module);
int64_t story_get_weights(void *module, float *weights);
int64_t story_set_weights(void *module, const float *weights);

#endif
