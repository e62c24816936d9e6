/* Modules to files and back. The files are safetensors (nn/safetensors.h), with the names that
 * heed_state_dict has, which are torch's.
 *
 *     heed_save_state_dict(model, "model.safetensors", NULL);
 *     ...
 *     heed_load_state_dict(model, "model.safetensors", (heed_load_options){0});
 *
 * In PyTorch:
 *
 *     model.load_state_dict(safetensors.torch.load_file("model.safetensors"))
 *     safetensors.torch.save_file(model.state_dict(), "model.safetensors")
 */
#ifndef HEED_NN_CHECKPOINT_H
#define HEED_NN_CHECKPOINT_H

#include "nn/safetensors.h"

HEED_BEGIN_DECLS

/* heed_save_state_dict: writes all parameters and buffers, as heed_save_file. A tensor with several
 * names is written under each. */
heed_status heed_save_state_dict(void *module, const char *path, const heed_metadata *metadata);

typedef struct heed_load_options {
    bool not_strict; /* pass over names that only the file has, or only the module */
} heed_load_options;

/* heed_load_state_dict: copies the tensors of a file into the parameters and buffers of their
 * names, as torch's load_state_dict. Floats are cast to the dtype that the module has. The tensors
 * stay the same ones, so optimisers and tied parameters hold; the whole file is read before the
 * first one changes, so on an error none has. Of a tensor with several names the file need have only
 * one, as for safetensors.torch.load_model.
 *
 * HEED_ERR_VALUE: names that are missing or unexpected, and shapes or dtypes that differ: one
 * sentence tells all, of each kind the first 2400 characters and how many more there are. */
heed_status heed_load_state_dict(void *module, const char *path, heed_load_options options);

HEED_END_DECLS
#endif
