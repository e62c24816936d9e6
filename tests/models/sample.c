/* heed_sample compared with PyTorch, and the set of tokens that it may draw. */
#include "tests/common/test_util.h"

struct sampled {
    double temperature;
    int64_t top_k;
    double top_p;
    int64_t ids[24];
};

#include "tests/fixtures/sample.h"

enum { SAMPLED = sizeof sampled / sizeof *sampled };

static heed_sample_options options_of(double temperature, int64_t top_k, double top_p)
{
    return (heed_sample_options){.temperature = temperature, .top_k = top_k, .top_p = top_p};
}

START_TEST(samples_are_torchs)
{
    const struct sampled *r = &sampled[_i];
    const heed_sample_options options = options_of(r->temperature, r->top_k, r->top_p);
    heed_manual_seed(5);
    for (int i = 0; i < SAMPLE_DRAWS; i++) {
        heed_tensor *logits = heed_randn(HEED_SHAPE(SAMPLE_ROWS, SAMPLE_TOKENS), HEED_F32);
        heed_tensor *ids = heed_sample_with(heed_mul_scalar(logits, 2), options);
        ck_assert_int_eq(ids->dtype, HEED_I64);
        ck_assert_int_eq(ids->ndim, 1);
        for (int row = 0; row < SAMPLE_ROWS; row++) {
            ck_assert_int_eq((int64_t)heed_at(ids, HEED_INDEX(row)), r->ids[i * SAMPLE_ROWS + row]);
        }
    }
}
END_TEST

/* A bit mask of the tokens that are drawn at all. */
static unsigned drawn_of(heed_tensor *logits, heed_sample_options options)
{
    unsigned drawn = 0;
    for (int i = 0; i < 300; i++) {
        drawn |= 1U << heed_item_i64(heed_sample_with(logits, options));
    }
    return drawn;
}

/* Of four equal probabilities, the tokens that sum to exactly 1 - top_p are dropped. */
START_TEST(top_p_drops_the_border)
{
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *logits = heed_zeros(HEED_SHAPE(4), dtype);
        ck_assert_int_eq(__builtin_popcount(drawn_of(logits, options_of(1, 0, 0.25))), 1);
        ck_assert_int_eq(__builtin_popcount(drawn_of(logits, options_of(1, 0, 0.5))), 2);
        ck_assert_int_eq(__builtin_popcount(drawn_of(logits, options_of(1, 0, 0.75))), 3);
    }
}
END_TEST

/* Probabilities 0.4, 0.2, 0.2, 0.2 and 0: top_k keeps all tokens that tie with the last. */
START_TEST(borders_are_where_they_should)
{
    heed_tensor *x = heed_log(heed_from_f64((double[]){0.2, 0.4, 0.2, 0.2, 0}, HEED_SHAPE(5)));
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *logits = heed_to(x, dtype);
        ck_assert_uint_eq(drawn_of(logits, options_of(0, 0, 0)), 0xf);
        ck_assert_uint_eq(drawn_of(logits, options_of(1, 1, 1)), 0x2);
        ck_assert_uint_eq(drawn_of(logits, options_of(1, 2, 1)), 0xf); /* all equal to the second */
        ck_assert_uint_eq(drawn_of(logits, options_of(1, 99, 1)), 0xf);
        ck_assert_uint_eq(drawn_of(logits, options_of(1, 0, 0.3)), 0x2);
        ck_assert_uint_eq(drawn_of(logits, options_of(1, 0, 0.55)), 0xa); /* 1 and 3 */
        ck_assert_uint_eq(drawn_of(logits, options_of(1, 0, 0.75)), 0xe);
        ck_assert_uint_eq(drawn_of(logits, options_of(1, 0, 0.999)), 0xf);
        ck_assert_uint_eq(drawn_of(logits, options_of(1, 1, 0.001)), 0x2);
        ck_assert_uint_eq(drawn_of(logits, options_of(0.01, 0, 0)), 0x2);
    }
}
END_TEST

START_TEST(rows_are_drawn_alike)
{
    const heed_sample_options options = options_of(0.9, 7, 0.95);
    heed_tensor *logits = heed_set_requires_grad(heed_randn(HEED_SHAPE(9), HEED_F32), true);
    const heed_generator before = heed_get_generator();
    heed_tensor *id = heed_sample_with(logits, options);
    ck_assert_int_eq(id->ndim, 0);
    ck_assert(!id->requires_grad);
    heed_set_generator(&before);
    heed_tensor *row = heed_sample_with(heed_unsqueeze(logits, 0), options);
    ck_assert_int_eq(heed_item_i64(id), heed_item_i64(row));
    const heed_generator now = heed_get_generator();
    heed_tensor *greedy =
        heed_sample_with(logits, (heed_sample_options){.greedy = true, .top_k = 3});
    ck_assert_int_eq(heed_item_i64(greedy), heed_item_i64(heed_argmax(logits)));
    heed_tensor *equal = heed_ones(HEED_SHAPE(2, 4), HEED_F64);
    EXPECT_VALUES(heed_to(heed_sample_with(equal, (heed_sample_options){.greedy = true}), HEED_F64),
                  0, 0, 0);
    ck_assert_int_eq(heed_get_generator().next, now.next);
    heed_tensor *none = heed_sample_with(heed_ones(HEED_SHAPE(0, 4), HEED_F32), options);
    ck_assert_int_eq(none->numel, 0);
    ck_assert_int_eq(none->ndim, 1);
}
END_TEST

void add_sample_cases(Suite *suite)
{
    TCase *samples = heed_case(suite, "sample");
    tcase_add_loop_test(samples, samples_are_torchs, 0, SAMPLED);
    tcase_add_test(samples, borders_are_where_they_should);
    tcase_add_test(samples, top_p_drops_the_border);
    tcase_add_test(samples, rows_are_drawn_alike);
}
