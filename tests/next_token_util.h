/* What the tests of next_token share. */
#ifndef HEED_TESTS_NEXT_TOKEN_UTIL_H
#define HEED_TESTS_NEXT_TOKEN_UTIL_H

#include "examples/next_token/setup.h"
#include "tests/test_util.h"

enum { MOST_ARGUMENTS = 12 };

/* read_arguments: what options_read makes of a list that NULL ends. */
options read_arguments(const char *const *list);

/* path_case: a heed_case whose tests have an empty file, path_of_test, of their own. write_file: it
 * then holds these bytes. */
TCase *path_case(Suite *suite, const char *name);
extern char path_of_test[];
void write_file(const char *bytes);

#endif
