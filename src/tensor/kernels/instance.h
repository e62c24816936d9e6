/* The kernels of one dtype, compiled for one instruction set (internal). v4_f32.c and the other
 * files of its kind include this file, after they defined
 *
 *     KERNELS      the name of the table and the prefix of its kernels: heed_kernels_v4_f32, ...
 *     ISA          1: baseline, 3: AVX2, FMA and BMI2 (v3), 4: AVX-512 as well (v4)
 *     T_IS_F32 ... the dtype: one of T_IS_F32, T_IS_F64, T_IS_I64, T_IS_BOOL
 *
 * Pragmas choose the instruction set, let multiplications and additions fuse, and let i64 wrap, so
 * that no compiler flags are needed. Headers are included before the pragmas, which would apply to
 * their functions too. gcc's pragmas define __AVX2__ and the like, clang's do not: test ISA. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels.h"

#if ISA == 1 || defined __x86_64__ /* to the end */

#ifdef __x86_64__
#include <immintrin.h>
#endif

#ifdef __FAST_MATH__
#error "masks use -inf and NaN must propagate: build without -ffast-math"
#endif

/* They never set errno here, so that loops with square roots are vectorised. */
float sqrtf(float x) __attribute__((const));
double sqrt(double x) __attribute__((const));

#ifdef __clang__
#pragma clang fp contract(fast)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed" /* with sanitizers, some loops are not unrolled   \
                                                  */
#pragma clang attribute push(__attribute__((no_sanitize("signed-integer-overflow"))),              \
                             apply_to = function)
#if ISA == 4
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx2,fma,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"))),          \
    apply_to = function)
#elif ISA == 3
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi2"))), apply_to = function)
#endif
#else
#pragma GCC push_options
#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif
#pragma GCC optimize("fp-contract=fast", "no-math-errno", "no-trapping-math", "wrapv")
#if ISA == 4
#pragma GCC target("avx2,fma,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")
#elif ISA == 3
#pragma GCC target("avx2,fma,bmi2")
#endif
#endif

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
#define IS_FLOAT
typedef double TOTAL; /* the type of sums */
#define OF_TOTAL of_floats
#else
typedef int64_t TOTAL;
#define OF_TOTAL of_integers
#endif

/* The vector width, in bytes and in elements. */
#if ISA == 4
#define VECTOR_BYTES 64
#elif ISA == 3
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

/* The kernels in the table but those of table.h: for all dtypes, for all but bool, for floats. */
#define OF_ALL(X)     X(sum) X(sum_columns) X(from_totals) X(amax) X(amin)
#define OF_NUMBERS(X) X(argmax) X(gemm) X(gemm_workspace)
#define OF_SOFTMAX(X)                                                                              \
    X(softmax) X(safe_softmax) X(log_softmax) X(softmax_gradient) X(log_softmax_gradient)
#define OF_FLOATS(X)                                                                               \
    OF_SOFTMAX(X)                                                                                  \
    X(exp_totals)                                                                                  \
    X(scaled_exps)                                                                                 \
    X(norm) X(scale) X(sgd) X(adam) X(normalise) X(normalise_gradient) X(attend) X(attend_gradient)
#ifdef IS_FLOAT
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

/* ---- the files, in an order in which their names do not clash ---- */

/* clang-format off */
#ifdef T_IS_F32
#include "math_f32.h"
#endif
#include "rows.h"
#ifdef IS_FLOAT
#include "softmax_rows.h"
#include "layer_norm.h"
#include "attention_head.h"
#include "optimiser_steps.h"
#endif
#ifndef T_IS_BOOL
#include "gemm_transpose.h"
#include "gemm.h"
#endif
#include "move.h"
#include "table.h"
/* clang-format on */

#ifdef __clang__
#if ISA > 1
#pragma clang attribute pop
#endif
#pragma clang attribute pop
#pragma clang diagnostic pop
#else
#pragma GCC pop_options
#endif

#endif
