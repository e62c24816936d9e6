/* Tensors with their names: the list that functions take and return. */
#ifndef HEED_NN_TENSOR_LIST_H
#define HEED_NN_TENSOR_LIST_H

#include "../tensor/tensor.h"

HEED_BEGIN_DECLS

/* It owns neither tensors nor names. Where names do not matter, they may be NULL. */
typedef struct heed_tensor_list {
    int count;
    heed_tensor *const *tensors;
    const char *const *names;
} heed_tensor_list;

/* What a file says besides its tensors: pairs of texts, ended by {NULL, NULL}. For the options of a
 * model, its vocabulary and the like; a value may be megabytes long. (Hugging Face's transformers
 * look for {"format", "pt"}.)
 *
 *     const heed_metadata about[] = {{"level", "char"}, {"heads", "4"}, {NULL, NULL}};
 */
typedef struct heed_metadata {
    const char *key, *value;
} heed_metadata;

/* A list that grows, in modules and optimisers. It owns its names, not the tensors. */
typedef struct heed_named_tensors {
    heed_tensor_list list;
    heed_tensor **tensors; /* those of the list */
    const char **names;
    int capacity;
    const char *prefix; /* put before each name that is added; NULL: nothing */
} heed_named_tensors;

HEED_END_DECLS
#endif
