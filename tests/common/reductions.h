/* Reductions over every choice of dims, compared with a plain reference function. */
#ifndef HEED_TESTS_REDUCTIONS_H
#define HEED_TESTS_REDUCTIONS_H

#include "tests/common/reference.h"

typedef struct reduction {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *x, heed_dims dims, bool keepdim);
    double (*reference)(const double *line, int64_t n, heed_dtype dtype);
    heed_dtype result[HEED_DTYPES]; /* HEED_DTYPES: rejected */
    bool refuses_nothing;           /* a dim without elements is an error */
    double ulps;                    /* tolerance in ulps, */
    double slack[2]; /* or in epsilons (f32, f64) of the largest intermediate value */
} reduction;

enum { REDUCTION_SHAPES = 12 };
extern const heed_shape reduction_shapes[REDUCTION_SHAPES];

/* check_reduction: r of x over the dims in the bit set `set`, alternately positive and negative,
 * with keepdim and without. check_all_reductions: the same for every set; set 0 means all dims.
 * check_reduction_everywhere: the same for tensors of every shape, layout and dtype. */
void check_reduction(const reduction *r, heed_tensor *x, unsigned set);
void check_all_reductions(const reduction *r, heed_tensor *x);
void check_reduction_everywhere(const reduction *r);

/* alike: few distinct values, so that many are equal; with `nan` every 13th is NaN. */
heed_tensor *alike(heed_shape shape, heed_dtype dtype, enum layout layout, bool nan);

#endif
