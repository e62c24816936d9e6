/* Memory: the allocator, its counters, and every allocation failing in turn. */
#include <string.h>

#include "tensor/tensor.h"
#include "tests/common/test_util.h"

/* ---- blocks ---- */

/* The size class of `size`, as tensor.h defines it: 64, 80, 96, 112, 128, 160, ... */
static size_t class_size(size_t size)
{
    size_t octave = 64;
    while (octave * 2 < size) {
        octave *= 2;
    }
    size_t quarter = octave / 4, larger = octave;
    while (larger < size) {
        larger += quarter;
    }
    return larger;
}

START_TEST(blocks_are_aligned_and_apart)
{
    enum { COUNT = 600 };
    unsigned char *blocks[COUNT];
    const int64_t bytes = heed_live_bytes();
    for (size_t i = 0; i < COUNT; i++) {
        const size_t size = i * 13 % 3001;
        blocks[i] = heed_alloc_sized(size);
        ck_assert_ptr_nonnull(blocks[i]);
        ck_assert_uint_eq((uintptr_t)blocks[i] % (size >= 256 ? 64 : 16), 0);
        memset(blocks[i], (int)(i & 255), size);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const size_t size = i * 13 % 3001;
        for (size_t j = 0; j < size; j++) {
            ck_assert_uint_eq(blocks[i][j], i & 255);
        }
        heed_free_sized(blocks[i], size);
    }
    ck_assert_int_eq(heed_live_bytes(), bytes);
}
END_TEST

START_TEST(classes_are_a_quarter_power_of_two_apart)
{
    if (!heed_allocator_keeps_blocks()) {
        return;
    }
    for (size_t size = 0; size < 5000; size += size < 300 ? 1 : 37) {
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
    const int64_t dims = 2 * HEED_MAX_DIMS * (int64_t)sizeof(int64_t);
    ck_assert_int_eq(bytes_of(HEED_SHAPE(10, 100), HEED_F32), handle + storage + 4000);
    ck_assert_int_eq(bytes_of(HEED_SHAPE(1001), HEED_BOOL), handle + storage + 1001);
    ck_assert_int_eq(bytes_of(HEED_SHAPE(33), HEED_I64), handle + storage + 264);
    ck_assert_int_eq(bytes_of(HEED_SHAPE(4), HEED_F64), handle + storage); /* within the storage */
    ck_assert_int_eq(bytes_of(HEED_SHAPE(1, 1, 0, 9), HEED_F64), handle + storage);
    ck_assert_int_eq(bytes_of(HEED_SHAPE(1, 1, 1, 1, 50), HEED_F64), handle + storage + dims + 400);
    heed_tensor *x = heed_ones(HEED_SHAPE(10, 100), HEED_F32);
    const int64_t before = heed_live_bytes();
    heed_transpose(x, 0, 1);
    ck_assert_int_eq(heed_live_bytes(), before + handle);
}
END_TEST

START_TEST(realloc_keeps_the_content)
{
    const int64_t bytes = heed_live_bytes();
    char *block = heed_realloc(NULL, 10), *grown;
    strcpy(block, "123456789");
    for (size_t size = 10; size < 100000; size *= 3) {
        heed_fail_allocation(0);
        ck_assert_ptr_null(heed_realloc(block, size * 3));
        expect_error(HEED_ERR_MEMORY, "out of memory: ");
        ck_assert_str_eq(block, "123456789"); /* unchanged */
        ck_assert_ptr_nonnull(grown = heed_realloc(block, size * 3));
        ck_assert_int_eq(heed_live_bytes(), bytes + 3 * (int64_t)size);
        ck_assert_str_eq(grown, "123456789");
        block = grown;
        heed_free(heed_alloc(size)); /* reuses the old block */
        if (size * 9 >= 100000) {
            heed_free(block);
            break;
        }
    }
    ck_assert_int_eq(heed_live_bytes(), bytes);
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
        ck_assert_int_gt(capacity, i);
        array[i] = i;
    }
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(array[i], i);
    }
    ck_assert_int_eq(requests, 7); /* 16, 32, ... 1024 */
    heed_free(array);
}
END_TEST

START_TEST(realloc_may_shrink)
{
    char *block = heed_alloc(1000);
    memset(block, 7, 1000);
    char *smaller = heed_realloc(block, 100);
    ck_assert_int_eq(smaller[0] + smaller[99], 14);
    heed_free(smaller);
}
END_TEST

START_TEST(blocks_remember_their_size)
{
    enum { COUNT = 300 };
    unsigned char *blocks[COUNT];
    const int64_t bytes = heed_live_bytes();
    for (size_t i = 0; i < COUNT; i++) {
        const size_t size = i * i % 4001;
        blocks[i] = heed_alloc(size);
        ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)(i & 255), size);
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < i * i % 4001; j++) {
            ck_assert_uint_eq(blocks[i][j], i & 255);
        }
        heed_free(blocks[i]);
    }
    ck_assert_int_eq(heed_live_bytes(), bytes);
    ck_assert_ptr_null(heed_alloc(SIZE_MAX));
    expect_error(HEED_ERR_MEMORY, "out of memory: ");
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

/* ---- extreme sizes ---- */

START_TEST(tensors_without_elements_are_tensors)
{
    for (int dtype = HEED_F32; dtype < HEED_DTYPES; dtype++) {
        heed_tensor *x = heed_ones(HEED_SHAPE(3, 0, 2), (heed_dtype)dtype);
        ck_assert_int_eq(x->numel, 0);
        ck_assert_ptr_nonnull(x->data);
        ck_assert_int_eq(heed_sum(x)->numel, 1);
        EXPECT_VALUES(heed_sum(x), 0, 0);
        ck_assert_int_eq(heed_copy_out(x, NULL, 0), HEED_OK);
        ck_assert_int_eq(heed_copy_into(x, heed_ones(HEED_SHAPE(1), (heed_dtype)dtype)), HEED_OK);
        ck_assert_int_eq(heed_cat((heed_tensor *[]){x, x}, 2, 0)->shape[0], 6);
    }
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(2, 3, 0), HEED_F32), true);
    heed_tensor *w = heed_set_requires_grad(heed_ones(HEED_SHAPE(0, 4), HEED_F32), true);
    heed_tensor *y = heed_softmax(heed_matmul(x, w), -1);
    heed_backward(heed_sum(heed_mul(y, y)));
    EXPECT_VALUES(heed_sum_dims(y, HEED_DIMS(0, 1), false), 0, 1.5, 1.5, 1.5, 1.5);
    ck_assert_int_eq(x->grad->shape[1], 3);
    ck_assert_int_eq(w->grad->shape[1], 4);
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
    ck_assert_ptr_null(heed_zeros(HEED_SHAPE(one << 32, one << 32), HEED_BOOL));
    expect_error(HEED_ERR_OVERFLOW, "zeros: (4294967296, 4294967296) has more elements than");
    ck_assert_ptr_null(heed_zeros(HEED_SHAPE(0, INT64_MAX, INT64_MAX), HEED_BOOL));
    expect_error(HEED_ERR_OVERFLOW, "zeros: (0, 9223372036854775807, 9223372036854775807)");
    ck_assert_ptr_null(heed_alloc(SIZE_MAX));
    expect_error(HEED_ERR_MEMORY, "out of memory: ");
    heed_tensor *huge = heed_expand(heed_ones(HEED_SHAPE(1), HEED_F32), HEED_SHAPE(one << 56));
    ck_assert_ptr_nonnull(huge); /* a view allocates no elements */
    ck_assert_ptr_null(heed_neg(huge));
    expect_error(HEED_ERR_MEMORY, "out of memory: 288230376151711744 bytes requested");
    EXPECT_VALUES(heed_slice(huge, 0, (one << 56) - 2, INT64_MAX, 1), 0, 1, 1);
}
END_TEST

/* ---- a training step with every kind of allocation ---- */

typedef struct model {
    heed_tensor *w; /* (3, 8) */
    heed_optimizer *adamw;
} model;

static model new_model(void)
{
    heed_manual_seed(1);
    model m = {.w = heed_set_requires_grad(heed_randn(HEED_SHAPE(3, 8), HEED_F32), true)};
    m.adamw = heed_adamw_new((heed_tensor_list){1, &m.w, NULL}, 0.01, 0);
    make_moments(m.adamw);
    return m;
}

static void free_model(model *m)
{
    heed_clear_grad(m->w);
    heed_optimizer_free(m->adamw);
}

static heed_tensor *loss_of(model *m)
{
    heed_tensor *x = heed_arange(0, 12, 1, HEED_F32); /* reshaped to 6 dims below */
    x = heed_sigmoid(heed_reshape(heed_neg(x), HEED_SHAPE(1, 2, 1, 2, 1, 3)));
    heed_tensor *h = heed_matmul(heed_reshape(x, HEED_SHAPE(4, 3)), m->w); /* (4, 8) */
    heed_tensor *p = heed_softmax(h, -1), *last = heed_slice(h, 0, 0, 4, 2);
    heed_tensor *parts[] = {h, heed_log(p), last, heed_tril(p, 1)};
    heed_tensor *logits = heed_cat(parts, 4, 0); /* (14, 8) */
    heed_tensor *targets = heed_randint(0, 8, HEED_SHAPE(14));
    heed_tensor *places = heed_embedding(targets, heed_transpose(m->w, 0, 1)), *dw = NULL;
    heed_tensor *loss = heed_cross_entropy(logits, targets);
    heed_grad(loss, &m->w, 1, &dw, true);
    return heed_add(heed_add(loss, heed_mean(heed_mul(dw, dw))), heed_mean(places));
}

static double step(model *m)
{
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_manual_seed(7);
    heed_tensor *loss = loss_of(m);
    const double value = heed_item(loss);
    heed_backward(loss);
    heed_optimizer_step(m->adamw);
    heed_clear_grad(m->w);
    heed_scope_end(&scope);
    return value;
}

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

START_TEST(every_allocation_may_fail)
{
    model m = new_model(), twin = new_model();
    heed_tensor *start = heed_clone(heed_detach(m.w)), *zeros = heed_zeros_like(start);
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    int64_t n = 0;
    for (; n < 100000; n++) {
        heed_fail_allocation(n);
        step(&m);
        heed_fail_allocation(-1);
        ck_assert_int_eq(heed_live_tensors(), tensors);
        ck_assert_int_eq(heed_live_bytes(), bytes);
        if (!heed_error_pending()) {
            break;
        }
        expect_error(HEED_ERR_MEMORY, "out of memory: ");
        ck_assert(m.w->grad == NULL && heed_equal(m.w, start) && heed_is_grad_enabled());
        ck_assert(heed_equal(m.adamw->slots[0].state[0], zeros));
        heed_scope_end(&(heed_scope){0}); /* scope errors are reported as well */
        expect_error(HEED_ERR_SCOPE, "scope_end");
    }
    ck_assert_int_gt(n, 100); /* a step makes at least this many allocations */
    step(&twin);
    ck_assert(heed_equal(m.w, twin.w) && !heed_equal(m.w, start));
    free_model(&m);
    free_model(&twin);
}
END_TEST

static heed_tensor *checked(heed_tensor *const *inputs, void *context)
{
    (void)context;
    return heed_pow_scalar(heed_softmax(heed_mul(inputs[0], inputs[1]), 0), 2);
}

START_TEST(every_allocation_of_a_gradient_check_may_fail)
{
    heed_tensor *xs[] = {heed_randn(HEED_SHAPE(2), HEED_F64), heed_randn(HEED_SHAPE(2), HEED_F64)};
    heed_set_requires_grad(xs[0], true);
    heed_set_requires_grad(xs[1], true);
    for (int second = 0; second < 2; second++) {
        const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
        heed_status status = HEED_ERR_MEMORY;
        int64_t n = 0;
        for (; n < 100000 && status == HEED_ERR_MEMORY; n++) {
            heed_fail_allocation(n);
            status = second ? heed_gradgradcheck(checked, NULL, xs, 2)
                            : heed_gradcheck(checked, NULL, xs, 2);
            heed_fail_allocation(-1);
            ck_assert_int_eq(heed_error(), status);
            ck_assert_int_eq(heed_live_tensors(), tensors);
            ck_assert_int_eq(heed_live_bytes(), bytes);
        }
        ck_assert_int_eq(status, HEED_OK);
        ck_assert_int_gt(n, 100);
    }
}
END_TEST

START_TEST(in_a_steady_state_the_system_is_not_asked)
{
    model m = new_model();
    double first = step(&m), last = first;
    step(&m);
    step(&m);
    const int64_t requests = heed_self.system_requests;
    for (int t = 4; t < 24; t++) {
        last = step(&m);
        ck_assert(heed_self.system_requests == requests || !heed_allocator_keeps_blocks());
    }
    ck_assert_int_gt(requests, 0);
    ck_assert_double_lt(last, first); /* it has learned */
    free_model(&m);
}
END_TEST

START_TEST(a_node_and_its_value_stay_within_300_bytes)
{
    enum { NODES = 1000 };
    ck_assert_uint_le(sizeof(heed_tensor) + sizeof(heed_storage), 300);
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(4), HEED_F32), true), *y = x;
    const int64_t tensors = heed_live_tensors(), bytes = heed_live_bytes();
    for (int i = 0; i < NODES; i++) {
        y = heed_mul(y, x);
    }
    ck_assert_int_eq(heed_live_tensors(), tensors + NODES);
    ck_assert_int_le(heed_live_bytes() - bytes, 300 * NODES);
}
END_TEST

void add_alloc_cases(Suite *suite)
{
    TCase *tests = heed_case(suite, "memory");
    tcase_add_test(tests, blocks_are_aligned_and_apart);
    tcase_add_test(tests, classes_are_a_quarter_power_of_two_apart);
    tcase_add_test(tests, live_bytes_are_the_requested_bytes);
    tcase_add_test(tests, a_tensor_costs_its_handle_its_storage_and_its_elements);
    tcase_add_test(tests, realloc_keeps_the_content);
    tcase_add_test(tests, arrays_grow_by_doubling);
    tcase_add_test(tests, realloc_may_shrink);
    tcase_add_test(tests, blocks_remember_their_size);
    tcase_add_test(tests, empty_cache_gives_large_blocks_back);
    tcase_add_test(tests, tensors_without_elements_are_tensors);
    tcase_add_test(tests, sizes_beyond_the_machine_are_errors);
    tcase_add_test(tests, several_allocations_fail);
    tcase_add_test(tests, every_allocation_may_fail);
    tcase_add_test(tests, every_allocation_of_a_gradient_check_may_fail);
    tcase_add_test(tests, in_a_steady_state_the_system_is_not_asked);
    tcase_add_test(tests, a_node_and_its_value_stay_within_300_bytes);
}
