/* Normal numbers from uniform ones by the method of Box and Muller, in PyTorch's two ways: one by
 * one with a cached second, and in blocks of 16.
 *
 * In the blocks of floats, torch on x86 takes logarithm, sine and cosine from polynomials of
 * Stephen Moshier's Cephes library, in the arrangement of Julien Pommier's sse_mathfun and Giovanni
 * Garberoglio's avx_mathfun, with the multiply-adds that its compiler fuses. They are written anew
 * here so that each rounding is the same; everything else relies on libm, as torch does. */
#include "../isa.h"
#include "generator.h"

/* Into the variant below that is compiled for machines with fma, and so with it. */
#define INLINE static inline __attribute__((always_inline))

static const double two_pi = 6.283185307179586476925286766559;

/* ---- one by one ---- */

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

/* Also with a float target torch computes in double, and rounds at the end. */
static double draw_scaled(heed_generator *g, double mean, double std)
{
    double x = draw_normal(g);
    return heed_random_fused(g) ? fma(x, std, mean) : x * std + mean;
}

void heed_fill_normal_f32(heed_generator *g, void *out, int64_t count, int64_t step, double a,
                          double b)
{
    float *to = out;
    for (int64_t i = 0; i < count; i++) {
        to[i * step] = (float)draw_scaled(g, a, b);
    }
}

void heed_fill_normal_f64(heed_generator *g, void *out, int64_t count, int64_t step, double a,
                          double b)
{
    double *to = out;
    for (int64_t i = 0; i < count; i++) {
        to[i * step] = draw_scaled(g, a, b);
    }
}

/* ---- a block: 8 uniform numbers for the radii and 8 for the angles become 16 normal ones ---- */

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
    return fmaf(e, 0.693359375f, t + y); /* ln 2 in two parts: the short one, exact, comes last */
}

/* Sine and cosine of 0 <= x < 2 pi: the distance to the nearest multiple of pi/2, two polynomials
 * there, and which of them with which sign from the quadrant. */
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
    for (int j = 0; j < 8; j++) { /* apart: a call for errno would keep the others from vectors */
        radius[j] = sqrtf(radius[j]);
    }
    for (int j = 0; j < 8; j++) {
        float sine, cosine;
        sincos_polynomial((float)two_pi * d[j + 8], &sine, &cosine);
        d[j] = fmaf(radius[j] * cosine, std, mean);
        d[j + 8] = fmaf(radius[j] * sine, std, mean);
    }
}

/* The same bits twice: fmaf is a call in code for any machine and one instruction in the other. */
static void block_portable(float *d, float mean, float std)
{
    block_by_polynomial(d, mean, std);
}

#if defined __x86_64__
__attribute__((target("avx2,fma"))) static void block_with_fma(float *d, float mean, float std)
{
    block_by_polynomial(d, mean, std);
}
#endif

/* Where torch has no vectors, and for doubles, it takes libm. */
static void block_by_libm_f32(float *d, float mean, float std, bool fused)
{
    for (int j = 0; j < 8; j++) {
        float radius = sqrtf(-2.0f * logf(1.0f - d[j]));
        float angle = (float)(two_pi * (double)d[j + 8]);
        float x = radius * cosf(angle), y = radius * sinf(angle);
        d[j] = fused ? fmaf(x, std, mean) : x * std + mean;
        d[j + 8] = fused ? fmaf(y, std, mean) : y * std + mean;
    }
}

static void block_by_libm_f64(double *d, double mean, double std, bool fused)
{
    for (int j = 0; j < 8; j++) {
        double radius = sqrt(-2.0 * log(1.0 - d[j]));
        double angle = two_pi * d[j + 8];
        double x = radius * cos(angle), y = radius * sin(angle);
        d[j] = fused ? fma(x, std, mean) : x * std + mean;
        d[j + 8] = fused ? fma(y, std, mean) : y * std + mean;
    }
}

/* Without vectors 2 fuses this sum all the same; numbers one by one it does not. */
static bool scales_fused(const heed_generator *g)
{
    return g->flavor != HEED_RANDOM_TORCH_1_PLAIN;
}

static void block_f32(const heed_generator *g, float *d, float mean, float std)
{
    if (!heed_random_fused(g)) {
        block_by_libm_f32(d, mean, std, scales_fused(g));
        return;
    }
#if defined __x86_64__
    if (heed_isa()[0] == 'v') { /* v3 and v4 */
        block_with_fma(d, mean, std);
        return;
    }
#endif
    block_portable(d, mean, std);
}

static void block_f64(const heed_generator *g, double *d, double mean, double std)
{
    block_by_libm_f64(d, mean, std, scales_fused(g));
}

/* torch draws all uniform numbers first. Where 16 does not divide the count it then draws the last
 * 16 places anew, over the end of the last full block. */
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
