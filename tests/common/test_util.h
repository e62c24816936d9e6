/* Shared by all suites: cases that check for leaks, and checks that print what differs. */
#ifndef HEED_TESTS_TEST_UTIL_H
#define HEED_TESTS_TEST_UTIL_H

#include "nn/nn.h"
#include "tests/common/suites.h"

/* heed_fail_allocation: makes this thread's next request (n = 0), or the n-th one after it, fail
 * once; -1 cancels this. heed_fail_allocations: the same for `count` consecutive requests, counted
 * from the n-th; INT64_MAX: this one and all later ones. */
static inline void heed_fail_allocations(int64_t n, int64_t count)
{
    heed_self.fail_countdown = n + 1;
    heed_self.failures_left = count;
}

static inline void heed_fail_allocation(int64_t n)
{
    heed_fail_allocations(n, 1);
}

/* An optimiser's step with this gradient of its only parameter. */
static inline heed_status step_with_gradient(heed_optimizer *optimizer, heed_tensor *gradient)
{
    heed_set_grad(optimizer->parameters.tensors[0], gradient);
    return heed_optimizer_step(optimizer);
}

/* Creates the moments of all parameters, which are zeros before their first steps. */
static inline void make_moments(heed_optimizer *optimizer)
{
    heed_named_tensors state = {0};
    heed_optimizer_list(optimizer, "", &state);
    heed_named_free(&state);
}

/* HAS_TSAN, HAS_SANITIZER: this build has ThreadSanitizer; it or AddressSanitizer. */
#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#elif __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#elif defined __SANITIZE_THREAD__
#define HAS_TSAN 1
#elif defined __SANITIZE_ADDRESS__
#define HAS_SANITIZER 1
#endif
#ifdef HAS_TSAN
#define HAS_SANITIZER 1
#else
#define HAS_TSAN 0
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

/* heed_case: a test case of `suite`. Each of its tests runs in an open scope and must leave no live
 * tensors or bytes of its own, and no pending error. */
TCase *heed_case(Suite *suite, const char *name);

/* expect_error: the pending error has this status and its message contains `words`; clears it. */
void expect_error(heed_status status, const char *words);

/* expect_shape: x has this shape. expect_equal: the values of a and b are equal. expect_same_bits:
 * they have the same dtype, shape and bits. */
void expect_shape(const heed_tensor *x, heed_shape shape);
void expect_equal(heed_tensor *a, heed_tensor *b);
void expect_same_bits(heed_tensor *a, heed_tensor *b);

/* too_large_for_32_bits: true if a 32-bit machine has rejected a size beyond its address space, so
 * that the error that a test expects of 64-bit machines does not occur. */
bool too_large_for_32_bits(void);

/* expect_no_error: otherwise prints the message of the pending error. */
void expect_no_error(void);

/* expect_close: a and b have the same shape and differ by at most `tolerance`. */
void expect_close(heed_tensor *a, heed_tensor *b, double tolerance);

/* expect_values: x has `count` elements, in row-major order `values` up to `tolerance`. */
void expect_values(heed_tensor *x, const double *values, int64_t count, double tolerance);
#define EXPECT_VALUES(x, tolerance, ...)                                                           \
    expect_values(x, (const double[]){__VA_ARGS__},                                                \
                  (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), tolerance)

/* fnv: the FNV-1a hash of bytes, continued from `sum` (initially FNV_BASIS). Fixtures use it to
 * check more numbers than they list. */
#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
uint64_t fnv(const void *data, size_t size, uint64_t sum);

#endif
