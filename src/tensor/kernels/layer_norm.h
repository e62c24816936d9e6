/* layer_norm of rows of n floats, and its gradients:
 *
 *   z = (x - mean) / sqrt(var + eps)
 *   y = weight z + bias          h = g weight
 *   dx = (h - mean(h) - z mean(h z)) / sqrt(var + eps)
 *   dweight = sum over rows of g z      dbias = sum over rows of g
 *
 * A row is read twice: from memory for its means, then from the cache. */

/* Rows per group for gradients: few enough for L2, and for sums in f32. */
enum { ROWS_OF_GROUP = 2 * GROUP };

/* ---- means of a row ---- */

/* The means of c = x - near, c^2 and, for gradients, h and h c. */
typedef struct means {
    double c, square, h, h_c;
} means;

#define MEAN(i)            (total[i] / (double)n)
#define READ_C(type, get)  READ_X(type, get) const type c = x - near;
#define READ_CH(type, get) READ_C(type, get) const type h = get(g) * get(weight);
SUMS_OF(means_about, means, ((means){MEAN(0), MEAN(1), 0, 0}), (int64_t n, const T *row, T near), 2,
        READ_C, c, c *c)
SUMS_OF(means_with_g, means, ((means){MEAN(0), MEAN(1), MEAN(2), MEAN(3)}),
        (int64_t n, const T *row, T near, const T *g, const T *weight), 4, READ_CH, c, c *c, h,
        h *c)

/* ---- z of a row ---- */

/* z = (x - near) scale + shift. `near` is the rounded mean, so that x - near is as accurate as x,
 * and shift accounts for the rest of the mean. `low` is the rounding error of scale: an error in a
 * factor that applies to the whole row would accumulate in the gradients. */
typedef struct form {
    T near, scale, low, shift;
    T along, along_z; /* for gradients: mean(h) and mean(h z) */
} form;

#define Z(x, f) (((x) - (f).near) * (f).scale + (((x) - (f).near) * (f).low + (f).shift))

static form form_of(const heed_normalisation *call, T near, means m)
{
    const double var = m.square - m.c * m.c; /* rounded, may be < 0 */
    const double mean = (double)near + m.c, scale = 1 / sqrt((var < 0 ? 0 : var) + call->eps);
    return (form){
        .near = (T)mean,
        .scale = (T)scale,
        .low = (T)(scale - (double)(T)scale),
        .shift = (T)(((double)(T)mean - mean) * scale),
        .along = (T)m.h,
        .along_z = (T)((m.h_c - m.c * m.h) * scale),
    };
}

/* The means of a row about `near`. */
static means means_of(const heed_normalisation *call, const T *x, T near, const T *g)
{
    return g == NULL ? means_about(call->n, x, near)
                     : means_with_g(call->n, x, near, g, call->weight);
}

/* The forms of rows [first, first + group). With a large mean, a difference of squares would lose
 * the variance to cancellation. So the means are taken about an estimate, the mean of the first
 * elements; if it is off by more than the deviation, they are taken again about the mean itself. */
static void forms_of(const heed_normalisation *call, int64_t first, int64_t group, form *forms)
{
    const int64_t n = call->n;
    const T *x = (const T *)call->x + first * n;
    T near[ROWS_OF_GROUP] = {0};
    for (int64_t i = 0; i < group; i++) {
        near[i] = (T)(n < WIDTH ? sum_of_row(n, x + i * n) / (double)n
                                : sum_of_vector(load(x + i * n)) / WIDTH);
    }
    for (int64_t i = 0; i < group; i++, x += n) {
        const T *g = call->g != NULL ? (const T *)call->g + (first + i) * n : NULL;
        means m = means_of(call, x, near[i], g);
        if (m.c * m.c > m.square / 2) {
            near[i] = (T)((double)near[i] + m.c);
            m = means_of(call, x, near[i], g);
        }
        forms[i] = form_of(call, near[i], m);
    }
}

/* ---- y = weight z + bias ---- */

/* Prefetches the elements `ahead` of these, because processors do not prefetch across pages. */
static void normalise_row(int64_t n, const T *x, int64_t ahead, form f, const T *weight,
                          const T *bias, T *y)
{
    int64_t j = 0;
    for (; j + WIDTH <= n; j += WIDTH) {
        __builtin_prefetch(x + j + ahead);
        store(y + j, Z(load(x + j), f) * load(weight + j) + load(bias + j));
    }
    for (; j < n; j++) {
        y[j] = Z(x[j], f) * weight[j] + bias[j];
    }
}

void KERNEL(normalise)(const heed_normalisation *call)
{
    const int64_t n = call->n;
    for (int64_t first = 0, group; first < call->rows; first += group) {
        form forms[GROUP];
        group = group_of(n, call->rows - first);
        forms_of(call, first, group, forms);
        for (int64_t i = 0; i < group; i++) {
            const T *x = (const T *)call->x + (first + i) * n;
            T *y = (T *)call->y + (first + i) * n;
            normalise_row(n, x, group * n, forms[i], call->weight, call->bias, y);
        }
    }
}

/* ---- gradients ---- */

/* Computes dx for n elements of a row and adds their share to dweight and dbias. Prefetches the
 * elements `ahead` of these, and the next page of dx. */
static void gradients_of_row(int64_t n, const T *x, const T *g, const T *weight, form f,
                             int64_t ahead, T *restrict dx, T *restrict dweight, T *restrict dbias)
{
    enum { PAGE = 4096 / sizeof(T) };
    int64_t j = 0;
#define GRADIENTS(type, get, put)                                                                  \
    const type slope = get(g + j), z = Z(get(x + j), f);                                           \
    const type d = slope * get(weight + j) - f.along - z * f.along_z;                              \
    put(dx + j, d * f.scale + d * f.low);                                                          \
    put(dweight + j, get(dweight + j) + slope * z);                                                \
    put(dbias + j, get(dbias + j) + slope);
    for (; j + WIDTH <= n; j += WIDTH) {
        __builtin_prefetch(x + j + ahead);
        __builtin_prefetch(g + j + ahead);
        __builtin_prefetch(dx + j + PAGE, 1);
        GRADIENTS(vector, load, store)
    }
#define GET(x)     (*(x))
#define PUT(to, x) (*(to) = (x))
    for (; j < n; j++) {
        GRADIENTS(T, GET, PUT)
    }
}

/* dweight and dbias of a group are summed in T, those of all groups in double. */
static void gradients_of_group(const heed_normalisation *call, int64_t first, int64_t group,
                               const form *forms)
{
    enum { ACROSS = 1024 };
    const int64_t n = call->n;
    const T *weight = call->weight;
    for (int64_t start = 0; start < n; start += ACROSS) {
        const int64_t columns = n - start < ACROSS ? n - start : ACROSS;
        double *dweight = call->totals + start, *dbias = dweight + n;
        T dw[ACROSS], db[ACROSS];
        memset(dw, 0, sizeof(T) * (size_t)columns);
        memset(db, 0, sizeof(T) * (size_t)columns);
        for (int64_t i = 0; i < group; i++) {
            const int64_t at = (first + i) * n + start;
            gradients_of_row(columns, (const T *)call->x + at, (const T *)call->g + at,
                             weight + start, forms[i], group * n, (T *)call->dx + at, dw, db);
        }
        for (int64_t j = 0; j < columns; j++) {
            dweight[j] += (double)dw[j];
        }
        for (int64_t j = 0; j < columns; j++) {
            dbias[j] += (double)db[j];
        }
    }
}

void KERNEL(normalise_gradient)(const heed_normalisation *call)
{
    for (int64_t first = 0, group; first < call->rows; first += group) {
        form forms[ROWS_OF_GROUP];
        group = call->rows - first < ROWS_OF_GROUP ? call->rows - first : ROWS_OF_GROUP;
        forms_of(call, first, group, forms);
        gradients_of_group(call, first, group, forms);
    }
}
