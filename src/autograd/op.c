/* The registry of operations, and the checks that their rules share. apply.c applies them. */
#include "op.h"

#include <stdio.h>
#include <string.h>

/* ---- the registry ---- */

static heed_op *registry; /* filled before main, by constructors */

void heed_register(heed_op *op)
{
    if (op == NULL) {
        heed_fail(HEED_ERR_NULL, "register: op is NULL");
        return;
    }
    for (const heed_op *known = registry; known != NULL; known = known->next) {
        if (known == op) {
            return;
        }
    }
    op->next = registry;
    registry = op;
}

const heed_op *heed_first_operation(void)
{
    return registry;
}

const heed_op *heed_find_operation(const char *name)
{
    const heed_op *op = registry;
    while (op != NULL && (name == NULL || strcmp(op->name, name) != 0)) {
        op = op->next;
    }
    return op;
}

/* ---- checks that rules share ---- */

heed_text heed_input_name(const heed_op *op, int i)
{
    heed_text name;
    if (op->names != NULL) {
        snprintf(name.text, sizeof name.text, "%s", op->names[i]);
    } else {
        snprintf(name.text, sizeof name.text, "input %d", i);
    }
    return name;
}

heed_status heed_expect_dtype(const heed_call *call, int i, heed_dtype dtype)
{
    if (call->inputs[i]->dtype != dtype) {
        return heed_fail(HEED_ERR_DTYPE, "%s: %s is %s, not %s; cast it with heed_to",
                         call->op->name, heed_input_name(call->op, i).text,
                         heed_dtype_name(call->inputs[i]->dtype), heed_dtype_name(dtype));
    }
    return HEED_OK;
}

heed_status heed_expect_float(const heed_call *call, int i)
{
    if (!heed_is_float(call->inputs[i]->dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "%s: %s is %s, not a float; heed_to(x, HEED_F32)",
                         call->op->name, heed_input_name(call->op, i).text,
                         heed_dtype_name(call->inputs[i]->dtype));
    }
    return HEED_OK;
}

bool heed_wants_grad(const heed_vjp *vjp, int i)
{
    return vjp->wanted[i];
}
