/* The feed-forward network of a transformer: two linear layers with an activation and dropout
 * between them. */
#include "feed_forward.h"

#include "../../autograd/ops/operations.h"
#include "../arguments.h"

HEED_MODULE_KIND(kind, struct heed_feed_forward, "FeedForward", NULL, heed_feed_forward_forward);

struct heed_feed_forward *heed_feed_forward_new(int64_t d_model, int64_t d_ff)
{
    return heed_feed_forward_new_with(d_model, d_ff, (heed_feed_forward_options){0});
}

struct heed_feed_forward *heed_feed_forward_new_with(int64_t d_model, int64_t d_ff,
                                                     heed_feed_forward_options options)
{
    const heed_named_size sizes[] = {{"d_model", d_model}, {"d_ff", d_ff}};
    if (heed_check_positive("feed_forward", sizes, 2) != HEED_OK) {
        return NULL;
    }
    struct heed_feed_forward *m = heed_module_new(&kind);
    if (m == NULL) {
        return NULL;
    }
    const heed_linear_options linear = {.no_bias = options.no_bias};
    HEED_CHILD(m, linear1, heed_linear_new_with(d_model, d_ff, linear));
    HEED_CHILD(m, dropout, heed_dropout_new(options.dropout));
    HEED_CHILD(m, linear2, heed_linear_new_with(d_ff, d_model, linear));
    m->activation = options.activation != NULL ? options.activation : heed_relu;
    return heed_module_ready(m);
}

heed_tensor *heed_feed_forward_forward(struct heed_feed_forward *m, heed_tensor *x)
{
    HEED_FORWARD(m);
    static const char function[] = "feed_forward_forward";
    if (heed_forward_check(function, m) != HEED_OK ||
        heed_check_features(function, "x", x, "d_model", m->linear1->in_features,
                            m->linear1->weight->dtype) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    x = heed_dropout_forward(m->dropout, m->activation(heed_linear_forward(m->linear1, x)));
    return heed_scope_end_with(&scope, heed_linear_forward(m->linear2, x));
}
