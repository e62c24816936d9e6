/* Reductions over every choice of dims, held against a plain function of one line. */
#ifndef HEED_TESTS_REDUCTIONS_H
#define HEED_TESTS_REDUCTIONS_H

#include "tests/reference.h"

typedef struct reduction {
    const char *name;
    heed_tensor *(*apply)(heed_tensor *x, heed_dims dims, bool keepdim);
    double (*reference)(const double *line, int64_t n, heed_dtype dtype);
    heed_dtype result[HEED_DTYPES]; /* HEED_DTYPES: is refused */
    bool refuses_nothing;           /* over a dim without elements */
    double ulps;                    /* how far off it may be, */
    double slack[2]; /* or so many epsilons, f32's or f64's, of the largest size on the way */
} reduction;

enum { REDUCTION_SHAPES = 12 };
extern const heed_shape reduction_shapes[REDUCTION_SHAPES];

/* check_reduction: r of x over the dims of `set`, listed with signs in turn, with keepdim and
 * without. check_all_reductions: the same over every set, where set 0 is all dims. */
void check_reduction(const reduction *r, heed_tensor *x, unsigned set);
void check_all_reductions(const reduction *r, heed_tensor *x);

/* alike: few different numbers, so that many are equal; with `nan` every 13th is NaN. */
heed_tensor *alike(heed_shape shape, heed_dtype dtype, enum layout layout, bool nan);

#endif
