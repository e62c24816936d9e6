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

HEED_END_DECLS
#endif
