/* Batched matrix products with any strides. A batch is multiplied as one tall matrix if
 * possible, else matrix by matrix on several threads. The kernel packs operands and splits single
 * large products. */

#include "tensor.h"

#include <string.h>

/* ---- matrices ---- */

/* A matrix in memory: strides and sizes in elements. */
typedef struct matrix_view {
    void *data;
    int64_t row, col, rows, columns;
} matrix_view;

/* Views the last two dims of t, or their transpose: its only matrix, or the first of a batch. */
static inline void view_matrix(const heed_tensor *t, bool transposed, matrix_view *m)
{
    const int64_t *size = t->shape + t->ndim - 2, *stride = t->strides + t->ndim - 2;
    m->data = t->data;
    m->row = stride[transposed];
    m->col = stride[!transposed];
    m->rows = size[transposed];
    m->columns = size[!transposed];
}

/* Views all rows of t (..., columns) as one matrix, or its transpose. False, with *m unset, if the
 * rows are not evenly spaced; those of a contiguous tensor always are. Strides of size-1 dims are
 * ignored. */
static bool view_even_rows(const heed_tensor *t, bool transposed, matrix_view *m)
{
    const int last = t->ndim - 1;
    int64_t count = 1, step = 0; /* over the dims visited so far, innermost first */
    bool even = true;
    for (int i = last - 1; i >= 0; i--) {
        if (t->shape[i] != 1) {
            step = count == 1 ? t->strides[i] : step;
            even = even && (t->numel == 0 || t->strides[i] == step * count);
            count *= t->shape[i];
        }
    }
    const int64_t columns = t->shape[last], col = t->strides[last];
    if (even) {
        *m = transposed ? (matrix_view){t->data, col, step, columns, count}
                        : (matrix_view){t->data, step, col, count, columns};
    }
    return even;
}

/* The same, but copies rows that are unevenly spaced. */
static inline void view_rows(const heed_tensor *t, bool transposed, matrix_view *m)
{
    if (t->ndim == 2) {
        view_matrix(t, transposed, m);
    } else if (!view_even_rows(t, transposed, m)) {
        heed_tensor *copy = heed_tensor_like(t);
        heed_copy_elements(t, copy);
        view_even_rows(copy, transposed, m);
    }
}

bool heed_is_one_matrix(const heed_tensor *t)
{
    for (int i = 0; i < t->ndim - 2; i++) {
        if (t->shape[i] != 1) {
            return false;
        }
    }
    return true;
}

/* ---- batches ---- */

/* A batched product. Matrices are numbered in the order in which y stores them. */
typedef struct batch {
    heed_gemm first;
    const heed_kernels *kernels;
    int64_t count, size; /* size: bytes per element */
    int ndim;
    int64_t shape[HEED_MAX_DIMS], strides_a[HEED_MAX_DIMS], strides_b[HEED_MAX_DIMS];
} batch;

/* Sets up a single product; a dim of size 1 gets stride 1. Fields are set one by one: building the
 * struct and copying it stalls on store forwarding, which is measurable for an 8 x 8 product. */
static inline void begin(batch *w, heed_dtype dtype, const matrix_view *a, const matrix_view *b,
                         const heed_tensor *bias, const matrix_view *c)
{
    heed_gemm *first = &w->first;
    w->kernels = heed_kernels_for(dtype);
    w->size = (int64_t)heed_dtype_size(dtype);
    w->count = 1;
    w->ndim = 0;
    first->m = c->rows;
    first->n = c->columns;
    first->k = a->columns;
    first->a = a->data;
    first->b = b->data;
    first->a_row = a->rows == 1 ? 1 : a->row;
    first->a_col = a->columns == 1 ? 1 : a->col;
    first->b_row = b->rows == 1 ? 1 : b->row;
    first->b_col = b->columns == 1 ? 1 : b->col;
    first->c_row = c->columns;
    first->c = c->data;
    first->workspace = NULL;
    first->bias = bias != NULL ? bias->data : NULL;
    first->accumulate = false;
}

static void multiply_matrices(void *context, int64_t first, int64_t end)
{
    const batch *w = context;
    for (int64_t i = first; i < end; i++) {
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
        w->kernels->gemm(&product);
    }
}

static void multiply_all(batch *w)
{
    const double cost = (double)w->first.m * (double)w->first.n * (double)w->first.k;
    if (w->count == 1 && cost < HEED_LITTLE_PRODUCT) {
        w->kernels->gemm(&w->first);
        return;
    }
    const int64_t workspace =
        cost < HEED_LITTLE_PRODUCT ? 0 : w->kernels->gemm_workspace(&w->first);
    if (workspace > 0 || cost > HEED_LARGE_PRODUCT ||
        (double)w->count * cost < 2 * HEED_GRAIN_OF_PRODUCTS) {
        w->first.workspace = workspace > 0 ? heed_scratch((size_t)workspace) : NULL;
        multiply_matrices(w, 0, w->count);
        return;
    }
    heed_parallel_for(w->count, (int64_t)(HEED_GRAIN_OF_PRODUCTS / (cost + 1)) + 1,
                      multiply_matrices, w);
}

void heed_multiply_rows(const heed_tensor *a, bool transposed_a, const heed_tensor *b,
                        bool transposed_b, const heed_tensor *bias, heed_tensor *c)
{
    matrix_view rows, columns, c_rows;
    view_rows(a, transposed_a, &rows);
    view_rows(b, transposed_b, &columns);
    view_rows(c, false, &c_rows);
    batch w;
    begin(&w, c->dtype, &rows, &columns, bias, &c_rows);
    multiply_all(&w);
}

void heed_multiply(const heed_tensor *a, bool transposed_a, const heed_tensor *b, bool transposed_b,
                   heed_tensor *y)
{
    if (y->numel == 0) {
        return;
    }
    matrix_view rows, columns, y_rows;
    view_matrix(a, transposed_a, &rows);
    view_matrix(b, transposed_b, &columns);
    view_matrix(y, false, &y_rows);
    const bool one = y->ndim == 2;
    const bool tall =
        !one && !transposed_a && heed_is_one_matrix(b) && view_even_rows(a, false, &rows);
    if (tall) {
        y_rows.rows = y->numel / y_rows.columns;
    }
    batch w;
    begin(&w, y->dtype, &rows, &columns, NULL, &y_rows);
    if (!one && !tall) {
        w.ndim = y->ndim - 2;
        w.count = y->numel / (y_rows.rows * y_rows.columns);
        memcpy(w.shape, y->shape, sizeof *w.shape * y->ndim);
        heed_broadcast_strides(a, y->ndim, y->shape, w.strides_a);
        heed_broadcast_strides(b, y->ndim, y->shape, w.strides_b);
    }
    multiply_all(&w);
}
