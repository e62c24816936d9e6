/* The table of kernels, and the element-wise kernels: each line of ops.def becomes a loop
 *
 *     out[i] = f(x[i])      out[i] = f(a[i], b[i])      out[i] = dx(g[i], x[i], y[i])
 *
 * over n contiguous elements; `out` overlaps no operand. The compiler vectorises the loops; exp of
 * f32 uses explicit vectors with AVX-512 (math_f32.h). For floats there are kernels for every
 * line and its gradients; for integers, only for lines whose kind does not cast them to float, and
 * none for gradients. */

/* ---- the vocabulary of ops.def ---- */

#define where(condition, then, otherwise) ((condition) ? (then) : (otherwise))
#define sign(x)                           where((x) > 0, 1, where((x) < 0, -1, 0))
#define real(decimal)                     ((T)(decimal))
#define pi                                real(3.14159265358979323846)
#define tanh_bend(x)                      KERNEL(tanh_bend)(x) /* from a DEFINE line */

#ifdef T_IS_F32
#define normal_cdf(x)    normal_cdf_f32(x)
#define sqrt(x)          sqrtf(x)
#define pow(a, b)        powf(a, b)
#define abs(x)           fabsf(x)
#define floor(x)         floorf(x)
#define exp(x)           exp_f32(x)
#define log(x)           log_f32(x)
#define sin(x)           sin_f32(x)
#define cos(x)           cos_f32(x)
#define tanh(x)          tanh_f32(x)
#define erf(x)           erf_f32(x)
#define sigmoid(x)       sigmoid_f32(x)
#define sigmoid_slope(x) sigmoid_slope_f32(x)
#elif defined T_IS_F64
#define sigmoid(x)       (1 / (1 + exp(-(x))))
#define sigmoid_slope(x) KERNEL(sigmoid_slope)(x)
#define normal_cdf(x)    KERNEL(normal_cdf)(x)
#define abs(x)           fabs(x)
#else
#define abs(x)   where((x) < 0, -(x), x)
#define floor(x) (x)
#endif
#undef isnan
#define isnan(x) IS_NAN(x)
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
#define OPERAND(name, place)                                                                       \
    const VALUE name = ((const T *)in[place])[i];                                                  \
    (void)name;
#define LOOP(name, start, operands, formula)                                                       \
    static void KERNEL(name)(int64_t n, const void *const *in, void *restrict out)                 \
    {                                                                                              \
        T *result = out;                                                                           \
        for (int64_t i = start; i < n; i++) {                                                      \
            operands result[i] = RESULT(formula);                                                  \
        }                                                                                          \
    }
/* The number of elements that explicit vectors have computed. */
#ifdef EXP_IN_VECTORS
#define DONE(op) (HEED_OP_##op == HEED_OP_exp ? exps_in_vectors(n, in[0], out) : 0)
#else
#define DONE(op) 0
#endif
#define OPERAND_X     OPERAND(x, 0)
#define OPERANDS_AB   OPERAND(a, 0) OPERAND(b, 1)
#define OPERANDS_GXY  OPERAND(g, 0) OPERAND(x, 1) OPERAND(y, 2)
#define OPERANDS_GABY OPERAND(g, 0) OPERAND(a, 1) OPERAND(b, 2) OPERAND(y, 3)

#ifdef IS_FLOAT
#define FORWARD(name, kind, read, f) LOOP(name##_forward, DONE(name), read, f)
#define GRADIENT(name, read, d)      LOOP(name, 0, read, d)
#define DEFINE(name, x, f)                                                                         \
    static inline __attribute__((always_inline, unused)) VALUE KERNEL(name)(VALUE x)               \
    {                                                                                              \
        return f;                                                                                  \
    }
#else
#define FORWARD(name, kind, read, f) FORWARD_##kind(name, read, f)
#define FORWARD_ANY(name, read, f)   LOOP(name##_forward, 0, read, f)
#define FORWARD_FLOAT(name, read, f)
#define GRADIENT(name, read, d)
#ifdef T_IS_I64
#define FORWARD_NUMBER FORWARD_ANY
#else
#define FORWARD_NUMBER FORWARD_FLOAT
#endif
#endif
#define UNARY(name, kind, f, dx)                                                                   \
    FORWARD(name, kind, OPERAND_X, f)                                                              \
    GRADIENT(name##_dx, OPERANDS_GXY, dx)
#define BINARY(name, kind, f, da, db)                                                              \
    FORWARD(name, kind, OPERANDS_AB, f)                                                            \
    GRADIENT(name##_da, OPERANDS_GABY, da)                                                         \
    GRADIENT(name##_db, OPERANDS_GABY, db)
#define TRUTH(name, read, f)                                                                       \
    static void KERNEL(name##_truth)(int64_t n, const void *const *in, void *restrict out)         \
    {                                                                                              \
        bool *result = out;                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                          \
            read result[i] = f;                                                                    \
        }                                                                                          \
    }
#define COMPARE(name, f)   TRUTH(name, OPERANDS_AB, f)
#define LOGICAL(name, f)   TRUTH(name, OPERANDS_AB, f)
#define PREDICATE(name, f) TRUTH(name, OPERAND_X, f)
#include "ops.def"

static void choose_where(int64_t n, const void *const *in, void *restrict out)
{
    const unsigned char *condition = in[0]; /* loads of bool are not vectorised */
    const T *a = in[1], *b = in[2];
    T *y = out;
    for (int64_t i = 0; i < n; i++) {
        const T then = a[i], otherwise = b[i];
        y[i] = condition[i] != 0 ? then : otherwise;
    }
}

/* ---- the table ---- */

#ifdef IS_FLOAT
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
