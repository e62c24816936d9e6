/* The cache of keys and values, and generation: compared with PyTorch and with the forward. */
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

enum { WRITTEN = sizeof written / sizeof *written };

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

/* The batch size, and the number of tokens in each call; 0 ends the list. */
static const struct fed {
    int64_t batch;
    int64_t counts[13];
} fed[] = {
    {1, {12}},         {1, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {3, {5, 1, 1, 3}}, {2, {1, 11}},
    {2, {11, 1}},      {4, {2, 2, 2, 2, 2, 2}},
    {1, {4, 3, 1, 2}},
};
enum { FED = sizeof fed / sizeof *fed };

static void feed(struct gpt *m, const struct fed *f, heed_dtype dtype)
{
    heed_module_to(m, dtype);
    heed_tensor *idx = heed_randint(0, 13, HEED_SHAPE(f->batch, 12));
    heed_tensor *y = heed_detach(gpt_forward(m, idx));
    gpt_cache *cache = gpt_cache_new(m, f->batch);
    for (int twice = 0; twice < 2; twice++) {
        int64_t length = 0;
        for (int i = 0; f->counts[i] != 0; i++) {
            const int64_t count = f->counts[i];
            heed_tensor *more = heed_narrow(idx, 1, length, count);
            heed_tensor *logits = gpt_forward_cached(m, more, cache, false);
            ck_assert(logits != NULL && !logits->requires_grad);
            expect_close(logits, heed_narrow(y, 1, length, count),
                         dtype == HEED_F32 ? 1e-5 : 1e-12);
            length += count;
            ck_assert_int_eq(cache->length, length);
        }
        cache->length = 0;
        ck_assert_int_eq(cache->length, 0);
    }
    gpt_cache_free(cache);
}

START_TEST(cached_logits_are_the_forwards)
{
    struct gpt *m = model((gpt_config){.untied = _i % 2 == 1});
    feed(m, &fed[_i], HEED_F32);
    feed(m, &fed[_i], HEED_F64);
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

START_TEST(a_cache_without_memory)
{
    struct gpt *m = model((gpt_config){0});
    gpt_cache *cache = NULL;
    int failures = 0;
    for (; cache == NULL; failures++) {
        heed_fail_allocation(failures);
        cache = gpt_cache_new(m, 2);
        heed_fail_allocation(-1);
        ck_assert((heed_error() == HEED_ERR_MEMORY) == (cache == NULL));
    }
    ck_assert_int_gt(failures, 5);
    gpt_cache_free(cache);
    heed_module_free(m);
}
END_TEST

/* ---- generation ---- */

static sampling options_of(double temperature, int64_t top_k, double top_p)
{
    return (sampling){.temperature = temperature, .top_k = top_k, .top_p = top_p};
}

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
    static const int64_t prompts[] = {1, 5, 11, 12, 13, 30};
    struct gpt *m = model((gpt_config){.dropout = 0.4});
    const sampling sample = options_of(0.9, 8, 0.97);
    for (int64_t batch = 1; batch <= 3; batch++) {
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
        ck_assert(heed_equal(heed_narrow(a, 1, 0, prompts[_i]), idx));
    }
    heed_module_free(m);
}
END_TEST

/* ---- during generation ---- */

typedef struct listener {
    int64_t heard[40];
    int count, most; /* it stops after `most` tokens */
    bool fails;
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
    if (l->fails && l->count == l->most) {
        heed_fail(HEED_ERR_VALUE, "listener: enough");
    }
    return l->count < l->most;
}

static const sampling any = {0};

START_TEST(tokens_are_told)
{
    struct gpt *m = model((gpt_config){.dropout = 0.2});
    heed_tensor *idx = heed_randint(0, 13, HEED_SHAPE(2, 3));
    listener l = {.most = 5, .m = m};
    heed_tensor *y = gpt_generate(
        m, idx, 20, (gpt_generation){.on_token = listen, .context = &l, .sampling = any});
    ck_assert_int_eq(l.count, 5);
    expect_shape(y, HEED_SHAPE(2, 8));
    expect_ids(heed_contiguous(heed_narrow(heed_select(y, 0, 1), 0, 3, 5)), l.heard, 5);
    ck_assert(m->module.training && m->transformer->drop->module.training);
    ck_assert(heed_is_grad_enabled());
    heed_module_free(m);
}
END_TEST

/* Memory does not grow with each token, with a cache, without, and beyond the block; an error leaks
 * nothing. */
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
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    l = (listener){.most = 6, .m = m, .fails = true};
    ck_assert_ptr_null(gpt_generate(
        m, idx, 30, (gpt_generation){.on_token = listen, .context = &l, .no_cache = _i == 1}));
    expect_error(HEED_ERR_VALUE, "listener: enough");
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
    heed_module_free(m);
}
END_TEST

START_TEST(nothing_to_write)
{
    struct gpt *m = model((gpt_config){0});
    heed_tensor *idx = heed_randint(0, 13, HEED_SHAPE(2, 3));
    heed_tensor *y = gpt_generate(m, idx, 0, (gpt_generation){0});
    ck_assert(heed_equal(y, idx));
    heed_fill_into(y, 0);
    ck_assert(!heed_equal(y, idx)); /* a new tensor */
    y = gpt_generate(m, heed_narrow(idx, 0, 0, 0), 4, (gpt_generation){0});
    expect_shape(y, HEED_SHAPE(0, 7));
    heed_module_free(m);
}
END_TEST

static heed_tensor *generate(heed_tensor *const *inputs, void *context)
{
    heed_manual_seed(3);
    return gpt_generate(context, inputs[0], 12, (gpt_generation){.sampling = {.top_p = 0.9}});
}

START_TEST(generation_without_memory)
{
    struct gpt *m = model((gpt_config){0});
    heed_tensor *idx = heed_randint(0, 13, HEED_SHAPE(2, 3));
    expect_forward_without_memory(generate, m, &idx, 50);
    heed_module_free(m);
}
END_TEST

void add_generate_cases(Suite *suite)
{
    TCase *cache = heed_case(suite, "cache");
    tcase_add_loop_test(cache, cached_logits_are_the_forwards, 0, FED);
    tcase_add_test(cache, errors_leave_the_cache);
    tcase_add_test(cache, a_cache_without_memory);
    TCase *tests = heed_case(suite, "generation");
    tcase_add_loop_test(tests, answers_are_nanogpts, 0, 2 * WRITTEN);
    tcase_add_loop_test(tests, caches_change_no_answer, 0, 6);
    tcase_add_test(tests, tokens_are_told);
    tcase_add_loop_test(tests, memory_stays, 0, 2);
    tcase_add_test(tests, nothing_to_write);
    tcase_add_test(tests, generation_without_memory);
}
