/* The kernels: arithmetic on raw memory, behind one table per instruction set and dtype (internal).
 *
 * A kernel sees pointers, counts and strides, never a tensor, and reports no errors: its callers
 * have checked everything. Operands are contiguous and of the table's dtype unless the kernel takes
 * strides or casts; map.h and broadcast_walk.h bring tensors into that form. Files in this
 * folder are compiled once for each instruction set and dtype; those of integers and bool for the
 * baseline alone. table.c fills the table, isa.c chooses one at start.
 *
 *   table.c            element by element, from ops.def; with math_f32.h or avx512.h for f32
 *   move.h             casts, strided and transposed copies, elements at indices
 *   rows.c             sums, extremes and norms of rows; row_reduce.h has the loops
 *   softmax_rows.c     softmax, log_softmax, logsumexp
 *   norm_rows.c        layer_norm, rms_norm
 *   attention_tiles.c  attention of one head
 *   gemm.c             matrix products
 *   optim_steps.c      SGD, Adam
 */
#ifndef HEED_TENSOR_KERNELS_H
#define HEED_TENSOR_KERNELS_H

#include "../dtype.h"

/* A number for each operation of ops.def. */
enum heed_elementwise {
#define UNARY(name, kind, f, dx)           HEED_OP_##name,
#define BINARY(name, kind, f, da, db)      HEED_OP_##name,
#define TERNARY(name, kind, f, da, db, dc) HEED_OP_##name,
#define BOUNDS(name, kind, f, da)          HEED_OP_##name,
#define COMPARE(name, f)                   HEED_OP_##name,
#define LOGICAL(name, f)                   HEED_OP_##name,
#define PREDICATE(name, f)                 HEED_OP_##name,
#include "ops.def"
    HEED_ELEMENTWISE_COUNT
};

/* out[i] = f(in[0][i], in[1][i], ...). The operands of a gradient are g, those of the line
 * (x, or a, b, c), and y. */
typedef void heed_kernel(int64_t n, const void *const *in, void *out);

/* out = f(in...) row by row, as softmax. A row has n adjacent elements; rows start `step` elements
 * apart. */
typedef struct heed_rows {
    int64_t count, n;
    const void *in[2]; /* x; or of a gradient g and y */
    int64_t step[2];
    void *out;
    int64_t out_step;
} heed_rows;
typedef void heed_row_kernel(const heed_rows *rows);

/* y = one element, reduced from a row of n, which may be 0 unless stated; args are the kernel's
 * own. */
typedef void heed_reduce_kernel(int64_t n, const void *x, const void *args, void *y);

/* The args of var, whose root is the standard deviation, and of norm. */
typedef struct heed_var_args {
    double divisor;
    bool root;
} heed_var_args;
typedef struct heed_norm_args {
    double p;
} heed_norm_args;

/* A partial sum: floats are summed in double, integers in i64. */
typedef union heed_total {
    double of_floats;
    int64_t of_integers;
} heed_total;

/* c (m, n) = a (m, k) b (k, n) + bias, or c += a b with accumulate. The bias is added to the
 * rounded sum: one call has the bits of a product followed by an addition. */
typedef struct heed_gemm {
    int64_t m, n, k;
    const void *a, *b;
    /* Strides in elements; where a dim has size 1, its stride is 1 too. c's columns are
     * adjacent. */
    int64_t a_row, a_col, b_row, b_col, c_row;
    void *c, *workspace; /* gemm_workspace bytes; NULL: smaller blocks, on the stack */
    const void *bias;    /* (n), or NULL; not together with accumulate */
    bool accumulate;
} heed_gemm;

/* A matrix: rows start `row` elements apart, columns `col`. */
typedef struct heed_matrix {
    void *data;
    int64_t row, col;
} heed_matrix;

/* Attention of one head, y = softmax(scale q k^T, masked) v, with L queries and S keys, and its
 * gradients. The columns of y, g, dq, dk and dv are adjacent. */
typedef struct heed_attention {
    int64_t queries, keys, features, values; /* L, S, E, Ev */
    heed_matrix q, k, v, y;                  /* (L, E) (S, E) (S, Ev) (L, Ev) */
    heed_matrix g, dq, dk, dv;               /* gradients: g as y, the others as q, k, v */
    heed_matrix keep, bias; /* (L, S): a bool mask, or one that is added; data NULL: none */
    double scale;
    bool is_causal;
    int64_t rows;    /* queries of a block */
    int64_t columns; /* keys of a tile: a multiple of HEED_ATTENTION_STEP */
    void *workspace; /* heed_attention_workspace bytes, best aligned to 64 */
} heed_attention;

enum { HEED_ATTENTION_STEP = 32 };

/* Elements that a row of scores takes in the workspace. */
static inline int64_t heed_attention_width(int64_t keys)
{
    return (keys + HEED_ATTENTION_STEP - 1) / HEED_ATTENTION_STEP * HEED_ATTENTION_STEP;
}

/* Bytes of workspace for elements of `size` bytes: for each query of a block its scaled features,
 * its scores against a tile, or for gradients against all keys, twice, and three numbers. */
static inline size_t heed_attention_workspace(const heed_attention *call, bool is_gradient,
                                              size_t size)
{
    const int64_t wide = is_gradient ? 2 * heed_attention_width(call->keys) : call->columns;
    return (size_t)call->rows * ((size_t)(wide + call->features + 2) * size + sizeof(double));
}

/* layer_norm (centred) and rms_norm of rows, and their gradients; norm_rows.c has the formulas. */
typedef struct heed_normalization {
    int64_t rows, n;
    const void *x, *g;         /* (rows, n); g = dL/dy */
    void *y, *dx;              /* (rows, n) */
    const void *weight, *bias; /* (n) */
    double *totals;            /* (2, n): dweight and dbias are added to these */
    double eps;
    bool centred;
} heed_normalization;

/* What all elements of a step of SGD have in common, with a buffer b where there is momentum:
 *
 *   d = g + decay p;  b = first ? d : momentum b + fresh d;  d = b, or d + momentum b with nesterov
 *   p = p - lr d */
typedef struct heed_sgd_terms {
    double lr, decay, momentum, fresh;
    bool first, nesterov;
} heed_sgd_terms;

/* What all elements of a step of Adam have in common:
 *
 *   d = g + decay p;  m = m + new1 (d - m);  v = beta2 v + new2 d^2
 *   p = shrink p - size m / (sqrt(v) correction + eps) */
typedef struct heed_adam_terms {
    double decay, new1, new2, beta2, shrink, size, correction, eps;
} heed_adam_terms;

/* to[r, c] = from[r, c], cast. Strides are in elements; the columns of `to` are adjacent. */
typedef struct heed_plane {
    int64_t rows, columns;
    const void *from;
    int64_t from_row, from_column;
    void *to;
    int64_t to_row;
} heed_plane;

/* All kernels of one dtype. NULL where an operation does not exist for it. */
typedef struct heed_kernels {
    struct {
        heed_kernel *forward, *gradient[3]; /* forward: of T to T, or to bool where it compares */
    } elementwise[HEED_ELEMENTWISE_COUNT];
    heed_kernel *where; /* bool, T, T -> T */

    /* to[i] = from[i * stride], cast from the dtype that is the index; the same for planes */
    void (*gather[HEED_DTYPES])(int64_t n, const void *from, int64_t stride, void *to);
    void (*gather_rows[HEED_DTYPES])(const heed_plane *plane);
    void (*scatter)(int64_t n, const void *from, void *to, int64_t stride); /* to[i * stride] */
    void (*add_into)(int64_t n, const void *x, void *y);                    /* y += x */

    /* y[i] = x[p(i)], and y[p(i)] += x[i] in order, with p(i) = i * step + index[i * index_step] *
     * along */
    void (*look_up)(int64_t n, const int64_t *index, int64_t index_step, const void *x,
                    int64_t step, int64_t along, void *y);
    void (*add_at)(int64_t n, const int64_t *index, int64_t index_step, const void *x, void *y,
                   int64_t step, int64_t along);

    /* totals[r] += the sum of row r; totals[i] += that of column i; rows start `step` elements
     * apart */
    void (*sum)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals);
    void (*sum_columns)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals);
    void (*from_totals)(int64_t n, const heed_total *totals, double divisor, void *y);

    heed_row_kernel *softmax, *safe_softmax, *log_softmax, *cumsum;
    heed_row_kernel *softmax_gradient, *log_softmax_gradient; /* in: g, y */
    heed_row_kernel *exp_totals; /* out: two doubles a row, max x and the sum of e^(x - max) */
    void (*scaled_exps)(int64_t n, const void *x, double shift, double scale, void *out);
    heed_reduce_kernel *amax, *amin;     /* n > 0 */
    heed_reduce_kernel *argmax, *argmin; /* n > 0; y is i64 */
    heed_reduce_kernel *any, *all;       /* y is bool */
    heed_reduce_kernel *logsumexp, *var, *norm;

    void (*gemm)(const heed_gemm *call);
    int64_t (*gemm_workspace)(const heed_gemm *call);          /* bytes of call->workspace */
    void (*attend)(const heed_attention *call, int64_t block); /* y of one block of queries */
    void (*attend_gradient)(const heed_attention *call);       /* dq, dk, dv */
    void (*normalize)(const heed_normalization *call);         /* y */
    void (*normalize_gradient)(
        const heed_normalization *call); /* dx, totals; reads no bias, no y */

    void (*scale)(int64_t n, void *x, double factor); /* x *= factor */
    void (*sgd)(int64_t n, void *p, const void *g, void *b, const heed_sgd_terms *terms);
    void (*adam)(int64_t n, void *p, const void *g, void *m, void *v, const heed_adam_terms *terms);
} heed_kernels;

/* ---- choosing (isa.c) ---- */

/* heed_choose_isa: takes the best instruction set of the machine, or the one that HEED_ISA names;
 * called for the first tensor. HEED_ERR_VALUE: this build or machine does not support it. */
heed_status heed_choose_isa(void);

extern const heed_kernels *const *heed_chosen_kernels; /* per dtype; NULL until chosen */

static inline const heed_kernels *heed_kernels_for(heed_dtype dtype)
{
    return heed_chosen_kernels[dtype];
}

#endif
