/* Out of memory: each allocation of a scenario fails, alone, and with all later ones. */
#ifndef HEED_TESTS_OOM_H
#define HEED_TESTS_OOM_H

#include "tests/common/files_util.h"

/* A scenario creates and frees everything it uses, whether or not an error becomes pending, and
 * returns a hash of its results. It must not read the error. */
typedef uint64_t scenario(const void *context);

/* starve: makes up to `few` evenly spaced allocations fail, or all of them if the environment
 * variable HEED_OOM is "all", each in runs of the scenario. A failure must be
 * reported as HEED_ERR_MEMORY, or else the results must be right. Nothing may leak, and the next
 * run must give the results of the first. */
void starve(const char *name, scenario *run, const void *context, int few);
enum { FEW = 12, MANY = 2000 }; /* MANY: usually all */

/* hash_of: continues `sum` with the shape and bits of x, if it is not NULL. */
uint64_t hash_of(heed_tensor *x, uint64_t sum);

/* oom_case: a test case whose tests get a folder. */
TCase *oom_case(Suite *suite, const char *name);

#endif
