/* exp, log and similar functions in f32 over all bit patterns: within 2 ulp of libm in double, NaN
 * and infinities where libm has them, zeros with the same sign. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/reference.h"

static const struct function {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *x);
    double (*reference)(double x);
} functions[] = {
    {"exp", heed_exp, exp},
    {"log", heed_log, log},
    {"erf", heed_erf, erf},
    {"tanh", heed_tanh, tanh},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static void expect_accurate(const struct function *f, const heed_tensor *x, const heed_tensor *y)
{
    const float *in = heed_const_data_f32(x), *out = heed_const_data_f32(y);
    for (int64_t i = 0; i < x->numel; i++) {
        const double goal = f->reference((double)in[i]), found = (double)out[i];
        EXPECT(within_ulps(found, goal, 2, HEED_F32) &&
                   (isnan(goal) || signbit(found) == signbit(goal)),
               "%s(%a) is %.9g, not %.17g", f->name, (double)in[i], found, goal);
    }
}

/* Every 4001st bit pattern: a prime, so that all exponents and low bits are covered. With
 * HEED_EVERY_FLOAT all of them, which takes some minutes: CK_FORK=no HEED_EVERY_FLOAT=1
 * build/test_heed math_f32 */
START_TEST(accurate_on_all_bits)
{
    enum { COUNT = 8192 };
    const uint64_t stride = getenv("HEED_EVERY_FLOAT") != NULL ? 1 : 4001;
    const struct function *f = &functions[_i];
    for (uint64_t bits = 0; bits <= UINT32_MAX;) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_tensor *x = heed_zeros(HEED_SHAPE(COUNT), HEED_F32);
        float *values = heed_data_f32(x);
        for (int i = 0; i < COUNT && bits <= UINT32_MAX; i++, bits += stride) {
            const uint32_t pattern = (uint32_t)bits;
            memcpy(values + i, &pattern, sizeof pattern);
        }
        expect_accurate(f, x, f->apply(x));
        heed_scope_end(&scope);
    }
}
END_TEST

/* Range ends and points where formulas change, with neighbouring floats. */
START_TEST(accurate_around_bounds)
{
    static const float bounds[] = {
        0,      0x1p-149f,   FLT_MIN,     0x1p-25f,    0x1p-24f, 0.34657359f, 0.70710678f,
        0.9f,   1,           1.41421356f, 2,           4,        10,          18,
        87,     87.3365448f, 88.3762626f, 88.7228394f, 89,       103.2789f,   103.972084f,
        104,    0x1p24f,     0x1p127f,    FLT_MAX,     INFINITY, NAN,         0.0625f,
        0.375f, 1.375f,      3.375f,      3.9375f,     7.375f,   9.3f,
    };
    enum { BOUNDS = sizeof bounds / sizeof *bounds, AROUND = 16 };
    const struct function *f = &functions[_i];
    heed_tensor *x = heed_empty(HEED_SHAPE(BOUNDS, 2, 2 * AROUND + 1), HEED_F32);
    float *values = heed_data_f32(x);
    for (int i = 0; i < BOUNDS; i++) {
        for (int sign = 0; sign < 2; sign++) {
            for (int step = -AROUND; step <= AROUND; step++) {
                uint32_t bits;
                memcpy(&bits, &bounds[i], sizeof bits);
                bits = (bits + (uint32_t)step) ^ (uint32_t)sign << 31;
                memcpy(values++, &bits, sizeof bits);
            }
        }
    }
    expect_accurate(f, x, f->apply(x));
}
END_TEST

/* Vector code and its scalar remainder give the same bits. */
START_TEST(the_same_in_every_place)
{
    enum { COUNT = 101 };
    const struct function *f = &functions[_i];
    heed_tensor *x = heed_empty(HEED_SHAPE(COUNT), HEED_F32);
    float *values = heed_data_f32(x);
    for (int i = 0; i < COUNT; i++) {
        values[i] = ldexpf((float)(i * 7919 % COUNT) - 30, i % 9 - 5);
    }
    const float *all = heed_const_data_f32(f->apply(x));
    for (int start = 1; start < COUNT; start++) {
        heed_tensor *rest = f->apply(heed_slice(x, 0, start, COUNT, 1));
        const int32_t differ =
            memcmp(heed_const_data_f32(rest), all + start, sizeof *all * (size_t)(COUNT - start));
        EXPECT(differ == 0, "%s differs from element %d on", f->name, start);
    }
}
END_TEST

void add_math_f32_cases(Suite *suite)
{
    TCase *math = heed_case(suite, "math");
    tcase_add_loop_test(math, accurate_on_all_bits, 0, FUNCTIONS);
    tcase_add_loop_test(math, accurate_around_bounds, 0, FUNCTIONS);
    tcase_add_loop_test(math, the_same_in_every_place, 0, FUNCTIONS);
}
