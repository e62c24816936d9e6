/* Reads and writes safetensors files, with the caller's function name in errors (internal to nn).
 * safetensors.h describes the format.
 */
#ifndef HEED_NN_SAFETENSORS_FORMAT_H
#define HEED_NN_SAFETENSORS_FORMAT_H

#include "../tensor_list.h"
#include "file_reader.h"

typedef struct heed_file_tensor {
    const char *name;
    const heed_file_dtype *dtype;
    int64_t begin, end; /* byte offsets in the data section */
    int64_t numel;
    heed_shape shape; /* ndim may exceed HEED_MAX_DIMS; further sizes are then dropped */
} heed_file_tensor;

typedef struct heed_file_header {
    char *text; /* owns the strings of names and metadata */
    size_t size;
    heed_file_tensor *tensors; /* `count`, sorted by name */
    int count;
    heed_metadata *metadata; /* `pairs`, sorted by key, then {NULL, NULL} */
    int pairs;
    int64_t capacity, pair_capacity;
} heed_file_header;

typedef struct heed_safetensors {
    heed_file_reader in;
    char *path;
    int64_t data; /* offset of the data section */
    heed_file_header header;
} heed_safetensors;

/* heed_file_open, heed_file_close, heed_file_read, heed_file_save: as heed_safetensors_open,
 * _close, _tensor and heed_save_file. */
heed_safetensors *heed_file_open(const char *function, const char *path);
void heed_file_close(heed_safetensors *file);
heed_tensor *heed_file_read(const char *function, const heed_safetensors *file,
                            const heed_file_tensor *tensor);
heed_status heed_file_save(const char *function, const char *path, heed_tensor_list tensors,
                           const heed_metadata *metadata);

/* heed_file_tensor_find: the tensor of that name, or NULL. */
const heed_file_tensor *heed_file_tensor_find(const heed_file_header *header, const char *name);

#endif
