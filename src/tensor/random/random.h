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

HEED_BEGIN_DECLS

/* The PyTorch version whose numbers are drawn; docs/numerics.md lists the versions that were
 * compared. All flavors draw the same words, but compute different numbers from them.
 *
 * The PLAIN flavors use glibc's logf, sinf and cosf for 16 or more normal floats, and round each
 * product before adding (but TORCH_2_PLAIN fuses the scaling of these floats). About one in three
 * of these floats differs in its last bits.
 *
 * In the TORCH_2 flavors, some f64 normal and exponential numbers differ from TORCH_1 in the last
 * bit, and heed_randint draws two words per number for ranges of 2^28 or more (TORCH_1: 2^32 or
 * more). Results differ entirely for heed_multinomial of one sample with replacement, heed_randperm
 * of 2^32 / 20 or more numbers, and heed_dropout of a non-contiguous tensor. */
typedef enum heed_random_flavor {
    HEED_RANDOM_TORCH_1,       /* 1.13 on x86 with AVX2 or AVX-512 */
    HEED_RANDOM_TORCH_2,       /* 2.7 to 2.15 on the same machines: the default */
    HEED_RANDOM_TORCH_1_PLAIN, /* 1.13 with ATEN_CPU_CAPABILITY=default */
    HEED_RANDOM_TORCH_2_PLAIN, /* 2.13 to 2.15, likewise; torch on ARM is close to this */
} heed_random_flavor;

/* The number of words in the state of the Mersenne twister MT19937. */
enum { HEED_GENERATOR_WORDS = 624 };

/* The Mersenne twister MT19937, plus the state that torch keeps with it. */
typedef struct heed_generator {
    uint32_t state[HEED_GENERATOR_WORDS];
    int next;        /* index of the next word; HEED_GENERATOR_WORDS: twist first */
    bool has_normal; /* the second number of a Box-Muller pair is cached in `normal` */
    bool seeded;
    double normal;
    heed_random_flavor flavor;
    uint64_t seed; /* the seed it was started with */
} heed_generator;

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

/* heed_multinomial: draws from categories 0 ... n-1 with probabilities p, like
 * torch.multinomial(p, num_samples, replacement)
 *
 *   p (n) or (rows, n), non-negative, with any sum   ->   i64 (num_samples) or (rows, num_samples)
 *
 * Probabilities are normalised by the sum of their row. Without replacement, each category is drawn
 * at most once. Samples are in the order drawn.
 *
 * HEED_ERR_SHAPE: p does not have 1 or 2 dims, or has no categories or more than 2^24.
 * HEED_ERR_DTYPE: p is neither f32 nor f64.
 * HEED_ERR_VALUE: num_samples is below 1; a probability is negative or not finite; a row has no
 * positive probability or, without replacement, fewer than num_samples (torch then also draws
 * categories of probability 0); with replacement, the sum of a row is not finite. */
heed_tensor *heed_multinomial(const heed_tensor *p, int64_t num_samples, bool replacement);

HEED_END_DECLS
#endif
