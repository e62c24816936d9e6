/* State dicts to files and back. All of a file is compared with the module, then read, and only then
 * is anything copied. */
#include "checkpoint.h"

#include "file_error.h"
#include "fit.h"

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

static void load_file(const heed_safetensors *file, heed_module *module, bool strict)
{
    const heed_text path = heed_show_path(file->path);
    const heed_fit fit = {
        .function = loading, .there = path.text, .here = module->kind->name, .not_strict = !strict};
    heed_fit_load(&fit, file, heed_state_dict(module));
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
