/* exp, tanh, erf and sigmoid on vectors of 16 floats with AVX-512 (internal to table.c; other
 * instruction sets use math_f32.h).
 *
 * Three instructions make these functions twice as fast: scaling by 2^n with a single rounding,
 * even for subnormal results and overflow; look-up in a table of 32 floats in two registers; and a
 * 14-bit reciprocal, which, with one Newton step, gives a quotient in a quarter of the time of a
 * division. Errors are at most 2 ulp for all floats. NaN propagates: min and max return the second
 * operand on NaN. */
#ifndef HEED_TENSOR_KERNELS_AVX512_H
#define HEED_TENSOR_KERNELS_AVX512_H

#include <immintrin.h>

#include "avx512_tables.h"
#include "element.h"
#include "math_f32.h"

typedef int32_t lanes __attribute__((vector_size(64)));

/* ---- broadcasts, loads, loops over lanes ---- */

static inline vector all_lanes(float x)
{
    return _mm512_set1_ps(x);
}

static inline vector same_vector(vector x)
{
    return x;
}

/* Broadcasts a number; returns a vector unchanged. */
#define VECTOR_OF(x) _Generic((x), vector : same_vector, default : all_lanes)(x)

static inline vector where_lanes(lanes condition, vector then, vector otherwise)
{
    return (vector)((condition & (lanes)then) | (~condition & (lanes)otherwise));
}

static inline vector load_lanes(const float *x, __mmask16 some, bool all)
{
    return all ? _mm512_loadu_ps(x) : _mm512_maskz_loadu_ps(some, x);
}

/* A store past the cache needs an aligned address, and an _mm_sfence before other threads read the
 * result. */
static inline void store_vector(float *y, vector x, bool past_cache)
{
    if (past_cache) {
        _mm512_stream_ps(y, x);
    } else {
        _mm512_storeu_ps(y, x);
    }
}

/* Applies a function of one float lane by lane; if it is inlined, the loop is vectorised. */
#define LANE_BY_LANE(name, function)                                                               \
    static inline vector name(vector x)                                                            \
    {                                                                                              \
        float lane[WIDTH];                                                                         \
        memcpy(lane, &x, sizeof lane);                                                             \
        for (int i = 0; i < WIDTH; i++) {                                                          \
            lane[i] = function(lane[i]);                                                           \
        }                                                                                          \
        memcpy(&x, lane, sizeof lane);                                                             \
        return x;                                                                                  \
    }
LANE_BY_LANE(expm1_lanes, expm1_f32)
LANE_BY_LANE(log_lanes, log_f32)
LANE_BY_LANE(log1p_lanes, log1p_f32)
LANE_BY_LANE(sin_lanes, sin_f32)
LANE_BY_LANE(cos_lanes, cos_f32)

#define LANE_BY_LANE_OF_TWO(name, function)                                                        \
    static inline vector name(vector a, vector b)                                                  \
    {                                                                                              \
        float lane[WIDTH], other[WIDTH];                                                           \
        memcpy(lane, &a, sizeof lane);                                                             \
        memcpy(other, &b, sizeof other);                                                           \
        for (int i = 0; i < WIDTH; i++) {                                                          \
            lane[i] = function(lane[i], other[i]);                                                 \
        }                                                                                          \
        memcpy(&a, lane, sizeof lane);                                                             \
        return a;                                                                                  \
    }
LANE_BY_LANE_OF_TWO(pow_lanes, powf)

/* ---- signs, bounds, quotients ---- */

static inline vector abs_lanes(vector x)
{
    return (vector)((lanes)x & INT32_MAX);
}

static inline vector with_sign_lanes(vector x, vector size)
{
    return (vector)((lanes)size | ((lanes)x & INT32_MIN));
}

static inline vector at_most_lanes(float bound, vector x)
{
    return _mm512_min_ps(all_lanes(bound), x);
}

static inline vector sqrt_lanes(vector x)
{
    return _mm512_sqrt_ps(x);
}

#define ROUNDED(name, way)                                                                         \
    static inline vector name(vector x)                                                            \
    {                                                                                              \
        return _mm512_roundscale_ps(x, (way) | _MM_FROUND_NO_EXC);                                 \
    }
ROUNDED(floor_lanes, _MM_FROUND_TO_NEG_INF)

/* ---- exponentials ---- */

/* e^x for x <= 89, and 0 below -104 without an underflow, which would be slow: x = n ln 2 + r, with
 * n a multiple of 1/16, and e^r = 1 + q. Adding `shift` leaves the sixteenths of n in the low four
 * bits of the sum; scalef uses the integer part of n. */
static inline vector exp_below_89(vector x)
{
    const __mmask16 some = _mm512_cmp_ps_mask(x, all_lanes(-104), _CMP_NLT_UQ);
    const vector shift = all_lanes(0x1.8p19f), shifted = x * LOG2_E + shift, n = shifted - shift;
    const vector r = (x - n * LN2_HIGH) - n * LN2_LOW,
                 q = r * r * (r * 0x1.555764p-3f + 0x1.00022p-1f) + r;
    const __m512i sixteenths = (__m512i)shifted;
    const vector root = _mm512_permutexvar_ps(sixteenths, _mm512_load_ps(roots_of_2[0]));
    const vector missing = _mm512_permutexvar_ps(sixteenths, _mm512_load_ps(roots_of_2[1]));
    return _mm512_maskz_scalef_ps(some, root + (root * q + missing), n);
}

static inline vector exp_lanes(vector x)
{
    return exp_below_89(at_most_lanes(89, x));
}

/* e = e^-|x| and r = 1 / (1 + e). The quotient's remainder is computed without rounding 1 + e. */
typedef struct sigmoid_parts {
    vector e, r;
} sigmoid_parts;

static inline sigmoid_parts sigmoid_parts_of(vector x)
{
    const vector e = exp_below_89((vector)((lanes)x | INT32_MIN));
    const vector near = _mm512_rcp14_ps(e + 1), rest = (1 - near) - near * e;
    return (sigmoid_parts){e, near * rest + near};
}

/* r or, for negative x, e r, which keeps full precision there. */
static inline vector sigmoid_lanes(vector x)
{
    const sigmoid_parts s = sigmoid_parts_of(x);
    return _mm512_mask_mul_ps(s.r, _mm512_movepi32_mask((__m512i)x), s.e, s.r);
}

static inline vector sigmoid_slope_lanes(vector x)
{
    const sigmoid_parts s = sigmoid_parts_of(x);
    return s.e * s.r * s.r;
}

/* ---- piecewise polynomials ---- */

/* Each lane's coefficient, for the piece whose number is in the low five bits of `which`. */
static inline vector coefficient(const float of_pieces[32], lanes which)
{
    return _mm512_permutex2var_ps(_mm512_load_ps(of_pieces), (__m512i)which,
                                  _mm512_load_ps(of_pieces + 16));
}

/* The polynomial of a piece without its constant term, divided by d. */
static inline vector polynomial_of_piece(const pieces p, lanes which, vector d)
{
    vector y = coefficient(p[5], which);
    UNROLL for (int i = 4; i > 0; i--)
    {
        y = y * d + coefficient(p[i], which);
    }
    return y;
}

/* erf of a size, but 1 above 3.93, where erf rounds to it. Adding `shift` leaves the piece number
 * in the low bits of the sum. The table has -1 as the constant of the first piece, so that `start`
 * is d there. */
static inline vector erf_of_size(vector x)
{
    const vector size = at_most_lanes(0x1.f7fffep+1f, x);
    const vector shift = all_lanes(0x1.8p20f), shifted = size + shift;
    const vector d = size - (shifted - shift);
    const lanes which = (lanes)shifted;
    const vector start = _mm512_max_ps(coefficient(erf_pieces[0], which), d);
    return polynomial_of_piece(erf_pieces, which, d) * d + start;
}

static inline vector erf_lanes(vector x)
{
    return with_sign_lanes(x, erf_of_size(abs_lanes(x)));
}

/* 1/2 for |x| < 1e-20, where products could be subnormal and slow. */
static inline vector normal_cdf_lanes(vector x)
{
    const vector z = x * 0x1.6a09e6p-1f; /* sqrt(1/2) */
    const lanes size = (lanes)_mm512_max_epi32((__m512i)abs_lanes(z), (__m512i)all_lanes(1e-20f));
    return (1 + with_sign_lanes(z, erf_of_size((vector)size))) / 2;
}

/* tanh rounds to 1 for x >= 9.3. */
static inline vector tanh_lanes(vector x)
{
    const vector size = at_most_lanes(9.3f, abs_lanes(x));
    const lanes sum = (lanes)(size + 0.625f);
    const vector d = size - ((vector)(sum & ~0xfffff) - 0.625f);
    const lanes which = sum >> 20;
    const vector start = coefficient(tanh_pieces[0], which);
    return with_sign_lanes(x, polynomial_of_piece(tanh_pieces, which, d) * d + start);
}

#endif
