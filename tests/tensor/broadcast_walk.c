/* Walks: begun anywhere and split into parts, they meet each element once. */
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/test_util.h"

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
    TCase *parts = heed_case(suite, "parts");
    tcase_add_test(parts, begun_anywhere);
    tcase_add_test(parts, each_element_in_one_part);
    tcase_add_test(parts, the_same_past_the_cache);
}
