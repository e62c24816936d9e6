/* OpenBLAS's side of the benchmark: the products of W5, with one call per product of a batch. */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "bench/product_shapes.h"
#include "bench/serve.h"

static struct product now;
static float *a, *b, *c;

static int batch_of(const struct product *p)
{
    return p->batch > 0 ? p->batch : 1;
}

static void multiply(void)
{
    const long m = now.m, n = now.n, k = now.k;
    const int ta = now.mode[0] == 't', tb = now.mode[1] == 't';
    for (long i = 0; i < batch_of(&now); i++) {
        cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                    now.m, now.n, now.k, 1, a + i * m * k, ta ? now.m : now.k, b + i * k * n,
                    tb ? now.k : now.n, 0, c + i * m * n, now.n);
    }
}

static float *numbers(long count)
{
    float *all = NULL;
    if (posix_memalign((void **)&all, 64, (size_t)count * sizeof(float)) != 0) {
        exit(EXIT_FAILURE);
    }
    for (long i = 0; i < count; i++) {
        all[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    }
    return all;
}

/* The last element of the result, by a plain loop. */
static double last(void)
{
    const long m = now.m, n = now.n, k = now.k, before = batch_of(&now) - 1;
    double sum = 0;
    for (long i = 0; i < k; i++) {
        const long at_a = now.mode[0] == 't' ? i * m + m - 1 : (m - 1) * k + i;
        const long at_b = now.mode[1] == 't' ? (n - 1) * k + i : i * n + n - 1;
        sum += (double)a[before * m * k + at_a] * (double)b[before * k * n + at_b];
    }
    return sum;
}

static const char *prepare(const struct workload *w)
{
    now = products[w->variant];
    const long m = now.m, n = now.n, k = now.k, batch = batch_of(&now);
    a = numbers(batch * m * k);
    b = numbers(batch * k * n);
    c = numbers(batch * m * n);
    multiply();
    return fabs((double)c[batch * m * n - 1] - last()) < 1e-3 ? NULL : "the product is wrong";
}

static void finish(void)
{
    free(a);
    free(b);
    free(c);
}

int main(int argc, char **argv)
{
    static struct workload all[PRODUCTS];
    for (int i = 0; i < PRODUCTS; i++) {
        all[i] = (struct workload){.unit = "GFLOP/s",
                                   .scale = 1e-9 * product_operations(&products[i]),
                                   .variant = i,
                                   .prepare = prepare,
                                   .run = multiply,
                                   .finish = finish};
        product_name(&products[i], all[i].name, sizeof all[i].name);
    }
    return serve(&(struct workloads){.all = all, .count = PRODUCTS}, argc, argv);
}
