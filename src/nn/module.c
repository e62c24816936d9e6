/* Modules: what they hold, how they are made and freed. Their lists of tensors are
 * module_lists.c's. */
#include "module.h"

#include <string.h>

#include "../autograd/grad.h"
#include "../autograd/ops/view.h"
#include "../tensor/alloc.h"
#include "../tensor/check.h"
#include "../tensor/create.h"
#include "../tensor/read.h"
#include "module_entries.h"

/* ---- making ---- */

void *heed_module_new(const heed_module_kind *kind)
{
    if (heed_error_pending()) {
        return NULL;
    }
    if (kind == NULL || kind->size < sizeof(heed_module)) {
        heed_fail(HEED_ERR_VALUE, "module_new: its kind has no size for a heed_module");
        return NULL;
    }
    heed_module *module = heed_alloc_zeroed(kind->size);
    if (module != NULL) {
        module->kind = kind;
        module->training = true;
        heed_scope_begin_no_grad(&module->scope);
    }
    return module;
}

void *heed_module_ready(void *module)
{
    heed_module *m = module;
    if (m == NULL) {
        return NULL;
    }
    if (heed_scope_end(&m->scope) != HEED_OK) {
        heed_module_free(m);
        return NULL;
    }
    return m;
}

static heed_status check_name(const heed_module *module, const char *name)
{
    if (module == NULL || name == NULL || *name == '\0') {
        return heed_fail(HEED_ERR_NULL, "module: an entry needs a module and a name");
    }
    if (strchr(name, '.') != NULL) {
        return heed_fail(HEED_ERR_VALUE, "%s: the name '%s' holds a '.', which joins names",
                         module->kind->name, name);
    }
    for (int i = 0; i < module->count; i++) {
        if (strcmp(module->entries[i].name, name) == 0) {
            return heed_fail(HEED_ERR_VALUE, "%s: the name '%s' is taken", module->kind->name,
                             name);
        }
    }
    return HEED_OK;
}

/* A new entry at the end, with its name; NULL on error. */
static heed_module_entry *append(heed_module *m, const char *name)
{
    if (heed_error_pending() || check_name(m, name) != HEED_OK) {
        return NULL;
    }
    if (m->count == m->capacity) {
        int larger = m->capacity > 0 ? 2 * m->capacity : 4;
        heed_module_entry *grown = heed_grow(m->entries, (size_t)m->capacity * sizeof *grown,
                                             (size_t)larger * sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        m->entries = grown;
        m->capacity = larger;
    }
    const size_t size = strlen(name) + 1;
    char *copy = heed_alloc(size);
    if (copy == NULL) {
        return NULL;
    }
    heed_module_entry *entry = &m->entries[m->count++];
    *entry = (heed_module_entry){.name = memcpy(copy, name, size)};
    m->changes++;
    return entry;
}

static heed_status add_tensor(heed_module *m, const char *name, heed_tensor **field,
                              heed_tensor *value, heed_entry_kind kind)
{
    if (field != NULL) {
        *field = NULL;
    }
    if (heed_share(value) == NULL ||
        (kind == HEED_PARAMETER && heed_set_requires_grad(value, true) == NULL) ||
        heed_retain(value) == NULL) {
        return heed_error_pending();
    }
    heed_module_entry *entry = append(m, name);
    if (entry == NULL) {
        heed_release(value);
        return heed_error_pending();
    }
    entry->kind = kind;
    entry->tensor = value;
    if (field != NULL) {
        *field = value;
    }
    return HEED_OK;
}

heed_status heed_add_parameter(void *module, const char *name, heed_tensor **field,
                               heed_tensor *value)
{
    return add_tensor(module, name, field, value, HEED_PARAMETER);
}

heed_status heed_add_buffer(void *module, const char *name, heed_tensor **field, heed_tensor *value)
{
    return add_tensor(module, name, field, value, HEED_BUFFER);
}

static heed_module_entry *find_parameter(heed_module *m, const char *name)
{
    for (int i = 0; i < m->count && name != NULL; i++) {
        if (m->entries[i].kind == HEED_PARAMETER && strcmp(m->entries[i].name, name) == 0) {
            return &m->entries[i];
        }
    }
    heed_fail(HEED_ERR_VALUE, "set_parameter: a %s has no parameter '%s' of its own", m->kind->name,
              name != NULL ? name : "NULL");
    return NULL;
}

static heed_status check_alike(const heed_tensor *value, const heed_tensor *old)
{
    if (!heed_same_shape(value, old)) {
        return heed_fail(HEED_ERR_SHAPE, "set_parameter: %s in place of %s",
                         heed_shape_text(value->ndim, value->shape).text,
                         heed_shape_text(old->ndim, old->shape).text);
    }
    return value->dtype == old->dtype
               ? HEED_OK
               : heed_fail(HEED_ERR_DTYPE, "set_parameter: %s in place of %s; heed_to casts",
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
    m->changes++;
    if (field != NULL) {
        *field = value;
    }
    return HEED_OK;
}

/* Is `m` the module `outer`, or somewhere inside it? */
static bool is_inside(const heed_module *m, const heed_module *outer)
{
    while (m != NULL && m != outer) {
        m = m->owner;
    }
    return m != NULL;
}

heed_status heed_add_child(void *module, const char *name, void *field, void *child)
{
    heed_module *m = child, *kept = NULL;
    if (field != NULL) {
        memcpy(field, &kept, sizeof kept); /* a pointer to a pointer to some module */
    }
    if (m != NULL && (m->owner != NULL || is_inside(module, m))) {
        return heed_fail(HEED_ERR_VALUE, "%s '%s': it has an owner already, or holds this module",
                         m->kind->name, name != NULL ? name : "");
    }
    heed_module_entry *entry = m != NULL ? append(module, name) : NULL;
    if (entry == NULL) {
        heed_module_free(m);
        return heed_fail(HEED_ERR_NULL, "module: no child for '%s'", name != NULL ? name : "");
    }
    entry->kind = HEED_CHILD;
    entry->child = m;
    m->owner = module;
    if (field != NULL) {
        memcpy(field, &m, sizeof m);
    }
    return HEED_OK;
}

/* ---- freeing ---- */

heed_status heed_module_free(void *module)
{
    heed_module *m = module;
    if (m == NULL) {
        return heed_error_pending();
    }
    if (m->owner != NULL) {
        return heed_fail(HEED_ERR_VALUE, "module_free: this %s is a child of a %s, which frees it",
                         m->kind->name, m->owner->kind->name);
    }
    if (m->kind->destroy != NULL) {
        m->kind->destroy(m);
    }
    heed_forget_lists(m);
    for (int i = 0; i < m->count; i++) {
        heed_module_entry *entry = &m->entries[i];
        if (entry->kind == HEED_CHILD) {
            entry->child->owner = NULL;
            heed_module_free(entry->child);
        } else {
            heed_release(entry->tensor);
        }
        heed_free(entry->name, strlen(entry->name) + 1);
    }
    heed_free(m->entries, (size_t)m->capacity * sizeof *m->entries);
    heed_free(m, m->kind->size);
    return heed_error_pending();
}

/* ---- for users ---- */

heed_status heed_module_check(const char *function, const void *module)
{
    if (!heed_error_pending() && module == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: the module is NULL", function);
    }
    return heed_error_pending();
}

heed_status heed_forward_check(const char *function, const void *module)
{
    heed_status status = heed_module_check(function, module);
    return status == HEED_OK ? heed_check_scope(function) : status;
}

heed_tensor *heed_forward(void *module, heed_tensor *x)
{
    heed_module *m = module;
    if (heed_forward_check("forward", m) != HEED_OK) {
        return NULL;
    }
    if (m->kind->forward == NULL) {
        heed_fail(HEED_ERR_VALUE,
                  "forward: a %s has no forward that takes one tensor; call its own, or give its "
                  "kind a .forward",
                  m->kind->name);
        return NULL;
    }
    return m->kind->forward(m, x);
}

heed_status heed_zero_grad(void *module)
{
    heed_status status = heed_module_check("zero_grad", module);
    heed_tensor_list list = heed_parameters(module);
    for (int i = 0; i < list.count && status == HEED_OK; i++) {
        status = heed_clear_grad(list.tensors[i]);
    }
    return status;
}

static void set_training(heed_module *m, bool training)
{
    m->training = training;
    for (int i = 0; i < m->count; i++) {
        if (m->entries[i].kind == HEED_CHILD) {
            set_training(m->entries[i].child, training);
        }
    }
}

heed_status heed_train(void *module)
{
    heed_status status = heed_module_check("train", module);
    if (status == HEED_OK) {
        set_training(module, true);
    }
    return status;
}

heed_status heed_eval(void *module)
{
    heed_status status = heed_module_check("eval", module);
    if (status == HEED_OK) {
        set_training(module, false);
    }
    return status;
}

/* ---- modes that are kept ---- */

static size_t count_modules(const heed_module *m)
{
    size_t count = 1;
    for (int i = 0; i < m->count; i++) {
        count += m->entries[i].kind == HEED_CHILD ? count_modules(m->entries[i].child) : 0;
    }
    return count;
}

/* From here to the flags, or back; returns where those of the next module are. */
static bool *exchange_flags(heed_module *m, bool *flags, bool back)
{
    if (back) {
        m->training = *flags;
    } else {
        *flags = m->training;
    }
    flags++;
    for (int i = 0; i < m->count; i++) {
        if (m->entries[i].kind == HEED_CHILD) {
            flags = exchange_flags(m->entries[i].child, flags, back);
        }
    }
    return flags;
}

heed_status heed_modes_begin_eval(heed_modes *modes, void *module)
{
    *modes = (heed_modes){.module = module, .count = count_modules(module)};
    modes->flags = heed_alloc(modes->count * sizeof *modes->flags);
    if (modes->flags == NULL) {
        return heed_error_pending();
    }
    exchange_flags(module, modes->flags, false);
    return heed_eval(module);
}

void heed_modes_end(heed_modes *modes)
{
    exchange_flags(modes->module, modes->flags, true);
    heed_free(modes->flags, modes->count * sizeof *modes->flags);
}

/* ---- casting ---- */

/* Casts a tensor in place: it stays the same tensor for whoever holds it. */
static heed_status cast_entry(heed_module_entry *entry, heed_dtype dtype)
{
    if (!heed_is_float(entry->tensor->dtype) || entry->tensor->dtype == dtype) {
        return HEED_OK;
    }
    return heed_set_data(entry->tensor, heed_to(entry->tensor, dtype));
}

static heed_status cast_module(heed_module *m, heed_dtype dtype)
{
    heed_status status = HEED_OK;
    for (int i = 0; i < m->count && status == HEED_OK; i++) {
        heed_module_entry *entry = &m->entries[i];
        status =
            entry->kind == HEED_CHILD ? cast_module(entry->child, dtype) : cast_entry(entry, dtype);
    }
    return status;
}

heed_status heed_module_to(void *module, heed_dtype dtype)
{
    heed_status status = heed_module_check("module_to", module);
    if (status != HEED_OK) {
        return status;
    }
    if (!heed_is_float(dtype)) {
        return heed_fail(HEED_ERR_DTYPE, "module_to: parameters are f32 or f64, not %s",
                         heed_dtype_name(dtype));
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    cast_module(module, dtype);
    return heed_scope_end(&scope);
}
