/* Anomaly mode: an observer that looks for NaN and infinity.
 *
 * Only the results of operations that a caller applies are checked. Intermediate values inside an
 * operation's forward or derivative may be infinite if its result is finite. */
#include "anomaly.h"

#include <math.h>

#include "../tensor/handle.h"
#include "../tensor/shape.h"
#include "module_path.h"
#include "notify.h"
#include "observer.h"
#include "ops/operations.h"

typedef struct contents {
    bool nan, inf;
} contents;

static contents scan(heed_tensor *t)
{
    contents found = {false, false};
    t = heed_contiguous(t);
    for (int64_t i = 0; t != NULL && i < t->numel; i++) {
        const double x = heed_number_at(t, i);
        found.nan = found.nan || isnan(x);
        found.inf = found.inf || isinf(x);
    }
    return found;
}

static bool is_finite(contents c)
{
    return !c.nan && !c.inf;
}

static const char *name_of(contents c)
{
    return c.nan ? "nan" : "inf";
}

/* ---- the forward pass ---- */

/* Intended infinities: from masks, infinite scalars, and logarithms of constants. */
static bool is_intended(const heed_call *call, contents made)
{
    const heed_op_kind kind = call->op->kind;
    if (kind == HEED_KIND_LOG) {
        return !made.nan && !call->inputs[0]->requires_grad;
    }
    if (call->count == 1 && (kind == HEED_KIND_ADD || kind == HEED_KIND_MUL)) {
        const double number = *(const double *)call->args;
        return isnan(number) || (isinf(number) && !made.nan);
    }
    return kind == HEED_KIND_MASKED_FILL;
}

static void check_result(const heed_call *call, heed_tensor *y)
{
    const bool is_view = y->storage == call->inputs[0]->storage;
    if (is_view || !heed_is_float(y->dtype)) {
        return;
    }
    const contents made = scan(y);
    if (is_finite(made) || is_intended(call, made)) {
        return;
    }
    contents from = {false, false};
    for (int i = 0; i < call->count; i++) {
        const contents e = scan(call->inputs[i]);
        from.nan = from.nan || e.nan;
        from.inf = from.inf || e.inf;
    }
    if (from.nan || (from.inf && !made.nan)) {
        return; /* an input already contained it */
    }
    const heed_text path = heed_module_path();
    heed_fail(HEED_ERR_ANOMALY, "%s%s%s: %s in the result %s; %s", call->op->name,
              *path.text != '\0' ? " in " : "", path.text, name_of(made), HEED_TEXT(y),
              call->op->kind == HEED_KIND_SOFTMAX
                  ? "a row has inf, or only -inf, for which heed_safe_softmax gives zeros"
                  : "clamp or mask its inputs, or find out why they have grown");
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
    const contents e = scan(y);
    if (!is_finite(e)) {
        heed_fail(HEED_ERR_ANOMALY,
                  "%s: y is %s, although no operation produced it from finite inputs; look for NaN "
                  "and infinity in the data and the parameters",
                  function, name_of(e));
    }
}

static void inspect_gradients(heed_observer *self, const heed_derivative *derivative)
{
    (void)self;
    const heed_tensor *node = derivative->node;
    heed_tensor *const *grads = derivative->grads;
    for (int i = 0; i < node->input_count; i++) {
        if (grads[i] == NULL) {
            continue;
        }
        const contents e = scan(grads[i]);
        if (is_finite(e)) {
            continue;
        }
        const heed_text path = heed_origin_path(node);
        heed_fail(HEED_ERR_ANOMALY,
                  "backward of %s%s%s: %s in the gradient of input %d %s; if the derivative "
                  "is infinite there, replace such inputs before the operation; a heed_where after "
                  "it is too late",
                  node->op->name, *path.text != '\0' ? " in " : "", path.text, name_of(e), i,
                  HEED_TEXT(node->inputs[i]));
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
