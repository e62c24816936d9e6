/* The header of a safetensors file: what it says of each tensor, checked (internal to nn).
 */
#ifndef HEED_NN_SAFETENSORS_HEADER_H
#define HEED_NN_SAFETENSORS_HEADER_H

#include "input.h"
#include "safetensors.h"

enum { HEED_MOST_HEADER = 100000000 }; /* bytes, as the format has it */

typedef struct heed_file_tensor {
    const char *name;
    const heed_file_dtype *dtype;
    int64_t begin, end; /* in the data of the file */
    int64_t numel;
    heed_shape shape; /* its ndim may be more than HEED_MAX_DIMS; then the sizes are cut */
} heed_file_tensor;

typedef struct heed_file_header {
    char *text; /* the names and the metadata lie in it */
    size_t size;
    heed_file_tensor *tensors; /* `count`, sorted by name */
    int count, room;
    heed_metadata *metadata; /* `pairs`, sorted, and then {NULL, NULL} */
    int pairs, pair_room;
} heed_file_header;

/* heed_file_header_read: reads header->text, which holds `size` bytes and a '\0', and checks it
 * against `data`, the bytes of the file behind it. On an error, which names function and path, the
 * caller frees the header all the same. */
heed_status heed_file_header_read(heed_file_header *header, const char *function, const char *path,
                                  int64_t data);
void heed_file_header_free(heed_file_header *header);

/* heed_file_tensor_find: the one of that name, or NULL. */
const heed_file_tensor *heed_file_tensor_find(const heed_file_header *header, const char *name);

/* ---- what the files of this folder share ---- */

struct heed_safetensors {
    heed_input in;
    char *path;
    int64_t data; /* where it begins */
    heed_file_header header;
};

/* heed_file_open, heed_file_read, heed_file_save: as heed_safetensors_open, heed_safetensors_tensor
 * and heed_save_file, for the function that errors shall name. */
heed_safetensors *heed_file_open(const char *function, const char *path);
heed_tensor *heed_file_read(const char *function, const heed_safetensors *file,
                            const heed_file_tensor *tensor);
heed_status heed_file_save(const char *function, const char *path, heed_tensor_list tensors,
                           const heed_metadata *metadata);

#endif
