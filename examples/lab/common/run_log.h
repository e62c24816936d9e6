/* The CSV log of a run, as written by gpt train, next_token and char_gpt.py. */
#ifndef HEED_COMMON_RUN_LOG_H
#define HEED_COMMON_RUN_LOG_H

#include "heed.h"

/* run_log_read: a watch, without files or a terminal, with the log's values; free it with
 * heed_watch_free. Steps without a row have no values. Errors name `flag`.
 * HEED_ERR_VALUE: the file cannot be read or is not such a log; NULL is returned. */
heed_watch *run_log_read(const char *flag, const char *path);

#endif
