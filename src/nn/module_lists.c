/* The tensors of a module by name: heed_parameters, heed_state_dict, heed_state; and the tree as
 * text. */
#include <pthread.h>
#include <string.h>

#include "../tensor/alloc.h"
#include "module_entries.h"

enum { PARAMETERS, STATE, DECAY, NO_DECAY };

/* A list that a module keeps: one block for the pointers, one for the names. */
typedef struct heed_module_names {
    heed_tensor_list list;
    int64_t changes; /* of the whole tree, when the list was made */
    int room;
    size_t text_size;
    heed_tensor **tensors;
    const char **names;
    char *text;
} heed_module_names;

/* The way from the root to a module, innermost first. */
typedef struct path {
    const struct path *outer;
    const char *name;
} path;

static size_t path_length(const path *p)
{
    return p == NULL ? 0 : path_length(p->outer) + strlen(p->name) + 1;
}

/* Writes "outer.name." and returns where to go on. */
static char *write_path(const path *p, char *to)
{
    if (p == NULL) {
        return to;
    }
    to = write_path(p->outer, to);
    size_t length = strlen(p->name);
    memcpy(to, p->name, length);
    to[length] = '.';
    return to + length + 1;
}

static int64_t changes_of(const heed_module *m)
{
    int64_t changes = m->changes;
    for (int i = 0; i < m->count; i++) {
        changes += m->entries[i].kind == HEED_CHILD ? changes_of(m->entries[i].child) : 0;
    }
    return changes;
}

static bool is_listed(const heed_module_names *names, const heed_tensor *tensor)
{
    for (int i = 0; i < names->list.count; i++) {
        if (names->tensors[i] == tensor) {
            return true;
        }
    }
    return false;
}

/* Is this entry one for that list? */
static bool belongs(const heed_module_entry *entry, heed_entry_kind kind, int which)
{
    return entry->kind == kind && (which != DECAY || entry->tensor->ndim >= 2) &&
           (which != NO_DECAY || entry->tensor->ndim < 2);
}

/* Counts the entries of one kind and the room for their names or, once there is room, lists them. */
static void list_entries(heed_module_names *names, const heed_module *m, const path *at,
                         heed_entry_kind kind, int which)
{
    const bool once = which != STATE;
    for (int i = 0; i < m->count; i++) {
        const heed_module_entry *entry = &m->entries[i];
        if (!belongs(entry, kind, which) || (once && is_listed(names, entry->tensor))) {
            continue;
        }
        if (names->text == NULL) {
            names->room++;
            names->text_size += path_length(at) + strlen(entry->name) + 1;
            continue;
        }
        char *to = names->text + names->text_size;
        strcpy(write_path(at, to), entry->name);
        names->text_size += strlen(to) + 1;
        names->tensors[names->list.count] = entry->tensor;
        names->names[names->list.count++] = to;
    }
}

static void list_module(heed_module_names *names, const heed_module *m, const path *at, int which)
{
    list_entries(names, m, at, HEED_PARAMETER, which);
    if (which == STATE) {
        list_entries(names, m, at, HEED_BUFFER, which);
    }
    for (int i = 0; i < m->count; i++) {
        if (m->entries[i].kind == HEED_CHILD) {
            const path inner = {at, m->entries[i].name};
            list_module(names, m->entries[i].child, &inner, which);
        }
    }
}

static void free_names(heed_module_names *names)
{
    if (names != NULL) {
        const size_t room = (size_t)names->room;
        heed_free(names->tensors, room * (sizeof *names->tensors + sizeof *names->names));
        heed_free(names->text, names->text_size);
        heed_free(names, sizeof *names);
    }
}

void heed_forget_lists(heed_module *m)
{
    for (int i = 0; i < HEED_MODULE_LISTS; i++) {
        free_names(m->lists[i]);
    }
}

static heed_module_names *make_names(const heed_module *m, int which, int64_t changes)
{
    heed_module_names *names = heed_alloc_zeroed(sizeof *names);
    if (names == NULL) {
        return NULL;
    }
    names->changes = changes;
    list_module(names, m, NULL, which);
    const size_t text_size = names->text_size;
    char *text = heed_alloc(text_size);
    names->tensors =
        heed_alloc((size_t)names->room * (sizeof *names->tensors + sizeof *names->names));
    names->text = text;
    if (text == NULL || names->tensors == NULL) {
        free_names(names);
        return NULL;
    }
    names->names = (const char **)(names->tensors + names->room);
    names->text_size = 0;
    list_module(names, m, NULL, which);
    names->text_size = text_size; /* of the block: names listed twice were left out */
    names->list.tensors = names->tensors;
    names->list.names = names->names;
    return names;
}

static heed_tensor_list list_of(const char *function, heed_module *m, int which)
{
    const heed_tensor_list none = {0, NULL, NULL};
    if (heed_module_check(function, m) != HEED_OK) {
        return none;
    }
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* several threads may use a model */
    pthread_mutex_lock(&lock);
    int64_t changes = changes_of(m);
    heed_module_names *names = m->lists[which];
    if (names == NULL || names->changes != changes) {
        names = make_names(m, which, changes);
        if (names != NULL) {
            free_names(m->lists[which]);
            m->lists[which] = names;
        }
    }
    pthread_mutex_unlock(&lock);
    return names != NULL ? names->list : none;
}

heed_tensor_list heed_parameters(void *module)
{
    return list_of("parameters", module, PARAMETERS);
}

heed_tensor_list heed_decay_parameters(void *module)
{
    return list_of("decay_parameters", module, DECAY);
}

heed_tensor_list heed_no_decay_parameters(void *module)
{
    return list_of("no_decay_parameters", module, NO_DECAY);
}

heed_tensor_list heed_state_dict(void *module)
{
    return list_of("state_dict", module, STATE);
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
        if (m->entries[i].kind == HEED_CHILD) {
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

/* ---- a list of modules ---- */

static const heed_module_kind list_kind = {.name = "ModuleList",
                                           .size = sizeof(struct heed_module_list)};

struct heed_module_list *heed_module_list_new(void)
{
    return heed_module_ready(heed_module_new(&list_kind));
}

heed_status heed_module_list_append(struct heed_module_list *list, void *child)
{
    char name[16];
    snprintf(name, sizeof name, "%d", list != NULL ? list->module.count : 0);
    return heed_add_child(list, name, NULL, child);
}

int heed_module_list_count(const struct heed_module_list *list)
{
    return heed_module_check("module_list_count", list) == HEED_OK ? list->module.count : 0;
}

void *heed_module_list_at(const struct heed_module_list *list, int i)
{
    if (heed_module_check("module_list_at", list) != HEED_OK) {
        return NULL;
    }
    if (i < 0 || i >= list->module.count) {
        heed_fail(HEED_ERR_INDEX, "module_list_at: %d is outside a list of %d", i,
                  list->module.count);
        return NULL;
    }
    return list->module.entries[i].child;
}
