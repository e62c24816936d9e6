/* The Mersenne twister MT19937, and uniform and normal numbers made from its words.
 *
 * The twister is by Makoto Matsumoto and Takuji Nishimura (ACM TOMACS 8, 1998). Numbers match
 * PyTorch's CPU generator bit for bit, which dictates the order of draws, the masks, and where
 * operations are fused. */
#include "generator.h"

#include <math.h>
#include <string.h>

#include "../kernels/trig_f32.h"
#include "../processor.h"
#include "../thread.h"

enum { WORDS = HEED_GENERATOR_WORDS, MIDDLE = 397 };

/* Inlined into block_with_fma, to be compiled for FMA there. */
#define INLINE static inline __attribute__((always_inline))

static const uint64_t default_seed = 67280421310721; /* the seed of torch.Generator() */

/* ---- words ---- */

void heed_seed_generator(heed_generator *g, uint64_t seed)
{
    g->state[0] = (uint32_t)seed; /* torch also drops the upper half */
    for (uint32_t i = 1; i < WORDS; i++) {
        uint32_t last = g->state[i - 1];
        g->state[i] = 1812433253u * (last ^ last >> 30) + i;
    }
    g->seed = seed;
    g->next = WORDS;
    g->has_normal = false;
    g->seeded = true;
}

_Static_assert(sizeof(heed_generator) <= HEED_GENERATOR_SIZE, "see thread.h");

/* g; before its first use, it is zeros. */
static heed_generator *begun(heed_generator *g)
{
    if (!g->seeded) {
        g->flavor = HEED_RANDOM_TORCH_2;
        heed_seed_generator(g, default_seed);
    }
    return g;
}

heed_generator *heed_generator_of_thread(void)
{
    heed_thread_rest *rest = heed_rest_of_thread();
    if (rest == NULL) {
        heed_fail(HEED_ERR_MEMORY, "out of memory: no memory for the generator of this thread");
        return NULL;
    }
    return begun((heed_generator *)rest->generator);
}

/* The twister's step, for one word or a vector of four. */
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

/* Updates words i ... i + 3, from the words after them and those `far` away. */
static inline void mix_four(uint32_t *s, int i, int far)
{
    const four_words upper = load_four(s + i), lower = load_four(s + i + 1);
    const four_words mixed = MIX(upper, lower, load_four(s + i + far));
    memcpy(s + i, &mixed, sizeof mixed);
}

/* Replaces all words with the next ones. */
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
    for (; i < WORDS - 1; i += 4) { /* MIDDLE - 1 words, a multiple of 4 */
        mix_four(s, i, MIDDLE - WORDS);
    }
    s[i] = MIX(s[i], s[0], s[MIDDLE - 1]);
    g->next = 0;
}

/* The twister's tempering, for one word or a vector of four. */
#define TEMPER(word)                                                                               \
    do {                                                                                           \
        (word) ^= (word) >> 11;                                                                    \
        (word) ^= (word) << 7 & 0x9d2c5680u;                                                       \
        (word) ^= (word) << 15 & 0xefc60000u;                                                      \
        (word) ^= (word) >> 18;                                                                    \
    } while (0)

uint32_t heed_draw_u32(heed_generator *g)
{
    if (g->next == WORDS) {
        twist(g);
    }
    uint32_t word = g->state[g->next++];
    TEMPER(word);
    return word;
}

void heed_draw_words(heed_generator *g, uint32_t *words, int count)
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

uint64_t heed_draw_u64(heed_generator *g)
{
    uint64_t upper = heed_draw_u32(g);
    return upper << 32 | heed_draw_u32(g);
}

/* A fraction in [0, 1): the low bits of a draw, as many as the type's precision. */
float heed_draw_f32(heed_generator *g)
{
    return (float)(heed_draw_u32(g) & 0xffffffu) * 0x1p-24f;
}

double heed_draw_f64(heed_generator *g)
{
    return (double)(heed_draw_u64(g) & 0x1fffffffffffffu) * 0x1p-53;
}

/* ---- differences between the flavors of random.h ---- */

/* True if a * b + c rounds once. */
static inline bool is_fused(const heed_generator *g)
{
    return g->flavor == HEED_RANDOM_TORCH_1 || g->flavor == HEED_RANDOM_TORCH_2;
}

/* ---- uniform numbers ---- */

/* torch's compiler fuses x * span + low if the machine supports it. If low is 0, both forms round
 * the same, and avoiding fma saves a call. */
#define UNIFORM(dtype, type, fused_multiply_add)                                                   \
    void heed_fill_uniform_##dtype(heed_generator *g, void *out, int64_t count, int64_t step,      \
                                   double a, double b)                                             \
    {                                                                                              \
        type *to = out;                                                                            \
        const type low = (type)a, span = (type)b - low;                                            \
        const bool fused = is_fused(g) && low != 0;                                                \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const type x = heed_draw_##dtype(g);                                                   \
            to[i * step] = fused ? fused_multiply_add(x, span, low) : x * span + low;              \
        }                                                                                          \
    }

UNIFORM(f32, float, fmaf)
UNIFORM(f64, double, fma)

static const double two_pi = 6.283185307179586476925286766559;

/* ---- single normal numbers: Box-Muller, caching the second ---- */

static double draw_normal(heed_generator *g)
{
    if (g->has_normal) {
        g->has_normal = false;
        return g->normal;
    }
    double angle = two_pi * heed_draw_f64(g);
    double u = heed_draw_f64(g);
    double radius = sqrt(-2.0 * heed_log_of_rest(g, u));
    g->normal = radius * sin(angle);
    g->has_normal = true;
    return radius * cos(angle);
}

/* Computed in double even for a float target. */
#define NORMAL(dtype, type)                                                                        \
    void heed_fill_normal_##dtype(heed_generator *g, void *out, int64_t count, int64_t step,       \
                                  double a, double b)                                              \
    {                                                                                              \
        type *to = out;                                                                            \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const double x = draw_normal(g);                                                       \
            to[i * step] = (type)(is_fused(g) ? fma(x, b, a) : x * b + a);                         \
        }                                                                                          \
    }

NORMAL(f32, float)
NORMAL(f64, double)

/* ---- blocks of 16 normal numbers: 8 uniform numbers for radii, 8 for angles ----
 *
 * For blocks of floats, torch on x86 computes logarithm, sine and cosine with polynomials from
 * Stephen Moshier's Cephes library, as arranged by Julien Pommier's sse_mathfun and Giovanni
 * Garberoglio's avx_mathfun, with some multiply-adds fused by its compiler. They are written here
 * so that every rounding matches. Everything else uses libm, as torch does, except that sines and
 * cosines of floats are glibc's everywhere (trig_f32.h). */

/* ln x for 0 < x <= 1: x = m 2^e with m in [sqrt(1/2), sqrt(2)), and a polynomial in m - 1. */
INLINE float log_polynomial(float x)
{
    union {
        float value;
        uint32_t bits;
    } m = {x};
    int exponent = (int)(m.bits >> 23) - 126;
    m.bits = (m.bits & 0x007fffffu) | 0x3f000000u;
    bool low = m.value < 0.707106781186547524f;
    float e = (float)(low ? exponent - 1 : exponent);
    float t = m.value - 1.0f + (low ? m.value : 0.0f);
    float square = t * t;
    float y = 7.0376836292e-2f;
    y = fmaf(y, t, -1.1514610310e-1f);
    y = fmaf(y, t, 1.1676998740e-1f);
    y = fmaf(y, t, -1.2420140846e-1f);
    y = fmaf(y, t, 1.4249322787e-1f);
    y = fmaf(y, t, -1.6668057665e-1f);
    y = fmaf(y, t, 2.0000714765e-1f);
    y = fmaf(y, t, -2.4999993993e-1f);
    y = fmaf(y, t, 3.3333331174e-1f);
    y = fmaf(y * t, square, e * -2.12194440e-4f);
    y = fmaf(-square, 0.5f, y);
    return fmaf(e, 0.693359375f, t + y); /* ln 2 in two parts: the short, exact one is added last */
}

/* Sine and cosine of 0 <= x < 2 pi: the distance to the nearest multiple of pi/2, and two
 * polynomials in it, swapped and negated according to the quadrant. */
INLINE void sincos_polynomial(float x, float *sine, float *cosine)
{
    int octant = ((int)(x * 1.27323954473516f) + 1) & ~1;
    float y = (float)octant;
    x = fmaf(y, -0.78515625f, x); /* pi/4 in three parts */
    x = fmaf(y, -2.4187564849853515625e-4f, x);
    x = fmaf(y, -3.77489497744594108e-8f, x);
    float square = x * x;
    float c = fmaf(2.443315711809948e-5f, square, -1.388731625493765e-3f);
    c = fmaf(c, square, 4.166664568298827e-2f) * square;
    c = fmaf(c, square, -(square * 0.5f)) + 1.0f;
    float s = fmaf(-1.9515295891e-4f, square, 8.3321608736e-3f);
    s = fmaf(s, square, -1.6666654611e-1f) * square;
    s = fmaf(s, x, x);
    bool swap = (octant & 2) != 0;
    *sine = swap ? c : s;
    *cosine = swap ? s : c;
    *sine = (octant & 4) != 0 ? -*sine : *sine;
    *cosine = ((octant - 2) & 4) == 0 ? -*cosine : *cosine;
}

INLINE void block_by_polynomial(float *d, float mean, float std)
{
    float radius[8];
    for (int j = 0; j < 8; j++) {
        radius[j] = -2.0f * log_polynomial(1.0f - d[j]);
    }
    /* A separate loop, since sqrtf may set errno, which prevents vectorisation. */
    for (int j = 0; j < 8; j++) {
        radius[j] = sqrtf(radius[j]);
    }
    for (int j = 0; j < 8; j++) {
        float sine, cosine;
        sincos_polynomial((float)two_pi * d[j + 8], &sine, &cosine);
        d[j] = fmaf(radius[j] * cosine, std, mean);
        d[j + 8] = fmaf(radius[j] * sine, std, mean);
    }
}

/* Compiled for FMA; without it, fmaf is a library call. The results are bit-identical. */
#if defined __x86_64__
__attribute__((target("avx2,fma"))) static void block_with_fma(float *d, float mean, float std)
{
    block_by_polynomial(d, mean, std);
}
#endif

/* torch uses libm for doubles, and for floats where it has no vector code. Even there, torch 2
 * fuses the multiply-add of blocks, but not that of single numbers. */
static void block_by_libm_f32(const heed_generator *g, float *d, float mean, float std)
{
    const bool fused = g->flavor != HEED_RANDOM_TORCH_1_PLAIN;
    for (int j = 0; j < 8; j++) {
        float radius = sqrtf(-2.0f * logf(1.0f - d[j]));
        float angle = (float)(two_pi * (double)d[j + 8]);
        float x = radius * cos_f32(angle), y = radius * sin_f32(angle);
        d[j] = fused ? fmaf(x, std, mean) : x * std + mean;
        d[j + 8] = fused ? fmaf(y, std, mean) : y * std + mean;
    }
}

static void block_f64(const heed_generator *g, double *d, double mean, double std)
{
    const bool fused = g->flavor != HEED_RANDOM_TORCH_1_PLAIN;
    for (int j = 0; j < 8; j++) {
        double radius = sqrt(-2.0 * log(1.0 - d[j]));
        double angle = two_pi * d[j + 8];
        double x = radius * cos(angle), y = radius * sin(angle);
        d[j] = fused ? fma(x, std, mean) : x * std + mean;
        d[j + 8] = fused ? fma(y, std, mean) : y * std + mean;
    }
}

static void block_f32(const heed_generator *g, float *d, float mean, float std)
{
    if (!is_fused(g)) {
        block_by_libm_f32(g, d, mean, std);
        return;
    }
#if defined __x86_64__
    if (heed_isa()[0] == 'v') { /* v3 and v4 */
        block_with_fma(d, mean, std);
        return;
    }
#endif
    block_by_polynomial(d, mean, std);
}

/* torch draws all uniform numbers first. If the count is not a multiple of 16, it then draws the
 * last 16 elements again, overwriting the end of the last full block. */
#define NORMAL_BLOCKS(dtype, type)                                                                 \
    void heed_fill_normal_block_##dtype(heed_generator *g, void *out, int64_t count, int64_t step, \
                                        double a, double b)                                        \
    {                                                                                              \
        type *to = out, mean = (type)a, std = (type)b;                                             \
        heed_fill_uniform_##dtype(g, to, count, step, 0.0, 1.0);                                   \
        for (int64_t i = 0; i + 16 <= count; i += 16) {                                            \
            block_##dtype(g, to + i, mean, std);                                                   \
        }                                                                                          \
        if (count % 16 != 0) {                                                                     \
            heed_fill_uniform_##dtype(g, to + count - 16, 16, step, 0.0, 1.0);                     \
            block_##dtype(g, to + count - 16, mean, std);                                          \
        }                                                                                          \
    }

NORMAL_BLOCKS(f32, float)
NORMAL_BLOCKS(f64, double)

/* ---- the public functions of the thread's generator ---- */

void heed_manual_seed(uint64_t seed)
{
    heed_generator *g = heed_generator_of_thread();
    if (g != NULL) {
        heed_seed_generator(g, seed);
    }
}

heed_generator heed_get_generator(void)
{
    heed_generator unused = {.seeded = false};
    return *(heed_self.rest != NULL ? heed_generator_of_thread() : begun(&unused));
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
    if (generator->seeded && (generator->next < 0 || generator->next > HEED_GENERATOR_WORDS ||
                              !known_flavor(generator->flavor))) {
        return heed_fail(HEED_ERR_VALUE,
                         "set_generator: next is %d and flavor %d, which is invalid; pass a "
                         "value returned by heed_get_generator",
                         generator->next, (int)generator->flavor);
    }
    heed_generator *g = heed_generator_of_thread();
    if (g != NULL) {
        *g = *generator;
    }
    return heed_self.error;
}

heed_status heed_set_random_flavor(heed_random_flavor flavor)
{
    if (!known_flavor(flavor)) {
        return heed_fail(HEED_ERR_VALUE,
                         "set_random_flavor: %d is not a flavor; random.h lists them", (int)flavor);
    }
    heed_generator *g = heed_generator_of_thread();
    if (g != NULL) {
        g->flavor = flavor;
    }
    return heed_self.error;
}
