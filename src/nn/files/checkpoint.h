/* Modules to files and back. The files are safetensors (nn/files/safetensors.h), with the names
 * that heed_state_dict has, which are torch's.
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

#include "../optim/optimizer.h"
#include "safetensors.h"

HEED_BEGIN_DECLS

/* heed_save_state_dict: writes all parameters and buffers, as heed_save_file. A tensor with several
 * names is written under each. */
heed_status heed_save_state_dict(void *module, const char *path, const heed_metadata *metadata);

typedef struct heed_load_options {
    bool not_strict; /* ignore names that only the file has, or only the module */
} heed_load_options;

/* heed_load_state_dict: copies the tensors of a file into the parameters and buffers of their
 * names, as torch's load_state_dict. Floats are cast to the dtype that the module has. The tensors
 * stay the same ones, so optimisers and tied parameters hold; the whole file is read before the
 * first one changes, so on an error none has. Of a tensor with several names the file need have
 * only one, as for safetensors.torch.load_model.
 *
 * HEED_ERR_VALUE: names that are missing or unexpected, and shapes or dtypes that differ: one
 * sentence lists all, of each kind the first 2400 characters and how many more there are. */
heed_status heed_load_state_dict(void *module, const char *path);
heed_status heed_load_state_dict_with(void *module, const char *path, heed_load_options options);

/* heed_save_checkpoint: writes all that training needs to go on as if it had never stopped, as
 * heed_save_file:
 *
 *   the names of heed_state_dict            the model; PyTorch loads these, not strictly
 *   optimizer. and those of                 the optimiser, its steps and learning rates among it
 *     heed_optimizer_state_dict
 *   rng_state                               heed_get_rng_state of this thread
 *
 * and `about`, the options of the program say. Without an optimiser (NULL) the file has the model
 * and rng_state alone. Written between two steps; gradients are not in it.
 *
 * heed_load_checkpoint: brings model, optimiser and this thread's generator to where they were;
 * both are made as those that were saved, and optimizer->steps says where to go on. With NULL for
 * the optimiser the model is loaded and nothing else: for evaluation, from any such file. Floats
 * are cast as by heed_load_state_dict. On an error nothing has changed.
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
 * The same bits come out as without the break, if batches are drawn from the generator.
 *
 * HEED_ERR_VALUE: what does not fit, in one sentence as above: parameters, the optimiser's kind,
 * its groups and which parameter is in which. */
heed_status heed_save_checkpoint(void *module, heed_optimizer *optimizer, const char *path,
                                 const heed_metadata *about);
heed_status heed_load_checkpoint(void *module, heed_optimizer *optimizer, const char *path);

HEED_END_DECLS
#endif
