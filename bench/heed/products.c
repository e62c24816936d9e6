/* Matrix products (W5); transposed operands are views. */
#include <string.h>

#include "bench/heed/tables.h"
#include "bench/product_shapes.h"

static struct product now;
static heed_tensor *a, *b, *stored_a, *stored_b; /* a and b are these or views of them */

/* (rows, columns), or a batch of these; *stored is (columns, rows) if `transposed`. */
static heed_tensor *matrix(const struct workload *w, int rows, int columns, bool transposed,
                           heed_tensor **stored)
{
    heed_shape shape = transposed ? HEED_SHAPE(columns, rows) : HEED_SHAPE(rows, columns);
    if (now.batch > 0) {
        shape = HEED_SHAPE(now.batch, shape.size[0], shape.size[1]);
    }
    *stored = input_of(w, heed_sub_scalar(heed_rand(shape, HEED_F32), 0.5));
    return transposed ? heed_transpose(*stored, -2, -1) : *stored;
}

static void multiply(void)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_matmul(a, b);
}

/* Element (row, column) of matrix `batch` in a view of `stored`. */
static double element(const heed_tensor *view, const heed_tensor *stored, int64_t batch,
                      int64_t row, int64_t column)
{
    const int64_t *strides = view->strides, of_batch = view->ndim == 3 ? batch * strides[0] : 0;
    const int last = view->ndim - 1;
    return (double)heed_const_data_f32(
        stored)[of_batch + row * strides[last - 1] + column * strides[last]];
}

static double expected(int64_t i)
{
    const int64_t column = i % now.n, row = i / now.n % now.m, batch = i / now.n / now.m;
    double sum = 0;
    for (int k = 0; k < now.k; k++) {
        sum += element(a, stored_a, batch, row, k) * element(b, stored_b, batch, k, column);
    }
    return sum;
}

static const char *prepare(const struct workload *w)
{
    now = products[w->variant];
    a = matrix(w, now.m, now.k, now.mode[0] == 't', &stored_a);
    b = matrix(&(struct workload){.subnormal = false}, now.k, now.n, now.mode[1] == 't', &stored_b);
    return differs(heed_matmul(a, b), expected) ? "the product differs from plain loops" : NULL;
}

void add_products(struct table *table)
{
    for (int i = 0; i < PRODUCTS; i++) {
        const double operations = product_operations(&products[i]);
        char name[48];
        product_name(&products[i], name, sizeof name);
        const struct workload *w = add_workload(table,
                                                (struct workload){.unit = "GFLOP/s",
                                                                  .scale = 1e-9 * operations,
                                                                  .bound = "fma",
                                                                  .bound_times = operations,
                                                                  .variant = i,
                                                                  .prepare = prepare,
                                                                  .run = multiply},
                                                "%s", name);
        if (strcmp(name, "w5.nn.256x256x256") == 0) {
            add_subnormal(table, *w);
        }
    }
}
