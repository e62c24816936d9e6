/* The element type T, its vectors and its kernel names, for one compilation of a kernel file
 * (internal). Kernel files are compiled with
 *
 *     KERNELS      the name of the table and the prefix of its kernels: heed_kernels_v4_f32, ...
 *     T_IS_F32 ... the dtype: one of T_IS_F32, T_IS_F64, T_IS_I64, T_IS_BOOL
 *
 * and with -ffp-contract=fast, so that multiplications and additions may fuse. */
#ifndef HEED_TENSOR_KERNELS_ELEMENT_H
#define HEED_TENSOR_KERNELS_ELEMENT_H

#ifdef __FAST_MATH__
#error "masks use -inf and NaN must propagate: build without -ffast-math"
#endif

#include "kernels.h"

#if defined T_IS_F32
typedef float T;
#elif defined T_IS_F64
typedef double T;
#elif defined T_IS_I64
typedef int64_t T;
#elif defined T_IS_BOOL
typedef bool T;
#else
#error "compile with one of T_IS_F32, T_IS_F64, T_IS_I64, T_IS_BOOL"
#endif

/* VALUE is the type in which formulas are evaluated. For bool, a sum is a logical or, and a product
 * is a logical and. */
#ifdef T_IS_BOOL
typedef int VALUE;
#define RESULT(x) ((x) != 0)
#else
typedef T VALUE;
#define RESULT(x) ((T)(x))
#endif

#if defined T_IS_F32 || defined T_IS_F64
typedef double TOTAL; /* the type of sums */
#define OF_TOTAL of_floats
#else
typedef int64_t TOTAL;
#define OF_TOTAL of_integers
#endif

/* The vector width, in bytes and in elements. */
#if defined __AVX512F__
#define VECTOR_BYTES 64
#elif defined __AVX__
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#ifdef T_IS_F32
#define WIDTH (VECTOR_BYTES / 4)
#else
#define WIDTH (VECTOR_BYTES / 8)
#endif
#ifndef T_IS_BOOL
typedef T vector __attribute__((vector_size(VECTOR_BYTES)));
#endif

/* UNROLL fully unrolls short loops, so that their arrays stay in registers. UNROLL_BY_4 saves three
 * of four branches and increments of a long loop. */
#ifdef __clang__
#define UNROLL      _Pragma("clang loop unroll(full)")
#define UNROLL_BY_4 _Pragma("clang loop unroll_count(4)")
#else
#define UNROLL      _Pragma("GCC unroll 16")
#define UNROLL_BY_4 _Pragma("GCC unroll 4")
#endif

/* Kernels that table.c lists and other files define. */
#define PASTE(a, b)  a##b
#define PASTED(a, b) PASTE(a, b)
#define KERNEL(name) PASTED(KERNELS, _##name)

/* rows.c */
void KERNEL(sum)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals);
void KERNEL(sum_columns)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals);
void KERNEL(from_totals)(int64_t n, const heed_total *totals, double divisor, void *y);
heed_reduce_kernel KERNEL(amax), KERNEL(amin), KERNEL(argmax), KERNEL(argmin);
heed_reduce_kernel KERNEL(any), KERNEL(all), KERNEL(var), KERNEL(norm);
heed_row_kernel KERNEL(cumsum), KERNEL(cumprod);

/* softmax_rows.c */
heed_row_kernel KERNEL(softmax), KERNEL(safe_softmax), KERNEL(log_softmax), KERNEL(exp_totals);
heed_row_kernel KERNEL(softmax_gradient), KERNEL(log_softmax_gradient);
heed_reduce_kernel KERNEL(logsumexp);
void KERNEL(scaled_exps)(int64_t n, const void *x, double shift, double scale, void *out);

/* norm_rows.c, attention_tiles.c, gemm.c */
void KERNEL(normalize)(const heed_normalization *call);
void KERNEL(normalize_gradient)(const heed_normalization *call);
void KERNEL(attend)(const heed_attention *call, int64_t block);
void KERNEL(attend_gradient)(const heed_attention *call, int64_t piece, int64_t pieces);
void KERNEL(gemm)(const heed_gemm *call);
int64_t KERNEL(gemm_workspace)(const heed_gemm *call);

/* optim_steps.c */
void KERNEL(scale)(int64_t n, void *x, double factor);
void KERNEL(sgd)(int64_t n, void *p, const void *g, void *b, const heed_sgd_terms *terms);
void KERNEL(adam)(int64_t n, void *p, const void *g, void *m, void *v,
                  const heed_adam_terms *terms);

/* IN: row i of operand k of a heed_row_kernel. OUT: row i of its result. */
#define IN(rows, k, i) ((const T *)(rows)->in[k] + (i) * (rows)->step[k])
#define OUT(rows, i)   ((T *)(rows)->out + (i) * (rows)->out_step)

#endif
