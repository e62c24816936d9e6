/* diagonal, compared with plain loops. */

#include "tests/common/reference.h"

static const heed_shape whole = {3, {2, 6, 4}};

/* ---- diagonal ---- */

static void check_diagonal(heed_tensor *x, int dim1, int dim2, int64_t offset)
{
    const int64_t m = x->shape[dim1], n = x->shape[dim2];
    int64_t count = 0;
    for (int64_t i = 0; i < m; i++) {
        count += i + offset >= 0 && i + offset < n;
    }
    heed_shape part = without_dims(whole, 1u << dim1 | 1u << dim2);
    part.size[part.ndim++] = count;
    heed_tensor *y = heed_diagonal(x, offset, dim1, dim2 - 3);
    expect_kind(y, x->dtype, part);
    EXPECT(y->storage == x->storage, "diagonal is not a view");
    EXPECT(count > 0 || y->data == x->data, "an empty view is not at the start");
    if (heed_is_float(x->dtype)) {
        x = heed_set_requires_grad(heed_detach(x), true);
        heed_backward(heed_sum(heed_mul(heed_diagonal(x, offset, dim1 - 3, dim2), y)));
        expect_kind(x->grad, x->dtype, whole);
    }
    for (heed_shape from = first_index(whole); from.ndim >= 0; next_index(whole, &from)) {
        const bool is_on = from.size[dim2] - from.size[dim1] == offset;
        const heed_shape at =
            HEED_SHAPE(from.size[3 - dim1 - dim2], from.size[dim1] + (offset < 0 ? offset : 0));
        if (is_on) {
            expect_same("diagonal", y, at, x, from);
        }
        if (heed_is_float(x->dtype)) {
            expect_element("gradient of diagonal", element(x->grad, from),
                           is_on ? element(x, from) : 0, 0, x->dtype);
        }
    }
}

START_TEST(diagonal_takes_any_two_dims)
{
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        heed_tensor *x = noise(whole, (heed_dtype)_i, layout, 9);
        for (int pair = 0; pair < 9; pair++) {
            for (int64_t offset = -7; offset <= 7 && pair / 3 != pair % 3; offset++) {
                check_diagonal(x, pair / 3, pair % 3, offset);
            }
        }
        expect_kind(heed_diagonal(x, INT64_MIN, 0, 1), (heed_dtype)_i, HEED_SHAPE(4, 0));
        expect_kind(heed_diagonal(x, INT64_MAX, 0, 1), (heed_dtype)_i, HEED_SHAPE(4, 0));
    }
    heed_tensor *none = heed_zeros(HEED_SHAPE(0, 3), (heed_dtype)_i);
    expect_kind(heed_diagonal(none, 0, 0, 1), (heed_dtype)_i, HEED_SHAPE(0));
    expect_kind(heed_diagonal(none, 1, 1, 0), (heed_dtype)_i, HEED_SHAPE(0));
    heed_tensor *x = heed_reshape(heed_arange(0, 24, 1, HEED_I64), HEED_SHAPE(2, 3, 4));
    EXPECT_VALUES(heed_diagonal(x, 1, 0, 2), 0, 1, 14, 5, 18, 9, 22); /* torch's values */
    EXPECT_VALUES(heed_diagonal(x, 0, 2, 0), 0, 0, 13, 4, 17, 8, 21);
}
END_TEST

void add_diagonal_cases(Suite *suite)
{
    TCase *diagonal = heed_case(suite, "diagonal");
    tcase_add_loop_test(diagonal, diagonal_takes_any_two_dims, 0, HEED_DTYPES);
}
