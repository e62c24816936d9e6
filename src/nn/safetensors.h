/* Files of named tensors, as in safetensors.torch: PyTorch can read the files that Heed writes, and
 * vice versa.
 *
 *     8 bytes    length of the header, little-endian
 *     header     JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
 *                "__metadata__": {"text": "text", ...}}, padded with spaces to a multiple of 8
 *     data       the elements of each tensor in row-major order, without gaps
 *
 * The whole header is validated before any data is used; malformed files are rejected safely.
 * Errors name the file and, if applicable, the tensor:
 *
 * HEED_ERR_FILE: the system reports an error; the message includes its reason. HEED_ERR_FORMAT: not
 * a safetensors file, or a damaged one. HEED_ERR_NULL: no path, name, module or tensor.
 * HEED_ERR_MEMORY.
 *
 * Paths are used unchanged; names and metadata are UTF-8. nn/checkpoint.h saves and loads
 * modules.
 */
#ifndef HEED_NN_SAFETENSORS_H
#define HEED_NN_SAFETENSORS_H

#include "tensor_list.h"

HEED_BEGIN_DECLS

/* Metadata of a file: pairs of strings, terminated by {NULL, NULL}. Used for a model's options,
 * vocabulary and the like; a value may be megabytes long. (Hugging Face's transformers library
 * expects {"format", "pt"}.)
 *
 *     const heed_metadata about[] = {{"level", "char"}, {"heads", "4"}, {NULL, NULL}};
 */
typedef struct heed_metadata {
    const char *key, *value;
} heed_metadata;

/* ---- writing ---- */

/* heed_save_file: writes tensors under their names, like safetensors.torch.save_file. They may be
 * views; the dtype is f32, f64, i64 or bool. `metadata` may be NULL.
 *
 * The file at `path` is replaced atomically: the new one is written next to it (as path.tmp.PID.N),
 * synced and renamed. On any error, or if the program or the machine crashes, the old file is
 * unchanged; a temporary file left by a killed program can be deleted. The permissions of the old
 * file are kept; a symbolic link is replaced.
 *
 * HEED_ERR_VALUE: a name or key is repeated, is "__metadata__" or is not UTF-8; the header is over
 * 100 MB. HEED_ERR_SCOPE: a tensor's value has been freed. */
heed_status heed_save_file(heed_tensor_list tensors, const char *path,
                           const heed_metadata *metadata);

/* ---- reading ---- */

typedef struct heed_safetensors heed_safetensors;

/* heed_safetensors_open: reads and validates the header, like safe_open(path); tensors are read on
 * demand. Several threads may read from a file. heed_safetensors_close frees it together with the
 * names and metadata returned from it; NULL is a no-op. */
heed_safetensors *heed_safetensors_open(const char *path);
void heed_safetensors_close(heed_safetensors *file);

/* heed_safetensors_count, heed_safetensors_name: the names in the file, sorted, like keys().
 * HEED_ERR_INDEX: i is outside [0, count). */
int heed_safetensors_count(const heed_safetensors *file);
const char *heed_safetensors_name(const heed_safetensors *file, int i);

/* heed_safetensors_tensor: reads the tensor of that name, like get_tensor(name). F16 and BF16
 * become f32, I32 becomes i64.
 *
 * HEED_ERR_VALUE: no such name. HEED_ERR_DTYPE: a dtype that Heed does not support. HEED_ERR_SHAPE:
 * more than 8 dims. */
heed_tensor *heed_safetensors_tensor(const heed_safetensors *file, const char *name);

/* heed_safetensors_metadata: the value of `key`, like metadata().get(key); NULL without an error if
 * it is missing. heed_safetensors_all_metadata: all pairs, sorted by key, terminated by {NULL,
 * NULL}. */
const char *heed_safetensors_metadata(const heed_safetensors *file, const char *key);
const heed_metadata *heed_safetensors_all_metadata(const heed_safetensors *file);

HEED_END_DECLS
#endif
