/* A run as CSV: a row for each step. */
#ifndef HEED_GPT_LOG_H
#define HEED_GPT_LOG_H

#include <stdio.h>

#include "examples/gpt/train.h"

/* Zero is closed, and takes rows without writing them. */
typedef struct gpt_log {
    FILE *stream;
    const char *path; /* the caller keeps it */
} gpt_log;

/* gpt_log_open: begins a file with the header
 *
 *     step,loss,val_loss,lr,grad_norm,tokens_per_second
 *
 * or, after `resumed` steps, goes on with one: rows of later steps are cut off. *last is the step of
 * the last row that it has then, 0 of none.
 * HEED_ERR_VALUE: a file that cannot be written, or to go on with one that does not begin so. */
heed_status gpt_log_open(gpt_log *log, const char *path, int64_t resumed, int64_t *last);

/* gpt_log_row: step counts from 1; val_loss NAN is left empty. All of it has arrived when it returns.
 * HEED_ERR_FILE: it cannot be written. */
heed_status gpt_log_row(gpt_log *log, int64_t step, const gpt_step *now, double val_loss,
                        double tokens_per_second);
void gpt_log_close(gpt_log *log);

#endif
