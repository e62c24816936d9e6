/* A step of training: forget gradients, forward, backward, optimiser. */
#include <math.h>
#include <stddef.h>

#include "bench/heed/workloads.h"

static struct training now;

void set_training(struct training t)
{
    now = t;
}

void training_step(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_optimizer_zero_grad(now.optimizer);
    if (now.input != NULL) {
        heed_clear_grad(now.input);
    }
    heed_backward(now.loss());
    heed_optimizer_step(now.optimizer);
    heed_scope_end(&scope);
}

void forward_step(void)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    now.loss();
    heed_scope_end(&scope);
}

static double loss_now(void)
{
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    const double loss = heed_item(now.loss());
    heed_scope_end(&scope);
    return loss;
}

const char *begin_training(struct training t)
{
    set_training(t);
    const double at_first = loss_now(), start = seconds_now();
    for (int i = 0; i < 5 || seconds_now() - start < 0.02; i++) {
        training_step();
    }
    const double then = loss_now();
    if (!isfinite(at_first) || !isfinite(then)) {
        return "the loss is not finite";
    }
    return then < at_first ? NULL : "the loss does not fall";
}

void end_training(void)
{
    heed_optimizer_free(now.optimizer);
    for (int i = 0; now.modules[i] != NULL; i++) {
        heed_module_free(now.modules[i]);
    }
}

heed_tensor_list all_parameters(heed_tensor **room, int most, void *const *modules)
{
    heed_tensor_list all = {0, room, NULL};
    for (; *modules != NULL; modules++) {
        const heed_tensor_list list = heed_parameters(*modules);
        for (int i = 0; i < list.count && all.count < most; i++) {
            room[all.count++] = list.tensors[i];
        }
    }
    return all;
}
