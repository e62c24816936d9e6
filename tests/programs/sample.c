/* sample_tokens compared with PyTorch, and the set of tokens that it may draw. */
#include <math.h>

#include "examples/lab/gpt/generate.h"
#include "tests/common/test_util.h"

struct sampled {
    double temperature;
    int64_t top_k;
    double top_p;
    int64_t ids[24];
};

#include "tests/fixtures/sample.h"

enum { SAMPLED = sizeof sampled / sizeof *sampled };

static sampling options_of(double temperature, int64_t top_k, double top_p)
{
    return (sampling){.temperature = temperature, .top_k = top_k, .top_p = top_p};
}

START_TEST(samples_are_torchs)
{
    const struct sampled *r = &sampled[_i];
    const sampling options = options_of(r->temperature, r->top_k, r->top_p);
    heed_manual_seed(5);
    for (int i = 0; i < SAMPLE_DRAWS; i++) {
        heed_tensor *logits = heed_randn(HEED_SHAPE(SAMPLE_ROWS, SAMPLE_TOKENS), HEED_F32);
        heed_tensor *ids = sample_tokens(heed_mul_scalar(logits, 2), options);
        ck_assert_int_eq(ids->dtype, HEED_I64);
        ck_assert_int_eq(ids->ndim, 1);
        for (int row = 0; row < SAMPLE_ROWS; row++) {
            ck_assert_int_eq((int64_t)heed_at(ids, HEED_INDEX(row)), r->ids[i * SAMPLE_ROWS + row]);
        }
    }
}
END_TEST

/* A bit mask of the tokens that are drawn at all. */
static unsigned drawn_of(heed_tensor *logits, sampling options)
{
    unsigned drawn = 0;
    for (int i = 0; i < 300; i++) {
        drawn |= 1U << heed_item_i64(sample_tokens(heed_unsqueeze(logits, 0), options));
    }
    return drawn;
}

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

/* Four equal tokens sum to 0.25, 0.5, ...: where the sum equals 1 - top_p, the token is dropped. */
START_TEST(a_sum_that_equals_the_border_is_dropped)
{
    heed_tensor *logits = heed_zeros(HEED_SHAPE(4), HEED_F64);
    ck_assert_int_eq(__builtin_popcount(drawn_of(logits, options_of(1, 0, 0.5))), 2);
    ck_assert_int_eq(__builtin_popcount(drawn_of(logits, options_of(1, 0, 0.75))), 3);
}
END_TEST

START_TEST(greedy_draws_nothing)
{
    heed_tensor *logits = heed_set_requires_grad(heed_randn(HEED_SHAPE(1, 9), HEED_F32), true);
    const heed_generator before = heed_get_generator();
    heed_tensor *id = sample_tokens(logits, (sampling){.greedy = true, .top_k = 3});
    ck_assert_int_eq(heed_item_i64(id), heed_item_i64(heed_argmax(logits)));
    ck_assert(!id->requires_grad);
    ck_assert_int_eq(heed_get_generator().next, before.next);
    sample_tokens(heed_full(HEED_SHAPE(1, 2), (double)NAN, HEED_F32), options_of(0, 0, 0));
    expect_error(HEED_ERR_VALUE, "sample: the largest logit of row 0 is nan");
}
END_TEST

void add_sample_cases(Suite *suite)
{
    TCase *samples = heed_case(suite, "sample");
    tcase_add_loop_test(samples, samples_are_torchs, 0, SAMPLED);
    tcase_add_test(samples, borders_are_where_they_should);
    tcase_add_test(samples, a_sum_that_equals_the_border_is_dropped);
    tcase_add_test(samples, greedy_draws_nothing);
}
