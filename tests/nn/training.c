/* Training resumed from a file gives the same bits as without a break, and files that do not fit
 * change nothing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/files_util.h"

enum { STEPS = 20, HEADS = 2, D_MODEL = 8 };

/* ---- a model and its optimiser ---- */

typedef struct training {
    struct heed_multihead_attention *m;
    heed_optimizer *optimizer;
} training;

static heed_optimizer *sgd_with_momentum(void *m)
{
    heed_optimizer *sgd = heed_sgd_new(heed_parameters(m), 0.1);
    sgd->momentum = 0.9;
    return sgd;
}

static heed_optimizer *plain_sgd(void *m)
{
    return heed_sgd_new(heed_parameters(m), 0.1);
}

static heed_optimizer *adam(void *m)
{
    return heed_adam_new(heed_parameters(m), 0.01);
}

static heed_optimizer *adamw(void *m)
{
    return heed_adamw_new(heed_parameters(m), 0.01, 0.1, .decay_matrices_only = true);
}

static heed_optimizer *(*const kinds[])(void *m) = {sgd_with_momentum, plain_sgd, adam, adamw};
enum { KINDS = sizeof kinds / sizeof *kinds, ADAMW = 3 };

static training begin(int kind, uint64_t seed)
{
    training t;
    heed_manual_seed(seed);
    t.m = heed_multihead_attention_new(D_MODEL, HEADS, .dropout = 0.2, .batch_first = true);
    t.optimizer = kinds[kind](t.m);
    return t;
}

static void end(training *t)
{
    heed_optimizer_free(t->optimizer);
    heed_module_free(t->m);
}

/* Uses a random batch and dropout. Three normal numbers leave the second of a pair cached. */
static void take_step(training *t)
{
    heed_scope step;
    heed_scope_begin(&step);
    heed_tensor *x = heed_randn(HEED_SHAPE(2, 5, D_MODEL), HEED_F32);
    heed_tensor *shift = heed_mean(heed_randn(HEED_SHAPE(3), HEED_F32));
    heed_tensor *y = heed_multihead_attention_forward(t->m, x, x, x);
    heed_optimizer_zero_grad(t->optimizer);
    heed_backward(heed_mse_loss(heed_dropout(y, 0.1, true), heed_add(x, shift)));
    heed_clip_grad_norm(heed_parameters(t->m), 1);
    t->optimizer->lr = heed_warmup_cosine_lr(t->optimizer->steps, 0.02, 5, STEPS, 0.001);
    heed_optimizer_step(t->optimizer);
    heed_scope_end(&step);
}

static void take_steps(training *t, int64_t until)
{
    while (t->optimizer->steps < until && !heed_error_pending()) {
        take_step(t);
    }
    expect_no_error();
}

static heed_status save(const training *t, const char *name)
{
    const heed_metadata about[] = {{"heads", "2"}, {NULL, NULL}};
    return heed_save_checkpoint(t->m, t->optimizer, in_folder(name), about);
}

static heed_status load(training *t, const char *name)
{
    return heed_load_checkpoint(t->m, t->optimizer, in_folder(name));
}

/* ---- round trips ---- */

static void train_with_a_break(int kind, int64_t at)
{
    training first = begin(kind, 1);
    take_steps(&first, at);
    ck_assert_int_eq(save(&first, "half"), HEED_OK);
    end(&first);
    training second = begin(kind, 2);
    take_steps(&second, 3);
    heed_randn(HEED_SHAPE(7), HEED_F64);
    ck_assert_int_eq(load(&second, "half"), HEED_OK);
    ck_assert_int_eq(second.optimizer->steps, at);
    save(&second, "again");
    expect_same_files(in_folder("half"), in_folder("again"));
    take_steps(&second, STEPS);
    save(&second, "broken");
    end(&second);
}

START_TEST(a_break_changes_no_bit)
{
    const int64_t breaks[] = {0, 10, STEPS};
    training whole = begin(_i, 1);
    take_steps(&whole, STEPS);
    ck_assert_int_eq(save(&whole, "whole"), HEED_OK);
    end(&whole);
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        train_with_a_break(_i, breaks[i]);
        expect_same_files(in_folder("whole"), in_folder("broken"));
    }
}
END_TEST

/* Only the model, saved alone or loaded from a full checkpoint; the generator is unchanged. */
START_TEST(a_model_alone)
{
    training t = begin(ADAMW, 1), other = begin(ADAMW, 2);
    take_steps(&t, 4);
    save(&t, "all");
    const heed_generator before = heed_get_generator();
    ck_assert_int_eq(heed_load_checkpoint(other.m, NULL, in_folder("all")), HEED_OK);
    const heed_generator after = heed_get_generator();
    ck_assert_mem_eq(before.state, after.state, sizeof before.state);
    ck_assert_int_eq(other.optimizer->steps, 0);
    ck_assert(heed_equal(heed_state(other.m, "in_proj_weight"), heed_state(t.m, "in_proj_weight")));
    ck_assert_int_eq(heed_load_state_dict(other.m, in_folder("all"), .no_strict = true), HEED_OK);
    ck_assert_int_eq(heed_save_checkpoint(t.m, NULL, in_folder("model"), NULL), HEED_OK);
    ck_assert_int_eq(heed_load_checkpoint(other.m, NULL, in_folder("model")), HEED_OK);
    heed_safetensors *file = heed_safetensors_open(in_folder("all"));
    ck_assert_str_eq(heed_safetensors_metadata(file, "heads"), "2");
    ck_assert_int_eq(heed_item_i64(heed_safetensors_tensor(file, "optimizer.AdamW.steps")), 4);
    heed_safetensors_close(file);
    end(&t);
    end(&other);
}
END_TEST

/* ---- all or nothing ---- */

/* Loading "bad" must fail with these words, and change nothing. */
static void expect_refusal(training *t, heed_status status, const char *words)
{
    save(t, "before");
    ck_assert_int_eq(load(t, "bad"), status);
    expect_error(status, words);
    save(t, "after");
    expect_same_files(in_folder("before"), in_folder("after"));
}

START_TEST(another_run_does_not_fit)
{
    training t = begin(ADAMW, 1), other = begin(2, 2);
    take_steps(&t, 2);
    save(&other, "bad");
    expect_refusal(&t, HEED_ERR_VALUE, "'optimizer.AdamW.steps' is missing");
    save(&t, "bad");
    expect_refusal(&other, HEED_ERR_VALUE, "'optimizer.Adam.steps' is missing");
    heed_save_state_dict(t.m, in_folder("bad"), NULL);
    expect_refusal(&t, HEED_ERR_VALUE, "'optimizer.AdamW.steps' is missing");
    end(&other);
    end(&t);
}
END_TEST

/* Copies "good" to "bad", with this tensor replaced, or added. */
static void replace(const char *name, heed_tensor *value)
{
    heed_safetensors *file = heed_safetensors_open(in_folder("good"));
    heed_tensor *tensors[100];
    const char *names[100];
    const int count = heed_safetensors_count(file);
    bool found = false;
    for (int i = 0; i < count; i++) {
        names[i] = heed_safetensors_name(file, i);
        const bool it = strcmp(names[i], name) == 0;
        tensors[i] = it ? value : heed_safetensors_tensor(file, names[i]);
        found = found || it;
    }
    names[count] = name;
    tensors[count] = value;
    heed_save_file((heed_tensor_list){count + !found, tensors, names}, in_folder("bad"), NULL);
    heed_safetensors_close(file);
    expect_no_error();
}

#define NUMBER(x)  heed_scalar(x, HEED_F64)
#define INTEGER(x) heed_scalar(x, HEED_I64)

START_TEST(numbers_that_cannot_be)
{
    training t = begin(ADAMW, 1), sgd = begin(0, 1);
    take_steps(&t, 2);
    save(&t, "good");
    take_steps(&t, 3);
    replace("optimizer.AdamW.steps", INTEGER(-1));
    expect_refusal(&t, HEED_ERR_VALUE,
                   "load_checkpoint: -1 steps; the number must be in [0, 2^53]");
    replace("optimizer.state.in_proj_weight.step", INTEGER(-1));
    expect_refusal(&t, HEED_ERR_VALUE,
                   "load_checkpoint: -1 steps; the number must be in [0, 2^53]");
    replace("optimizer.AdamW.lr", NUMBER((double)NAN));
    expect_refusal(&t, HEED_ERR_VALUE, "load_checkpoint: lr is nan");
    replace("another", NUMBER(1));
    expect_refusal(&t, HEED_ERR_VALUE, "this MultiheadAttention has no 'another'");
    replace("rng_state", heed_full(HEED_SHAPE(316), 625, HEED_I64));
    expect_refusal(&t, HEED_ERR_VALUE, "set_generator: not a value");
    save(&sgd, "good");
    replace("optimizer.state.in_proj_weight.momentum_buffer", NUMBER(1));
    expect_refusal(&sgd, HEED_ERR_VALUE,
                   "'optimizer.state.in_proj_weight.momentum_buffer' is F64 ()");
    replace("optimizer.SGD.momentum", NUMBER(0));
    expect_refusal(&sgd, HEED_ERR_VALUE, "the state of SGD has momentum 0; this one's is 0.9");
    end(&sgd);
    end(&t);
}
END_TEST

void add_training_cases(Suite *suite)
{
    TCase *tests = files_case(suite, "training");
    tcase_add_loop_test(tests, a_break_changes_no_bit, 0, KINDS);
    tcase_add_test(tests, a_model_alone);
    tcase_add_test(tests, another_run_does_not_fit);
    tcase_add_test(tests, numbers_that_cannot_be);
}
