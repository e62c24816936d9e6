/* The suites that exist, and which of their tests are wanted. */
#ifndef HEED_TESTS_SUITES_H
#define HEED_TESTS_SUITES_H

#include <check.h>
#include <stdbool.h>

#define SUITE(room, name) void add_##name##_cases(Suite *suite);
#define FORKING           SUITE
#include "tests/suites.def"
#undef SUITE
#undef FORKING

/* wanted_test: the name of the tests and rows to run, with wildcards; NULL for all (make test
 * TEST=...). tests_added: the number of tests added to suites so far. */
extern const char *wanted_test;
extern int tests_added;

/* add_test: adds a test for each i from `first` to before `end`, if its name is wanted. Check's
 * macros call it. */
void add_test(TCase *tcase, const TTest *test, int signal, int status, int first, int end);
#define _tcase_add_test         add_test

/* Check notes each assertion that passes in a file, a quarter of the time of all tests, in order to
 * tell where a test was before it crashed. A debugger tells that. */
#define _mark_point(file, line) ((void)(line))

/* add_row: adds a test for row i, if its name, or that of the test, is wanted; add_rows: for each
 * of `count` rows. */
void add_row(TCase *tcase, const TTest *test, int i, const char *name);
void add_rows(TCase *tcase, const TTest *test, int count, const char *(*name)(int i));

#endif
