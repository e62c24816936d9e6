/* State dicts to files and back. All of a file is compared with the module, then read, and only then
 * is anything copied. */
#include "nn/checkpoint.h"

#include <stdarg.h>
#include <string.h>

#include "nn/file_error.h"
#include "nn/safetensors_header.h"
#include "tensor/alloc.h"
#include "tensor/create.h"

static const char loading[] = "load_state_dict";

heed_status heed_save_state_dict(void *module, const char *path, const heed_metadata *metadata)
{
    static const char saving[] = "save_state_dict";
    if (heed_module_check(saving, module) != HEED_OK) {
        return heed_error_pending();
    }
    heed_tensor_list state = heed_state_dict(module);
    return heed_file_save(saving, path, state, metadata);
}

/* ---- what does not fit, in one sentence ---- */

typedef struct mentions {
    int count, shown;
    char text[2400]; /* some eighty names; three such texts fit into a message */
} mentions;

/* Counts one, and names it while there is room. */
HEED_PRINTF(2, 3)
static void mention(mentions *m, const char *format, ...)
{
    char item[sizeof m->text] = "";
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(item, sizeof item, format, arguments);
    va_end(arguments);
    const size_t used = strlen(m->text), room = sizeof m->text - used;
    if (m->shown == m->count && (m->count == 0 || (size_t)length + 2 < room)) {
        snprintf(m->text + used, room, "%s%.*s", used > 0 ? ", " : "", (int)room - 3, item);
        m->shown++;
    }
    m->count++;
}

/* Adds "; 3 missing: a, b and 1 more" to a text. */
static void tell(char *text, size_t size, const mentions *m, const char *what)
{
    const size_t used = strlen(text);
    char more[32] = "";
    if (m->count > m->shown) {
        snprintf(more, sizeof more, " and %d more", m->count - m->shown);
    }
    if (m->count > 0) {
        snprintf(text + used, size - used, "%s%d %s: %s%s", used > 0 ? "; " : "", m->count, what,
                 m->text, more);
    }
}

typedef struct report {
    mentions missing, unexpected, different;
} report;

static heed_status fail(const report *r, const heed_safetensors *file, const heed_module *module)
{
    char text[3 * sizeof r->missing.text + 300] = "";
    tell(text, sizeof text, &r->different, "of another shape or dtype");
    tell(text, sizeof text, &r->missing, "missing");
    tell(text, sizeof text, &r->unexpected, "unexpected");
    return heed_fail(HEED_ERR_VALUE, "%s: %s does not fit this %s: %s", loading,
                     heed_show_path(file->path).text, module->kind->name, text);
}

/* ---- comparing ---- */

static bool same_shape(const heed_tensor *here, const heed_file_tensor *there)
{
    if (here->ndim != there->ndim) {
        return false;
    }
    for (int i = 0; i < here->ndim; i++) {
        if (here->shape[i] != there->shape[i]) {
            return false;
        }
    }
    return true;
}

static void compare(report *r, const char *name, const heed_tensor *here,
                    const heed_file_tensor *there)
{
    const heed_text shown = heed_show_name(name);
    if (!same_shape(here, there)) {
        mention(&r->different, "%s is %s there, %s here", shown.text,
                heed_shape_text(there->ndim, there->shape).text,
                heed_shape_text(here->ndim, here->shape).text);
    } else if (here->dtype != there->dtype->as &&
               !(heed_is_float(here->dtype) && heed_is_float(there->dtype->as))) {
        mention(&r->different, "%s is %s there, %s here", shown.text, there->dtype->name,
                heed_dtype_name(here->dtype));
    } else if (heed_is_expanded(here)) {
        mention(&r->different, "%s is expanded here, so that its elements share memory",
                shown.text);
    }
}

/* Does a name that the file lacks belong to a tensor that it has under another one? */
static bool has_other_name(int i, heed_tensor_list state, const heed_file_header *header)
{
    for (int j = 0; j < state.count; j++) {
        if (state.tensors[j] == state.tensors[i] &&
            heed_file_tensor_find(header, state.names[j]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Finds the tensor of the file for each of the module's; NULL where there is none. */
static heed_status find_tensors(const heed_safetensors *file, const heed_module *module,
                                heed_tensor_list state, bool strict, const heed_file_tensor **found)
{
    const heed_file_header *header = &file->header;
    report r = {0};
    bool *used = heed_alloc_zeroed((size_t)header->count);
    if (used == NULL) {
        return heed_error_pending();
    }
    for (int i = 0; i < state.count; i++) {
        found[i] = heed_file_tensor_find(header, state.names[i]);
        if (found[i] != NULL) {
            used[found[i] - header->tensors] = true;
            compare(&r, state.names[i], state.tensors[i], found[i]);
        } else if (strict && !has_other_name(i, state, header)) {
            mention(&r.missing, "%s", heed_show_name(state.names[i]).text);
        }
    }
    for (int i = 0; i < header->count && strict; i++) {
        if (!used[i]) {
            mention(&r.unexpected, "%s", heed_show_name(header->tensors[i].name).text);
        }
    }
    heed_free(used, (size_t)header->count);
    const bool fits = r.missing.count + r.unexpected.count + r.different.count == 0;
    return fits ? HEED_OK : fail(&r, file, module);
}

/* ---- loading ---- */

/* Reads all, and only then changes anything. */
static void load(const heed_safetensors *file, heed_tensor_list state,
                 const heed_file_tensor *const *found, heed_tensor **values)
{
    for (int i = 0; i < state.count && !heed_error_pending(); i++) {
        values[i] = found[i] != NULL ? heed_file_read(loading, file, found[i]) : NULL;
    }
    for (int i = 0; i < state.count && !heed_error_pending(); i++) {
        if (found[i] != NULL) {
            heed_copy_into(state.tensors[i], values[i]);
        }
    }
}

static void load_file(const heed_safetensors *file, heed_module *module, bool strict)
{
    const heed_tensor_list state = heed_state_dict(module);
    const size_t count = (size_t)state.count;
    const heed_file_tensor **found = heed_alloc(count * sizeof *found);
    heed_tensor **values = heed_alloc(count * sizeof *values);
    if (found != NULL && values != NULL &&
        find_tensors(file, module, state, strict, found) == HEED_OK) {
        heed_scope scope;
        heed_scope_begin_no_grad(&scope);
        load(file, state, found, values);
        heed_scope_end(&scope);
    }
    heed_free(found, count * sizeof *found);
    heed_free(values, count * sizeof *values);
}

heed_status heed_load_state_dict(void *module, const char *path, heed_load_options options)
{
    if (heed_module_check(loading, module) != HEED_OK) {
        return heed_error_pending();
    }
    heed_safetensors *file = heed_file_open(loading, path);
    if (file != NULL) {
        load_file(file, module, !options.not_strict);
    }
    heed_safetensors_close(file);
    return heed_error_pending();
}
