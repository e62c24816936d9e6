/* Walks: split anywhere and over any number of threads they give the same bits; copies between
 * layouts move each element to its place, for any strides, sizes and dtypes. */
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/test_util.h"

/* ---- the same for any number of threads ---- */

static heed_tensor *normal(heed_shape shape)
{
    heed_manual_seed(1);
    return heed_randn(shape, HEED_F32);
}

/* (103, 7, 211), with no stride of 1. */
static heed_tensor *strided(void)
{
    return heed_slice(heed_transpose(normal(HEED_SHAPE(211, 7, 206)), 0, 2), 0, 0, 206, 2);
}

static heed_tensor *large(void)
{
    return normal(HEED_SHAPE(103, 7, 211));
}

static heed_tensor *indices(int64_t count, int64_t below)
{
    heed_manual_seed(2);
    return heed_randint(0, below, HEED_SHAPE(count));
}

static heed_tensor *add_to_rows(void)
{
    return heed_add(large(), normal(HEED_SHAPE(211)));
}

static heed_tensor *multiply_columns(void)
{
    return heed_mul(large(), normal(HEED_SHAPE(103, 1, 1)));
}

static heed_tensor *multiply_by_number(void)
{
    return heed_mul_scalar(large(), 1.7);
}

static heed_tensor *gelu_of_strided(void)
{
    return heed_gelu(strided());
}

static heed_tensor *strided_with_row_major(void)
{
    return heed_mul(strided(), large());
}

static heed_tensor *integers_with_floats(void)
{
    return heed_mul(large(), heed_reshape(indices(211 * 7, 99), HEED_SHAPE(7, 211)));
}

static heed_tensor *compare_with_row(void)
{
    return heed_lt(strided(), normal(HEED_SHAPE(7, 1)));
}

static heed_tensor *masked(void)
{
    return heed_masked_fill(large(), heed_lt(normal(HEED_SHAPE(7, 211)), heed_scalar(0, HEED_F32)),
                            -1);
}

static heed_tensor *double_of_strided(void)
{
    return heed_to(strided(), HEED_F64);
}

static heed_tensor *row_major_of_strided(void)
{
    return heed_contiguous(strided());
}

static heed_tensor *filled(void)
{
    return heed_full(HEED_SHAPE(999, 333), 0.5, HEED_F64);
}

static heed_tensor *zeros(void)
{
    return heed_zeros(HEED_SHAPE(999, 1333), HEED_F64);
}

static heed_tensor *written_through_a_view(void)
{
    heed_tensor *y = heed_zeros(HEED_SHAPE(211, 7, 103), HEED_F32);
    heed_copy_into(heed_transpose(y, 0, 2), large());
    return y;
}

static heed_tensor *embedded(void)
{
    return heed_embedding(indices(1999, 65), normal(HEED_SHAPE(65, 77)));
}

/* x is used three times, so that gradients accumulate. */
static heed_tensor *gradient(void)
{
    heed_tensor *x = heed_set_requires_grad(large(), true), *dx[1] = {NULL};
    heed_tensor *row = normal(HEED_SHAPE(211));
    heed_tensor *y = heed_add(heed_mul(heed_gelu(x), row), heed_mul(heed_tanh(x), heed_relu(x)));
    heed_grad(heed_sum(heed_mul(y, y)), &x, 1, dx, false);
    return dx[0];
}

static heed_tensor *gradient_of_embedding(void)
{
    heed_tensor *weight = heed_set_requires_grad(normal(HEED_SHAPE(65, 77)), true), *d[1] = {NULL};
    heed_tensor *y = heed_embedding(indices(1999, 65), weight);
    heed_grad(heed_sum(heed_mul(y, y)), &weight, 1, d, false);
    return d[0];
}

static heed_tensor *(*const works[])(void) = {
    add_to_rows,
    multiply_columns,
    multiply_by_number,
    gelu_of_strided,
    compare_with_row,
    strided_with_row_major,
    masked,
    integers_with_floats,
    double_of_strided,
    filled,
    row_major_of_strided,
    written_through_a_view,
    zeros,
    embedded,
    gradient,
    gradient_of_embedding,
};

START_TEST(same_bits_for_any_number_of_threads)
{
    heed_set_num_threads(1);
    const heed_tensor *alone = works[_i]();
    for (int threads = 2; threads <= 5; threads++) {
        heed_set_num_threads(threads);
        const heed_tensor *together = works[_i]();
        expect_no_error();
        ck_assert(heed_is_contiguous(alone) && heed_is_contiguous(together));
        ck_assert_int_eq(memcmp(alone->data, together->data,
                                (size_t)alone->numel * heed_dtype_size(alone->dtype)),
                         0);
    }
}
END_TEST

/* ---- starting anywhere ---- */

START_TEST(begun_anywhere)
{
    static const int64_t shape[] = {3, 4, 5, 6}, strides[2][4] = {{1, 3, 100, 20}, {0, 2, 9, 1}};
    static char memory[2][1000];
    walk from_start = {0};
    heed_walk_lane(&from_start, memory[0], strides[0], HEED_F32, 4);
    heed_walk_lane(&from_start, memory[1], strides[1], HEED_BOOL, 4);
    ck_assert(heed_walk_begin(&from_start, 4, shape));
    const walk begun = from_start;
    int64_t run = 0;
    do {
        walk w = begun;
        heed_walk_to(&w, run++);
        for (int k = 0; k < 2; k++) {
            ck_assert_ptr_eq(w.lane[k].at, from_start.lane[k].at);
        }
        ck_assert_mem_eq(w.index, from_start.index, sizeof w.index);
    } while (heed_walk_next(&from_start));
    ck_assert_int_eq(run * run_length(&begun), 3 * 4 * 5 * 6);
}
END_TEST

/* Counts each element once; parts must lie within runs. */
static void count_part(const void *context, const walk *w, int64_t start, int64_t n)
{
    (void)context;
    ck_assert(start >= 0 && n > 0 && start + n <= run_length(w));
    for (int64_t i = start; i < start + n; i++) {
        __atomic_add_fetch(w->lane[0].at + i * run_stride(w, 0), 1, __ATOMIC_RELAXED);
    }
}

START_TEST(each_element_in_one_part)
{
    static const int64_t grains[] = {1, 7, 16, 100, 255, 256, 300, 5000};
    static const int64_t shape[] = {5, 31, 67}, strides[] = {31 * 67 + 5, 1, 31};
    static char counts[5 * (31 * 67 + 5)];
    for (int threads = 1; threads <= 4; threads++) {
        heed_set_num_threads(threads);
        for (size_t j = 0; j < sizeof grains / sizeof *grains; j++) {
            memset(counts, 0, sizeof counts);
            walk w = {0};
            heed_walk_lane(&w, counts, strides, HEED_BOOL, 3);
            ck_assert(heed_walk_begin(&w, 3, shape));
            heed_walk_parts(&w, grains[j], count_part, NULL);
            for (size_t i = 0; i < sizeof counts; i++) {
                ck_assert_int_eq(counts[i], i % (31 * 67 + 5) < 31 * 67);
            }
        }
    }
}
END_TEST

/* ---- between layouts ---- */

/* The element of x at an index, as a double. */
static double element_at(const heed_tensor *x, const int64_t *index)
{
    int64_t at = 0;
    for (int i = 0; i < x->ndim; i++) {
        at += index[i] * x->strides[i];
    }
    switch (x->dtype) {
    case HEED_F32:
        return (double)((const float *)x->data)[at];
    case HEED_F64:
        return ((const double *)x->data)[at];
    case HEED_I64:
        return (double)((const int64_t *)x->data)[at];
    default:
        return ((const bool *)x->data)[at] ? 1 : 0;
    }
}

static void expect_same_elements(const heed_tensor *x, const heed_tensor *y)
{
    int64_t index[3];
    for (index[0] = 0; index[0] < x->shape[0]; index[0]++) {
        for (index[1] = 0; index[1] < x->shape[1]; index[1]++) {
            for (index[2] = 0; index[2] < x->shape[2]; index[2]++) {
                const double from = element_at(x, index), to = element_at(y, index);
                ck_assert_double_eq(to, y->dtype == HEED_BOOL ? from != 0 : from);
            }
        }
    }
}

/* Sizes around those of blocks and tiles, all orders of dims, all pairs of dtypes, and into a
 * view. */
START_TEST(moved_to_its_place)
{
    static const int64_t sizes[][3] = {{1, 2, 3},     {3, 15, 17}, {2, 16, 32}, {5, 33, 8},
                                       {1, 129, 140}, {31, 1, 64}, {2, 257, 19}};
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const heed_dtype from = (heed_dtype)(_i % HEED_DTYPES), to = (heed_dtype)(_i / HEED_DTYPES);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        const int64_t *n = sizes[s];
        heed_tensor *x = heed_to(heed_reshape(heed_randint(0, 100, HEED_SHAPE(n[0] * n[1] * n[2])),
                                              HEED_SHAPE(n[0], n[1], n[2])),
                                 from);
        for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
            const int *order = orders[o];
            heed_tensor *moved = heed_permute(x, HEED_DIMS(order[0], order[1], order[2]));
            heed_tensor *y =
                heed_to(heed_slice(moved, 2, 0, heed_size(moved, 2), 1 + (int)o % 2), to);
            expect_same_elements(heed_slice(moved, 2, 0, heed_size(moved, 2), 1 + (int)o % 2), y);
            heed_tensor *target = heed_zeros(HEED_SHAPE(n[0], n[1], n[2]), to);
            heed_tensor *view = heed_permute(target, HEED_DIMS(order[0], order[1], order[2]));
            ck_assert_int_eq(heed_copy_into(view, heed_contiguous(moved)), HEED_OK);
            expect_same_elements(moved, view);
        }
        heed_scope_end(&scope);
    }
}
END_TEST

/* ---- larger than the cache ---- */

/* A result written past the cache on two threads is bit-identical to results of small parts. */
START_TEST(the_same_past_the_cache)
{
    enum { COUNT = (9 << 20) + 37, PART = 8000 }; /* more than 64 MiB with the operand */
    heed_tensor *x = heed_empty(HEED_SHAPE(COUNT), HEED_F32);
    float *values = heed_data_f32(x);
    for (int64_t i = 0; i < COUNT; i++) {
        values[i] = (float)(i * 7919 % 65537) / 8192 - 4;
    }
    heed_set_num_threads(2);
    heed_tensor *whole = heed_tanh(x);
    for (int64_t from = 0; from < COUNT; from += PART) {
        HEED_SCOPE(scope);
        const int64_t to = from + PART < COUNT ? from + PART : COUNT;
        const float *some = heed_const_data_f32(heed_tanh(heed_slice(x, 0, from, to, 1)));
        const float *all = heed_const_data_f32(whole) + from;
        ck_assert_mem_eq(some, all, sizeof *some * (size_t)(to - from));
    }
}
END_TEST

void add_broadcast_walk_cases(Suite *suite)
{
    TCase *threads = heed_case(suite, "threads");
    tcase_add_loop_test(threads, same_bits_for_any_number_of_threads, 0,
                        sizeof works / sizeof *works);
    TCase *parts = heed_case(suite, "parts");
    tcase_add_test(parts, begun_anywhere);
    tcase_add_test(parts, each_element_in_one_part);
    tcase_add_test(parts, the_same_past_the_cache);
    TCase *copies = heed_case(suite, "copies");
    tcase_add_loop_test(copies, moved_to_its_place, 0, HEED_DTYPES * HEED_DTYPES);
}
