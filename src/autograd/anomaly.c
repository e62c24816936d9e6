/* Anomaly mode: an observer that looks for NaN and infinity.
 *
 * Only the results of operations that a caller applies are checked. Intermediate values inside an
 * operation's forward or derivative may be infinite if its result is finite. */
#include "anomaly.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../tensor/handle.h"
#include "../tensor/shape.h"
#include "module_path.h"
#include "notify.h"
#include "observer.h"
#include "ops/view.h"

/* ---- the elements of a tensor ---- */

typedef struct elements {
    bool has_nan, has_inf;
    int64_t at; /* the first NaN or infinity, in row-major order */
    double first;
    double low, high; /* excluding NaN; low > high: none */
} elements;

static elements scan(heed_tensor *t)
{
    elements e = {.low = HUGE_VAL, .high = -HUGE_VAL};
    t = heed_contiguous(t);
    for (int64_t i = 0; t != NULL && i < t->numel; i++) {
        const double x = heed_number_at(t, i);
        if (!isfinite(x)) {
            e.at = e.has_nan || e.has_inf ? e.at : i;
            e.first = e.at == i ? x : e.first;
            e.has_nan = e.has_nan || isnan(x);
            e.has_inf = e.has_inf || isinf(x);
        }
        e.low = x < e.low ? x : e.low;
        e.high = x > e.high ? x : e.high;
    }
    return e;
}

static bool is_finite(const elements *e)
{
    return !e->has_nan && !e->has_inf;
}

static const char *first_name(const elements *e)
{
    return isnan(e->first) ? "nan" : e->first > 0 ? "inf" : "-inf";
}

/* "(0, 1)" */
static heed_text first_index(const heed_tensor *t, const elements *e)
{
    int64_t index[HEED_MAX_DIMS], rest = e->at;
    for (int d = t->ndim - 1; d >= 0; d--) {
        index[d] = rest % t->shape[d];
        rest /= t->shape[d];
    }
    return heed_shape_text(t->ndim, index);
}

/* "(2, 3) with values from -1 to 4" */
static heed_text range_text(const heed_tensor *t, const elements *e)
{
    heed_text text = heed_shape_text(t->ndim, t->shape);
    const size_t at = strlen(text.text);
    if (e->low <= e->high) {
        snprintf(text.text + at, sizeof text.text - at, " with values from %g to %g", e->low,
                 e->high);
    }
    return text;
}

/* ---- the forward pass ---- */

enum { INPUTS_SHOWN = 4 };

/* Intended infinities: from masks, infinite scalars, and logarithms of constants. */
static bool is_intended(const heed_call *call, const elements *made)
{
    const heed_op_kind kind = call->op->kind;
    if (kind == HEED_KIND_LOG) {
        return !made->has_nan && !call->inputs[0]->requires_grad;
    }
    if (call->count == 1 && (kind == HEED_KIND_ADD || kind == HEED_KIND_MUL)) {
        const double number = *(const double *)call->args;
        return isnan(number) || (isinf(number) && !made->has_nan);
    }
    return kind == HEED_KIND_MASKED_FILL;
}

static void check_result(const heed_call *call, heed_tensor *y)
{
    const bool is_view = y->storage == call->inputs[0]->storage;
    if (is_view || !heed_is_float(y->dtype)) {
        return;
    }
    const elements made = scan(y);
    if (is_finite(&made) || is_intended(call, &made)) {
        return;
    }
    char from[INPUTS_SHOWN * sizeof(heed_text)] = "";
    bool has_nan = false, has_inf = false;
    for (int i = 0; i < call->count; i++) {
        const elements e = scan(call->inputs[i]);
        const size_t at = strlen(from);
        has_nan = has_nan || e.has_nan;
        has_inf = has_inf || e.has_inf;
        if (i < INPUTS_SHOWN) {
            snprintf(from + at, sizeof from - at, "%s%s", i > 0 ? " and " : "",
                     range_text(call->inputs[i], &e).text);
        }
    }
    if (has_nan || (has_inf && !made.has_nan)) {
        return; /* an input already contained it */
    }
    const heed_text path = heed_module_path();
    heed_fail(HEED_ERR_ANOMALY, "%s%s%s: %s at %s of the result %s, from %s; %s", call->op->name,
              *path.text != '\0' ? " in " : "", path.text, first_name(&made),
              first_index(y, &made).text, HEED_TEXT(y), from,
              call->op->kind == HEED_KIND_SOFTMAX
                  ? "a row has inf, or only -inf, for which heed_safe_softmax gives zeros"
                  : "clamp or mask these inputs, or find out why they have grown");
}

static heed_tensor *inspect_result(heed_observer *self, const heed_call *call, heed_tensor *y)
{
    (void)self;
    if (y != NULL && !heed_in_backward()) {
        check_result(call, y);
    }
    return y;
}

/* ---- the backward pass ---- */

static void inspect_root(heed_observer *self, const char *function, heed_tensor *y)
{
    (void)self;
    const elements e = scan(y);
    if (!is_finite(&e)) {
        heed_fail(HEED_ERR_ANOMALY,
                  "%s: y is %s, although no operation produced it from finite inputs; look for NaN "
                  "and infinity in the data and the parameters",
                  function, first_name(&e));
    }
}

static void inspect_gradients(heed_observer *self, const heed_derivative *derivative)
{
    (void)self;
    const heed_tensor *node = derivative->node;
    heed_tensor *g = derivative->g, *const *grads = derivative->grads;
    for (int i = 0; i < node->input_count; i++) {
        if (grads[i] == NULL) {
            continue;
        }
        const elements e = scan(grads[i]);
        if (is_finite(&e)) {
            continue;
        }
        const elements upstream = scan(g);
        const heed_text path = heed_origin_path(node);
        heed_fail(
            HEED_ERR_ANOMALY,
            "backward of %s%s%s: %s at %s of the gradient of input %d %s, from a gradient %s; "
            "if the derivative is infinite there, replace such inputs before the operation; a "
            "heed_where after it is too late",
            node->op->name, *path.text != '\0' ? " in " : "", path.text, first_name(&e),
            first_index(grads[i], &e).text, i, HEED_TEXT(node->inputs[i]),
            range_text(g, &upstream).text);
        heed_print_origin(node);
        break;
    }
}

/* ---- the setting ---- */

static _Thread_local bool is_on;
static _Thread_local heed_observer observer;

bool heed_set_detect_anomaly(bool enabled)
{
    const bool was = is_on;
    is_on = enabled;
    if (enabled && !was) {
        observer = (heed_observer){
            .result = inspect_result, .backward = inspect_root, .derivative = inspect_gradients};
        heed_observer_add(&observer);
    } else if (was && !enabled) {
        heed_observer_remove(&observer);
    }
    return was;
}

bool heed_is_anomaly_enabled(void)
{
    return is_on;
}
