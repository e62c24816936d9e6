/* The kernels of layer_norm and rms_norm (internal): a table of their own, because few programs
 * need them. */
#ifndef HEED_TENSOR_KERNELS_NORM_ROWS_H
#define HEED_TENSOR_KERNELS_NORM_ROWS_H

#include "kernels.h"

/* layer_norm of rows, and its gradients; norm_rows.c has the formulas. */
typedef struct heed_normalization {
    int64_t rows, n;
    const void *x, *g;         /* (rows, n); g = dL/dy */
    void *y, *dx;              /* (rows, n) */
    const void *weight, *bias; /* (n) */
    double *totals;            /* (2, n): dweight and dbias are added to it */
    double eps;
} heed_normalization;

typedef struct heed_norm_kernels {
    void (*normalize)(const heed_normalization *call); /* y */
    /* dx, totals; does not read bias or y */
    void (*normalize_gradient)(const heed_normalization *call);
} heed_norm_kernels;

#endif
