/* Numbers computed with PyTorch 1.13.1: the SelfAttention class of Josh Starmer's tutorial (see
 * examples/self_attention.c) at seed 42, and a decoder-only toy trained for 30 epochs. */
#include <math.h>

#include "tests/common/test_util.h"

/* ---- SelfAttention(2, 0, 1) at seed 42 ---- */

static heed_tensor *encodings(void)
{
    return heed_from_f32((float[]){1.16f, 0.23f, 0.57f, 1.36f, 4.41f, -2.16f}, HEED_SHAPE(3, 2));
}

static struct heed_self_attention *tutorial_class(void)
{
    heed_manual_seed(42);
    return heed_self_attention_new(2, 0, 1);
}

START_TEST(test_weights)
{
    struct heed_self_attention *m = tutorial_class();
    EXPECT_VALUES(m->W_q->weight, 0, 0x1.14cae2p-1, 0x1.2c7eb6p-1, -0x1.534346p-3, 0x1.4c92a4p-1);
    EXPECT_VALUES(m->W_k->weight, 5e-9, -.15492962, .14268756, -.34425849, .41527155);
    EXPECT_VALUES(m->W_v->weight, 5e-9, .62334496, -.51875341, .61461449, .13234161);
    heed_module_free(m);
}
END_TEST

START_TEST(test_every_intermediate)
{
    struct heed_self_attention *m = tutorial_class();
    heed_tensor *q = heed_linear_forward(m->W_q, encodings());
    heed_tensor *k = heed_linear_forward(m->W_k, encodings());
    heed_tensor *v = heed_linear_forward(m->W_v, encodings());
    heed_tensor *sims = heed_matmul(q, heed_transpose(k, 0, 1));
    heed_tensor *scaled = heed_div_scalar(sims, sqrt(2));
    const double near = 3e-7; /* rounding to eight digits and to float */
    EXPECT_VALUES(q, near, .76209599, -.04276261, 1.10633767, .78897280, 1.11637843, -2.13358307);
    EXPECT_VALUES(k, near, -.14690022, -.30382738, .10574520, .36854199, -.99144477, -2.41516638);
    EXPECT_VALUES(v, near, .60376686, .74339134, -.35019803, .53031486, 3.86945868, 2.42459178);
    EXPECT_VALUES(sims, 5e-7, -.09895961, .06482817, -.65229726, -.40223277, .40775949, -3.00237322,
                  .48424470, -.66826326, 4.04613066);
    EXPECT_VALUES(scaled, 5e-7, -.06997501, .04584044, -.46124381, -.28442153, .28832951,
                  -2.12299848, .34241271, -.47253349, 2.86104655);
    EXPECT_VALUES(heed_softmax(scaled, 1), near, .35727212, .40114111, .24158683, .34104300,
                  .60471636, .05424070, .07217980, .03195134, .89586890);
    heed_module_free(m);
}
END_TEST

START_TEST(test_outputs)
{
    struct heed_self_attention *m = tutorial_class();
    heed_tensor *weights;
    heed_tensor *out = heed_self_attention_forward_weights(m, encodings(), NULL, &weights);
    EXPECT_VALUES(out, 5e-7, 1.01004052, 1.06407356, .20402211, .70573008, 3.49891806, 2.24271846);
    EXPECT_VALUES(weights, 3e-7, .35727212, .40114111, .24158683, .34104300, .60471636, .05424070,
                  .07217980, .03195134, .89586890);
    heed_tensor *masked = heed_self_attention_forward(m, encodings(), heed_causal_block_mask(3));
    EXPECT_VALUES(masked, 5e-7, .60376686, .74339134, -.00619610, .60715079, 3.49891806,
                  2.24271846);
    heed_module_free(m);
}
END_TEST

/* The tutorial's MultiHeadAttention has no W_o: it concatenates its heads. */
START_TEST(test_two_heads)
{
    heed_manual_seed(42);
    struct heed_multi_head *m = heed_multi_head_new(2, 2, 0, 1);
    heed_tensor *heads[2];
    for (int i = 0; i < 2; i++) {
        heads[i] = heed_self_attention_forward(heed_multi_head_head(m, i), encodings(), NULL);
    }
    EXPECT_VALUES(heed_cat(heads, 2, 1), 5e-7, 1.01004052, 1.06407356, -.70813227, -.82684392,
                  .20402211, .70573008, -.74168795, -.91928679, 3.49891806, 2.24271846, -.71899807,
                  -.84474295);
    heed_module_free(m);
}
END_TEST

START_TEST(test_gradients)
{
    struct heed_self_attention *m = tutorial_class();
    heed_tensor *x = heed_set_requires_grad(encodings(), true);
    heed_tensor *out = heed_self_attention_forward(m, x, NULL);
    heed_tensor *loss = heed_sum(heed_mul(out, out));
    EXPECT_VALUES(loss, 5e-6, 19.96432877);
    heed_backward(loss);
    const double near = 3e-5; /* 1e-6 of the largest gradient, 32 */
    EXPECT_VALUES(m->W_q->weight->grad, near, -10.7894707, 3.7718170, -27.1707764, 9.4767456);
    EXPECT_VALUES(m->W_k->weight->grad, near, 13.1872225, -11.0459023, -15.7115259, 12.6371441);
    EXPECT_VALUES(m->W_v->weight->grad, near, 32.2112427, -12.5873919, 23.1966629, -7.0787749);
    EXPECT_VALUES(x->grad, near, .8703752, -2.9200683, 1.6789159, -.4490162, 7.8011189, -8.7575569);
    heed_module_free(m);
}
END_TEST

/* ---- the decoder-only toy: what 0, is 1, statquest 2, awesome 3, <EOS> 4 ---- */

enum { TOKENS = 5, LENGTH = 5, MAX_LEN = 6 };

struct decoder {
    heed_module module;
    struct heed_embedding *we;
    struct heed_position_encoding *pe;
    struct heed_self_attention *self_attention;
    struct heed_linear *fc_layer;
};

static const heed_module_kind decoder_kind = {.name = "DecoderOnly",
                                              .size = sizeof(struct decoder)};

static struct decoder *decoder_new(void)
{
    struct decoder *m = heed_module_new(&decoder_kind);
    if (m == NULL) {
        return NULL;
    }
    heed_add_child(m, "we", &m->we, heed_embedding_new(TOKENS, 2));
    heed_add_child(m, "pe", &m->pe, heed_position_encoding_new(2, MAX_LEN));
    heed_add_child(m, "self_attention", &m->self_attention, heed_self_attention_new(2, 0, 1));
    heed_add_child(m, "fc_layer", &m->fc_layer, heed_linear_new(2, TOKENS));
    return m;
}

static heed_tensor *decoder_forward(struct decoder *m, heed_tensor *tokens)
{
    heed_tensor *encodings =
        heed_position_encoding_forward(m->pe, heed_embedding_forward(m->we, tokens));
    heed_tensor *mask = heed_causal_block_mask(heed_size(tokens, 0));
    heed_tensor *attended = heed_self_attention_forward(m->self_attention, encodings, mask);
    return heed_linear_forward(m->fc_layer, heed_add(encodings, attended));
}

static const int64_t inputs[2][LENGTH] = {{0, 1, 2, 4, 3}, {2, 1, 0, 4, 3}};
static const int64_t labels[2][LENGTH] = {{1, 2, 4, 3, 4}, {1, 0, 4, 3, 4}};

static heed_tensor *decoder_loss(struct decoder *m, int row)
{
    return heed_cross_entropy(decoder_forward(m, heed_from_i64(inputs[row], HEED_SHAPE(LENGTH))),
                              heed_from_i64(labels[row], HEED_SHAPE(LENGTH)));
}

START_TEST(test_decoder_weights)
{
    heed_manual_seed(42);
    struct decoder *m = decoder_new();
    static const char *const names[] = {"we.weight",
                                        "pe.pe",
                                        "self_attention.W_q.weight",
                                        "self_attention.W_k.weight",
                                        "self_attention.W_v.weight",
                                        "fc_layer.weight",
                                        "fc_layer.bias"};
    heed_tensor_list state = heed_state_dict(m);
    ck_assert_int_eq(state.count, 7);
    for (int i = 0; i < 7; i++) {
        ck_assert_str_eq(state.names[i], names[i]);
    }
    EXPECT_VALUES(m->we->weight, 0, 0x1.58c55cp-2, 0x1.07cd3ap-3, 0x1.e02dcep-3, 0x1.d7b8d8p-3,
                  -0x1.1f7384p+0, -0x1.7d99bp-3, 0x1.1aa658p+1, -0x1.46a78cp-1, 0x1.d8bcacp-2,
                  0x1.11c46ep-2);
    EXPECT_VALUES(m->pe->pe, 6e-8, 0, 1, 0x1.aed548p-1, 0x1.14a282p-1, 0x1.d18f6ep-1,
                  -0x1.aa2266p-2, 0x1.210386p-3, -0x1.fae04cp-1, -0x1.837b9ep-1, -0x1.4eaa6p-1,
                  -0x1.eaf82p-1, 0x1.227858p-2);
    EXPECT_VALUES(m->self_attention->W_q->weight, 0, -0x1.4d9be4p-2, -0x1.53a89p-4, -0x1.26170cp-2,
                  0x1.e054f6p-2);
    EXPECT_VALUES(m->self_attention->W_k->weight, 0, -0x1.1dc854p-1, -0x1.4dceap-2, -0x1.98ec1cp-3,
                  -0x1.b35e26p-2);
    EXPECT_VALUES(m->self_attention->W_v->weight, 0, 0x1.115cdap-4, -0x1.6593fap-1, 0x1.46f5dep-1,
                  -0x1.338a54p-1);
    EXPECT_VALUES(m->fc_layer->weight, 0, 0x1.1780f6p-1, 0x1.e20058p-4, -0x1.d638eep-3,
                  0x1.bf718ep-2, 0x1.c3645cp-4, 0x1.248394p-1, 0x1.3c9fa6p-4, -0x1.c8b58ap-3,
                  0x1.851874p-3, -0x1.88b5b4p-3);
    EXPECT_VALUES(m->fc_layer->bias, 0, 0x1.30bbcp-2, 0x1.433c74p-1, 0x1.a28f5p-2, -0x1.3c8bf6p-2,
                  0x1.a1fbf8p-2);
    heed_module_free(m);
}
END_TEST

START_TEST(test_decoder_first_step)
{
    heed_manual_seed(42);
    struct decoder *m = decoder_new();
    heed_tensor *loss = decoder_loss(m, 0);
    EXPECT_VALUES(loss, 2e-7, 0x1.64374cp+0);
    heed_backward(loss);
    const double near = 1e-6;
    EXPECT_VALUES(m->we->weight->grad, near, .05633254, -.08067149, .01719876, -.08550283,
                  .01024165, .04529043, .01355705, .05689822, .03090270, .06089502);
    EXPECT_VALUES(m->self_attention->W_q->weight->grad, near, .01101071, -.00659448, .01822753,
                  -.01854052);
    EXPECT_VALUES(m->self_attention->W_k->weight->grad, near, -.00082436, .01073818, -.01092700,
                  .03789965);
    EXPECT_VALUES(m->self_attention->W_v->weight->grad, near, .02995251, .06816804, .04367156,
                  -.03652276);
    EXPECT_VALUES(m->fc_layer->weight->grad, near, .10207495, -.06005358, .10182045, -.12882634,
                  -.05740922, -.12637816, -.05398891, .07889122, -.09249724, .23636685);
    EXPECT_VALUES(m->fc_layer->bias->grad, near, .21798246, .04034584, .00126305, -.09037231,
                  -.16921911);
    heed_module_free(m);
}
END_TEST

/* Trains, and writes the mean loss of each epoch to `losses`. */
static void train_decoder(struct decoder *m, int epochs, double *losses)
{
    heed_optimizer *adam = heed_adam_new(heed_parameters(m), 0.1);
    for (int epoch = 0; epoch < epochs; epoch++) {
        losses[epoch] = 0;
        for (int row = 0; row < 2; row++) {
            HEED_SCOPE(step);
            heed_optimizer_zero_grad(adam);
            heed_tensor *loss = decoder_loss(m, row);
            heed_backward(loss);
            heed_optimizer_step(adam);
            losses[epoch] += heed_item(loss) / 2;
        }
    }
    heed_optimizer_free(adam);
    expect_no_error();
}

/* The most likely token after `tokens`. */
static int64_t next_token(struct decoder *m, const int64_t *tokens, int64_t count)
{
    heed_tensor *logits = decoder_forward(m, heed_from_i64(tokens, HEED_SHAPE(count)));
    int64_t best = 0;
    for (int64_t i = 1; i < TOKENS; i++) {
        if (heed_at(logits, HEED_INDEX(-1, i)) > heed_at(logits, HEED_INDEX(-1, best))) {
            best = i;
        }
    }
    return best;
}

START_TEST(test_decoder_training)
{
    static const double golden[30] = {
        1.320311, 1.037963, .875778, .753877, .638136, .524596, .412231, .317596, .264491, .263249,
        .23321,   .205488,  .178876, .168413, .160846, .15215,  .147646, .149395, .152875, .154167,
        .15331,   .151475,  .149092, .146598, .144839, .144315, .144711, .145325, .145658, .145593};
    double losses[30];
    heed_manual_seed(42);
    struct decoder *m = decoder_new();
    train_decoder(m, 30, losses);
    for (int i = 0; i < 30; i++) {
        ck_assert_msg(fabs(losses[i] - golden[i]) <= 2e-6, "epoch %d: %.7f, not %.7f", i, losses[i],
                      golden[i]);
    }
    for (int row = 0; row < 2; row++) {
        int64_t tokens[MAX_LEN] = {inputs[row][0], inputs[row][1], inputs[row][2], inputs[row][3]};
        tokens[4] = next_token(m, tokens, 4);
        ck_assert_int_eq(tokens[4], 3);                /* awesome */
        ck_assert_int_eq(next_token(m, tokens, 5), 4); /* <EOS> */
    }
    m->self_attention->keep_weights = true;
    decoder_forward(m, heed_from_i64((int64_t[]){2, 1, 0, 4, 3}, HEED_SHAPE(5)));
    heed_tensor *percent = m->self_attention->attention_percent;
    EXPECT_VALUES(heed_slice(percent, 0, 2, 4, 1), 2e-5, .0578810051, .938890159, .00322878174, 0,
                  0, .988879323, 2.84751568e-05, .00171799492, .00937409140, 0);
    heed_module_free(m);
}
END_TEST

void add_golden_cases(Suite *suite)
{
    TCase *tutorial = heed_case(suite, "SelfAttention_at_seed_42");
    tcase_add_test(tutorial, test_weights);
    tcase_add_test(tutorial, test_every_intermediate);
    tcase_add_test(tutorial, test_outputs);
    tcase_add_test(tutorial, test_two_heads);
    tcase_add_test(tutorial, test_gradients);
    TCase *decoder = heed_case(suite, "decoder-only_toy");
    tcase_add_test(decoder, test_decoder_weights);
    tcase_add_test(decoder, test_decoder_first_step);
    tcase_add_test(decoder, test_decoder_training);
}
