/* Saves and loads state dicts and training runs. Loading matches all names first, then reads the
 * whole file, and only then copies. */
#include "checkpoint.h"

#include <stdio.h>
#include <string.h>

#include "../tensor/alloc.h"
#include "../tensor/create.h"
#include "../tensor/random/random.h"
#include "../tensor/text.h"
#include "module.h"
#include "named_tensors.h"
#include "optimizer.h"
#include "safetensors_file.h"

/* ---- state dicts ---- */

heed_status heed_save_state_dict(void *module, const char *path, const heed_metadata *metadata)
{
    static const char function[] = "save_state_dict";
    return heed_module_check(function, module) == HEED_OK
               ? heed_file_save(function, path, heed_state_dict(module), metadata)
               : heed_error_pending();
}

heed_status heed_load_state_dict(void *module, const char *path)
{
    return heed_load_state_dict_with(module, path, (heed_load_options){0});
}

heed_status heed_load_state_dict_with(void *module, const char *path, heed_load_options options)
{
    static const char function[] = "load_state_dict";
    heed_module *m = module;
    if (heed_module_check(function, m) != HEED_OK) {
        return heed_error_pending();
    }
    heed_safetensors *file = heed_file_open(function, path);
    if (file != NULL) {
        const heed_text there = heed_show_path(file->path);
        const heed_match match = {.function = function,
                                  .there = there.text,
                                  .here = m->kind->name,
                                  .no_strict = options.no_strict};
        const heed_offers offers = heed_file_offers(file);
        heed_match_load(&match, &offers, heed_state_dict(m));
    }
    heed_safetensors_close(file);
    return heed_error_pending();
}

/* ---- training runs ---- */

static const char saving[] = "save_checkpoint", loading[] = "load_checkpoint";
static const char of_optimizer[] = "optimizer.", of_generator[] = "rng_state";

/* This name is not of the model, but of the optimiser or the generator. */
static bool is_of_training(const char *name)
{
    return strncmp(name, of_optimizer, sizeof of_optimizer - 1) == 0 ||
           strcmp(name, of_generator) == 0;
}

/* The tensors of a run: the model's, then the optimiser's, then the generator's state. */
typedef struct run {
    heed_module *module;
    heed_optimizer *optimizer; /* or NULL */
    heed_named_tensors tensors;
    int module_count; /* number of the model's tensors */
} run;

/* Needs an open scope. */
static heed_status list_run(run *r, bool with_generator)
{
    heed_named_append(&r->tensors, heed_state_dict(r->module));
    r->module_count = r->tensors.list.count;
    if (r->optimizer != NULL) {
        r->tensors.prefix = of_optimizer;
        heed_optimizer_list(r->optimizer, &r->tensors);
        r->tensors.prefix = NULL;
    }
    return with_generator ? heed_named_add(&r->tensors, heed_get_rng_state(), "%s", of_generator)
                          : heed_error_pending();
}

heed_status heed_save_checkpoint(void *module, heed_optimizer *optimizer, const char *path,
                                 const heed_metadata *about)
{
    if (heed_module_check(saving, module) != HEED_OK) {
        return heed_error_pending();
    }
    run r = {.module = module, .optimizer = optimizer};
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    if (list_run(&r, true) == HEED_OK) {
        heed_file_save(saving, path, r.tensors.list, about);
    }
    heed_scope_end(&scope);
    heed_named_free(&r.tensors);
    return heed_error_pending();
}

/* All or nothing: the generator and the optimiser validate before they change, and the model's
 * tensors have already been matched. */
static void take(const run *r, heed_tensor *const *values)
{
    const heed_generator before = heed_get_generator();
    if (r->optimizer != NULL &&
        (heed_set_rng_state(values[r->tensors.list.count - 1]) != HEED_OK ||
         heed_optimizer_take(loading, r->optimizer, values + r->module_count) != HEED_OK)) {
        heed_set_generator(&before);
        return;
    }
    for (int i = 0; i < r->module_count; i++) {
        if (values[i] != NULL) { /* else the file has it under another name */
            heed_copy_into(r->tensors.tensors[i], values[i]);
        }
    }
}

heed_status heed_load_checkpoint(void *module, heed_optimizer *optimizer, const char *path)
{
    if (heed_module_check(loading, module) != HEED_OK) {
        return heed_error_pending();
    }
    run r = {.module = module, .optimizer = optimizer};
    heed_safetensors *file = heed_file_open(loading, path);
    if (file == NULL) {
        return heed_error_pending();
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    if (list_run(&r, optimizer != NULL) == HEED_OK) {
        char here[200];
        const heed_text there = heed_show_path(file->path);
        snprintf(here, sizeof here, "%s%s%s", r.module->kind->name,
                 optimizer != NULL ? " and its " : "", optimizer != NULL ? optimizer->name : "");
        const heed_match match = {.function = loading,
                                  .there = there.text,
                                  .here = here,
                                  .passes_over = optimizer != NULL ? NULL : is_of_training};
        const heed_offers offers = heed_file_offers(file);
        const size_t size = (size_t)r.tensors.list.count * sizeof(heed_tensor *);
        heed_tensor **values = heed_alloc(size);
        if (values != NULL &&
            heed_match_offers(&match, &offers, r.tensors.list, values) == HEED_OK) {
            take(&r, values);
        }
        heed_free(values);
    }
    heed_scope_end(&scope);
    heed_named_free(&r.tensors);
    heed_safetensors_close(file);
    return heed_error_pending();
}
