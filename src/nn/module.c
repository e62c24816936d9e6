/* Modules: creation and freeing, lists of tensors, casts, printing. A module has a list of entries:
 * its own parameters and buffers, which it retains, and its children. */

#include "module.h"

#include <string.h>

#include "../autograd/grad.h"
#include "../autograd/ops/view.h"
#include "../tensor/alloc.h"
#include "../tensor/check.h"
#include "../tensor/create.h"
#include "../tensor/read.h"
#include "arguments.h"
#include "named_tensors.h"

/* ---- checks ---- */

heed_status heed_module_check(const char *function, const void *module)
{
    const heed_module *m = module;
    const heed_status status = heed_check_not_null(function, "the module", m);
    return status != HEED_OK || m->alive == HEED_ALIVE
               ? status
               : heed_fail(HEED_ERR_VALUE, "%s: the module has already been freed", function);
}

heed_status heed_forward_check(const char *function, const void *module)
{
    const heed_status status = heed_module_check(function, module);
    return status == HEED_OK ? heed_check_scope(function) : status;
}

/* ---- creation ---- */

void *heed_module_new(const heed_module_kind *kind)
{
    if (heed_error_pending()) {
        return NULL;
    }
    if (kind == NULL || kind->size < sizeof(heed_module)) {
        heed_fail(HEED_ERR_VALUE, "module_new: kind is NULL or its size is too small");
        return NULL;
    }
    heed_module *module = heed_alloc_zeroed(kind->size);
    if (module != NULL) {
        module->kind = kind;
        module->alive = HEED_ALIVE;
        module->training = true;
        module->place.name = kind->name;
        heed_scope_begin_no_grad(&module->scope);
    }
    return module;
}

void *heed_module_ready(void *module)
{
    heed_module *m = module;
    if (m != NULL && heed_scope_end(&m->scope) != HEED_OK) {
        heed_module_free(m);
        m = NULL;
    }
    return m;
}

static heed_status check_name(const heed_module *module, const char *name)
{
    if (module == NULL || name == NULL || *name == '\0') {
        return heed_fail(HEED_ERR_NULL, "module: an entry needs a module and a name");
    }
    if (heed_module_check("module", module) != HEED_OK) {
        return heed_error_pending();
    }
    if (strchr(name, '.') != NULL) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: the name '%s' contains a '.', which separates names in a path",
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

void heed_free_lists(heed_module *m)
{
    for (; m != NULL; m = m->owner) {
        for (int i = 0; i < HEED_MODULE_LISTS; i++) {
            heed_named_delete(m->lists[i]);
            m->lists[i] = NULL;
        }
    }
}

/* Appends an entry with that name; returns NULL on error. */
static heed_module_entry *append(heed_module *m, const char *name)
{
    if (heed_error_pending() || check_name(m, name) != HEED_OK) {
        return NULL;
    }
    const size_t size = strlen(name) + 1;
    int64_t capacity = m->capacity;
    char *copy = heed_alloc(size);
    heed_module_entry *entries = heed_grow(m->entries, m->count, &capacity, sizeof *entries);
    if (entries != NULL) {
        m->entries = entries;
        m->capacity = (int)capacity;
    }
    if (heed_error_pending()) {
        heed_free(copy);
        return NULL;
    }
    heed_module_entry *entry = &entries[m->count++];
    *entry = (heed_module_entry){.name = memcpy(copy, name, size)};
    heed_free_lists(m);
    return entry;
}

static heed_status add_tensor(heed_module *m, const char *name, heed_tensor **field,
                              heed_tensor *value, bool is_buffer)
{
    if (field != NULL) {
        *field = NULL;
    }
    if (heed_share(value) == NULL || (!is_buffer && heed_set_requires_grad(value, true) == NULL) ||
        heed_retain(value) == NULL) {
        return heed_error_pending();
    }
    heed_module_entry *entry = append(m, name);
    if (entry == NULL) {
        heed_release(value);
        return heed_error_pending();
    }
    entry->tensor = value;
    entry->is_buffer = is_buffer;
    if (field != NULL) {
        *field = value;
    }
    return HEED_OK;
}

heed_status heed_add_parameter(void *module, const char *name, heed_tensor **field,
                               heed_tensor *value)
{
    return add_tensor(module, name, field, value, false);
}

heed_status heed_add_buffer(void *module, const char *name, heed_tensor **field, heed_tensor *value)
{
    return add_tensor(module, name, field, value, true);
}

heed_status heed_add_child(void *module, const char *name, void *field, void *child)
{
    heed_module *m = child, *outer = module;
    const char *shown = name != NULL ? name : "";
    if (field != NULL) {
        memcpy(field, &(heed_module *){NULL},
               sizeof m); /* field points to a pointer to a module of some type */
    }
    if (m != NULL && m->alive != HEED_ALIVE) {
        return heed_fail(HEED_ERR_VALUE, "module: the child '%s' has already been freed", shown);
    }
    while (outer != NULL && outer != m) {
        outer = outer->owner;
    }
    if (m != NULL && (m->owner != NULL || outer != NULL)) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s '%s': it already has an owner, or contains this module", m->kind->name,
                         shown);
    }
    heed_module_entry *entry = m != NULL ? append(module, name) : NULL;
    if (entry == NULL) {
        heed_module_free(m);
        return heed_fail(HEED_ERR_NULL, "module: the child '%s' is NULL", shown);
    }
    entry->child = m;
    m->owner = module;
    m->place = (heed_place){&m->owner->place, entry->name};
    if (field != NULL) {
        memcpy(field, &m, sizeof m);
    }
    return HEED_OK;
}

/* ---- tensors by name ---- */

/* A state dict contains a tensor under each of its names; the other lists contain it once. */
static void list_entries(heed_named_tensors *named, const heed_module *m, bool buffers,
                         heed_list_kind kind)
{
    for (int i = 0; i < m->count; i++) {
        const heed_tensor *t = m->entries[i].tensor;
        if (t != NULL && m->entries[i].is_buffer == buffers &&
            (kind == HEED_LIST_STATE || !heed_is_listed(named->list, t)) &&
            (kind != HEED_LIST_DECAY || t->ndim >= 2) &&
            (kind != HEED_LIST_NO_DECAY || t->ndim < 2)) {
            heed_named_add(named, m->entries[i].tensor, "%s", m->entries[i].name);
        }
    }
}

/* The module's own tensors, then those of each child, prefixed with the child's name. */
static void list_module(heed_named_tensors *named, const heed_module *m, heed_list_kind kind)
{
    list_entries(named, m, false, kind);
    if (kind == HEED_LIST_STATE) {
        list_entries(named, m, true, kind);
    }
    const char *outer = named->prefix != NULL ? named->prefix : "";
    for (int i = 0; i < m->count && !heed_error_pending(); i++) {
        if (m->entries[i].child != NULL) {
            const size_t size = strlen(outer) + strlen(m->entries[i].name) + 2;
            char *prefix = heed_alloc(size);
            if (prefix != NULL) {
                snprintf(prefix, size, "%s%s.", outer, m->entries[i].name);
                named->prefix = prefix;
                list_module(named, m->entries[i].child, kind);
                named->prefix = outer;
            }
            heed_free(prefix);
        }
    }
}

/* Lists are built once. Of lists that several threads build at a time, the first one is kept. */
heed_tensor_list heed_list_of(const char *function, heed_module *m, heed_list_kind kind)
{
    static const heed_tensor_list none;
    if (heed_module_check(function, m) != HEED_OK) {
        return none;
    }
    heed_named_tensors *list = __atomic_load_n(&m->lists[kind], __ATOMIC_ACQUIRE), *earlier = NULL;
    if (list == NULL) {
        list = heed_alloc_zeroed(sizeof *list);
        if (list != NULL) {
            list_module(list, m, kind);
        }
        if (heed_error_pending()) {
            heed_named_delete(list);
            return none;
        }
        if (!__atomic_compare_exchange_n(&m->lists[kind], &earlier, list, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE)) {
            heed_named_delete(list);
            list = earlier;
        }
    }
    return list->list;
}

heed_tensor_list heed_parameters(void *module)
{
    return heed_list_of("parameters", module, HEED_LIST_PARAMETERS);
}

/* ---- freeing ---- */

heed_status heed_module_free(void *module)
{
    heed_module *m = module;
    if (m == NULL) {
        return heed_error_pending();
    }
    if (m->alive != HEED_ALIVE) {
        return heed_fail(HEED_ERR_VALUE, "module_free: the module has already been freed");
    }
    if (m->owner != NULL) {
        return heed_fail(HEED_ERR_VALUE, "module_free: this %s is a child of a %s, which frees it",
                         m->kind->name, m->owner->kind->name);
    }
    if (m->kind->destroy != NULL) {
        m->kind->destroy(m);
    }
    heed_free_lists(m);
    for (int i = 0; i < m->count; i++) {
        heed_module_entry *entry = &m->entries[i];
        if (entry->child != NULL) {
            entry->child->owner = NULL;
            heed_module_free(entry->child);
        } else {
            heed_release(entry->tensor);
        }
        heed_free(entry->name);
    }
    heed_free(m->entries);
    heed_scope_close(&m->scope); /* still open if the constructor failed */
    m->alive = 0;
    heed_forget_place(&m->place);
    heed_free(m);
    return heed_error_pending();
}

/* ---- forward ---- */

heed_tensor *heed_forward(void *module, heed_tensor *x)
{
    heed_module *m = module;
    if (heed_forward_check("forward", m) != HEED_OK) {
        return NULL;
    }
    if (m->kind->forward == NULL) {
        heed_fail(HEED_ERR_VALUE,
                  "forward: a %s has no forward that takes one tensor; call its own forward "
                  "function, or set .forward in its kind",
                  m->kind->name);
        return NULL;
    }
    HEED_FORWARD(m);
    return m->kind->forward(m, x);
}

/* ---- casting ---- */

/* In place, so that references to the tensors stay valid. */
static heed_status cast_module(heed_module *m, heed_dtype dtype)
{
    heed_status status = HEED_OK;
    for (int i = 0; i < m->count && status == HEED_OK; i++) {
        heed_module_entry *entry = &m->entries[i];
        if (entry->child != NULL) {
            status = cast_module(entry->child, dtype);
        } else if (heed_is_float(entry->tensor->dtype) && entry->tensor->dtype != dtype) {
            status = heed_set_data(entry->tensor, heed_to(entry->tensor, dtype));
        }
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

/* ---- the tree as text ---- */

static void print_module(FILE *stream, const heed_module *m, int depth)
{
    char text[160] = "";
    bool children = false;
    if (m->kind->describe != NULL) {
        m->kind->describe(m, text, sizeof text);
    }
    fprintf(stream, "%s(%s", m->kind->name, text);
    for (int i = 0; i < m->count; i++) {
        if (m->entries[i].child != NULL) {
            fprintf(stream, "\n%*s(%s): ", 2 * depth + 2, "", m->entries[i].name);
            print_module(stream, m->entries[i].child, depth + 1);
            children = true;
        }
    }
    if (children) {
        fprintf(stream, "\n%*s", 2 * depth, "");
    }
    fputc(')', stream);
}

heed_status heed_module_print(FILE *stream, void *module)
{
    heed_status status = heed_module_check("module_print", module);
    if (status == HEED_OK && stream == NULL) {
        return heed_fail(HEED_ERR_NULL, "module_print: stream is NULL");
    }
    if (status == HEED_OK) {
        print_module(stream, module, 0);
        fputc('\n', stream);
    }
    return status;
}
