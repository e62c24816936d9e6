/* heed_cross_attention_forward: sizes, masks, kept weights, derivatives, failing allocations.
 * parity_modules.c compares its numbers with PyTorch's. */
#include "tests/common/module_util.h"

enum { BATCH = 2, T = 3, S = 5, WIDTH = 4, OTHER = 6 };

static struct heed_self_attention *make(void)
{
    return heed_self_attention_new(WIDTH, -2, -1, .kv_dim = OTHER, .head_dim = 3);
}

static heed_tensor *queries(heed_dtype dtype)
{
    return heed_set_requires_grad(heed_randn(HEED_SHAPE(BATCH, T, WIDTH), dtype), true);
}

static heed_tensor *memory(heed_dtype dtype)
{
    return heed_set_requires_grad(heed_randn(HEED_SHAPE(BATCH, S, OTHER), dtype), true);
}

/* The first sentence has 5 tokens, the second 2. */
static heed_tensor *padding(void)
{
    return heed_padding_block_mask(heed_from_i64((int64_t[]){S, 2}, HEED_SHAPE(BATCH)), S);
}

/* The second query attends to no key, the third to two. */
static heed_tensor *blocked(void)
{
    const bool mask[] = {0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0};
    return heed_from_bool(mask, HEED_SHAPE(T, S));
}

START_TEST(with_itself_it_is_self_attention)
{
    struct heed_self_attention *m = heed_self_attention_new(WIDTH, -2, -1);
    heed_tensor *x = queries(HEED_F32), *causal = heed_causal_block_mask(T);
    expect_close(heed_cross_attention_forward(m, x, x, causal),
                 heed_self_attention_forward(m, x, causal), 0);
    heed_module_free(m);
}
END_TEST

START_TEST(state_and_sizes)
{
    struct heed_self_attention *m = make();
    expect_state(
        m, 3, (const char *const[]){"W_q.weight (3, 4)", "W_k.weight (3, 6)", "W_v.weight (3, 6)"});
    ck_assert_ptr_null(heed_self_attention_forward(m, queries(HEED_F32), NULL));
    expect_error(HEED_ERR_SHAPE,
                 "linear in SelfAttention.W_k: x (2, 3, 4) does not fit weight (3, 6)");
    heed_module_free(m);
}
END_TEST

/* A batch gives what its sentences give one by one. */
START_TEST(batches)
{
    struct heed_self_attention *m = make();
    heed_tensor *x = queries(HEED_F32), *y = memory(HEED_F32);
    heed_tensor *both = heed_cross_attention_forward(m, x, y, padding());
    for (int64_t b = 0; b < BATCH; b++) {
        heed_tensor *one = heed_cross_attention_forward(
            m, heed_select(x, 0, b), heed_select(y, 0, b), heed_select(padding(), 0, b));
        expect_close(heed_select(both, 0, b), one, 1e-6);
    }
    heed_module_free(m);
}
END_TEST

/* A key_padding_mask (B, S), joined with another mask: blocked keys have no weight and no
 * influence. */
START_TEST(two_masks)
{
    struct heed_self_attention *m = make();
    heed_tensor *x = queries(HEED_F32), *y = memory(HEED_F32);
    heed_tensor *key_padding_mask = heed_squeeze(padding(), -2);
    heed_tensor *joined = heed_logical_or(blocked(), heed_unsqueeze(key_padding_mask, -2));
    m->keep_weights = true;
    heed_tensor *z = heed_cross_attention_forward(m, x, y, joined), *weights = m->attention_percent;
    expect_shape(weights, HEED_SHAPE(BATCH, T, S));
    const bool *closed = heed_const_data_bool(joined);
    for (int64_t i = 0; i < weights->numel; i++) {
        ck_assert((heed_const_data_f32(weights)[i] == 0) == closed[i]);
    }
    heed_tensor *changed = heed_clone(heed_detach(y));
    heed_fill_into(heed_select(heed_narrow(changed, 1, 2, 3), 0, 1), 50);
    expect_close(heed_cross_attention_forward(m, x, changed, joined), z, 0);
    heed_module_free(m);
}
END_TEST

/* A query that may attend to no key gives zeros, and zero gradients. */
START_TEST(closed_queries_learn_nothing)
{
    struct heed_self_attention *m = make();
    heed_tensor *x = queries(HEED_F32), *y = memory(HEED_F32);
    heed_tensor *z = heed_cross_attention_forward(m, x, y, blocked());
    heed_tensor *second = heed_select(z, 1, 1);
    expect_close(second, heed_zeros(HEED_SHAPE(BATCH, 3), HEED_F32), 0);
    heed_backward(heed_sum(heed_mul_scalar(second, 3)));
    heed_tensor *all[] = {x, y, m->W_q->weight, m->W_k->weight, m->W_v->weight};
    for (int i = 0; i < 5; i++) {
        expect_close(all[i]->grad, heed_zeros(heed_shape_of_tensor(all[i]), HEED_F32), 0);
    }
    heed_module_free(m);
}
END_TEST

/* No sentences, no queries or no keys. */
START_TEST(sizes_of_0)
{
    static const int64_t sizes[][3] = {{0, T, S}, {BATCH, 0, S}, {BATCH, T, 0}};
    const int64_t batch = sizes[_i][0], rows = sizes[_i][1], keys = sizes[_i][2];
    struct heed_self_attention *m = make();
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(batch, rows, 4), HEED_F32), true);
    heed_tensor *z =
        heed_cross_attention_forward(m, x, heed_randn(HEED_SHAPE(batch, keys, 6), HEED_F32),
                                     heed_zeros(HEED_SHAPE(rows, keys), HEED_BOOL));
    expect_close(z, heed_zeros(HEED_SHAPE(batch, rows, 3), HEED_F32), 0);
    heed_backward(heed_sum(z));
    expect_no_error();
    heed_module_free(m);
}
END_TEST

START_TEST(batches_that_differ)
{
    struct heed_self_attention *m = make();
    ck_assert_ptr_null(heed_cross_attention_forward(
        m, queries(HEED_F32), heed_randn(HEED_SHAPE(1, S, OTHER), HEED_F32), NULL));
    expect_error(HEED_ERR_SHAPE, "cross_attention_forward: encodings_for_q (2, 3, 4) and "
                                 "encodings_for_kv (1, 5, 6): all dims but the last two");
    ck_assert_ptr_null(heed_cross_attention_forward(
        m, queries(HEED_F32), heed_randn(HEED_SHAPE(S, OTHER), HEED_F32), NULL));
    expect_error(HEED_ERR_SHAPE, "must be equal; repeat one of them with heed_expand");
    heed_module_free(m);
}
END_TEST

/* ---- derivatives and memory ---- */

typedef struct checked {
    struct heed_self_attention *m;
    heed_tensor *block_mask;
} checked;

static heed_tensor *run(heed_tensor *const *inputs, void *context)
{
    const checked *c = context;
    return heed_cross_attention_forward(c->m, inputs[0], inputs[1], c->block_mask);
}

START_TEST(derivatives)
{
    heed_manual_seed(5);
    checked c = {.m = make(),
                 .block_mask = _i == 0   ? NULL
                               : _i == 1 ? blocked()
                                         : heed_logical_or(blocked(), padding())};
    heed_tensor *inputs[] = {queries(HEED_F64), memory(HEED_F64)};
    expect_derivatives(c.m, run, &c, inputs, 2);
    heed_module_free(c.m);
}
END_TEST

static void *make_in(void *context)
{
    (void)context;
    return make();
}

START_TEST(without_memory)
{
    expect_module_without_memory(make_in, NULL, 10);
    checked c = {.m = make(), .block_mask = blocked()};
    c.m->keep_weights = true;
    heed_tensor *inputs[] = {queries(HEED_F32), memory(HEED_F32)};
    expect_forward_without_memory(run, &c, inputs, 15);
    heed_module_free(c.m);
}
END_TEST

void add_cross_attention_cases(Suite *suite)
{
    TCase *forwards = heed_case(suite, "forward");
    tcase_add_test(forwards, with_itself_it_is_self_attention);
    tcase_add_test(forwards, state_and_sizes);
    tcase_add_test(forwards, batches);
    tcase_add_test(forwards, two_masks);
    tcase_add_test(forwards, closed_queries_learn_nothing);
    tcase_add_loop_test(forwards, sizes_of_0, 0, 3);
    tcase_add_test(forwards, batches_that_differ);
    TCase *checks = heed_case(suite, "derivatives_and_memory");
    tcase_add_loop_test(checks, derivatives, 0, 3);
    tcase_add_test(checks, without_memory);
}
