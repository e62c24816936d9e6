/* What one compilation of a file of kernels works on: the element type T (internal). */
#ifndef HEED_TENSOR_KERNELS_DTYPE_H
#define HEED_TENSOR_KERNELS_DTYPE_H

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

/* VALUE is what formulas compute with. To bool, + is or, * is and. */
#ifdef T_IS_BOOL
typedef int VALUE;
#define RESULT(x) ((x) != 0)
#else
typedef T VALUE;
#define RESULT(x) ((T)(x))
#endif

#if defined T_IS_F32 || defined T_IS_F64
typedef double TOTAL; /* what sums are kept in */
#define OF_TOTAL of_floats
#else
typedef int64_t TOTAL;
#define OF_TOTAL of_integers
#endif

/* How wide the vectors of this compilation are. */
#if defined __AVX512F__
#define VECTOR_BYTES 64
#elif defined __AVX__
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

/* Before a loop of a few steps, whose arrays are to become registers. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define PASTE(a, b)       a##b
#define PASTED(a, b)      PASTE(a, b)
#define KERNELS_GEMM      PASTED(KERNELS, _gemm)
#define KERNELS_GEMM_ROOM PASTED(KERNELS, _gemm_room)
void KERNELS_GEMM(const heed_gemm *call);
int64_t KERNELS_GEMM_ROOM(const heed_gemm *call);

/* The kernels of lines.c and exponentials.c. */
#define LINES(name) PASTED(KERNELS, _##name)
heed_line_kernel LINES(softmax), LINES(safe_softmax), LINES(log_softmax), LINES(cumsum);
heed_line_kernel LINES(softmax_gradient), LINES(log_softmax_gradient), LINES(exp_totals);
void LINES(scaled_exps)(int64_t n, const void *x, double shift, double scale, void *out);
heed_fold_kernel LINES(amax), LINES(amin), LINES(argmax), LINES(argmin), LINES(any), LINES(all);
heed_fold_kernel LINES(logsumexp), LINES(var), LINES(norm);
void LINES(sum)(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals);

/* Line i of an operand of lines. */
#define IN(lines, k, i) ((const T *)(lines)->in[k] + (i) * (lines)->step[k])
#define OUT(lines, i)   ((T *)(lines)->out + (i) * (lines)->out_step)

/* Those of optimise.c. */
void LINES(scale)(int64_t n, void *x, double factor);
void LINES(sgd)(int64_t n, void *p, const void *g, void *b, const heed_sgd_terms *terms);
void LINES(adam)(int64_t n, void *p, const void *g, void *m, void *v, const heed_adam_terms *terms);

/* Those of attention.c. */
void LINES(attend)(const heed_attention *call, int64_t block);
void LINES(attend_gradient)(const heed_attention *call);

/* Those of normalize.c. */
#define NORMALIZE(name) PASTED(KERNELS, _##name)
void NORMALIZE(normalize)(const heed_normalization *call);
void NORMALIZE(normalize_gradient)(const heed_normalization *call);

#endif
