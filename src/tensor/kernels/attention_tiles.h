/* The kernels of attention (internal): a table of their own, because few programs need them. */
#ifndef HEED_TENSOR_KERNELS_ATTENTION_TILES_H
#define HEED_TENSOR_KERNELS_ATTENTION_TILES_H

#include "kernels.h"

/* Attention of one head, y = softmax(scale q k^T, masked) v, with L queries and S keys, and its
 * gradients. Rows of y, g, dq, dk and dv are contiguous. */
typedef struct heed_one_head {
    int64_t queries, keys, features, values; /* L, S, E, Ev */
    heed_matrix q, k, v, y;                  /* (L, E) (S, E) (S, Ev) (L, Ev) */
    heed_matrix g, dq, dk, dv;               /* gradients of y, q, k and v */
    heed_matrix keep, bias; /* (L, S): a bool mask, an additive mask; data NULL: none */
    double scale;
    bool is_causal;
    int64_t rows;    /* queries per block */
    int64_t columns; /* keys per tile: a multiple of HEED_ATTENTION_STEP */
    void *workspace; /* heed_attention_workspace bytes, preferably 64-byte aligned */
} heed_one_head;

enum { HEED_ATTENTION_STEP = 32 };

/* Elements per row of scores in the workspace. */
static inline int64_t heed_attention_width(int64_t keys)
{
    return (keys + HEED_ATTENTION_STEP - 1) / HEED_ATTENTION_STEP * HEED_ATTENTION_STEP;
}

/* Bytes of workspace for elements of `size` bytes. Each query of a block needs its scaled features,
 * three numbers (total, max, factor), and a row of scores for one tile or, for gradients, two rows
 * for all keys. */
static inline size_t heed_attention_workspace(const heed_one_head *call, bool is_gradient,
                                              size_t size)
{
    const int64_t wide = is_gradient ? 2 * heed_attention_width(call->keys) : call->columns;
    return (size_t)call->rows * ((size_t)(wide + call->features + 2) * size + sizeof(double));
}

typedef struct heed_attention_kernels {
    void (*attend)(const heed_one_head *call, int64_t block); /* y of one block of queries */
    /* dq of the blocks of a piece, and what they contribute to dk and dv */
    void (*attend_gradient)(const heed_one_head *call, int64_t piece, int64_t pieces);
} heed_attention_kernels;

#endif
