/* Shared by the tests of modules: names, printed trees, derivatives of whole modules, failing
 * allocations. */
#ifndef HEED_TESTS_MODULE_UTIL_H
#define HEED_TESTS_MODULE_UTIL_H

#include "tests/common/test_util.h"

/* expect_state: the state dict is "weight (3, 4)", ... in this order. */
void expect_state(void *module, int count, const char *const *names);

/* expect_draws: creates a module with each of the seeds. The checksum of its tensors, in state
 * dict order, then of one number of heed_rand and one of heed_randn must be `expected`. */
void expect_draws(void *(*make)(const void *row), const void *row, const uint64_t *seeds, int count,
                  uint64_t expected);

/* expect_tree: the output of heed_module_print without its final newline. */
void expect_tree(void *module, const char *text);

/* expect_parameter_derivatives: casts the module to f64 and checks the derivatives of f, which
 * calls its forward, with respect to each element of its parameters. Finite differences modify them
 * in place. */
void expect_parameter_derivatives(void *module, heed_function *f, void *context,
                                  heed_tensor *const *inputs);

/* expect_module_without_memory, expect_forward_without_memory: each allocation fails once; then the
 * call succeeds and its result is freed. At least `least` allocations must fail. */
void expect_module_without_memory(void *(*make)(void *context), void *context, int least);
void expect_forward_without_memory(heed_function *f, void *context, heed_tensor *const *inputs,
                                   int least);

#endif
