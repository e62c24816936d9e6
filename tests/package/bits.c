/* Prints a hash of the results of each kernel, to compare two builds bit by bit. With --isa: prints
 * the instruction set in use. With --signs: prints a hash of the signs of the results of
 * element-wise kernels for zeros, ones and NaN, which do not depend on rounding, and so on the
 * instruction set. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"

enum { N = 1003, OPERANDS = 5 };

static double numbers[OPERANDS][2 * N];
static union {
    float f32[N];
    double f64[N];
    int64_t i64[N];
} operands[OPERANDS], result;

static void print_hash(const char *name, int i, heed_dtype dtype, const void *data, size_t size)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t k = 0; k < size; k++) {
        hash = (hash ^ ((const unsigned char *)data)[k]) * 1099511628211u;
    }
    printf("%s %d %s %016llx\n", name, i, heed_dtype_name(dtype), (unsigned long long)hash);
}

/* Normally distributed numbers of all sizes, zeros, infinities and a NaN. */
static void fill(heed_dtype dtype)
{
    for (int k = 0; k < OPERANDS; k++) {
        for (int i = 0; i < N; i++) {
            double x = numbers[k][2 * i] * exp(8 * numbers[k][2 * i + 1] * (i % 3));
            x = i % 101 == 50 + k ? INFINITY : i % 97 == 3 * k ? -0.0 : i == 700 + k ? NAN : x;
            if (dtype == HEED_F32) {
                operands[k].f32[i] = (float)x;
            } else if (dtype == HEED_F64) {
                operands[k].f64[i] = x;
            } else {
                operands[k].i64[i] =
                    isfinite(x) ? (int64_t)(fmod(x, 1e6) * 1e3) | 1 : 1; /* remainder traps for 0 */
            }
        }
    }
}

/* Every combination of 0, -0, 1, -1 and NaN. */
static void fill_with_zeros(heed_dtype dtype)
{
    static const double values[] = {0, -0.0, 1, -1, (double)NAN};
    for (int k = 0, divisor = 1; k < OPERANDS - 1; k++, divisor *= 5) {
        for (int i = 0; i < N; i++) {
            const double x = values[i / divisor % 5];
            if (dtype == HEED_F32) {
                operands[k].f32[i] = (float)x;
            } else {
                operands[k].f64[i] = x;
            }
        }
    }
}

/* 0, -0, 1, -1 or NaN. */
static double sign_of(double x)
{
    return isnan(x) ? (double)NAN : x == 0 ? x : copysign(1, x);
}

/* Makes results comparable: the sign of NaN is arbitrary. */
static void simplify(heed_dtype dtype, bool signs)
{
    for (int i = 0; i < N; i++) {
        if (dtype == HEED_F32 && (signs || isnan(result.f32[i]))) {
            result.f32[i] = (float)sign_of((double)result.f32[i]);
        } else if (dtype == HEED_F64 && (signs || isnan(result.f64[i]))) {
            result.f64[i] = sign_of(result.f64[i]);
        }
    }
}

static void elementwise(heed_dtype dtype, bool signs)
{
    const heed_kernels *kernels = heed_kernels_for(dtype);
    const void *in[OPERANDS];
    for (int k = 0; k < OPERANDS; k++) {
        in[k] = &operands[k];
    }
    for (int op = 0; op < HEED_ELEMENTWISE_COUNT; op++) {
        for (int d = -1; d < 2; d++) {
            heed_kernel *kernel =
                d < 0 ? kernels->elementwise[op].forward : kernels->elementwise[op].gradient[d];
            if (kernel != NULL) {
                memset(&result, 0, sizeof result);
                kernel(N, in, &result);
                simplify(dtype, signs);
                print_hash(d < 0 ? "op" : "gradient", 3 * op + (d < 0 ? 0 : d), dtype, &result,
                           sizeof result);
            }
        }
    }
}

static void print_tensor(const char *name, int i, heed_tensor *y)
{
    y = heed_contiguous(y);
    const void *data = y->dtype == HEED_F32 ? (void *)heed_data_f32(y) : (void *)heed_data_f64(y);
    print_hash(name, i, y->dtype, data, (size_t)y->numel * heed_dtype_size(y->dtype));
}

/* y = f(x) and its gradient. */
static void print_call(const char *name, int i, heed_tensor *y, heed_tensor *x)
{
    heed_tensor *dx = NULL;
    heed_grad(heed_sum(heed_mul(y, y)), &x, 1, &dx, false);
    print_tensor(name, i, y); /* last, because it counts as a change of y */
    print_tensor(name, -i, dx);
}

static heed_tensor *randoms(heed_dtype dtype, heed_shape shape)
{
    return heed_set_requires_grad(heed_randn(shape, dtype), true);
}

static void rows_and_products(heed_dtype dtype)
{
    for (int n = 1; n < 1500; n = 2 * n + 1 + n % 5) {
        HEED_SCOPE(scope);
        heed_tensor *x = randoms(dtype, HEED_SHAPE(19, n)), *w = randoms(dtype, HEED_SHAPE(n));
        print_call("softmax", n, heed_softmax(x, -1), x);
        print_call("log_softmax", n, heed_log_softmax(x, -1), x);
        print_call("layer_norm", n, heed_layer_norm(x, HEED_SHAPE(n), w, w, 1e-5), x);
        print_call("sum", n, heed_sum_dim(x, -1, false), x);
        print_call("columns", n, heed_sum_dim(x, 0, false), x);
        for (int k = 1; k < 700; k = 3 * k + k % 4) {
            HEED_SCOPE(inner);
            heed_tensor *a = randoms(dtype, HEED_SHAPE(n % 67 + 1, k));
            print_call("matmul", 1000 * n + k, heed_matmul(a, randoms(dtype, HEED_SHAPE(k, n))), a);
            print_call("linear", 1000 * n + k, heed_linear(a, randoms(dtype, HEED_SHAPE(n, k)), w),
                       a);
        }
        heed_tensor *q = randoms(dtype, HEED_SHAPE(2, n % 300 + 1, 24));
        print_call("attention", n, heed_scaled_dot_product_attention(q, q, q, NULL, 0, true, 0), q);
    }
}

int main(int argc, char **argv)
{
    heed_on_error(heed_die);
    if (argc > 1 && strcmp(argv[1], "--isa") == 0) {
        return puts(heed_isa()) < 0;
    }
    heed_manual_seed(1);
    HEED_SCOPE(scope);
    for (int k = 0; k < OPERANDS; k++) {
        const double *from = heed_data_f64(heed_randn(HEED_SHAPE(2 * N), HEED_F64));
        memcpy(numbers[k], from, sizeof numbers[k]);
    }
    if (argc > 1 && strcmp(argv[1], "--signs") == 0) {
        for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
            fill_with_zeros(dtype);
            elementwise(dtype, true);
        }
        return fflush(stdout) != 0;
    }
    for (heed_dtype dtype = HEED_F32; dtype <= HEED_I64; dtype++) {
        fill(dtype);
        elementwise(dtype, false);
        if (heed_is_float(dtype)) {
            rows_and_products(dtype);
        }
    }
    return fflush(stdout) != 0;
}
