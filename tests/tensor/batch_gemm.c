/* heed_multiply, on which matmul and linear are built: sizes around the edges of tiles, panels and
 * blocks, with a bias, accumulating, and on several threads. */
#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/reference.h"

/* ---- random sizes, with integers, compared with plain loops ---- */

enum mode { PLAIN, WITH_BIAS, ADDED, MODES };

/* A number near a random multiple of `step`, at least 0. */
static int64_t around(uint64_t *state, int64_t step, int64_t most)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    const int64_t number = (int64_t)(*state >> 33) % (most / step + 1) * step;
    const int64_t aside = (int64_t)(*state >> 20 & 0xff) % 5 - 2;
    return number + aside < 0 ? 0 : number + aside;
}

static void check_product(int64_t m, int64_t n, int64_t k, heed_dtype dtype, uint64_t how)
{
    const enum mode mode = (enum mode)(how % MODES);
    heed_tensor *a = whole_noise(HEED_SHAPE(m, k), dtype, (enum layout)(how >> 8 & 3), how);
    heed_tensor *b = whole_noise(HEED_SHAPE(k, n), dtype, (enum layout)(how >> 10 & 3), how + 1);
    heed_tensor *bias = whole_noise(HEED_SHAPE(n), dtype, ROWS, how + 2);
    heed_tensor *y = whole_noise(HEED_SHAPE(m, n), dtype, ROWS, how + 3);
    heed_tensor *before = heed_to(whole_noise(HEED_SHAPE(m, n), dtype, ROWS, how + 3), HEED_F64);
    multiply_by_kernel(a, b, mode == WITH_BIAS ? bias : NULL, y, mode == ADDED);
    expect_no_error();
    const double *x1 = heed_const_data_f64(heed_contiguous(heed_to(a, HEED_F64)));
    const double *x2 = heed_const_data_f64(heed_contiguous(heed_to(b, HEED_F64)));
    const double *x3 = heed_const_data_f64(heed_to(bias, HEED_F64));
    const double *found = heed_const_data_f64(heed_to(y, HEED_F64));
    for (int64_t at = 0; at < m * n; at++) {
        double goal = mode == ADDED       ? heed_const_data_f64(before)[at]
                      : mode == WITH_BIAS ? x3[at % n]
                                          : 0;
        for (int64_t p = 0; p < k; p++) {
            goal += x1[at / n * k + p] * x2[p * n + at % n];
        }
        EXPECT(found[at] == goal, "(%d, %d) x (%d, %d), mode %d, layouts %d: %g, not %g, at %d",
               (int)m, (int)k, (int)k, (int)n, (int)mode, (int)(how >> 8 & 15), found[at], goal,
               (int)at);
    }
}

static void check_sizes(int64_t m, int64_t n, int64_t k, heed_dtype dtype, uint64_t how)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    check_product(m, n, k, dtype, how);
    heed_scope_end(&scope);
}

START_TEST(products_of_random_sizes)
{
    static const struct {
        int64_t step_m, most_m, step_n, most_n, step_k, most_k;
    } kinds[] = {
        {1, 12, 1, 12, 1, 12},      /* small */
        {4, 52, 8, 136, 16, 160},   /* tiles and panels */
        {12, 36, 16, 80, 128, 800}, /* blocks of k */
        {1, 3, 16, 700, 64, 300},   /* few rows */
        {16, 300, 1, 9, 16, 300},   /* few columns */
    };
    uint64_t state = (uint64_t)_i + 1;
    for (int i = 0; i < 5 * 120; i++) {
        const int kind = i % 5;
        const int64_t m = around(&state, kinds[kind].step_m, kinds[kind].most_m);
        const int64_t n = around(&state, kinds[kind].step_n, kinds[kind].most_n);
        const int64_t k = around(&state, kinds[kind].step_k, kinds[kind].most_k);
        check_sizes(m, n, k, (heed_dtype)_i, state >> 13);
    }
}
END_TEST

/* More than one block of columns; packed, and shared among threads. */
START_TEST(products_of_several_blocks)
{
    for (int mode = 0; mode < MODES; mode++) {
        for (uint64_t layouts = 0; layouts < 16; layouts += 5) {
            check_sizes(13, 1131, 401, (heed_dtype)_i, layouts << 8 | (uint64_t)mode);
        }
    }
    check_sizes(101, 77, 1029, (heed_dtype)_i, 1 << 8);
    check_sizes(49, 1100, 64, (heed_dtype)_i, 0);
    check_sizes(61, 1165, 300, (heed_dtype)_i, 4 << 8 | 1);
    check_sizes(401, 170, 130, (heed_dtype)_i, 4 << 8 | 2);
    check_sizes(129, 128, 128, (heed_dtype)_i, 0);
}
END_TEST

/* Up to 1000 multiplications, or 512 for a single row, are summed in double and rounded once. */
START_TEST(small_products_are_summed_in_double)
{
    static const int64_t sizes[][3] = {{1, 2, 256}, {1, 16, 32}, {1, 512, 1}, {2, 1, 256},
                                       {8, 1, 64},  {2, 64, 7},  {3, 5, 66},  {8, 8, 15},
                                       {64, 2, 7},  {12, 10, 8}, {1, 3, 170}, {4, 8, 31}};
    for (int i = 0; i < 12; i++) {
        const int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        for (int layouts = 0; layouts < LAYOUTS * LAYOUTS; layouts++) {
            heed_tensor *a = noise(HEED_SHAPE(m, k), HEED_F32, (enum layout)(layouts % LAYOUTS), 5);
            heed_tensor *b = noise(HEED_SHAPE(k, n), HEED_F32, (enum layout)(layouts / LAYOUTS), 6);
            heed_tensor *y = heed_empty(HEED_SHAPE(m, n), HEED_F32);
            heed_multiply(a, false, b, false, y);
            for (int64_t at = 0; at < m * n; at++) {
                double sum = 0;
                for (int64_t p = 0; p < k; p++) {
                    sum += element(a, HEED_INDEX(at / n, p)) * element(b, HEED_INDEX(p, at % n));
                }
                EXPECT(element(y, HEED_INDEX(at / n, at % n)) == (double)(float)sum,
                       "(%d, %d) x (%d, %d), layouts %d, at %d", (int)m, (int)k, (int)k, (int)n,
                       layouts, (int)at);
            }
        }
    }
}
END_TEST

/* Bit for bit a product by the same kernel, followed by an addition. (heed_matmul may give the
 * kernel less workspace and so cut it into other tiles; sanitizers keep clang from fusing the
 * multiplications and additions of some tiles.) */
START_TEST(bias_rounds_as_an_addition)
{
    uint64_t state = 7;
    for (int i = 0; i < 300; i++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        const heed_dtype dtype = i % 2 ? HEED_F32 : HEED_F64;
        const int64_t m = around(&state, 4, 30), n = around(&state, 8, 70);
        const int64_t k = around(&state, 100, 600);
        heed_tensor *a = noise(HEED_SHAPE(m, k), dtype, (enum layout)(i & 3), 1);
        heed_tensor *b = noise(HEED_SHAPE(k, n), dtype, (enum layout)(i >> 2 & 3), 2);
        heed_tensor *bias = noise(HEED_SHAPE(n), dtype, ROWS, 3);
        heed_tensor *y = heed_full(HEED_SHAPE(m, n), 77, dtype);
        heed_tensor *product = heed_full(HEED_SHAPE(m, n), 77, dtype);
        multiply_by_kernel(a, b, bias, y, false);
        multiply_by_kernel(a, b, NULL, product, false);
        expect_same_bits(y, heed_add(product, bias));
        heed_scope_end(&scope);
    }
}
END_TEST

/* ---- threads ---- */

/* clang-format off */
static const struct product {
    int64_t batch_a, batch_b, m, n, k;
    enum layout a, b;
    enum mode mode;
} shared[] = {
    {1, 1, 300, 100, 129, ROWS, COLUMNS, WITH_BIAS},  {1, 1, 131, 129, 770, COLUMNS, ROWS, ADDED},
    {1, 1, 65, 700, 400, STEPPED, STEPPED, WITH_BIAS}, {1, 1, 5, 2100, 500, ROWS, COLUMNS, PLAIN},
    {1, 1, 1, 4099, 300, ROWS, COLUMNS, WITH_BIAS},   {1, 1, 1, 4099, 300, ROWS, ROWS, ADDED},
    {1, 1, 4099, 1, 300, ROWS, ROWS, WITH_BIAS},      {1, 1, 2001, 3, 500, COLUMNS, ROWS, ADDED},
    {48, 48, 64, 64, 32, ROWS, COLUMNS, PLAIN},       {7, 7, 100, 65, 70, COLUMNS, STEPPED, PLAIN},
    {5, 1, 100, 65, 70, ROTATED, ROWS, PLAIN},        {3, 3, 250, 260, 270, ROWS, COLUMNS, PLAIN},
    {40, 40, 1, 300, 300, ROWS, COLUMNS, PLAIN},      {1, 9, 120, 100, 130, ROWS, ROWS, PLAIN},
};
/* clang-format on */
enum { SHARED = sizeof shared / sizeof *shared };

static heed_tensor *product_of(const struct product *p, heed_dtype dtype)
{
    const int64_t batch = p->batch_a > p->batch_b ? p->batch_a : p->batch_b;
    heed_tensor *a = noise(HEED_SHAPE(p->batch_a, p->m, p->k), dtype, p->a, 1);
    heed_tensor *b = noise(HEED_SHAPE(p->batch_b, p->k, p->n), dtype, p->b, 2);
    heed_tensor *bias = noise(HEED_SHAPE(p->n), dtype, ROWS, 3);
    heed_tensor *y = noise(HEED_SHAPE(batch, p->m, p->n), dtype, ROWS, 4);
    if (p->mode == PLAIN) {
        heed_multiply(a, false, b, false, y);
    } else {
        multiply_by_kernel(a, b, p->mode == WITH_BIAS ? bias : NULL, y, p->mode == ADDED);
    }
    return y;
}

START_TEST(bits_are_the_same_for_any_number_of_threads)
{
    const int before = heed_get_num_threads();
    for (int dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_set_num_threads(1);
        heed_tensor *alone = product_of(&shared[_i], (heed_dtype)dtype);
        for (int threads = 2; threads <= 5; threads++) {
            heed_set_num_threads(threads);
            expect_same_bits(product_of(&shared[_i], (heed_dtype)dtype), alone);
        }
    }
    heed_set_num_threads(before);
}
END_TEST

/* A batch times one matrix is one product over all rows: the same bits as for the rows alone. The
 * products of the single matrices would be small and so summed in double. */
START_TEST(a_batch_times_one_matrix_is_one_product)
{
    heed_tensor *a = noise(HEED_SHAPE(2, 8, 8, 16), HEED_F32, ROWS, 1);
    heed_tensor *b = noise(HEED_SHAPE(16, 16), HEED_F32, ROWS, 2);
    heed_tensor *y = heed_empty(HEED_SHAPE(2, 8, 8, 16), HEED_F32);
    heed_tensor *of_rows = heed_empty(HEED_SHAPE(128, 16), HEED_F32);
    heed_multiply(a, false, b, false, y);
    heed_multiply(heed_reshape(a, HEED_SHAPE(128, 16)), false, b, false, of_rows);
    expect_same_bits(heed_reshape(y, HEED_SHAPE(128, 16)), of_rows);
}
END_TEST

static void multiply(void *context)
{
    heed_tensor **t = context;
    heed_multiply(t[0], false, t[1], false, t[2]);
}

START_TEST(a_workspace_may_be_lacking)
{
    heed_tensor *a = noise(HEED_SHAPE(100, 200), HEED_F32, ROWS, 1);
    heed_tensor *b = noise(HEED_SHAPE(200, 300), HEED_F32, COLUMNS, 2);
    heed_tensor *y = heed_full(HEED_SHAPE(100, 300), 77, HEED_F32);
    heed_fail_allocation(0);
    ck_assert_int_eq(heed_try(multiply, (heed_tensor *[]){a, b, y}), HEED_ERR_MEMORY);
    heed_fail_allocation(-1);
    expect_error(HEED_ERR_MEMORY, "");
    expect_close(y, heed_full(HEED_SHAPE(100, 300), 77, HEED_F32), 0);
}
END_TEST

void add_batch_gemm_cases(Suite *suite)
{
    TCase *multiply = heed_case(suite, "multiply");
    tcase_add_loop_test(multiply, products_of_random_sizes, 0, HEED_BOOL);
    tcase_add_loop_test(multiply, products_of_several_blocks, 0, HEED_BOOL);
    tcase_add_test(multiply, small_products_are_summed_in_double);
    tcase_add_test(multiply, bias_rounds_as_an_addition);
    tcase_add_test(multiply, a_batch_times_one_matrix_is_one_product);
    tcase_add_test(multiply, a_workspace_may_be_lacking);
    tcase_add_loop_test(multiply, bits_are_the_same_for_any_number_of_threads, 0, SHARED);
}
