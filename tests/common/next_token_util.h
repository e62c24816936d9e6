/* Shared by the tests of next_token. */
#ifndef HEED_TESTS_NEXT_TOKEN_UTIL_H
#define HEED_TESTS_NEXT_TOKEN_UTIL_H

#include "examples/lab/next_token/setup.h"
#include "tests/common/test_util.h"

enum { MOST_ARGUMENTS = 12 };

/* read_arguments: the options read from a NULL-terminated list. */
options read_arguments(const char *const *list);

/* path_case: a heed_case whose tests each get an empty file, path_of_test. write_file: replaces its
 * contents. */
TCase *path_case(Suite *suite, const char *name);
extern char path_of_test[];
void write_file(const char *bytes);

#endif
