#include "tests/common/module_util.h"

#include <math.h>
#include <stdio.h>

void expect_state(void *module, int count, const char *const *names)
{
    const heed_tensor_list list = heed_state_dict(module);
    ck_assert_int_eq(list.count, count);
    for (int i = 0; i < count; i++) {
        const heed_tensor *x = list.tensors[i];
        char line[200];
        snprintf(line, sizeof line, "%s %s", list.names[i],
                 heed_shape_text(x->ndim, x->shape).text);
        ck_assert_str_eq(line, names[i]);
        ck_assert(x->requires_grad);
    }
}

static uint64_t sum_of_draws(void *(*make)(const void *row), const void *row, uint64_t sum)
{
    void *m = make(row);
    const heed_tensor_list list = heed_parameters(m);
    for (int i = 0; i < list.count; i++) {
        const float *values = heed_const_data_f32(list.tensors[i]);
        sum = fnv(values, (size_t)list.tensors[i]->numel * sizeof *values, sum);
    }
    heed_module_free(m);
    sum = fnv(heed_const_data_f32(heed_rand(HEED_SHAPE(1), HEED_F32)), sizeof(float), sum);
    return fnv(heed_const_data_f32(heed_randn(HEED_SHAPE(1), HEED_F32)), sizeof(float), sum);
}

void expect_draws(void *(*make)(const void *row), const void *row, const uint64_t *seeds, int count,
                  uint64_t expected)
{
    uint64_t sum = FNV_BASIS;
    for (int i = 0; i < count; i++) {
        heed_manual_seed(seeds[i]);
        sum = sum_of_draws(make, row, sum);
    }
    ck_assert_msg(sum == expected, "0x%016llx", (unsigned long long)sum);
}

void expect_tree(void *module, const char *text)
{
    char buffer[4000] = "", whole[4000];
    FILE *stream = fmemopen(buffer, sizeof buffer, "w");
    heed_module_print(stream, module);
    fclose(stream);
    expect_no_error();
    snprintf(whole, sizeof whole, "%s\n", text);
    ck_assert_str_eq(buffer, whole);
}

/* The sum of u times the module's output, with the same random numbers each time. */
static double weighed(heed_function *f, void *context, heed_tensor *const *inputs, heed_tensor *u)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_set_grad_enabled(false);
    heed_manual_seed(11);
    const double sum = heed_item(heed_sum(heed_mul(f(inputs, context), u)));
    heed_scope_end(&scope);
    return sum;
}

void expect_parameter_derivatives(void *module, heed_function *f, void *context,
                                  heed_tensor *const *inputs)
{
    heed_module_to(module, HEED_F64);
    const double step = 1e-6;
    const heed_tensor_list list = heed_parameters(module);
    heed_manual_seed(11);
    heed_tensor *y = f(inputs, context);
    heed_tensor *u = heed_randn(heed_shape_of_tensor(y), HEED_F64);
    heed_backward(heed_sum(heed_mul(y, u)));
    expect_no_error();
    for (int i = 0; i < list.count; i++) {
        double *values = heed_data_f64(list.tensors[i]);
        ck_assert_msg(list.tensors[i]->grad != NULL, "%s has no gradient", list.names[i]);
        for (int64_t j = 0; j < list.tensors[i]->numel; j++) {
            const double was = values[j];
            values[j] = was + step;
            const double above = weighed(f, context, inputs, u);
            values[j] = was - step;
            const double below = weighed(f, context, inputs, u);
            values[j] = was;
            const double numeric = (above - below) / (2 * step);
            const double analytic = heed_const_data_f64(list.tensors[i]->grad)[j];
            ck_assert_msg(fabs(numeric - analytic) < 1e-7 + 1e-5 * fabs(numeric),
                          "%s[%lld]: %g, not %g", list.names[i], (long long)j, analytic, numeric);
        }
    }
}

void expect_module_without_memory(void *(*make)(void *context), void *context, int least)
{
    for (int n = 0;; n++) {
        heed_fail_allocation(n);
        void *m = make(context);
        heed_fail_allocation(-1);
        if (m != NULL) {
            expect_no_error();
            ck_assert_int_ge(n, least);
            heed_module_free(m);
            break;
        }
        expect_error(HEED_ERR_MEMORY, "out of memory");
    }
}

void expect_forward_without_memory(heed_function *f, void *context, heed_tensor *const *inputs,
                                   int least)
{
    int failures = 0;
    for (heed_tensor *y = NULL; y == NULL; failures++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_fail_allocation(failures);
        y = f(inputs, context);
        heed_fail_allocation(-1);
        ck_assert((y == NULL) == (heed_error_pending() != HEED_OK));
        if (y == NULL) {
            expect_error(HEED_ERR_MEMORY, "out of memory");
        }
        heed_scope_end(&scope);
    }
    ck_assert_int_gt(failures, least);
}
