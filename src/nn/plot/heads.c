/* Attention weights: checked before anything is drawn. */
#include "heads.h"

#include <math.h>

#include "../../tensor/read.h"

heed_status heed_heads_check(const char *function, FILE *stream, heed_tensor *weights)
{
    if (heed_error_pending() || stream == NULL || weights == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: stream or weights is NULL", function);
    }
    if (!heed_is_float(weights->dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "%s: weights are %s, not a float", function,
                         heed_dtype_name(weights->dtype));
    }
    if (weights->storage == NULL) {
        return heed_fail(HEED_ERR_SCOPE, "%s: the value of weights has been freed", function);
    }
    return HEED_OK;
}

double heed_heads_at(const heed_heads *heads, int64_t head, int64_t query, int64_t key)
{
    return heads->weights->ndim == 3 ? heed_at(heads->weights, HEED_INDEX(head, query, key))
                                     : heed_at(heads->weights, HEED_INDEX(query, key));
}

static heed_status check_rows(const heed_heads *heads, const char *function)
{
    for (int64_t head = 0; head < heads->count; head++) {
        for (int64_t i = 0; i < heads->queries; i++) {
            double sum = 0;
            for (int64_t j = 0; j < heads->keys; j++) {
                sum += heed_heads_at(heads, head, i, j);
            }
            if (!(fabs(sum - 1) <= 1e-3 || fabs(sum) <= 1e-3)) {
                return heed_fail(
                    HEED_ERR_VALUE,
                    "%s: weights of head %lld, query %lld (from 0) sum to %g, not to 1 "
                    "or, if fully masked, to 0; pass the result of softmax",
                    function, (long long)head, (long long)i, sum);
            }
        }
    }
    return HEED_OK;
}

heed_status heed_heads_of(heed_heads *heads, const char *function, FILE *stream,
                          heed_tensor *weights, const heed_attention_plot_options *options)
{
    if (heed_heads_check(function, stream, weights) != HEED_OK) {
        return heed_error_pending();
    }
    const int ndim = weights->ndim;
    if (ndim != 2 && ndim != 3) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: weights have %d dims, not (heads, T, S) or (T, S); pick a sequence "
                         "of the batch with heed_select",
                         function, ndim);
    }
    *heads = (heed_heads){.weights = weights,
                          .count = ndim == 3 ? heed_size(weights, 0) : 1,
                          .queries = heed_size(weights, ndim - 2),
                          .keys = heed_size(weights, ndim - 1),
                          .query_labels = options->queries,
                          .key_labels = options->keys};
    if (options->keys == NULL && heads->keys == heads->queries) {
        heads->key_labels = options->queries;
    }
    return check_rows(heads, function);
}
