/* Random numbers, bit-identical to those of PyTorch's CPU generator.
 *
 * Each thread has its own generator. Until it is seeded, it behaves like a new torch.Generator(),
 * with seed 67280421310721 (torch's default generator starts with a random seed). Numbers depend on
 * dtype, size and contiguity as in torch: heed_randn uses one method for 16 or more numbers and
 * another for fewer, and non-contiguous views are filled in memory order.
 */
#ifndef HEED_TENSOR_RANDOM_H
#define HEED_TENSOR_RANDOM_H

#include "../tensor.h"
#include "state.h"

HEED_BEGIN_DECLS

/* heed_manual_seed: like torch.manual_seed(seed), for this thread's generator; keeps the flavor.
 * This function, heed_get_generator, heed_set_generator and heed_set_random_flavor also work while
 * an error is pending. */
void heed_manual_seed(uint64_t seed);

/* heed_get_generator, heed_set_generator: this thread's generator as a value, to save and restore,
 * like torch.get_rng_state and set_rng_state.
 * HEED_ERR_VALUE: not a value returned by heed_get_generator. */
heed_generator heed_get_generator(void);
heed_status heed_set_generator(const heed_generator *generator);

/* heed_get_rng_state, heed_set_rng_state: the same as a tensor, i64 (632), to save to a file. It
 * is bit-identical to torch.get_rng_state().view(torch.int64). It does not include the flavor,
 * which is left unchanged.
 * HEED_ERR_DTYPE, HEED_ERR_SHAPE: not i64 (632). HEED_ERR_VALUE: not the state of a generator. */
heed_tensor *heed_get_rng_state(void);
heed_status heed_set_rng_state(const heed_tensor *state);

/* heed_set_random_flavor: from now on, this thread draws the numbers of another PyTorch version.
 * HEED_ERR_VALUE: no such flavor. */
heed_status heed_set_random_flavor(heed_random_flavor flavor);

/* heed_rand: uniform in [0, 1); heed_randn: normal with mean 0 and standard deviation 1.
 * HEED_ERR_DTYPE: neither f32 nor f64. */
heed_tensor *heed_rand(heed_shape shape, heed_dtype dtype);
heed_tensor *heed_randn(heed_shape shape, heed_dtype dtype);

/* heed_rand_like, heed_randn_like: the same with x's shape and dtype; contiguous. The numbers match
 * torch's for x's strides: if x is transposed, they are drawn for the original matrix and
 * then transposed.
 * HEED_ERR_DTYPE: x is neither f32 nor f64. */
heed_tensor *heed_rand_like(const heed_tensor *x);
heed_tensor *heed_randn_like(const heed_tensor *x);

/* heed_randint: integers in [low, high), like torch.randint(low, high, shape, dtype=dtype); the
 * same numbers for every dtype.
 * HEED_ERR_VALUE: low is not below high; or a bound is beyond the integers that dtype can
 * represent: 0 and 1 for bool, +-2^24 for f32, +-2^53 for f64. */
heed_tensor *heed_randint(int64_t low, int64_t high, heed_shape shape, heed_dtype dtype);

/* heed_randperm: the numbers 0 ... n-1 in random order, i64 (n). HEED_ERR_VALUE: n < 0. */
heed_tensor *heed_randperm(int64_t n);

/* heed_bernoulli: 1 with the probability given by each element of p, else 0; with p's shape and
 * dtype, like torch.bernoulli(p).
 * HEED_ERR_DTYPE: p is neither f32 nor f64. HEED_ERR_VALUE: a probability outside [0, 1]. */
heed_tensor *heed_bernoulli(const heed_tensor *p);

/* heed_uniform_into, heed_normal_into, heed_bernoulli_into, heed_exponential_into: overwrite `t`,
 * which may be a view, like torch's uniform_(low, high), normal_(mean, std), bernoulli_(p) and
 * exponential_(rate), and increment its version.
 * heed_bernoulli_into takes f32, f64, i64 or bool, the others f32 or f64.
 * HEED_ERR_VALUE: low above high, negative std, p outside [0, 1], or any of these not finite; rate
 * not above 0. */
heed_status heed_uniform_into(heed_tensor *t, double low, double high);
heed_status heed_normal_into(heed_tensor *t, double mean, double std);
heed_status heed_bernoulli_into(heed_tensor *t, double p);
heed_status heed_exponential_into(heed_tensor *t, double rate);

HEED_END_DECLS
#endif
