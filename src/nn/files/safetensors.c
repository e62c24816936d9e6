/* Reading safetensors files. The header is safetensors_header.c's, writing is safetensors_save.c's.
 * The file stays open, and each tensor is read when it is asked for. */
#include "safetensors.h"

#include <string.h>

#include "../../tensor/alloc.h"
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "file_error.h"
#include "safetensors_header.h"

enum { LENGTH = 8 }; /* bytes that say how long the header is */

/* ---- opening ---- */

static heed_status read_header(const char *function, heed_safetensors *file)
{
    heed_file_header *header = &file->header;
    const char *path = file->path;
    const int64_t size = file->in.size;
    unsigned char bytes[LENGTH];
    uint64_t length = 0;
    if (size < LENGTH) {
        return heed_fail(HEED_ERR_FORMAT, "%s: %s: %lld bytes are too short for a safetensors file",
                         function, heed_show_path(path).text, (long long)size);
    }
    if (heed_input_read(&file->in, function, bytes, LENGTH, 0) != HEED_OK) {
        return heed_error_pending();
    }
    memcpy(&length, bytes, LENGTH);
    if (length > HEED_MOST_HEADER || (int64_t)length > size - LENGTH) {
        return heed_fail(HEED_ERR_FORMAT,
                         "%s: %s: its header would have %llu bytes, more than %s; is it a "
                         "safetensors file?",
                         function, heed_show_path(path).text, (unsigned long long)length,
                         length > HEED_MOST_HEADER ? "the 100 MB that are allowed" : "the file");
    }
    header->text = heed_alloc((size_t)length + 1);
    if (header->text == NULL) {
        return heed_error_pending();
    }
    header->size = (size_t)length;
    header->text[length] = '\0';
    file->data = LENGTH + (int64_t)length;
    if (heed_input_read(&file->in, function, header->text, (int64_t)length, LENGTH) != HEED_OK) {
        return heed_error_pending();
    }
    return heed_file_header_read(header, function, path, size - file->data);
}

heed_safetensors *heed_file_open(const char *function, const char *path)
{
    if (heed_error_pending()) {
        return NULL;
    }
    if (path == NULL) {
        heed_fail(HEED_ERR_NULL, "%s: the path is NULL", function);
        return NULL;
    }
    heed_safetensors *file = heed_alloc_zeroed(sizeof *file);
    if (file == NULL) {
        return NULL;
    }
    file->in.fd = -1;
    file->path = heed_alloc(strlen(path) + 1);
    if (file->path != NULL) {
        strcpy(file->path, path);
        if (heed_input_open(&file->in, function, file->path) == HEED_OK &&
            read_header(function, file) == HEED_OK) {
            return file;
        }
    }
    heed_safetensors_close(file);
    return NULL;
}

heed_safetensors *heed_safetensors_open(const char *path)
{
    return heed_file_open("safetensors_open", path);
}

void heed_safetensors_close(heed_safetensors *file)
{
    if (file == NULL) {
        return;
    }
    heed_input_close(&file->in);
    if (file->path != NULL) {
        heed_free(file->path, strlen(file->path) + 1);
    }
    heed_file_header_free(&file->header);
    heed_free(file, sizeof *file);
}

/* ---- what is in it ---- */

static heed_status check_file(const char *function, const heed_safetensors *file)
{
    if (!heed_error_pending() && file == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: the file is NULL", function);
    }
    return heed_error_pending();
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
        heed_fail(HEED_ERR_INDEX, "safetensors_name: %d is outside the %d tensors of %s", i,
                  file->header.count, heed_show_path(file->path).text);
        return NULL;
    }
    return file->header.tensors[i].name;
}

const char *heed_safetensors_metadata(const heed_safetensors *file, const char *key)
{
    if (check_file("safetensors_metadata", file) != HEED_OK) {
        return NULL;
    }
    if (key == NULL) {
        heed_fail(HEED_ERR_NULL, "safetensors_metadata: the key is NULL");
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

/* ---- tensors ---- */

heed_tensor *heed_file_read(const char *function, const heed_safetensors *file,
                            const heed_file_tensor *tensor)
{
    const heed_file_dtype *dtype = tensor->dtype;
    if (dtype->as == HEED_DTYPES) {
        heed_fail(HEED_ERR_DTYPE, "%s: %s: '%s' is %s, for which Heed has no dtype", function,
                  heed_show_path(file->path).text, heed_show_name(tensor->name).text, dtype->name);
        return NULL;
    }
    if (tensor->shape.ndim > HEED_MAX_DIMS) {
        heed_fail(HEED_ERR_SHAPE, "%s: %s: '%s' has %d dims; a tensor has up to %d", function,
                  heed_show_path(file->path).text, heed_show_name(tensor->name).text,
                  tensor->shape.ndim, HEED_MAX_DIMS);
        return NULL;
    }
    heed_tensor *t = heed_empty(tensor->shape, dtype->as);
    if (t == NULL) {
        return NULL;
    }
    heed_input_elements(&file->in, function, t, dtype, false, file->data + tensor->begin);
    return heed_error_pending() ? NULL : t;
}

heed_tensor *heed_safetensors_tensor(const heed_safetensors *file, const char *name)
{
    static const char function[] = "safetensors_tensor";
    if (check_file(function, file) != HEED_OK || heed_check_scope(function) != HEED_OK) {
        return NULL;
    }
    if (name == NULL) {
        heed_fail(HEED_ERR_NULL, "%s: the name is NULL", function);
        return NULL;
    }
    const heed_file_tensor *tensor = heed_file_tensor_find(&file->header, name);
    if (tensor == NULL) {
        const bool any = file->header.count > 0;
        heed_fail(HEED_ERR_VALUE, "%s: %s: no tensor '%s'%s%s%s", function,
                  heed_show_path(file->path).text, heed_show_name(name).text,
                  any ? "; the first is '" : "",
                  any ? heed_show_name(file->header.tensors[0].name).text : "", any ? "'" : "");
        return NULL;
    }
    return heed_file_read(function, file, tensor);
}
