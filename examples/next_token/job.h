/* A job: what the options ask for, found out and checked as a whole before anything is trained. */
#ifndef HEED_NEXT_TOKEN_JOB_H
#define HEED_NEXT_TOKEN_JOB_H

#include "examples/common/vocabulary.h"
#include "examples/next_token/model.h"
#include "examples/next_token/options.h"
#include "examples/next_token/toy.h"
#include "examples/next_token/train.h"

typedef struct job {
    options options; /* complete */
    options_task task;
    vocabulary vocabulary;
    token_list text, prompt; /* one of them, both or, for the toy, none */
    pieces learnt, held_out;
    struct token_model *model;
} job;

/* job_prepare: reads the files, makes or loads the model, and checks that the outputs can be
 * written. The caller holds the toy's language.
 * HEED_ERR_VALUE: something is wrong with what was asked for, and the sentence says what. */
heed_status job_prepare(job *j, const options *given, toy_language *language);
void job_free(job *j);

/* job_sample: tokens to look at: the prompt, or else the beginning of what is held out; at most
 * `most` and what the model sees at once. */
const int64_t *job_sample(const job *j, int64_t most, int64_t *count);

#endif
