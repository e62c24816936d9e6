/* einsum: many dims, dtypes, and which tensors are copied. parity/einsum.def tests equations from
 * papers and edge cases; equations.c tests random ones. */
#include <string.h>

#include "tests/common/ops_cases.h"

/* ---- many dims ---- */

static void check_product_of_8(const char *equation, heed_shape a, heed_shape b, heed_shape y,
                               heed_tensor *(*twin)(heed_tensor *a, heed_tensor *b))
{
    heed_tensor *x1 = noise(a, HEED_F64, ROTATED, 1), *x2 = noise(b, HEED_F64, COLUMNS, 2);
    heed_tensor *product = heed_einsum(equation, x1, x2);
    expect_kind(product, HEED_F64, y);
    expect_close(product, twin(x1, x2), 1e-12);
}

static heed_tensor *sum_of_product(heed_tensor *a, heed_tensor *b)
{
    return heed_sum_dim(heed_mul(a, b), -1, false);
}

/* With 7 batch dims matmul has one dim left for rows and columns, so dims must be merged. */
START_TEST(einsum_of_8_dims)
{
    const heed_shape a = HEED_SHAPE(2, 3, 2, 2, 2, 2, 2, 3),
                     some = HEED_SHAPE(2, 1, 2, 1, 2, 2, 1, 3);
    const heed_shape y = HEED_SHAPE(2, 3, 2, 2, 2, 2, 2);
    check_product_of_8("abcdefgk,abcdefgk->abcdefg", a, a, y, sum_of_product);
    check_product_of_8("...k,...k->...", a, a, y, sum_of_product);
    check_product_of_8("...k,...k->...", a, some, y, sum_of_product);
    check_product_of_8("abcdefgk,abcdefgk->abcdefg", some, a, y, sum_of_product);
    check_product_of_8("...,...", a, some, a, heed_mul);
    check_product_of_8("...k,...k", some, some, HEED_SHAPE(2, 1, 2, 1, 2, 2, 1), sum_of_product);
    /* 15 letters, 8 in each operand. */
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 2, 2, 2, 2, 2, 2, 3), HEED_F32);
    heed_tensor *sum = heed_einsum("abcdefgh,ijklmnoh->", x, x);
    EXPECT_VALUES(sum, 0, 128 * 128 * 3);
    EXPECT_VALUES(heed_einsum("abcdefgh,ijklmnop->ai", x, x), 0, 36864, 36864, 36864, 36864);
    ck_assert_ptr_null(heed_einsum("abcdefgh,ijklmnoh->abcdijklm", x, x));
    expect_error(HEED_ERR_SHAPE, "the result would have 9 dims; at most 8");
    ck_assert_ptr_null(heed_einsum("abcdefgh,ijklmnop", x, x));
    expect_error(HEED_ERR_SHAPE, "the result would have 16 dims; at most 8");
    heed_tensor *b = heed_ones(HEED_SHAPE(1, 3), HEED_F32);
    expect_kind(heed_einsum("...h,ih->i...", x, b), HEED_F32, HEED_SHAPE(1, 2, 2, 2, 2, 2, 2, 2));
}
END_TEST

/* ---- what is copied ---- */

/* The first matmul in the graph of y. */
static const heed_tensor *find_matmul(const heed_tensor *y)
{
    while (y->op == NULL || strcmp(y->op->name, "matmul") != 0) {
        EXPECT(y->op != NULL, "no matmul");
        y = y->inputs[0];
    }
    return y;
}

START_TEST(einsum_multiplies_views)
{
    static const struct {
        const char *equation;
        heed_shape a, b;
        bool copies_a, copies_b;
    } rows[] = {
        {"bqd,bkd->bqk", {3, {2, 3, 4}}, {3, {2, 5, 4}}, false, false},
        {"bhqd,bhkd->bhqk", {4, {2, 3, 4, 5}}, {4, {2, 3, 6, 5}}, false, false},
        {"bhqk,bhkd->bhqd", {4, {2, 3, 4, 5}}, {4, {2, 3, 5, 6}}, false, false},
        {"bqhd,bkhd->bhqk", {4, {2, 3, 4, 5}}, {4, {2, 6, 4, 5}}, false, false},
        {"bhqk,bkhd->bqhd", {4, {2, 3, 4, 5}}, {4, {2, 5, 3, 6}}, false, false},
        {"bhqd,bhkd->bhqk", {4, {2, 3, 4, 5}}, {4, {2, 1, 6, 5}}, false, false},
        {"ij,jk", {2, {3, 4}}, {2, {4, 5}}, false, false},
        {"ji,kj", {2, {3, 4}}, {2, {5, 3}}, false, false},
        {"ij,ij->", {2, {3, 4}}, {2, {3, 4}}, false, false},
        {"...ij,...jk->...ik", {4, {2, 1, 3, 4}}, {3, {5, 4, 6}}, false, false},
        {"bqhd,bkhd->bqk", {4, {2, 3, 4, 5}}, {4, {2, 6, 4, 5}}, false, false},
        /* h and e cannot be merged without a copy in (h, d, e), nor d and h in both. */
        {"nld,hde->nhle", {3, {2, 3, 4}}, {3, {5, 4, 6}}, false, true},
        {"qhd,dhk->qk", {3, {9, 2, 3}}, {3, {3, 2, 4}}, false, true},
        {"qhd,dhk->qk", {3, {4, 2, 3}}, {3, {3, 2, 9}}, true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        heed_tensor *a = heed_set_requires_grad(heed_ones(rows[i].a, HEED_F32), true);
        heed_tensor *b = heed_set_requires_grad(heed_ones(rows[i].b, HEED_F32), true);
        const heed_tensor *product = find_matmul(heed_einsum(rows[i].equation, a, b));
        ck_assert_msg((product->inputs[0]->storage != a->storage) == rows[i].copies_a, "%s: a",
                      rows[i].equation);
        ck_assert_msg((product->inputs[1]->storage != b->storage) == rows[i].copies_b, "%s: b",
                      rows[i].equation);
    }
}
END_TEST

/* Intermediate tensors are freed: only the result and what its derivative reads remain. */
START_TEST(einsum_leaves_nothing_behind)
{
    heed_tensor *a = noise(HEED_SHAPE(2, 3, 4), HEED_F32, ROWS, 1);
    heed_tensor *b = noise(HEED_SHAPE(5, 4, 6), HEED_F32, ROWS, 2);
    const int64_t tensors = heed_live_tensors();
    heed_einsum("nld,hde->nhle", a, b);
    ck_assert_int_eq(heed_live_tensors(), tensors + 1);
}
END_TEST

/* ---- dtypes ---- */

START_TEST(einsum_dtypes)
{
    heed_tensor *ids = heed_from_i64((int64_t[]){3, -2}, HEED_SHAPE(2));
    heed_tensor *mask = heed_from_bool((bool[]){1, 0}, HEED_SHAPE(2));
    heed_tensor *x = heed_from_f32((float[]){0.5f, 4}, HEED_SHAPE(2));
    heed_tensor *d = heed_to(x, HEED_F64);
    /* No shared letter is summed over, so the dtypes are those of heed_mul; a sum of bools counts
     * them. */
    expect_kind(heed_einsum("i,j->ij", ids, x), HEED_F32, HEED_SHAPE(2, 2));
    expect_kind(heed_einsum("i,i->i", mask, mask), HEED_BOOL, HEED_SHAPE(2));
    expect_kind(heed_einsum("i,j->j", mask, mask), HEED_I64, HEED_SHAPE(2));
    EXPECT_VALUES(heed_einsum("i,i->i", mask, x), 0, 0.5, 0);
    EXPECT_VALUES(heed_einsum("i,i->", ids, ids), 0, 13);
    ck_assert_ptr_null(heed_einsum("i,i->", ids, x));
    expect_error(HEED_ERR_DTYPE, "einsum: i64 with f32; cast");
    ck_assert_ptr_null(heed_einsum("i,i->", mask, mask));
    expect_error(HEED_ERR_DTYPE, "einsum: bool with bool; cast");
    ck_assert_ptr_null(heed_einsum("i,j->ij", x, d));
    expect_error(HEED_ERR_DTYPE, "einsum: f32 with f64; cast");
}
END_TEST

/* ---- failing allocations ---- */

/* A diagonal, sums, copies and a product, forward and backward, with each allocation failing in
 * turn. */
START_TEST(einsum_without_memory)
{
    heed_tensor *a =
        heed_set_requires_grad(noise(HEED_SHAPE(3, 2, 3, 4, 2), HEED_F64, ROWS, 3), true);
    heed_tensor *b = heed_set_requires_grad(noise(HEED_SHAPE(2, 4, 5), HEED_F64, ROTATED, 4), true);
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    int64_t n = 0;
    for (heed_status status = HEED_ERR_MEMORY; status != HEED_OK; n++) {
        heed_tensor *grads[2] = {NULL, NULL};
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_fail_allocation(n);
        heed_tensor *y = heed_einsum("ijikl,jkm->mi", a, b);
        heed_grad(heed_sum(heed_mul(y, y)), (heed_tensor *[]){a, b}, 2, grads, true);
        heed_fail_allocation(-1);
        heed_scope_end(&scope);
        ck_assert_int_eq(heed_live_tensors(), tensors);
        ck_assert_int_eq(heed_live_bytes(), bytes);
        status = heed_error_pending();
        if (status != HEED_OK) {
            expect_error(HEED_ERR_MEMORY, "out of memory: ");
        }
    }
    ck_assert_int_gt(n, 30);
}
END_TEST

/* ---- a long equation ---- */

START_TEST(einsum_of_a_long_text)
{
    char text[5000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    heed_tensor *x = heed_ones(HEED_SHAPE(2), HEED_F32);
    ck_assert_ptr_null(heed_einsum(text, x, x));
    expect_error(HEED_ERR_VALUE, "1 operand; heed_einsum takes two");
    text[2500] = ',';
    ck_assert_ptr_null(heed_einsum(text, x, x));
    expect_error(HEED_ERR_SHAPE, "a has 1 dim, not 2500");
    memcpy(text + 1000, "->", 2);
    text[1] = ',';
    ck_assert_ptr_null(heed_einsum(text, x, x));
    expect_error(HEED_ERR_VALUE, "','");
}
END_TEST

void add_einsum_cases(Suite *suite)
{
    TCase *einsum = heed_case(suite, "einsum");
    tcase_add_test(einsum, einsum_of_8_dims);
    tcase_add_test(einsum, einsum_multiplies_views);
    tcase_add_test(einsum, einsum_leaves_nothing_behind);
    tcase_add_test(einsum, einsum_dtypes);
    tcase_add_test(einsum, einsum_without_memory);
    tcase_add_test(einsum, einsum_of_a_long_text);
}
