/* Saves and loads modules and training runs. The files are safetensors (nn/safetensors.h),
 * with the names of heed_state_dict, which are torch's.
 *
 *     heed_save_state_dict(model, "model.safetensors", NULL);
 *     ...
 *     heed_load_state_dict(model, "model.safetensors");
 *
 * In PyTorch:
 *
 *     model.load_state_dict(safetensors.torch.load_file("model.safetensors"))
 *     safetensors.torch.save_file(model.state_dict(), "model.safetensors")
 */
#ifndef HEED_NN_CHECKPOINT_H
#define HEED_NN_CHECKPOINT_H

#include "optimizer.h"
#include "safetensors.h"

HEED_BEGIN_DECLS

/* heed_save_state_dict: writes all parameters and buffers, like heed_save_file. A tensor with
 * several names is written under each of them. Errors are those of heed_save_file. */
heed_status heed_save_state_dict(void *module, const char *path, const heed_metadata *metadata);

typedef struct heed_load_options {
    bool no_strict; /* ignore names that only the file or only the module has */
} heed_load_options;

/* heed_load_state_dict: copies the tensors from a file into the parameters and buffers with the
 * same names, like torch's load_state_dict. Floats are cast to the module's dtype. The values are
 * copied in place, so optimisers and tied parameters stay valid. The whole file is read before the
 * first tensor changes, so on error nothing changes. If a tensor has several names, the file needs
 * only one of them, as for safetensors.torch.load_model.
 *
 * HEED_ERR_VALUE: names are missing or unexpected, or shapes or dtypes differ. One message lists
 * them all: for each kind, up to 2400 characters and the number of further names. */
heed_status heed_load_state_dict(void *module, const char *path);
heed_status heed_load_state_dict_with(void *module, const char *path, heed_load_options options);

/* heed_save_checkpoint: writes everything needed to resume training as if it had never stopped.
 * The file has the format of heed_save_file and contains
 *
 *   the names of heed_state_dict            the model; PyTorch loads these with strict=False
 *   the names of heed_optimizer_state_dict, the optimiser, including its steps and learning rates
 *     prefixed with "optimizer."
 *   rng_state                               heed_get_rng_state of this thread
 *
 * and `about`, for instance the program's options. Without an optimiser (NULL), only the model and
 * rng_state are written. Call it between two steps; gradients are not saved.
 *
 * heed_load_checkpoint: restores model, optimiser and this thread's generator. Model and optimiser
 * must be constructed like the saved ones; optimizer->steps is the step to resume from. If
 * optimizer is NULL, only the model is loaded, for evaluation, whether or not the file contains
 * an optimiser. Floats are cast as by heed_load_state_dict. On error nothing changes.
 *
 *     heed_load_checkpoint(model, adamw, "run.safetensors");
 *     while (adamw->steps < 1000 && !heed_error_pending()) {
 *         adamw->lr = heed_warmup_cosine_lr(adamw->steps, 1e-3, 100, 1000, 1e-4);
 *         take_a_step(model, adamw);
 *         if (adamw->steps % 100 == 0) {
 *             heed_save_checkpoint(model, adamw, "run.safetensors", about);
 *         }
 *     }
 *
 * The results are bit-identical to those of an uninterrupted run if batches are drawn from the
 * generator.
 *
 * HEED_ERR_VALUE: parameters, the kind of optimiser, its groups or their parameters do not match;
 * one message lists all mismatches. */
heed_status heed_save_checkpoint(void *module, heed_optimizer *optimizer, const char *path,
                                 const heed_metadata *about);
heed_status heed_load_checkpoint(void *module, heed_optimizer *optimizer, const char *path);

HEED_END_DECLS
#endif
