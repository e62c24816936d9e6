/* Checkpoints: a model, its tokenizer and where the run is; in a file of gpt train, or a folder of
 * gpt export.
 */
#ifndef HEED_GPT_CHECKPOINT_H
#define HEED_GPT_CHECKPOINT_H

#include "examples/gpt/options.h"
#include "examples/gpt/tokenizer.h"
#include "heed.h"

/* ---- models ---- */

/* gpt_model_new: a new model for `tokens` different tokens. */
struct heed_gpt *gpt_model_new(const gpt_train_options *settings, int64_t tokens);

/* gpt_step_bytes: a rough upper bound on the memory of a training step. */
double gpt_step_bytes(const gpt_train_options *settings, int64_t tokens);

/* ---- records: all of a checkpoint except its tensors ---- */

typedef struct gpt_record {
    gpt_train_options settings; /* only the GPT_SETTINGS */
    tokenizer tokenizer;
    text_buffer text; /* its path as it was typed, ended by a NUL */
    int64_t text_length;
    uint64_t text_hash;
    double val_loss, best_loss;    /* the last and the lowest so far; NAN and HUGE_VAL: none yet */
    int64_t best_step, since_best; /* the step of the lowest, and evaluations since */
} gpt_record;

/* gpt_record_read: reads the record of a file, which `flag` names.
 * HEED_ERR_VALUE: no such file, or gpt train has not written it. */
heed_status gpt_record_read(gpt_record *r, const char *flag, const char *path);

/* gpt_record_save: writes the model, the optimiser (or NULL), the generator and the record. The
 * file does not depend on the time or on its path. HEED_ERR_FILE: it cannot be written. */
heed_status gpt_record_save(const gpt_record *r, void *model, heed_optimizer *optimizer,
                            const char *flag, const char *path);

/* gpt_record_metadata: calls `use` with the metadata of a record, valid during the call. */
typedef heed_status gpt_metadata_use(void *context, const heed_metadata *metadata);
heed_status gpt_record_metadata(const gpt_record *r, gpt_metadata_use *use, void *context);

void gpt_record_free(gpt_record *r);

/* ---- models in files and folders ---- */

/* gpt_model_load: the model of the file that the record was read from, in eval mode. */
struct heed_gpt *gpt_model_load(const gpt_record *r, const char *flag, const char *path);

typedef struct gpt_loaded {
    struct heed_gpt *model; /* in eval mode */
    gpt_record record;
} gpt_loaded;

/* gpt_load: loads a file or a folder, which `flag` names.
 * HEED_ERR_VALUE: no path, no such file, or gpt has not written it. */
heed_status gpt_load(gpt_loaded *l, const char *flag, const char *path);
void gpt_loaded_free(gpt_loaded *l);

/* gpt_loaded_export: writes a folder that transformers reads, and the record in it for gpt_load.
 * HEED_ERR_FILE: it cannot be written. */
heed_status gpt_loaded_export(const gpt_loaded *l, const char *folder);

/* gpt_is_folder: is there a folder at this path? */
bool gpt_is_folder(const char *path);

#endif
