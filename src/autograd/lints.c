/* Recognises mistakes by the operations that made a call's inputs. */
#include "lints.h"

#include <string.h>

#include "../tensor/handle.h"
#include "../tensor/shape.h"
#include "inspect.h"
#include "module_path.h"

/* The number of inputs is compared because a program's own operation may have the same name. */
static bool is(const heed_tensor *t, const char *operation, int inputs)
{
    return t->op != NULL && t->input_count == inputs && strcmp(t->op->name, operation) == 0;
}

/* The argument of softmax is the dim. */
static bool is_softmax(const heed_tensor *t)
{
    return (is(t, "softmax", 1) || is(t, "safe_softmax", 1)) && t->has_origin &&
           t->args_size == sizeof(int) + heed_origin_size(sizeof(int));
}

static heed_status complain(const heed_call *call, const char *sentence)
{
    const heed_text path = heed_module_path();
    return heed_fail(HEED_ERR_ANOMALY, "%s of %s%s%s: %s", call->op->name,
                     HEED_TEXT(call->inputs[0]), *path.text != '\0' ? " in " : "", path.text,
                     sentence);
}

/* ---- the loss of probabilities ---- */

static heed_status check_logits(const heed_call *call)
{
    const heed_tensor *x = call->inputs[0];
    while (x->op != NULL && (x->op->forward == NULL || is(x, "reshape", 1))) {
        x = x->inputs[0]; /* a view */
    }
    return is_softmax(x) ? complain(call, "its input was made by softmax, and softmax is applied "
                                          "again; pass the logits instead")
                         : HEED_OK;
}

/* ---- the dim of attention's softmax ---- */

/* True if x is a matrix product, possibly scaled and masked since. */
static bool is_product(const heed_tensor *x)
{
    while (is(x, "div", 2) || is(x, "div_scalar", 1) || is(x, "mul", 2) || is(x, "mul_scalar", 1) ||
           is(x, "add", 2) || is(x, "masked_fill", 2)) {
        x = x->inputs[0];
    }
    return is(x, "matmul", 2);
}

static heed_status check_softmax_dim(const heed_call *call)
{
    const heed_tensor *p = call->inputs[0];
    p = is(p, "mul", 2) && !p->inputs[1]->requires_grad ? p->inputs[0] : p; /* dropout */
    return is_softmax(p) && p->shape[p->ndim - 1] > 1 &&
                   heed_wrapped(*(const int *)p->args, p->ndim) < p->ndim - 1 &&
                   is_product(p->inputs[0])
               ? complain(call, "the weights come from a softmax over a dim other than the last, "
                                "so they do not sum to 1 over the keys; use heed_softmax(x, -1)")
               : HEED_OK;
}

/* ---- inverted masks ---- */

typedef enum mask_kind { BLOCK, KEEP, BIAS } mask_kind; /* as in nn/attention/mask.h */

static bool is_kept(const heed_tensor *mask, mask_kind kind, int64_t i, int64_t j)
{
    const double value =
        heed_number_at(mask, i * mask->strides[mask->ndim - 2] + j * mask->strides[mask->ndim - 1]);
    return kind == BIAS ? value > -1e4 : (value != 0) == (kind == KEEP);
}

/* One mask (T, T) that keeps exactly the later keys, the inverse of a causal mask, or exactly the
 * diagonal, the inverse of a mask that blocks the token itself. */
static bool is_inverted(const heed_tensor *mask, mask_kind kind)
{
    const int64_t length = mask->ndim >= 2 ? mask->shape[mask->ndim - 1] : 0;
    bool later = length >= 3 && mask->shape[mask->ndim - 2] == length &&
                 mask->numel == length * length && mask->storage != NULL;
    bool itself = later;
    for (int64_t i = 0; i < length && (later || itself); i++) {
        for (int64_t j = 0; j < length && (later || itself); j++) {
            const bool kept = is_kept(mask, kind, i, j);
            later = later && kept == (j > i);
            itself = itself && kept == (j == i);
        }
    }
    return later || itself;
}

static heed_status check_mask(const heed_call *call, const heed_tensor *mask, mask_kind kind)
{
    return is_inverted(mask, kind)
               ? complain(call, "the attention mask seems to be inverted: each query sees only "
                                "later keys, or only itself; pass heed_logical_not(mask), and see "
                                "nn/attention/mask.h for what true means")
               : HEED_OK;
}

/* where(keep, scores, -inf) or where(block, -inf, scores). Only scores have a gradient. */
static heed_status check_where(const heed_call *call, const heed_tensor *x)
{
    const bool first = x->inputs[1]->requires_grad, second = x->inputs[2]->requires_grad;
    return first != second ? check_mask(call, x->inputs[0], first ? KEEP : BLOCK) : HEED_OK;
}

/* ---- all of them ---- */

heed_status heed_lint(const heed_call *call)
{
    const char *name = call->op->name;
    const heed_tensor *x = call->inputs[0];
    if (strcmp(name, "cross_entropy") == 0 || strcmp(name, "log_softmax") == 0) {
        return check_logits(call);
    }
    if (strcmp(name, "matmul") == 0) {
        return check_softmax_dim(call);
    }
    if (strcmp(name, "attend") == 0 && call->count > 3) {
        const heed_tensor *mask = call->inputs[3];
        return check_mask(call, mask, mask->dtype == HEED_BOOL ? KEEP : BIAS);
    }
    if ((strcmp(name, "softmax") == 0 || strcmp(name, "safe_softmax") == 0) && x->op != NULL) {
        return is(x, "masked_fill", 2) ? check_mask(call, x->inputs[1], BLOCK)
               : is(x, "where", 3)     ? check_where(call, x)
               : is(x, "add", 2)       ? check_mask(call, x->inputs[1], BIAS)
                                       : HEED_OK;
    }
    return HEED_OK;
}
