/* The state of a random number generator, as a value that can be saved and compared. */
#ifndef HEED_TENSOR_STATE_H
#define HEED_TENSOR_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "../error.h"

HEED_BEGIN_DECLS

/* The PyTorch whose numbers are drawn; docs/pytorch.md lists the versions that were compared. All
 * draw the same words; the numbers made of them differ.
 * _PLAIN takes libm's logf, sinf and cosf for 16 and more normal floats, and rounds each product
 * before it adds (2_PLAIN does not when it scales these), so that about every third float differs
 * in its last bits. In 2 a heed_randint over 2^28 or more numbers, in 1 over 2^32 or more, draws
 * two words for each. 2 differs in the last bit of some f64 normal and exponential numbers. It
 * differs altogether in heed_multinomial of one sample with replacement, in heed_randperm of 2^32 /
 * 20 or more numbers, and in heed_dropout of a tensor that is not contiguous. */
typedef enum heed_random_flavor {
    HEED_RANDOM_TORCH_1,       /* 1.13 on x86 with AVX2 or AVX-512: the default */
    HEED_RANDOM_TORCH_2,       /* 2.7 to 2.15 there */
    HEED_RANDOM_TORCH_1_PLAIN, /* 1.13 with ATEN_CPU_CAPABILITY=default */
    HEED_RANDOM_TORCH_2_PLAIN, /* 2.13 to 2.15 likewise; on ARM torch is close to this */
} heed_random_flavor;

/* The Mersenne twister MT19937 with the state that torch keeps beside it. */
enum { HEED_GENERATOR_WORDS = 624 };

typedef struct heed_generator {
    uint32_t state[HEED_GENERATOR_WORDS];
    int next;        /* word to hand out; HEED_GENERATOR_WORDS: twist first */
    bool has_normal; /* the second number of a Box-Muller pair waits in normal */
    bool seeded;
    double normal;
    heed_random_flavor flavor;
    uint64_t seed; /* it started from */
} heed_generator;

HEED_END_DECLS
#endif
