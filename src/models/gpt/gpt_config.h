/* Reads and writes the config.json of transformers' GPT-2 (internal). */
#ifndef HEED_MODELS_GPT_CONFIG_H
#define HEED_MODELS_GPT_CONFIG_H

#include "gpt.h"

/* heed_gpt_config_read, heed_gpt_config_write: see models/gpt/gpt_files.h. heed_gpt_config_check:
 * fails if the configuration cannot be written. `function` is the name in error messages. */
heed_status heed_gpt_config_read(const char *function, const char *path, heed_gpt_config *config);
heed_status heed_gpt_config_check(const char *function, const struct heed_gpt *m);
heed_status heed_gpt_config_write(const char *function, const char *path, const struct heed_gpt *m);

/* heed_gpt_is_tied: true if lm_head and wte share their weight. Compares the tensors and ignores
 * config.untied. */
bool heed_gpt_is_tied(const struct heed_gpt *m);

#endif
