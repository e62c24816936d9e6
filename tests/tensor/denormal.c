/* Subnormal numbers: state and weights that are flushed to 0, results that are not, and the mode in
 * which the processor flushes them. */
#include <float.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/test_util.h"

/* met_subnormal: true if, since the last call, arithmetic in this thread had a subnormal operand,
 * or a result that underflowed to an inexact subnormal or 0. x86-64 only; false elsewhere. */
static bool met_subnormal(void)
{
#if defined __x86_64__
    const unsigned denormal_operand = 1 << 1, underflow = 1 << 4, now = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(now & ~(denormal_operand | underflow));
    return (now & (denormal_operand | underflow)) != 0;
#else
    return false;
#endif
}

/* ---- optimisers ---- */

static const heed_dtype floats[] = {HEED_F32, HEED_F64};

/* The largest magnitude in t is 0. */
static bool is_zero(heed_tensor *t)
{
    return heed_item(heed_amax(heed_abs(t))) == 0;
}

/* A parameter of ones, in a list. */
static heed_tensor_list one_parameter(heed_tensor **p, heed_dtype dtype)
{
    *p = heed_set_requires_grad(heed_ones(HEED_SHAPE(40), dtype), true);
    return (heed_tensor_list){1, p, NULL};
}

/* Sets all elements of Adam's moments. */
static void set_moments(heed_optimizer *adam, double m, double v)
{
    make_moments(adam);
    heed_fill_into(adam->slots[0].state[0], m);
    heed_fill_into(adam->slots[0].state[1], v);
}

static void take_steps(heed_optimizer *optimizer, heed_tensor *gradient, int count)
{
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(step_with_gradient(optimizer, gradient), HEED_OK);
    }
}

START_TEST(test_momentum_decays_to_0)
{
    heed_tensor *p;
    heed_optimizer *sgd = heed_sgd_new(one_parameter(&p, floats[_i]), 0.01);
    sgd->momentum = 0.9;
    heed_tensor *g = heed_zeros_like(p);
    take_steps(sgd, heed_ones_like(p), 1);
    heed_fill_into(p, 1);
    take_steps(sgd, g, 7000);
    ck_assert(is_zero(sgd->slots[0].state[0]));
    met_subnormal();
    take_steps(sgd, g, 1);
    ck_assert(!met_subnormal());
    ck_assert_double_eq_tol(heed_at(p, HEED_SHAPE(7)), 1 - 0.01 * 9, 1e-6); /* 0.9 + 0.81 + ... */
    heed_optimizer_free(sgd);
}
END_TEST

static heed_optimizer *new_adam(heed_tensor **p, heed_dtype dtype)
{
    heed_optimizer *adam = heed_adam_new(one_parameter(p, dtype), 0.01);
    adam->betas[1] = 0.99;
    return adam;
}

START_TEST(test_moments_decay_to_0)
{
    const double least = floats[_i] == HEED_F32 ? (double)FLT_MIN : DBL_MIN;
    heed_tensor *p;
    heed_optimizer *adam = new_adam(&p, floats[_i]);
    heed_tensor *g = heed_zeros_like(p);
    set_moments(adam, -1e8 * least, 8 * least);
    take_steps(adam, g, 249);
    ck_assert(is_zero(adam->slots[0].state[0]) && is_zero(adam->slots[0].state[1]));
    met_subnormal();
    take_steps(adam, g, 1);
    ck_assert(!met_subnormal());
    ck_assert(is_zero(heed_sub_scalar(p, 1)));
    set_moments(adam, (double)NAN, (double)NAN);
    take_steps(adam, g, 1);
    ck_assert_double_nan(heed_at(adam->slots[0].state[0], HEED_SHAPE(7)));
    ck_assert_double_nan(heed_at(adam->slots[0].state[1], HEED_SHAPE(7)));
    heed_optimizer_free(adam);
}
END_TEST

/* The square of a gradient may underflow although the gradient is an ordinary number. */
START_TEST(test_squares_of_gradients_do_not_underflow)
{
    const double size = floats[_i] == HEED_F32 ? 1e-20 : 1e-155;
    heed_tensor *p;
    heed_optimizer *adam = new_adam(&p, floats[_i]);
    heed_tensor *g = heed_full(HEED_SHAPE(40), size, floats[_i]);
    met_subnormal();
    take_steps(adam, g, 99);
    ck_assert(!met_subnormal());
    ck_assert(is_zero(adam->slots[0].state[1]));
    ck_assert_double_eq_tol(heed_at(adam->slots[0].state[0], HEED_SHAPE(7)), size, 1e-3 * size);
    heed_optimizer_free(adam);
}
END_TEST

START_TEST(test_tiny_eps_keeps_subnormal_moments)
{
    const double all[] = {0, 1e-30, 1e-12};
    for (int i = 0; i < 3; i++) {
        heed_tensor *p;
        heed_optimizer *adam = new_adam(&p, HEED_F32);
        adam->eps = all[i];
        set_moments(adam, 1e-40, 1e-40);
        take_steps(adam, heed_zeros_like(p), 1);
        ck_assert_double_eq_tol(heed_at(adam->slots[0].state[0], HEED_SHAPE(7)), 0.9e-40, 1e-44);
        ck_assert_double_eq_tol(heed_at(adam->slots[0].state[1], HEED_SHAPE(7)), 0.99e-40, 1e-44);
        heed_optimizer_free(adam);
    }
}
END_TEST

/* ---- exponentials ---- */

enum { FEATURES = 16 };

/* The scores of all keys but the first two are about 95 below those of the first two. */
static void spread(heed_tensor *q, heed_tensor *k)
{
    for (int64_t i = 0; i < q->shape[0]; i++) {
        heed_data_f32(q)[i * FEATURES] = 1;
        heed_data_f32(k)[i * FEATURES] = i < 2 ? 95 * sqrtf(FEATURES) : 0;
    }
}

/* Causal attention over `_i` tokens: in one tile and in several. */
START_TEST(test_attention_meets_no_subnormal)
{
    heed_manual_seed(1);
    heed_set_num_threads(1);
    heed_tensor *x[3];
    for (int i = 0; i < 3; i++) {
        x[i] = heed_randn(HEED_SHAPE(_i, FEATURES), HEED_F32);
    }
    spread(x[0], x[1]);
    for (int i = 0; i < 3; i++) {
        heed_set_requires_grad(x[i], true);
    }
    met_subnormal();
    heed_tensor *y = heed_scaled_dot_product_attention(x[0], x[1], x[2], .is_causal = true);
    ck_assert(!met_subnormal());
    heed_tensor *grads[3];
    heed_grad(heed_sum(heed_square(y)), x, 3, grads, false);
    ck_assert(!met_subnormal());
}
END_TEST

/* Below -104, e^x is 0 without an underflow, in whole vectors and in the remainder. (With AVX2 and
 * SSE2, gcc generates loops that do underflow.) */
START_TEST(test_exponentials_do_not_underflow)
{
    const float some[] = {-105, -150, -1e4f, -INFINITY, -FLT_MAX, -104.5f, -200};
    heed_tensor *x =
        heed_flatten(heed_expand(heed_from_f32(some, HEED_SHAPE(7)), HEED_SHAPE(6, 7)), 0, 1);
    heed_tensor *row = heed_cat((heed_tensor *[]){x, heed_zeros(HEED_SHAPE(1), HEED_F32)}, 2, 0);
    heed_tensor *low = heed_set_requires_grad(heed_full(HEED_SHAPE(39), -15, HEED_F32), true), *g;
    met_subnormal();
    ck_assert(is_zero(heed_exp(x)));
    ck_assert(heed_item(heed_sum(heed_softmax(row, 0))) == 1);
    heed_grad(heed_sum(heed_gelu(low)), &low, 1, &g, false);
    ck_assert(is_zero(g));
    ck_assert(!met_subnormal() || strcmp(heed_isa(), "v4") != 0);
}
END_TEST

/* AVX-512 computes e^x / (1 + e^x), whose remainder is e^2x. */
START_TEST(test_sigmoid_does_not_underflow)
{
    heed_tensor *x = heed_from_f32((float[]){-80, -60, -44, -20}, HEED_SHAPE(4));
    met_subnormal();
    heed_sigmoid(x);
    heed_gelu_tanh(heed_div_scalar(x, 8));
    ck_assert(!met_subnormal());
}
END_TEST

/* log_softmax leaves out terms that are too small to count. */
START_TEST(test_sums_of_exponentials_meet_no_subnormal)
{
    heed_tensor *x = heed_full(HEED_SHAPE(3, 700), -95, HEED_F32);
    for (int i = 0; i < 3; i++) {
        heed_data_f32(x)[i * 700 + 5] = 0;
    }
    met_subnormal();
    heed_tensor *logs = heed_log_softmax(x, 1);
    ck_assert(!met_subnormal());
    ck_assert(heed_item(heed_amin(logs)) == -95);
}
END_TEST

/* As in torch. */
START_TEST(test_softmax_keeps_subnormal_probabilities)
{
    heed_tensor *y = heed_softmax(heed_from_f32((float[]){0, -95}, HEED_SHAPE(2)), 0);
    ck_assert_double_eq_tol(heed_at(y, HEED_SHAPE(1)), 5.5e-42, 1e-43);
}
END_TEST

/* ---- the mode ---- */

/* Operands and results, in every kernel: element-wise, sums and products. */
START_TEST(test_mode_flushes)
{
    heed_tensor *small = heed_full(HEED_SHAPE(20, 20), 1e-30, floats[0]);
    heed_tensor *subnormal = heed_full(HEED_SHAPE(20, 20), 1e-40, floats[0]);
    const bool supported = heed_set_flush_denormal(true);
    if (supported) {
        ck_assert(is_zero(heed_mul_scalar(small, 1e-10)));
        ck_assert(is_zero(heed_mul_scalar(subnormal, 1e10)));
        ck_assert(is_zero(heed_matmul(subnormal, subnormal)));
        ck_assert(is_zero(heed_exp(heed_full(HEED_SHAPE(40), -95, HEED_F32))));
    }
    ck_assert(heed_set_flush_denormal(false) == supported);
    ck_assert(heed_item(heed_amax(heed_mul_scalar(small, 1e-10))) > 0);
}
END_TEST

/* A job in which each thread of the pool has a part: no part ends before all have begun. */
enum { THREADS = 4 };
typedef struct job {
    int begun;
    float product[THREADS], third[THREADS]; /* 1e-30 * 1e-10, and 1 / 3 */
} job;

static void compute(void *context, int64_t first, int64_t end)
{
    job *j = context;
    __atomic_add_fetch(&j->begun, (int)(end - first), __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&j->begun, __ATOMIC_SEQ_CST) < THREADS) {
        sched_yield();
    }
    volatile float small = 1e-30f, three = 3;
    for (int64_t i = first; i < end; i++) {
        j->product[i] = small * 1e-10f;
        j->third[i] = 1 / three;
    }
}

/* All parts of a job give the caller's results, with the same flushing. */
static bool job_is_uniform(void)
{
    job j = {.begun = 0}, alone = {.begun = THREADS};
    heed_parallel_for(THREADS, 1, compute, &j);
    compute(&alone, 0, THREADS);
    return memcmp(j.product, alone.product, sizeof j.product) == 0 &&
           memcmp(j.third, alone.third, sizeof j.third) == 0;
}

/* Also one that heed did not set, such as rounding upwards. */
START_TEST(test_jobs_have_the_mode_of_their_caller)
{
    heed_set_num_threads(THREADS);
    for (int i = 0; i < 50; i++) {
        heed_set_flush_denormal(i % 2);
        ck_assert(job_is_uniform());
    }
    heed_set_flush_denormal(false);
#if defined __x86_64__
    const unsigned before = __builtin_ia32_stmxcsr(), up = 2 << 13;
    __builtin_ia32_ldmxcsr(before | up);
    ck_assert(job_is_uniform());
    __builtin_ia32_ldmxcsr(before);
#endif
}
END_TEST

void add_denormal_cases(Suite *suite)
{
    TCase *flushed = heed_case(suite, "flushed");
    tcase_add_loop_test(flushed, test_momentum_decays_to_0, 0, 2);
    tcase_add_loop_test(flushed, test_moments_decay_to_0, 0, 2);
    tcase_add_loop_test(flushed, test_squares_of_gradients_do_not_underflow, 0, 2);
    tcase_add_test(flushed, test_tiny_eps_keeps_subnormal_moments);
    tcase_add_loop_test(flushed, test_attention_meets_no_subnormal, 60, 61);
    tcase_add_loop_test(flushed, test_attention_meets_no_subnormal, 600, 601);
    tcase_add_test(flushed, test_exponentials_do_not_underflow);
    tcase_add_test(flushed, test_sigmoid_does_not_underflow);
    tcase_add_test(flushed, test_sums_of_exponentials_meet_no_subnormal);
    tcase_add_test(flushed, test_softmax_keeps_subnormal_probabilities);
    TCase *mode = heed_case(suite, "mode");
    tcase_add_test(mode, test_mode_flushes);
    tcase_add_test(mode, test_jobs_have_the_mode_of_their_caller);
}
