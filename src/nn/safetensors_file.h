/* An open safetensors file, for the functions that load modules and models from one (internal).
 * `function` is the public function, for error messages.
 */
#ifndef HEED_NN_SAFETENSORS_FILE_H
#define HEED_NN_SAFETENSORS_FILE_H

#include "file_io.h"
#include "match_tensors.h"

typedef struct heed_file_tensor {
    heed_offer offer; /* shape.ndim may exceed HEED_MAX_DIMS; further sizes are then dropped */
    const heed_file_dtype *dtype;
    int64_t begin, end; /* byte offsets in the data section */
    int64_t numel;
} heed_file_tensor;

typedef struct heed_safetensors {
    const char *function; /* that opened it */
    heed_file_reader in;
    char *path;
    int64_t data;              /* offset of the data section */
    char *text;                /* the header; owns the strings of names and metadata */
    heed_file_tensor *tensors; /* `count`, sorted by name */
    heed_metadata *metadata;   /* `pairs`, sorted by key, then {NULL, NULL} */
    int count, pairs;
    int64_t capacity, pair_capacity;
} heed_safetensors;

/* heed_file_open, heed_file_save: as heed_safetensors_open and heed_save_file. */
heed_safetensors *heed_file_open(const char *function, const char *path);
heed_status heed_file_save(const char *function, const char *path, heed_tensor_list tensors,
                           const heed_metadata *metadata);

/* heed_file_offers: the tensors of the file for heed_match_offers and heed_match_load. Errors in
 * reading them name the function that opened the file. */
heed_offers heed_file_offers(const heed_safetensors *file);

#endif
