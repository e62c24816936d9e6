/* What all suites share: cases that watch for leaks, and checks that print what went wrong. */
#ifndef HEED_TESTS_TEST_UTIL_H
#define HEED_TESTS_TEST_UTIL_H

#include <check.h>

#include "heed.h"

/* heed_case: a test case of `suite`, each of whose tests runs in an open scope and must leave live
 * tensors and bytes as it found them, and no error pending. */
TCase *heed_case(Suite *suite, const char *name);

/* expect_error: the pending error has this code, and its sentence holds `words`; reads it. */
void expect_error(heed_status status, const char *words);

/* expect_no_error: none is pending; else its sentence is printed. */
void expect_no_error(void);

/* expect_close: a and b have one shape, and differ by at most `tolerance` everywhere. */
void expect_close(heed_tensor *a, heed_tensor *b, double tolerance);

/* expect_values: x has `count` elements, row by row `values` up to `tolerance`. */
void expect_values(heed_tensor *x, const double *values, int64_t count, double tolerance);
#define EXPECT_VALUES(x, tolerance, ...)                                                           \
    expect_values(x, (const double[]){__VA_ARGS__},                                                \
                  (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), tolerance)

/* fnv: the FNV-1a sum of bytes, going on from `sum`, at first FNV_BASIS: how fixtures hold more
 * numbers than are listed. */
#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
uint64_t fnv(const void *data, size_t size, uint64_t sum);

#endif
