/* The state of modules: state dicts, tied weights, gradients, training mode. */
#include "module_state.h"

#include <string.h>

#include "../autograd/grad.h"
#include "../tensor/read.h"
#include "named_tensors.h"

/* ---- lists ---- */

heed_tensor_list heed_state_dict(void *module)
{
    return heed_list_of("state_dict", module, HEED_LIST_STATE);
}

heed_tensor *heed_state(void *module, const char *name)
{
    heed_tensor_list list = heed_state_dict(module);
    if (!heed_error_pending() && name == NULL) {
        heed_fail(HEED_ERR_NULL, "state: name is NULL");
        return NULL;
    }
    for (int i = 0; i < list.count; i++) {
        if (strcmp(list.names[i], name) == 0) {
            return list.tensors[i];
        }
    }
    heed_fail(HEED_ERR_VALUE, "state: no parameter or buffer '%s'%s%s", name,
              list.count > 0 ? "; the first is " : "", list.count > 0 ? list.names[0] : "");
    return NULL;
}

/* ---- tied weights ---- */

static heed_module_entry *find_parameter(heed_module *m, const char *name)
{
    for (int i = 0; i < m->count && name != NULL; i++) {
        heed_module_entry *entry = &m->entries[i];
        if (entry->tensor != NULL && !entry->is_buffer && strcmp(entry->name, name) == 0) {
            return entry;
        }
    }
    heed_fail(HEED_ERR_VALUE,
              "set_parameter: this %s has no parameter '%s'; children are not searched",
              m->kind->name, name != NULL ? name : "NULL");
    return NULL;
}

static heed_status check_alike(const heed_tensor *value, const heed_tensor *old)
{
    if (!heed_same_shape(value, old)) {
        return heed_fail(HEED_ERR_SHAPE, "set_parameter: value is %s, but the parameter is %s",
                         heed_shape_text(value->ndim, value->shape).text,
                         heed_shape_text(old->ndim, old->shape).text);
    }
    return value->dtype == old->dtype
               ? HEED_OK
               : heed_fail(
                     HEED_ERR_DTYPE,
                     "set_parameter: value is %s, but the parameter is %s; cast it with heed_to",
                     heed_dtype_name(value->dtype), heed_dtype_name(old->dtype));
}

heed_status heed_set_parameter(void *module, const char *name, heed_tensor **field,
                               heed_tensor *value)
{
    heed_module *m = module;
    heed_module_entry *entry =
        heed_module_check("set_parameter", m) == HEED_OK ? find_parameter(m, name) : NULL;
    if (value == NULL) {
        return heed_fail(HEED_ERR_NULL, "set_parameter: no value for '%s'",
                         name != NULL ? name : "NULL");
    }
    if (entry == NULL || check_alike(value, entry->tensor) != HEED_OK ||
        heed_share(value) == NULL || heed_set_requires_grad(value, true) == NULL ||
        heed_retain(value) == NULL) {
        return heed_error_pending();
    }
    heed_release(entry->tensor);
    entry->tensor = value;
    heed_free_lists(m);
    if (field != NULL) {
        *field = value;
    }
    return HEED_OK;
}

/* ---- gradients and training mode ---- */

heed_status heed_zero_grad(void *module)
{
    heed_status status = heed_module_check("zero_grad", module);
    heed_tensor_list list = heed_parameters(module);
    for (int i = 0; i < list.count && status == HEED_OK; i++) {
        status = heed_clear_grad(list.tensors[i]);
    }
    return status;
}

static heed_status set_training(const char *function, heed_module *m, bool training)
{
    heed_status status = heed_module_check(function, m);
    for (int i = 0; status == HEED_OK && i < m->count; i++) {
        if (m->entries[i].child != NULL) {
            status = set_training(function, m->entries[i].child, training);
        }
    }
    if (status == HEED_OK) {
        m->training = training;
    }
    return status;
}

heed_status heed_train(void *module)
{
    return set_training("train", module, true);
}

heed_status heed_eval(void *module)
{
    return set_training("eval", module, false);
}
