/* The kernels: arithmetic on raw memory, behind one table per instruction set and dtype (internal).
 *
 * A kernel sees pointers to contiguous elements and counts, never a tensor; strides, casts and
 * broadcasting are iterate.h's. Strides are taken by gemm, because it packs, and attention, which
 * multiplies with it; by those that gather and scatter, and by those that index; and between whole lines
 * or rows.
 */
#ifndef HEED_TENSOR_KERNELS_H
#define HEED_TENSOR_KERNELS_H

#include "../tensor.h"
#include "../update.h"
#include "attention_tiles.h"

/* One number for each line of ops.def. */
enum heed_elementwise {
#define UNARY(name, kind, f, dx)           HEED_##name,
#define BINARY(name, kind, f, da, db)      HEED_##name,
#define TERNARY(name, kind, f, da, db, dc) HEED_##name,
#define BOUNDS(name, kind, f, da)          HEED_##name,
#include "ops.def"
    HEED_ELEMENTWISE_COUNT
};
enum heed_comparison {
#define COMPARE(name, f)   HEED_##name,
#define LOGICAL(name, f)   HEED_##name,
#define PREDICATE(name, f) HEED_##name,
#include "ops.def"
    HEED_COMPARISON_COUNT
};

/* out[i] = f(in[0][i], in[1][i], ...). The operands of a gradient are g, those of the line
 * (x, or a, b, c), and y. */
typedef void heed_kernel(int64_t n, const void *const *in, void *out);

/* out = f(in...) line by line, as softmax. A line has n adjacent elements; from one to the next there are
 * so many as its step says. */
typedef struct heed_lines {
    int64_t count, n;
    const void *in[2]; /* x; or of a gradient g and y */
    int64_t step[2];
    void *out;
    int64_t out_step;
} heed_lines;
typedef void heed_line_kernel(const heed_lines *lines);

/* y = one element, made of a line of n (perhaps none, but where that has no answer); args are the
 * kernel's own. */
typedef void heed_fold_kernel(int64_t n, const void *x, const void *args, void *y);

/* The args of var, which gives the root of it as well, and of norm. */
typedef struct heed_var_args {
    double divisor;
    bool root;
} heed_var_args;
typedef struct heed_norm_args {
    double p;
} heed_norm_args;

/* A sum on its way: floats are summed in double, integers in i64. */
typedef union heed_total {
    double of_floats;
    int64_t of_integers;
} heed_total;

/* c (m, n, row stride rc) = a (m, k) b (k, n), or += where accumulate; or = a b + bias in each row, which is
 * added to the rounded sum, so that one call has the bits of a product and an addition. */
typedef struct heed_gemm {
    int64_t m, n, k;
    const void *a, *b;
    /* Strides in elements, of a dim of size 1 also 1; c's columns are adjacent. */
    int64_t a_row, a_col, b_row, b_col, c_row;
    void *c, *room;   /* room: gemm_room bytes to work in, or NULL: smaller blocks */
    const void *bias; /* (n), or NULL; not together with accumulate */
    bool accumulate;
} heed_gemm;

/* layer_norm (centred) and rms_norm of rows, and their gradients; autograd/ops/normalize.h has the formulas. */
typedef struct heed_normalization {
    int64_t rows, n;
    const void *x, *g;         /* (rows, n); g = dL/dy */
    void *y, *dx;              /* (rows, n) */
    const void *weight, *bias; /* (n) */
    double *totals;            /* (2, n): dweight and dbias are added to these */
    double eps;
    bool centred;
} heed_normalization;

/* What all elements of a step of Adam have in common:
 *
 *   d = g + decay p;  m = m + new1 (d - m);  v = beta2 v + new2 d^2
 *   p = shrink p - size m / (sqrt(v) correction + eps) */
typedef struct heed_adam_terms {
    double decay, new1, new2, beta2, shrink, size, correction, eps;
} heed_adam_terms;

/* to[r, c] = from[r, c], cast: elements of `to` lie side by side in a row, the other strides are in elements. */
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
        heed_kernel *forward, *gradient[3];
    } elementwise[HEED_ELEMENTWISE_COUNT];
    heed_kernel *compare[HEED_COMPARISON_COUNT];
    heed_kernel *where; /* bool, T, T -> T */

    /* n elements of another dtype, `stride` apart, cast; and elements to places `stride` apart */
    void (*gather[HEED_DTYPES])(int64_t n, const void *from, int64_t stride, void *to);
    void (*gather_rows[HEED_DTYPES])(const heed_plane *plane);
    void (*scatter)(int64_t n, const void *from, void *to, int64_t stride);
    void (*add_into)(int64_t n, const void *x, void *y); /* y += x */

    /* y[i] = x[i * step + index[i * index_step] * along]; the same places of y += x[i], in order */
    void (*look_up)(int64_t n, const int64_t *index, int64_t index_step, const void *x,
                    int64_t step, int64_t along, void *y);
    void (*add_at)(int64_t n, const int64_t *index, int64_t index_step, const void *x, void *y,
                   int64_t step, int64_t along);

    /* adds each row of those that begin `step` elements apart to its own total; and each column */
    void (*sum)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals);
    void (*sum_columns)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals);
    void (*from_totals)(int64_t n, const heed_total *totals, double divisor, void *y);

    heed_line_kernel *softmax, *safe_softmax, *log_softmax, *cumsum;
    heed_line_kernel *softmax_gradient, *log_softmax_gradient;
    heed_line_kernel *exp_totals; /* two doubles of each line: max, and the sum of e^(x - max) */
    void (*scaled_exps)(int64_t n, const void *x, double shift, double scale, void *out);
    heed_fold_kernel *amax, *amin;     /* n > 0 */
    heed_fold_kernel *argmax, *argmin; /* n > 0; y is i64 */
    heed_fold_kernel *any, *all;       /* y is bool */
    heed_fold_kernel *logsumexp, *var, *norm;
    void (*gemm)(const heed_gemm *call);
    int64_t (*gemm_room)(const heed_gemm *call);               /* bytes of call->room */
    void (*attend)(const heed_attention *call, int64_t block); /* y of one block of queries */
    void (*attend_gradient)(const heed_attention *call);       /* dq, dk, dv */
    void (*normalize)(const heed_normalization *call);         /* y */
    void (*normalize_gradient)(
        const heed_normalization *call);              /* dx, dweight, dbias; no bias, no y */
    void (*scale)(int64_t n, void *x, double factor); /* x *= factor */
    void (*sgd)(int64_t n, void *p, const void *g, void *momentum, const heed_sgd_step *step);
    void (*adam)(int64_t n, void *p, const void *g, void *m, void *v, const heed_adam_terms *terms);
} heed_kernels;

/* ---- choosing (isa.c) ---- */

/* heed_choose_isa: at the first tensor: the best instruction set that the machine has, or the one
 * that HEED_ISA names. HEED_ERR_VALUE: that one does not exist here. */
heed_status heed_choose_isa(void);

extern const heed_kernels *const *heed_chosen_kernels; /* per dtype; NULL until chosen */

static inline const heed_kernels *heed_kernels_for(heed_dtype dtype)
{
    return heed_chosen_kernels[dtype];
}

#endif
