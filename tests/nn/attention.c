/* Attention modules: dims and kept weights. parity_modules.c compares their results and gradients
 * with PyTorch's. */
#include "tests/common/test_util.h"

/* For a batch, the dims of a (T, d) input would silently mix its sentences. */
START_TEST(test_dims_that_are_not_the_last)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(3, 4), HEED_F32);
    const int dims[][2] = {{0, 2}, {1, 1}, {-2, 0}, {-1, -1}}; /* one is right */
    for (int i = 0; i < 4; i++) {
        struct heed_self_attention *m = heed_self_attention_new(4, dims[i][0], dims[i][1]);
        ck_assert_ptr_null(heed_self_attention_forward(m, x, NULL));
        expect_error(HEED_ERR_DIM, "are not the last two of the 2 dims");
        heed_module_free(m);
    }
    struct heed_self_attention *m = heed_self_attention_new(4); /* of a (T, d) input */
    expect_shape(heed_self_attention_forward(m, x, NULL), HEED_SHAPE(3, 4));
    heed_module_free(m);
    struct heed_multi_head *heads = heed_multi_head_new(4, 2);
    expect_shape(heed_multi_head_forward(heads, x, NULL), HEED_SHAPE(3, 4));
    heed_module_free(heads);
}
END_TEST

START_TEST(test_kept_weights)
{
    struct heed_self_attention *m = heed_self_attention_new(4, -2, -1);
    heed_tensor *x = heed_randn(HEED_SHAPE(1, 3, 4), HEED_F32), *weights;
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

void add_attention_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "attention");
    tcase_add_test(tests, test_dims_that_are_not_the_last);
    tcase_add_test(tests, test_kept_weights);
}
