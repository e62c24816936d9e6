/* Does what a file holds fit what is here? (Internal to nn: what all that loads tensors by name shares.)
 */
#ifndef HEED_NN_FIT_H
#define HEED_NN_FIT_H

#include "safetensors_header.h"

typedef struct heed_fit {
    const char *function;                  /* the name in the sentences of errors */
    const char *there;                     /* what is offered: "a/file", "the state" */
    const char *here;                      /* what it must fit: "Linear" */
    bool not_strict;                       /* pass over names that only one side has */
    bool (*passes_over)(const char *name); /* names that may be there all the same; or NULL */
} heed_fit;

/* heed_fit_tensors: finds what is offered for each tensor of `wanted`: found[i], NULL where there is
 * nothing. A tensor with several names need be there under one.
 *
 * HEED_ERR_VALUE: names that are missing or unexpected, and shapes or dtypes that differ: one sentence
 * tells all, of each kind the first 2400 characters and how many more there are. */
heed_status heed_fit_tensors(const heed_fit *fit, const heed_file_header *offered,
                             heed_tensor_list wanted, const heed_file_tensor **found);

/* heed_fit_file: reads what a file holds for each: values[i], in the innermost scope, or NULL. */
heed_status heed_fit_file(const heed_fit *fit, const heed_safetensors *file,
                          heed_tensor_list wanted, heed_tensor **values);

/* heed_fit_load: copies what the file holds into those that are wanted, which may be views; all of it is
 * compared and read before anything changes. */
heed_status heed_fit_load(const heed_fit *fit, const heed_safetensors *file,
                          heed_tensor_list wanted);

/* heed_fit_list: the same from a list of tensors, whose own they are. */
heed_status heed_fit_list(const heed_fit *fit, heed_tensor_list offered, heed_tensor_list wanted,
                          heed_tensor **values);

/* heed_is_of_training: does a checkpoint have this besides its model: the optimiser's state, or the
 * generator's? For those who load the model alone. (checkpoint_training.c) */
bool heed_is_of_training(const char *name);

#endif
