/* A run of training: its text, model, optimiser and record, made new or as a file holds them. */
#ifndef HEED_GPT_RUN_H
#define HEED_GPT_RUN_H

#include "examples/gpt/model.h"
#include "examples/gpt/train.h"

/* It stays where it was prepared: its parts point to each other. */
typedef struct gpt_run {
    gpt_train_options options; /* complete; record.settings are the same */
    gpt_record record;
    corpus text;
    int64_t learnt; /* tokens that are learnt from: the first ones */
    gpt_windows validation;
    struct heed_gpt *model;
    heed_optimizer *optimizer;
    int64_t resumed; /* steps that the run had taken when it was loaded */
} gpt_run;

/* gpt_run_prepare: reads the files, makes or loads the model, and checks that the outputs can be
 * written. HEED_ERR_VALUE, HEED_ERR_FILE: something is wrong with what was asked for. */
heed_status gpt_run_prepare(gpt_run *run, const gpt_train_options *given);
void gpt_run_free(gpt_run *run);

/* gpt_run_look: measures the validation loss and takes it down; true: it is the lowest so far. False,
 * and nothing is done, without a validation part. gpt_run_ended: all steps are taken, or patience is
 * at its end. */
bool gpt_run_look(gpt_run *run);
bool gpt_run_impatient(const gpt_run *run);
bool gpt_run_ended(const gpt_run *run);

#endif
