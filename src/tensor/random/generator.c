/* The Mersenne twister MT19937, its uniform, Bernoulli and exponential numbers, and each thread's generator.
 *
 * The twister is Makoto Matsumoto's and Takuji Nishimura's (ACM TOMACS 8, 1998). What is made of
 * its words follows PyTorch's CPU generator to the bit, so the order of the draws, the masks and
 * which sums round once are not free. Normal numbers are in normal.c. */
#include "generator.h"

#include <string.h>

#include "../thread.h"

enum { WORDS = 624, MIDDLE = 397 };

static const uint64_t default_seed = 67280421310721; /* of a torch.Generator() */

/* ---- words ---- */

static void seed_words(heed_generator *g, uint64_t seed)
{
    g->state[0] = (uint32_t)seed; /* torch drops the upper half too */
    for (uint32_t i = 1; i < WORDS; i++) {
        uint32_t last = g->state[i - 1];
        g->state[i] = 1812433253u * (last ^ last >> 30) + i;
    }
    g->seed = seed;
    g->next = WORDS;
    g->has_normal = false;
    g->seeded = true;
}

/* One word or four: what this does is the same for both. */
#define MIX(upper, lower, far)                                                                     \
    ((far) ^ (((upper)&0x80000000u) | ((lower)&0x7fffffffu)) >> 1 ^                                \
     (0x9908b0dfu & (0u - ((lower)&1u))))

typedef uint32_t four_words __attribute__((vector_size(16)));

static inline four_words load_four(const uint32_t *from)
{
    four_words words;
    memcpy(&words, from, sizeof words);
    return words;
}

/* Words i ... i + 3, from those behind them and those that are `far` away. */
static inline void mix_four(uint32_t *s, int i, int far)
{
    const four_words upper = load_four(s + i), lower = load_four(s + i + 1);
    const four_words mixed = MIX(upper, lower, load_four(s + i + far));
    memcpy(s + i, &mixed, sizeof mixed);
}

/* Replaces all words by the next ones. */
static void twist(heed_generator *g)
{
    uint32_t *s = g->state;
    int i = 0;
    for (; i + 4 <= WORDS - MIDDLE; i += 4) {
        mix_four(s, i, MIDDLE);
    }
    for (; i < WORDS - MIDDLE; i++) {
        s[i] = MIX(s[i], s[i + 1], s[i + MIDDLE]);
    }
    for (; i + 4 <= WORDS - 1; i += 4) {
        mix_four(s, i, MIDDLE - WORDS);
    }
    for (; i < WORDS - 1; i++) {
        s[i] = MIX(s[i], s[i + 1], s[i + MIDDLE - WORDS]);
    }
    s[i] = MIX(s[i], s[0], s[MIDDLE - 1]);
    g->next = 0;
}

/* The bits of words, one or four, spread. */
#define TEMPER(word)                                                                               \
    do {                                                                                           \
        (word) ^= (word) >> 11;                                                                    \
        (word) ^= (word) << 7 & 0x9d2c5680u;                                                       \
        (word) ^= (word) << 15 & 0xefc60000u;                                                      \
        (word) ^= (word) >> 18;                                                                    \
    } while (0)

static inline uint32_t draw_word(heed_generator *g)
{
    if (g->next == WORDS) {
        twist(g);
    }
    uint32_t word = g->state[g->next++];
    TEMPER(word);
    return word;
}

/* The next `count` words. */
static void draw_words(heed_generator *g, uint32_t *words, int count)
{
    while (count > 0) {
        if (g->next == WORDS) {
            twist(g);
        }
        const int left = WORDS - g->next, part = count < left ? count : left;
        const uint32_t *from = g->state + g->next;
        int i = 0;
        for (; i + 4 <= part; i += 4) {
            four_words four = load_four(from + i);
            TEMPER(four);
            memcpy(words + i, &four, sizeof four);
        }
        for (; i < part; i++) {
            words[i] = from[i];
            TEMPER(words[i]);
        }
        g->next += part;
        words += part;
        count -= part;
    }
}

static inline uint64_t draw_two_words(heed_generator *g)
{
    uint64_t upper = draw_word(g);
    return upper << 32 | draw_word(g);
}

/* As many low bits of the draw as the type has digits, as a fraction. */
static inline float draw_float(heed_generator *g)
{
    return (float)(draw_word(g) & 0xffffffu) * 0x1p-24f;
}

static inline double draw_double(heed_generator *g)
{
    return (double)(draw_two_words(g) & 0x1fffffffffffffu) * 0x1p-53;
}

uint32_t heed_draw_u32(heed_generator *g)
{
    return draw_word(g);
}

uint64_t heed_draw_u64(heed_generator *g)
{
    return draw_two_words(g);
}

float heed_draw_f32(heed_generator *g)
{
    return draw_float(g);
}

double heed_draw_f64(heed_generator *g)
{
    return draw_double(g);
}

/* ---- fills ---- */

/* torch's compiler makes x * span + low one fused operation where the machine has it. With low 0
 * both round the same, and rand need not pay for a call of fma. */
void heed_fill_uniform_f32(heed_generator *g, void *out, int64_t count, int64_t step, double a,
                           double b)
{
    float *to = out, low = (float)a, span = (float)b - low;
    bool fused = heed_random_fused(g) && low != 0.0f;
    for (int64_t i = 0; i < count; i++) {
        float x = draw_float(g);
        to[i * step] = fused ? fmaf(x, span, low) : x * span + low;
    }
}

void heed_fill_uniform_f64(heed_generator *g, void *out, int64_t count, int64_t step, double a,
                           double b)
{
    double *to = out, span = b - a;
    bool fused = heed_random_fused(g) && a != 0.0;
    for (int64_t i = 0; i < count; i++) {
        double x = draw_double(g);
        to[i * step] = fused ? fma(x, span, a) : x * span + a;
    }
}

/* Is a draw's fraction below a? Its 53 bits are below a 2^53: that needs no float, and a block at a time
 * becomes vectors. */
enum { DRAWS = 256 };

#define BERNOULLI(dtype, type)                                                                     \
    void heed_fill_bernoulli_##dtype(heed_generator *g, void *out, int64_t count, int64_t step,    \
                                     double a, double b)                                           \
    {                                                                                              \
        type *to = out;                                                                            \
        const type value[2] = {0, (type)b}; /* no branch, which nobody can foretell */             \
        const int64_t limit = (int64_t)ceil(a * 0x1p53);                                           \
        uint32_t words[2 * DRAWS];                                                                 \
        for (int64_t start = 0; start < count; start += DRAWS, to += step * DRAWS) {               \
            const int part = count - start < DRAWS ? (int)(count - start) : DRAWS;                 \
            draw_words(g, words, 2 * part);                                                        \
            for (int i = 0; i < part; i++) {                                                       \
                const uint32_t upper = words[2 * i] & 0x1fffffu, lower = words[2 * i + 1];         \
                to[i * step] = value[((int64_t)upper << 32 | lower) < limit];                      \
            }                                                                                      \
        }                                                                                          \
    }

BERNOULLI(f32, float)
BERNOULLI(f64, double)
BERNOULLI(i64, int64_t)
BERNOULLI(bool, bool)

/* Also with a float target torch computes in double, and rounds at the end. */
#define EXPONENTIAL(dtype, type)                                                                   \
    void heed_fill_exponential_##dtype(heed_generator *g, void *out, int64_t count, int64_t step,  \
                                       double a, double b)                                         \
    {                                                                                              \
        type *to = out;                                                                            \
        (void)b;                                                                                   \
        for (int64_t i = 0; i < count; i++) {                                                      \
            to[i * step] = (type)(-1.0 / a * heed_log_of_rest(g, draw_double(g)));                 \
        }                                                                                          \
    }

EXPONENTIAL(f32, float)
EXPONENTIAL(f64, double)

/* ---- the generator of a thread ---- */

heed_generator *heed_generator_of_thread(void)
{
    heed_generator *g = &heed_self.generator;
    if (!g->seeded) {
        seed_words(g, default_seed);
    }
    return g;
}

void heed_manual_seed(uint64_t seed)
{
    seed_words(&heed_self.generator, seed);
}

heed_generator heed_get_generator(void)
{
    return *heed_generator_of_thread();
}

static bool known_flavor(heed_random_flavor flavor)
{
    return (unsigned)flavor <= HEED_RANDOM_TORCH_2_PLAIN;
}

heed_status heed_set_generator(const heed_generator *generator)
{
    if (generator == NULL) {
        return heed_fail(HEED_ERR_NULL, "set_generator: generator is NULL");
    }
    if (generator->seeded &&
        (generator->next < 0 || generator->next > WORDS || !known_flavor(generator->flavor))) {
        return heed_fail(HEED_ERR_VALUE,
                         "set_generator: next is %d and flavor %d, which no generator has; give "
                         "what heed_get_generator returned",
                         generator->next, (int)generator->flavor);
    }
    heed_self.generator = *generator;
    return heed_self.error;
}

heed_status heed_set_random_flavor(heed_random_flavor flavor)
{
    if (!known_flavor(flavor)) {
        return heed_fail(HEED_ERR_VALUE, "set_random_flavor: %d is no flavor; see random.h",
                         (int)flavor);
    }
    heed_self.generator.flavor = flavor;
    return heed_self.error;
}
