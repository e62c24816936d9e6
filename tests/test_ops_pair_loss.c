/* mse, l1, huber, bce_with_logits and kl_div: PyTorch's values and gradients under each reduction and
 * at infinities, NaN and kinks; where ours are better; what is refused. */
#include <string.h>

#include "tests/losses_util.h"

struct pair_loss {
    const char *name;
    heed_reduction reduction;
    double y[6], dinput[6], dtarget[6];
};

struct special_loss {
    const char *name;
    int count;
    double input[18], target[18], y[18], dinput[18], dtarget[18];
};

#include "tests/fixtures/pair_losses.h"

enum {
    PAIRS = sizeof pair_losses / sizeof *pair_losses,
    SPECIALS = sizeof special_losses / sizeof *special_losses
};

/* ---- the losses as make_losses.py names them ---- */

static heed_tensor *weights(double factor, const heed_tensor *like)
{
    return made(WEIGHTS, factor, HEED_SHAPE(2), like->dtype, STEPPED);
}

static heed_tensor *apply(const char *name, heed_tensor *x, heed_tensor *t,
                          heed_reduction reduction)
{
    const bool small = strcmp(name, "huber_small") == 0, both = strcmp(name, "bce_both") == 0;
    if (strcmp(name, "mse") == 0) {
        return heed_mse_loss_with(x, t, (heed_loss_options){.reduction = reduction});
    }
    if (strcmp(name, "l1") == 0) {
        return heed_l1_loss_with(x, t, (heed_loss_options){.reduction = reduction});
    }
    if (strcmp(name, "huber") == 0 || small) {
        return heed_huber_loss_with(x, t, (heed_huber_options){small ? 0.4 : 0, reduction});
    }
    if (strncmp(name, "kl", 2) == 0) {
        const bool logs = strcmp(name, "kl_log") == 0;
        return heed_kl_div_with(x, t, (heed_kl_div_options){logs, reduction});
    }
    const bool weighted = strcmp(name, "bce") != 0;
    return heed_bce_with_logits_with(x, t,
                                     (heed_bce_options){.weight = weighted ? weights(1, x) : NULL,
                                                        .pos_weight = both ? weights(3, x) : NULL,
                                                        .reduction = reduction});
}

/* ---- every loss under every reduction ---- */

static void check_pair_loss(const struct pair_loss *r, heed_dtype dtype, enum layout layout)
{
    const heed_shape shape = HEED_SHAPE(3, 2);
    heed_tensor *inputs[] = {wanted(made(SCORES, 1, shape, dtype, layout)),
                             wanted(made(PROBS, 1, shape, dtype, (layout + 1) % LAYOUTS))};
    heed_tensor *y = apply(r->name, inputs[0], inputs[1], r->reduction), *grads[2];
    derive(y, inputs, 2, grads);
    expect_kind(heed_detach(y), dtype, r->reduction == HEED_NONE ? shape : HEED_SCALAR);
    expect_printed(r->name, y, r->y);
    expect_printed(r->name, grads[0], r->dinput);
    expect_printed(r->name, grads[1], r->dtarget);
}

START_TEST(values_and_gradients_are_torchs)
{
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        check_pair_loss(&pair_losses[_i], HEED_F32, layout);
        check_pair_loss(&pair_losses[_i], HEED_F64, layout);
    }
}
END_TEST

/* torch's kl_div has NaN as gradient of a target of 0; ours is that of 0 ln 0 = 0. */
static void correct_gradients(struct special_loss *r)
{
    for (int i = 0; strcmp(r->name, "kl") == 0 && i < r->count; i++) {
        r->dtarget[i] = r->target[i] == 0 ? -formula_at(UPSTREAM, i) * r->input[i] : r->dtarget[i];
    }
}

static void check_special_loss(struct special_loss r, heed_dtype dtype, enum layout layout)
{
    correct_gradients(&r);
    const heed_shape shape = HEED_SHAPE(r.count);
    heed_tensor *inputs[] = {wanted(lay_out(r.input, shape, dtype, layout)),
                             wanted(lay_out(r.target, shape, dtype, layout))};
    heed_tensor *y = apply(r.name, inputs[0], inputs[1], HEED_NONE), *grads[2];
    derive(y, inputs, 2, grads);
    expect_printed(r.name, y, r.y);
    expect_printed(r.name, grads[0], r.dinput);
    expect_printed(r.name, grads[1], r.dtarget);
}

START_TEST(kinks_and_infinities_are_torchs)
{
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        check_special_loss(special_losses[_i], HEED_F32, layout);
        check_special_loss(special_losses[_i], HEED_F64, layout);
    }
}
END_TEST

/* ---- a longer one, by a plain loop ---- */

START_TEST(mse_loss_is_the_mean_of_squares)
{
    const heed_shape shape = HEED_SHAPE(3, 5, 40);
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        heed_tensor *a = noise(shape, HEED_F32, layout, 3);
        heed_tensor *b = noise(shape, HEED_F32, (layout + 1) % LAYOUTS, 4);
        double sum = 0;
        for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
            sum += pow(element(a, at) - element(b, at), 2);
        }
        EXPECT_VALUES(heed_mse_loss(a, b), 1e-6, sum / 600);
    }
}
END_TEST

/* ---- what torch rounds away ---- */

START_TEST(bce_keeps_small_losses_and_gradients)
{
    static const float logits[] = {-20, 20, -60, 60, -8, 8};
    static const float targets[] = {0, 1, 0, 1, 0, 1};
    heed_tensor *x = wanted(heed_from_f32(logits, HEED_SHAPE(6))), *dx;
    heed_tensor *t = heed_from_f32(targets, HEED_SHAPE(6));
    heed_tensor *y = heed_bce_with_logits_with(x, t, (heed_bce_options){.reduction = HEED_NONE});
    heed_grad(heed_sum(y), &x, 1, &dx, false);
    for (int i = 0; i < 6; i++) {
        const double e = exp(-fabs((double)logits[i])), sign = i % 2 == 0 ? 1 : -1;
        expect_element("bce", heed_at(y, HEED_INDEX(i)), log1p(e), 4, HEED_F32);
        expect_element("dbce", heed_at(dx, HEED_INDEX(i)), sign * e / (1 + e), 4, HEED_F32);
    }
}
END_TEST

/* A logit of -inf where yes is right costs inf; torch says NaN. */
START_TEST(bce_of_a_sure_mistake_is_infinite)
{
    heed_tensor *x = wanted(heed_from_f32((float[]){-INFINITY, INFINITY}, HEED_SHAPE(2))), *dx;
    heed_tensor *t = heed_from_f32((float[]){1, 0}, HEED_SHAPE(2));
    heed_tensor *y = heed_bce_with_logits_with(x, t, (heed_bce_options){.reduction = HEED_NONE});
    EXPECT_VALUES(y, 0, INF, INF);
    heed_grad(heed_sum(y), &x, 1, &dx, false);
    EXPECT_VALUES(dx, 0, -1, 1);
}
END_TEST

/* ---- shapes, dtypes, nothing ---- */

static const char *const names[] = {"mse", "l1", "huber", "bce", "kl"};
enum { NAMES = sizeof names / sizeof *names };

START_TEST(of_nothing_and_of_one)
{
    const char *name = names[_i];
    heed_tensor *none = heed_ones(HEED_SHAPE(0, 2), HEED_F64), *one = heed_scalar(1, HEED_F64);
    EXPECT_VALUES(apply(name, none, none, HEED_MEAN), 0, NaN);
    EXPECT_VALUES(apply(name, none, none, HEED_SUM), 0, 0);
    expect_kind(apply(name, none, none, HEED_NONE), HEED_F64, HEED_SHAPE(0, 2));
    const double loss = heed_item(apply(name, one, one, HEED_NONE));
    for (heed_reduction reduction = HEED_MEAN; reduction <= HEED_NONE; reduction++) {
        heed_tensor *y = apply(name, one, one, reduction);
        expect_kind(y, HEED_F64, HEED_SCALAR);
        EXPECT_VALUES(y, 0, loss);
    }
}
END_TEST

START_TEST(batchmean_divides_by_the_rows)
{
    heed_tensor *none = heed_ones(HEED_SHAPE(0, 2), HEED_F64);
    EXPECT_VALUES(apply("kl", none, none, HEED_BATCHMEAN), 0, NaN);
    /* torch.nn.functional.kl_div(-torch.ones(2, 3), torch.full((2, 3), .3), reduction="batchmean") */
    heed_tensor *x = heed_full(HEED_SHAPE(2, 3), -1, HEED_F32);
    heed_tensor *t = heed_full(HEED_SHAPE(2, 3), 0.3, HEED_F32);
    EXPECT_VALUES(apply("kl", x, t, HEED_BATCHMEAN), 1e-4, -0.1836);
    heed_tensor *no_dims = heed_scalar(-1, HEED_F64), *half = heed_scalar(0.5, HEED_F64);
    EXPECT_VALUES(apply("kl", no_dims, half, HEED_BATCHMEAN), 1e-7, 0.1534264097);
}
END_TEST

START_TEST(whole_numbers_meet_floats)
{
    const char *name = names[_i];
    const double ones[] = {1, 0, 1, 1, 0, 0}, scores[] = {0.3, -0.4, 2, -3, 0.5, 0};
    const heed_shape shape = HEED_SHAPE(2, 3);
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *x = lay_out(scores, shape, dtype, COLUMNS);
        heed_tensor *goal = apply(name, x, lay_out(ones, shape, dtype, ROWS), HEED_NONE);
        for (heed_dtype whole = HEED_I64; whole <= HEED_BOOL; whole++) {
            heed_tensor *t = lay_out(ones, shape, whole, STEPPED);
            expect_kind(apply(name, x, t, HEED_NONE), dtype, shape);
            ck_assert(heed_allclose(apply(name, x, t, HEED_NONE), goal, 0, 0, false));
            expect_kind(apply(name, t, x, HEED_SUM), dtype, HEED_SCALAR);
            ck_assert_ptr_null(apply(name, t, t, HEED_NONE));
            expect_error(HEED_ERR_DTYPE, "one of them must be a float");
        }
    }
}
END_TEST

START_TEST(refused_by_all)
{
    const char *name = names[_i];
    heed_tensor *x = heed_ones(HEED_SHAPE(3), HEED_F32);
    static const heed_shape shapes[] = {{0, {0}}, {1, {1}}, {1, {4}}, {2, {1, 3}}, {2, {3, 1}}};
    for (int i = 0; i < 5; i++) {
        ck_assert_ptr_null(apply(name, x, heed_ones(shapes[i], HEED_F32), HEED_MEAN));
        expect_error(HEED_ERR_SHAPE, "their shapes must be equal");
    }
    ck_assert_ptr_null(apply(name, x, heed_ones(HEED_SHAPE(3), HEED_F64), HEED_MEAN));
    expect_error(HEED_ERR_DTYPE, "f32 meets f64");
    const int reductions[] = {-1, HEED_BATCHMEAN + 1, 99};
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_null(apply(name, x, x, (heed_reduction)reductions[i]));
        expect_error(HEED_ERR_VALUE, "reduction");
    }
    if (strcmp(name, "kl") != 0) {
        ck_assert_ptr_null(apply(name, x, x, HEED_BATCHMEAN));
        expect_error(HEED_ERR_VALUE, "HEED_BATCHMEAN is for kl_div");
    }
}
END_TEST

START_TEST(options_are_checked)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 3), HEED_F32);
    static const double deltas[] = {-1, (double)NAN, -HUGE_VAL};
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_null(heed_huber_loss_with(x, x, (heed_huber_options){.delta = deltas[i]}));
        expect_error(HEED_ERR_VALUE, "huber_loss: delta");
    }
    heed_tensor *wide = heed_huber_loss_with(x, heed_zeros(HEED_SHAPE(2, 3), HEED_F32),
                                             (heed_huber_options){.delta = HUGE_VAL});
    EXPECT_VALUES(wide, 0, 0.5);
    heed_tensor *large = heed_ones(HEED_SHAPE(2, 2, 3), HEED_F32);
    heed_tensor *other = heed_ones(HEED_SHAPE(2), HEED_F32),
                *f64 = heed_ones(HEED_SHAPE(3), HEED_F64);
    ck_assert_ptr_null(heed_bce_with_logits_with(x, x, (heed_bce_options){.weight = large}));
    expect_error(HEED_ERR_SHAPE, "bce_with_logits: weight (2, 2, 3) does not broadcast to input");
    ck_assert_ptr_null(heed_bce_with_logits_with(x, x, (heed_bce_options){.pos_weight = large}));
    expect_error(HEED_ERR_SHAPE, "bce_with_logits: pos_weight (2, 2, 3) does not broadcast");
    ck_assert_ptr_null(heed_bce_with_logits_with(x, x, (heed_bce_options){.weight = other}));
    expect_error(HEED_ERR_SHAPE, "bce_with_logits: ");
    ck_assert_ptr_null(heed_bce_with_logits_with(x, x, (heed_bce_options){.pos_weight = f64}));
    expect_error(HEED_ERR_DTYPE, "bce_with_logits: f32 meets f64");
}
END_TEST

void add_pair_loss_cases(Suite *suite)
{
    TCase *loss = heed_case(suite, "pair_loss");
    tcase_add_loop_test(loss, values_and_gradients_are_torchs, 0, PAIRS);
    tcase_add_loop_test(loss, kinks_and_infinities_are_torchs, 0, SPECIALS);
    tcase_add_test(loss, mse_loss_is_the_mean_of_squares);
    tcase_add_test(loss, bce_keeps_small_losses_and_gradients);
    tcase_add_test(loss, bce_of_a_sure_mistake_is_infinite);
    tcase_add_loop_test(loss, of_nothing_and_of_one, 0, NAMES);
    tcase_add_test(loss, batchmean_divides_by_the_rows);
    tcase_add_loop_test(loss, whole_numbers_meet_floats, 0, NAMES);
    tcase_add_loop_test(loss, refused_by_all, 0, NAMES);
    tcase_add_test(loss, options_are_checked);
}
