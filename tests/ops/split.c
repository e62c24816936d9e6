/* split and chunk, compared with slices. */

#include "tests/common/reference.h"

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
static const struct cut_row {
    bool is_chunk;
    int64_t size, by, lengths[ROOM];
} cut_rows[] = {
    {false, 5, 2, {2, 2, 1, -1}},
    {false, 5, 7, {5, -1}},
    {false, 0, 0, {0, -1}},
    {false, 0, 3, {0, -1}},
    {false, 6, 3, {3, 3, -1}},
    {false, 5, 5, {5, -1}},
    {false, 5, INT64_MAX, {5, -1}},
    {false, 3, 1, {1, 1, 1, -1}},
    {true, 5, 3, {2, 2, 1, -1}},
    {true, 6, 4, {2, 2, 2, -1}},
    {true, 5, 8, {1, 1, 1, 1, 1, -1}},
    {true, 0, 3, {0, 0, 0, -1}},
    {true, 12, 5, {3, 3, 3, 3, -1}},
    {true, 5, 1, {5, -1}},
    {true, 1, 2, {1, -1}},
};
enum { CUT_ROWS = sizeof cut_rows / sizeof *cut_rows };

START_TEST(split_and_chunk_cut_as_torch)
{
    const struct cut_row *row = &cut_rows[_i];
    for (int dim = 0; dim < 3; dim++) {
        heed_shape shape = HEED_SHAPE(2, 3, 2);
        shape.size[dim] = row->size;
        heed_tensor *x =
            noise(shape, (heed_dtype)(_i % HEED_DTYPES), (enum layout)(_i % LAYOUTS), 7);
        fill_parts();
        const int room = row->is_chunk ? (int)row->by : ROOM - 1;
        const int count = row->is_chunk ? heed_chunk(x, room, dim - 3, parts)
                                        : heed_split(x, row->by, dim - 3, parts, room);
        int goal = 0;
        while (row->lengths[goal] >= 0) {
            goal++;
        }
        ck_assert_int_eq(count, goal);
        expect_parts(x, dim, count, row->lengths, room);
    }
}
END_TEST

START_TEST(split_fills_the_list)
{
    heed_tensor *x = noise(HEED_SHAPE(3, 7), HEED_F64, COLUMNS, 8);
    fill_parts();
    ck_assert_int_eq(heed_split(x, 1, 1, parts, 7), 7); /* the list has room for exactly these */
    ck_assert(parts[6] != NULL && parts[7] == (heed_tensor *)&parts);
}
END_TEST

static int any_cut(heed_tensor *x, int way)
{
    fill_parts();
    return way == 0 ? heed_split(x, 2, 0, parts, 3) : heed_chunk(x, 3, 0, parts);
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
    ck_assert_int_eq(any_cut(NULL, _i), 0);
    expect_no_parts();
    expect_error(HEED_ERR_NULL, "x is NULL");
    heed_fail(HEED_ERR_VALUE, "pending");
    ck_assert_int_eq(any_cut(x, _i), 0);
    expect_no_parts();
    expect_error(HEED_ERR_VALUE, "pending");
    for (int n = 0; n < 3; n++) {
        heed_fail_allocation(n);
        ck_assert_int_eq(any_cut(x, _i), 0);
        expect_no_parts();
        expect_error(HEED_ERR_MEMORY, "out of memory");
    }
    ck_assert_int_eq(any_cut(x, _i), 3);
}
END_TEST

void add_split_cases(Suite *suite)
{
    TCase *split = heed_case(suite, "split");
    tcase_add_loop_test(split, split_and_chunk_cut_as_torch, 0, CUT_ROWS);
    tcase_add_test(split, split_fills_the_list);
    tcase_add_loop_test(split, after_an_error_there_are_no_parts, 0, 2);
}
