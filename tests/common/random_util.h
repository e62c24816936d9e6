/* Shared by the tests of random numbers: a fixture that starts from an unseeded generator, views,
 * and comparisons. */
#ifndef HEED_TESTS_RANDOM_UTIL_H
#define HEED_TESTS_RANDOM_UTIL_H

#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/test_util.h"

/* ---- every test restores the counters ---- */

static heed_scope scope;
static int64_t tensors_before, bytes_before;
static const heed_generator unseeded = {.seeded = false};

static inline void setup(void)
{
    heed_set_generator(&unseeded);
    tensors_before = heed_live_tensors();
    bytes_before = heed_live_bytes();
    heed_scope_begin(&scope);
}

static inline void teardown(void)
{
    ck_assert_msg(!heed_error_pending(), "%s", heed_error_message());
    ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
    ck_assert_int_eq(heed_live_tensors(), tensors_before);
    ck_assert_int_eq(heed_live_bytes(), bytes_before);
}

/* ---- helpers ---- */

static inline heed_tensor *view(const heed_tensor *t, heed_shape shape, heed_shape strides)
{
    return heed_tensor_view("view", t, shape.ndim, shape.size, strides.size, 0);
}

static inline bool same_generator(const heed_generator *a, const heed_generator *b)
{
    return memcmp(a->state, b->state, sizeof a->state) == 0 && a->next == b->next &&
           a->has_normal == b->has_normal && (!a->has_normal || a->normal == b->normal) &&
           a->seeded == b->seeded;
}

#define EXPECT_F32(t, ...) expect_f32(t, (const float[]){__VA_ARGS__}, __LINE__)
static inline void expect_f32(const heed_tensor *t, const float *expected, int line)
{
    const float *data = heed_const_data_f32(t);
    for (int64_t i = 0; i < t->numel; i++) {
        ck_assert_msg(data[i] == expected[i], "line %d, element %d: %a, not %a", line, (int)i,
                      (double)data[i], (double)expected[i]);
    }
}

#define EXPECT_I64(t, ...) expect_i64(t, (const int64_t[]){__VA_ARGS__}, __LINE__)
static inline void expect_i64(const heed_tensor *t, const int64_t *expected, int line)
{
    const int64_t *data = heed_const_data_i64(t);
    for (int64_t i = 0; i < t->numel; i++) {
        ck_assert_msg(data[i] == expected[i], "line %d, element %d", line, (int)i);
    }
}

/* The call must fail with this status, draw no random numbers, and begin its message with its
 * name. */
#define EXPECT_ERROR(call, status, words)                                                          \
    do {                                                                                           \
        heed_generator before_ = heed_get_generator();                                             \
        ck_assert((call) == 0 || sizeof(call) == sizeof(heed_status));                             \
        ck_assert_int_eq(heed_error(), status);                                                    \
        ck_assert_msg(strstr(heed_error_message(), words) != NULL, "%s", heed_error_message());    \
        heed_generator after_ = heed_get_generator();                                              \
        ck_assert(same_generator(&before_, &after_));                                              \
    } while (0)

#endif
