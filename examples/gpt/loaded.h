/* A model with its tokenizer, from a file of gpt train or a folder of gpt export, and into such a
 * folder. */
#ifndef HEED_GPT_LOADED_H
#define HEED_GPT_LOADED_H

#include "examples/gpt/model.h"

typedef struct gpt_loaded {
    struct heed_gpt *model; /* in eval mode */
    gpt_record record;
} gpt_loaded;

/* gpt_load: `flag` is the one that names the file.
 * HEED_ERR_VALUE: no path, no such file, or gpt has not written it. */
heed_status gpt_load(gpt_loaded *l, const char *flag, const char *path);
void gpt_loaded_free(gpt_loaded *l);

/* gpt_loaded_export: a folder as transformers reads it, and in it the record, so that gpt_load does.
 * HEED_ERR_FILE: it cannot be written. */
heed_status gpt_loaded_export(const gpt_loaded *l, const char *folder);

/* gpt_is_folder: is there one at this path? */
bool gpt_is_folder(const char *path);

#endif
