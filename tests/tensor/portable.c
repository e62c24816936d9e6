/* Results that must have the same bits on every machine and with every libm. */
#include <math.h>

#include "heed.h"
#include "tests/common/test_util.h"

/* Sines and cosines as glibc's sinf and cosf compute them where the processor has FMA. In the last
 * four rows, neither result is the nearest float. */
static const struct {
    float x, sine, cosine;
} angles[] = {
    {-0.0f, -0.0f, 1},
    {0x1p-149f, 0x1p-149f, 1},
    {0x1.fffffep-13f, 0x1.fffffep-13f, 1},
    {-0x1p-12f, -0x1p-12f, 1},
    {0x1.99999ap-4f, 0x1.98eaeep-4f, 0x1.fd713p-1f},
    {0x1.8p-1f, 0x1.5cffc2p-1f, 0x1.769fecp-1f},
    {0x1.921fb4p-1f, 0x1.6a09e6p-1f, 0x1.6a09e8p-1f},
    {0x1.921fb6p-1f, 0x1.6a09e6p-1f, 0x1.6a09e6p-1f},
    {1, 0x1.aed548p-1f, 0x1.14a28p-1f},
    {0x1.921fb6p+0f, 1, -0x1.777a5cp-25f},
    {-3, -0x1.210386p-3f, -0x1.fae04cp-1f},
    {0x1.921fb6p+1f, -0x1.777a5cp-24f, -1},
    {0x1.1475b8p+4f, -1, -0x1.49eeep-16f},
    {-0x1.019c5p+6f, -1, 0x1.fbace4p-22f},
    {0x1.dffffep+6f, 0x1.29450ep-1f, 0x1.a0dce8p-1f},
    {120, 0x1.2945dep-1f, 0x1.a0dc54p-1f},
    {-4095, 0x1.fee26cp-1f, -0x1.0e3cd8p-4f},
    {0x1.2a05f2p+33f, -0x1.f334c8p-2f, 0x1.bf098ap-1f},
    {0x1.fffffep+127f, -0x1.0b3366p-1f, 0x1.b4bf2cp-1f},
    {0x1.b08f5ep+6f, 0x1.f0b7c4p-1f, 0x1.f0a29ep-3f},
    {0x1.cfd918p+7f, -0x1.0d4adp-1f, 0x1.b375d8p-1f},
    {0x1.54a148p+8f, 0x1.f2304cp-1f, 0x1.d879c2p-3f},
    {0x1.575e36p+8f, -0x1.9bc6a6p-1f, -0x1.3046fp-1f},
};
enum { ANGLES = sizeof angles / sizeof *angles };

START_TEST(sines_and_cosines)
{
    float x[ANGLES];
    for (int i = 0; i < ANGLES; i++) {
        x[i] = angles[i].x;
    }
    heed_tensor *t = heed_from_f32(x, HEED_SHAPE(ANGLES));
    const float *sine = heed_const_data_f32(heed_sin(t)),
                *cosine = heed_const_data_f32(heed_cos(t));
    for (int i = 0; i < ANGLES; i++) {
        ck_assert_msg(sine[i] == angles[i].sine && signbit(sine[i]) == signbit(angles[i].sine),
                      "sin(%a) is %a", (double)x[i], (double)sine[i]);
        ck_assert_msg(cosine[i] == angles[i].cosine, "cos(%a) is %a", (double)x[i],
                      (double)cosine[i]);
    }
}
END_TEST

static const struct {
    int64_t d_model, max_len;
    uint64_t sum;
} encodings[] = {
    {5, 10, UINT64_C(0xc26464b25cc84621)},
    {32, 11, UINT64_C(0xbd93d4cfab05bbaf)},
    {128, 4096, UINT64_C(0xc1e16c2c5cc19b46)},
    {1023, 257, UINT64_C(0x697f977e0aa6378f)},
};

START_TEST(position_encodings)
{
    struct heed_position_encoding *m =
        heed_position_encoding_new(encodings[_i].d_model, encodings[_i].max_len);
    const heed_tensor *pe = m->pe;
    const uint64_t sum = fnv(heed_const_data_f32(pe), (size_t)pe->numel * sizeof(float), FNV_BASIS);
    ck_assert_msg(sum == encodings[_i].sum, "0x%016llx", (unsigned long long)sum);
    heed_module_free(m);
}
END_TEST

void add_portable_cases(Suite *suite)
{
    TCase *cases = heed_case(suite, "bits");
    tcase_add_test(cases, sines_and_cosines);
    tcase_add_loop_test(cases, position_encodings, 0, sizeof encodings / sizeof *encodings);
}
