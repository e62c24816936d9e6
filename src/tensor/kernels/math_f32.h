/* exp, log, tanh, erf, sigmoid and the normal distribution function of a float,
 * without branches or calls, so that loops over them are vectorised on every instruction set; and
 * sine and cosine.
 *
 * Unless noted, errors are at most 2 ulp for all floats, including subnormal arguments and results.
 * Zeros (with their sign), infinities and NaN give the results that C requires. The methods are
 * standard: range reduction after Cody and Waite (Software Manual for the Elementary Functions,
 * 1980), with ln 2 in two parts, the first with trailing zeros; then a polynomial, as in Tang (ACM
 * TOMS 15 and 16, 1989 and 1990) and Moshier's Cephes. The polynomials are minimax fits;
 * coefficients were rounded to floats one by one, and the rest were refitted after each.
 *
 * Choices have the form c ? a : b with a and b already computed, which compiles to a mask. NaN
 * fails every comparison and takes the last alternative. */

#define LOG2_E   0x1.715476p+0f
#define LN2_HIGH 0x1.63p-1f /* ten bits: its product with an exponent is exact */
#define LN2_LOW  (-0x1.bd0106p-13f)

/* ---- bits ---- */

static inline int32_t bits_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float of_bits(int32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x * 2^k, if that is a normal float; `exponent` is 2^23 * k. */
static inline float times_power(float x, int32_t exponent)
{
    return of_bits((int32_t)((uint32_t)bits_of(x) + (uint32_t)exponent));
}

/* 2^23 times the integer in the low bits of x. */
static inline int32_t last_bits_of(float x)
{
    return (int32_t)((uint32_t)bits_of(x) << 23);
}

static inline float with_sign_of(float x, float size)
{
    return of_bits(bits_of(size) | (bits_of(x) & INT32_MIN));
}

/* ---- bounds ---- */

/* Bounds of arguments, or of their sizes. They are variables because gcc compiles a choice between
 * x and a variable to one instruction, min or max. For a constant, it computes the function of the
 * bound in advance and selects between results, which takes four or five instructions. */
static struct {
    float exp_least, exp_most, slope_most, tanh_most, erf_most, normal_cdf_most;
} bounds __attribute__((used)) = {-176, 89, 0x1p126f, 10, 4, 5.6f};

static inline float at_most(float bound, float x)
{
    return x > bound ? bound : x;
}

static inline float at_least(float bound, float x)
{
    return x < bound ? bound : x;
}

/* ---- exponentials ---- */

/* x = k ln 2 + r, with |r| <= ln 2 / 2. Adding 1.5 * 2^23 leaves k in the low bits of a float; a
 * shift moves it to the exponent. r is high - low, rounded; high is exact. */
typedef struct exp_parts {
    int32_t exponent; /* 2^23 k */
    float high, low, r;
} exp_parts;

static inline exp_parts exp_parts_of(float x)
{
    const float shift = 0x1.8p23f;
    const float shifted = x * LOG2_E + shift;
    const float n = shifted - shift;
    const float high = x - n * LN2_HIGH;
    return (exp_parts){last_bits_of(shifted), high, n * LN2_LOW, high - n * LN2_LOW};
}

/* (e^r - 1 - r) / r^2. */
static inline float exp_series(float r)
{
    float p = 0x1.6d7c9ep-10f;
    p = p * r + 0x1.123afep-7f;
    p = p * r + 0x1.5554bep-5f;
    p = p * r + 0x1.555490p-3f;
    return p * r + 0.5f;
}

static inline float expm1_of_rest(float r)
{
    return r * r * exp_series(r) + r;
}

/* e^r. The rounding error of 1 + high is added along with the smaller terms. */
static inline float exp_of_rest(exp_parts e)
{
    const float sum = 1 + e.high;
    const float rounding_error = 1 - sum + e.high;
    return sum + (e.r * e.r * exp_series(e.r) + (rounding_error - e.low));
}

/* The result may be subnormal, so e^r is scaled in two steps, of which only the second rounds.
 * Results are 0 below -104, where the second factor is 0 because an underflow would be slow (with
 * AVX-512; for other instruction sets, gcc selects 0 afterwards instead), and infinite above the
 * largest argument with a finite result. */
static inline float exp_f32(float x)
{
    const int32_t lowest = -125 * (1 << 23);
    const exp_parts e = exp_parts_of(x < -104 ? -104 : x);
    const int32_t first = e.exponent > lowest ? e.exponent : lowest;
    const float second = x < -104 ? 0 : times_power(1, e.exponent - first);
    const float scaled = times_power(exp_of_rest(e), first) * second;
    return x <= 0x1.62e42ep+6f ? scaled : x + INFINITY;
}

/* e^x within 1.2 ulp; a fifth faster than exp_f32. Subnormal and infinite results need no choices,
 * because e^r is multiplied by 2^half and by 2^(k - half), and only the second product rounds. For
 * x <= -176, half is -127, for which the factor has the bits of 0. */
static inline float exp_quick_f32(float x)
{
    const exp_parts e = exp_parts_of(at_least(bounds.exp_least, at_most(bounds.exp_most, x)));
    const int32_t half = (e.exponent >> 1) & -(1 << 23);
    const float y = (exp_series(e.r) * e.r + 1) * e.r + 1;
    return y * times_power(1, half) * times_power(1, e.exponent - half);
}

/* x + x^3 P(x^2) near 0, else 1 - 2 / (e^2x + 1). tanh rounds to 1 for x >= 10. */
static inline float tanh_f32(float x)
{
    const float size = at_most(bounds.tanh_most, fabsf(x));
    const float z = size * size;
    float p = -0x1.c8879ap-12f;
    p = p * z + 0x1.4b8a3ap-9f;
    p = p * z + -0x1.0d04a2p-7f;
    p = p * z + 0x1.627c42p-6f;
    p = p * z + -0x1.b9bb82p-5f;
    p = p * z + 0x1.110eccp-3f;
    p = p * z + -0x1.55554cp-2f;
    const float near = size * (z * p) + size;
    const exp_parts e = exp_parts_of(2 * size);
    const float scale = times_power(1, e.exponent);
    const float far = 1 - 2 / (scale * expm1_of_rest(e.r) + (scale + 1));
    return with_sign_of(x, size < 0.9f ? near : far);
}

/* Within 2.5 ulp; 0 where the result would be subnormal, below -88.7. */
static inline float sigmoid_f32(float x)
{
    return 1 / (1 + exp_quick_f32(-x));
}

/* The derivative of sigmoid. The compiler merges what it shares with sigmoid_f32(x). */
static inline float sigmoid_slope_f32(float x)
{
    const float e = exp_quick_f32(-x), y = 1 / (1 + e);
    return y * (y * at_most(bounds.slope_most, e));
}

/* ---- logarithms ---- */

/* ln(2^k (1 + f)), with 1 + f between sqrt(1/2) and sqrt(2). */
static inline float log_of_parts(float k, float f)
{
    float p = -0x1.38c9fap-4f;
    p = p * f + 0x1.0573b2p-3f;
    p = p * f + -0x1.0d8bfap-3f;
    p = p * f + 0x1.22d710p-3f;
    p = p * f + -0x1.547164p-3f;
    p = p * f + 0x1.99a028p-3f;
    p = p * f + -0x1.00022ap-2f;
    p = p * f + 0x1.555554p-2f;
    const float square = f * f;
    const float small = f * square * p + k * LN2_LOW - 0.5f * square;
    return k * LN2_HIGH + (f + small);
}

static const int32_t root_of_half = 0x3f3504f3; /* bits of sqrt(1/2) */

static inline float log_f32(float x)
{
    const int32_t subnormal = x < FLT_MIN;
    const int32_t bits = bits_of(subnormal ? x * 0x1p23f : x) - root_of_half;
    const int32_t k = (bits >> 23) - (subnormal ? 23 : 0);
    const float y = log_of_parts((float)k, of_bits((bits & 0x7fffff) + root_of_half) - 1);
    const float end = x == 0 ? -INFINITY : NAN;
    return x > 0 ? (x > FLT_MAX ? x : y) : end;
}

/* ---- the error function ---- */

/* 2^x for -126 <= x < 127; arbitrary for NaN. */
static inline float exp2_f32(float x)
{
    const float shift = 0x1.8p23f;
    const float shifted = x + shift;
    const float r = x - (shifted - shift);
    float y = 0x1.41767ep-13f;
    y = y * r + 0x1.5f0962p-10f;
    y = y * r + 0x1.3b2dd6p-7f;
    y = y * r + 0x1.c6af7ap-5f;
    y = y * r + 0x1.ebfbdcp-3f;
    y = y * r + 0x1.62e430p-1f;
    y = y * r + 1;
    return times_power(y, last_bits_of(shifted));
}

/* x + x P(x^2) near 0, else 1 - 2^L(x), with a polynomial for L(x) = log2(1 - erf(x)). erf rounds
 * to 1 for x >= 4. NaN takes the first formula. */
static inline float erf_f32(float x)
{
    const float size = at_most(bounds.erf_most, fabsf(x));
    const float z = size * size;
    float p = 0x1.4771fep-14f;
    p = p * z + -0x1.a3515ep-11f;
    p = p * z + 0x1.53f224p-8f;
    p = p * z + -0x1.b7f71ap-6f;
    p = p * z + 0x1.ce2ce6p-4f;
    p = p * z + -0x1.81273ep-2f;
    p = p * z + 0x1.06eba8p-3f;
    const float near = size * p + size;
    float l = 0x1.19f5a8p-12f;
    l = l * size + -0x1.16b372p-8f;
    l = l * size + 0x1.021896p-5f;
    l = l * size + -0x1.30a4d6p-3f;
    l = l * size + -0x1.d75f32p-1f;
    l = l * size + -0x1.a0448ep+0f;
    l = l * size + -0x1.02524ap-11f;
    return with_sign_of(x, size > 1 ? 1 - exp2_f32(l) : near);
}

/* The normal distribution function, (1 + erf(x / sqrt(2))) / 2, within 1.3 * 2^-24 for all floats:
 * 2^L(-x) for negative x, else 1 - 2^L(x), with a polynomial for L(x) = log2(1 - normal_cdf(x)).
 * Results for x < -5.6 are 0. Arbitrary for NaN. */
static inline float normal_cdf_f32(float x)
{
    const float size = at_most(bounds.normal_cdf_most, fabsf(x));
    float l = 0x1.910946p-22f;
    l = l * size + -0x1.fed4eep-18f;
    l = l * size + 0x1.0c4a0cp-14f;
    l = l * size + -0x1.0821fap-12f;
    l = l * size + -0x1.44eb9cp-15f;
    l = l * size + 0x1.c9848cp-8f;
    l = l * size + -0x1.adbfb6p-5f;
    l = l * size + -0x1.d63ca8p-2f;
    l = l * size + -0x1.26aeccp+0f;
    l = l * size + -1;
    const float tail = exp2_f32(l), left = x < -bounds.normal_cdf_most ? 0 : tail;
    return x < 0 ? left : 1 - tail;
}

/* ---- sine and cosine ---- */

/* Below 1e5 these have the bits of glibc's sinf and cosf on every machine: libms differ in the last
 * bit, and training amplifies that. Beyond, doubles of libm are rounded. The algorithm and its
 * coefficients are glibc's, from Arm's Optimized Routines (Wilco Dijkstra, 2018): all is computed
 * in double and rounded once; errors are at most 0.561 ulp. x is r + n pi/2 with |r| <= pi/4, and a
 * polynomial in r is evaluated. pi/2 is in two parts; products of n and the first are exact. */

/* sin(x + more pi/2), of 0 <= x < 1e5. */
static inline float sin_of_small(float x, uint32_t more)
{
    const int32_t turns = (int32_t)((double)x * 0x1.45f306dc9c883p-1 + 0.5);
    const double part = x < 120 ? 0x1.68cp-39 : 0x1.68c234c4c6628p-39; /* as glibc's below 120 */
    const double r = (double)x - turns * 0x1.921fb5444p+0 - turns * part;
    const double z = r * r;
    const uint32_t n = (uint32_t)turns + more;
    double y;
    if (n % 2 == 0) {
        const double cube = r * z;
        const double above = 0x1.1107605230bc4p-7 + z * -0x1.994eb3774cf24p-13;
        y = r + cube * -0x1.555545995a603p-3 + cube * z * above;
    } else {
        const double square = z * z;
        const double above = -0x1.6c087e89a359dp-10 + z * 0x1.99343027bf8c3p-16;
        const double low = 1 + z * -0x1.ffffffd0c621cp-2;
        y = low + square * 0x1.55553e1068f19p-5 + square * z * above;
    }
    return (float)(n % 4 < 2 ? y : -y);
}

static inline float sin_f32(float x)
{
    return fabsf(x) < 1e5f ? copysignf(1, x) * sin_of_small(fabsf(x), 0) : (float)sin((double)x);
}

static inline float cos_f32(float x)
{
    return fabsf(x) < 1e5f ? sin_of_small(fabsf(x), 1) : (float)cos((double)x);
}

#if ISA == 4
/* ---- exp on vectors of 16 floats with AVX-512 ---- */

/* 1.7 times as fast as exp_f32. Two instructions make it so: scaling by 2^n with a single rounding,
 * even for subnormal results and overflow, and look-up in a table. Errors are at most 2 ulp for all
 * floats. NaN propagates: min returns the second operand on NaN. */
#define EXP_IN_VECTORS

/* 2^(i / 16), rounded, and the rounding errors. */
static const float roots_of_2[2][16] __attribute__((aligned(64))) = {
    {0x1p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f, 0x1.3dea64p+0f,
     0x1.4bfdaep+0f, 0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
     0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f},
    {0x0p+0f, 0x1.9f3122p-25f, -0x1.c15742p-27f, 0x1.ceac48p-25f, 0x1.4636e2p-25f, 0x1.824684p-25f,
     -0x1.593abcp-25f, -0x1.5bd5ecp-27f, 0x1.9fcef4p-26f, -0x1.829fdp-25f, 0x1.15506ep-27f,
     0x1.51f848p-27f, -0x1.a94b14p-26f, -0x1.3d56b2p-27f, -0x1.822dbcp-27f, 0x1.52486cp-27f},
};

/* x = n ln 2 + r, with n a multiple of 1/16, and e^r = 1 + q. Adding `shift` leaves the sixteenths
 * of n in the low four bits of the sum; scalef uses the integer part of n. Above 89 the result is
 * infinite; below -104 it is 0, without an underflow, which would be slow. */
static inline vector exp_in_vector(vector x)
{
    const __mmask16 some = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-104), _CMP_NLT_UQ);
    x = _mm512_min_ps(_mm512_set1_ps(89), x);
    const vector shift = _mm512_set1_ps(0x1.8p19f), shifted = x * LOG2_E + shift;
    const vector n = shifted - shift, r = (x - n * LN2_HIGH) - n * LN2_LOW,
                 q = r * r * (r * 0x1.555764p-3f + 0x1.00022p-1f) + r;
    const __m512i sixteenths = (__m512i)shifted;
    const vector root = _mm512_permutexvar_ps(sixteenths, _mm512_load_ps(roots_of_2[0]));
    const vector missing = _mm512_permutexvar_ps(sixteenths, _mm512_load_ps(roots_of_2[1]));
    return _mm512_maskz_scalef_ps(some, root + (root * q + missing), n);
}

/* out = exp(x), the last elements with a mask. Returns n. */
static inline int64_t exps_in_vectors(int64_t n, const float *x, float *out)
{
    int64_t i = 0;
    for (; i + WIDTH <= n; i += WIDTH) {
        _mm512_storeu_ps(out + i, exp_in_vector(_mm512_loadu_ps(x + i)));
    }
    if (i < n) {
        const __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
        _mm512_mask_storeu_ps(out + i, rest, exp_in_vector(_mm512_maskz_loadu_ps(rest, x + i)));
    }
    return n;
}
#endif
