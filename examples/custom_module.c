/* Your own module: the gated linear unit (Dauphin et al., 2017), y = W x * sigmoid(V x), written as
 * in Python: a struct that begins with a heed_module, a constructor that registers its children,
 * and a forward. Heed derives parameters, names, printing and freeing from that; heed_forward can
 * run it, because its kind has the forward. The example learns to pass the first number through
 * where the second one is positive, and to output 0 elsewhere. */
#include <stdio.h>
#include <stdlib.h>

#include "heed.h"

struct gated {
    heed_module module;
    struct heed_linear *W, *V;
};

static heed_tensor *gated_forward(struct gated *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    return heed_mul(heed_linear_forward(m->W, x), heed_sigmoid(heed_linear_forward(m->V, x)));
}

HEED_MODULE_KIND(gated_kind, struct gated, "Gated", NULL, gated_forward);

static struct gated *gated_new(int64_t in_features, int64_t out_features)
{
    struct gated *m = heed_module_new(&gated_kind);
    HEED_CHILD(m, W, heed_linear_new(in_features, out_features));
    HEED_CHILD(m, V, heed_linear_new(in_features, out_features));
    return m;
}

/* Takes one step on 64 random pairs; returns the loss. */
static double take_step(struct gated *m, heed_optimizer *adam)
{
    HEED_SCOPE(scope);
    heed_tensor *x = heed_randn(HEED_SHAPE(64, 2), HEED_F32);
    heed_tensor *first = heed_slice(x, 1, 0, 1, 1), *second = heed_slice(x, 1, 1, 2, 1);
    heed_tensor *target = heed_mul(first, heed_gt_scalar(second, 0));
    heed_tensor *loss = heed_mse_loss(gated_forward(m, x), target);
    heed_optimizer_zero_grad(adam);
    heed_backward(loss);
    heed_optimizer_step(adam);
    return heed_item(loss);
}

int main(void)
{
    heed_on_error(heed_die);
    heed_manual_seed(0);
    struct gated *m = gated_new(2, 1);
    heed_module_print(stdout, m);
    heed_optimizer *adam = heed_adam_new(heed_parameters(m), 1e-2);
    double before = 0, after = 0;
    enum { STEPS = 2000, LAST = 20 };
    for (int step = 0; step < STEPS; step++) {
        const double loss = take_step(m, adam);
        before += step < LAST ? loss / LAST : 0;
        after += step >= STEPS - LAST ? loss / LAST : 0;
    }
    printf("loss %.3f before, %.3f after %d steps\n", before, after, STEPS);
    printf("V.weight, the gate:\n");
    heed_print(heed_state(m, "V.weight"));
    heed_optimizer_free(adam);
    heed_module_free(m);
    return after >= before / 10 || ferror(stdout) || fflush(stdout) != 0;
}
