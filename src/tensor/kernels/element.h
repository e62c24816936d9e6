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

/* The full name of a kernel. Macros that paste the names of functions use it too. */
#define PASTE(a, b)  a##b
#define PASTED(a, b) PASTE(a, b)
#define KERNEL(name) PASTED(KERNELS, _##name)

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

/* The kernels in the table that other files define: for all dtypes, for all but bool, for floats.
 */
#define OF_ALL(X)     X(sum) X(sum_columns) X(from_totals) X(amax) X(amin)
#define OF_NUMBERS(X) X(argmax) X(argmin) X(cumsum) X(gemm) X(gemm_workspace)
#define OF_SOFTMAX(X)                                                                              \
    X(softmax) X(safe_softmax) X(log_softmax) X(softmax_gradient) X(log_softmax_gradient)
#define OF_FLOATS(X)                                                                               \
    OF_SOFTMAX(X)                                                                                  \
    X(exp_totals)                                                                                  \
    X(scaled_exps)                                                                                 \
    X(logsumexp)                                                                                   \
    X(var)                                                                                         \
    X(norm) X(scale) X(sgd) X(adam) X(normalize) X(normalize_gradient) X(attend) X(attend_gradient)
#if defined T_IS_F32 || defined T_IS_F64
#define OTHER_KERNELS(X) OF_ALL(X) OF_NUMBERS(X) OF_FLOATS(X)
#elif defined T_IS_I64
#define OTHER_KERNELS(X) OF_ALL(X) OF_NUMBERS(X)
#else
#define OTHER_KERNELS(X) OF_ALL(X)
#endif
#define DECLARE(name) __typeof__(*((heed_kernels *)0)->name) KERNEL(name);
OTHER_KERNELS(DECLARE)

/* IN: row i of operand k of a heed_row_kernel. OUT: row i of its result. */
#define IN(rows, k, i) ((const T *)(rows)->in[k] + (i) * (rows)->step[k])
#define OUT(rows, i)   ((T *)(rows)->out + (i) * (rows)->out_step)

#endif
