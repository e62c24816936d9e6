/* Which known mistake gives the outputs of an attention (internal). */
#ifndef HEED_CHECK_ATTENTION_MISTAKES_H
#define HEED_CHECK_ATTENTION_MISTAKES_H

#include "../tensor/tensor.h"

typedef struct heed_attention_shape {
    int heads;
    bool causal;
    heed_tensor *block_mask; /* or NULL */
    double rounding;         /* relative differences up to this are rounding */
} heed_attention_shape;

typedef enum heed_attention_formula {
    HEED_FORMULA_NO_NAMES, /* the module's parameters are not recognised */
    HEED_FORMULA_HOLDS,
    HEED_FORMULA_MISTAKE, /* `text` says which */
    HEED_FORMULA_UNKNOWN  /* neither the formula nor a known mistake */
} heed_attention_formula;

/* heed_attention_mistake: compares y (B, T, width) of x (B, T, d_model) with the formula, and if it
 * differs, with each known mistake, then with pairs of them. The module's parameters are called as
 * in the tutorial or as in torch. y is f64 without a graph. */
heed_attention_formula heed_attention_mistake(void *module, heed_tensor *x, heed_tensor *y,
                                              const heed_attention_shape *shape, char *text,
                                              size_t size);

#endif
