/* Whole training runs in files: the lists of module, optimiser and generator, one after the other. */
#include <stdio.h>
#include <string.h>

#include "../../tensor/alloc.h"
#include "../../tensor/create.h"
#include "../../tensor/random/random.h"
#include "../optim/optim_state.h"
#include "checkpoint.h"
#include "file_error.h"
#include "fit.h"

static const char loading[] = "load_checkpoint", saving[] = "save_checkpoint";
static const char prefix[] = "optimizer.", generator_name[] = "rng_state";

/* What belongs to a run: first the module's tensors, then the optimiser's, then the generator's. */
typedef struct run {
    heed_module *module;
    heed_optimizer *optimizer; /* or NULL */
    heed_optimizer_names *names;
    int module_count, count;
    heed_tensor **tensors;
    const char **text;
    size_t size; /* of both arrays */
} run;

static void append(run *r, heed_tensor_list list)
{
    for (int i = 0; i < list.count; i++) {
        r->tensors[r->count] = list.tensors[i];
        r->text[r->count++] = list.names[i];
    }
}

/* In an open scope. */
static heed_status list_run(run *r, bool with_generator)
{
    const heed_tensor_list none = {0, NULL, NULL}, state = heed_state_dict(r->module);
    heed_tensor *generator = with_generator ? heed_get_rng_state() : NULL;
    r->names = r->optimizer != NULL ? heed_optimizer_list(r->optimizer, prefix) : NULL;
    const heed_tensor_list list = r->names != NULL ? r->names->list : none;
    const int room = state.count + list.count + 1;
    r->size = (size_t)room * sizeof(void *);
    r->tensors = heed_alloc(r->size);
    r->text = heed_alloc(r->size);
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    append(r, state);
    append(r, list);
    if (generator != NULL) {
        append(r, (heed_tensor_list){1, &generator, (const char *const[]){generator_name}});
    }
    r->module_count = state.count;
    return HEED_OK;
}

static void free_run(run *r)
{
    heed_optimizer_names_free(r->names);
    heed_free(r->tensors, r->size);
    heed_free(r->text, r->size);
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
        heed_file_save(saving, path, (heed_tensor_list){r.count, r.tensors, r.text}, about);
    }
    heed_scope_end(&scope);
    free_run(&r);
    return heed_error_pending();
}

/* ---- loading ---- */

bool heed_is_of_training(const char *name)
{
    return strncmp(name, prefix, strlen(prefix)) == 0 || strcmp(name, generator_name) == 0;
}

/* The generator and the optimiser find what cannot be before they change; the model's tensors fit. */
static void take(const run *r, heed_tensor *const *values)
{
    const heed_generator before = heed_get_generator();
    if (r->optimizer != NULL &&
        (heed_set_rng_state(values[r->count - 1]) != HEED_OK ||
         heed_optimizer_take(loading, r->optimizer, values + r->module_count) != HEED_OK)) {
        heed_set_generator(&before);
        return;
    }
    for (int i = 0; i < r->module_count; i++) {
        if (values[i] != NULL) { /* else it is there under another name */
            heed_copy_into(r->tensors[i], values[i]);
        }
    }
}

static void load_run(const run *r, const heed_safetensors *file)
{
    char here[200];
    const heed_text path = heed_show_path(file->path);
    snprintf(here, sizeof here, "%s%s%s", r->module->kind->name,
             r->optimizer != NULL ? " and its " : "",
             r->optimizer != NULL ? r->optimizer->name : "");
    const heed_fit fit = {.function = loading,
                          .there = path.text,
                          .here = here,
                          .passes_over = r->optimizer != NULL ? NULL : heed_is_of_training};
    const size_t size = (size_t)r->count * sizeof(heed_tensor *);
    heed_tensor **values = heed_alloc(size);
    if (values != NULL &&
        heed_fit_file(&fit, file, (heed_tensor_list){r->count, r->tensors, r->text}, values) ==
            HEED_OK) {
        take(r, values);
    }
    heed_free(values, size);
}

heed_status heed_load_checkpoint(void *module, heed_optimizer *optimizer, const char *path)
{
    if (heed_module_check(loading, module) != HEED_OK) {
        return heed_error_pending();
    }
    run r = {.module = module, .optimizer = optimizer};
    heed_safetensors *file = heed_file_open(loading, path);
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    if (file != NULL && list_run(&r, optimizer != NULL) == HEED_OK) {
        load_run(&r, file);
    }
    heed_scope_end(&scope);
    free_run(&r);
    heed_safetensors_close(file);
    return heed_error_pending();
}
