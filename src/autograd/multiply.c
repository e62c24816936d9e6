/* Batches of matrices on any strides, handed to the kernel one by one, or as one tall matrix. */
#include "autograd/multiply.h"

#include <assert.h>
#include <string.h>

#include "tensor/iterate.h"
#include "tensor/kernels.h"

bool heed_is_one_matrix(const heed_tensor *t)
{
    for (int i = 0; i < t->ndim - 2; i++) {
        if (t->shape[i] != 1) {
            return false;
        }
    }
    return true;
}

/* Dims of size 1 are never stepped through. */
bool heed_is_one_tall_matrix(const heed_tensor *a, int64_t *step)
{
    int64_t rows = 1; /* of the dims so far, from the inside */
    *step = a->strides[a->ndim - 2];
    for (int i = a->ndim - 2; i >= 0; i--) {
        if (a->shape[i] == 1) {
            continue;
        }
        if (rows == 1) {
            *step = a->strides[i];
        } else if (a->strides[i] != *step * rows) {
            return false;
        }
        rows *= a->shape[i];
    }
    return true;
}

/* The way through the batch of a product: where in a and b the next matrices lie. */
typedef struct batch {
    int ndim;
    int64_t size[HEED_MAX_DIMS], index[HEED_MAX_DIMS];
    int64_t strides_a[HEED_MAX_DIMS], strides_b[HEED_MAX_DIMS], offset_a, offset_b;
} batch;

/* t's strides through the dims of y, as if its matrices were elements. */
static void strides_to(const heed_tensor *t, const heed_tensor *y, int64_t *strides)
{
    int64_t shape[HEED_MAX_DIMS];
    memcpy(shape, y->shape, sizeof *shape * y->ndim);
    memcpy(shape + y->ndim - 2, t->shape + t->ndim - 2, 2 * sizeof *shape);
    heed_broadcast_strides(t, y->ndim, shape, strides);
}

static batch first_matrix(const heed_tensor *a, const heed_tensor *b, const heed_tensor *y)
{
    batch w = {.ndim = y->ndim - 2};
    memcpy(w.size, y->shape, sizeof *w.size * y->ndim);
    strides_to(a, y, w.strides_a);
    strides_to(b, y, w.strides_b);
    return w;
}

/* Steps on; false after the last. */
static bool next_matrix(batch *w)
{
    for (int i = w->ndim - 1; i >= 0; i--) {
        w->offset_a += w->strides_a[i];
        w->offset_b += w->strides_b[i];
        if (++w->index[i] < w->size[i]) {
            return true;
        }
        w->offset_a -= w->strides_a[i] * w->size[i];
        w->offset_b -= w->strides_b[i] * w->size[i];
        w->index[i] = 0;
    }
    return false;
}

heed_status heed_multiply(const heed_tensor *a, const heed_tensor *b, const heed_tensor *bias,
                          heed_tensor *y, bool accumulate)
{
    const int64_t size = (int64_t)heed_dtype_size(y->dtype);
    heed_gemm product = {.m = y->shape[y->ndim - 2],
                         .n = y->shape[y->ndim - 1],
                         .k = a->shape[a->ndim - 1],
                         .a_row = a->strides[a->ndim - 2],
                         .a_col = a->strides[a->ndim - 1],
                         .b_row = b->strides[b->ndim - 2],
                         .b_col = b->strides[b->ndim - 1],
                         .c_row = y->shape[y->ndim - 1],
                         .bias = bias != NULL ? bias->data : NULL,
                         .accumulate = accumulate};
    int64_t step;
    assert(bias == NULL || (!accumulate && bias->numel == product.n));
    if (y->numel == 0) {
        return HEED_OK;
    }
    batch w = first_matrix(a, b, y);
    if (heed_is_one_matrix(b) && heed_is_one_tall_matrix(a, &step)) {
        product.m = y->numel / product.n;
        product.a_row = step;
        w.ndim = 0;
    }
    char *c = y->data;
    do {
        product.a = (const char *)a->data + w.offset_a * size;
        product.b = (const char *)b->data + w.offset_b * size;
        product.c = c;
        heed_kernels_for(y->dtype)->gemm(&product);
        c += product.m * product.n * size;
    } while (next_matrix(&w));
    return HEED_OK;
}
