/* Self-attention and multi-head attention: shapes, masks, dims, weights, and their derivatives. */
#include "tests/common/module_util.h"

static heed_tensor *encodings(int64_t batch, int64_t length, int64_t d_model)
{
    return heed_randn(HEED_SHAPE(batch, length, d_model), HEED_F32);
}

static heed_tensor *row_of(heed_tensor *x, int64_t b)
{
    return heed_squeeze(heed_slice(x, 0, b, b + 1, 1), 0);
}

/* A batch gives what its rows give one by one, with positive and negative dims. */
START_TEST(test_batches)
{
    static const int dims[][2] = {{1, 2}, {-2, -1}};
    heed_manual_seed(1);
    struct heed_self_attention *single = heed_self_attention_new(6, 0, 1);
    heed_manual_seed(1);
    struct heed_self_attention *batched = heed_self_attention_new(6, dims[_i][0], dims[_i][1]);
    heed_tensor *x = encodings(3, 5, 6), *mask = heed_causal_block_mask(5);
    heed_tensor *y = heed_self_attention_forward(batched, x, NULL);
    heed_tensor *masked = heed_self_attention_forward(batched, x, mask);
    for (int64_t b = 0; b < 3; b++) {
        expect_close(row_of(y, b), heed_self_attention_forward(single, row_of(x, b), NULL), 1e-6);
        expect_close(row_of(masked, b), heed_self_attention_forward(single, row_of(x, b), mask),
                     1e-6);
    }
    heed_module_free(single);
    heed_module_free(batched);
}
END_TEST

/* For a batch, the dims of a (T, d) input would silently mix its sentences. */
START_TEST(test_dims_that_are_not_the_last)
{
    struct heed_self_attention *m = heed_self_attention_new(4, 0, 1);
    ck_assert_ptr_null(heed_self_attention_forward(m, encodings(2, 3, 4), NULL));
    expect_error(HEED_ERR_DIM, "row_dim 0 and col_dim 1");
    ck_assert_ptr_null(heed_self_attention_forward(m, heed_ones(HEED_SHAPE(4), HEED_F32), NULL));
    expect_error(HEED_ERR_SHAPE, "token_encodings (4) must be (..., tokens, d_model)");
    ck_assert_ptr_null(heed_self_attention_forward(m, NULL, NULL));
    expect_error(HEED_ERR_NULL, "token_encodings");
    ck_assert_ptr_null(heed_self_attention_forward(NULL, encodings(2, 3, 4), NULL));
    expect_error(HEED_ERR_NULL, "self_attention_forward");
    heed_tensor *x = heed_ones(HEED_SHAPE(3, 5), HEED_F32);
    ck_assert_ptr_null(heed_self_attention_forward(m, x, NULL));
    expect_error(HEED_ERR_SHAPE,
                 "linear in SelfAttention.W_q: x (3, 5) does not fit weight (4, 4)");
    x = heed_ones(HEED_SHAPE(3, 4), HEED_F32);
    ck_assert_ptr_null(heed_self_attention_forward(m, x, heed_causal_block_mask(2)));
    expect_error(HEED_ERR_SHAPE, "block_mask (2, 2)");
    heed_module_free(m);
    const int dims[][2] = {{0, 2}, {1, 1}, {-2, 0}, {-1, -1}}; /* one is right */
    for (int i = 0; i < 4; i++) {
        m = heed_self_attention_new(4, dims[i][0], dims[i][1]);
        ck_assert_ptr_null(heed_self_attention_forward(m, x, NULL));
        expect_error(HEED_ERR_DIM, "are not the last two of the 2 dims");
        heed_module_free(m);
    }
}
END_TEST

/* Blocked keys have no weight and no influence; each row of weights sums to 1. */
START_TEST(test_masked_weights)
{
    struct heed_self_attention *m = heed_self_attention_new(4, -2, -1);
    heed_tensor *x = encodings(2, 5, 4), *weights;
    heed_tensor *y = heed_self_attention_forward_weights(m, x, heed_causal_block_mask(5), &weights);
    heed_tensor *sums = heed_sum_dim(weights, -1, false);
    expect_close(sums, heed_ones(HEED_SHAPE(2, 5), HEED_F32), 1e-6);
    expect_close(heed_tril(weights, 0), weights, 0);
    heed_tensor *other = heed_clone(x);
    heed_fill_into(heed_slice(other, 1, 3, 5, 1), 100); /* later tokens */
    heed_tensor *same = heed_self_attention_forward(m, other, heed_causal_block_mask(5));
    expect_close(heed_slice(y, 1, 0, 3, 1), heed_slice(same, 1, 0, 3, 1), 0);
    heed_module_free(m);
}
END_TEST

START_TEST(test_kept_weights)
{
    struct heed_self_attention *m = heed_self_attention_new(4, -2, -1);
    heed_tensor *x = encodings(1, 3, 4), *weights;
    heed_self_attention_forward(m, x, NULL);
    ck_assert_ptr_null(m->attention_percent);
    m->keep_weights = true;
    heed_self_attention_forward_weights(m, x, NULL, &weights);
    heed_self_attention_forward_weights(m, x, NULL, &weights); /* the first copy is freed */
    expect_close(m->attention_percent, weights, 0);
    ck_assert(m->attention_percent->op == NULL && !m->attention_percent->requires_grad);
    heed_module_free(m);
}
END_TEST

START_TEST(test_multi_head)
{
    const int64_t head_dim = _i == 0 ? 0 : 3, width = _i == 0 ? 4 : 3;
    struct heed_multi_head *m = heed_multi_head_new(4, 2, -2, -1, .head_dim = head_dim);
    static const char *const names[] = {
        "heads.0.W_q.weight", "heads.0.W_k.weight", "heads.0.W_v.weight", "heads.1.W_q.weight",
        "heads.1.W_k.weight", "heads.1.W_v.weight", "W_o.weight"};
    heed_tensor_list list = heed_parameters(m);
    ck_assert_int_eq(list.count, 7);
    for (int i = 0; i < 7; i++) {
        ck_assert_str_eq(list.names[i], names[i]);
    }
    ck_assert_int_eq(heed_size(m->W_o->weight, 0), 4);
    ck_assert_int_eq(heed_size(m->W_o->weight, 1), 2 * width);
    heed_tensor *x = encodings(2, 5, 4), *mask = heed_causal_block_mask(5), *heads[2];
    for (int i = 0; i < 2; i++) {
        heads[i] = heed_self_attention_forward(heed_multi_head_head(m, i), x, mask);
    }
    expect_close(heed_multi_head_forward(m, x, mask),
                 heed_matmul(heed_cat(heads, 2, -1), heed_transpose(m->W_o->weight, 0, 1)), 1e-6);
    ck_assert_ptr_null(heed_multi_head_head(m, 2));
    expect_error(HEED_ERR_INDEX, "index 2 is out of range");
    heed_module_free(m);
}
END_TEST

/* ---- derivatives of whole modules by their input and all parameters ---- */

typedef struct model {
    struct heed_self_attention *one;
    struct heed_multi_head *several;
    heed_tensor *mask;
} model;

static heed_tensor *forward(heed_tensor *const *inputs, void *context)
{
    model *m = context;
    return m->one != NULL ? heed_self_attention_forward(m->one, inputs[0], m->mask)
                          : heed_multi_head_forward(m->several, inputs[0], m->mask);
}

static void check_module(void *module, model *m)
{
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(2, 3, 4), HEED_F64), true);
    expect_derivatives(module, forward, m, &x, 1);
}

/* Of three tokens the second may not attend to any. */
static heed_tensor *mask_with_blocked_row(void)
{
    const bool mask[] = {0, 1, 0, 1, 1, 1, 1, 0, 0};
    return heed_from_bool(mask, HEED_SHAPE(3, 3));
}

START_TEST(test_derivatives)
{
    heed_manual_seed(3);
    model m = {.mask = _i % 3 == 0   ? NULL
                       : _i % 3 == 1 ? heed_causal_block_mask(3)
                                     : mask_with_blocked_row()};
    if (_i < 3) {
        m.one = heed_self_attention_new(4, -2, -1);
        check_module(m.one, &m);
    } else {
        m.several = heed_multi_head_new(4, 2, -2, -1, .head_dim = 3);
        check_module(m.several, &m);
    }
    heed_module_free(m.one);
    heed_module_free(m.several);
}
END_TEST

void add_attention_cases(Suite *suite)
{
    TCase *one = heed_case(suite, "SelfAttention");
    tcase_add_loop_test(one, test_batches, 0, 2);
    tcase_add_test(one, test_dims_that_are_not_the_last);
    tcase_add_test(one, test_masked_weights);
    tcase_add_test(one, test_kept_weights);
    TCase *several = heed_case(suite, "MultiHead");
    tcase_add_loop_test(several, test_multi_head, 0, 2);
    TCase *derivatives = heed_case(suite, "derivatives");
    tcase_add_loop_test(derivatives, test_derivatives, 0, 6);
}
