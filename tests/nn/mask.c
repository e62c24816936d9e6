/* Masks: constructors, and fully masked rows, for which attention gives zeros and zero
 * gradients. */
#include <math.h>
#include <string.h>

#include "tests/common/reference.h"

#define INF HUGE_VAL
#define NaN (double)NAN

/* ---- constructors ---- */

START_TEST(causal_masks)
{
    heed_tensor *block = heed_causal_block_mask(3);
    expect_kind(block, HEED_BOOL, HEED_SHAPE(3, 3));
    EXPECT_VALUES(block, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0);
    EXPECT_VALUES(heed_causal_block_mask(1), 0, 0);
    expect_kind(heed_causal_block_mask(0), HEED_BOOL, HEED_SHAPE(0, 0));
}
END_TEST

START_TEST(padding_masks)
{
    heed_tensor *lengths = heed_from_i64((int64_t[]){3, 0, 1, 4}, HEED_SHAPE(4));
    heed_tensor *mask = heed_padding_block_mask(lengths, 4);
    expect_kind(mask, HEED_BOOL, HEED_SHAPE(4, 1, 4));
    EXPECT_VALUES(mask, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0);
    heed_tensor *one = heed_padding_block_mask(heed_scalar(2, HEED_I64), 3);
    expect_kind(one, HEED_BOOL, HEED_SHAPE(1, 3));
    EXPECT_VALUES(one, 0, 0, 0, 1);
    heed_tensor *turned = heed_transpose(heed_reshape(lengths, HEED_SHAPE(2, 2)), 0, 1);
    heed_tensor *several = heed_padding_block_mask(turned, 4); /* lengths (3, 1) and (0, 4) */
    expect_kind(several, HEED_BOOL, HEED_SHAPE(2, 2, 1, 4));
    EXPECT_VALUES(several, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
    expect_kind(heed_padding_block_mask(heed_zeros(HEED_SHAPE(2), HEED_I64), 0), HEED_BOOL,
                HEED_SHAPE(2, 1, 0));
    expect_kind(heed_padding_block_mask(heed_zeros(HEED_SHAPE(0), HEED_I64), 5), HEED_BOOL,
                HEED_SHAPE(0, 1, 5));
    heed_tensor *most = heed_zeros(HEED_SHAPE(1, 1, 1, 1, 1, 2), HEED_I64);
    expect_kind(heed_padding_block_mask(most, 3), HEED_BOOL, HEED_SHAPE(1, 1, 1, 1, 1, 2, 1, 3));
    heed_tensor *both = heed_logical_or(heed_causal_block_mask(4), mask);
    expect_kind(both, HEED_BOOL, HEED_SHAPE(4, 4, 4));
    EXPECT_VALUES(heed_slice(both, 0, 0, 1, 1), 0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1);
}
END_TEST

/* ---- attention ---- */

/* Rows of five tokens that may attend to all, some, one, none, and only itself. */
static heed_tensor *rows_of_all_kinds(void)
{
    const bool mask[] = {0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
    return heed_from_bool(mask, HEED_SHAPE(5, 5));
}

enum { MASKED_ROW = 3 };

static void expect_zeros(heed_tensor *x)
{
    expect_close(x, heed_zeros(heed_shape_of_tensor(x), x->dtype), 0);
}

static heed_tensor *masked_row(heed_tensor *x)
{
    return heed_slice(x, -2, MASKED_ROW, MASKED_ROW + 1, 1);
}

/* The fully masked row gives zeros, and zero gradients. */
static void check_masked_row(void *module, heed_tensor *x, heed_tensor *y)
{
    heed_tensor_list parameters = heed_parameters(module);
    expect_zeros(masked_row(y));
    ck_assert(heed_item(heed_sum(heed_mul(y, y))) > 0);
    heed_zero_grad(module);
    heed_backward_retain(heed_sum(heed_mul_scalar(masked_row(y), 3)));
    for (int i = 0; i < parameters.count; i++) {
        expect_zeros(parameters.tensors[i]->grad);
    }
    expect_zeros(x->grad);
    heed_backward(heed_sum(heed_mul(y, y))); /* gradients through all rows are finite */
    for (int i = 0; i < parameters.count; i++) {
        heed_tensor *g = parameters.tensors[i]->grad;
        const double square = heed_item(heed_sum(heed_mul(g, g)));
        ck_assert_msg(square > 0 && isfinite(square), "%s: %g", parameters.names[i], square);
    }
    ck_assert(isfinite(heed_item(heed_sum(heed_mul(x->grad, x->grad)))));
}

START_TEST(masked_row_of_multi_head)
{
    heed_manual_seed(13);
    struct heed_multi_head *m = heed_multi_head_new(4, 2, -2, -1, .head_dim = 3);
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(2, 5, 4), HEED_F32), true);
    check_masked_row(m, x, heed_multi_head_forward(m, x, rows_of_all_kinds()));
    heed_module_free(m);
}
END_TEST

/* An empty sentence next to one of three tokens: it gives zeros, and does not affect the gradients
 * of the other. */
START_TEST(an_empty_sentence_in_a_batch)
{
    heed_manual_seed(14);
    struct heed_multi_head *m = heed_multi_head_new(4, 2, -2, -1);
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(2, 5, 4), HEED_F32), true);
    heed_tensor *lengths = heed_from_i64((int64_t[]){3, 0}, HEED_SHAPE(2));
    heed_tensor *mask =
        heed_logical_or(heed_padding_block_mask(lengths, 5), heed_causal_block_mask(5));
    heed_tensor *y = heed_multi_head_forward(m, x, mask), *alone, *both[7], *one[7];
    heed_tensor *first = heed_slice(x, 0, 0, 1, 1);
    alone = heed_multi_head_forward(m, first, heed_slice(mask, 0, 0, 1, 1));
    expect_zeros(heed_slice(y, 0, 1, 2, 1));
    expect_close(heed_slice(y, 0, 0, 1, 1), alone, 1e-7);
    heed_tensor_list list = heed_parameters(m);
    heed_grad(heed_sum(heed_mul(y, y)), list.tensors, list.count, both, false);
    heed_grad(heed_sum(heed_mul(alone, alone)), list.tensors, list.count, one, false);
    for (int i = 0; i < list.count; i++) {
        expect_close(both[i], one[i], 1e-5);
    }
    /* The padding of the first sentence does not affect its tokens. */
    heed_tensor *other = heed_clone(heed_detach(x));
    heed_fill_into(heed_slice(heed_slice(other, 0, 0, 1, 1), 1, 3, 5, 1), 100);
    heed_tensor *same = heed_multi_head_forward(m, other, mask);
    expect_close(heed_slice(heed_slice(same, 0, 0, 1, 1), 1, 0, 3, 1),
                 heed_detach(heed_slice(heed_slice(y, 0, 0, 1, 1), 1, 0, 3, 1)), 0);
    heed_module_free(m);
}
END_TEST

/* With every row masked all gradients are 0, not NaN. */
START_TEST(everything_is_masked)
{
    struct heed_multi_head *m = heed_multi_head_new(4, 2, -2, -1);
    heed_tensor *x = heed_set_requires_grad(heed_randn(HEED_SHAPE(3, 4), HEED_F32), true);
    heed_tensor *mask = heed_ones(HEED_SHAPE(1), HEED_BOOL);
    heed_tensor *y = heed_multi_head_forward(m, x, mask);
    expect_zeros(y);
    heed_backward(heed_sum(heed_add_scalar(y, 1)));
    heed_tensor_list list = heed_parameters(m);
    for (int i = 0; i < list.count; i++) {
        expect_zeros(list.tensors[i]->grad);
    }
    expect_zeros(x->grad);
    heed_module_free(m);
}
END_TEST

static heed_tensor *masked_scores(heed_tensor *scores, heed_tensor *block, int kind)
{
    heed_tensor *blocked = heed_scalar(-INF, scores->dtype);
    heed_tensor *bias = heed_masked_fill(heed_scalar(0, scores->dtype), block, -INF);
    return kind == 0   ? heed_masked_fill(scores, block, -INF)
           : kind == 1 ? heed_where(heed_logical_not(block), scores, blocked)
                       : heed_add(scores, bias);
}

/* F.scaled_dot_product_attention(x, x, x, attn_mask=keep) of PyTorch 2.15 and the gradient of the
 * sum of its squares, with each kind of mask. */
START_TEST(each_kind_of_mask_gives_torchs_attention)
{
    const bool keep[] = {1, 0, 0, 0, 0, 0, 1, 1, 1};
    heed_tensor *block = heed_logical_not(heed_from_bool(keep, HEED_SHAPE(3, 3)));
    heed_tensor *x = heed_from_f64((double[]){1.16, .23, .57, 1.36, 4.41, -2.16}, HEED_SHAPE(3, 2));
    heed_set_requires_grad(x, true);
    heed_tensor *scores = heed_div_scalar(heed_matmul(x, heed_transpose(x, 0, 1)), sqrt(2));
    heed_tensor *y = heed_matmul(heed_safe_softmax(masked_scores(scores, block, _i), -1), x);
    EXPECT_VALUES(y, 1e-9, 1.16, .23, 0, 0, 4.409996537, -2.159997433);
    heed_backward(heed_sum(heed_mul(y, y)));
    EXPECT_VALUES(x->grad, 1e-8, 2.319883741, .4600569434, -4.204255013e-6, 2.059226996e-6,
                  8.820209803, -4.320125365);
}
END_TEST

void add_mask_cases(Suite *suite)
{
    TCase *kinds = heed_case(suite, "constructors");
    tcase_add_test(kinds, causal_masks);
    tcase_add_test(kinds, padding_masks);
    TCase *attention = heed_case(suite, "masks_in_attention");
    tcase_add_test(attention, masked_row_of_multi_head);
    tcase_add_test(attention, an_empty_sentence_in_a_batch);
    tcase_add_test(attention, everything_is_masked);
    tcase_add_loop_test(attention, each_kind_of_mask_gives_torchs_attention, 0, 3);
}
