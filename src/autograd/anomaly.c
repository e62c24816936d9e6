/* Anomaly mode: the setting, and the checks for NaN and infinity. lints.c has the other checks.
 *
 * Only the results of operations that a caller applies are checked. Intermediate values inside an
 * operation's forward or derivative may be infinite if its result is finite. */
#include "anomaly.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../tensor/backtrace.h"
#include "../tensor/handle.h"
#include "../tensor/map.h"
#include "../tensor/shape.h"
#include "inspect.h"
#include "lints.h"
#include "module_path.h"

bool heed_set_detect_anomaly(bool enabled)
{
    const bool was = heed_is_anomaly_enabled();
    heed_self.observers ^= was != enabled ? HEED_ANOMALY_MODE : 0;
    return was;
}

bool heed_is_anomaly_enabled(void)
{
    return (heed_self.observers & HEED_ANOMALY_MODE) != 0;
}

/* ---- the elements of a tensor ---- */

typedef struct elements {
    bool has_nan, has_inf;
    int64_t at; /* the first NaN or infinity, in row-major order */
    double first;
    double low, high; /* excluding NaN; low > high: none */
} elements;

static elements scan(const heed_tensor *t)
{
    elements e = {.low = HUGE_VAL, .high = -HUGE_VAL};
    heed_tensor *copy = NULL;
    if (!heed_is_row_major(t)) {
        copy = heed_tensor_like(NULL, t);
        if (copy != NULL) {
            heed_copy_elements(t, copy);
        }
        t = copy;
    }
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
    if (copy != NULL) {
        heed_unref(copy);
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
    const char *name = call->op->name;
    if (strcmp(name, "log") == 0) {
        return !made->has_nan && !call->inputs[0]->requires_grad;
    }
    if (call->args != NULL &&
        (strcmp(name, "add_scalar") == 0 || strcmp(name, "mul_scalar") == 0)) {
        const double number = *(const double *)call->args;
        return isnan(number) || (isinf(number) && !made->has_nan);
    }
    return strcmp(name, "masked_fill") == 0;
}

static heed_status check_result(const heed_call *call, const heed_tensor *y)
{
    const bool is_view = y->storage == call->inputs[0]->storage;
    if (is_view || !heed_is_float(y->dtype)) {
        return HEED_OK;
    }
    const elements made = scan(y);
    if (is_finite(&made) || is_intended(call, &made)) {
        return heed_self.error;
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
        return heed_self.error; /* an input already contained it */
    }
    const heed_text path = heed_module_path();
    return heed_fail(HEED_ERR_ANOMALY, "%s%s%s: %s at %s of the result %s, from %s; %s",
                     call->op->name, *path.text != '\0' ? " in " : "", path.text, first_name(&made),
                     first_index(y, &made).text, HEED_TEXT(y), from,
                     strcmp(call->op->name, "softmax") == 0
                         ? "a row has inf, or only -inf, for which heed_safe_softmax gives zeros"
                         : "clamp or mask these inputs, or find out why they have grown");
}

heed_tensor *heed_inspect_result(const heed_call *call, heed_tensor *y)
{
    return y != NULL && check_result(call, y) == HEED_OK && heed_lint(call) == HEED_OK ? y : NULL;
}

/* ---- the backward pass ---- */

typedef struct heed_origin {
    heed_text path;
    int count;
    void *callers[HEED_IS_DEBUG ? HEED_MOST_CALLERS : 1];
} heed_origin;

size_t heed_origin_size(size_t args_size)
{
    return args_size + sizeof(heed_origin) <= UINT16_MAX ? sizeof(heed_origin) : 0;
}

/* Copied, because arguments may have any size and so any alignment. */
void heed_store_origin(heed_tensor *y)
{
    heed_origin origin = {.path = heed_module_path()};
    if (HEED_IS_DEBUG) {
        origin.count = heed_backtrace(origin.callers, HEED_MOST_CALLERS);
    }
    memcpy((char *)y->args + y->args_size - sizeof origin, &origin, sizeof origin);
    y->has_origin = true;
}

static heed_origin origin_of(const heed_tensor *node)
{
    heed_origin origin = {.path = {""}};
    if (node->has_origin) {
        memcpy(&origin, (const char *)node->args + node->args_size - sizeof origin, sizeof origin);
    }
    return origin;
}

heed_text heed_origin_path(const heed_tensor *node)
{
    return origin_of(node).path;
}

heed_status heed_inspect_root(const char *function, const heed_tensor *y)
{
    const elements e = scan(y);
    return is_finite(&e)
               ? heed_self.error
               : heed_fail(HEED_ERR_ANOMALY,
                           "%s: y is %s, although no operation produced it from finite inputs; "
                           "look for NaN and infinity in the data and the parameters",
                           function, first_name(&e));
}

heed_status heed_inspect_gradients(const heed_tensor *node, const heed_tensor *g,
                                   heed_tensor *const *grads)
{
    for (int i = 0; i < node->input_count; i++) {
        if (grads[i] == NULL) {
            continue;
        }
        const elements e = scan(grads[i]);
        if (is_finite(&e)) {
            continue;
        }
        const elements upstream = scan(g);
        const heed_origin origin = origin_of(node);
        heed_fail(
            HEED_ERR_ANOMALY,
            "backward of %s%s%s: %s at %s of the gradient of input %d %s, from a gradient %s; "
            "if the derivative is infinite there, replace such inputs before the operation; a "
            "heed_where after it is too late",
            node->op->name, *origin.path.text != '\0' ? " in " : "", origin.path.text,
            first_name(&e), first_index(grads[i], &e).text, i, HEED_TEXT(node->inputs[i]),
            range_text(g, &upstream).text);
        if (HEED_IS_DEBUG) {
            fprintf(stderr, "heed: the forward of this %s was called here:\n", node->op->name);
            heed_backtrace_print(origin.callers, origin.count);
        }
        break;
    }
    return heed_self.error;
}
