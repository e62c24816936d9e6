/* Files of named tensors, as in safetensors.torch: PyTorch can read the files that Heed writes, and
 * vice versa. Modules and training runs are saved in them.
 *
 *     8 bytes    length of the header, little-endian
 *     header     JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
 *                "__metadata__": {"text": "text", ...}}, padded with spaces to a multiple of 8
 *     data       the elements of each tensor in row-major order, without gaps
 *
 * The whole header is validated before any data is used; malformed files are rejected safely.
 * HEED_ERR_FILE: the system reports an error. HEED_ERR_FORMAT: not a safetensors file, a damaged
 * one, or one with a dtype that Heed does not read. HEED_ERR_NULL: no path, name, module or tensor.
 */
#ifndef HEED_NN_SAFETENSORS_H
#define HEED_NN_SAFETENSORS_H

#include "optimizer.h"

HEED_BEGIN_DECLS

/* Metadata of a file: pairs of strings in UTF-8, terminated by {NULL, NULL}. Used for a model's
 * options, vocabulary and the like; a value may be megabytes long. (Hugging Face's transformers
 * library expects {"format", "pt"}.)
 *
 *     const heed_metadata about[] = {{"level", "char"}, {"heads", "4"}, {NULL, NULL}};
 */
typedef struct heed_metadata {
    const char *key, *value;
} heed_metadata;

/* heed_save_file: writes tensors under their names, like safetensors.torch.save_file. They may be
 * views. `metadata` may be NULL.
 *
 * The file at `path` is replaced atomically: the new one is written next to it (as path.tmp.PID.N),
 * synced and renamed. On any error, or if the program or the machine crashes, the old file is
 * unchanged; a temporary file left by a killed program can be deleted. The permissions of the old
 * file are kept; a symbolic link is replaced.
 *
 * HEED_ERR_VALUE: a name is repeated or "__metadata__", or a text is not UTF-8.
 * HEED_ERR_FILE: names and metadata of more than 100 MB, too. HEED_ERR_SCOPE: a tensor's value has
 * been freed. */
heed_status heed_save_file(heed_tensor_list tensors, const char *path,
                           const heed_metadata *metadata);

/* heed_safetensors_open: reads and validates the header, like safe_open(path); tensors are read on
 * demand. heed_safetensors_close frees it together with the names and metadata returned from it;
 * NULL is a no-op. */
typedef struct heed_safetensors heed_safetensors;
heed_safetensors *heed_safetensors_open(const char *path);
void heed_safetensors_close(heed_safetensors *file);

/* heed_safetensors_count, heed_safetensors_name: the names in the file, sorted, like keys().
 * HEED_ERR_INDEX: i is outside [0, count). */
int heed_safetensors_count(const heed_safetensors *file);
const char *heed_safetensors_name(const heed_safetensors *file, int i);

/* heed_safetensors_tensor: reads the tensor of that name, like get_tensor(name). I32
 * becomes i64. HEED_ERR_VALUE: no such name. */
heed_tensor *heed_safetensors_tensor(const heed_safetensors *file, const char *name);

/* heed_safetensors_metadata: the value of `key`, like metadata().get(key); NULL without an error if
 * it is missing. */
const char *heed_safetensors_metadata(const heed_safetensors *file, const char *key);

/* heed_save_state_dict: writes all parameters and buffers of a module, under the names of
 * heed_state_dict, which are torch's. A tensor with several names is written under each of them.
 * In PyTorch: model.load_state_dict(safetensors.torch.load_file(path)).
 *
 * heed_load_state_dict: copies the tensors from a file into the parameters and buffers with the
 * same names, like torch's load_state_dict. Floats are cast to the module's dtype. The values are
 * copied in place, so optimisers and tied parameters stay valid. All tensors are read before the
 * first one changes, so on error nothing changes. If a tensor has several names, the file needs
 * only one of them, as for safetensors.torch.load_model; the last one counts.
 *
 * HEED_ERR_VALUE: a name is missing or unexpected, or a shape or dtype differs. */
typedef struct heed_load_options {
    bool no_strict; /* ignore names that only the file or only the module has */
} heed_load_options;
heed_status heed_save_state_dict(void *module, const char *path, const heed_metadata *metadata);
heed_status heed_load_state_dict(void *module, const char *path);
heed_status heed_load_state_dict_with(void *module, const char *path, heed_load_options options);

/* heed_save_checkpoint: writes everything needed to resume training as if it had never stopped:
 *
 *   the names of heed_state_dict               the model; PyTorch loads these with strict=False
 *   optimizer.AdamW.steps                      i64 (), with the optimiser's name, like its options
 *   optimizer.AdamW.lr .weight_decay ...       f64 ()
 *   optimizer.state.W.step                     steps of parameter W with a gradient; i64 ()
 *   optimizer.state.W.exp_avg .exp_avg_sq      Adam and AdamW: moments, in W's shape
 *   optimizer.state.W.momentum_buffer          SGD with momentum
 *   rng_state                                  heed_get_rng_state of this thread
 *
 * and `about`, for instance the program's options. Without an optimiser (NULL), only the model and
 * rng_state are written. Call it between two steps; gradients are not saved.
 *
 * heed_load_checkpoint: restores model, optimiser and this thread's generator. Model and optimiser
 * must be constructed like the saved ones; optimizer->steps is the step to resume from. If
 * optimizer is NULL, only the model is loaded, for evaluation, whether or not the file contains
 * an optimiser. On error nothing changes. If batches are drawn from the generator, the results
 * are bit-identical to those of an uninterrupted run. docs/files.md has an example.
 *
 * HEED_ERR_VALUE: as heed_load_state_dict, or a number is invalid for this optimiser. */
heed_status heed_save_checkpoint(void *module, heed_optimizer *optimizer, const char *path,
                                 const heed_metadata *about);
heed_status heed_load_checkpoint(void *module, heed_optimizer *optimizer, const char *path);

HEED_END_DECLS
#endif
