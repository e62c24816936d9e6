/* slice, select and narrow, compared with plain loops; chunk, compared with slices. */

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
    for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
        heed_tensor *x = noise(shape, dtype, (enum layout)_i, 1);
        for (int64_t start = -9; start <= 9; start++) {
            for (int64_t end = -9; end <= 9; end++) {
                check_slice(x, 1, start, end, 1 + (start + end + 18) % 4);
            }
            check_slice(x, 2, start, INT64_MAX, 2);
            check_slice(x, 0, INT64_MIN, start, INT64_MAX);
        }
    }
}
END_TEST

START_TEST(slice_of_slice)
{
    heed_tensor *x = heed_arange(0, 60, 1, HEED_I64);
    heed_tensor *y = heed_slice(heed_slice(x, 0, 3, 50, 4), 0, 1, -1, 3);
    EXPECT_VALUES(y, 0, 7, 19, 31, 43);
    heed_tensor *z =
        heed_slice(heed_transpose(heed_reshape(x, HEED_SHAPE(6, 10)), 0, 1), 0, 2, 9, 5);
    EXPECT_VALUES(z, 0, 2, 12, 22, 32, 42, 52, 7, 17, 27, 37, 47, 57);
    expect_kind(heed_slice(y, 0, 2, 2, 1), HEED_I64, HEED_SHAPE(0));
    ck_assert_int_eq(heed_slice(x, 0, 5, 60, INT64_MAX)->strides[0],
                     1); /* one element: no product */
    ck_assert_ptr_null(heed_slice(x, 0, 0, 1, 0));
    expect_error(HEED_ERR_VALUE, "slice: step is 0");
    ck_assert_ptr_null(heed_slice(heed_scalar(1, HEED_F32), 0, 0, 1, 1));
    expect_error(HEED_ERR_DIM, "slice");
}
END_TEST

static const heed_shape whole = {3, {2, 6, 4}};

/* ---- select, narrow ---- */

/* The index with one more dim. */
static heed_shape with(heed_shape index, int dim, int64_t place)
{
    heed_shape full = {index.ndim + 1, {0}};
    for (int i = 0; i < full.ndim; i++) {
        full.size[i] = i == dim ? place : index.size[i - (i > dim)];
    }
    return full;
}

static void check_select(heed_tensor *x, int dim)
{
    const heed_shape rest = without_dims(whole, 1u << dim);
    const int64_t size = whole.size[dim];
    for (int64_t index = -size; index < size; index++) {
        heed_tensor *y = heed_select(x, dim - (index % 2 == 0 ? 3 : 0), index);
        expect_kind(y, x->dtype, rest);
        EXPECT(y->storage == x->storage, "select is not a view");
        for (heed_shape at = first_index(rest); at.ndim >= 0; next_index(rest, &at)) {
            expect_same("select", y, at, x, with(at, dim, index < 0 ? index + size : index));
        }
    }
}

static void check_narrow(heed_tensor *x, int dim)
{
    const int64_t size = whole.size[dim];
    for (int64_t start = -size - 2; start <= size + 2; start++) {
        for (int64_t length = -1; length <= size + 1; length++) {
            const int64_t first = start < 0 ? start + size : start;
            heed_tensor *y = heed_narrow(x, dim, start, length);
            if (first < 0 || length < 0 || first + length > size) {
                EXPECT(y == NULL, "narrow %lld, %lld", (long long)start, (long long)length);
                expect_error(HEED_ERR_INDEX, "narrow: ");
                continue;
            }
            EXPECT(y != NULL && y->shape[dim] == length && y->storage == x->storage, "narrow");
            expect_kind(y, x->dtype, heed_shape_of_tensor(y));
            ck_assert(heed_equal(y, heed_slice(x, dim, first, first + length, 1)));
        }
    }
}

START_TEST(select_and_narrow_take_places)
{
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        heed_tensor *x = noise(whole, (heed_dtype)_i, layout, 6);
        for (int dim = 0; dim < 3; dim++) {
            check_select(x, dim);
            check_narrow(x, dim);
        }
    }
    expect_kind(heed_select(heed_zeros(HEED_SHAPE(1, 1), HEED_F32), 0, 0), HEED_F32, HEED_SHAPE(1));
    expect_kind(heed_select(heed_zeros(HEED_SHAPE(2), HEED_F32), 0, 1), HEED_F32, HEED_SCALAR);
    expect_kind(heed_select(heed_zeros(HEED_SHAPE(2, 0), HEED_F32), 0, 1), HEED_F32, HEED_SHAPE(0));
}
END_TEST

/* ---- chunk ---- */

enum { ROOM = 12 };
static heed_tensor *parts[ROOM];

static void fill_parts(void)
{
    for (int i = 0; i < ROOM; i++) {
        parts[i] = (heed_tensor *)&parts; /* old contents, which must be overwritten */
    }
}

/* The parts are x split into these sizes, and only the first `room` entries of the list were
 * written. */
static void expect_parts(heed_tensor *x, int dim, int count, const int64_t *sizes, int room)
{
    int64_t start = 0;
    for (int i = 0; i < ROOM; i++) {
        EXPECT(i < room || parts[i] == (heed_tensor *)&parts, "part %d was touched", i);
        EXPECT(i < count || i >= room || parts[i] == NULL, "part %d", i);
        if (i < count) {
            heed_tensor *goal = heed_slice(x, dim, start, start + sizes[i], 1);
            EXPECT(parts[i]->shape[dim] == sizes[i] && parts[i]->storage == x->storage, "%d", i);
            EXPECT(heed_equal(parts[i], goal), "part %d", i);
            start += sizes[i];
        }
    }
    ck_assert_int_eq(start, x->shape[dim]);
}

/* torch's sizes of the parts, up to the first -1. */
static const struct chunk_row {
    int64_t size;
    int chunks;
    int64_t lengths[ROOM];
} chunk_rows[] = {
    {5, 3, {2, 2, 1, -1}}, {6, 4, {2, 2, 2, -1}},     {5, 8, {1, 1, 1, 1, 1, -1}},
    {0, 3, {0, 0, 0, -1}}, {12, 5, {3, 3, 3, 3, -1}}, {5, 1, {5, -1}},
    {1, 2, {1, -1}},
};
enum { CHUNK_ROWS = sizeof chunk_rows / sizeof *chunk_rows };

START_TEST(chunk_cuts_as_torch)
{
    const struct chunk_row *row = &chunk_rows[_i];
    for (int dim = 0; dim < 3; dim++) {
        heed_shape shape = HEED_SHAPE(2, 3, 2);
        shape.size[dim] = row->size;
        heed_tensor *x =
            noise(shape, (heed_dtype)(_i % HEED_DTYPES), (enum layout)(_i % LAYOUTS), 7);
        fill_parts();
        const int count = heed_chunk(x, row->chunks, dim - 3, parts);
        int goal = 0;
        while (row->lengths[goal] >= 0) {
            goal++;
        }
        ck_assert_int_eq(count, goal);
        expect_parts(x, dim, count, row->lengths, row->chunks);
    }
}
END_TEST

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
    ck_assert_int_eq(heed_chunk(x, 3, 0, parts), 3);
}
END_TEST

void add_slice_cases(Suite *suite)
{
    TCase *slice = heed_case(suite, "slice");
    tcase_add_loop_test(slice, slice_takes_what_python_takes, 0, LAYOUTS);
    tcase_add_test(slice, slice_of_slice);
    TCase *select = heed_case(suite, "select");
    tcase_add_loop_test(select, select_and_narrow_take_places, 0, HEED_DTYPES);
    TCase *chunk = heed_case(suite, "chunk");
    tcase_add_loop_test(chunk, chunk_cuts_as_torch, 0, CHUNK_ROWS);
    tcase_add_test(chunk, after_an_error_there_are_no_parts);
}
