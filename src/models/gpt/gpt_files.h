/* Loads and saves GPT-2 models in the formats of Hugging Face's transformers (GPT2LMHeadModel) and
 * nanoGPT.
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
 * Both layouts use the same names. In GPT-2's layout, the weights of c_attn, c_fc and each c_proj
 * are (in, out), the transpose of a Linear's weight; biases are always present, and tied weights
 * are written once. nanoGPT's layout is the state dict, so heed_load_state_dict also loads such a
 * file if it contains nothing else.
 *
 * File errors are those of tools/files/safetensors.h and name the file. */
#ifndef HEED_MODELS_GPT_FILES_H
#define HEED_MODELS_GPT_FILES_H

#include "gpt.h"

HEED_BEGIN_DECLS

/* ---- a folder: config.json and model.safetensors ---- */

/* heed_gpt_from_pretrained: as GPT2LMHeadModel.from_pretrained(folder): the model described by
 * config.json, with the weights of model.safetensors, in evaluation mode; call heed_train before
 * training. The model is f64 if the file's weights are, else f32. Draws no random numbers. Missing
 * keys of config.json get transformers' defaults (n_layer 12, ...); other keys are ignored.
 *
 *   n_positions   block_size      activation_function   gelu_new, gelu_pytorch_tanh, gelu, relu,
 *   attn_pdrop, resid_pdrop,                            silu, swish, tanh, sigmoid
 *     embd_pdrop  dropout         tie_word_embeddings   not untied
 *
 * HEED_ERR_FORMAT: config.json is not valid JSON, or a value has the wrong type. HEED_ERR_VALUE: a
 * setting that heed_gpt does not support (another activation or model_type, an n_inner that is not
 * 4 * n_embd, different dropouts, scale_attn_weights false, ...); sizes that do not match the
 * weights; and the errors of heed_gpt_load. */
struct heed_gpt *heed_gpt_from_pretrained(const char *folder);

/* heed_gpt_save_pretrained: as model.save_pretrained(folder); creates the folder if necessary.
 * Writes model.safetensors, in the model's dtype, then config.json, each atomically. Missing biases
 * are written as zeros and sinusoidal positions as wpe: the saved model computes the same function,
 * but both become trainable parameters.
 *
 * HEED_ERR_FILE: the system reports an error. HEED_ERR_VALUE: transformers has no name for the
 * activation. */
heed_status heed_gpt_save_pretrained(struct heed_gpt *m, const char *folder);

/* ---- one file ---- */

typedef enum heed_gpt_layout {
    HEED_GPT_LAYOUT_GPT2,   /* transformers */
    HEED_GPT_LAYOUT_NANOGPT /* the state dict, except that sinusoidal positions become wpe */
} heed_gpt_layout;

/* heed_gpt_load: loads a safetensors file of either layout into a model of matching sizes, like
 * heed_load_state_dict; the shape of c_attn.weight distinguishes the layouts. Names may have a
 * prefix (torch.compile's `_orig_mod.`) or lack `transformer.` (GPT2Model). The masks attn.bias and
 * attn.masked_bias, saved by some versions of transformers, are ignored, and so are the tensors of
 * the optimiser and generator in a checkpoint. On error nothing changes.
 *
 * HEED_ERR_VALUE: names are missing or unexpected, or shapes differ (one message lists them all);
 * the file has learned positions but the model sinusoidal ones; lm_head and wte differ but the
 * model ties them. */
heed_status heed_gpt_load(struct heed_gpt *m, const char *path);

/* heed_gpt_save: writes a file in the given layout. HEED_ERR_VALUE: unknown layout. */
heed_status heed_gpt_save(struct heed_gpt *m, const char *path, heed_gpt_layout layout);

HEED_END_DECLS
#endif
