/* Checks before a long run, so that it does not fail at its end: the output files can be written,
 * and there is enough memory. */
#ifndef HEED_COMMON_PREFLIGHT_H
#define HEED_COMMON_PREFLIGHT_H

#include <stdbool.h>

#include "heed.h"

/* path_check: checks that a file can be written there, by creating one and removing it again. With
 * `device` it need not be a regular file. Errors name `flag`.
 * HEED_ERR_VALUE: it cannot be written. */
heed_status path_check(const char *flag, const char *path, bool device);

/* path_resolve: follows the symbolic links of the file itself, which need not exist. False: errno
 * is set. */
enum { LONGEST_PATH = 4096 };
bool path_resolve(const char *path, char resolved[LONGEST_PATH]);

/* path_same: true if both paths name the same file. Links are followed, and the file need not
 * exist. NULL names no file. */
bool path_same(const char *a, const char *b);

/* path_check_unused: checks that no file would be overwritten: that it does not exist, is empty or
 * is not a regular file. HEED_ERR_VALUE: it would be; the message ends with `way_out`. */
heed_status path_check_unused(const char *flag, const char *path, const char *way_out);

/* A file named by a flag. */
typedef struct path_use {
    const char *flag, *path; /* path NULL: the flag was not given */
    bool written, device;
    const char *replaces; /* flag whose file this one may overwrite: --load for --save; or NULL */
} path_use;

/* path_check_all: applies path_check to all files that are written; no two flags may name the same
 * file. Files that are only read come first.
 * HEED_ERR_VALUE: a file cannot be written, or would overwrite another one. */
heed_status path_check_all(const path_use *files, int count);

/* memory_check: checks that a training step, which needs at least `bytes`, fits in memory. Without
 * this check, the system would overcommit memory and later kill the program. `needs_less` names the
 * flags that reduce it.
 * HEED_ERR_VALUE: they exceed the physical memory and swap space, or the limit of the process. */
heed_status memory_check(double bytes, const char *needs_less);

#endif
