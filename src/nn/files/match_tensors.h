/* Matches offered tensors to wanted ones by name, for all loading functions (internal to nn). One
 * error message lists all mismatches.
 */
#ifndef HEED_NN_MATCH_TENSORS_H
#define HEED_NN_MATCH_TENSORS_H

#include "../tensor_list.h"
#include "safetensors_format.h"

/* Options of one match: the names in its error messages, and which names may stay unmatched. */
typedef struct heed_match {
    const char *function;                  /* the public function */
    const char *there;                     /* the source: "a/file", "the state" */
    const char *here;                      /* the destination: "Linear" */
    bool not_strict;                       /* ignore names that only one side has */
    bool (*passes_over)(const char *name); /* true for offered names to ignore; or NULL */
    const char *if_untied; /* advice if tied tensors differ in the source; or NULL */
} heed_match;

/* heed_match_file: reads the file's tensor for wanted tensor i into values[i], in the innermost
 * scope; values[i] is NULL if the file has none. A tensor with several names needs only one of them
 * in the file.
 * heed_match_list: the same with the tensors of a list, which are not copied.
 * heed_match_load: copies the file's tensors into the wanted ones, which may be views. Everything
 * is compared and read before the first tensor changes.
 *
 * HEED_ERR_VALUE: names are missing or unexpected, or shapes or dtypes differ. One message lists
 * them all: for each kind, up to 2400 characters and the number of further names. Also if a file
 * has different values for two names of one tensor. */
heed_status heed_match_file(const heed_match *match, const heed_safetensors *file,
                            heed_tensor_list wanted, heed_tensor **values);
heed_status heed_match_list(const heed_match *match, heed_tensor_list offered,
                            heed_tensor_list wanted, heed_tensor **values);
heed_status heed_match_load(const heed_match *match, const heed_safetensors *file,
                            heed_tensor_list wanted);

/* heed_is_of_training: true if a checkpoint uses this name for the state of the optimiser or the
 * generator, not for the model. For functions that load only the model. */
#define HEED_OPTIMIZER_PREFIX "optimizer."
#define HEED_GENERATOR_NAME   "rng_state"
bool heed_is_of_training(const char *name);

#endif
