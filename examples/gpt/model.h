/* Models as settings describe them, and as files hold them. */
#ifndef HEED_GPT_MODEL_H
#define HEED_GPT_MODEL_H

#include "examples/gpt/record.h"
#include "heed.h"

/* gpt_model_new: draws a model for a vocabulary of `tokens`. */
struct heed_gpt *gpt_model_new(const gpt_train_options *settings, int64_t tokens);

/* gpt_model_load: the model that a record was read with, from the same file, to be looked at and not
 * trained on: in eval mode. */
struct heed_gpt *gpt_model_load(const gpt_record *r, const char *flag, const char *path);

/* gpt_step_bytes: how much memory a step of training needs at most, roughly. */
double gpt_step_bytes(const gpt_train_options *settings, int64_t tokens);

#endif
