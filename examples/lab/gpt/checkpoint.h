/* Checkpoints: a model, its tokenizer and the state of its run, in a file from gpt train. */
#ifndef HEED_GPT_CHECKPOINT_H
#define HEED_GPT_CHECKPOINT_H

#include "examples/lab/gpt/model.h"
#include "examples/lab/gpt/options.h"
#include "examples/lab/gpt/tokenizer.h"

/* ---- models ---- */

/* gpt_model_new: a new model with a vocabulary of `tokens`. */
struct gpt *gpt_model_new(const gpt_train_options *settings, int64_t tokens);

/* ---- records: everything in a checkpoint except its tensors ---- */

typedef struct gpt_record {
    gpt_train_options settings; /* only GPT_SETTINGS are valid */
    tokenizer tokenizer;
    text_buffer text; /* its path as typed, NUL-terminated */
    uint64_t text_hash;
    double val_loss, best_loss; /* the latest and the lowest; NAN and HUGE_VAL: none yet */
    int64_t best_step;          /* step of the lowest */
} gpt_record;

/* gpt_record_read: reads the record of a file; errors name `flag`.
 * HEED_ERR_VALUE: no such file, it was not written by gpt train, or it is too small for the model
 * that its settings describe. */
heed_status gpt_record_read(gpt_record *r, const char *flag, const char *path);

/* gpt_record_save: writes the model, the optimiser (or NULL), the generator and the record. The
 * contents do not depend on the time or the path. HEED_ERR_FILE: the file cannot be written. */
heed_status gpt_record_save(const gpt_record *r, void *model, heed_optimizer *optimizer,
                            const char *flag, const char *path);

void gpt_record_free(gpt_record *r);

/* ---- models in files ---- */

/* gpt_model_load: the model in the file that the record was read from, in eval mode. */
struct gpt *gpt_model_load(const gpt_record *r, const char *flag, const char *path);

typedef struct gpt_loaded {
    struct gpt *model; /* in eval mode */
    gpt_record record;
} gpt_loaded;

/* gpt_load: loads a file; errors name `flag`.
 * HEED_ERR_VALUE: no path, no such file, or it was not written by gpt. */
heed_status gpt_load(gpt_loaded *l, const char *flag, const char *path);
void gpt_loaded_free(gpt_loaded *l);

#endif
