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

#include "tensor/kernels_dtype.h"

/* ---- element-wise: ops.def, expanded ---- */

/* The vocabulary of ops.def, for this dtype. */
#define where(condition, then, otherwise) ((condition) ? (then) : (otherwise))
#if defined T_IS_F32
#define exp(x)    expf(x)
#define log(x)    logf(x)
#define sqrt(x)   sqrtf(x)
#define tanh(x)   tanhf(x)
#define pow(a, b) powf(a, b)
#elif defined T_IS_I64
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
            operands;                                                                              \
            result[i] = RESULT(formula);                                                           \
        }                                                                                          \
    }
#define OPERAND(name, place) const VALUE name = ((const T *)in[place])[i]
/* A line rarely reads all of its operands. */
#define READ_X                                                                                     \
    OPERAND(x, 0);                                                                                 \
    (void)x
#define READ_AB                                                                                    \
    OPERAND(a, 0);                                                                                 \
    OPERAND(b, 1);                                                                                 \
    (void)a, (void)b
#define READ_GXY                                                                                   \
    OPERAND(g, 0);                                                                                 \
    OPERAND(x, 1);                                                                                 \
    OPERAND(y, 2);                                                                                 \
    (void)g, (void)x, (void)y
#define READ_GABY                                                                                  \
    OPERAND(g, 0);                                                                                 \
    OPERAND(a, 1);                                                                                 \
    OPERAND(b, 2);                                                                                 \
    OPERAND(y, 3);                                                                                 \
    (void)g, (void)a, (void)b, (void)y

/* Floats have every line and its gradients; integers the lines that keep them, without. */
#if defined T_IS_F32 || defined T_IS_F64
#define UNARY(name, kind, f, dx)                                                                   \
    LOOP(name##_forward, READ_X, f)                                                                \
    LOOP(name##_dx, READ_GXY, dx)
#define BINARY(name, kind, f, da, db)                                                              \
    LOOP(name##_forward, READ_AB, f)                                                               \
    LOOP(name##_da, READ_GABY, da)                                                                 \
    LOOP(name##_db, READ_GABY, db)
#else
#define UNARY(name, kind, f, dx)      UNARY_##kind(name, f)
#define BINARY(name, kind, f, da, db) BINARY_##kind(name, f)
#define UNARY_FLOAT(name, f)
#define BINARY_FLOAT(name, f)
#define UNARY_ANY(name, f)  LOOP(name##_forward, READ_X, f)
#define BINARY_ANY(name, f) LOOP(name##_forward, READ_AB, f)
#ifdef T_IS_I64
#define UNARY_NUMBER  UNARY_ANY
#define BINARY_NUMBER BINARY_ANY
#else
#define UNARY_NUMBER(name, f)
#define BINARY_NUMBER(name, f)
#endif
#endif
#define COMPARE(name, f)                                                                           \
    static void name##_compare(int64_t n, const void *const *in, void *out)                        \
    {                                                                                              \
        bool *restrict result = out;                                                               \
        for (int64_t i = 0; i < n; i++) {                                                          \
            READ_AB;                                                                               \
            result[i] = f;                                                                         \
        }                                                                                          \
    }
#include "tensor/ops.def"

static void choose_where(int64_t n, const void *const *in, void *out)
{
    const bool *condition = in[0];
    const T *a = in[1], *b = in[2];
    T *restrict y = out;
    for (int64_t i = 0; i < n; i++) {
        y[i] = condition[i] ? a[i] : b[i];
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

#define GATHER(name, type, CAST)                                                                   \
    static void name(int64_t n, const void *from, int64_t stride, void *to)                        \
    {                                                                                              \
        const type *x = from;                                                                      \
        T *restrict y = to;                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                          \
            y[i] = CAST(x[i * stride]);                                                            \
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

/* ---- sums ---- */

static void sum(int64_t n, const void *x, heed_total *total)
{
    const T *from = x;
    enum { LANES = 8 };
    TOTAL lane[LANES] = {0}, all = 0; /* independent lanes, so that the adds overlap */
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            lane[j] += (TOTAL)from[i + j];
        }
    }
    for (; i < n; i++) {
        all += (TOTAL)from[i];
    }
    for (int j = 0; j < LANES; j++) {
        all += lane[j];
    }
    total->OF_TOTAL += all;
}

static void sum_columns(int64_t n, const void *x, heed_total *totals)
{
    const T *from = x;
    for (int64_t i = 0; i < n; i++) {
        totals[i].OF_TOTAL += (TOTAL)from[i];
    }
}

static void from_totals(int64_t n, const heed_total *totals, double divisor, void *y)
{
    T *restrict to = y;
    for (int64_t i = 0; i < n; i++) {
#if defined T_IS_F32 || defined T_IS_F64
        to[i] = (T)(totals[i].OF_TOTAL / divisor);
#else
        (void)divisor;
        to[i] = (T)totals[i].OF_TOTAL;
#endif
    }
}

/* ---- lines, optimisers and the products: floats only ---- */

#if defined T_IS_F32 || defined T_IS_F64
/* The largest element. NaN is passed over here: it comes back through exp, and spreads over the
 * line as in torch. */
static T largest(int64_t n, const T *x)
{
    T max = -(T)INFINITY;
    for (int64_t i = 0; i < n; i++) {
        max = x[i] > max ? x[i] : max;
    }
    return max;
}

static void softmax(int64_t n, const void *x, void *out)
{
    const T *from = x;
    T *to = out;
    const T max = largest(n, from);
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        to[i] = exp(from[i] - max);
        total += (double)to[i];
    }
    for (int64_t i = 0; i < n; i++) {
        to[i] /= (T)total;
    }
}

/* Zeros for a line of nothing but -inf. */
static void safe_softmax(int64_t n, const void *x, void *out)
{
    const T *from = x;
    T *to = out;
    int64_t blocked = 0;
    while (blocked < n && from[blocked] == -(T)INFINITY) {
        blocked++;
    }
    if (blocked < n) {
        softmax(n, x, out);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        to[i] = 0;
    }
}

static void log_softmax(int64_t n, const void *x, void *out)
{
    const T *from = x;
    T *to = out;
    const T max = largest(n, from);
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += (double)exp(from[i] - max);
    }
    const T shift = log((T)total);
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i] - max - shift;
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
    const T beta1 = (T)step->beta1, beta2 = (T)step->beta2, eps = (T)step->eps;
    const T new1 = (T)(1 - step->beta1), new2 = (T)(1 - step->beta2);
    const T shrink = step->decoupled ? (T)(1 - step->lr * step->weight_decay) : 1;
    const T decay = step->decoupled ? 0 : (T)step->weight_decay;
    for (int64_t i = 0; i < n; i++) {
        const T d = g[i] + decay * p[i];
        m[i] = beta1 * m[i] + new1 * d;
        v[i] = beta2 * v[i] + new2 * d * d;
        p[i] = shrink * p[i] - size * m[i] / (sqrt(v[i]) / root + eps);
    }
}
#endif

/* ---- the table ---- */

const heed_kernels KERNELS = {
    .elementwise =
        {
#undef UNARY_FLOAT
#undef UNARY_ANY
#undef BINARY_FLOAT
#undef BINARY_ANY
#undef UNARY
#undef BINARY
#if defined T_IS_F32 || defined T_IS_F64
#define UNARY(name, kind, f, dx)      [HEED_##name] = {name##_forward, {name##_dx, NULL}},
#define BINARY(name, kind, f, da, db) [HEED_##name] = {name##_forward, {name##_da, name##_db}},
#else
#define UNARY(name, kind, f, dx)      UNARY_##kind(name)
#define BINARY(name, kind, f, da, db) BINARY_##kind(name)
#define UNARY_FLOAT(name)
#define BINARY_FLOAT(name)
#define UNARY_ANY(name) [HEED_##name] = {name##_forward, {NULL, NULL}},
#define BINARY_ANY      UNARY_ANY
#ifndef T_IS_I64
#undef UNARY_NUMBER
#undef BINARY_NUMBER
#define UNARY_NUMBER(name)
#define BINARY_NUMBER(name)
#endif
#endif
#define COMPARE(name, f)
#include "tensor/ops.def"
        },
    .compare =
        {
#define UNARY(name, kind, f, dx)
#define BINARY(name, kind, f, da, db)
#define COMPARE(name, f) [HEED_##name] = name##_compare,
#include "tensor/ops.def"
        },
    .where = choose_where,
    .gather = {[HEED_F32] = gather_f32,
               [HEED_F64] = gather_f64,
               [HEED_I64] = gather_i64,
               [HEED_BOOL] = gather_bool},
    .scatter = scatter,
    .add_into = add_into,
    .sum = sum,
    .sum_columns = sum_columns,
    .from_totals = from_totals,
#if defined T_IS_F32 || defined T_IS_F64
    .softmax = softmax,
    .safe_softmax = safe_softmax,
    .log_softmax = log_softmax,
    .sgd = sgd,
    .adam = adam,
#endif
#ifndef T_IS_BOOL
    .gemm = KERNELS_GEMM,
#endif
};
