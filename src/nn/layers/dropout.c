/* Dropout: heed_dropout with the p and the training flag of a module. */
#include "dropout.h"

#include "../../autograd/ops/dropout.h"

static void describe(const void *module, char *text, size_t size)
{
    const struct heed_dropout *m = module;
    snprintf(text, size, "p=%g, inplace=False", m->p);
}

static heed_tensor *forward(void *module, heed_tensor *x)
{
    return heed_dropout_forward(module, x);
}

static const heed_module_kind kind = {.name = "Dropout",
                                      .size = sizeof(struct heed_dropout),
                                      .describe = describe,
                                      .forward = forward};

struct heed_dropout *heed_dropout_new(double p)
{
    heed_check_probability("dropout", "p", p);
    struct heed_dropout *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    m->p = p;
    return heed_module_ready(m);
}

heed_tensor *heed_dropout_forward(struct heed_dropout *m, heed_tensor *x)
{
    return heed_forward_check("dropout_forward", m) == HEED_OK
               ? heed_dropout(x, m->p, m->module.training)
               : NULL;
}
