/* The table of kernels, and the element-wise kernels: each line of ops.def becomes a loop
 *
 *     out[i] = f(x[i])      out[i] = f(a[i], b[i])      out[i] = dx(g[i], x[i], y[i])
 *
 * over n contiguous elements; `out` overlaps no operand. The compiler vectorises the loops; f32
 * with AVX-512 uses explicit vectors (avx512.h). For floats there are kernels for every line
 * and its gradients; for integers, only for lines whose kind does not cast them to float, and none
 * for gradients. */
#include <math.h>
#include <string.h>

#include "element.h"
#include "move.h"

#ifdef T_IS_F32
#include "math_f32.h"
#include "trig_f32.h"
#endif

/* ---- the vocabulary of ops.def ---- */

#if defined T_IS_F32 && defined __AVX512F__
#define IN_VECTORS
#include "avx512.h"
#endif

#define sign(x)       where((x) > 0, 1, where((x) < 0, -1, 0))
#define real(decimal) ((T)(decimal))
#define pi            real(3.14159265358979323846)
#define tanh_bend(x)  KERNEL(tanh_bend)(x) /* from a DEFINE line */
#ifdef IN_VECTORS
#define where(condition, then, otherwise)                                                          \
    where_lanes(condition, VECTOR_OF(then), VECTOR_OF(otherwise))
#else
#define where(condition, then, otherwise) ((condition) ? (then) : (otherwise))
#endif

#ifdef T_IS_F32
#ifdef IN_VECTORS
#define F32(name)     name##_lanes
#define normal_cdf(x) normal_cdf_lanes(x)
#define sqrt(x)       _Generic((x), vector : sqrt_lanes, default : sqrtf)(x)
#define pow(a, b)     pow_lanes(a, b)
#define abs(x)        abs_lanes(x)
#define floor(x)      floor_lanes(x)
#else
#define F32(name)     name##_f32
#define normal_cdf(x) normal_cdf_f32(x)
#define sqrt(x)       sqrtf(x)
#define pow(a, b)     powf(a, b)
#define abs(x)        fabsf(x)
#define floor(x)      floorf(x)
#endif
#define exp(x)           F32(exp)(x)
#define expm1(x)         F32(expm1)(x)
#define log(x)           F32(log)(x)
#define log1p(x)         F32(log1p)(x)
#define sin(x)           F32(sin)(x)
#define cos(x)           F32(cos)(x)
#define tanh(x)          F32(tanh)(x)
#define erf(x)           F32(erf)(x)
#define sigmoid(x)       F32(sigmoid)(x)
#define sigmoid_slope(x) F32(sigmoid_slope)(x)
#elif defined T_IS_F64
#define sigmoid(x)       (1 / (1 + exp(-(x))))
#define sigmoid_slope(x) KERNEL(sigmoid_slope)(x)
#define normal_cdf(x)    KERNEL(normal_cdf)(x)
#define abs(x)           fabs(x)
#else
#define abs(x)   where((x) < 0, -(x), x)
#define floor(x) (x)
#undef isnan
#define isnan(x) false
#endif
#ifdef T_IS_I64
#define pow(a, b) integer_power(a, b)
/* a^b modulo 2^64; for negative b, 1 / a^-b truncated to an integer. */
static T integer_power(T a, T b)
{
    if (b < 0) {
        return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
    }
    T y = 1;
    for (; b > 0; b /= 2, a *= a) {
        if (b % 2 != 0) {
            y *= a;
        }
    }
    return y;
}

#endif

/* Most lines read only some of their operands. */
#define ELEMENT(name, place)                                                                       \
    const VALUE name = ((const T *)in[place])[i];                                                  \
    (void)name;
#ifdef IN_VECTORS
/* 16 elements at a time, the rest with a mask. */
#define LOOP(name, operands, formula)                                                              \
    static inline vector KERNEL(name##_lanes)(int64_t i, __mmask16 some, bool all,                 \
                                              const void *const *in)                               \
    {                                                                                              \
        operands return VECTOR_OF(formula);                                                        \
    }                                                                                              \
    static void KERNEL(name)(int64_t n, const void *const *in, void *restrict out, bool stream)    \
    {                                                                                              \
        T *result = out;                                                                           \
        const bool past_cache = stream && (uintptr_t)out % VECTOR_BYTES == 0;                      \
        int64_t i = 0;                                                                             \
        _Pragma("GCC unroll 2") for (; i + WIDTH <= n; i += WIDTH)                                 \
        {                                                                                          \
            store_vector(result + i, KERNEL(name##_lanes)(i, 0, true, in), past_cache);            \
        }                                                                                          \
        if (i < n) {                                                                               \
            const __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);                               \
            _mm512_mask_storeu_ps(result + i, rest, KERNEL(name##_lanes)(i, rest, false, in));     \
        }                                                                                          \
        if (past_cache) {                                                                          \
            _mm_sfence();                                                                          \
        }                                                                                          \
    }
#define OPERAND_TYPE vector
#define OPERAND(name, place)                                                                       \
    const vector name = load_lanes((const T *)in[place] + i, some, all);                           \
    (void)name;
#else
#define LOOP(name, operands, formula)                                                              \
    static void KERNEL(name)(int64_t n, const void *const *in, void *restrict out, bool stream)    \
    {                                                                                              \
        T *result = out;                                                                           \
        (void)stream;                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            operands result[i] = RESULT(formula);                                                  \
        }                                                                                          \
    }
#define OPERAND_TYPE VALUE
#define OPERAND      ELEMENT
#endif
#define READ_X    OPERAND(x, 0)
#define READ_AB   OPERAND(a, 0) OPERAND(b, 1)
#define READ_GXY  OPERAND(g, 0) OPERAND(x, 1) OPERAND(y, 2)
#define READ_GABY OPERAND(g, 0) OPERAND(a, 1) OPERAND(b, 2) OPERAND(y, 3)

#if defined T_IS_F32 || defined T_IS_F64
#define FORWARD(name, kind, read, f) LOOP(name##_forward, read, f)
#define GRADIENT                     LOOP
#define DEFINE(name, x, f)                                                                         \
    static inline __attribute__((always_inline)) OPERAND_TYPE KERNEL(name)(OPERAND_TYPE x)         \
    {                                                                                              \
        return f;                                                                                  \
    }
#else
#define FORWARD(name, kind, read, f) FORWARD_##kind(name, read, f)
#define FORWARD_ANY(name, read, f)   LOOP(name##_forward, read, f)
#define FORWARD_FLOAT(name, read, f)
#define GRADIENT(name, read, d)
#ifdef T_IS_I64
#define FORWARD_NUMBER FORWARD_ANY
#else
#define FORWARD_NUMBER FORWARD_FLOAT
#endif
#endif
#define UNARY(name, kind, f, dx)                                                                   \
    FORWARD(name, kind, READ_X, f)                                                                 \
    GRADIENT(name##_dx, READ_GXY, dx)
#define BINARY(name, kind, f, da, db)                                                              \
    FORWARD(name, kind, READ_AB, f)                                                                \
    GRADIENT(name##_da, READ_GABY, da)                                                             \
    GRADIENT(name##_db, READ_GABY, db)
#define TRUTH(name, read, f)                                                                       \
    static void KERNEL(name##_truth)(int64_t n, const void *const *in, void *restrict out,         \
                                     bool stream)                                                  \
    {                                                                                              \
        bool *result = out;                                                                        \
        (void)stream;                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            read result[i] = f;                                                                    \
        }                                                                                          \
    }
#define COMPARE(name, f)   TRUTH(name, ELEMENT(a, 0) ELEMENT(b, 1), f)
#define LOGICAL(name, f)   TRUTH(name, ELEMENT(a, 0) ELEMENT(b, 1), f)
#define PREDICATE(name, f) TRUTH(name, ELEMENT(x, 0), f)
#include "ops.def"

static void choose_where(int64_t n, const void *const *in, void *restrict out, bool stream)
{
    const unsigned char *condition = in[0]; /* loads of bool are not vectorised */
    const T *a = in[1], *b = in[2];
    T *y = out;
    (void)stream;
    for (int64_t i = 0; i < n; i++) {
        const T then = a[i], otherwise = b[i];
        y[i] = condition[i] != 0 ? then : otherwise;
    }
}

/* ---- the table ---- */

#if defined T_IS_F32 || defined T_IS_F64
#define ENTRY(name, kind, ...) [HEED_OP_##name] = {KERNEL(name##_forward), {__VA_ARGS__}},
#else
#define ENTRY(name, kind, ...) ENTRY_##kind(name)
#define ENTRY_ANY(name)        [HEED_OP_##name] = {KERNEL(name##_forward), {NULL}},
#define ENTRY_FLOAT(name)
#ifdef T_IS_I64
#define ENTRY_NUMBER ENTRY_ANY
#else
#define ENTRY_NUMBER ENTRY_FLOAT
#endif
#endif

const heed_kernels KERNELS = {.elementwise =
                                  {
#define UNARY(name, kind, f, dx)      ENTRY(name, kind, KERNEL(name##_dx))
#define BINARY(name, kind, f, da, db) ENTRY(name, kind, KERNEL(name##_da), KERNEL(name##_db))
#define COMPARE(name, f)              [HEED_OP_##name] = {KERNEL(name##_truth), {NULL}},
#define LOGICAL(name, f)              [HEED_OP_##name] = {KERNEL(name##_truth), {NULL}},
#define PREDICATE(name, f)            [HEED_OP_##name] = {KERNEL(name##_truth), {NULL}},
#include "ops.def"
                                  },
                              .where = choose_where,
                              .gather = {[HEED_F32] = KERNEL(gather_f32),
                                         [HEED_F64] = KERNEL(gather_f64),
                                         [HEED_I64] = KERNEL(gather_i64),
                                         [HEED_BOOL] = KERNEL(gather_bool)},
                              .gather_rows = {[HEED_F32] = KERNEL(gather_rows_f32),
                                              [HEED_F64] = KERNEL(gather_rows_f64),
                                              [HEED_I64] = KERNEL(gather_rows_i64),
                                              [HEED_BOOL] = KERNEL(gather_rows_bool)},
                              .scatter = KERNEL(scatter),
                              .add_into = KERNEL(add_into),
                              .look_up = KERNEL(look_up),
                              .add_at = KERNEL(add_at),
#define MEMBER(name) .name = KERNEL(name),
                              OTHER_KERNELS(MEMBER)};
