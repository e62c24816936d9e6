/* Sampling: filters out unlikely tokens, then draws one of the rest. */

#include "sample.h"

#include <math.h>

#include "../../autograd/ops/elementwise.h"
#include "../../autograd/ops/index.h"
#include "../../autograd/ops/masking.h"
#include "../../autograd/ops/reductions.h"
#include "../../autograd/ops/slice.h"
#include "../../autograd/ops/softmax.h"
#include "../../autograd/ops/sort.h"
#include "../../autograd/ops/view.h"
#include "../../nn/arguments.h"
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/random/random.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"

/* ---- checks ---- */

static heed_status check_options(const heed_sample_options *o)
{
    if (!(o->temperature >= 0 && isfinite(o->temperature))) {
        return heed_fail(HEED_ERR_VALUE,
                         "sample: temperature is %g; it must be finite and above 0 (0 means 1)",
                         o->temperature);
    }
    if (o->top_k < 0) {
        return heed_fail(HEED_ERR_VALUE,
                         "sample: top_k is %lld; it must be 1 or more (0 means all)",
                         (long long)o->top_k);
    }
    return heed_check_probability("sample", "top_p", o->top_p);
}

static heed_status check_logits(const heed_tensor *logits)
{
    if (heed_check_scope("sample") != HEED_OK ||
        heed_check_not_null("sample", "logits", logits) != HEED_OK) {
        return heed_error_pending();
    }
    if (!heed_is_float(logits->dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "sample: logits are %s; they must be f32 or f64",
                         heed_dtype_name(logits->dtype));
    }
    if (logits->ndim < 1 || logits->ndim > 2 || logits->shape[logits->ndim - 1] == 0) {
        return heed_fail(HEED_ERR_SHAPE,
                         "sample: logits %s; they must be (V) or (B, V), with V of 1 or more; for "
                         "the last token of (B, T, V) use heed_select(logits, 1, -1)",
                         heed_shape_text(logits->ndim, logits->shape).text);
    }
    return HEED_OK;
}

/* A row's maximum reveals all invalid cases: NaN, inf, or -inf if every logit is -inf. */
static heed_status check_rows(heed_tensor *x, double temperature)
{
    heed_tensor *largest = heed_amax_dim(x, -1, false);
    for (int64_t row = 0; largest != NULL && row < largest->numel; row++) {
        const double most = heed_at(largest, HEED_INDEX(row));
        if (!isfinite(most)) {
            return heed_fail(
                HEED_ERR_VALUE,
                "sample: row %lld of logits %s, divided by temperature %g, contains %s",
                (long long)row, heed_shape_text(x->ndim, x->shape).text, temperature,
                isnan(most) ? "NaN"
                : most > 0  ? "inf"
                            : "nothing but -inf");
        }
    }
    return heed_error_pending();
}

/* ---- x (B, V) ---- */

static heed_tensor *keep_top_k(heed_tensor *x, int64_t k)
{
    if (k == 0 || k >= x->shape[1]) {
        return x;
    }
    heed_tensor *last = heed_narrow(heed_topk(x, k, -1, true, NULL), -1, k - 1, 1);
    return heed_masked_fill(x, heed_lt(x, last), -HUGE_VAL);
}

/* Drops the least likely tokens while their probabilities sum to at most 1 - p; keeps at least
 * one. */
static heed_tensor *keep_top_p(heed_tensor *x, double p)
{
    if (x == NULL || p == 0 || p >= 1) {
        return x;
    }
    heed_tensor *order = NULL;
    heed_tensor *sums = heed_cumsum(heed_softmax(heed_sort(x, -1, false, &order), -1), -1);
    heed_tensor *dropped = heed_le_scalar(sums, 1 - p);
    heed_fill_into(heed_select(dropped, -1, -1), 0);
    heed_tensor *back = heed_scatter_add(heed_zeros_like(x), -1, order, heed_to(dropped, x->dtype));
    return heed_masked_fill(x, heed_to(back, HEED_BOOL), -HUGE_VAL);
}

/* Draws an id per row of p (B, V), row i from generators[i]. */
static heed_tensor *draw_apart(heed_tensor *p, heed_generator *generators)
{
    const heed_generator own = heed_get_generator();
    heed_tensor *ids = heed_empty(HEED_SHAPE(heed_size(p, 0), 1), HEED_I64);
    for (int64_t i = 0; ids != NULL && i < ids->numel; i++) {
        if (heed_set_generator(&generators[i]) != HEED_OK) {
            break;
        }
        heed_copy_into(heed_narrow(ids, 0, i, 1),
                       heed_multinomial(heed_narrow(p, 0, i, 1), 1, false));
        generators[i] = heed_get_generator();
    }
    heed_set_generator(&own);
    return ids;
}

heed_tensor *heed_sample(heed_tensor *logits)
{
    return heed_sample_with(logits, (heed_sample_options){0});
}

heed_tensor *heed_sample_with(heed_tensor *logits, heed_sample_options options)
{
    if (check_logits(logits) != HEED_OK || check_options(&options) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    const bool batched = logits->ndim == 2;
    heed_tensor *ids = NULL, *x = batched ? logits : heed_unsqueeze(logits, 0);
    const double temperature = options.temperature != 0 ? options.temperature : 1;
    x = temperature != 1 ? heed_div_scalar(x, temperature) : x;
    if (x != NULL && check_rows(x, temperature) == HEED_OK) {
        if (options.greedy) {
            ids = heed_argmax_dim(x, -1, false);
        } else {
            x = keep_top_k(x, options.top_k);
            x = keep_top_p(x, options.top_p);
            x = heed_softmax(x, -1);
            ids = options.generators != NULL ? draw_apart(x, options.generators)
                                             : heed_multinomial(x, 1, false);
            ids = heed_squeeze(ids, 1);
        }
    }
    return heed_scope_end_with(&scope, batched ? ids : heed_squeeze(ids, 0));
}
