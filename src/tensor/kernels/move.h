/* Moving elements; strides are in elements:
 *
 *   gather        to[i] = from[i * stride], cast       gather_rows   a plane of two dims, cast
 *   scatter       to[i * stride] = from[i]             add_into      y += x
 *   look_up       y[i] = x[p(i)]                       add_at        y[p(i)] += x[i]
 *
 * The position p(i) depends on an index. */

/* ---- casts ---- */

#ifdef T_IS_I64
/* C leaves casts of NaN and out-of-range floats undefined; x86 gives INT64_MIN, and so does torch.
 */
static T from_float(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (T)x : INT64_MIN;
}
#define FROM_FLOAT(x) from_float((double)(x))
#else
#define FROM_FLOAT(x) ((T)(x))
#endif
#define FROM_INTEGER(x) ((T)(x))

/* Strides 1 and 0 have separate loops, which are vectorised. */
#define GATHER(name, type, CAST)                                                                   \
    static void KERNEL(name)(int64_t n, const void *from, int64_t stride, void *to)                \
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

/* ---- planes ---- */

#define GATHER_ROWS(dtype, type)                                                                   \
    static void KERNEL(gather_rows_##dtype)(const heed_plane *p)                                   \
    {                                                                                              \
        for (int64_t r = 0; r < p->rows; r++) {                                                    \
            KERNEL(gather_##dtype)                                                                 \
            (p->columns, (const type *)p->from + r * p->from_row, p->from_column,                  \
             (T *)p->to + r * p->to_row);                                                          \
        }                                                                                          \
    }
GATHER_ROWS(f32, float)
GATHER_ROWS(f64, double)
GATHER_ROWS(i64, int64_t)
GATHER_ROWS(bool, bool)

/* ---- indexed elements ---- */

static void KERNEL(scatter)(int64_t n, const void *from, void *to, int64_t stride)
{
    const T *restrict x = from;
    T *y = to;
    for (int64_t i = 0; i < n; i++) {
        y[i * stride] = x[i];
    }
}

static void KERNEL(add_into)(int64_t n, const void *x, void *y)
{
    const T *from = x;
    T *to = y;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (T)(to[i] + from[i]);
    }
}

static void KERNEL(look_up)(int64_t n, const int64_t *index, int64_t index_step, const void *x,
                            int64_t step, int64_t along, void *y)
{
    const T *from = x;
    T *restrict to = y;
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i * step + index[i * index_step] * along];
    }
}

static void KERNEL(add_at)(int64_t n, const int64_t *index, int64_t index_step, const void *x,
                           void *y, int64_t step, int64_t along)
{
    const T *from = x;
    T *to = y;
    for (int64_t i = 0; i < n; i++) {
        T *place = to + (i * step + index[i * index_step] * along);
        *place = (T)(*place + from[i]);
    }
}
