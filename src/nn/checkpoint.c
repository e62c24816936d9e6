/* State dicts to files and back. All of a file is compared with the module, then read, and only then
 * is anything copied. */
#include "nn/checkpoint.h"

#include "nn/file_error.h"
#include "nn/fit.h"
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

/* ---- loading ---- */

/* Reads all, and only then changes anything. */
static void load_file(const heed_safetensors *file, heed_module *module, bool strict)
{
    const heed_tensor_list state = heed_state_dict(module);
    const heed_text path = heed_show_path(file->path);
    const heed_fit fit = {
        .function = loading, .there = path.text, .here = module->kind->name, .not_strict = !strict};
    const size_t size = (size_t)state.count * sizeof(heed_tensor *);
    heed_tensor **values = heed_alloc(size);
    if (values == NULL) {
        return;
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_fit_file(&fit, file, state, values);
    for (int i = 0; i < state.count && !heed_error_pending(); i++) {
        if (values[i] != NULL) {
            heed_copy_into(state.tensors[i], values[i]);
        }
    }
    heed_scope_end(&scope);
    heed_free(values, size);
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
