/* Matches offered tensors to wanted ones by name (internal to nn): shared by all functions that
 * load. One error lists all mismatches.
 */
#ifndef HEED_NN_MATCH_TENSORS_H
#define HEED_NN_MATCH_TENSORS_H

#include "../tensor_list.h"
#include "safetensors_format.h"

/* One loading: what its errors say, and which names need no match. */
typedef struct heed_match {
    const char *function;                  /* the name in the sentences of errors */
    const char *there;                     /* what offers: "a/file", "the state" */
    const char *here;                      /* what wants: "Linear" */
    bool not_strict;                       /* ignore names that only one side has */
    bool (*passes_over)(const char *name); /* offered names that nobody need want; or NULL */
} heed_match;

/* heed_match_file: reads the tensor that the file offers for each wanted one: values[i], in the
 * innermost scope, or NULL where there is none. A tensor with several names need be there under
 * one.
 * heed_match_list: the same with the tensors of a list, which are not copied.
 * heed_match_load: copies those of a file into the wanted ones, which may be views; everything is
 * compared and read before the first one changes.
 *
 * HEED_ERR_VALUE: names that are missing or unexpected, and shapes or dtypes that differ: one
 * sentence lists all, of each kind the first 2400 characters and how many more there are. */
heed_status heed_match_file(const heed_match *match, const heed_safetensors *file,
                            heed_tensor_list wanted, heed_tensor **values);
heed_status heed_match_list(const heed_match *match, heed_tensor_list offered,
                            heed_tensor_list wanted, heed_tensor **values);
heed_status heed_match_load(const heed_match *match, const heed_safetensors *file,
                            heed_tensor_list wanted);

/* heed_is_of_training: does a checkpoint have this name besides its model's: the optimiser's state,
 * or the generator's? For functions that load the model alone. */
#define HEED_OPTIMIZER_PREFIX "optimizer."
#define HEED_GENERATOR_NAME   "rng_state"
bool heed_is_of_training(const char *name);

#endif
