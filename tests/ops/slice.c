/* Every slice that Python takes; chunk's list of parts. */
#include "tests/common/reference.h"

/* ---- slice ---- */

/* The indices in Python's range(size)[start:end:step]; returns their number. */
static int64_t sliced_places(int64_t size, int64_t start, int64_t end, int64_t step,
                             int64_t *places)
{
    int64_t count = 0;
    start = start < 0 ? start + size : start;
    end = end < 0 ? end + size : end;
    for (int64_t i = 0; i < size; i++) {
        int64_t from = start < 0 ? 0 : start;
        if (i >= from && i < end && (i - from) % step == 0) {
            places[count++] = i;
        }
    }
    return count;
}

static void check_slice(heed_tensor *x, int dim, int64_t start, int64_t end, int64_t step)
{
    int64_t places[16];
    heed_shape whole = heed_shape_of_tensor(x), part = whole;
    part.size[dim] = sliced_places(whole.size[dim], start, end, step, places);
    heed_tensor *y = heed_slice(x, dim - whole.ndim, start, end, step);
    expect_kind(y, x->dtype, part);
    EXPECT(y->storage == x->storage, "slice is not a view");
    EXPECT(y->strides[dim] == x->strides[dim] * (part.size[dim] > 1 ? step : 1), "strides");
    for (heed_shape at = first_index(part); at.ndim >= 0; next_index(part, &at)) {
        heed_shape from = at;
        from.size[dim] = places[at.size[dim]];
        expect_element("slice", element(y, at), element(x, from), 0, x->dtype);
    }
}

START_TEST(slice_takes_what_python_takes)
{
    const heed_shape shape = HEED_SHAPE(2, 7, 3);
    heed_tensor *x = noise(shape, HEED_F32, (enum layout)_i, 1);
    for (int64_t start = -9; start <= 9; start++) {
        for (int64_t end = -9; end <= 9; end++) {
            check_slice(x, 1, start, end, 1 + (start + end + 18) % 4);
        }
        check_slice(x, 2, start, INT64_MAX, 2);
        check_slice(x, 0, INT64_MIN, start, INT64_MAX);
    }
}
END_TEST

/* ---- chunk ---- */

static heed_tensor *parts[4];

static void fill_parts(void)
{
    for (int i = 0; i < 4; i++) {
        parts[i] = (heed_tensor *)&parts; /* old contents, which must be overwritten */
    }
}

static void expect_no_parts(void)
{
    for (int i = 0; i < 3; i++) {
        ck_assert_ptr_null(parts[i]);
    }
    ck_assert(parts[3] == (heed_tensor *)&parts);
}

START_TEST(after_an_error_there_are_no_parts)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(6), HEED_F32);
    fill_parts();
    ck_assert_int_eq(heed_chunk(NULL, 3, 0, parts), 0);
    expect_no_parts();
    expect_error(HEED_ERR_NULL, "x is NULL");
    heed_fail(HEED_ERR_VALUE, "pending");
    ck_assert_int_eq(heed_chunk(x, 3, 0, parts), 0);
    expect_no_parts();
    expect_error(HEED_ERR_VALUE, "pending");
    for (int n = 0; n < 3; n++) {
        heed_fail_allocation(n);
        ck_assert_int_eq(heed_chunk(x, 3, 0, parts), 0);
        expect_no_parts();
        expect_error(HEED_ERR_MEMORY, "out of memory");
    }
    ck_assert_int_eq(heed_chunk(x, 4, 0, parts), 3); /* in parts of 2 */
    ck_assert(parts[2] != NULL && parts[3] == NULL);
}
END_TEST

void add_slice_cases(Suite *suite)
{
    TCase *slice = heed_case(suite, "slice");
    tcase_add_loop_test(slice, slice_takes_what_python_takes, 0, LAYOUTS);
    tcase_add_test(slice, after_an_error_there_are_no_parts);
}
