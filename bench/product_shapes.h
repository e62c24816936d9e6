/* The matrix products of W5, for Heed and OpenBLAS: square ones, and those of a step of W4. */
#ifndef BENCH_PRODUCT_SHAPES_H
#define BENCH_PRODUCT_SHAPES_H

#include <stddef.h>
#include <stdio.h>

/* C (m, n) = op(A) op(B), over k. mode: which of A and B is stored transposed; "nt": B */
struct product {
    const char *mode;
    int m, n, k, batch; /* batch 0: no batch dim */
};

static const struct product products[] = {
    {"nn", 8, 8, 8, 0},
    {"nn", 16, 16, 16, 0},
    {"nn", 32, 32, 32, 0},
    {"nn", 64, 64, 64, 0},
    {"nn", 128, 128, 128, 0},
    {"nn", 256, 256, 256, 0},
    {"nn", 512, 512, 512, 0},
    {"nn", 1024, 1024, 1024, 0},
    {"nn", 2048, 2048, 2048, 0},
    {"nt", 64, 64, 64, 0},
    {"nt", 256, 256, 256, 0},
    {"nt", 1024, 1024, 1024, 0},
    /* forward: projection, queries keys and values, up, down, head */
    {"nt", 768, 128, 128, 0},
    {"nt", 768, 384, 128, 0},
    {"nt", 768, 512, 128, 0},
    {"nt", 768, 128, 512, 0},
    {"nt", 768, 65, 128, 0},
    /* backward: gradients of inputs */
    {"nn", 768, 128, 128, 0},
    {"nn", 768, 128, 384, 0},
    {"nn", 768, 128, 512, 0},
    {"nn", 768, 512, 128, 0},
    {"nn", 768, 128, 65, 0},
    /* and gradients of weights */
    {"tn", 128, 128, 768, 0},
    {"tn", 384, 128, 768, 0},
    {"tn", 512, 128, 768, 0},
    {"tn", 128, 512, 768, 0},
    {"tn", 65, 128, 768, 0},
    /* attention: q k^T, weights v, weights^T g */
    {"nt", 64, 64, 32, 48},
    {"nn", 64, 32, 64, 48},
    {"tn", 64, 32, 64, 48},
};
enum { PRODUCTS = sizeof products / sizeof *products };

static inline double product_operations(const struct product *p)
{
    return 2.0 * p->m * p->n * p->k * (p->batch > 0 ? p->batch : 1);
}

/* product_name: "w5.nt.768x384x128"; with a batch of 48 "w5.nt.48x64x64x32". */
static inline void product_name(const struct product *p, char *name, size_t size)
{
    char batch[16] = "";
    if (p->batch > 0) {
        snprintf(batch, sizeof batch, "%dx", p->batch);
    }
    snprintf(name, size, "w5.%s.%s%dx%dx%d", p->mode, batch, p->m, p->n, p->k);
}

#endif
