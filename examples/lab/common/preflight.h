/* A check before a long run, so that it does not fail at its end. */
#ifndef HEED_COMMON_PREFLIGHT_H
#define HEED_COMMON_PREFLIGHT_H

#include <stdbool.h>

#include "heed.h"

/* path_check: checks that the file that `flag` names can be written, and that nothing in it is
 * lost unless it may be `replaced`. A NULL path is no file.
 * HEED_ERR_VALUE: it cannot be written, or would be overwritten. */
heed_status path_check(const char *flag, const char *path, bool replaced);

#endif
