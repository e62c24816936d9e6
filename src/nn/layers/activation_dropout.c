/* Layers without parameters: activations, printed with torch's names, and dropout. */
#include "activation_dropout.h"

#include "../../autograd/ops/dropout.h"
#include "../../autograd/ops/elementwise.h"
#include "../../tensor/check.h"

/* ---- activations ---- */

static heed_tensor *run_activation(void *module, heed_tensor *x)
{
    return heed_activation_forward(module, x);
}

static void describe_gelu(const void *module, char *text, size_t size)
{
    const struct heed_activation *m = module;
    snprintf(text, size, "approximate='%s'", m->function == heed_gelu_tanh ? "tanh" : "none");
}

enum { SIZE = sizeof(struct heed_activation) };

static const heed_module_kind relu_kind = {.name = "ReLU", .size = SIZE, .forward = run_activation};
static const heed_module_kind gelu_kind = {
    .name = "GELU", .size = SIZE, .describe = describe_gelu, .forward = run_activation};
static const heed_module_kind tanh_kind = {.name = "Tanh", .size = SIZE, .forward = run_activation};
static const heed_module_kind silu_kind = {.name = "SiLU", .size = SIZE, .forward = run_activation};
static const heed_module_kind sigmoid_kind = {
    .name = "Sigmoid", .size = SIZE, .forward = run_activation};

static struct heed_activation *make(const heed_module_kind *kind,
                                    heed_activation_function *function)
{
    struct heed_activation *m = heed_module_new(kind);
    if (m == NULL) {
        return NULL;
    }
    m->function = function;
    return heed_module_ready(m);
}

struct heed_activation *heed_relu_new(void)
{
    return make(&relu_kind, heed_relu);
}

struct heed_activation *heed_gelu_new(void)
{
    return make(&gelu_kind, heed_gelu);
}

struct heed_activation *heed_gelu_new_with(heed_gelu_options options)
{
    return make(&gelu_kind, options.approximate_tanh ? heed_gelu_tanh : heed_gelu);
}

struct heed_activation *heed_tanh_new(void)
{
    return make(&tanh_kind, heed_tanh);
}

struct heed_activation *heed_silu_new(void)
{
    return make(&silu_kind, heed_silu);
}

struct heed_activation *heed_sigmoid_new(void)
{
    return make(&sigmoid_kind, heed_sigmoid);
}

heed_tensor *heed_activation_forward(struct heed_activation *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    return heed_forward_check("activation_forward", m) == HEED_OK ? m->function(x) : NULL;
}

/* ---- dropout ---- */

static void describe_dropout(const void *module, char *text, size_t size)
{
    const struct heed_dropout *m = module;
    snprintf(text, size, "p=%g, inplace=False", m->p);
}

static heed_tensor *run_dropout(void *module, heed_tensor *x)
{
    return heed_dropout_forward(module, x);
}

static const heed_module_kind dropout_kind = {.name = "Dropout",
                                              .size = sizeof(struct heed_dropout),
                                              .describe = describe_dropout,
                                              .forward = run_dropout};

struct heed_dropout *heed_dropout_new(double p)
{
    heed_check_probability("dropout", "p", p);
    struct heed_dropout *m = heed_module_new(&dropout_kind);
    if (m == NULL) {
        return NULL;
    }
    m->p = p;
    return heed_module_ready(m);
}

heed_tensor *heed_dropout_forward(struct heed_dropout *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    return heed_forward_check("dropout_forward", m) == HEED_OK
               ? heed_dropout(x, m->p, m->module.training)
               : NULL;
}
