/* LayerNorm: heed_layer_norm with its parameters. */
#include "layer_norm.h"

#include "../../autograd/ops/operations.h"
#include "../../tensor/create.h"
#include "../arguments.h"

static void describe(const void *module, char *text, size_t size)
{
    const struct heed_layer_norm *m = module;
    const heed_shape *shape = &m->normalized_shape;
    heed_text dims = heed_shape_text(shape->ndim, shape->size);
    if (shape->ndim == 1) { /* Python's notation for a 1-tuple */
        snprintf(dims.text, sizeof dims.text, "(%lld,)", (long long)shape->size[0]);
    }
    snprintf(text, size, "%s, eps=%g, elementwise_affine=%s, bias=%s", dims.text, m->eps,
             m->weight != NULL ? "True" : "False", m->bias != NULL ? "True" : "False");
}

HEED_MODULE_KIND(kind, struct heed_layer_norm, "LayerNorm", describe, heed_layer_norm_forward);

static heed_status check_arguments(heed_shape shape, double eps)
{
    bool fits = shape.ndim > 0;
    for (int i = 0; fits && i < shape.ndim; i++) {
        fits = shape.size[i] >= 0;
    }
    if (!fits) {
        return heed_fail(
            HEED_ERR_SHAPE,
            "layer_norm: normalized_shape %s must have 1 dim or more and no negative size",
            heed_shape_text(shape.ndim, shape.size).text);
    }
    return heed_check_not_negative("layer_norm", "eps", eps);
}

struct heed_layer_norm *heed_layer_norm_new(heed_shape normalized_shape)
{
    return heed_layer_norm_new_with(normalized_shape, (heed_layer_norm_options){0});
}

struct heed_layer_norm *heed_layer_norm_new_with(heed_shape normalized_shape,
                                                 heed_layer_norm_options options)
{
    if (check_arguments(normalized_shape, options.eps) != HEED_OK) {
        return NULL;
    }
    struct heed_layer_norm *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    m->normalized_shape = normalized_shape;
    m->eps = options.eps != 0 ? options.eps : 1e-5;
    if (!options.no_elementwise_affine) {
        HEED_PARAMETER(m, weight, heed_ones(normalized_shape, HEED_F32));
        if (!options.no_bias) {
            HEED_PARAMETER(m, bias, heed_zeros(normalized_shape, HEED_F32));
        }
    }
    return heed_module_ready(m);
}

heed_tensor *heed_layer_norm_forward(struct heed_layer_norm *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    static const char function[] = "layer_norm_forward";
    if (heed_forward_check(function, m) != HEED_OK ||
        (m->weight != NULL && heed_check_dtype(function, "x", x, m->weight->dtype) != HEED_OK)) {
        return NULL;
    }
    return heed_layer_norm(x, m->normalized_shape, m->weight, m->bias, m->eps);
}
