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
    pid_t process;  /* the one that opened it */
    int64_t length; /* bytes in the buffer */
    char buffer[HEED_OUTPUT_BUFFER];
} heed_output;

/* heed_row_step: the step of a row, which it may modify; 0: a header; -1: not a row of a watch. */
typedef int64_t heed_row_step(void *context, char *row);

typedef struct heed_watch_rows {
    const char *begins; /* the first bytes of such a file */
    heed_row_step *step_of;
    void *context;
} heed_watch_rows;

/* heed_output_file: starts a new file if the file is missing or empty; if `resumed` is 0, replaces
 * one that a watch has written. Otherwise
 * keeps the rows up to that step; later rows, and an incomplete last line left by a killed program,
 * are cut off. *last is set to the step of the last row: 0 for a new file, `resumed` for a device.
 *
 * HEED_ERR_FILE: the system reports an error. HEED_ERR_VALUE: the file was not written by a watch;
 * it stays unchanged.
 *
 * heed_output_create: creates a file; *exists tells whether that failed because it already
 * exists. */
heed_status heed_output_file(heed_output *o, const char *path, int64_t resumed,
                             const heed_watch_rows *rows, int64_t *last);
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

/* heed_number_text: a number in this printf format, with a decimal point in any locale. */
heed_text heed_number_text(const char *format, double number);

/* heed_output_number: writes whole numbers exactly, others with 9 digits, enough for any float. */
void heed_output_number(heed_output *o, double number);

#endif
