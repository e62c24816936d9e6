/* The lists of named tensors that functions take and return. */
#ifndef HEED_NN_TENSOR_LIST_H
#define HEED_NN_TENSOR_LIST_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* Owns neither tensors nor names. names may be NULL if the function does not use them. */
typedef struct heed_tensor_list {
    int count;
    heed_tensor *const *tensors;
    const char *const *names;
} heed_tensor_list;

/* Metadata of a file: pairs of strings, terminated by {NULL, NULL}. Used for a model's options,
 * vocabulary and the like; a value may be megabytes long. (Hugging Face's transformers library
 * expects {"format", "pt"}.)
 *
 *     const heed_metadata about[] = {{"level", "char"}, {"heads", "4"}, {NULL, NULL}};
 */
typedef struct heed_metadata {
    const char *key, *value;
} heed_metadata;

/* A growable list, used by modules and optimisers. It owns the names but not the tensors. */
typedef struct heed_named_tensors {
    heed_tensor_list list;
    heed_tensor **tensors; /* writable aliases of the list's arrays */
    const char **names;
    int capacity;
    const char *prefix; /* prepended to each added name; NULL: none */
} heed_named_tensors;

HEED_END_DECLS
#endif
