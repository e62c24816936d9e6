/* The kernels: arithmetic on raw memory, in one table per instruction set and dtype (internal).
 *
 * A kernel takes pointers, counts and strides, never a tensor. It reports no errors: callers have
 * checked everything. Operands are contiguous and of the table's dtype unless the kernel takes
 * strides or casts; map.c and broadcast_walk.c arrange tensors accordingly. baseline_f32.c,
 * v3_f32.c, v4_f32.c and so on compile the files below for one instruction set and dtype;
 * instance.h tells how. Integers and bool are compiled for the baseline alone. version.c chooses
 * among the tables at run time.
 *
 *   table.h            element-wise kernels, from ops.def, and the table; math_f32.h for f32
 *   move.h             casts, strided and transposed copies, indexed elements
 *   rows.h             sums, extremes and norms of rows
 *   softmax_rows.h     softmax, log_softmax
 *   gemm.h             matrix products; gemm_tiles.h, gemm_transpose.h
 *   optimiser_steps.h  SGD, Adam
 *   layer_norm.h       layer_norm
 *   attention_head.h   attention of one head
 */
#ifndef HEED_TENSOR_KERNELS_H
#define HEED_TENSOR_KERNELS_H

#include "../../heed.h"

/* An index for each operation of ops.def. */
enum heed_elementwise {
#define UNARY(name, kind, f, dx)      HEED_OP_##name,
#define BINARY(name, kind, f, da, db) HEED_OP_##name,
#define COMPARE(name, f)              HEED_OP_##name,
#define LOGICAL(name, f)              HEED_OP_##name,
#define PREDICATE(name, f)            HEED_OP_##name,
#include "ops.def"
    HEED_ELEMENTWISE_COUNT
};

/* out[i] = f(in[0][i], in[1][i], ...). The inputs of a gradient are g, then the operands (x, or a,
 * b), then y. */
typedef void heed_kernel(int64_t n, const void *const *in, void *out);

/* out = f(in...) row by row, as in softmax. A row has n contiguous elements; rows start `step`
 * elements apart. */
typedef struct heed_rows {
    int64_t count, n;
    const void *in[2]; /* x; for a gradient, g and y */
    int64_t step[2];
    void *out;
    int64_t out_step;
} heed_rows;
typedef void heed_row_kernel(const heed_rows *rows);

/* y = a row of n elements reduced to one. n may be 0 unless noted; args depend on the kernel. */
typedef void heed_reduce_kernel(int64_t n, const void *x, void *y);

/* A partial sum: floats are summed in double, integers and bool in i64. */
typedef union heed_total {
    double of_floats;
    int64_t of_integers;
} heed_total;

/* c (m, n) = a (m, k) b (k, n) + bias or, with accumulate, c += a b. The bias is added to the
 * rounded sum, so the result is bit-identical to that of a product followed by an addition. */
typedef struct heed_gemm {
    int64_t m, n, k;
    const void *a, *b;
    /* Strides in elements; a dim of size 1 has stride 1. Rows of c are contiguous. */
    int64_t a_row, a_col, b_row, b_col, c_row;
    void *c, *workspace; /* gemm_workspace bytes; NULL: use smaller blocks on the stack */
    const void *bias;    /* (n); NULL: none; must be NULL with accumulate */
    bool accumulate;
} heed_gemm;

/* A matrix whose rows start `row` elements apart, and whose columns start `col` elements apart. */
typedef struct heed_matrix {
    void *data;
    int64_t row, col;
} heed_matrix;

/* Terms of an SGD step shared by all elements; without momentum, b is NULL:
 *
 *   b = momentum b + g + decay p;  p = p - lr b */
typedef struct heed_sgd_terms {
    double lr, decay, momentum;
} heed_sgd_terms;

/* Terms of an Adam step shared by all elements:
 *
 *   d = g + decay p;  m = m + one_minus_beta1 (d - m);  v = beta2 v + one_minus_beta2 d^2
 *   p = keep p - step_size m / (sqrt(v) correction + eps) */
typedef struct heed_adam_terms {
    double decay, one_minus_beta1, one_minus_beta2, beta2, keep, step_size, correction, eps;
} heed_adam_terms;

/* layer_norm of rows, and its gradients; layer_norm.h has the formulas. */
typedef struct heed_normalisation {
    int64_t rows, n;
    const void *x, *g;         /* (rows, n); g = dL/dy */
    void *y, *dx;              /* (rows, n) */
    const void *weight, *bias; /* (n) */
    double *totals;            /* (2, n): dweight and dbias are added to it */
    double eps;
} heed_normalisation;

/* Attention of one head, y = softmax(scale q k^T, masked) v, with L queries and S keys, and its
 * gradients. Rows of y, g, dq, dk and dv are contiguous. */
typedef struct heed_head {
    int64_t queries, keys, features, values; /* L, S, E, Ev */
    heed_matrix q, k, v, y;                  /* (L, E) (S, E) (S, Ev) (L, Ev) */
    heed_matrix g, dq, dk, dv;               /* gradients of y, q, k and v */
    heed_matrix keep, bias; /* (L, S): a bool mask, an additive mask; data NULL: none */
    double scale;
    bool is_causal;
    int64_t rows;    /* queries per block; at most HEED_MOST_QUERIES */
    void *workspace; /* for each query of a block: its features, and heed_head_width weights or,
                        for gradients, twice as many elements */
} heed_head;

enum { HEED_MOST_QUERIES = 64 };

/* Elements per row of weights in the workspace: whole vectors. */
static inline int64_t heed_head_width(int64_t keys)
{
    return (keys + 31) / 32 * 32;
}

/* to[r, c] = from[r, c], cast. Strides are in elements; rows of `to` are contiguous. */
typedef struct heed_plane {
    int64_t rows, columns;
    const void *from;
    int64_t from_row, from_column;
    void *to;
    int64_t to_row;
} heed_plane;

/* All kernels of one dtype; NULL for operations that the dtype does not support. */
typedef struct heed_kernels {
    struct {
        heed_kernel *forward, *gradient[2]; /* forward: T to T, or to bool for comparisons */
    } elementwise[HEED_ELEMENTWISE_COUNT];
    heed_kernel *where; /* bool, T, T -> T */

    /* indexed by the dtype of `from`: to[i] = from[i * stride], cast; the same for planes */
    void (*gather[HEED_DTYPES])(int64_t n, const void *from, int64_t stride, void *to);
    void (*gather_rows[HEED_DTYPES])(const heed_plane *plane);
    void (*scatter)(int64_t n, const void *from, void *to, int64_t stride); /* to[i * stride] */
    void (*add_into)(int64_t n, const void *x, void *y);                    /* y += x */

    /* y[i] = x[p(i)]; y[p(i)] += x[i], in order;
     * p(i) = i * step + index[i * index_step] * along */
    void (*look_up)(int64_t n, const int64_t *index, int64_t index_step, const void *x,
                    int64_t step, int64_t along, void *y);
    void (*add_at)(int64_t n, const int64_t *index, int64_t index_step, const void *x, void *y,
                   int64_t step, int64_t along);

    /* sum: totals[r] += the sum of row r; sum_columns: totals[i] += the sum of column i; rows start
     * `step` elements apart */
    void (*sum)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals);
    void (*sum_columns)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals);
    void (*from_totals)(int64_t n, const heed_total *totals, double divisor, void *y);

    heed_row_kernel *softmax, *safe_softmax, *log_softmax;
    heed_row_kernel *softmax_gradient, *log_softmax_gradient; /* in: g, y */
    heed_row_kernel *exp_totals; /* out: two doubles per row, max(x) and the sum of e^(x - max) */
    void (*scaled_exps)(int64_t n, const void *x, double shift, double scale, void *out);
    heed_reduce_kernel *amax, *amin; /* n > 0 */
    heed_reduce_kernel *argmax;      /* n > 0; y is i64 */
    heed_reduce_kernel *norm;

    void (*gemm)(const heed_gemm *call);
    int64_t (*gemm_workspace)(const heed_gemm *call); /* bytes for call->workspace */

    void (*normalise)(const heed_normalisation *call); /* y */
    /* dx, totals; does not read bias or y */
    void (*normalise_gradient)(const heed_normalisation *call);
    void (*attend)(const heed_head *call, int64_t block); /* y of one block of queries */
    void (*attend_gradient)(const heed_head *call);       /* dq, dk, dv */

    void (*scale)(int64_t n, void *x, double factor); /* x *= factor */
    void (*sgd)(int64_t n, void *p, const void *g, void *b, const heed_sgd_terms *terms);
    void (*adam)(int64_t n, void *p, const void *g, void *m, void *v, const heed_adam_terms *terms);
} heed_kernels;

/* ---- choosing (version.c) ---- */

/* heed_choose_isa: selects the machine's best instruction set, or the one named by HEED_ISA; called
 * when the first tensor is made. HEED_ERR_VALUE: this build or machine does not support it, or
 * HEED_NUM_THREADS is not a number that can be set (heed_check_num_threads, parallel.c). */
heed_status heed_choose_isa(void);
heed_status heed_check_num_threads(void);

/* X(name) for each instruction set that kernels are compiled for, widest last. */
#ifdef __x86_64__
#define HEED_ISAS(X) X(baseline) X(v3) X(v4)
#else
#define HEED_ISAS(X) X(baseline)
#endif

extern const heed_kernels *const *heed_chosen_kernels; /* per dtype; NULL until chosen */
extern int heed_chosen_isa;                            /* its place in HEED_ISAS */

static inline const heed_kernels *heed_kernels_for(heed_dtype dtype)
{
    return heed_chosen_kernels[dtype];
}

#endif
