/* How much memory a program may ask for. */
#ifndef HEED_COMMON_MEMORY_H
#define HEED_COMMON_MEMORY_H

#include "heed.h"

/* memory_check: has this machine the `bytes` that a step of training needs? Systems give away more
 * than they have, and then end the program. `needs_less` names the flags that make it need less.
 * HEED_ERR_VALUE: it has not. */
heed_status memory_check(double bytes, const char *needs_less);

#endif
