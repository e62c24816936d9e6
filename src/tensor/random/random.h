/* Random numbers, bit-identical to those of PyTorch's CPU generator.
 *
 * Each thread has its own generator. Until it is seeded, it behaves like a new torch.Generator(),
 * with seed 67280421310721 (torch's default generator starts with a random seed). Numbers depend on
 * dtype and size as in torch: heed_randn uses one method for 16 or more numbers and another for
 * fewer. docs/numerics.md lists the versions of PyTorch that were compared.
 */
#ifndef HEED_TENSOR_RANDOM_H
#define HEED_TENSOR_RANDOM_H

#include "../tensor.h"

HEED_BEGIN_DECLS

/* The Mersenne twister MT19937, plus the state that torch keeps with it. */
typedef struct heed_generator {
    uint32_t state[624];
    int next;        /* index of the next word; 624: twist first */
    bool has_normal; /* the second number of a Box-Muller pair is cached in `normal` */
    bool seeded;
    double normal;
    uint64_t seed; /* the seed it was started with */
} heed_generator;

/* heed_manual_seed: like torch.manual_seed(seed), for this thread's generator. This function,
 * heed_get_generator and heed_set_generator also work while an error is pending. */
void heed_manual_seed(uint64_t seed);

/* heed_get_generator, heed_set_generator: this thread's generator as a value, to save and restore,
 * like torch.get_rng_state and set_rng_state.
 * HEED_ERR_VALUE: not a value returned by heed_get_generator. */
heed_generator heed_get_generator(void);
heed_status heed_set_generator(const heed_generator *generator);

/* heed_get_rng_state, heed_set_rng_state: the same as a tensor, i64 (632), to save to a file. It
 * is bit-identical to torch.get_rng_state().view(torch.int64).
 * HEED_ERR_VALUE: not the state of a generator. */
heed_tensor *heed_get_rng_state(void);
heed_status heed_set_rng_state(const heed_tensor *state);

/* heed_rand: uniform in [0, 1); heed_randn: normal with mean 0 and standard deviation 1.
 * HEED_ERR_DTYPE: neither f32 nor f64. */
heed_tensor *heed_rand(heed_shape shape, heed_dtype dtype);
heed_tensor *heed_randn(heed_shape shape, heed_dtype dtype);

/* heed_randint: i64 integers in [low, high), like torch.randint(low, high, shape).
 * HEED_ERR_VALUE: low is not below high. */
heed_tensor *heed_randint(int64_t low, int64_t high, heed_shape shape);

/* heed_randperm: the numbers 0 ... n-1 in random order, i64 (n). HEED_ERR_VALUE: n < 0. */
heed_tensor *heed_randperm(int64_t n);

/* heed_uniform_into, heed_normal_into: overwrite `t`, a contiguous f32 or f64 tensor, like torch's
 * uniform_(low, high) and normal_(mean, std), and increment its version.
 * HEED_ERR_DTYPE, HEED_ERR_SHAPE: not f32 or f64, not contiguous. HEED_ERR_VALUE: low above high,
 * negative std, or any of these not finite. */
heed_status heed_uniform_into(heed_tensor *t, double low, double high);
heed_status heed_normal_into(heed_tensor *t, double mean, double std);

/* heed_multinomial: draws `num_samples` of the categories 0 ... n-1 with probabilities p, each at
 * most once, like torch.multinomial(p, num_samples)
 *
 *   p (n) or (rows, n), non-negative, with any sum   ->   i64 (num_samples) or (rows, num_samples)
 *
 * Samples are in the order drawn. A call takes time proportional to n num_samples.
 *
 * HEED_ERR_SHAPE: p does not have 1 or 2 dims, or num_samples is negative. HEED_ERR_DTYPE: p is
 * neither f32 nor f64. HEED_ERR_VALUE: num_samples is 0; a probability is negative or not finite; a
 * row has fewer positive probabilities than num_samples (torch then also draws categories of
 * probability 0). */
heed_tensor *heed_multinomial(const heed_tensor *p, int64_t num_samples);

HEED_END_DECLS
#endif
