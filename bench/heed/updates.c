/* What goes over all parameters (W6): updates by AdamW and SGD, and the norm that gradients are clipped by;
 * of 4 parameters of 204,512 elements. */
#include <math.h>

#include "bench/heed/workloads.h"

enum { PARAMETERS = 4, ELEMENTS = 204512 };

static heed_optimizer *optimizer;
static heed_tensor *parameters[PARAMETERS];
static const heed_tensor_list all = {PARAMETERS, parameters, NULL};

static void update(void)
{
    heed_optimizer_step(optimizer);
}

static void clip(void)
{
    heed_clip_grad_norm(all, 1e9); /* which none exceeds: the gradients stay what they are */
}

static void make_parameters(void)
{
    for (int i = 0; i < PARAMETERS; i++) {
        parameters[i] = heed_randn(HEED_SHAPE(ELEMENTS), HEED_F32);
        heed_set_requires_grad(parameters[i], true);
        heed_set_grad(parameters[i], heed_randn(HEED_SHAPE(ELEMENTS), HEED_F32));
    }
}

static double element_seven(const heed_tensor *t)
{
    return (double)heed_const_data_f32(t)[7];
}

/* The first step goes by lr times the gradient, or times its sign. */
static const char *check_first_step(double decay, bool by_sign)
{
    const double before = element_seven(parameters[0]), g = element_seven(parameters[0]->grad);
    const double right = before * (1 - 1e-3 * decay) - 1e-3 * (by_sign ? copysign(1, g) : g);
    update();
    return fabs(element_seven(parameters[0]) - right) < 1e-6 ? NULL : "the first step is wrong";
}

static const char *prepare_adamw(const struct workload *w)
{
    (void)w;
    make_parameters();
    optimizer = heed_adamw_new(all, 1e-3, 0.01);
    return check_first_step(0.01, true);
}

static const char *prepare_sgd(const struct workload *w)
{
    (void)w;
    make_parameters();
    optimizer = heed_sgd_new(all, 1e-3);
    return check_first_step(0, false);
}

static const char *prepare_clip(const struct workload *w)
{
    (void)w;
    make_parameters();
    double sum = 0;
    for (int64_t i = 0; i < PARAMETERS * ELEMENTS; i++) {
        const double g = (double)heed_const_data_f32(parameters[i / ELEMENTS]->grad)[i % ELEMENTS];
        sum += g * g;
    }
    const double norm = heed_clip_grad_norm(all, 1e9);
    return fabs(norm - sqrt(sum)) < 1e-4 * norm ? NULL : "the norm is wrong";
}

static void free_optimizer(void)
{
    heed_optimizer_free(optimizer);
}

void add_updates(struct table *table)
{
    struct workload w = {.unit = "ns/parameter", .scale = 1e9 / (PARAMETERS * ELEMENTS)};
    w.prepare = prepare_clip;
    w.run = clip;
    add_workload(table, w, "w6.clip_grad_norm");
    w.run = update;
    w.finish = free_optimizer;
    w.prepare = prepare_sgd;
    add_workload(table, w, "w6.sgd");
    w.prepare = prepare_adamw;
    add_workload(table, w, "w6.adamw");
}
