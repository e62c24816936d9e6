/* heed_multiply, which matmul and linear are made of: a bias, and sums that are added to. */
#include "autograd/multiply.h"
#include "tests/ops_cases.h"

static const int64_t sizes[] = {0, 1, 2, 3, 5, 8, 11, 13, 16, 17, 29, 33, 47, 65, 300};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Runs work(m, n, k, layouts) for sizes around the edges of tiles, each in a scope. */
static void for_sizes(heed_dtype dtype,
                      void (*work)(int64_t m, int64_t n, int64_t k, heed_dtype dtype, int layouts))
{
    int layouts = 0;
    for (int i = 0; i < SIZES * SIZES * SIZES; i++, layouts += 7) {
        const int64_t m = sizes[i % SIZES], n = sizes[i / SIZES % SIZES],
                      k = sizes[i / SIZES / SIZES];
        if (m * n * k <= 300 * 65 * 17) {
            heed_scope scope;
            heed_scope_begin(&scope);
            work(m, n, k, dtype, layouts);
            heed_scope_end(&scope);
        }
    }
}

static void expect_equal(heed_tensor *y, heed_tensor *z, const char *what)
{
    expect_kind(y, z->dtype, HEED_SHAPE(z->shape[0], z->shape[1]));
    const int64_t columns = z->shape[1];
    for (int64_t i = 0; i < z->numel; i++) {
        const double found = element(y, HEED_INDEX(i / columns, i % columns));
        const double goal = element(z, HEED_INDEX(i / columns, i % columns));
        EXPECT(found == goal, "%s: %g, not %g, at %d of (%d, %d)", what, found, goal, (int)i,
               (int)z->shape[0], (int)columns);
    }
}

/* To the bit what a product and an addition give. */
static void check_bias(int64_t m, int64_t n, int64_t k, heed_dtype dtype, int layouts)
{
    heed_tensor *a = noise(HEED_SHAPE(m, k), dtype, (enum layout)(layouts & 3), 1);
    heed_tensor *b = noise(HEED_SHAPE(k, n), dtype, (enum layout)(layouts >> 2 & 3), 2);
    heed_tensor *bias = noise(HEED_SHAPE(n), dtype, ROWS, 3);
    heed_tensor *y = heed_full(HEED_SHAPE(m, n), 77, dtype);
    ck_assert_int_eq(heed_multiply(a, b, bias, y, false), HEED_OK);
    expect_equal(y, heed_add(heed_matmul(a, b), bias), "bias");
}

START_TEST(bias_is_added_to_each_row)
{
    for_sizes((heed_dtype)_i, check_bias);
}
END_TEST

START_TEST(bias_of_a_batch)
{
    heed_tensor *a = noise(HEED_SHAPE(5, 7, 3), HEED_F32, ROTATED, 4);
    heed_tensor *b = noise(HEED_SHAPE(5, 3, 4), HEED_F32, STEPPED, 5);
    heed_tensor *bias = noise(HEED_SHAPE(4), HEED_F32, ROWS, 6);
    heed_tensor *y = heed_zeros(HEED_SHAPE(5, 7, 4), HEED_F32);
    ck_assert_int_eq(heed_multiply(a, b, bias, y, false), HEED_OK);
    expect_close(y, heed_add(heed_matmul(a, b), bias), 0);
}
END_TEST

void add_multiply_cases(Suite *suite)
{
    TCase *multiply = heed_case(suite, "multiply");
    tcase_add_loop_test(multiply, bias_is_added_to_each_row, 0, HEED_BOOL);
    tcase_add_test(multiply, bias_of_a_batch);
}
