/* Models of the GPT-2 kind in the files that others read and write: Hugging Face's transformers
 * (GPT2LMHeadModel), and nanoGPT.
 *
 *     struct heed_gpt *model = heed_gpt_from_pretrained("gpt2");
 *     ...
 *     heed_gpt_save_pretrained(model, "mine");
 *
 * In Python:
 *
 *     model = transformers.GPT2LMHeadModel.from_pretrained("mine")
 *     model.save_pretrained("theirs")
 *
 * The two layouts have the same names. In GPT-2's the weights of c_attn, c_fc and each c_proj are
 * (in, out), the transpose of a Linear's, biases are always there, and tied weights are written
 * once. In nanoGPT's they are as in the state dict, so that heed_load_state_dict takes such a file
 * as well if it has no more than that.
 *
 * Errors about files are those of nn/files/safetensors.h and name the file. */
#ifndef HEED_NN_GPT_FILES_H
#define HEED_NN_GPT_FILES_H

#include "gpt.h"

HEED_BEGIN_DECLS

/* ---- a folder: config.json and model.safetensors ---- */

/* heed_gpt_from_pretrained: as GPT2LMHeadModel.from_pretrained(folder): the model that config.json
 * describes, with the weights of model.safetensors, and in eval mode; heed_train before it learns.
 * f64 if the file's weights are, else f32. Draws no random numbers. What config.json does not say
 * is as transformers has it (n_layer 12, ...), and it may say more, which does not matter here.
 *
 *   n_positions   block_size      activation_function   gelu_new, gelu_pytorch_tanh, gelu, relu,
 *   attn_pdrop, resid_pdrop,                            silu, swish, tanh, sigmoid
 *     embd_pdrop  dropout         tie_word_embeddings   not untied
 *
 * HEED_ERR_FORMAT: config.json is no JSON, or a value of another kind than it should be.
 * HEED_ERR_VALUE: a key with a value that a heed_gpt cannot have: another activation or model_type,
 * an n_inner other than 4 n_embd, dropouts that differ, scale_attn_weights that is false, ...;
 * sizes that are not those of the weights; and as heed_gpt_load. */
struct heed_gpt *heed_gpt_from_pretrained(const char *folder);

/* heed_gpt_save_pretrained: as model.save_pretrained(folder), which is made if it is not there:
 * first model.safetensors, of the model's dtype, then config.json, each as a whole or not at all. A
 * model that has no biases gets zeros, and sinusoidal positions are written as those of wpe: the
 * same function, which comes back as a model that could learn them.
 *
 * HEED_ERR_FILE: the system refuses. HEED_ERR_VALUE: an activation without a name there. */
heed_status heed_gpt_save_pretrained(struct heed_gpt *m, const char *folder);

/* ---- one file ---- */

typedef enum heed_gpt_layout {
    HEED_GPT_LAYOUT_GPT2,   /* transformers */
    HEED_GPT_LAYOUT_NANOGPT /* the state dict's, but for sinusoidal positions, which become wpe */
} heed_gpt_layout;

/* heed_gpt_load: the tensors of a safetensors file of either layout, told apart by the shape of
 * c_attn.weight, into a model of these sizes, as heed_load_state_dict. Names may have something
 * before them (`_orig_mod.`, of torch.compile) or lack `transformer.` (GPT2Model); attn.bias and
 * attn.masked_bias, masks that some versions save, are passed over, and so is what
 * heed_save_checkpoint adds to a model. On an error nothing has changed.
 *
 * HEED_ERR_VALUE: names that are missing or unexpected, and shapes that differ, in one sentence;
 * learned positions for a model whose are sinusoidal; an lm_head and a wte that differ for one that
 * ties them. */
heed_status heed_gpt_load(struct heed_gpt *m, const char *path);

/* heed_gpt_save: writes such a file. HEED_ERR_VALUE: no such layout. */
heed_status heed_gpt_save(struct heed_gpt *m, const char *path, heed_gpt_layout layout);

HEED_END_DECLS
#endif
