/* The matrix product of gemm.c, for one type that its sums are kept in (internal): included with SUM, and
 * with NAME to call what is here by. No include guard: gemm.c includes it more than once. */

#define VECTOR  NAME(vector)
#define COLUMNS NAME(columns)

typedef SUM VECTOR __attribute__((vector_size(VECTOR_BYTES)));
enum { COLUMNS = 2 * VECTOR_BYTES / sizeof(SUM) };

/* panel (kc, COLUMNS) = b's rows p0 ... and columns j0 ..., with zeros past the last column. */
static void NAME(pack)(const heed_gemm *call, int64_t p0, int64_t kc, int64_t j0, SUM *panel)
{
    int64_t columns = call->n - j0 < COLUMNS ? call->n - j0 : COLUMNS;
    const T *b = (const T *)call->b + p0 * call->b_row + j0 * call->b_col;
    for (int64_t p = 0; p < kc; p++, b += call->b_row, panel += COLUMNS) {
        int64_t j = 0;
        for (; j < columns; j++) {
            panel[j] = (SUM)b[j * call->b_col];
        }
        for (; j < COLUMNS; j++) {
            panel[j] = 0;
        }
    }
}

/* tile (MR, COLUMNS) = MR rows of a times the panel. Rows past the last repeat it; nobody reads
 * them. */
static void NAME(multiply_tile)(const T *a, const int64_t *row, int64_t a_col, int64_t kc,
                                const SUM *panel, SUM tile[MR][COLUMNS])
{
    VECTOR sum[MR][2] = {0};
    for (int64_t p = 0; p < kc; p++, a += a_col, panel += COLUMNS) {
        VECTOR b[2];
        memcpy(b, panel, sizeof b);
        for (int i = 0; i < MR; i++) {
            sum[i][0] += (SUM)a[row[i]] * b[0];
            sum[i][1] += (SUM)a[row[i]] * b[1];
        }
    }
    memcpy(tile, sum, sizeof sum);
}

static void NAME(store_tile)(const heed_gemm *call, int64_t i0, int64_t j0, bool add,
                             SUM tile[MR][COLUMNS])
{
    int64_t rows = call->m - i0 < MR ? call->m - i0 : MR;
    int64_t columns = call->n - j0 < COLUMNS ? call->n - j0 : COLUMNS;
    for (int64_t i = 0; i < rows; i++) {
        T *c = (T *)call->c + (i0 + i) * call->c_row + j0;
        for (int64_t j = 0; j < columns; j++) {
            c[j] = (T)(add ? (SUM)c[j] + tile[i][j] : tile[i][j]);
        }
    }
}

static void NAME(multiply)(const heed_gemm *call)
{
    _Alignas(64) SUM panel[KC * COLUMNS];
    _Alignas(64) SUM tile[MR][COLUMNS];
    /* An empty sum is zero: with k = 0 one block without rows still writes c. */
    for (int64_t p0 = 0; p0 == 0 || p0 < call->k; p0 += KC) {
        int64_t kc = call->k - p0 < KC ? call->k - p0 : KC;
        for (int64_t j0 = 0; j0 < call->n; j0 += COLUMNS) {
            NAME(pack)(call, p0, kc, j0, panel);
            for (int64_t i0 = 0; i0 < call->m; i0 += MR) {
                const T *a = (const T *)call->a + p0 * call->a_col;
                int64_t row[MR];
                for (int64_t i = 0; i < MR; i++) {
                    row[i] = (i0 + i < call->m ? i0 + i : call->m - 1) * call->a_row;
                }
                NAME(multiply_tile)(a, row, call->a_col, kc, panel, tile);
                NAME(store_tile)(call, i0, j0, call->accumulate || p0 > 0, tile);
            }
        }
    }
}

#undef VECTOR
#undef COLUMNS
#undef SUM
#undef NAME
