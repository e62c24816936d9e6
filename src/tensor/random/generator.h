/* Each thread's generator: the words of the Mersenne twister, and the arrays of numbers that
 * PyTorch makes from them (internal).
 */
#ifndef HEED_TENSOR_GENERATOR_H
#define HEED_TENSOR_GENERATOR_H

#include <math.h>

#include "random.h"

/* heed_generator_of_thread: this thread's generator; if not yet seeded, seeds it as torch does.
 * NULL, with HEED_ERR_MEMORY pending, if memory ran out; never in a function that has created a
 * tensor or called heed_check_random_target.
 * heed_seed_generator: restarts g with `seed`, keeping the flavor. */
heed_generator *heed_generator_of_thread(void);
void heed_seed_generator(heed_generator *g, uint64_t seed);

/* heed_draw_words: the next `count` words. heed_draw_u32, heed_draw_u64: the next word, the next
 * two words. heed_draw_f32 (one word), heed_draw_f64 (two words): uniform in [0, 1). */
void heed_draw_words(heed_generator *g, uint32_t *words, int count);
uint32_t heed_draw_u32(heed_generator *g);
uint64_t heed_draw_u64(heed_generator *g);
float heed_draw_f32(heed_generator *g);
double heed_draw_f64(heed_generator *g);

/* A fill writes `count` numbers to `out`, `step` elements apart, in the order drawn: between a and
 * b, or with mean a and standard deviation b. */
typedef void heed_random_fill(heed_generator *g, void *out, int64_t count, int64_t step, double a,
                              double b);

heed_random_fill heed_fill_uniform_f32, heed_fill_uniform_f64;
heed_random_fill heed_fill_bernoulli_f32, heed_fill_bernoulli_f64;
heed_random_fill heed_fill_bernoulli_i64, heed_fill_bernoulli_bool;

/* heed_fill_normal_*: single normal numbers, using the cached second number of a pair.
 * heed_fill_normal_block_*: torch's method for 16 or more contiguous elements (step 1), without the
 * cache. */
heed_random_fill heed_fill_normal_f32, heed_fill_normal_f64;
heed_random_fill heed_fill_normal_block_f32, heed_fill_normal_block_f64;

/* The fill for each dtype; NULL if not supported. */
typedef heed_random_fill *const heed_random_fills[HEED_DTYPES];

/* For functions that fill a tensor (uniform_normal.c). heed_check_random_dtype: f32 or f64.
 * heed_check_random_target: a tensor that can be overwritten, of a dtype that has a fill.
 * heed_fill_random: fills t, in the order in which torch does. heed_fill_standard: the same with
 * numbers that are uniform in [0, 1), or normal with mean 0 and standard deviation 1;
 * heed_draw_standard: a new tensor of them. */
heed_status heed_check_random_dtype(const char *function, heed_dtype dtype);
heed_status heed_check_random_target(const char *function, const heed_tensor *t,
                                     heed_random_fills fill);
void heed_fill_random(const heed_tensor *t, heed_random_fill *fill, double a, double b);
void heed_fill_standard(const heed_tensor *t, bool is_normal);
heed_tensor *heed_draw_standard(const char *function, heed_shape shape, heed_dtype dtype,
                                bool is_normal);

/* heed_random_torch_2: true for the flavors of torch 2.
 * heed_log_of_rest: ln(1 - u) for a draw u. */
static inline bool heed_random_torch_2(const heed_generator *g)
{
    return g->flavor == HEED_RANDOM_TORCH_2 || g->flavor == HEED_RANDOM_TORCH_2_PLAIN;
}

static inline double heed_log_of_rest(const heed_generator *g, double u)
{
    return heed_random_torch_2(g) ? log1p(-u) : log(1.0 - u);
}

#endif
