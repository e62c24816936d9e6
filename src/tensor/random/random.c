/* Random numbers, as PyTorch draws them: the Mersenne twister MT19937 by Makoto Matsumoto and
 * Takuji Nishimura (ACM TOMACS 8, 1998), one for each thread, and tensors of uniform and normal
 * numbers, integers, permutations, masks and multinomial draws. PyTorch dictates the order of draws
 * and where multiply-adds are fused.
 *
 * Everything that can fail comes before the first draw, so a failing call draws nothing. */
#include "../tensor.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { WORDS = 624, MIDDLE = 397, BLOCK = 16, DRAWS = 256 };

static const uint64_t default_seed = 67280421310721; /* the seed of torch.Generator() */

/* ---- words ---- */

static void seed_generator(heed_generator *g, uint64_t seed)
{
    g->state[0] = (uint32_t)seed; /* torch also drops the upper half */
    for (uint32_t i = 1; i < WORDS; i++) {
        uint32_t last = g->state[i - 1];
        g->state[i] = 1812433253u * (last ^ last >> 30) + i;
    }
    g->seed = seed;
    g->next = WORDS;
    g->has_normal = false;
    g->normal = 0;
    g->seeded = true;
}

/* NULL without memory, if no door is open. */
static heed_generator *generator_of_thread(void)
{
    heed_thread_rest *rest = heed_rest_of_thread();
    if (rest == NULL) {
        heed_fail(HEED_ERR_MEMORY, "out of memory: no memory for the generator of this thread");
        return NULL;
    }
    heed_generator *g = &rest->generator;
    if (!g->seeded) {
        seed_generator(g, default_seed);
    }
    return g;
}

/* Updates word i from the next one and one `far` away. */
static inline void mix(uint32_t *s, int i, int next, int far)
{
    const uint32_t word = (s[i] & 0x80000000u) | (s[next] & 0x7fffffffu);
    s[i] = s[far] ^ word >> 1 ^ (0x9908b0dfu & (0u - (word & 1u)));
}

static void twist(heed_generator *g)
{
    uint32_t *s = g->state;
    for (int i = 0; i < WORDS - MIDDLE; i++) {
        mix(s, i, i + 1, i + MIDDLE);
    }
    for (int i = WORDS - MIDDLE; i < WORDS - 1; i++) {
        mix(s, i, i + 1, i + MIDDLE - WORDS);
    }
    mix(s, WORDS - 1, 0, MIDDLE - 1);
    g->next = 0;
}

static inline uint32_t temper(uint32_t word)
{
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680u;
    word ^= word << 15 & 0xefc60000u;
    return word ^ word >> 18;
}

static inline uint32_t draw_u32(heed_generator *g)
{
    if (g->next == WORDS) {
        twist(g);
    }
    return temper(g->state[g->next++]);
}

#ifndef __clang__
__attribute__((optimize("O3"))) /* halves the time of dropout */
#endif
static void
draw_words(heed_generator *g, uint32_t *words, int count)
{
    while (count > 0) {
        if (g->next == WORDS) {
            twist(g);
        }
        const int left = WORDS - g->next, part = count < left ? count : left;
        const uint32_t *from = g->state + g->next;
        for (int i = 0; i < part; i++) {
            words[i] = temper(from[i]);
        }
        g->next += part;
        words += part;
        count -= part;
    }
}

static uint64_t draw_u64(heed_generator *g)
{
    uint64_t upper = draw_u32(g);
    return upper << 32 | draw_u32(g);
}

/* ---- seeds, and the generator as a value ---- */

void heed_manual_seed(uint64_t seed)
{
    heed_generator *g = generator_of_thread();
    if (g != NULL) {
        seed_generator(g, seed);
    }
}

heed_generator heed_get_generator(void)
{
    const heed_generator *g = generator_of_thread();
    return g != NULL ? *g : (heed_generator){.seeded = false};
}

heed_status heed_set_generator(const heed_generator *generator)
{
    if (generator == NULL || generator->next < 0 || generator->next > WORDS) {
        return heed_fail(generator == NULL ? HEED_ERR_NULL : HEED_ERR_VALUE,
                         "set_generator: not a value returned by heed_get_generator");
    }
    heed_generator *g = generator_of_thread();
    if (g != NULL) {
        *g = *generator;
    }
    return heed_self.error;
}

/* Inlined into block_with_fma, to be compiled for FMA there. */
#define INLINE static inline __attribute__((always_inline))

/* ---- uniform numbers: the low bits of a draw, as many as the type's precision ---- */

static double draw_f64(heed_generator *g)
{
    return (double)(draw_u64(g) & 0x1fffffffffffffu) * 0x1p-53;
}

/* Fills `count` elements of t, starting at `first`. If low is 0, a fused multiply-add rounds the
 * same. */
static void fill_uniform(heed_generator *g, heed_tensor *t, int64_t first, int64_t count,
                         double low, double high)
{
    if (t->dtype == HEED_F32) {
        float *to = (float *)t->data + first;
        const float start = (float)low, span = (float)high - start;
        for (int64_t i = 0; i < count; i++) {
            const float x = (float)(draw_u32(g) & 0xffffffu) * 0x1p-24f;
            to[i] = start != 0 ? fmaf(x, span, start) : x * span;
        }
    } else {
        double *to = (double *)t->data + first;
        for (int64_t i = 0; i < count; i++) {
            const double x = draw_f64(g);
            to[i] = low != 0 ? fma(x, high - low, low) : x * high;
        }
    }
}

/* ---- single normal numbers: Box-Muller in double, caching the second ---- */

static const double two_pi = 6.283185307179586476925286766559;

static double draw_normal(heed_generator *g)
{
    if (g->has_normal) {
        g->has_normal = false;
        return g->normal;
    }
    double angle = two_pi * draw_f64(g);
    double radius = sqrt(-2.0 * log1p(-draw_f64(g)));
    g->normal = radius * sin(angle);
    g->has_normal = true;
    return radius * cos(angle);
}

/* ---- blocks of 16 normal numbers: 8 uniform numbers for radii, 8 for angles ----
 *
 * For blocks of floats, torch on x86 computes logarithm, sine and cosine with polynomials from
 * Stephen Moshier's Cephes library, as arranged by Julien Pommier's sse_mathfun and Giovanni
 * Garberoglio's avx_mathfun, with some multiply-adds fused by its compiler. They are written here
 * so that every rounding matches. Doubles use libm, as in torch. */

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

INLINE void block_f32(float *d, float mean, float std)
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
    block_f32(d, mean, std);
}
#endif

static void block_f64(double *d, double mean, double std)
{
    for (int j = 0; j < 8; j++) {
        double radius = sqrt(-2.0 * log(1.0 - d[j]));
        double angle = two_pi * d[j + 8];
        d[j] = fma(radius * cos(angle), std, mean);
        d[j + 8] = fma(radius * sin(angle), std, mean);
    }
}

/* Turns 16 uniform numbers, starting at `first`, into normal numbers. */
static void make_normal(heed_tensor *t, int64_t first, double mean, double std)
{
    float *d = (float *)t->data + first;
    if (t->dtype == HEED_F64) {
        block_f64((double *)t->data + first, mean, std);
        return;
    }
#if defined __x86_64__
    if (heed_chosen_isa > 0) { /* v3 and v4 */
        block_with_fma(d, (float)mean, (float)std);
        return;
    }
#endif
    block_f32(d, (float)mean, (float)std);
}

/* torch draws all uniform numbers first. If the count is not a multiple of 16, it then draws the
 * last 16 elements again, overwriting the end of the last full block. */
static void fill_normal(heed_generator *g, heed_tensor *t, double mean, double std)
{
    if (t->numel < BLOCK) {
        for (int64_t i = 0; i < t->numel; i++) {
            heed_set_number_at(t, i, fma(draw_normal(g), std, mean));
        }
        return;
    }
    fill_uniform(g, t, 0, t->numel, 0.0, 1.0);
    for (int64_t i = 0; i + BLOCK <= t->numel; i += BLOCK) {
        make_normal(t, i, mean, std);
    }
    if (t->numel % BLOCK != 0) {
        fill_uniform(g, t, t->numel - BLOCK, BLOCK, 0.0, 1.0);
        make_normal(t, t->numel - BLOCK, mean, std);
    }
}

/* ---- new tensors, and tensors filled in place ---- */

static heed_tensor *create_float(const char *function, const heed_shape *shape, heed_dtype dtype)
{
    if (!heed_is_float(dtype)) {
        heed_raise(HEED_ERR_DTYPE, "%s: dtype %s; use f32 or f64, or heed_randint for i64",
                   function, heed_dtype_name(dtype));
    }
    return heed_tensor_new(function, shape, dtype);
}

heed_tensor *heed_rand(heed_shape shape, heed_dtype dtype)
{
    HEED_DOOR(NULL);
    heed_tensor *t = create_float("rand", &shape, dtype);
    fill_uniform(generator_of_thread(), t, 0, t->numel, 0.0, 1.0);
    return t;
}

heed_tensor *heed_randn(heed_shape shape, heed_dtype dtype)
{
    HEED_DOOR(NULL);
    heed_tensor *t = create_float("randn", &shape, dtype);
    fill_normal(generator_of_thread(), t, 0.0, 1.0);
    return t;
}

static heed_generator *begin_filling(const char *function, const heed_tensor *t)
{
    heed_check_tensor(function, "t", t);
    if (!heed_is_float(t->dtype) || !heed_is_row_major(t)) {
        heed_raise(heed_is_float(t->dtype) ? HEED_ERR_SHAPE : HEED_ERR_DTYPE,
                   "%s: t, %s of shape %s, must be f32 or f64, and contiguous", function,
                   heed_dtype_name(t->dtype), HEED_TEXT(t));
    }
    return generator_of_thread();
}

/* True if the dtype of t can represent both numbers. */
static bool fits(const heed_tensor *t, double a, double b)
{
    double largest = t->dtype == HEED_F32 ? (double)FLT_MAX : DBL_MAX;
    return fabs(a) <= largest && fabs(b) <= largest; /* false for NaN */
}

heed_status heed_uniform_into(heed_tensor *t, double low, double high)
{
    HEED_DOOR(heed_self.error);
    heed_generator *g = begin_filling("uniform_into", t);
    if (!(low <= high) || !fits(t, low, high) || !fits(t, high - low, 0.0)) {
        heed_raise(HEED_ERR_VALUE,
                   "uniform_into: from %g to %g in %s; low must not be above high, and low, high "
                   "and high - low must be finite",
                   low, high, heed_dtype_name(t->dtype));
    }
    heed_raise_version(t);
    fill_uniform(g, t, 0, t->numel, low, high);
    return HEED_OK;
}

heed_status heed_normal_into(heed_tensor *t, double mean, double std)
{
    HEED_DOOR(heed_self.error);
    heed_generator *g = begin_filling("normal_into", t);
    if (!(std >= 0.0) || !fits(t, mean, std)) {
        heed_raise(HEED_ERR_VALUE,
                   "normal_into: mean %g and std %g in %s; both must be finite, and std must not "
                   "be negative",
                   mean, std, heed_dtype_name(t->dtype));
    }
    heed_raise_version(t);
    fill_normal(g, t, mean, std);
    return HEED_OK;
}

/* ---- integers ---- */

heed_tensor *heed_randint(int64_t low, int64_t high, heed_shape shape)
{
    HEED_DOOR(NULL);
    if (low >= high) {
        heed_raise(HEED_ERR_VALUE, "randint: low %lld is not below high %lld; high is exclusive",
                   (long long)low, (long long)high);
    }
    heed_tensor *t = heed_tensor_new("randint", &shape, HEED_I64);
    heed_generator *g = generator_of_thread();
    int64_t *to = t->data;
    /* Draws one word, or two if the remainder of one would be too biased. */
    const uint64_t range = (uint64_t)high - (uint64_t)low;
    for (int64_t i = 0; i < t->numel; i++) {
        const uint64_t drawn = range >> 28 != 0 ? draw_u64(g) : draw_u32(g);
        to[i] = (int64_t)(drawn % range + (uint64_t)low);
    }
    return t;
}

heed_tensor *heed_randperm(int64_t n)
{
    HEED_DOOR(NULL);
    if (n < 0) {
        heed_raise(HEED_ERR_VALUE, "randperm: n is %lld; it must be 0 or more", (long long)n);
    }
    heed_tensor *t = heed_tensor_new("randperm", &HEED_SHAPE(n), HEED_I64);
    heed_generator *g = generator_of_thread();
    int64_t *to = t->data;
    for (int64_t i = 0; i < n; i++) {
        to[i] = i;
    }
    for (int64_t i = 0; i < n - 1; i++) {
        const int64_t j = i + (int64_t)(draw_u32(g) % (uint64_t)(n - i)), moved = to[i];
        to[i] = to[j];
        to[j] = moved;
    }
    return t;
}

/* ---- masks ---- */

/* The fraction drawn is below `kept` if its 53 bits are below kept * 2^53. */
void heed_fill_mask(heed_tensor *mask, double kept)
{
    heed_generator *g = generator_of_thread();
    const int64_t limit = (int64_t)ceil(kept * 0x1p53);
    const float f32[2] = {0, 1 / (float)kept}; /* a branch would be mispredicted */
    const double f64[2] = {0, 1 / kept};
    uint32_t words[2 * DRAWS];
    for (int64_t start = 0; start < mask->numel; start += DRAWS) {
        const int64_t left = mask->numel - start, part = left < DRAWS ? left : DRAWS;
        draw_words(g, words, 2 * (int)part);
        for (int64_t i = 0; i < part; i++) {
            const int64_t upper = words[2 * i] & 0x1fffffu;
            const bool is_kept = (upper << 32 | words[2 * i + 1]) < limit;
            if (mask->dtype == HEED_F32) {
                ((float *)mask->data)[start + i] = f32[is_kept];
            } else {
                ((double *)mask->data)[start + i] = f64[is_kept];
            }
        }
    }
}

/* ---- multinomial ----
 *
 * As in torch, the categories race: each gets an exponentially distributed time q / p, where q is
 * exponential with rate 1. The first to finish is a draw with these probabilities; the next ones
 * are draws without replacement. So the categories with the largest p / q are drawn. */

static void check_probabilities(const heed_tensor *p, int64_t row, int64_t categories,
                                int64_t num_samples)
{
    int64_t possible = 0;
    for (int64_t i = 0; i < categories; i++) {
        const double x = heed_number_at(p, row * categories + i);
        if (!(x >= 0.0 && x <= DBL_MAX)) { /* true for NaN */
            heed_raise(HEED_ERR_VALUE,
                       "multinomial: the probability of category %lld in row %lld of p %s is %g; "
                       "apply heed_softmax to scores",
                       (long long)i, (long long)row, HEED_TEXT(p), x);
        }
        possible += x > 0.0;
    }
    if (num_samples < 1 || num_samples > possible) {
        heed_raise(HEED_ERR_VALUE,
                   "multinomial: %lld samples of row %lld of p %s, where %lld probabilities are "
                   "above 0; draw 1 to as many",
                   (long long)num_samples, (long long)row, HEED_TEXT(p), (long long)possible);
    }
}

/* Replaces each probability by its speed p / q, rounded as in the dtype; 0 by -1, which loses. */
static void start_race(heed_tensor *p)
{
    heed_generator *g = generator_of_thread();
    for (int64_t i = 0; i < p->numel; i++) {
        const double q = -log1p(-draw_f64(g)), x = heed_number_at(p, i);
        const double time = p->dtype == HEED_F32 ? (double)(float)q : q;
        heed_set_number_at(p, i, x > 0.0 ? x / time : -1.0);
    }
}

heed_tensor *heed_multinomial(const heed_tensor *p, int64_t num_samples)
{
    HEED_DOOR(NULL);
    heed_check_tensor("multinomial", "p", p);
    if (!heed_is_float(p->dtype) || (p->ndim != 1 && p->ndim != 2)) {
        heed_raise(heed_is_float(p->dtype) ? HEED_ERR_SHAPE : HEED_ERR_DTYPE,
                   "multinomial: p is %s of shape %s; give f32 or f64 probabilities (n), or rows "
                   "of them (rows, n)",
                   heed_dtype_name(p->dtype), HEED_TEXT(p));
    }
    const int64_t rows = p->ndim == 2 ? p->shape[0] : 1, n = p->shape[p->ndim - 1];
    const heed_shape shape = p->ndim == 2 ? HEED_SHAPE(rows, num_samples) : HEED_SHAPE(num_samples);
    heed_tensor *t = heed_tensor_new("multinomial", &shape, HEED_I64);
    const heed_frame frame = heed_frame_begin(false);
    heed_tensor *speed = heed_tensor_like(p);
    heed_copy_elements(p, speed);
    for (int64_t row = 0; row < rows; row++) {
        check_probabilities(speed, row, n, num_samples);
    }
    start_race(speed);
    for (int64_t i = 0; i < t->numel; i++) {
        const int64_t first = i / num_samples * n;
        int64_t best = first;
        double fastest = -1.0;
        for (int64_t at = first; at < first + n; at++) {
            const double x = heed_number_at(speed, at);
            if (x > fastest) {
                fastest = x;
                best = at;
            }
        }
        ((int64_t *)t->data)[i] = best - first;
        heed_set_number_at(speed, best, -1.0);
    }
    heed_frame_end(frame);
    return t;
}
