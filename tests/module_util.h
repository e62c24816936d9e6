/* What the tests of modules share: names, printed trees, derivatives of whole modules, memory that
 * ends.
 */
#ifndef HEED_TESTS_MODULE_UTIL_H
#define HEED_TESTS_MODULE_UTIL_H

#include "tests/test_util.h"

/* expect_state: the state dict reads "weight (3, 4)", ... in this order. */
void expect_state(void *module, int count, const char *const *names);

/* expect_draws: the numbers that modules made with each of the seeds draw, in the order of the
 * state dict, and then one of heed_rand and one of heed_randn: their checksum is sums[flavor]. Of 0
 * there is none. */
void expect_draws(void *(*make)(const void *row), const void *row, const uint64_t *seeds, int count,
                  const uint64_t sums[4]);

/* expect_tree: what heed_module_print prints, without the end of its last line. */
void expect_tree(void *module, const char *text);

/* expect_derivatives: casts the module to f64 and checks f, which calls its forward, by its inputs,
 * f64, and by each element of its parameters in place: differences change the very tensors that it
 * holds. */
void expect_derivatives(void *module, heed_function *f, void *context, heed_tensor *const *inputs,
                        int count);

/* expect_parameter_derivatives: the second half of it, for modules whose inputs have no derivative.
 */
void expect_parameter_derivatives(void *module, heed_function *f, void *context,
                                  heed_tensor *const *inputs);

/* expect_module_without_memory, expect_forward_without_memory: with each allocation failing in
 * turn, and what was made in the end is let go. At least `least` of them fail. */
void expect_module_without_memory(void *(*make)(void *context), void *context, int least);
void expect_forward_without_memory(heed_function *f, void *context, heed_tensor *const *inputs,
                                   int least);

#endif
