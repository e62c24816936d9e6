/* Every optimiser and schedule compared with PyTorch, by the table in parity_optimisers.def. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/ops/parity.h"

/* ---- the table ---- */

/* Sets the options that are not 0. */
static heed_optimizer *with_options(heed_optimizer *o, heed_optimizer options)
{
    o->weight_decay = options.weight_decay;
    o->momentum = options.momentum;
    if (options.betas[0] != 0) {
        memcpy(o->betas, options.betas, sizeof o->betas);
    }
    o->eps = options.eps != 0 ? options.eps : o->eps;
    return o;
}

#define OPTIMISER(name, form, constructor)                                                         \
    static heed_optimizer *name##_##form(heed_tensor_list P)                                       \
    {                                                                                              \
        return constructor;                                                                        \
    }
#define CLIPPED(name, form, constructor, clip)                                                     \
    OPTIMISER(name, form, constructor)                                                             \
    static double clip_##name##_##form(heed_tensor_list P)                                         \
    {                                                                                              \
        return clip;                                                                               \
    }
#define SCHEDULE(name, form, rate)                                                                 \
    static double name##_##form(int64_t T)                                                         \
    {                                                                                              \
        return rate;                                                                               \
    }
#include "tests/nn/parity_optimisers.def"

static const struct row {
    const char *name, *form;
    heed_optimizer *(*make)(heed_tensor_list parameters);
    double (*clip)(heed_tensor_list parameters); /* returns the norm, compared if stored; or NULL */
} rows[] = {
#define OPTIMISER(name, form, constructor)     {#name, #form, name##_##form, NULL},
#define CLIPPED(name, form, constructor, clip) {#name, #form, name##_##form, clip_##name##_##form},
#define SCHEDULE(name, form, rate)
#include "tests/nn/parity_optimisers.def"
};

static const struct schedule {
    const char *name, *form;
    double (*rate)(int64_t step);
} schedules[] = {
#define OPTIMISER(name, form, constructor)
#define CLIPPED(name, form, constructor, clip)
#define SCHEDULE(name, form, rate) {#name, #form, name##_##form},
#include "tests/nn/parity_optimisers.def"
};
enum {
    ROW_COUNT = sizeof rows / sizeof *rows,
    SCHEDULE_COUNT = sizeof schedules / sizeof *schedules
};

/* ---- a test for each row ---- */

/* Gives the parameter the file's gradient for this step. */
static void set_gradient(const parity_case *c, int i, heed_tensor *p, int64_t step)
{
    const char part[] = {'g', (char)('a' + i), '\0'};
    heed_tensor *g = heed_select(parity_case_part(c, part), 0, step);
    heed_backward(heed_sum(heed_mul(p, heed_to(g, p->dtype))));
}

/* Takes the steps; returns the norm that clipping returned at each. */
static heed_tensor *take_steps(const struct row *row, const parity_case *c,
                               heed_optimizer *optimizer, heed_tensor *const *ps)
{
    heed_tensor *has = parity_case_part(c, "has"), *lr = parity_case_part(c, "lr");
    heed_tensor *norms = heed_zeros(HEED_SHAPE(lr->numel), ps[0]->dtype);
    for (int64_t t = 0; t < lr->numel; t++) {
        heed_scope step;
        heed_scope_begin(&step);
        heed_optimizer_zero_grad(optimizer);
        for (int i = 0; i < c->count; i++) {
            if (heed_at(has, HEED_INDEX(t, i)) != 0) {
                set_gradient(c, i, ps[i], t);
            }
        }
        optimizer->lr = heed_at(lr, HEED_INDEX(t));
        if (row->clip != NULL) {
            const double norm = row->clip((heed_tensor_list){c->count, ps, NULL});
            heed_fill_into(heed_select(norms, 0, t), norm);
        }
        heed_optimizer_step(optimizer);
        heed_scope_end(&step);
    }
    return norms;
}

/* torch's name of a number or tensor in a parameter's state. */
static heed_tensor *find_state(const heed_optimizer *o, int parameter, const char *name)
{
    const heed_optimizer_slot *slot = &o->slots[parameter];
    return strcmp(name, "step") == 0 ? heed_from_i64(&slot->steps, HEED_SCALAR)
                                     : slot->state[strcmp(name, "exp_avg_sq") == 0];
}

static double largest(heed_tensor *x)
{
    return x->numel == 0 ? 0 : heed_item(heed_amax(heed_abs(heed_to(x, HEED_F64))));
}

/* Compares the state with torch's state dict, name by name. A moving average carries the rounding
 * errors of earlier, larger values, so torch's error counts as at least 2 ulp of its largest
 * element. `place` is the index of the first of these in the list of errors. Returns their
 * number. */
static int check_state(const parity_case *c, heed_optimizer *optimizer, int64_t place)
{
    static const char *const names[] = {"step", "exp_avg", "exp_avg_sq", "momentum_buffer"};
    heed_tensor *error = parity_case_part(c, "error");
    int found = 0;
    for (int i = 0; i < 4 * c->count; i++) {
        char name[40];
        snprintf(name, sizeof name, "state.%d.%s", i / 4, names[i % 4]);
        heed_tensor *there = parity_case_part(c, name);
        if (there != NULL) {
            const double torchs = heed_at(error, HEED_INDEX(place + found++));
            expect_part(c, name, find_state(optimizer, i / 4, names[i % 4]),
                        fmax(torchs, 0x1p-23 * largest(there)), SCALED);
        }
    }
    ck_assert_int_eq(place + found, error->numel);
    return found;
}

static void check_optimiser(const struct row *row, const parity_case *c, heed_dtype dtype)
{
    heed_tensor *ps[PARITY_INPUTS];
    for (int i = 0; i < c->count; i++) {
        ps[i] = heed_set_requires_grad(heed_clone(heed_to(c->inputs[i], dtype)), true);
    }
    heed_optimizer *optimizer = row->make((heed_tensor_list){c->count, ps, NULL});
    EXPECT(optimizer != NULL, "%s", heed_error_message());
    ck_assert_str_eq(optimizer->name, row->name);
    heed_tensor *norms = take_steps(row, c, optimizer, ps);
    ck_assert_int_eq(optimizer->steps, 50);
    heed_tensor *error = parity_case_part(c, "error");
    for (int i = 0; i < c->count; i++) {
        const char part[] = {'y', (char)('a' + i), '\0'};
        expect_part(c, part, ps[i], heed_at(error, HEED_INDEX(i)), SCALED);
    }
    if (parity_case_part(c, "norm") != NULL) {
        expect_part(c, "norm", norms, heed_at(error, HEED_INDEX(c->count)), SCALED);
    }
    const int64_t place = c->count + (parity_case_part(c, "norm") != NULL);
    const int found = check_state(c, optimizer, place);
    const int learnt = c->count - 1; /* all parameters but the fourth */
    const int each = !optimizer->is_sgd ? 3 : optimizer->momentum != 0 ? 1 : 0;
    ck_assert_int_eq(found, each * learnt);
    heed_optimizer_free(optimizer);
}

START_TEST(optimiser_is_torchs)
{
    heed_safetensors *file = parity_open("optimisers");
    const parity_case c = parity_case_of(file, rows[_i].name, rows[_i].form);
    check_optimiser(&rows[_i], &c, HEED_F32);
    check_optimiser(&rows[_i], &c, HEED_F64);
    heed_safetensors_close(file);
}
END_TEST

START_TEST(schedule_is_torchs)
{
    heed_safetensors *file = parity_open("optimisers");
    const parity_case c = parity_case_of(file, schedules[_i].name, schedules[_i].form);
    heed_tensor *y = parity_case_part(&c, "y");
    ck_assert_int_ge(y->numel, 50);
    for (int64_t t = 0; t < y->numel; t++) {
        const double here = schedules[_i].rate(t), there = heed_at(y, HEED_INDEX(t));
        EXPECT(fabs(here - there) <= 1e-14 * fmax(fabs(there), heed_item(heed_amax(y)) / 10),
               "step %d: %.17g, not %.17g", (int)t, here, there);
    }
    heed_safetensors_close(file);
}
END_TEST

/* ---- the table itself ---- */

static bool is_case(const char *name, const char *operation, const char *form)
{
    char row[100];
    snprintf(row, sizeof row, "%s.%s", operation, form);
    return strcmp(row, name) == 0;
}

static bool has_case(const char *area, const char *name)
{
    (void)area;
    bool found = false;
    for (int i = 0; i < ROW_COUNT; i++) {
        found = found || is_case(name, rows[i].name, rows[i].form);
    }
    for (int i = 0; i < SCHEDULE_COUNT; i++) {
        found = found || is_case(name, schedules[i].name, schedules[i].form);
    }
    return found;
}

START_TEST(every_case_has_a_row)
{
    parity_every_case("optimisers", has_case);
}
END_TEST

void add_parity_optimisers_cases(Suite *suite)
{
    TCase *optimisers = heed_case(suite, "optimisers");
    tcase_add_loop_test(optimisers, optimiser_is_torchs, 0, ROW_COUNT);
    tcase_add_loop_test(optimisers, schedule_is_torchs, 0, SCHEDULE_COUNT);
    tcase_add_test(optimisers, every_case_has_a_row);
}
