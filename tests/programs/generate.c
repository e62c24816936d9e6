/* Sampling, the cache of keys and values, and generation: compared with PyTorch and with the
 * forward. */
#include <math.h>
#include <string.h>

#include "examples/lab/gpt/generate.h"
#include "tests/common/module_util.h"

struct written {
    int64_t vocab, block;
    int layers, heads;
    int64_t width, batch, prompt, count;
    double temperature;
    int64_t top_k;
    double top_p;
    int64_t ids[64];
};

#include "tests/fixtures/generate.h"

struct sampled {
    double temperature;
    int64_t top_k;
    double top_p;
    int64_t ids[24];
};

#include "tests/fixtures/sample.h"

enum { WRITTEN = sizeof written / sizeof *written, SAMPLED = sizeof sampled / sizeof *sampled };

static sampling options_of(double temperature, int64_t top_k, double top_p)
{
    return (sampling){.temperature = temperature, .top_k = top_k, .top_p = top_p};
}

/* ---- sampling ---- */

START_TEST(samples_are_torchs)
{
    const struct sampled *r = &sampled[_i];
    const sampling options = options_of(r->temperature, r->top_k, r->top_p);
    heed_manual_seed(5);
    for (int i = 0; i < SAMPLE_DRAWS; i++) {
        heed_tensor *logits = heed_randn(HEED_SHAPE(SAMPLE_ROWS, SAMPLE_TOKENS), HEED_F32);
        heed_tensor *ids = sample_tokens(heed_mul_scalar(logits, 2), options);
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

/* Probabilities 0.4, 0.2, 0.2, 0.2 and 0: top_k keeps all tokens that tie with the last. Where the
 * sum of the smallest equals 1 - top_p, they are dropped. */
START_TEST(borders_are_where_they_should)
{
    const struct {
        sampling options;
        unsigned drawn;
    } rows[] = {
        {options_of(0, 0, 0), 0xf},     {options_of(1, 1, 1), 0x2},
        {options_of(1, 2, 1), 0xf}, /* all equal to the second */
        {options_of(1, 99, 1), 0xf},    {options_of(1, 0, 0.3), 0x2},
        {options_of(1, 0, 0.55), 0xa}, /* 1 and 3 */
        {options_of(1, 0, 0.75), 0xe},  {options_of(1, 0, 0.999), 0xf},
        {options_of(1, 1, 0.001), 0x2}, {options_of(0.01, 0, 0), 0x2},
    };
    heed_tensor *x = heed_log(heed_from_f64((double[]){0.2, 0.4, 0.2, 0.2, 0}, HEED_SHAPE(5)));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_uint_eq(drawn_of(x, rows[i].options), rows[i].drawn);
    }
    heed_tensor *many = heed_zeros(HEED_SHAPE(1, 100000), HEED_F32); /* sums of 1e-5 round */
    heed_set_number_at(many, 777, 1e-3);
    ck_assert_int_eq(heed_item_i64(sample_tokens(many, options_of(1, 0, 1e-9))), 777);
    heed_tensor *equal = heed_zeros(HEED_SHAPE(4), HEED_F64);
    ck_assert_int_eq(__builtin_popcount(drawn_of(equal, options_of(1, 0, 0.5))), 2);
    ck_assert_int_eq(__builtin_popcount(drawn_of(equal, options_of(1, 0, 0.75))), 3);
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

static struct gpt *model(gpt_config config)
{
    config.vocab_size = 13;
    config.block_size = 12;
    config.n_layer = 2;
    config.n_head = 2;
    config.n_embd = 8;
    heed_manual_seed(17);
    struct gpt *m = gpt_new(config);
    const heed_tensor_list list = heed_parameters(m);
    for (int i = 0; i < list.count; i++) {
        heed_normal_into(list.tensors[i], 0, 0.5);
    }
    return m;
}

/* ---- the cache ---- */

/* Tokens are fed a few at a time; the cache is used twice. */
START_TEST(cached_logits_are_the_forwards)
{
    static const struct {
        int64_t batch, counts[13]; /* 0 ends the list */
    } fed[] = {
        {1, {12}}, {1, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}, {3, {5, 1, 1, 3}}, {2, {11, 1}}};
    struct gpt *m = model((gpt_config){.untied = _i % 2 == 1});
    heed_tensor *idx = heed_randint(0, 13, HEED_SHAPE(fed[_i].batch, 12));
    heed_tensor *y = heed_detach(gpt_forward(m, idx));
    gpt_cache *cache = gpt_cache_new(m, fed[_i].batch);
    for (int twice = 0; twice < 2; twice++) {
        int64_t length = 0;
        for (const int64_t *count = fed[_i].counts; *count != 0; count++) {
            heed_tensor *more = heed_narrow(idx, 1, length, *count);
            heed_tensor *logits = gpt_forward_cached(m, more, cache, false);
            ck_assert(logits != NULL && !logits->requires_grad);
            expect_close(logits, heed_narrow(y, 1, length, *count), 1e-5);
            length += *count;
            ck_assert_int_eq(cache->length, length);
        }
        cache->length = 0;
    }
    gpt_cache_free(cache);
    heed_module_free(m);
}
END_TEST

/* The cache is unchanged after an error. */
START_TEST(errors_leave_the_cache)
{
    struct gpt *m = model((gpt_config){0});
    heed_tensor *idx = heed_randint(0, 13, HEED_SHAPE(2, 10));
    heed_tensor *y = heed_detach(gpt_forward(m, idx));
    gpt_cache *cache = gpt_cache_new(m, 2);
    gpt_forward_cached(m, heed_narrow(idx, 1, 0, 5), cache, false);
    gpt_forward_cached(m, heed_full(HEED_SHAPE(2, 2), 13, HEED_I64), cache, false);
    expect_error(HEED_ERR_INDEX, "embedding: id 13 at position 0 is outside [0, 13)");
    gpt_forward_cached(m, heed_narrow(idx, 1, 0, 8), cache, false);
    expect_error(HEED_ERR_SHAPE, "gpt: 8 tokens after 5, but block_size is 12");
    gpt_forward_cached(m, heed_zeros(HEED_SHAPE(1, 3), HEED_I64), cache, false);
    expect_error(HEED_ERR_SHAPE, "gpt: 1 rows, but the cache has 2");
    for (int n = 0; n < 40; n++) {
        heed_fail_allocation(n);
        ck_assert_ptr_null(gpt_forward_cached(m, heed_narrow(idx, 1, 5, 2), cache, false));
        heed_fail_allocation(-1);
        expect_error(HEED_ERR_MEMORY, "out of memory");
    }
    ck_assert_int_eq(cache->length, 5);
    expect_close(gpt_forward_cached(m, heed_narrow(idx, 1, 5, 5), cache, false),
                 heed_narrow(y, 1, 5, 5), 1e-5);
    gpt_cache_free(cache);
    heed_module_free(m);
}
END_TEST

/* ---- generation ---- */

static void expect_ids(heed_tensor *ids, const int64_t *values, int64_t count)
{
    ck_assert(ids != NULL && ids->dtype == HEED_I64 && heed_is_contiguous(ids));
    ck_assert_int_eq(ids->numel, count);
    for (int64_t i = 0; i < count; i++) {
        ck_assert_int_eq(heed_const_data_i64(ids)[i], values[i]);
    }
}

/* The PyTorch twin of the same seed: its weights, prompt and answer. */
START_TEST(answers_are_nanogpts)
{
    const struct written *r = &written[_i / 2];
    const gpt_config config = {.vocab_size = r->vocab,
                               .block_size = r->block,
                               .n_layer = r->layers,
                               .n_head = r->heads,
                               .n_embd = r->width};
    heed_manual_seed(31337);
    struct gpt *m = gpt_new(config);
    const heed_tensor_list list = heed_parameters(m);
    for (int i = 0; i < list.count; i++) {
        heed_copy_into(list.tensors[i], heed_mul_scalar(heed_detach(list.tensors[i]), 16));
    }
    heed_tensor *idx = heed_randint(0, r->vocab, HEED_SHAPE(r->batch, r->prompt));
    const gpt_generation options = {.sampling = options_of(r->temperature, r->top_k, r->top_p),
                                    .no_cache = _i % 2 == 1};
    heed_tensor *answer = gpt_generate(m, idx, r->count, options);
    ck_assert_int_eq(answer->shape[0], r->batch);
    expect_ids(answer, r->ids, r->batch * (r->prompt + r->count));
    heed_module_free(m);
}
END_TEST

/* Generation by definition, with the forward alone. */
static heed_tensor *write_plainly(struct gpt *m, heed_tensor *idx, int count, sampling options)
{
    for (int i = 0; i < count; i++) {
        const int64_t length = heed_size(idx, 1), seen = length < 12 ? length : 12;
        heed_tensor *logits = gpt_forward(m, heed_narrow(idx, 1, length - seen, seen));
        heed_tensor *id = sample_tokens(heed_select(logits, 1, -1), options);
        idx = heed_cat((heed_tensor *[]){idx, heed_unsqueeze(id, 1)}, 2, 1);
    }
    return idx;
}

/* With and without a cache: within the block, up to its end, and beyond. */
START_TEST(caches_change_no_answer)
{
    static const int64_t prompts[] = {1, 11, 12, 13};
    struct gpt *m = model((gpt_config){.dropout = 0.4});
    const sampling sample = options_of(0.9, 8, 0.97);
    for (int64_t batch = 1; batch <= 2; batch++) {
        heed_tensor *idx = heed_randint(0, 13, HEED_SHAPE(batch, prompts[_i]));
        const heed_generator before = heed_get_generator();
        heed_tensor *a = gpt_generate(m, idx, 17, (gpt_generation){.sampling = sample});
        heed_set_generator(&before);
        heed_tensor *b =
            gpt_generate(m, idx, 17, (gpt_generation){.sampling = sample, .no_cache = true});
        heed_set_generator(&before);
        heed_eval(m);
        heed_tensor *c = write_plainly(m, idx, 17, sample);
        heed_train(m);
        ck_assert(heed_equal(a, b));
        ck_assert(heed_equal(a, c));
    }
    heed_module_free(m);
}
END_TEST

/* ---- during generation ---- */

typedef struct listener {
    int64_t heard[40];
    int count, most; /* it stops after `most` tokens */
    const struct gpt *m;
    int64_t bytes[40]; /* live bytes at each call */
} listener;

static bool listen(void *context, const int64_t *ids, int64_t rows)
{
    listener *l = context;
    ck_assert(!heed_is_grad_enabled());
    ck_assert(!l->m->module.training && !l->m->transformer->drop->module.training);
    l->bytes[l->count] = heed_live_bytes();
    l->heard[l->count++] = ids[rows - 1];
    return l->count < l->most;
}

START_TEST(tokens_are_told)
{
    struct gpt *m = model((gpt_config){.dropout = 0.2});
    heed_tensor *idx = heed_randint(0, 13, HEED_SHAPE(2, 3));
    listener l = {.most = 5, .m = m};
    heed_tensor *y = gpt_generate(m, idx, 20, (gpt_generation){.on_token = listen, .context = &l});
    ck_assert_int_eq(l.count, 5);
    expect_shape(y, HEED_SHAPE(2, 8));
    expect_ids(heed_contiguous(heed_narrow(heed_select(y, 0, 1), 0, 3, 5)), l.heard, 5);
    ck_assert(m->module.training && m->transformer->drop->module.training);
    ck_assert(heed_is_grad_enabled());
    heed_module_free(m);
}
END_TEST

/* Memory does not grow with each token: with a cache, without, and beyond the block. */
START_TEST(memory_stays)
{
    struct gpt *m = model((gpt_config){0});
    heed_tensor *idx = heed_randint(0, 13, HEED_SHAPE(2, 3));
    listener l = {.most = 40, .m = m};
    gpt_generate(m, idx, 30,
                 (gpt_generation){.on_token = listen, .context = &l, .no_cache = _i == 1});
    ck_assert_int_eq(l.count, 30);
    for (int i = 1; i < 30; i++) {
        ck_assert_int_eq(l.bytes[i], l.bytes[0]);
    }
    heed_module_free(m);
}
END_TEST

void add_generate_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "generation");
    tcase_add_loop_test(tests, samples_are_torchs, 0, SAMPLED);
    tcase_add_test(tests, borders_are_where_they_should);
    tcase_add_test(tests, greedy_draws_nothing);
    tcase_add_loop_test(tests, cached_logits_are_the_forwards, 0, 4);
    tcase_add_test(tests, errors_leave_the_cache);
    tcase_add_loop_test(tests, answers_are_nanogpts, 0, 2 * WRITTEN);
    tcase_add_loop_test(tests, caches_change_no_answer, 0, 4);
    tcase_add_test(tests, tokens_are_told);
    tcase_add_loop_test(tests, memory_stays, 0, 2);
}
