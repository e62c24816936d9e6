/* Embedding, losses, and comparing whole tensors. */
#include <math.h>

#include "tests/common/ops_cases.h"

struct close {
    double a[2], b[2], rtol, atol;
    bool equal_nan, is_close;
};

#include "tests/fixtures/ops_close.h"

enum { CLOSES = sizeof closes / sizeof *closes };

/* ---- embedding ---- */

static heed_tensor *ids_below(int64_t rows, heed_shape shape, enum layout layout)
{
    double values[64];
    for (int64_t i = 0; i < count_of(shape); i++) {
        values[i] = (double)(i * 7 % 11 % rows);
    }
    return lay_out(values, shape, HEED_I64, layout);
}

static void check_embedding(heed_shape of_ids, heed_dtype dtype, enum layout layout)
{
    enum { V = 5, D = 3 };
    heed_tensor *ids = ids_below(V, of_ids, layout);
    heed_tensor *weight = noise(HEED_SHAPE(V, D), dtype, (layout + 1) % LAYOUTS, 1);
    heed_shape shape = of_ids;
    shape.size[shape.ndim++] = D;
    heed_tensor *y = heed_embedding(ids, weight);
    expect_kind(y, dtype, shape);
    heed_tensor *g = noise(shape, dtype, (layout + 2) % LAYOUTS, 2);
    double rows[V][D] = {{0}};
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        heed_shape of_id = at;
        of_id.ndim--;
        int64_t id = (int64_t)element(ids, of_id), column = at.size[of_id.ndim];
        double goal = element(weight, HEED_INDEX(id, column));
        expect_element("embedding", element(y, at), goal, 0, dtype);
        rows[id][column] += element(g, at);
    }
    heed_tensor *back = heed_embedding_dense_backward(g, ids, V);
    expect_kind(back, dtype, HEED_SHAPE(V, D));
    for (int i = 0; i < V * D; i++) {
        double found = element(back, HEED_INDEX(i / D, i % D)), goal = rows[i / D][i % D];
        double tolerance = dtype == HEED_F32 ? 4e-6 : 1e-14;
        EXPECT(fabs(found - goal) <= tolerance, "row %d is %g, not %g", i / D, found, goal);
    }
}

START_TEST(embedding_looks_rows_up_and_adds_them_up)
{
    static const heed_shape shapes[] = {{0, {0}},    {1, {0}},       {1, {7}},
                                        {2, {3, 4}}, {3, {2, 3, 4}}, {2, {0, 4}}};
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        check_embedding(shapes[_i], HEED_F32, layout);
        check_embedding(shapes[_i], HEED_F64, layout);
    }
}
END_TEST

START_TEST(embedding_refuses)
{
    heed_tensor *weight = heed_ones(HEED_SHAPE(3, 2), HEED_F32);
    static const int64_t outside[] = {3, -1, INT64_MAX, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        heed_tensor *ids = heed_from_i64((int64_t[]){0, outside[i]}, HEED_SHAPE(2));
        ck_assert_ptr_null(heed_embedding(ids, weight));
        expect_error(HEED_ERR_INDEX, "at position 1 is outside [0, 3)");
        ck_assert_ptr_null(
            heed_embedding_dense_backward(heed_ones(HEED_SHAPE(2, 2), HEED_F32), ids, 3));
        expect_error(HEED_ERR_INDEX, "embedding_dense_backward: id");
    }
    heed_tensor *ids = heed_zeros(HEED_SHAPE(2), HEED_I64);
    ck_assert_ptr_null(heed_embedding(weight, weight));
    expect_error(HEED_ERR_DTYPE, "embedding: ids is f32, not i64");
    ck_assert_ptr_null(heed_embedding(ids, ids));
    expect_error(HEED_ERR_DTYPE, "embedding: weight is i64, not a float");
    ck_assert_ptr_null(heed_embedding(ids, heed_ones(HEED_SHAPE(3), HEED_F32)));
    expect_error(HEED_ERR_SHAPE, "embedding: ids (2) in weight (3)");
    ck_assert_ptr_null(heed_embedding_dense_backward(weight, ids, 3));
    expect_error(HEED_ERR_SHAPE, "embedding_dense_backward: g (3, 2) does not fit ids (2)");
}
END_TEST

/* ---- cross_entropy, nll_loss ---- */

START_TEST(losses_of_masked_classes)
{
    const float inf = INFINITY;
    heed_tensor *x = heed_from_f32((float[]){-inf, 0, 1, 2, -inf, 2}, HEED_SHAPE(2, 3));
    heed_tensor *good = heed_from_i64((int64_t[]){2, 0}, HEED_SHAPE(2));
    heed_tensor *bad = heed_from_i64((int64_t[]){0, 0}, HEED_SHAPE(2));
    EXPECT_VALUES(heed_cross_entropy(x, good), 1e-7, (log1p(exp(-1)) + log(2)) / 2);
    EXPECT_VALUES(heed_cross_entropy(x, bad), 0, INF);
    heed_tensor *lost = heed_full(HEED_SHAPE(2, 3), -INF, HEED_F32);
    EXPECT_VALUES(heed_cross_entropy(lost, good), 0, NaN);
    /* Ignored rows may contain anything. */
    heed_tensor *half = heed_from_i64((int64_t[]){-100, 0}, HEED_SHAPE(2));
    heed_tensor *rows[] = {heed_slice(lost, 0, 0, 1, 1), heed_slice(x, 0, 1, 2, 1)};
    EXPECT_VALUES(heed_cross_entropy(heed_cat(rows, 2, 0), half), 1e-7, log(2));
    heed_tensor *large = heed_from_f32((float[]){1e30f, 0, -1e30f, 0, 0, 0}, HEED_SHAPE(2, 3));
    EXPECT_VALUES(heed_cross_entropy(large, bad), 1e-7, log(3) / 2);
}
END_TEST

START_TEST(losses_refuse)
{
    heed_tensor *x = heed_zeros(HEED_SHAPE(2, 3), HEED_F32);
    static const int64_t outside[] = {3, -1, -101, INT64_MAX};
    for (int i = 0; i < 4; i++) {
        heed_tensor *t = heed_from_i64((int64_t[]){0, outside[i]}, HEED_SHAPE(2));
        ck_assert_ptr_null(heed_cross_entropy(x, t));
        expect_error(HEED_ERR_INDEX, "at position 1 is outside [0, 3)");
        expect_kind(heed_cross_entropy_with(
                        x, t, (heed_cross_entropy_options){.ignore_index = &outside[i]}),
                    HEED_F32, HEED_SCALAR);
    }
    heed_tensor *t = heed_zeros(HEED_SHAPE(3), HEED_I64);
    ck_assert_ptr_null(heed_cross_entropy(x, t));
    expect_error(HEED_ERR_SHAPE, "cross_entropy: targets (3) do not fit (2, 3)");
    ck_assert_ptr_null(heed_cross_entropy(heed_zeros(HEED_SHAPE(2, 4, 3), HEED_F32),
                                          heed_zeros(HEED_SHAPE(2, 4), HEED_I64)));
    expect_error(HEED_ERR_SHAPE, "heed_reshape the scores to (-1, C) and the targets to (-1)");
    ck_assert_ptr_null(heed_cross_entropy(heed_scalar(1, HEED_F32), heed_scalar(0, HEED_I64)));
    expect_error(HEED_ERR_SHAPE, "cross_entropy");
    ck_assert_ptr_null(heed_nll_loss(x, heed_zeros(HEED_SHAPE(2), HEED_F32)));
    expect_error(HEED_ERR_DTYPE, "nll_loss: f32 with f32 targets");
    ck_assert_ptr_null(
        heed_cross_entropy(heed_to(x, HEED_I64), heed_zeros(HEED_SHAPE(2), HEED_I64)));
    expect_error(HEED_ERR_DTYPE, "it takes a float with i64 targets");
}
END_TEST

/* ---- allclose, equal ---- */

START_TEST(allclose_is_torchs)
{
    for (int i = 0; i < CLOSES; i++) {
        const struct close *c = &closes[i];
        heed_tensor *a = lay_out(c->a, HEED_SHAPE(2), HEED_F64, STEPPED);
        heed_tensor *b = lay_out(c->b, HEED_SHAPE(2), HEED_F64, ROWS);
        EXPECT(heed_allclose(a, b, c->rtol, c->atol, c->equal_nan) == c->is_close,
               "(%g, %g) and (%g, %g), rtol %g, atol %g", c->a[0], c->a[1], c->b[0], c->b[1],
               c->rtol, c->atol);
        expect_no_error();
    }
}
END_TEST

START_TEST(allclose_broadcasts_and_refuses)
{
    heed_tensor *a = heed_full(HEED_SHAPE(3, 1), 2, HEED_F32),
                *b = heed_full(HEED_SHAPE(4), 2, HEED_I64);
    ck_assert(heed_allclose(a, b, 0, 0, false));
    ck_assert(!heed_allclose(a, heed_arange(2, 6, 1, HEED_F32), 0, 1, false));
    ck_assert(heed_allclose(heed_zeros(HEED_SHAPE(0), HEED_F32), a, 0, 0, false));
    ck_assert(!heed_allclose(a, heed_full(HEED_SHAPE(4), 2, HEED_F64), 1, 1, false));
    expect_error(HEED_ERR_DTYPE, "allclose: f32 with f64");
    ck_assert(!heed_allclose(b, heed_ones(HEED_SHAPE(3), HEED_I64), 1, 1, false));
    expect_error(HEED_ERR_SHAPE, "allclose");
    ck_assert(!heed_allclose(a, a, -1, 0, false));
    expect_error(HEED_ERR_VALUE, "allclose: tolerances");
    ck_assert(!heed_allclose(a, a, 0, NaN, false));
    expect_error(HEED_ERR_VALUE, "allclose: tolerances");
}
END_TEST

START_TEST(equal_compares_shape_dtype_and_elements)
{
    for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
        const heed_shape shape = HEED_SHAPE(3, 4, 100);
        heed_tensor *x = noise(shape, dtype, ROWS, 5), *y = noise(shape, dtype, ROTATED, 5);
        ck_assert(heed_equal(x, y));
        for (int place = 0; place < 1200; place += 1199) {
            heed_tensor *z = heed_clone(x);
            heed_tensor *one = heed_slice(heed_reshape(z, HEED_SHAPE(-1)), 0, place, place + 1, 1);
            heed_fill_into(one, heed_item(one) == 0);
            ck_assert(!heed_equal(x, z) && !heed_equal(z, y));
        }
        ck_assert(!heed_equal(x, heed_reshape(y, HEED_SHAPE(4, 3, 100))));
        ck_assert(!heed_equal(x, heed_to(x, (dtype + 1) % HEED_DTYPES)));
        ck_assert(
            heed_equal(heed_zeros(HEED_SHAPE(2, 0), dtype), heed_zeros(HEED_SHAPE(2, 0), dtype)));
        ck_assert(
            !heed_equal(heed_zeros(HEED_SHAPE(2, 0), dtype), heed_zeros(HEED_SHAPE(0, 2), dtype)));
    }
    heed_tensor *nan = heed_full(HEED_SHAPE(2), NaN, HEED_F32);
    ck_assert(!heed_equal(nan, nan));
    ck_assert(heed_equal(heed_scalar(-0.0, HEED_F32), heed_scalar(0, HEED_F32)));
}
END_TEST

void add_loss_cases(Suite *suite)
{
    TCase *loss = heed_case(suite, "loss");
    tcase_add_loop_test(loss, embedding_looks_rows_up_and_adds_them_up, 0, 6);
    tcase_add_test(loss, embedding_refuses);
    tcase_add_test(loss, losses_of_masked_classes);
    tcase_add_test(loss, losses_refuse);
    tcase_add_test(loss, allclose_is_torchs);
    tcase_add_test(loss, allclose_broadcasts_and_refuses);
    tcase_add_test(loss, equal_compares_shape_dtype_and_elements);
}
