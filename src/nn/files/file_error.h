/* Error messages about files (internal to nn). Names and paths from files and callers are sanitised
 * for printing.
 */
#ifndef HEED_NN_FILE_ERROR_H
#define HEED_NN_FILE_ERROR_H

#include "../../tensor/tensor.h"

/* heed_show_name: a name truncated to about 60 bytes, with control characters replaced, since
 * they could send commands to the terminal. heed_show_path: the same, keeping the last 90 bytes
 * or so. */
heed_text heed_show_name(const char *name);
heed_text heed_show_path(const char *path);

/* heed_fail_at: "function: path: " and the formatted rest, truncated to about 600 bytes.
 * heed_fail_file: HEED_ERR_FILE: "function: path: cannot `what`: `the system's reason`". */
heed_status heed_fail_at(heed_status status, const char *function, const char *path,
                         const char *format, ...) HEED_PRINTF(4, 5);
heed_status heed_fail_file(const char *function, const char *path, const char *what, int error);

#endif
