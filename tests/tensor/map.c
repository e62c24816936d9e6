/* Casts, copies, and the functions that modify values in place. */
#include <math.h>
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/reference.h"

struct cast {
    heed_dtype dtype;
    double from, to_f32, to_f64;
    int64_t to_i64;
    bool to_bool;
};

struct whole_cast {
    int64_t from;
    double to_f32, to_f64;
    bool to_bool;
};

#include "tests/fixtures/casts.h"

enum { CASTS = sizeof casts / sizeof *casts, WHOLES = sizeof whole_casts / sizeof *whole_casts };

/* ---- to ---- */

static void expect_cast(heed_tensor *x, heed_dtype dtype, double goal)
{
    heed_tensor *y = heed_to(x, dtype);
    expect_kind(y, dtype, heed_shape_of_tensor(x));
    EXPECT((y == x) == (x->dtype == dtype), "heed_to must copy only to another dtype");
    for (int64_t i = 0; i < y->numel; i++) {
        double found = element(y, HEED_INDEX(i));
        expect_element("to", found, goal, 0, dtype);
        EXPECT(isnan(goal) || !signbit(found) == !signbit(goal), "a zero has lost its sign");
    }
}

/* Contiguous with several lengths, and with gaps: vectors, their remainders, and single
 * elements. */
START_TEST(to_casts_as_torch)
{
    const struct cast *c = &casts[_i];
    double values[37];
    for (int count = 1; count <= 37; count += 4) {
        for (int i = 0; i < count; i++) {
            values[i] = c->from;
        }
        for (enum layout layout = ROWS; layout <= STEPPED; layout += STEPPED) {
            heed_tensor *x = lay_out(values, HEED_SHAPE(count), c->dtype, layout);
            expect_cast(x, HEED_F32, c->to_f32);
            expect_cast(x, HEED_F64, c->to_f64);
            expect_cast(x, HEED_BOOL, c->to_bool);
            heed_tensor *y = heed_to(x, HEED_I64);
            expect_kind(y, HEED_I64, HEED_SHAPE(count));
            for (int i = 0; i < count; i++) {
                EXPECT(heed_const_data_i64(y)[i] == c->to_i64, "%g becomes %lld", c->from,
                       (long long)heed_const_data_i64(y)[i]);
            }
        }
    }
}
END_TEST

START_TEST(to_casts_whole_numbers)
{
    const struct whole_cast *c = &whole_casts[_i];
    heed_tensor *x = heed_expand(heed_from_i64(&c->from, HEED_SHAPE(1)), HEED_SHAPE(19));
    expect_cast(x, HEED_F32, c->to_f32);
    expect_cast(x, HEED_F64, c->to_f64);
    expect_cast(x, HEED_BOOL, c->to_bool);
    heed_tensor *yes = heed_from_bool((bool[]){true, false}, HEED_SHAPE(2));
    for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
        EXPECT_VALUES(heed_to(yes, dtype), 0, 1, 0);
    }
    ck_assert_ptr_null(heed_to(yes, HEED_DTYPES));
    expect_error(HEED_ERR_DTYPE, "to: 4 is not a dtype");
}
END_TEST

/* ---- copy_out ---- */

START_TEST(copy_out_of_any_view)
{
    static const heed_shape shapes[] = {{0, {0}},      {1, {0}},      {1, {900}},
                                        {2, {3, 300}}, {2, {300, 3}}, {3, {2, 3, 4}}};
    for (int i = 0; i < 6; i++) {
        for (heed_dtype dtype = 0; dtype < HEED_DTYPES; dtype++) {
            for (enum layout layout = 0; layout < LAYOUTS; layout++) {
                heed_tensor *x = noise(shapes[i], dtype, layout, 1),
                            *rows = noise(shapes[i], dtype, ROWS, 1);
                char out[900 * 8 + 1];
                const size_t bytes = (size_t)x->numel * heed_dtype_size(dtype);
                memset(out, 0x5a, sizeof out);
                ck_assert_int_eq(heed_copy_out(x, out, x->numel), HEED_OK);
                ck_assert(memcmp(out, rows->data, bytes) == 0 && out[bytes] == 0x5a);
                ck_assert_int_eq(x->storage->version, 0);
            }
        }
    }
    ck_assert_int_eq(heed_copy_out(heed_zeros(HEED_SHAPE(0), HEED_F32), NULL, 0), HEED_OK);
}
END_TEST

/* ---- copy_into ---- */

/* Elements between those of a stepped target must not change. */
static void check_copy(heed_shape to, heed_dtype to_dtype, enum layout layout, heed_tensor *source)
{
    heed_tensor *target = noise(to, to_dtype, layout, 2);
    const uint32_t version = target->storage->version;
    const double around = to_dtype == HEED_BOOL ? 1 : 77;
    ck_assert_int_eq(heed_copy_into(target, source), HEED_OK);
    ck_assert_int_eq(target->storage->version, version + 1);
    for (heed_shape at = first_index(to); at.ndim >= 0; next_index(to, &at)) {
        double value = element(source, at);
        double goal = to_dtype == HEED_F32    ? (double)(float)value
                      : to_dtype == HEED_I64  ? trunc(value)
                      : to_dtype == HEED_BOOL ? value != 0
                                              : value;
        expect_element("copy_into", element(target, at), goal, 0, to_dtype);
    }
    if (layout == STEPPED) {
        heed_tensor whole = *target; /* the five elements before the first */
        int64_t shape[] = {5}, strides[] = {1};
        whole.ndim = 1;
        whole.shape = shape;
        whole.strides = strides;
        whole.data = target->storage->data;
        for (int64_t i = 0; i < 5; i++) {
            expect_element("around", element(&whole, HEED_INDEX(i)), around, 0, to_dtype);
        }
    }
}

START_TEST(copy_into_casts_broadcasts_and_keeps_to_its_place)
{
    static const heed_shape pairs[][2] = {{{0, {0}}, {0, {0}}},
                                          {{1, {600}}, {1, {600}}},
                                          {{1, {600}}, {0, {0}}},
                                          {{2, {3, 4}}, {1, {4}}},
                                          {{2, {3, 4}}, {2, {3, 1}}},
                                          {{3, {2, 3, 300}}, {2, {3, 1}}},
                                          {{2, {0, 3}}, {1, {3}}},
                                          {{2, {129, 17}}, {2, {129, 17}}},
                                          {{3, {2, 33, 70}}, {3, {2, 33, 70}}}};
    for (int i = 0; i < 9; i++) {
        for (int dtypes = 0; dtypes < HEED_DTYPES * HEED_DTYPES; dtypes++) {
            for (int layouts = 0; layouts < LAYOUTS * LAYOUTS; layouts++) {
                heed_tensor *source =
                    noise(pairs[i][1], dtypes % HEED_DTYPES, layouts % LAYOUTS, 3);
                check_copy(pairs[i][0], dtypes / HEED_DTYPES, layouts / LAYOUTS, source);
            }
        }
    }
}
END_TEST

/* Overlapping copies act as if the source were copied first. */
START_TEST(copy_into_of_its_own_memory)
{
    heed_tensor *x = heed_arange(0, 8, 1, HEED_F32);
    heed_copy_into(heed_slice(x, 0, 1, 8, 1), heed_slice(x, 0, 0, 7, 1));
    EXPECT_VALUES(x, 0, 0, 0, 1, 2, 3, 4, 5, 6);
    heed_copy_into(heed_slice(x, 0, 0, 7, 1), heed_slice(x, 0, 1, 8, 1));
    EXPECT_VALUES(x, 0, 0, 1, 2, 3, 4, 5, 6, 6);
    heed_tensor *square = heed_reshape(heed_arange(0, 9, 1, HEED_I64), HEED_SHAPE(3, 3));
    heed_copy_into(square, heed_transpose(square, 0, 1));
    EXPECT_VALUES(square, 0, 0, 3, 6, 1, 4, 7, 2, 5, 8);
    heed_copy_into(square, heed_slice(square, 0, 1, 2, 1));
    EXPECT_VALUES(square, 0, 1, 4, 7, 1, 4, 7, 1, 4, 7);
    heed_copy_into(square, square);
    EXPECT_VALUES(square, 0, 1, 4, 7, 1, 4, 7, 1, 4, 7);
    ck_assert_int_eq(square->storage->version, 3);
}
END_TEST

/* ---- in-place changes and versions ---- */

START_TEST(doors_raise_the_version_and_readers_do_not)
{
    heed_tensor *x = heed_ones(HEED_SHAPE(2, 2), HEED_F32), *view = heed_transpose(x, 0, 1);
    const uint32_t *version = &x->storage->version;
    heed_const_data_f32(x), heed_at(x, HEED_INDEX(0, 0)), heed_equal(x, view), heed_detach(x);
    ck_assert_int_eq(*version, 0);
    heed_data_f32(heed_detach(x))[3] = 5;
    ck_assert_int_eq(*version, 1);
    heed_copy_into(view, x);
    heed_fill_into(view, 2);
    ck_assert_int_eq(*version, 3);
    ck_assert_ptr_null(heed_data_f32(view));
    expect_error(HEED_ERR_SHAPE, "data_f32: t (2, 2) is not contiguous");
    ck_assert_int_eq(*version, 3);
    heed_tensor *value = heed_zeros(HEED_SHAPE(2, 2), HEED_F32);
    heed_fill_into(value, 1);
    heed_share_storage(x, value); /* higher than that of the old memory and of the new */
    ck_assert_int_eq(x->storage->version, 5);
}
END_TEST

START_TEST(data_doors_of_all_dtypes)
{
    const heed_shape shape = HEED_SHAPE(2, 2);
    heed_tensor *a = heed_zeros(shape, HEED_F32), *b = heed_zeros(shape, HEED_F64);
    heed_tensor *c = heed_zeros(shape, HEED_I64), *d = heed_zeros(shape, HEED_BOOL);
    heed_data_f32(a)[1] = 0.5f, heed_data_f64(b)[1] = 0.5;
    heed_data_i64(c)[1] = 5, heed_data_bool(d)[1] = true;
    EXPECT_VALUES(a, 0, 0, 0.5, 0, 0);
    EXPECT_VALUES(b, 0, 0, 0.5, 0, 0);
    EXPECT_VALUES(c, 0, 0, 5, 0, 0);
    EXPECT_VALUES(d, 0, 0, 1, 0, 0);
    ck_assert(heed_const_data_f32(a)[1] == 0.5f && heed_const_data_f64(b)[1] == 0.5);
    ck_assert(heed_const_data_i64(c)[1] == 5 && heed_const_data_bool(d)[1]);
    ck_assert(
        a->storage->version + b->storage->version + c->storage->version + d->storage->version == 4);
    heed_tensor *rows = heed_slice(a, 0, 1, 2, 1); /* contiguous, with an offset */
    ck_assert(heed_data_f32(rows) == heed_const_data_f32(a) + 2);
}
END_TEST

void add_map_cases(Suite *suite)
{
    TCase *copy = heed_case(suite, "copy");
    tcase_add_loop_test(copy, to_casts_as_torch, 0, CASTS);
    tcase_add_loop_test(copy, to_casts_whole_numbers, 0, WHOLES);
    tcase_add_test(copy, copy_out_of_any_view);
    tcase_add_test(copy, copy_into_casts_broadcasts_and_keeps_to_its_place);
    tcase_add_test(copy, copy_into_of_its_own_memory);
    tcase_add_test(copy, doors_raise_the_version_and_readers_do_not);
    tcase_add_test(copy, data_doors_of_all_dtypes);
}
