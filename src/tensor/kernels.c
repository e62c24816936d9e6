/* Arithmetic on raw memory. Compiled once for each instruction set and dtype, with
 *
 *     KERNELS      the name of the table that this compilation fills
 *     T_IS_F32 ... which dtype (exactly one of T_IS_F32, T_IS_F64, T_IS_I64, T_IS_BOOL)
 *
 * and with -ffp-contract=fast, so that multiplications and additions may fuse. Knows no tensor, no
 * stride, no error: what reaches it has been checked. */
#ifdef __FAST_MATH__
#error "masks are -inf and NaN must stay NaN: build without -ffast-math"
#endif

#include <math.h>
#include <string.h>

#include "tensor/kernels_dtype.h"
#include "tensor/kernels_math.h"

/* ---- element-wise: ops.def, expanded ---- */

/* The vocabulary of ops.def, for this dtype. */
#define where(condition, then, otherwise) ((condition) ? (then) : (otherwise))
#define sign(x)                           where((x) > 0, 1, where((x) < 0, -1, 0))
#define sigmoid(x)                        (1 / (1 + exp(-(x))))
#define reciprocal(x)                     (1 / (T)(x))
#define pi                                ((T)3.14159265358979323846)
#if defined T_IS_F32
#define exp(x)    exp_f32(x)
#define expm1(x)  expm1_f32(x)
#define log(x)    log_f32(x)
#define log1p(x)  log1p_f32(x)
#define sqrt(x)   sqrtf(x)
#define sin(x)    sinf(x)
#define cos(x)    cosf(x)
#define tanh(x)   tanh_f32(x)
#define erf(x)    erf_f32(x)
#define pow(a, b) powf(a, b)
#define abs(x)    fabsf(x)
#define floor(x)  floorf(x)
#define ceil(x)   ceilf(x)
#define trunc(x)  truncf(x)
#define round(x)  rintf(x) /* halves to even */
#elif defined T_IS_F64
#define abs(x)   fabs(x)
#define round(x) rint(x)
#else
#define abs(x)   where((x) < 0, -(x), x)
#define floor(x) (x)
#define ceil(x)  (x)
#define trunc(x) (x)
#define round(x) (x)
#undef isnan
#undef isinf
#undef isfinite
#define isnan(x)    false
#define isinf(x)    false
#define isfinite(x) true
#endif
#ifdef T_IS_I64
#define pow(a, b) integer_power(a, b)
/* a^b modulo 2^64; of a negative power what is left of 1 / a^-b when cut to an integer. */
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

#define LOOP(name, operands, formula)                                                              \
    static void name(int64_t n, const void *const *in, void *out)                                  \
    {                                                                                              \
        T *restrict result = out;                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                          \
            operands result[i] = RESULT(formula);                                                  \
        }                                                                                          \
    }
/* A line rarely reads all of its operands. */
#define OPERAND(name, place)                                                                       \
    const VALUE name = ((const T *)in[place])[i];                                                  \
    (void)name;
#define READ_X     OPERAND(x, 0)
#define READ_AB    OPERAND(a, 0) OPERAND(b, 1)
#define READ_ABC   READ_AB OPERAND(c, 2)
#define READ_GXY   OPERAND(g, 0) OPERAND(x, 1) OPERAND(y, 2)
#define READ_GABY  OPERAND(g, 0) OPERAND(a, 1) OPERAND(b, 2) OPERAND(y, 3)
#define READ_GABCY OPERAND(g, 0) OPERAND(a, 1) OPERAND(b, 2) OPERAND(c, 3) OPERAND(y, 4)

/* Floats have every line and its gradients; integers the lines that keep them, without. */
#if defined T_IS_F32 || defined T_IS_F64
#define FORWARD(name, kind, read, f) LOOP(name##_forward, read, f)
#define GRADIENT                     LOOP
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
#define TERNARY(name, kind, f, da, db, dc)                                                         \
    FORWARD(name, kind, READ_ABC, f)                                                               \
    GRADIENT(name##_da, READ_GABCY, da)                                                            \
    GRADIENT(name##_db, READ_GABCY, db)                                                            \
    GRADIENT(name##_dc, READ_GABCY, dc)
#define BOUNDS(name, kind, f, da)                                                                  \
    FORWARD(name, kind, READ_ABC, f)                                                               \
    GRADIENT(name##_da, READ_GABCY, da)
#define TRUTH(name, read, f)                                                                       \
    static void name##_truth(int64_t n, const void *const *in, void *out)                          \
    {                                                                                              \
        bool *restrict result = out;                                                               \
        for (int64_t i = 0; i < n; i++) {                                                          \
            read result[i] = f;                                                                    \
        }                                                                                          \
    }
#define COMPARE(name, f)   TRUTH(name, READ_AB, f)
#define LOGICAL(name, f)   TRUTH(name, READ_AB, f)
#define PREDICATE(name, f) TRUTH(name, READ_X, f)
#include "tensor/ops.def"

static void choose_where(int64_t n, const void *const *in, void *out)
{
    const unsigned char *condition = in[0]; /* compilers make no vectors of bools */
    const T *a = in[1], *b = in[2];
    T *restrict y = out;
    for (int64_t i = 0; i < n; i++) {
        const T then = a[i], otherwise = b[i];
        y[i] = condition[i] != 0 ? then : otherwise;
    }
}

/* ---- moving elements ---- */

#ifdef T_IS_I64
/* C leaves the cast of NaN and of what does not fit undefined; x86 gives the smallest integer, and
 * so does torch there. */
static T from_float(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (T)x : INT64_MIN;
}
#define FROM_FLOAT(x) from_float((double)(x))
#else
#define FROM_FLOAT(x) ((T)(x))
#endif
#define FROM_INTEGER(x) ((T)(x))

/* What lies ready and what is repeated have loops of their own, of which compilers make vectors. */
#define GATHER(name, type, CAST)                                                                   \
    static void name(int64_t n, const void *from, int64_t stride, void *to)                        \
    {                                                                                              \
        const type *x = from;                                                                      \
        T *restrict y = to;                                                                        \
        if (stride == 1) {                                                                         \
            for (int64_t i = 0; i < n; i++) {                                                      \
                y[i] = CAST(x[i]);                                                                 \
            }                                                                                      \
        } else if (stride == 0) {                                                                  \
            for (int64_t i = 0; i < n; i++) {                                                      \
                y[i] = CAST(x[0]);                                                                 \
            }                                                                                      \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++) {                                                      \
                y[i] = CAST(x[i * stride]);                                                        \
            }                                                                                      \
        }                                                                                          \
    }
GATHER(gather_f32, float, FROM_FLOAT)
GATHER(gather_f64, double, FROM_FLOAT)
GATHER(gather_i64, int64_t, FROM_INTEGER)
GATHER(gather_bool, bool, FROM_INTEGER)

static void scatter(int64_t n, const void *from, void *to, int64_t stride)
{
    const T *restrict x = from;
    T *y = to;
    for (int64_t i = 0; i < n; i++) {
        y[i * stride] = x[i];
    }
}

static void add_into(int64_t n, const void *x, void *y)
{
    const T *from = x;
    T *to = y;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (T)(to[i] + from[i]);
    }
}

static void look_up(int64_t n, const int64_t *index, int64_t index_step, const void *x,
                    int64_t step, int64_t along, void *y)
{
    const T *from = x;
    T *restrict to = y;
    if (n > 0 && index_step == 0 && step == 1) { /* a row, as embeddings are */
        memcpy(to, from + *index * along, sizeof(T) * (size_t)n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i * step + index[i * index_step] * along];
    }
}

static void add_at(int64_t n, const int64_t *index, int64_t index_step, const void *x, void *y,
                   int64_t step, int64_t along)
{
    const T *from = x;
    T *to = y;
    if (n > 0 && index_step == 0 && step == 1) {
        add_into(n, x, to + *index * along);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        T *place = to + (i * step + index[i * index_step] * along);
        *place = (T)(*place + from[i]);
    }
}

/* ---- sums ---- */

/* Rows are added in order. Several of them are read side by side, so that each total is fetched and put back
 * once for all of these. */
static void sum_columns(int64_t rows, int64_t n, const void *x, int64_t step, heed_total *totals)
{
    enum { AT_ONCE = 8 };
    const T *from = x;
    TOTAL *restrict to = (TOTAL *)totals; /* compilers make no vectors of unions */
    for (; rows >= AT_ONCE; rows -= AT_ONCE, from += AT_ONCE * step) {
        for (int64_t i = 0; i < n; i++) {
            TOTAL total = to[i];
            UNROLL for (int j = 0; j < AT_ONCE; j++)
            {
                total += (TOTAL)from[j * step + i];
            }
            to[i] = total;
        }
    }
    for (; rows > 0; rows--, from += step) {
        for (int64_t i = 0; i < n; i++) {
            to[i] += (TOTAL)from[i];
        }
    }
}

static void from_totals(int64_t n, const heed_total *totals, double divisor, void *y)
{
    const TOTAL *from = (const TOTAL *)totals;
    T *restrict to = y;
    for (int64_t i = 0; i < n; i++) {
#if defined T_IS_F32 || defined T_IS_F64
        to[i] = (T)(from[i] / divisor);
#else
        (void)divisor;
        to[i] = (T)from[i];
#endif
    }
}

/* ---- optimisers: floats only ---- */

#if defined T_IS_F32 || defined T_IS_F64
static void scale(int64_t n, void *x, double factor)
{
    T *to = x;
    const T by = (T)factor;
    for (int64_t i = 0; i < n; i++) {
        to[i] *= by;
    }
}

static void sgd(int64_t n, void *parameter, const void *gradient, void *momentum,
                const heed_sgd_step *step)
{
    T *p = parameter, *buffer = momentum;
    const T *g = gradient;
    const T lr = (T)step->lr, decay = (T)step->weight_decay, mu = (T)step->momentum;
    const T fresh = step->first ? 1 : (T)(1 - step->dampening);
    for (int64_t i = 0; i < n; i++) {
        T d = g[i] + decay * p[i];
        if (buffer != NULL) {
            buffer[i] = (step->first ? 0 : mu * buffer[i]) + fresh * d;
            d = step->nesterov ? d + mu * buffer[i] : buffer[i];
        }
        p[i] -= lr * d;
    }
}

static void adam(int64_t n, void *parameter, const void *gradient, void *first, void *second,
                 const heed_adam_step *step)
{
    T *p = parameter, *m = first, *v = second;
    const T *g = gradient;
    const double correction1 = 1 - (pow)(step->beta1, (double)step->t);
    const double correction2 = 1 - (pow)(step->beta2, (double)step->t);
    const T size = (T)(step->lr / correction1), root = (T)(sqrt)(correction2);
    const T beta2 = (T)step->beta2, eps = (T)step->eps;
    const T new1 = (T)(1 - step->beta1), new2 = (T)(1 - step->beta2);
    /* As torch's lerp: from whichever of m and d it keeps more of, so that beta1 = 0 is d exactly. No sum
     * of two products: beta1 and 1 - beta1, rounded, do not add up to 1. */
    const bool from_m = new1 < (T)0.5;
    const T way = from_m ? new1 : new1 - 1;
    const T shrink = step->decoupled ? (T)(1 - step->lr * step->weight_decay) : 1;
    const T decay = step->decoupled ? 0 : (T)step->weight_decay;
    for (int64_t i = 0; i < n; i++) {
        const T d = g[i] + decay * p[i];
        m[i] = (from_m ? m[i] : d) + way * (d - m[i]);
        v[i] = beta2 * v[i] + new2 * d * d;
        p[i] = shrink * p[i] - size * m[i] / (sqrt(v[i]) / root + eps);
    }
}
#endif

/* ---- the table ---- */

#if defined T_IS_F32 || defined T_IS_F64
#define ENTRY(name, kind, ...) [HEED_##name] = {name##_forward, {__VA_ARGS__}},
#else
#define ENTRY(name, kind, ...) ENTRY_##kind(name)
#define ENTRY_ANY(name)        [HEED_##name] = {name##_forward, {NULL}},
#define ENTRY_FLOAT(name)
#ifdef T_IS_I64
#define ENTRY_NUMBER ENTRY_ANY
#else
#define ENTRY_NUMBER ENTRY_FLOAT
#endif
#endif

const heed_kernels KERNELS = {
    .elementwise =
        {
#define UNARY(name, kind, f, dx)           ENTRY(name, kind, name##_dx)
#define BINARY(name, kind, f, da, db)      ENTRY(name, kind, name##_da, name##_db)
#define TERNARY(name, kind, f, da, db, dc) ENTRY(name, kind, name##_da, name##_db, name##_dc)
#define BOUNDS(name, kind, f, da)          ENTRY(name, kind, name##_da)
#include "tensor/ops.def"
        },
    .compare =
        {
#define COMPARE(name, f)   [HEED_##name] = name##_truth,
#define LOGICAL(name, f)   [HEED_##name] = name##_truth,
#define PREDICATE(name, f) [HEED_##name] = name##_truth,
#include "tensor/ops.def"
        },
    .where = choose_where,
    .gather = {[HEED_F32] = gather_f32,
               [HEED_F64] = gather_f64,
               [HEED_I64] = gather_i64,
               [HEED_BOOL] = gather_bool},
    .scatter = scatter,
    .add_into = add_into,
    .look_up = look_up,
    .add_at = add_at,
    .sum = LINES(sum),
    .sum_columns = sum_columns,
    .from_totals = from_totals,
    .amax = LINES(amax),
    .amin = LINES(amin),
    .any = LINES(any),
    .all = LINES(all),
#ifndef T_IS_BOOL
    .argmax = LINES(argmax),
    .argmin = LINES(argmin),
    .cumsum = LINES(cumsum),
#endif
#if defined T_IS_F32 || defined T_IS_F64
    .softmax = LINES(softmax),
    .safe_softmax = LINES(safe_softmax),
    .log_softmax = LINES(log_softmax),
    .softmax_gradient = LINES(softmax_gradient),
    .log_softmax_gradient = LINES(log_softmax_gradient),
    .exp_totals = LINES(exp_totals),
    .scaled_exps = LINES(scaled_exps),
    .logsumexp = LINES(logsumexp),
    .var = LINES(var),
    .norm = LINES(norm),
    .attend = LINES(attend),
    .attend_gradient = LINES(attend_gradient),
    .normalize = NORMALIZE(normalize),
    .normalize_gradient = NORMALIZE(normalize_gradient),
    .scale = scale,
    .sgd = sgd,
    .adam = adam,
#endif
#ifndef T_IS_BOOL
    .gemm = KERNELS_GEMM,
    .gemm_room = KERNELS_GEMM_ROOM,
#endif
};
