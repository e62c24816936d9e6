/* What a checkpoint says besides its tensors: the settings, the tokenizer, and where the run is. */
#ifndef HEED_GPT_RECORD_H
#define HEED_GPT_RECORD_H

#include "examples/gpt/options.h"
#include "examples/gpt/tokenizer.h"

typedef struct gpt_record {
    gpt_train_options settings; /* of these the GPT_SETTINGS alone */
    tokenizer tokenizer;
    text_buffer text; /* its path as it was typed, ended by a NUL */
    int64_t text_length;
    uint64_t text_hash;
    double val_loss, best_loss;    /* the last and the lowest so far; NAN and HUGE_VAL: none yet */
    int64_t best_step, since_best; /* where it was lowest, and evaluations since */
} gpt_record;

/* gpt_record_read: reads it from a file; `flag` is the one that names it.
 * HEED_ERR_VALUE: no such file, or gpt train has not written it. */
heed_status gpt_record_read(gpt_record *r, const char *flag, const char *path);

/* gpt_record_save: writes the model, the optimiser (or NULL), the generator and the record. Nothing in
 * the file depends on the time or on where it lies. HEED_ERR_FILE: it cannot be written. */
heed_status gpt_record_save(const gpt_record *r, void *model, heed_optimizer *optimizer,
                            const char *flag, const char *path);

/* gpt_record_metadata: has `use` called with the metadata of a record; they last as long as the call. */
typedef heed_status gpt_metadata_use(void *context, const heed_metadata *metadata);
heed_status gpt_record_metadata(const gpt_record *r, gpt_metadata_use *use, void *context);

void gpt_record_free(gpt_record *r);

#endif
