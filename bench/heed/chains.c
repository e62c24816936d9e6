/* A chain of 1,000 scalar operations (W7), alternately mul and add, whose other operands are
 * numbers, tensors, or tensors that require gradients. */
#include <math.h>

#include "bench/heed/tables.h"

enum { NODES = 1000, NUMBERS, CONSTANTS, LEAVES };

static heed_tensor *x, *factor, *summand;

static heed_tensor *chain_of_numbers(void)
{
    heed_tensor *y = x;
    for (int i = 0; i < NODES / 2; i++) {
        y = heed_add_scalar(heed_mul_scalar(y, 0.999), 0.001);
    }
    return y;
}

static heed_tensor *chain_of_tensors(int nodes)
{
    heed_tensor *y = x;
    for (int i = 0; i < nodes / 2; i++) {
        y = heed_add(heed_mul(y, factor), summand);
    }
    return y;
}

static heed_tensor *chain(void)
{
    return factor == NULL ? chain_of_numbers() : chain_of_tensors(NODES);
}

static void forward(void)
{
    HEED_SCOPE(scope);
    chain();
}

static void forward_no_grad(void)
{
    HEED_SCOPE_NO_GRAD(scope);
    chain();
}

static void backward(void)
{
    HEED_SCOPE(scope);
    heed_clear_grad(x);
    heed_backward(chain());
}

static void make_operands(int kind)
{
    x = heed_set_requires_grad(heed_scalar(1, HEED_F32), true);
    factor = kind == NUMBERS ? NULL : heed_scalar(0.999, HEED_F32);
    summand = kind == NUMBERS ? NULL : heed_scalar(0.001, HEED_F32);
    if (kind == LEAVES) {
        heed_set_requires_grad(factor, true);
        heed_set_requires_grad(summand, true);
    }
}

static const char *prepare(const struct workload *w)
{
    make_operands(w->variant);
    backward();
    HEED_SCOPE(scope);
    const double y = heed_item(chain()), dx = heed_item(x->grad);
    const bool right = fabs(y - 1) < 1e-3 && fabs(dx - pow(0.999, NODES / 2)) < 1e-3;
    return right ? NULL : "the chain or its derivative is wrong";
}

void add_chains(struct table *table)
{
    static const char *const operands[] = {"numbers", "constants", "leaves"};
    for (int kind = NUMBERS; kind <= LEAVES; kind++) {
        struct workload w = {.unit = "ns/node",
                             .scale = 1e9 / NODES,
                             .variant = kind,
                             .prepare = prepare,
                             .run = backward};
        add_workload(table, w, "w7.%s", operands[kind - NUMBERS]);
        w.run = forward;
        add_workload(table, w, "w7.%s.forward", operands[kind - NUMBERS]);
        w.run = forward_no_grad;
        add_workload(table, w, "w7.%s.no_grad", operands[kind - NUMBERS]);
    }
}

/* Bytes of memory per node of a live graph. */
double bytes_per_node(const struct workload *w)
{
    enum { MANY = 1000000 };
    (void)w;
    HEED_SCOPE(outer);
    make_operands(LEAVES);
    backward();
    const double before = status_kib("VmRSS:");
    HEED_SCOPE(scope);
    chain_of_tensors(MANY);
    return (status_kib("VmRSS:") - before) * 1024 / MANY;
}
