/* The linear layer: y = x weight^T + bias. */

#include "linear.h"

#include <math.h>

#include "../../autograd/ops/operations.h"
#include "../../tensor/create.h"
#include "../../tensor/random/random.h"
#include "../arguments.h"

static void describe(const void *module, char *text, size_t size)
{
    const struct heed_linear *m = module;
    snprintf(text, size, "in_features=%lld, out_features=%lld, bias=%s", (long long)m->in_features,
             (long long)m->out_features, m->bias != NULL ? "True" : "False");
}

HEED_MODULE_KIND(kind, struct heed_linear, "Linear", describe, heed_linear_forward);

struct heed_linear *heed_linear_new(int64_t in_features, int64_t out_features)
{
    return heed_linear_new_with(in_features, out_features, (heed_linear_options){0});
}

struct heed_linear *heed_linear_new_with(int64_t in_features, int64_t out_features,
                                         heed_linear_options options)
{
    if (in_features < 0 || out_features < 0) {
        heed_fail(HEED_ERR_VALUE, "linear: %lld features to %lld; neither can be negative",
                  (long long)in_features, (long long)out_features);
        return NULL;
    }
    struct heed_linear *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    m->in_features = in_features;
    m->out_features = out_features;
    HEED_PARAMETER(m, weight, heed_zeros(HEED_SHAPE(out_features, in_features), HEED_F32));
    if (!options.no_bias) {
        HEED_PARAMETER(m, bias, heed_zeros(HEED_SHAPE(out_features), HEED_F32));
    }
    if (in_features > 0 && !options.no_init) {
        /* rounded as in torch, which calls kaiming_uniform_(weight, a=sqrt(5)) */
        const double root = sqrt((double)in_features),
                     std = sqrt(2 / (1 + sqrt(5) * sqrt(5))) / root;
        heed_uniform_into(m->weight, -sqrt(3) * std, sqrt(3) * std);
        if (m->bias != NULL) {
            heed_uniform_into(m->bias, -1 / root, 1 / root);
        }
    }
    return heed_module_ready(m);
}

heed_tensor *heed_linear_forward(struct heed_linear *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    static const char function[] = "linear_forward";
    if (heed_forward_check(function, m) != HEED_OK ||
        heed_check_features(function, "x", x, "in_features", m->in_features, m->weight->dtype) !=
            HEED_OK) {
        return NULL;
    }
    return heed_linear(x, m->weight, m->bias);
}
