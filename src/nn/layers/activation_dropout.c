/* Layers without parameters: activations, printed with torch's names, and dropout. */
#include "activation_dropout.h"

#include "../../autograd/ops/operations.h"
#include "../../tensor/check.h"
#include "../arguments.h"

/* ---- activations ---- */

static void describe_gelu(const void *module, char *text, size_t size)
{
    (void)module;
    snprintf(text, size, "approximate='none'");
}

#define ACTIVATION(kind, name, describe)                                                           \
    HEED_MODULE_KIND(kind, struct heed_activation, name, describe, heed_activation_forward)

ACTIVATION(relu_kind, "ReLU", NULL);
ACTIVATION(gelu_kind, "GELU", describe_gelu);

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

HEED_MODULE_KIND(dropout_kind, struct heed_dropout, "Dropout", describe_dropout,
                 heed_dropout_forward);

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
