/* Random numbers: to the bit those of PyTorch's CPU generator.
 *
 * Each thread has a generator of its own. Unseeded it starts where a fresh torch.Generator() does,
 * at seed 67280421310721 (torch's default generator starts anywhere). The numbers depend on dtype,
 * size and contiguity exactly as in torch: heed_randn of 16 or more numbers uses another method
 * than of fewer, and a view that is not contiguous is filled in the order of its memory.
 */
#ifndef HEED_TENSOR_RANDOM_H
#define HEED_TENSOR_RANDOM_H

#include "../tensor.h"
#include "state.h"

HEED_BEGIN_DECLS

/* heed_manual_seed: as torch.manual_seed(seed), of this thread's generator. The flavor stays. This
 * and the three below draw nothing, and work while an error is pending as well. */
void heed_manual_seed(uint64_t seed);

/* heed_get_generator, heed_set_generator: this thread's generator as a value, to save and to go
 * back to, as torch.get_rng_state and set_rng_state.
 * HEED_ERR_VALUE: not a state that heed_get_generator returns. */
heed_generator heed_get_generator(void);
heed_status heed_set_generator(const heed_generator *generator);

/* heed_get_rng_state, heed_set_rng_state: the same as a tensor, to save to a file: as
 * torch.get_rng_state().view(torch.int64), bit by bit, and torch.set_rng_state. i64 (632). The
 * flavor is not in it, and stays.
 * HEED_ERR_DTYPE, HEED_ERR_SHAPE: not i64 (632). HEED_ERR_VALUE: not the state of a generator. */
heed_tensor *heed_get_rng_state(void);
heed_status heed_set_rng_state(const heed_tensor *state);

/* heed_set_random_flavor: this thread draws the numbers of another PyTorch from now on.
 * HEED_ERR_VALUE: no such flavor. */
heed_status heed_set_random_flavor(heed_random_flavor flavor);

/* heed_rand: uniform in [0, 1); heed_randn: normal with mean 0 and standard deviation 1.
 * HEED_ERR_DTYPE: neither f32 nor f64. */
heed_tensor *heed_rand(heed_shape shape, heed_dtype dtype);
heed_tensor *heed_randn(heed_shape shape, heed_dtype dtype);

/* heed_rand_like, heed_randn_like: the same of x's shape and dtype, contiguous. The numbers are
 * torch's for an x of these strides: of a transposed x they are those of x before it was
 * transposed, each in its place.
 * HEED_ERR_DTYPE: x is neither f32 nor f64. */
heed_tensor *heed_rand_like(const heed_tensor *x);
heed_tensor *heed_randn_like(const heed_tensor *x);

/* heed_randint: whole numbers in [low, high), as torch.randint(low, high, shape, dtype=dtype); the
 * same numbers for every dtype.
 * HEED_ERR_VALUE: low is not below high; or a bound is beyond the whole numbers that dtype holds:
 * 0 and 1 for bool, +-2^24 for f32, +-2^53 for f64. */
heed_tensor *heed_randint(int64_t low, int64_t high, heed_shape shape, heed_dtype dtype);

/* heed_randperm: the numbers 0 ... n-1 in random order, i64 (n).  HEED_ERR_VALUE: n < 0. */
heed_tensor *heed_randperm(int64_t n);

/* heed_bernoulli: a tensor of probabilities -> 1 with that probability, else 0, same shape and
 * dtype, as torch.bernoulli(p).
 * HEED_ERR_DTYPE: p is neither f32 nor f64. HEED_ERR_VALUE: a probability outside [0, 1]. */
heed_tensor *heed_bernoulli(const heed_tensor *p);

/* heed_uniform_into, heed_normal_into, heed_bernoulli_into, heed_exponential_into: overwrite `t`, a
 * view as well, as torch's uniform_(low, high), normal_(mean, std), bernoulli_(p) and
 * exponential_(rate). Doors: the version is raised.
 * heed_bernoulli_into takes f32, f64, i64 or bool, the others f32 or f64.
 * HEED_ERR_VALUE: low above high, std below 0, p outside [0, 1], or not finite; rate 0 or below. */
heed_status heed_uniform_into(heed_tensor *t, double low, double high);
heed_status heed_normal_into(heed_tensor *t, double mean, double std);
heed_status heed_bernoulli_into(heed_tensor *t, double p);
heed_status heed_exponential_into(heed_tensor *t, double rate);

HEED_END_DECLS
#endif
