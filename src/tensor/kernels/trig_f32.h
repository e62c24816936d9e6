/* Sine and cosine of a float (internal), with the bits of glibc's sinf and cosf for all floats on
 * every machine: libms differ in the last bit, and training amplifies that.
 *
 * The algorithm and its coefficients are those of glibc, from Arm's Optimized Routines (Wilco
 * Dijkstra, 2018): everything is computed in double and rounded once; errors are at most 0.561 ulp.
 * x is r + n pi/2 with |r| <= pi/4, and a polynomial in r is evaluated. */
#ifndef HEED_TENSOR_KERNELS_TRIG_F32_H
#define HEED_TENSOR_KERNELS_TRIG_F32_H

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct quarter_turns {
    double r;
    uint32_t n;
} quarter_turns;

/* Of 0 <= x < 120. pi/2 is in two parts whose products with n are exact, so that r is rounded once,
 * as with a fused multiply-add. */
static inline quarter_turns small_turns(float x)
{
    const int32_t n = ((int32_t)((double)x * 0x1.45f306dc9c883p+23) + (1 << 23)) >> 24;
    const double high = (double)x - n * 0x1.921fb5444p+0;
    return (quarter_turns){high - n * 0x1.68cp-39, (uint32_t)n};
}

/* Of a finite x >= 2: its 24 bits times the 96 bits of 2 / pi that determine n modulo 4 and r. */
static inline quarter_turns large_turns(float x)
{
    /* 2 / pi, after 24 zeros */
    static const uint32_t two_over_pi[] = {0xa2,       0xf9836e4e, 0x441529fc, 0x2757d1f5,
                                           0x34ddc0db, 0x6295993c, 0x43904100};
    uint32_t bits, word[3];
    memcpy(&bits, &x, sizeof bits);
    const uint32_t skipped = 8 * (bits >> 26 & 15), at = skipped / 32, shift = skipped % 32;
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t two = (uint64_t)two_over_pi[at + i] << 32 | two_over_pi[at + i + 1];
        word[i] = (uint32_t)(two << shift >> 32);
    }
    const uint32_t m = ((bits & 0x7fffff) | 0x800000) << (bits >> 23 & 7);
    uint64_t turns = ((uint64_t)(m * word[0]) << 32) + (uint64_t)m * word[1];
    turns += (uint64_t)m * word[2] >> 32;
    const uint64_t n = (turns + (UINT64_C(1) << 61)) >> 62;
    return (quarter_turns){(double)(int64_t)(turns - (n << 62)) * 0x1.921fb54442d18p-62,
                           (uint32_t)n};
}

/* sin(r + n pi/2). */
static inline float sin_of_turns(double r, uint32_t n)
{
    const double z = r * r;
    double y;
    if (n % 2 == 0) {
        const double cube = r * z;
        const double high = 0x1.1107605230bc4p-7 + z * -0x1.994eb3774cf24p-13;
        y = r + cube * -0x1.555545995a603p-3 + cube * z * high;
    } else {
        const double square = z * z;
        const double high = -0x1.6c087e89a359dp-10 + z * 0x1.99343027bf8c3p-16;
        const double low = 1 + z * -0x1.ffffffd0c621cp-2;
        y = low + square * 0x1.55553e1068f19p-5 + square * z * high;
    }
    return (float)(n % 4 < 2 ? y : -y);
}

static inline quarter_turns turns_of(float size)
{
    return size < 120 ? small_turns(size) : large_turns(size);
}

static inline float sin_f32(float x)
{
    if (!isfinite(x)) {
        return x - x;
    }
    const quarter_turns turns = turns_of(fabsf(x));
    return copysignf(1, x) * sin_of_turns(turns.r, turns.n);
}

static inline float cos_f32(float x)
{
    if (!isfinite(x)) {
        return x - x;
    }
    const quarter_turns turns = turns_of(fabsf(x));
    return sin_of_turns(turns.r, turns.n + 1);
}

#endif
