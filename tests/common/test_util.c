#include "tests/common/test_util.h"
#include "tensor/tensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t tensors_before, bytes_before;
static heed_scope test_scope;

static void begin(void)
{
    tensors_before = heed_live_tensors();
    bytes_before = heed_live_bytes();
    heed_scope_begin(&test_scope);
}

static void end(void)
{
    expect_no_error();
    heed_scope_end(&test_scope);
    expect_no_error();
    ck_assert_int_eq(heed_live_tensors(), tensors_before);
    ck_assert_int_eq(heed_live_bytes(), bytes_before);
}

TCase *heed_case(Suite *suite, const char *name)
{
    TCase *test_case = tcase_create(name);
    tcase_add_checked_fixture(test_case, begin, end);
    tcase_set_timeout(test_case, 120);
    suite_add_tcase(suite, test_case);
    return test_case;
}

bool too_large_for_32_bits(void)
{
    return SIZE_MAX == UINT32_MAX && heed_error_pending() == HEED_ERR_OVERFLOW &&
           strstr(heed_error_message(), "more elements than memory can address") != NULL;
}

void expect_error(heed_status status, const char *words)
{
    if (too_large_for_32_bits()) {
        heed_error();
        return;
    }
    heed_status found = heed_error();
    ck_assert_msg(found == status, "%s instead of %s: %s", heed_status_name(found),
                  heed_status_name(status), heed_error_message());
    ck_assert_msg(strstr(heed_error_message(), words) != NULL, "\"%s\" does not contain \"%s\"",
                  heed_error_message(), words);
}

void expect_no_error(void)
{
    heed_status found = heed_error();
    ck_assert_msg(found == HEED_OK, "%s: %s", heed_status_name(found), heed_error_message());
}

void expect_shape(const heed_tensor *x, heed_shape shape)
{
    expect_no_error();
    ck_assert_ptr_nonnull(x);
    const heed_text found = heed_shape_text(x->ndim, x->shape);
    const heed_text expected = heed_shape_text(shape.ndim, shape.size);
    ck_assert_str_eq(found.text, expected.text);
}

void expect_equal(heed_tensor *a, heed_tensor *b)
{
    expect_no_error();
    ck_assert(heed_equal(heed_detach(a), heed_detach(b)));
}

void expect_same_bits(heed_tensor *a, heed_tensor *b)
{
    expect_no_error();
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(a->dtype, b->dtype);
    ck_assert(heed_same_shape(a, b));
    const size_t size = (size_t)a->numel * heed_dtype_size(a->dtype);
    char *bits = malloc(size + 1), *other = malloc(size + 1);
    heed_copy_out(a, bits, a->numel);
    heed_copy_out(b, other, b->numel);
    expect_no_error();
    ck_assert_int_eq(memcmp(bits, other, size), 0);
    free(bits);
    free(other);
}

/* All elements as doubles; free the result. */
static double *elements_of(heed_tensor *x)
{
    double *values = calloc((size_t)x->numel + 1, sizeof *values);
    heed_scope scope;
    heed_scope_begin(&scope);
    heed_set_grad_enabled(false);
    heed_copy_out(heed_to(x, HEED_F64), values, x->numel);
    heed_scope_end(&scope);
    return values;
}

static bool close_to(double a, double b, double tolerance)
{
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= tolerance;
}

void expect_values(heed_tensor *x, const double *values, int64_t count, double tolerance)
{
    expect_no_error();
    ck_assert_ptr_nonnull(x);
    ck_assert_int_eq(x->numel, count);
    double *found = elements_of(x);
    expect_no_error();
    for (int64_t i = 0; i < count; i++) {
        ck_assert_msg(close_to(found[i], values[i], tolerance), "element %lld is %.10g, not %.10g",
                      (long long)i, found[i], values[i]);
    }
    free(found);
}

void expect_close(heed_tensor *a, heed_tensor *b, double tolerance)
{
    expect_no_error();
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(a->ndim, b->ndim);
    for (int i = 0; i < a->ndim; i++) {
        ck_assert_int_eq(a->shape[i], b->shape[i]);
    }
    double *values = elements_of(b);
    expect_values(a, values, b->numel, tolerance);
    free(values);
}

uint64_t fnv(const void *data, size_t size, uint64_t sum)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) {
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return sum;
}
