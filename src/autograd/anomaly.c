/* The search for the first NaN or infinity: a hook that scans results and gradients. Values inside
 * an operation or a derivative may be infinite if what it returns is finite. */
#include <math.h>
#include <string.h>

#include "../tensor/handle.h"
#include "../tensor/shape.h"
#include "hook.h"
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

/* Infinities from masks, infinite scalars, and logarithms of constants are meant. */
static bool is_meant(const heed_call *call, contents made)
{
    const char *name = call->op->name;
    if (strcmp(name, "log") == 0) {
        return !made.nan && !call->inputs[0]->requires_grad;
    }
    if (strcmp(name, "add_scalar") == 0 || strcmp(name, "mul_scalar") == 0) {
        const double number = *(const double *)call->args;
        return isnan(number) || (isinf(number) && !made.nan);
    }
    return strcmp(name, "masked_fill") == 0;
}

static heed_tensor *check_result(heed_hook *self, const heed_call *call, heed_tensor *y)
{
    (void)self;
    if (heed_in_backward() || y->storage == call->inputs[0]->storage || !heed_is_float(y->dtype)) {
        return y;
    }
    const contents made = scan(y);
    contents from = {false, false};
    for (int i = 0; (made.nan || made.inf) && i < call->count; i++) {
        const contents e = scan(call->inputs[i]);
        from.nan = from.nan || e.nan;
        from.inf = from.inf || e.inf;
    }
    if ((made.nan || made.inf) && !from.nan && (made.nan || !from.inf) && !is_meant(call, made)) {
        const heed_text path = heed_module_path();
        heed_fail(HEED_ERR_ANOMALY, "%s%s%s: %s in the result %s; %s", call->op->name,
                  *path.text != '\0' ? " in " : "", path.text, made.nan ? "nan" : "inf",
                  HEED_TEXT(y),
                  strcmp(call->op->name, "softmax") == 0
                      ? "a row has inf, or only -inf, for which heed_safe_softmax gives zeros"
                      : "clamp or mask its inputs, or find out why they have grown");
    }
    return y;
}

static void check_gradients(heed_hook *self, const heed_vjp *vjp)
{
    (void)self;
    for (int i = 0; i < vjp->y->input_count && !heed_blocked(); i++) {
        const contents e = vjp->grads[i] != NULL ? scan(vjp->grads[i]) : (contents){false, false};
        if (e.nan || e.inf) {
            const heed_text path = heed_origin_path(vjp->y);
            heed_fail(HEED_ERR_ANOMALY,
                      "backward of %s%s%s: %s in the gradient of input %d %s; if the derivative "
                      "is infinite there, replace such inputs before the operation (a heed_where "
                      "after it is too late); else look for NaN and infinity in the data",
                      vjp->y->op->name, *path.text != '\0' ? " in " : "", path.text,
                      e.nan ? "nan" : "inf", i, HEED_TEXT(vjp->inputs[i]));
        }
    }
}

bool heed_set_detect_anomaly(bool enabled)
{
    static _Thread_local heed_hook hook = {.result = check_result, .derivative = check_gradients};
    static _Thread_local bool is_on;
    const bool was = is_on;
    is_on = enabled;
    (enabled ? heed_hook_add : heed_hook_remove)(&hook);
    return was;
}
