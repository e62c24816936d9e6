/* What is checked before a long run, so that it does not fail at its end: can the output files be
 * written, and is there enough memory? */
#ifndef HEED_COMMON_PREFLIGHT_H
#define HEED_COMMON_PREFLIGHT_H

#include <stdbool.h>

#include "heed.h"

/* path_check: can a file be written there? Creates one and removes it again. `device`: something
 * that is not a regular file is fine too. Messages name `flag`.
 * HEED_ERR_VALUE: no. */
heed_status path_check(const char *flag, const char *path, bool device);

/* path_same: do both name one file? Links are followed, and the file need not exist yet. NULL names
 * no file. */
bool path_same(const char *a, const char *b);

/* A file that a flag names. */
typedef struct path_use {
    const char *flag, *path; /* path NULL: the flag was not given */
    bool written, device;
    const char *replaces; /* a flag whose file this one may overwrite: --load for --save; or NULL */
} path_use;

/* path_check_all: path_check of all files that are written; no two flags may name one file. Files
 * that are only read come first.
 * HEED_ERR_VALUE: a file cannot be written, or would overwrite another one. */
heed_status path_check_all(const path_use *files, int count);

/* memory_check: does this machine have the `bytes` that a training step needs? Systems promise more
 * memory than they have, and then kill the program. `needs_less` names the flags that reduce it.
 * HEED_ERR_VALUE: no. */
heed_status memory_check(double bytes, const char *needs_less);

#endif
