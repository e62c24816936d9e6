/* embedding and its backward, compared with plain loops. */
#include <math.h>

#include "tests/common/reference.h"

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
    heed_tensor *weight = noise(HEED_SHAPE(V, D), dtype, (layout + 1) % LAYOUTS, 1), *back;
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
    y = heed_embedding(ids, heed_set_requires_grad(weight, true));
    heed_grad(heed_sum(heed_mul(y, g)), &weight, 1, &back, false);
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
    }
    heed_tensor *ids = heed_zeros(HEED_SHAPE(2), HEED_I64);
    ck_assert_ptr_null(heed_embedding(weight, weight));
    expect_error(HEED_ERR_DTYPE, "embedding: ids is f32, not i64");
    ck_assert_ptr_null(heed_embedding(ids, ids));
    expect_error(HEED_ERR_DTYPE, "embedding: weight is i64, not a float");
    ck_assert_ptr_null(heed_embedding(ids, heed_ones(HEED_SHAPE(3), HEED_F32)));
    expect_error(HEED_ERR_SHAPE, "embedding: weight (3) does not fit ids (2)");
}
END_TEST

void add_embedding_rows_cases(Suite *suite)
{
    TCase *loss = heed_case(suite, "embedding");
    tcase_add_loop_test(loss, embedding_looks_rows_up_and_adds_them_up, 0, 6);
    tcase_add_test(loss, embedding_refuses);
}
