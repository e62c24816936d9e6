/* What the kernels of attention.c take: one head (internal). */
#ifndef HEED_TENSOR_ATTENTION_H
#define HEED_TENSOR_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of elements that lie `row` and `col` apart. */
typedef struct heed_matrix {
    void *data;
    int64_t row, col;
} heed_matrix;

/* y = softmax(scale q k^T, masked) v, of L queries, S keys, and its gradients. */
typedef struct heed_attention {
    int64_t queries, keys, features, values; /* L, S, E, Ev */
    heed_matrix q, k, v, y;                  /* (L, E) (S, E) (S, Ev) (L, Ev) */
    heed_matrix g, dq, dk, dv;               /* for gradients: g as y, the others as q, k, v */
    heed_matrix keep, bias; /* (L, S): a bool mask or one to be added; data NULL: none */
    double scale;
    bool is_causal;
    int64_t rows;    /* of a block of queries */
    int64_t columns; /* of a tile of keys: a multiple of HEED_ATTENTION_STEP */
    void *room;      /* of heed_attention_room bytes, where an alignment of 64 is best */
} heed_attention;    /* the columns of y, g, dq, dk and dv are adjacent */

enum { HEED_ATTENTION_STEP = 32 };

/* The scores of a row are filled up to this. */
static inline int64_t heed_attention_width(int64_t keys)
{
    return (keys + HEED_ATTENTION_STEP - 1) / HEED_ATTENTION_STEP * HEED_ATTENTION_STEP;
}

/* How many bytes heed_kernels.attend works in, or where is_gradient attend_gradient: of a block the scaled
 * queries, the scores of a tile, or of all keys and their gradients, and three numbers for each row. */
static inline size_t heed_attention_room(const heed_attention *call, bool is_gradient, size_t size)
{
    const int64_t wide = is_gradient ? 2 * heed_attention_width(call->keys) : call->columns;
    return (size_t)call->rows * ((size_t)(wide + call->features + 2) * size + sizeof(double));
}

#endif
