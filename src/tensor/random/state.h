/* The state of a random number generator, as a value that can be saved and compared. */
#ifndef HEED_TENSOR_STATE_H
#define HEED_TENSOR_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "../error.h"

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
    HEED_RANDOM_TORCH_1,       /* 1.13 on x86 with AVX2 or AVX-512: the default */
    HEED_RANDOM_TORCH_2,       /* 2.7 to 2.15 on the same machines */
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

HEED_END_DECLS
#endif
