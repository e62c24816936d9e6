/* Sentences about files (internal to nn). Names and paths come from files and callers, and are made
 * fit to be printed.
 */
#ifndef HEED_NN_FILE_ERROR_H
#define HEED_NN_FILE_ERROR_H

#include "../../tensor/tensor.h"

/* heed_show_name: a name without control characters, which might command a terminal, and cut after
 * some 60 bytes. heed_show_path: the same, cut before the last 90. */
heed_text heed_show_name(const char *name);
heed_text heed_show_path(const char *path);

/* heed_fail_at: "function: path: " and the formatted rest, cut after some 600 bytes.
 * heed_fail_file: HEED_ERR_FILE: "function: path: cannot `what`: `the system's reason`". */
heed_status heed_fail_at(heed_status status, const char *function, const char *path,
                         const char *format, ...) HEED_PRINTF(4, 5);
heed_status heed_fail_file(const char *function, const char *path, const char *what, int error);

#endif
