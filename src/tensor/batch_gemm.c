/* Batches of matrices on any strides, handed to the kernel one by one, or as one tall matrix. */

#include "batch_gemm.h"

#include <assert.h>
#include <string.h>

#include "alloc.h"
#include "kernels/kernels.h"
#include "parallel.h"
#include "shape.h"

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

/* The matrices of a product of batches, one after another as those of y lie. */
typedef struct batch {
    heed_gemm first;
    const heed_kernels *kernels;
    int64_t count, size; /* size: bytes of an element */
    int ndim;
    int64_t shape[HEED_MAX_DIMS], strides_a[HEED_MAX_DIMS], strides_b[HEED_MAX_DIMS];
} batch;

/* t's strides through the dims of y, as if its matrices were elements. */
static void strides_to(const heed_tensor *t, const heed_tensor *y, int64_t *strides)
{
    int64_t shape[HEED_MAX_DIMS];
    memcpy(shape, y->shape, sizeof *shape * y->ndim);
    memcpy(shape + y->ndim - 2, t->shape + t->ndim - 2, 2 * sizeof *shape);
    heed_broadcast_strides(t, y->ndim, shape, strides);
}

static void find_matrices(batch *w, const heed_tensor *a, const heed_tensor *b,
                          const heed_tensor *y)
{
    int64_t step;
    w->ndim = 0;
    w->count = 1;
    if (y->ndim == 2) {
        return;
    }
    if (heed_is_one_matrix(b) && heed_is_one_tall_matrix(a, &step)) {
        w->first.m = y->numel / w->first.n;
        w->first.a_row = step;
        return;
    }
    w->ndim = y->ndim - 2;
    w->count = y->numel / (w->first.m * w->first.n);
    memcpy(w->shape, y->shape, sizeof *w->shape * y->ndim);
    strides_to(a, y, w->strides_a);
    strides_to(b, y, w->strides_b);
}

/* Number i of them. */
static heed_gemm matrix_of(const batch *w, int64_t i)
{
    heed_gemm product = w->first;
    int64_t a = 0, b = 0, rest = i;
    for (int d = w->ndim - 1; d >= 0; d--) {
        a += rest % w->shape[d] * w->strides_a[d];
        b += rest % w->shape[d] * w->strides_b[d];
        rest /= w->shape[d];
    }
    product.a = (const char *)product.a + a * w->size;
    product.b = (const char *)product.b + b * w->size;
    product.c = (char *)product.c + i * product.m * product.n * w->size;
    return product;
}

static void multiply_matrices(void *context, int64_t first, int64_t end)
{
    const batch *w = context;
    for (int64_t i = first; i < end; i++) {
        const heed_gemm product = matrix_of(w, i);
        w->kernels->gemm(&product);
    }
}

/* Multiplications: below LITTLE a product needs no room, and a batch no threads; above MUCH one product keeps
 * all threads busy. */
enum { LITTLE = 1 << 18, GRAIN = 1 << 20, MUCH = 1 << 24 };

static double cost_of(const heed_gemm *product)
{
    return (double)product->m * (double)product->n * (double)product->k;
}

static heed_status multiply_one_by_one(batch *w, int64_t room)
{
    if (room > 0 && (w->first.room = heed_alloc((size_t)room)) == NULL) {
        return heed_error_pending();
    }
    multiply_matrices(w, 0, w->count);
    heed_free(w->first.room, (size_t)room);
    return HEED_OK;
}

static heed_status multiply_all(batch *w)
{
    const double cost = cost_of(&w->first);
    if (w->count == 1 && cost < LITTLE) {
        w->kernels->gemm(&w->first);
        return HEED_OK;
    }
    const int64_t room = cost < LITTLE ? 0 : w->kernels->gemm_room(&w->first);
    if (room > 0 || cost > MUCH || (double)w->count * cost < 2 * GRAIN) {
        return multiply_one_by_one(w, room);
    }
    heed_parallel_for(w->count, (int64_t)(GRAIN / (cost + 1)) + 1, multiply_matrices, w);
    return HEED_OK;
}

/* Of the last dim but some, counted from 1. Over a dim of size 1 nothing steps. */
static int64_t stride_of(const heed_tensor *t, int from_end)
{
    const int dim = t->ndim - from_end;
    return t->shape[dim] == 1 ? 1 : t->strides[dim];
}

heed_status heed_multiply(const heed_tensor *a, const heed_tensor *b, const heed_tensor *bias,
                          heed_tensor *y, bool accumulate)
{
    if (y->numel == 0) {
        return HEED_OK;
    }
    batch w;
    w.kernels = heed_kernels_for(y->dtype);
    w.size = (int64_t)heed_dtype_size(y->dtype);
    w.first = (heed_gemm){.m = y->shape[y->ndim - 2],
                          .n = y->shape[y->ndim - 1],
                          .k = a->shape[a->ndim - 1],
                          .a = a->data,
                          .b = b->data,
                          .a_row = stride_of(a, 2),
                          .a_col = stride_of(a, 1),
                          .b_row = stride_of(b, 2),
                          .b_col = stride_of(b, 1),
                          .c_row = y->shape[y->ndim - 1],
                          .c = y->data,
                          .bias = bias != NULL ? bias->data : NULL,
                          .accumulate = accumulate};
    assert(bias == NULL || (!accumulate && bias->numel == w.first.n));
    find_matrices(&w, a, b, y);
    return multiply_all(&w);
}
