/* Can a file be written where somebody wants it? Found out before the work, not after it. */
#ifndef HEED_COMMON_PATHS_H
#define HEED_COMMON_PATHS_H

#include <stdbool.h>

#include "heed.h"

/* path_check: could a file be written there? It makes one and takes it away. `device`: something
 * that is no file is fine too. `flag` is for the message.
 * HEED_ERR_VALUE: no. */
heed_status path_check(const char *flag, const char *path, bool device);

/* path_same: would both be one file? Links are followed, and neither need be there yet. NULL is no
 * file. */
bool path_same(const char *a, const char *b);

/* A file that a flag names. */
typedef struct path_use {
    const char *flag, *path; /* path NULL: the flag was not given */
    bool written, device;
    const char *replaces; /* the flag whose file it may be, --load for --save say; or NULL */
} path_use;

/* path_check_all: path_check of all that are written, and no two may be one file. What is only read
 * comes first.
 * HEED_ERR_VALUE: something cannot be written, or would be written over something else. */
heed_status path_check_all(const path_use *files, int count);

#endif
