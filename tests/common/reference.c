#include "tests/common/reference.h"
#include "tensor/tensor.h"

#include <math.h>
#include <stdlib.h>

/* ---- indices ---- */

int64_t count_of(heed_shape shape)
{
    int64_t count = 1;
    for (int i = 0; i < shape.ndim; i++) {
        count *= shape.size[i];
    }
    return count;
}

heed_shape first_index(heed_shape shape)
{
    return (heed_shape){count_of(shape) > 0 ? shape.ndim : -1, {0}};
}

void next_index(heed_shape shape, heed_shape *index)
{
    for (int i = shape.ndim - 1; i >= 0; i--) {
        if (++index->size[i] < shape.size[i]) {
            return;
        }
        index->size[i] = 0;
    }
    index->ndim = -1;
}

int64_t rank(heed_shape shape, heed_shape index)
{
    int64_t place = 0;
    for (int i = 0; i < shape.ndim; i++) {
        place = place * shape.size[i] + index.size[i];
    }
    return place;
}

/* ---- tensors ---- */

/* Strides of a layout. Returns the number of elements that they span, and the offset of the
 * first. */
static int64_t strides_of(heed_shape shape, enum layout layout, int64_t *strides, int64_t *offset)
{
    const int n = shape.ndim;
    int64_t reach = 1;
    *offset = layout == STEPPED ? 5 : 0;
    for (int i = 0; i < n; i++) {
        int dim = layout == COLUMNS ? i : layout == ROTATED ? (2 * n - 2 - i) % n : n - 1 - i;
        int64_t gap = layout == STEPPED ? 2 + i % 2 : 1;
        strides[dim] = reach * gap;
        reach *= gap * (shape.size[dim] > 0 ? shape.size[dim] : 1);
    }
    return reach + *offset;
}

static void set_element(heed_tensor *t, int64_t place, double value)
{
    switch (t->dtype) {
    case HEED_F32:
        ((float *)t->data)[place] = (float)value;
        break;
    case HEED_F64:
        ((double *)t->data)[place] = value;
        break;
    case HEED_I64:
        ((int64_t *)t->data)[place] = (int64_t)value;
        break;
    default:
        ((bool *)t->data)[place] = value != 0;
    }
}

heed_tensor *lay_out(const double *values, heed_shape shape, heed_dtype dtype, enum layout layout)
{
    int64_t strides[HEED_MAX_DIMS], offset, reach = strides_of(shape, layout, strides, &offset);
    heed_tensor *memory = heed_tensor_new("lay_out", &HEED_SHAPE(reach), dtype);
    EXPECT(memory != NULL, "%s", heed_error_message());
    for (int64_t i = 0; i < reach; i++) {
        set_element(memory, i, 77);
    }
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        int64_t place = offset;
        for (int i = 0; i < shape.ndim; i++) {
            place += at.size[i] * strides[i];
        }
        set_element(memory, place, *values++);
    }
    heed_tensor *t = heed_tensor_view("lay_out", memory, shape.ndim, shape.size, strides, offset);
    EXPECT(t != NULL, "%s", heed_error_message());
    return t;
}

static double draw(uint64_t *state, heed_dtype dtype)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    switch (dtype) {
    case HEED_F32:
        return (double)(*state >> 40) * 0x1p-22 - 2;
    case HEED_F64:
        return (double)(*state >> 11) * 0x1p-51 - 2;
    case HEED_I64:
        return (double)(*state >> 40) * 0x1p-24 * 19 - 9;
    default:
        return (double)(*state >> 63);
    }
}

heed_tensor *noise(heed_shape shape, heed_dtype dtype, enum layout layout, uint64_t seed)
{
    const int64_t count = count_of(shape);
    double *values = calloc((size_t)count + 1, sizeof *values);
    uint64_t state = (seed + 1) * 0x9e3779b97f4a7c15u;
    for (int64_t i = 0; i < count; i++) {
        double value = draw(&state, dtype);
        values[i] = dtype == HEED_I64 ? floor(value) : value;
    }
    heed_tensor *t = lay_out(values, shape, dtype, layout);
    free(values);
    return t;
}

heed_tensor *whole_noise(heed_shape shape, heed_dtype dtype, enum layout layout, uint64_t seed)
{
    const heed_tensor *x = noise(shape, HEED_I64, ROWS, seed);
    double *values = calloc((size_t)x->numel + 1, sizeof *values);
    for (int64_t i = 0; i < x->numel; i++) {
        values[i] = (double)heed_const_data_i64(x)[i];
    }
    heed_tensor *y = lay_out(values, shape, dtype, layout);
    free(values);
    return y;
}

double element(const heed_tensor *t, heed_shape index)
{
    int64_t place = 0;
    for (int i = 0; i < t->ndim; i++) {
        place += t->shape[i] == 1 ? 0 : index.size[index.ndim - t->ndim + i] * t->strides[i];
    }
    switch (t->dtype) {
    case HEED_F32:
        return (double)((const float *)t->data)[place];
    case HEED_F64:
        return ((const double *)t->data)[place];
    case HEED_I64:
        return (double)((const int64_t *)t->data)[place];
    default:
        return ((const bool *)t->data)[place];
    }
}

/* ---- comparing ---- */

bool within_ulps(double found, double expected, double ulps, heed_dtype dtype)
{
    if (isnan(found) || isnan(expected)) {
        return isnan(found) && isnan(expected);
    }
    const bool is_f32 = dtype == HEED_F32;
    double goal = is_f32 ? (double)(float)expected : expected;
    if (found == goal || isinf(found) || isinf(goal) || !heed_is_float(dtype)) {
        return found == goal;
    }
    double size = fabs(goal);
    double ulp = is_f32 ? (double)(nextafterf((float)size, INFINITY) - (float)size)
                        : nextafter(size, (double)INFINITY) - size;
    return fabs(found - expected) <= ulps * ulp;
}

void expect_element(const char *what, double found, double expected, double ulps, heed_dtype dtype)
{
    EXPECT(within_ulps(found, expected, ulps, dtype), "%s: %.17g, not %.17g, in %s", what, found,
           expected, heed_dtype_name(dtype));
}

void expect_kind(const heed_tensor *y, heed_dtype dtype, heed_shape shape)
{
    EXPECT(y != NULL && !heed_error_pending(), "%s", heed_error_message());
    EXPECT(y->dtype == dtype, "%s, not %s", heed_dtype_name(y->dtype), heed_dtype_name(dtype));
    EXPECT(y->ndim == shape.ndim, "%d dims, not %d", y->ndim, shape.ndim);
    for (int i = 0; i < shape.ndim; i++) {
        EXPECT(y->shape[i] == shape.size[i], "size %lld, not %lld, in dim %d",
               (long long)y->shape[i], (long long)shape.size[i], i);
    }
    EXPECT(y->numel == count_of(shape), "%lld elements", (long long)y->numel);
    EXPECT(y->op == NULL && !y->requires_grad, "a graph, although no input requires a gradient");
}

void multiply_by_kernel(const heed_tensor *a, const heed_tensor *b, const heed_tensor *bias,
                        heed_tensor *y, bool accumulate)
{
    const int row = a->ndim - 2, col = a->ndim - 1;
    const int64_t m = a->shape[row], k = a->shape[col], n = b->shape[col];
    const heed_kernels *kernels = heed_kernels_for(y->dtype);
    heed_gemm call = {.m = m, .n = n, .k = k, .a = a->data, .b = b->data, .c = y->data, .c_row = n};
    call.a_row = m == 1 ? 1 : a->strides[row];
    call.a_col = k == 1 ? 1 : a->strides[col];
    call.b_row = k == 1 ? 1 : b->strides[row];
    call.b_col = n == 1 ? 1 : b->strides[col];
    call.bias = bias != NULL ? bias->data : NULL;
    call.accumulate = accumulate;
    heed_scope scope;
    heed_scope_begin(&scope);
    const int64_t bytes = kernels->gemm_workspace(&call);
    call.workspace = bytes > 0 ? heed_empty(HEED_SHAPE(bytes / 8 + 1), HEED_F64)->data : NULL;
    kernels->gemm(&call);
    heed_scope_end(&scope);
}
