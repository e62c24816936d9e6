/* Modules: creation and freeing, lists of tensors, tied weights, training mode, casts, printing. A
 * module has a list of entries: its own parameters and buffers, which it retains, and its children.
 */

#include "nn.h"

#include <stdarg.h>
#include <string.h>

/* ---- checks ---- */

heed_status heed_check_not_null(const char *function, const char *argument, const void *value)
{
    return value != NULL ? heed_error_pending()
                         : heed_fail(HEED_ERR_NULL, "%s: %s is NULL", function, argument);
}

heed_status heed_check_positive(const char *function, const char *argument, int64_t size)
{
    return size >= 1 ? heed_error_pending()
                     : heed_fail(HEED_ERR_VALUE, "%s: %s is %lld; it must be 1 or more", function,
                                 argument, (long long)size);
}

heed_status heed_module_check(const char *function, const void *module)
{
    const heed_module *m = module;
    const heed_status status = heed_check_not_null(function, "the module", m);
    if (status != HEED_OK || (m->alive == HEED_ALIVE && !m->is_incomplete)) {
        return status;
    }
    return m->alive != HEED_ALIVE
               ? heed_fail(HEED_ERR_VALUE, "%s: the module has already been freed", function)
               : heed_fail(HEED_ERR_VALUE,
                           "%s: this %s is incomplete: registering an entry of it failed", function,
                           m->kind->name);
}

void heed_forward_check(const char *function, const void *module)
{
    heed_module_check(function, module);
    heed_check_scope(function);
}

/* ---- creation ---- */

void *heed_module_new(const heed_module_kind *kind)
{
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
        module->is_incomplete = heed_error_pending() != HEED_OK;
    }
    return module;
}

void *heed_module_with(const heed_module_kind *kind, const void *fields)
{
    heed_module *module = heed_module_new(kind);
    if (module != NULL) {
        memcpy(module + 1, (const heed_module *)fields + 1, kind->size - sizeof *module);
    }
    return module;
}

void *heed_module_ready(void *module)
{
    if (heed_error_pending()) {
        heed_module_free(module);
        return NULL;
    }
    return module;
}

heed_scope heed_value_scope(heed_scope *scope)
{
    const heed_scope none = {0};
    return heed_error_pending() ? none : heed_scope_opened(scope, true);
}

static heed_module_entry *find_entry(const heed_module *m, const char *name)
{
    for (int i = 0; i < m->count; i++) {
        if (strcmp(m->entries[i].name, name) == 0) {
            return &m->entries[i];
        }
    }
    return NULL;
}

/* True if the names of all entries are 0, 1, ... and this is the next: then no entry has it. */
static bool is_next_number(const heed_module *m, const char *name)
{
    char number[16];
    snprintf(number, sizeof number, "%d", m->count);
    return (m->count == 0 || m->is_numbered) && strcmp(name, number) == 0;
}

/* The module after m in the tree of `root`: parents come before children. NULL: m was the last. */
static heed_module *next_module(const heed_module *root, heed_module *m)
{
    for (int i = 0;; i = m->index + 1, m = m->owner) {
        for (; i < m->count; i++) {
            if (m->entries[i].child != NULL) {
                return m->entries[i].child;
            }
        }
        if (m == root) {
            return NULL;
        }
    }
}

/* Frees the lists of m and of the modules that contain it, whose lists include m's tensors. */
static void free_lists(heed_module *m)
{
    for (; m != NULL; m = m->owner) {
        for (int i = 0; i < 2; i++) {
            heed_named_delete(m->lists[i]);
            m->lists[i] = NULL;
        }
    }
}

/* Appends an entry for a tensor or module. NULL on error, also a pending one: the module and those
 * that contain it are then incomplete. */
static heed_module_entry *append(heed_module *m, const char *name, const void *value)
{
    if (m == NULL || name == NULL || *name == '\0') {
        heed_fail(HEED_ERR_NULL, "module: an entry needs a module and a name");
    } else if (heed_module_check("module", m) == HEED_OK && value == NULL) {
        heed_fail(HEED_ERR_NULL, "%s: '%s' is NULL", m->kind->name, name);
    } else if (!heed_error_pending() && !is_next_number(m, name) &&
               (strchr(name, '.') != NULL || find_entry(m, name) != NULL)) {
        heed_fail(HEED_ERR_VALUE, "%s: the name '%s' is taken, or contains a '.'", m->kind->name,
                  name);
    }
    char *copy = heed_error_pending() ? NULL : heed_alloc(strlen(name) + 1);
    heed_module_entry *entries =
        copy == NULL ? NULL : heed_grow(m->entries, m->count, &m->capacity, sizeof *entries);
    if (entries == NULL) {
        heed_free(copy);
        for (; m != NULL && m->alive == HEED_ALIVE; m = m->owner) {
            m->is_incomplete = true;
        }
        return NULL;
    }
    m->entries = entries;
    m->is_numbered = is_next_number(m, name);
    entries[m->count] = (heed_module_entry){.name = strcpy(copy, name)};
    free_lists(m);
    return &entries[m->count++];
}

heed_status heed_add_tensor(void *module, const char *name, heed_tensor **field, heed_tensor *value,
                            bool is_buffer)
{
    if (value != NULL && value->op != NULL) {
        heed_fail(HEED_ERR_GRAPH, "'%s' has a graph; heed_detach it first", name);
    } else if (value != NULL && !is_buffer) {
        heed_set_requires_grad(value, true);
    }
    heed_module_entry *entry = append(module, name, value);
    if (entry != NULL) {
        entry->tensor = heed_retain(value);
        entry->is_buffer = is_buffer;
    }
    if (field != NULL) {
        *field = entry != NULL ? value : NULL;
    }
    return heed_error_pending();
}

heed_status heed_add_child(void *module, const char *name, void *field, void *child)
{
    heed_module *m = child, *outer = module;
    const char *shown = name != NULL ? name : "";
    while (outer != NULL && outer != m) {
        outer = outer->owner;
    }
    if (m != NULL && m->alive != HEED_ALIVE) {
        heed_fail(HEED_ERR_VALUE, "module: the child '%s' has already been freed", shown);
    } else if (m != NULL && (m->owner != NULL || outer != NULL)) {
        heed_fail(HEED_ERR_VALUE, "%s '%s': it already has an owner, or contains this module",
                  m->kind->name, shown);
    } else if (m != NULL) {
        heed_module_check("module", m);
    }
    heed_module_entry *entry = append(module, name, m);
    if (entry != NULL) {
        entry->child = m;
        m->owner = module;
        m->index = m->owner->count - 1;
        m->place = (heed_place){&m->owner->place, entry->name};
    } else if (outer == NULL) {
        heed_module_free(m); /* unless it has an owner */
    }
    if (field != NULL) { /* points to a pointer to a module of some type */
        memcpy(field, entry != NULL ? &m : &(heed_module *){NULL}, sizeof m);
    }
    return heed_error_pending();
}

/* ---- tensors by name ---- */

void heed_named_add(heed_named_tensors *named, heed_tensor *tensor, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t size = (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
    va_end(arguments);
    int64_t of_tensors = named->capacity;
    named->tensors = heed_grow(named->tensors, named->count, &of_tensors, sizeof *named->tensors);
    named->names = heed_grow(named->names, named->count, &named->capacity, sizeof *named->names);
    char *name = heed_alloc(size);
    va_start(arguments, format);
    vsnprintf(name, size, format, arguments);
    va_end(arguments);
    named->tensors[named->count] = tensor;
    named->names[named->count++] = name;
}

void heed_named_free(heed_named_tensors *named)
{
    for (int i = 0; i < named->count; i++) {
        heed_free((char *)named->names[i]);
    }
    heed_free(named->tensors);
    heed_free(named->names);
    *named = (heed_named_tensors){0};
}

void heed_named_delete(heed_named_tensors *named)
{
    if (named != NULL) {
        heed_named_free(named);
        heed_free(named);
    }
}

bool heed_is_listed(heed_tensor *const *tensors, int count, const heed_tensor *tensor)
{
    for (int i = 0; i < count; i++) {
        if (tensors[i] == tensor) {
            return true;
        }
    }
    return false;
}

typedef enum list_kind { PARAMETERS, STATE } list_kind;

/* "heads.0." of a module in the tree of `root` */
static const char *prefix_of(const heed_module *root, const heed_module *m)
{
    size_t at = 0;
    for (const heed_module *outer = m; outer != root; outer = outer->owner) {
        at += strlen(outer->place.name) + 1;
    }
    char *prefix = heed_scratch(at + 1);
    prefix[at] = '\0';
    for (; m != root; m = m->owner) { /* written from the end */
        const size_t length = strlen(m->place.name);
        prefix[--at] = '.';
        at -= length;
        memcpy(prefix + at, m->place.name, length);
    }
    return prefix;
}

/* The module's own parameters and its buffers. A state dict has a tensor under each of its names;
 * the other list has no buffers, and each parameter once: those that it has are marked. */
static void list_module(heed_named_tensors *named, const heed_module *m, const char *prefix,
                        list_kind kind)
{
    for (int buffers = 0; buffers < (kind == STATE ? 2 : 1); buffers++) {
        for (int i = 0; i < m->count; i++) {
            heed_tensor *t = m->entries[i].tensor;
            if (t != NULL && m->entries[i].is_buffer == buffers &&
                (kind == STATE || t->consumers == 0)) {
                heed_named_add(named, t, "%s%s", prefix, m->entries[i].name);
                t->consumers += kind == PARAMETERS;
            }
        }
    }
}

typedef struct listing {
    heed_module *module;
    list_kind kind;
    heed_named_tensors *list;
} listing;

static void make_list(void *context)
{
    listing *l = context;
    l->list = heed_alloc_zeroed(sizeof *l->list);
    for (heed_module *m = l->module; m != NULL; m = next_module(l->module, m)) {
        list_module(l->list, m, prefix_of(l->module, m), l->kind);
    }
}

/* Lists are built once, and kept. */
static heed_tensor_list list_of(const char *function, heed_module *m, list_kind kind)
{
    static const heed_tensor_list none;
    if (heed_module_check(function, m) != HEED_OK) {
        return none;
    }
    if (m->lists[kind] == NULL) {
        listing l = {.module = m, .kind = kind};
        heed_try(make_list, &l);
        for (int i = 0; l.list != NULL && i < l.list->count && kind == PARAMETERS; i++) {
            l.list->tensors[i]->consumers = 0; /* the marks */
        }
        if (heed_blocked()) {
            heed_named_delete(l.list);
            heed_pass_on();
            return none;
        }
        m->lists[kind] = l.list;
    }
    const heed_named_tensors *list = m->lists[kind];
    return (heed_tensor_list){list->count, list->tensors, list->names};
}

heed_tensor_list heed_parameters(void *module)
{
    return list_of("parameters", module, PARAMETERS);
}

heed_tensor_list heed_state_dict(void *module)
{
    return list_of("state_dict", module, STATE);
}

heed_tensor *heed_state(void *module, const char *name)
{
    heed_tensor_list list = heed_state_dict(module);
    if (heed_check_not_null("state", "name", name) != HEED_OK) {
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

heed_status heed_set_parameter(void *module, const char *name, heed_tensor **field,
                               heed_tensor *value)
{
    heed_module *m = module;
    HEED_DOOR(heed_self.error);
    heed_module_check("set_parameter", m);
    heed_check_not_null("set_parameter", "name", name);
    heed_check_not_null("set_parameter", "value", value);
    heed_module_entry *entry = find_entry(m, name);
    if (entry == NULL || entry->tensor == NULL || entry->is_buffer) {
        heed_raise(HEED_ERR_VALUE,
                   "set_parameter: this %s has no parameter '%s'; children are not searched",
                   m->kind->name, name);
    }
    const heed_tensor *old = entry->tensor;
    if (!heed_same_shape(value, old) || value->dtype != old->dtype) {
        heed_raise(heed_same_shape(value, old) ? HEED_ERR_DTYPE : HEED_ERR_SHAPE,
                   "set_parameter: value is %s %s, but the parameter is %s %s",
                   heed_dtype_name(value->dtype), HEED_TEXT(value), heed_dtype_name(old->dtype),
                   HEED_TEXT(old));
    }
    heed_set_requires_grad(value, true);
    heed_retain(value);
    heed_release(entry->tensor);
    entry->tensor = value;
    free_lists(m);
    if (field != NULL) {
        *field = value;
    }
    return HEED_OK;
}

/* ---- gradients and training mode ---- */

heed_status heed_zero_grad(void *module)
{
    const heed_tensor_list list = list_of("zero_grad", module, PARAMETERS);
    for (int i = 0; i < list.count; i++) {
        heed_clear_grad(list.tensors[i]);
    }
    return heed_error_pending();
}

static heed_status set_training(const char *function, heed_module *m, bool training)
{
    heed_module *each = heed_module_check(function, m) == HEED_OK ? m : NULL;
    for (; each != NULL; each = next_module(m, each)) {
        each->training = training;
    }
    return heed_error_pending();
}

heed_status heed_train(void *module)
{
    return set_training("train", module, true);
}

heed_status heed_eval(void *module)
{
    return set_training("eval", module, false);
}

/* ---- freeing ---- */

static void begin_freeing(heed_module *m)
{
    if (m->kind->destroy != NULL) {
        m->kind->destroy(m);
    }
    free_lists(m);
}

/* A loop, so that no tree is too deep. */
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
    begin_freeing(m);
    while (m != NULL) {
        heed_module_entry *last = m->count > 0 ? &m->entries[m->count - 1] : NULL;
        heed_module *child = last != NULL ? last->child : NULL, *freed = m;
        if (child != NULL) { /* its entry stays until it has been freed */
            last->child = NULL;
            begin_freeing(child);
            m = child;
        } else if (last != NULL) {
            heed_release(last->tensor);
            heed_free(last->name);
            m->count--;
        } else {
            m = m->owner;
            heed_free(freed->entries);
            freed->alive = 0;
            heed_free(freed);
        }
    }
    return heed_error_pending();
}

/* ---- forward ---- */

heed_tensor *heed_forward(void *module, heed_tensor *x)
{
    heed_module *m = module;
    heed_forward_check("forward", m);
    if (!heed_blocked() && m->kind->forward == NULL) {
        heed_fail(HEED_ERR_VALUE,
                  "forward: a %s has no forward that takes one tensor; call its own forward "
                  "function, or set .forward in its kind",
                  m->kind->name);
    }
    HEED_FORWARD(m);
    return heed_blocked() ? NULL : m->kind->forward(m, x);
}

/* Casts in place, so that references to the tensors stay valid. */
heed_status heed_module_to(void *module, heed_dtype dtype)
{
    const heed_tensor_list list = list_of("module_to", module, STATE);
    if (!heed_is_float(dtype)) {
        heed_fail(HEED_ERR_DTYPE, "module_to: parameters are f32 or f64, not %s",
                  heed_dtype_name(dtype));
    }
    for (int i = 0; i < list.count && !heed_error_pending(); i++) {
        HEED_SCOPE_NO_GRAD(scope);
        heed_tensor *t = list.tensors[i];
        if (heed_is_float(t->dtype) && t->dtype != dtype) {
            heed_tensor *cast = heed_to(t, dtype);
            if (cast != NULL) {
                heed_share_storage(t, cast);
            }
        }
    }
    return heed_error_pending();
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
    if (heed_module_check("module_print", module) == HEED_OK &&
        heed_check_not_null("module_print", "stream", stream) == HEED_OK) {
        print_module(stream, module, 0);
        fputc('\n', stream);
    }
    return heed_error_pending();
}
