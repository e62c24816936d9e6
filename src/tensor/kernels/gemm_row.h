/* A single row of a product (internal to gemm.c): b is read once, so that packing it would cost as much as
 * the product. The order of the sums depends on how b lies. */

/* A single result is the sum of one line of products, kept as all sums of lines are. */
static void multiply_line(const heed_gemm *call)
{
    enum { PARTS = 8 };
    const T *a = call->a, *b = call->b;
    TOTAL part[PARTS] = {0}, sum = 0;
    for (int64_t p = 0; p < call->k; p++, a += call->a_col, b += call->b_row) {
        part[p % PARTS] += (TOTAL)*a * (TOTAL)*b;
    }
    for (int i = 0; i < PARTS; i++) {
        sum += part[i];
    }
    T *c = call->c;
    *c = (T)(call->accumulate ? (TOTAL)*c + sum : sum);
    if (call->bias != NULL) {
        *c += *(const T *)call->bias;
    }
}

enum { STRETCH = 2 * VECTOR_BYTES / (int)sizeof(T), DOTS = 4, ROW_BLOCK = 256 };

static T sum_lanes(const T *part)
{
    T sum = 0;
    for (int i = 0; i < STRETCH; i++) {
        sum += part[i];
    }
    return sum;
}

/* Some columns of b, each of which lies in one piece: a dot product each, in lanes. */
static void multiply_row_by_columns(const heed_gemm *call, const T *b, int columns, T *c)
{
    const T *a = call->a;
    T part[DOTS][STRETCH] = {{0}}, rest[DOTS] = {0};
    int64_t p = 0;
    for (; p + STRETCH <= call->k; p += STRETCH) {
        for (int j = 0; j < columns; j++) {
            for (int i = 0; i < STRETCH; i++) {
                part[j][i] += a[p + i] * b[j * call->b_col + p + i];
            }
        }
    }
    for (; p < call->k; p++) {
        for (int j = 0; j < columns; j++) {
            rest[j] += a[p] * b[j * call->b_col + p];
        }
    }
    for (int j = 0; j < columns; j++) {
        const T sum = sum_lanes(part[j]) + rest[j];
        c[j] = call->accumulate ? c[j] + sum : sum;
    }
}

/* b lies row by row: the sums of a stretch of columns are kept while ROW_BLOCK rows go by. */
static void multiply_row_by_rows(const heed_gemm *call, const T *b, int columns, T *c)
{
    const T *a = call->a;
    /* An empty sum is zero, and written. */
    for (int64_t first = 0; first == 0 || first < call->k; first += ROW_BLOCK) {
        const int64_t end = first + ROW_BLOCK < call->k ? first + ROW_BLOCK : call->k;
        T sum[STRETCH] = {0};
        for (int64_t p = first; p < end; p++) {
            for (int j = 0; j < columns; j++) {
                sum[j] += a[p * call->a_col] * b[p * call->b_row + j];
            }
        }
        for (int j = 0; j < columns; j++) {
            c[j] = first > 0 || call->accumulate ? c[j] + sum[j] : sum[j];
        }
    }
}

static bool row_by_columns(const heed_gemm *call)
{
    return call->a_col == 1 && call->b_row == 1;
}

/* Does b lie in a way that a single row is multiplied with it here? */
static bool takes_row(const heed_gemm *call)
{
    return call->m == 1 && (row_by_columns(call) || call->b_col == 1);
}

/* Stretches first ... end of the columns. The constant counts let the compiler unroll what nearly all take. */
static void multiply_row(void *context, int64_t first, int64_t end)
{
    const heed_gemm *call = context;
    const T *b = call->b, *bias = call->bias;
    T *c = call->c;
    const int64_t begin = first * STRETCH, stop = end * STRETCH < call->n ? end * STRETCH : call->n;
    int64_t j = begin;
    if (row_by_columns(call)) {
        for (; j + DOTS <= stop; j += DOTS) {
            multiply_row_by_columns(call, b + j * call->b_col, DOTS, c + j);
        }
        for (; j < stop; j++) {
            multiply_row_by_columns(call, b + j * call->b_col, 1, c + j);
        }
    } else {
        for (; j + STRETCH <= stop; j += STRETCH) {
            multiply_row_by_rows(call, b + j, STRETCH, c + j);
        }
        if (j < stop) {
            multiply_row_by_rows(call, b + j, (int)(stop - j), c + j);
        }
    }
    for (j = begin; bias != NULL && j < stop; j++) {
        c[j] += bias[j];
    }
}
