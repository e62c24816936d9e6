/* Each thread's generator: the words of the Mersenne twister, and arrays of numbers made of them as
 * PyTorch makes them (internal). Sees memory, never a tensor.
 */
#ifndef HEED_TENSOR_GENERATOR_H
#define HEED_TENSOR_GENERATOR_H

#include "state.h"

/* heed_generator_of_thread: this thread's generator, seeded as torch's if it was not seeded.
 * heed_seed_generator: starts g again from `seed`; the flavor stays. */
heed_generator *heed_generator_of_thread(void);
void heed_seed_generator(heed_generator *g, uint64_t seed);

/* heed_draw_*: the next word, two words, and a float (one word) or double (two words) uniform in
 * [0, 1). */
uint32_t heed_draw_u32(heed_generator *g);
uint64_t heed_draw_u64(heed_generator *g);
float heed_draw_f32(heed_generator *g);
double heed_draw_f64(heed_generator *g);

/* A fill writes `count` numbers to `out`, `step` elements apart, in the order of the draws. a and b
 * are
 *
 *   uniform        low and high
 *   bernoulli      a probability, and the value drawn with it; the others are 0
 *   exponential    the rate; b is ignored
 *   normal         mean and standard deviation */
typedef void heed_random_fill(heed_generator *g, void *out, int64_t count, int64_t step, double a,
                              double b);

heed_random_fill heed_fill_uniform_f32, heed_fill_uniform_f64;
heed_random_fill heed_fill_bernoulli_f32, heed_fill_bernoulli_f64;
heed_random_fill heed_fill_bernoulli_i64, heed_fill_bernoulli_bool;
heed_random_fill heed_fill_exponential_f32, heed_fill_exponential_f64;

/* Normal numbers one by one, with the generator's cached second of a pair; and as torch makes 16 or
 * more at once in contiguous memory (step is 1), without the cache. */
heed_random_fill heed_fill_normal_f32, heed_fill_normal_f64;
heed_random_fill heed_fill_normal_block_f32, heed_fill_normal_block_f64;

/* heed_random_torch_2: the flavors of torch 2 (state.h). */
static inline bool heed_random_torch_2(const heed_generator *g)
{
    return g->flavor == HEED_RANDOM_TORCH_2 || g->flavor == HEED_RANDOM_TORCH_2_PLAIN;
}

#endif
