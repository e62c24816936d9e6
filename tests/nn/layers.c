/* LayerNorm, Dropout, and heed_forward, which calls any module with one input. parity_modules.c
 * compares their numbers with PyTorch's. */
#include "tests/common/module_util.h"

/* ---- a user-defined module ---- */

struct twice {
    heed_module module;
};

static heed_tensor *twice_forward(void *module, heed_tensor *x)
{
    (void)module;
    return heed_mul_scalar(x, 2);
}

static const heed_module_kind twice_kind = {
    .name = "Twice", .size = sizeof(struct twice), .forward = twice_forward};

static void *twice_new(void)
{
    return heed_module_new(&twice_kind);
}

/* ---- names and state ---- */

static void expect_printed(void *m, const char *text)
{
    expect_tree(m, text);
    heed_module_free(m);
}

START_TEST(printed_as_torch)
{
    expect_printed(heed_layer_norm_new(HEED_SHAPE(3)),
                   "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=True)");
    expect_printed(heed_dropout_new(0.25), "Dropout(p=0.25, inplace=False)");
}
END_TEST

START_TEST(layer_norm_starts_with_ones_and_zeros)
{
    heed_manual_seed(1);
    const heed_generator before = heed_get_generator();
    struct heed_layer_norm *m = heed_layer_norm_new(HEED_SHAPE(3));
    const heed_generator after = heed_get_generator();
    ck_assert_int_eq(after.next, before.next);
    expect_close(m->weight, heed_ones(HEED_SHAPE(3), HEED_F32), 0);
    expect_close(m->bias, heed_zeros(HEED_SHAPE(3), HEED_F32), 0);
    heed_module_free(m);
    m = heed_layer_norm_new(HEED_SHAPE(0));
    expect_shape(m->weight, HEED_SHAPE(0));
    heed_module_free(m);
}
END_TEST

START_TEST(the_last_sine_may_have_no_cosine)
{
    struct heed_position_encoding *m = heed_position_encoding_new(3, 2);
    EXPECT_VALUES(m->pe, 1e-6, 0, 1, 0, 0.84147098, 0.54030231, 0.00215443);
    heed_module_free(m);
}
END_TEST

/* ---- forward ---- */

/* Transposed, the weight would fit; but the caller passes x. */
START_TEST(a_weight_is_not_blamed)
{
    struct heed_linear *m = heed_linear_new(3, 4, .no_bias = true);
    heed_linear_forward(m, heed_ones(HEED_SHAPE(2, 4), HEED_F32));
    ck_assert_str_eq(heed_error_message(), "linear in Linear: x (2, 4) does not fit weight (4, 3): "
                                           "takes x (..., in), weight (out, in)");
    heed_error();
    HEED_FORWARD(m);
    heed_matmul(heed_ones(HEED_SHAPE(2, 3), HEED_F32), heed_ones(HEED_SHAPE(2, 3), HEED_F32));
    expect_error(HEED_ERR_SHAPE, "matmul in Linear: b (2, 3) does not fit a (2, 3): takes a (..., "
                                 "m, k), b (..., k, n); did you mean heed_transpose(b, -2, -1)?");
    heed_module_free(m);
}
END_TEST

START_TEST(dropout_drops_while_training)
{
    struct heed_dropout *m = heed_dropout_new(0.4);
    heed_tensor *x = heed_randn(HEED_SHAPE(6, 7), HEED_F32);
    heed_manual_seed(3);
    heed_tensor *y = heed_dropout_forward(m, x);
    heed_manual_seed(3);
    expect_close(y, heed_dropout(x, 0.4, true), 0);
    ck_assert(!heed_equal(x, y));
    heed_eval(m);
    const heed_generator before = heed_get_generator();
    ck_assert_ptr_eq(heed_dropout_forward(m, x), x);
    ck_assert_int_eq(heed_get_generator().next, before.next);
    heed_train(m);
    ck_assert_ptr_ne(heed_dropout_forward(m, x), x);
    m->p = 0;
    ck_assert_ptr_eq(heed_dropout_forward(m, x), x);
    heed_module_free(m);
}
END_TEST

START_TEST(forward_runs_any_module)
{
    heed_tensor *x = heed_randn(HEED_SHAPE(3, 4), HEED_F32);
    heed_tensor *ids = heed_from_i64((int64_t[]){2, 0}, HEED_SHAPE(2));
    struct heed_linear *linear = heed_linear_new(4, 2);
    expect_close(heed_forward(linear, x), heed_linear_forward(linear, x), 0);
    struct heed_embedding *embedding = heed_embedding_new(3, 4);
    expect_close(heed_forward(embedding, ids), heed_embedding_forward(embedding, ids), 0);
    struct heed_position_encoding *position = heed_position_encoding_new(4, 5);
    expect_close(heed_forward(position, x), heed_position_encoding_forward(position, x), 0);
    struct heed_self_attention *one = heed_self_attention_new(4, 0, 1);
    expect_close(heed_forward(one, x), heed_self_attention_forward(one, x, NULL), 0);
    struct heed_multi_head *several = heed_multi_head_new(4, 2, 0, 1);
    expect_close(heed_forward(several, x), heed_multi_head_forward(several, x, NULL), 0);
    struct heed_layer_norm *norm = heed_layer_norm_new(HEED_SHAPE(4));
    expect_close(heed_forward(norm, x), heed_layer_norm_forward(norm, x), 0);
    void *own = twice_new();
    expect_close(heed_forward(own, x), heed_add(x, x), 0);
    struct heed_embedding *empty = heed_embedding_new(3, 0);
    ck_assert_int_eq(heed_size(heed_forward(empty, ids), -1), 0);
    void *all[] = {linear, embedding, position, one, several, norm, own, empty};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        heed_module_free(all[i]);
    }
}
END_TEST

void add_layers_cases(Suite *suite)
{
    TCase *names = heed_case(suite, "names_and_state");
    tcase_add_test(names, printed_as_torch);
    tcase_add_test(names, layer_norm_starts_with_ones_and_zeros);
    tcase_add_test(names, the_last_sine_may_have_no_cosine);
    TCase *forwards = heed_case(suite, "forward");
    tcase_add_test(forwards, a_weight_is_not_blamed);
    tcase_add_test(forwards, dropout_drops_while_training);
    tcase_add_test(forwards, forward_runs_any_module);
}
