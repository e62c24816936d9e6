/* config.json of transformers' GPT-2, to and from a heed_gpt_config (internal to nn). */
#ifndef HEED_NN_GPT_CONFIG_H
#define HEED_NN_GPT_CONFIG_H

#include "gpt.h"

/* heed_gpt_config_read, heed_gpt_config_write: see nn/gpt/gpt_files.h. heed_gpt_config_check: can
 * it be written? `function` is the name in the sentences of errors. */
heed_status heed_gpt_config_read(const char *function, const char *path, heed_gpt_config *config);
heed_status heed_gpt_config_check(const char *function, const struct heed_gpt *m);
heed_status heed_gpt_config_write(const char *function, const char *path, const struct heed_gpt *m);

/* heed_gpt_is_tied: is lm_head's weight that of wte? The tensors decide, not config.untied. */
bool heed_gpt_is_tied(const struct heed_gpt *m);

#endif
