/* Files of named tensors, as safetensors.torch: what Heed writes PyTorch loads, and the other way
 * round.
 *
 *     8 bytes    how long the header is, little-endian
 *     header     JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
 *                "__metadata__": {"text": "text", ...}}, and spaces up to a multiple of 8
 *     data       the elements of each tensor row by row, without gaps
 *
 * A file is checked as a whole before anything of it is used; malformed files are rejected safely.
 * Errors name the file and, where there is one, the tensor:
 *
 * HEED_ERR_FILE: the system refuses; the sentence says why. HEED_ERR_FORMAT: this is no safetensors
 * file, or a damaged one. HEED_ERR_NULL: no path, name, module or tensor. HEED_ERR_MEMORY.
 *
 * Paths are taken as they are; names and metadata are UTF-8. Modules are saved and loaded by
 * nn/files/checkpoint.h.
 */
#ifndef HEED_NN_SAFETENSORS_H
#define HEED_NN_SAFETENSORS_H

#include "../tensor_list.h"

HEED_BEGIN_DECLS

/* ---- writing ---- */

/* heed_save_file: writes tensors under their names, as safetensors.torch.save_file: any view, f32,
 * f64, i64 and bool. `metadata`: NULL for none.
 *
 * The file at `path` is replaced at once and as a whole: it is written beside it (as
 * path.tmp-...), synced and renamed. On any error, and if the program or the machine dies, the old
 * one stays as it was; what a program that was killed leaves beside it can be deleted. A link is
 * followed, and the permissions of the old file are kept.
 *
 * HEED_ERR_VALUE: a name or key that is there twice, is "__metadata__" or no UTF-8; a header over
 * 100 MB. HEED_ERR_SCOPE: a tensor whose value has been released. */
heed_status heed_save_file(heed_tensor_list tensors, const char *path,
                           const heed_metadata *metadata);

/* ---- reading ---- */

typedef struct heed_safetensors heed_safetensors;

/* heed_safetensors_open: reads the header and checks it, as safe_open(path): the data is read
 * tensor by tensor, when asked for. Several threads may read one file. heed_safetensors_close lets
 * go of it and of the names and metadata that were read; NULL is fine. */
heed_safetensors *heed_safetensors_open(const char *path);
void heed_safetensors_close(heed_safetensors *file);

/* heed_safetensors_count, heed_safetensors_name: the names in the file, sorted, as keys().
 * HEED_ERR_INDEX: i outside [0, count). */
int heed_safetensors_count(const heed_safetensors *file);
const char *heed_safetensors_name(const heed_safetensors *file, int i);

/* heed_safetensors_tensor: a new tensor with the elements of that name, as get_tensor(name). F16
 * and BF16 become f32.
 *
 * HEED_ERR_VALUE: no such name. HEED_ERR_DTYPE: elements that Heed has no dtype for.
 * HEED_ERR_SHAPE: more than 8 dims. */
heed_tensor *heed_safetensors_tensor(const heed_safetensors *file, const char *name);

/* heed_safetensors_metadata: the text that stands under `key`, as metadata().get(key); NULL, and no
 * error, where there is none. heed_safetensors_all_metadata: all pairs, sorted, ended by {NULL,
 * NULL}. */
const char *heed_safetensors_metadata(const heed_safetensors *file, const char *key);
const heed_metadata *heed_safetensors_all_metadata(const heed_safetensors *file);

HEED_END_DECLS
#endif
