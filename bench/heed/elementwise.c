/* What goes element by element (W6): a function of one tensor or two, the sum of all. */
#include <math.h>
#include <stdio.h>

#include "bench/heed/workloads.h"

static heed_tensor *a, *b;
static heed_tensor *(*apply)(void);

static void run(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    apply();
    heed_scope_end(&scope);
}

/* Each operation, and what it gives for an element, in doubles. */
#define OPERATION(name, call, value)                                                               \
    static heed_tensor *name##_all(void)                                                           \
    {                                                                                              \
        return call;                                                                               \
    }                                                                                              \
    static double name##_of(int64_t i)                                                             \
    {                                                                                              \
        const double x = (double)heed_const_data_f32(a)[i], y = (double)heed_const_data_f32(b)[i]; \
        (void)y;                                                                                   \
        return value;                                                                              \
    }

OPERATION(add, heed_add(a, b), x + y)
OPERATION(mul, heed_mul(a, b), x *y)
OPERATION(exp, heed_exp(a), exp(x))
OPERATION(tanh, heed_tanh(a), tanh(x))
OPERATION(gelu, heed_gelu(a), x / 2 * (1 + erf(x * sqrt(0.5))))
OPERATION(gelu_tanh, heed_gelu_tanh(a),
          x / 2 * (1 + tanh(sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x))))

static heed_tensor *sum_all(void)
{
    return heed_sum(a);
}

static double sum_of(int64_t i)
{
    double sum = 0;
    for (; i < a->numel; i++) {
        sum += (double)heed_const_data_f32(a)[i];
    }
    return sum;
}

static const struct {
    const char *name;
    heed_tensor *(*apply)(void);
    double (*expected)(int64_t i);
    bool near_copy; /* one array read and one written */
} operations[] = {
    {"add", add_all, add_of, false},   {"add_new", add_all, add_of, false},
    {"mul", mul_all, mul_of, false},   {"exp", exp_all, exp_of, true},
    {"tanh", tanh_all, tanh_of, true}, {"gelu", gelu_all, gelu_of, true},
    {"sum", sum_all, sum_of, false},   {"gelu_tanh", gelu_tanh_all, gelu_tanh_of, true},
};
enum { COUNT = sizeof operations / sizeof *operations };

static const char *prepare(const struct workload *w)
{
    a = heed_randn(HEED_SHAPE(w->size[0]), HEED_F32);
    b = heed_randn(HEED_SHAPE(w->size[0]), HEED_F32);
    apply = operations[w->variant].apply;
    heed_scope scope;
    heed_scope_begin(&scope);
    const bool wrong = differs(apply(), operations[w->variant].expected);
    heed_scope_end(&scope);
    return wrong ? "an element is not what libm says" : NULL;
}

void add_elementwise(struct table *table)
{
    static const long sizes[] = {1 << 10, 1 << 16, 1 << 20, 1 << 24};
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < COUNT; i++) {
            struct workload *w = add_workload(table,
                                              (struct workload){.unit = "ns/element",
                                                                .scale = 1e9 / (double)sizes[s],
                                                                .size = {sizes[s]},
                                                                .variant = i,
                                                                .prepare = prepare,
                                                                .run = run},
                                              "w6.%s.%ld", operations[i].name, sizes[s]);
            if (operations[i].near_copy) {
                snprintf(w->bound, sizeof w->bound, "copy.%ld", sizes[s]);
                w->bound_times = 1;
            }
        }
    }
}
