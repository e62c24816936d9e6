/* Memory: the allocator and its counters. Programs that run out of memory: tests/oom. */
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/test_util.h"

/* ---- blocks ---- */

/* The size class of `size`, as tensor.h defines it: multiples of 32 up to 512, then 640, 768, ...
 */
static size_t class_size(size_t size)
{
    size_t octave = 128;
    while (octave * 2 < size) {
        octave *= 2;
    }
    size_t quarter = size > 512 ? octave / 4 : 32, larger = size > 512 ? octave : 0;
    while (larger < size) {
        larger += quarter;
    }
    return larger;
}

/* With and without a header. */
START_TEST(blocks_are_aligned_and_apart)
{
    enum { COUNT = 600 };
    unsigned char *blocks[COUNT];
    const int64_t bytes = heed_live_bytes();
    for (size_t i = 0; i < COUNT; i++) {
        const size_t size = i * 13 % 3001;
        blocks[i] = i % 2 == 0 ? heed_alloc_sized(size) : heed_alloc(size);
        ck_assert_uint_eq((uintptr_t)blocks[i] % (i % 2 == 0 && size >= 256 ? 64 : 16), 0);
        memset(blocks[i], (int)(i & 255), size);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const size_t size = i * 13 % 3001;
        for (size_t j = 0; j < size; j++) {
            ck_assert_uint_eq(blocks[i][j], i & 255);
        }
        i % 2 == 0 ? heed_free_sized(blocks[i], size) : heed_free(blocks[i]);
    }
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

START_TEST(classes_are_apart)
{
    if (!heed_allocator_keeps_blocks()) {
        return;
    }
    for (size_t size = 0; size < 5000; size += size < 600 ? 1 : 37) {
        const size_t largest = class_size(size);
        void *block = heed_alloc_sized(largest), *other;
        heed_free_sized(block, largest);
        ck_assert_ptr_eq(other = heed_alloc_sized(size), block); /* same class */
        heed_free_sized(other, size);
        ck_assert_ptr_ne(other = heed_alloc_sized(largest + 1), block); /* next class */
        heed_free_sized(other, largest + 1);
    }
}
END_TEST

START_TEST(live_bytes_are_the_requested_bytes)
{
    const int64_t bytes = heed_live_bytes();
    void *block = heed_alloc(12345), *zeros = heed_alloc_zeroed(77);
    ck_assert_int_eq(heed_live_bytes(), bytes + 12345 + 77);
    for (int i = 0; i < 77; i++) {
        ck_assert_int_eq(((char *)zeros)[i], 0);
    }
    heed_free(block);
    heed_free(zeros);
    heed_free(NULL);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

static int64_t bytes_of(heed_shape shape, heed_dtype dtype)
{
    const int64_t before = heed_live_bytes();
    heed_empty(shape, dtype);
    return heed_live_bytes() - before;
}

START_TEST(a_tensor_costs_its_handle_its_storage_and_its_elements)
{
    const int64_t handle = sizeof(heed_tensor), storage = sizeof(heed_storage);
    const int64_t block = handle + storage, dim = 2 * (int64_t)sizeof(int64_t);
    ck_assert_int_eq(bytes_of(HEED_SCALAR, HEED_F32), block + 4);
    ck_assert_int_eq(bytes_of(HEED_SHAPE(10, 100), HEED_F32), block + 2 * dim + 4000);
    ck_assert_int_eq(bytes_of(HEED_SHAPE(1001), HEED_BOOL), block + dim + 1001);
    ck_assert_int_eq(bytes_of(HEED_SHAPE(1, 1, 0, 9), HEED_F64), block + 4 * dim);
    ck_assert_int_eq(bytes_of(HEED_SHAPE(1, 1, 1, 1, 50), HEED_F64), block + 5 * dim + 400);
    heed_tensor *x = heed_ones(HEED_SHAPE(10, 100), HEED_F32);
    const int64_t before = heed_live_bytes();
    heed_transpose(x, 0, 1);
    ck_assert_int_eq(heed_live_bytes(), before + block + 2 * dim);
}
END_TEST

/* The value of a tensor of 240 bytes or fewer is in its block, which stays for views of it. */
START_TEST(a_view_keeps_a_small_value_whose_tensor_is_freed)
{
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    for (int64_t n = 59; n < 62; n++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_tensor *x = heed_arange(0, (double)n, 1, HEED_F32);
        heed_tensor *view = heed_retain(heed_narrow(x, 0, 0, n));
        heed_scope_end(&scope);
        HEED_SCOPE(later);
        for (int i = 0; i < 10; i++) {
            heed_full(HEED_SHAPE(n), 7, HEED_F32); /* would use the block again */
        }
        ck_assert_double_eq(heed_at(view, HEED_INDEX(n - 1)), (double)(n - 1));
        heed_release(view);
    }
    ck_assert_int_eq(heed_live_tensors(), tensors);
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

START_TEST(realloc_keeps_the_content)
{
    char *block = heed_realloc(NULL, 10);
    const int64_t bytes = heed_live_bytes();
    strcpy(block, "123456789");
    heed_fail_allocation(0);
    ck_assert_ptr_null(heed_realloc(block, 9000));
    expect_error(HEED_ERR_MEMORY, "out of memory: ");
    ck_assert_str_eq(block, "123456789"); /* unchanged */
    char *grown = heed_realloc(block, 9000);
    ck_assert_int_eq(heed_live_bytes(), bytes + 8990);
    heed_free(heed_alloc(10)); /* reuses the old block */
    ck_assert_str_eq(grown, "123456789");
    char *smaller = heed_realloc(grown, 4);
    ck_assert_mem_eq(smaller, "1234", 4);
    heed_free(smaller);
    ck_assert_int_eq(heed_live_bytes(), bytes - 10);
}
END_TEST

START_TEST(arrays_grow_by_doubling)
{
    int64_t capacity = 0, requests = 0;
    int *array = NULL;
    for (int i = 0; i < 1000; i++) {
        if (i == capacity) {
            const int64_t before = capacity;
            heed_fail_allocation(0);
            ck_assert_ptr_null(heed_grow(array, i, &capacity, sizeof *array));
            expect_error(HEED_ERR_MEMORY, "out of memory: ");
            ck_assert_int_eq(capacity, before);
            requests++;
        }
        array = heed_grow(array, i, &capacity, sizeof *array);
        array[i] = i;
    }
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(array[i], i);
    }
    ck_assert_int_eq(requests, 7); /* 16, 32, ... 1024 */
    heed_free(array);
}
END_TEST

START_TEST(empty_cache_gives_large_blocks_back)
{
    enum { SIZE = 3000000 };
    if (!heed_allocator_keeps_blocks()) {
        return;
    }
    heed_free(heed_alloc(SIZE));
    const int64_t requests = heed_self.system_requests;
    heed_free(heed_alloc(SIZE));
    ck_assert_int_eq(heed_self.system_requests, requests);
    heed_tensor *x = heed_ones(HEED_SHAPE(300), HEED_F32); /* in use, so not released */
    const int64_t used = heed_self.system_requests;
    heed_empty_cache();
    heed_empty_cache();
    heed_free(heed_alloc(SIZE));
    ck_assert_int_eq(heed_self.system_requests, used + 1);
    EXPECT_VALUES(heed_sum(x), 0, 300);
}
END_TEST

/* In the state of a process of glibc, which keeps small freed blocks. */
START_TEST(empty_cache_gives_small_blocks_back)
{
    enum { NODES = 100000 };
    long pages[2] = {0};
    heed_tensor *last = NULL; /* in use, behind the others */
    for (int i = 0; i < 2; i++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_tensor *x = heed_ones(HEED_SHAPE(1), HEED_F32);
        for (int j = 0; j < (i == 0 ? 1 : NODES); j++) {
            heed_neg(x);
        }
        last = i == 0 ? NULL : heed_retain(heed_ones(HEED_SHAPE(1), HEED_F32));
        heed_scope_end(&scope);
        heed_empty_cache();
        FILE *file = fopen("/proc/self/statm", "r");
        ck_assert(file == NULL || fscanf(file, "%*d %ld", &pages[i]) == 1);
        if (file != NULL) {
            fclose(file);
        }
    }
    heed_release(last);
    ck_assert_int_lt(pages[1] - pages[0], 1000); /* 4 of 30 MB */
}
END_TEST

START_TEST(sizes_beyond_the_machine_are_errors)
{
    const int64_t one = 1;
    for (int bits = 45; bits < 63; bits++) { /* 128 TiB of floats and more */
        const bool addressable = bits <= 58;
        ck_assert_ptr_null(heed_empty(HEED_SHAPE(one << bits), HEED_F32));
        expect_error(addressable ? HEED_ERR_MEMORY : HEED_ERR_OVERFLOW,
                     addressable ? "out of memory: " : "empty: (");
    }
    ck_assert_ptr_null(heed_alloc(SIZE_MAX));
    expect_error(HEED_ERR_MEMORY, "out of memory: ");
    heed_tensor *huge = heed_expand(heed_ones(HEED_SHAPE(1), HEED_F32), HEED_SHAPE(one << 56));
    ck_assert_ptr_null(heed_neg(huge)); /* a view allocates no elements, a result does */
    expect_error(HEED_ERR_MEMORY, "out of memory: 288230376151711744 bytes requested");
    EXPECT_VALUES(heed_slice(huge, 0, (one << 56) - 2, INT64_MAX, 1), 0, 1, 1);
}
END_TEST

/* As many requests fail as were asked for. */
START_TEST(several_allocations_fail)
{
    heed_fail(HEED_ERR_VALUE, "the first error of a thread may allocate its text");
    expect_error(HEED_ERR_VALUE, "the first");
    for (int count = 1; count < 4; count++) {
        heed_fail_allocations(2, count);
        for (int i = 0; i < 7; i++) {
            char *block = heed_alloc(100);
            ck_assert_int_eq(block == NULL, i >= 2 && i < 2 + count);
            if (block == NULL) {
                expect_error(HEED_ERR_MEMORY, "out of memory: ");
            }
            heed_free(block);
        }
    }
}
END_TEST

START_TEST(in_a_steady_state_the_system_is_not_asked)
{
    struct heed_self_attention *m = heed_self_attention_new(8, 0, 1);
    heed_optimizer *adamw = heed_adamw_new(heed_parameters(m), 0.01, 0);
    int64_t requests = 0;
    for (int step = 0; step < 20; step++) {
        HEED_SCOPE(scope);
        heed_tensor *x = heed_ones(HEED_SHAPE(70, 8), HEED_F32);
        heed_tensor *y = heed_self_attention_forward(m, x, heed_causal_block_mask(70));
        heed_backward(heed_sum(heed_square(y)));
        heed_optimizer_step(adamw);
        heed_optimizer_zero_grad(adamw);
        if (step < 3) {
            requests = heed_self.system_requests;
        }
        ck_assert(heed_self.system_requests == requests || !heed_allocator_keeps_blocks());
    }
    ck_assert_int_gt(requests, 0);
    heed_optimizer_free(adamw);
    heed_module_free(m);
}
END_TEST

START_TEST(a_node_and_its_value_stay_within_230_bytes)
{
    enum { NODES = 1000 };
    ck_assert_uint_le(sizeof(heed_tensor) + sizeof(heed_storage) + 8, 192);
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(4), HEED_F32), true), *y = x;
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    for (int i = 0; i < NODES; i++) {
        y = heed_mul(y, x);
    }
    ck_assert_int_eq(heed_live_tensors(), tensors + NODES);
    ck_assert_int_le(heed_live_bytes() - bytes, 230 * NODES);
}
END_TEST

void add_alloc_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "memory");
    tcase_add_test(tests, blocks_are_aligned_and_apart);
    tcase_add_test(tests, classes_are_apart);
    tcase_add_test(tests, live_bytes_are_the_requested_bytes);
    tcase_add_test(tests, a_tensor_costs_its_handle_its_storage_and_its_elements);
    tcase_add_test(tests, a_view_keeps_a_small_value_whose_tensor_is_freed);
    tcase_add_test(tests, realloc_keeps_the_content);
    tcase_add_test(tests, arrays_grow_by_doubling);
    tcase_add_test(tests, empty_cache_gives_large_blocks_back);
#ifdef __GLIBC__
    if (!HAS_SANITIZER) {
        tcase_add_test(tests, empty_cache_gives_small_blocks_back);
    }
#endif
    tcase_add_test(tests, sizes_beyond_the_machine_are_errors);
    tcase_add_test(tests, several_allocations_fail);
    tcase_add_test(tests, in_a_steady_state_the_system_is_not_asked);
    tcase_add_test(tests, a_node_and_its_value_stay_within_230_bytes);
}
