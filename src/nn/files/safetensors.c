/* The public functions for safetensors files; safetensors_format.c reads and writes them. */

#include "safetensors.h"

#include <string.h>

#include "../../tensor/check.h"
#include "../arguments.h"
#include "file_error.h"
#include "safetensors_format.h"

/* ---- writing ---- */

heed_status heed_save_file(heed_tensor_list tensors, const char *path,
                           const heed_metadata *metadata)
{
    return heed_file_save("save_file", path, tensors, metadata);
}

/* ---- reading ---- */

heed_safetensors *heed_safetensors_open(const char *path)
{
    return heed_file_open("safetensors_open", path);
}

void heed_safetensors_close(heed_safetensors *file)
{
    heed_file_close(file);
}

static heed_status check_file(const char *function, const heed_safetensors *file)
{
    return heed_check_not_null(function, "the file", file);
}

int heed_safetensors_count(const heed_safetensors *file)
{
    return check_file("safetensors_count", file) == HEED_OK ? file->header.count : 0;
}

const char *heed_safetensors_name(const heed_safetensors *file, int i)
{
    if (check_file("safetensors_name", file) != HEED_OK) {
        return NULL;
    }
    if (i < 0 || i >= file->header.count) {
        heed_fail(HEED_ERR_INDEX,
                  "safetensors_name: index %d is out of range for the %d tensors of %s", i,
                  file->header.count, heed_show_path(file->path).text);
        return NULL;
    }
    return file->header.tensors[i].name;
}

const char *heed_safetensors_metadata(const heed_safetensors *file, const char *key)
{
    static const char function[] = "safetensors_metadata";
    if (check_file(function, file) != HEED_OK ||
        heed_check_not_null(function, "the key", key) != HEED_OK) {
        return NULL;
    }
    for (int i = 0; i < file->header.pairs; i++) {
        if (strcmp(file->header.metadata[i].key, key) == 0) {
            return file->header.metadata[i].value;
        }
    }
    return NULL;
}

const heed_metadata *heed_safetensors_all_metadata(const heed_safetensors *file)
{
    static const heed_metadata none = {NULL, NULL};
    if (check_file("safetensors_all_metadata", file) != HEED_OK) {
        return NULL;
    }
    return file->header.metadata != NULL ? file->header.metadata : &none;
}

heed_tensor *heed_safetensors_tensor(const heed_safetensors *file, const char *name)
{
    static const char function[] = "safetensors_tensor";
    if (check_file(function, file) != HEED_OK || heed_check_scope(function) != HEED_OK ||
        heed_check_not_null(function, "the name", name) != HEED_OK) {
        return NULL;
    }
    const heed_file_tensor *tensor = heed_file_tensor_find(&file->header, name);
    if (tensor == NULL) {
        const bool any = file->header.count > 0;
        heed_fail_at(HEED_ERR_VALUE, function, file->path, "no tensor '%s'%s%s%s",
                     heed_show_name(name).text, any ? "; the first is '" : "",
                     any ? heed_show_name(file->header.tensors[0].name).text : "", any ? "'" : "");
        return NULL;
    }
    return heed_file_read(function, file, tensor);
}
