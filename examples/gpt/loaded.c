/* Models to be used, from files and folders. */
#include "examples/gpt/loaded.h"

#include <string.h>
#include <sys/stat.h>

/* In a folder of gpt export: metadata, and no tensors. */
static const char beside[] = "heed.safetensors";

typedef struct folder_path {
    char text[4096];
} folder_path;

static folder_path path_in(const char *folder)
{
    folder_path path;
    const int length = snprintf(path.text, sizeof path.text, "%s/%s", folder, beside);
    if (length < 0 || (size_t)length >= sizeof path.text) {
        heed_fail(HEED_ERR_VALUE, "%.80s...: the path is too long", folder);
    }
    return path;
}

bool gpt_is_folder(const char *path)
{
    struct stat at;
    return stat(path, &at) == 0 && S_ISDIR(at.st_mode);
}

/* ---- loading ---- */

static void load_folder(gpt_loaded *l, const char *flag, const char *folder)
{
    struct stat at;
    const folder_path path = path_in(folder);
    if (!heed_error_pending() && stat(path.text, &at) != 0) {
        heed_fail(HEED_ERR_VALUE,
                  "%s: %s: no %s in it, which has the tokenizer; gpt export writes it", flag,
                  folder, beside);
    }
    if (heed_error_pending() || gpt_record_read(&l->record, flag, path.text) != HEED_OK) {
        return;
    }
    l->model = heed_gpt_from_pretrained(folder);
    flags_blame(flag, HEED_ERR_VALUE);
    if (l->model != NULL && l->model->config.vocab_size != l->record.tokenizer.count) {
        heed_fail(HEED_ERR_VALUE, "%s: %s: the model has %lld tokens, and the tokenizer %lld", flag,
                  folder, (long long)l->model->config.vocab_size,
                  (long long)l->record.tokenizer.count);
    }
}

heed_status gpt_load(gpt_loaded *l, const char *flag, const char *path)
{
    *l = (gpt_loaded){.model = NULL};
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    if (path == NULL) {
        return heed_fail(HEED_ERR_VALUE, "no %s FILE: a model that gpt train has saved", flag);
    }
    if (gpt_is_folder(path)) {
        load_folder(l, flag, path);
    } else if (gpt_record_read(&l->record, flag, path) == HEED_OK) {
        l->model = gpt_model_load(&l->record, flag, path);
    }
    return heed_error_pending();
}

void gpt_loaded_free(gpt_loaded *l)
{
    heed_module_free(l->model);
    gpt_record_free(&l->record);
    *l = (gpt_loaded){.model = NULL};
}

/* ---- exporting ---- */

static heed_status save_metadata(void *context, const heed_metadata *metadata)
{
    return heed_save_file((heed_tensor_list){0, NULL, NULL}, context, metadata);
}

heed_status gpt_loaded_export(const gpt_loaded *l, const char *folder)
{
    folder_path path = path_in(folder);
    if (heed_gpt_save_pretrained(l->model, folder) == HEED_OK) {
        gpt_record_metadata(&l->record, save_metadata, path.text);
    }
    return heed_error_pending();
}
