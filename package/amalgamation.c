/* Heed in one file, made from its sources by `make amalgamation`. With gcc or clang:
 *
 *     cc -O3 -march=native -c heed.c
 *     cc mine.c heed.o -lm -pthread
 *
 * The kernels are compiled for the instruction set that the flags select: v4 (AVX-512), v3 (AVX2,
 * FMA, BMI2) or baseline. On machines without it, programs end with an illegal instruction; the
 * library has all three and chooses at run time. Results are bit-identical to the library's with
 * the same compiler and instruction set.
 *
 * gcc compiles the kernels with -O3 even if the flag is -O1 or -O2; clang does not. With clang, add
 * -fwrapv if i64 arithmetic may overflow. -DHEED_DEBUG reports mistakes in programs.
 *
 * The internal headers and sources follow in the order of their folders, then the kernels. The file
 * includes itself as "heed.c" to compile the kernels once per dtype: keep its name. Local names that
 * several files define end in the file's name; those of the kernels become names of the dtype.
 *
@LICENCE@
 */
#ifndef KERNELS /* else it includes itself to compile the kernels of one dtype */

/* Features of the C library: POSIX 2008, madvise and, on Linux, sched_getaffinity. */
#undef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#if defined __linux__ && !defined _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _DARWIN_C_SOURCE
#define _DARWIN_C_SOURCE
#endif

#ifdef __cplusplus
#error "heed.c is C: compile it with a C compiler, and link heed.o"
#endif
#ifdef __FAST_MATH__
#error "masks use -inf and NaN must propagate: build without -ffast-math"
#endif
#if defined __i386__ && !defined __SSE2_MATH__
#error "x87 rounds to extended precision: build with -msse2 -mfpmath=sse"
#endif

/* The instruction set of the kernels. */
#if defined __AVX512F__ && !(defined __AVX512BW__ && defined __AVX512CD__ &&                       \
                             defined __AVX512DQ__ && defined __AVX512VL__)
#error "AVX-512 needs F, BW, CD, DQ and VL: add the others, or -mno-avx512f"
#endif
#if defined __AVX2__ && defined __FMA__ && defined __BMI2__
#ifdef __AVX512F__
#define HEED_ISAS(X)    X(v4)
#define HEED_TABLE_F32  heed_kernels_v4_f32
#define HEED_TABLE_F64  heed_kernels_v4_f64
#else
#define HEED_ISAS(X)    X(v3)
#define HEED_TABLE_F32  heed_kernels_v3_f32
#define HEED_TABLE_F64  heed_kernels_v3_f64
#endif
#else
#define HEED_ISAS(X)    X(baseline)
#define HEED_TABLE_F32  heed_kernels_baseline_f32
#define HEED_TABLE_F64  heed_kernels_baseline_f64
#endif
#define HEED_TABLE_I64  heed_kernels_baseline_i64
#define HEED_TABLE_BOOL heed_kernels_baseline_bool

/* Multiplications and additions are fused in kernels only. To gcc, a pragma tells this for the rest
 * of the file; to clang, for each operation, so that the functions of immintrin.h need it too. */
#ifdef __clang__
#pragma clang fp contract(fast)
#elif defined __GNUC__
#if defined __x86_64__ || defined __i386__
#pragma GCC target("tune=generic,prefer-vector-width=512") /* others fuse less */
#endif
#pragma GCC optimize("fp-contract=off")
/* False positives once everything is inlined: heed_fail always returns an error. */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wformat-truncation"
#endif

@SYSTEM@

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#include "heed.h"

/* Functions that never set errno: so that loops with square roots are vectorised. */
#ifdef __GNUC__
float sqrtf(float x) __attribute__((const));
double sqrt(double x) __attribute__((const));
#endif

/* With _GNU_SOURCE, glibc's strerror_r returns a string; this is the one of POSIX. */
#ifdef __GLIBC__
int __xpg_strerror_r(int error, char *text, size_t size);
#define strerror_r __xpg_strerror_r
#endif

#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif

@SOURCES@

/* ==== the kernels, compiled for each dtype ========================================= */

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function" /* not every dtype uses all helpers */
#endif
#ifdef __clang__
#pragma clang fp contract(fast)
#elif defined __GNUC__
#pragma GCC push_options
#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif
#pragma GCC optimize("fp-contract=fast", "no-math-errno", "no-trapping-math", "wrapv")
#endif

#define T_IS_F32
#define KERNELS HEED_TABLE_F32
#include "heed.c"
#undef KERNELS
#undef T_IS_F32
#define T_IS_F64
#define KERNELS HEED_TABLE_F64
#include "heed.c"
#undef KERNELS
#undef T_IS_F64
#define T_IS_I64
#define KERNELS HEED_TABLE_I64
#include "heed.c"
#undef KERNELS
#undef T_IS_I64
#define T_IS_BOOL
#define KERNELS HEED_TABLE_BOOL
#include "heed.c"
#undef KERNELS
#undef T_IS_BOOL

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __GNUC__
#pragma GCC pop_options
#endif

#ifdef __GNUC__
#pragma GCC diagnostic pop
#pragma GCC visibility pop
#endif

#elif !defined SUM /* ==== the kernels of one dtype ======================================= */

@KERNELS@

#else /* ==== the tiles of products, for one type of sums ================================== */

@TEMPLATE@
#endif
