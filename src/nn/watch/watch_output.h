/* Buffered output of a watch (internal): to a file, or to the program's terminal stream.
 *
 * The first error is kept, and everything after it is ignored. Writing raises no signal. Only the
 * process that opened an output writes to it: a forked child has a copy of the buffer, which would
 * otherwise be written twice. */
#ifndef HEED_NN_WATCH_OUTPUT_H
#define HEED_NN_WATCH_OUTPUT_H

#include <stdio.h>
#include <sys/types.h>

#include "../../tensor/tensor.h"

enum { HEED_OUTPUT_BUFFER = 1 << 14 };

typedef struct heed_output {
    int fd;         /* -1: none */
    FILE *stream;   /* NULL for a file */
    int error;      /* errno of the first failure; 0: none */
    pid_t process;  /* that opened it */
    int64_t length; /* of the buffer */
    char buffer[HEED_OUTPUT_BUFFER];
} heed_output;

/* heed_row_step: the step of a row, which it may change; 0: a header; -1: a watch does not write
 * such rows. */
typedef int64_t heed_row_step(void *context, char *row);

typedef struct heed_rows {
    const char *begins; /* the first bytes of each such file */
    heed_row_step *step_of;
    void *context;
} heed_rows;

/* heed_output_file: begins a file if `resumed` is 0 or the file does not exist or is empty. Keeps
 * the rows of an existing file up to that step; later ones, and a last line without a line end,
 * which a killed program leaves, are cut off. *last becomes the step of the last row, 0 for a new
 * file, and `resumed` for a device.
 *
 * HEED_ERR_FILE: the system reports an error. HEED_ERR_VALUE: a watch did not write that file; it
 * stays unchanged.
 *
 * heed_output_create: a new file; *exists tells whether that failed because there is one. */
heed_status heed_output_file(heed_output *o, const char *path, int64_t resumed,
                             const heed_rows *rows, int64_t *last);
heed_status heed_output_create(heed_output *o, const char *path, bool *exists);
void heed_output_stream(heed_output *o, FILE *stream);

void heed_output_bytes(heed_output *o, const void *data, size_t size);
void heed_output_text(heed_output *o, const char *text);
void heed_output_print(heed_output *o, const char *format, ...) HEED_PRINTF(2, 3);

/* heed_output_reserve: flushes if the buffer is almost full, so that the next row is written whole:
 * other programs read the file while it grows. heed_output_flush: writes the buffer. */
void heed_output_reserve(heed_output *o);
void heed_output_flush(heed_output *o);
void heed_output_close(heed_output *o);

/* heed_number_text: a number in this printf format, with a decimal point in all locales. */
heed_text heed_number_text(const char *format, double number);

/* heed_output_number: whole numbers exactly, others with 9 digits, enough for any float. */
void heed_output_number(heed_output *o, double number);

#endif
