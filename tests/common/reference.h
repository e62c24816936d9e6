/* Inputs in every memory layout, and expected values computed by plain loops: no operation of the
 * library is called here. */
#ifndef HEED_TESTS_REFERENCE_H
#define HEED_TESTS_REFERENCE_H

#include "tests/common/test_util.h"

/* ---- indices ---- */

/* Every index into a shape, in row-major order:
 *
 *     for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) */
heed_shape first_index(heed_shape shape);
void next_index(heed_shape shape, heed_shape *index);
int64_t count_of(heed_shape shape);

/* ---- tensors ---- */

/* Memory layouts: row-major; first dim innermost, as after a transpose; last dim outermost; gaps in
 * every dim, and an offset. */
enum layout { ROWS, COLUMNS, ROTATED, STEPPED, LAYOUTS };

/* lay_out: a tensor with these elements, given in row-major order. Gaps in memory are filled with
 * 77. */
heed_tensor *lay_out(const double *values, heed_shape shape, heed_dtype dtype, enum layout layout);

/* noise: elements that depend only on the seed: floats in [-2, 2) with full precision, integers
 * from -9 to 9, bools. */
heed_tensor *noise(heed_shape shape, heed_dtype dtype, enum layout layout, uint64_t seed);

/* whole_noise: integers from -9 to 9 in any dtype, so that sums of their products are exact. */
heed_tensor *whole_noise(heed_shape shape, heed_dtype dtype, enum layout layout, uint64_t seed);

/* element: t at an index into a shape that t broadcasts to. rank: the index's row-major position in
 * `shape`. */
double element(const heed_tensor *t, heed_shape index);
int64_t rank(heed_shape shape, heed_shape index);

/* ---- comparing ---- */

/* within_ulps: is `found`, an element of `dtype`, within `ulps` ulps of `expected`? Integers and
 * bools must be equal; NaN matches NaN. */
bool within_ulps(double found, double expected, double ulps, heed_dtype dtype);

/* expect_kind: y is not NULL, has this dtype and shape, and no graph. */
void expect_kind(const heed_tensor *y, heed_dtype dtype, heed_shape shape);

/* EXPECT: a ck_assert_msg with a shorter name. */
#define EXPECT(condition, ...) ck_assert_msg(condition, __VA_ARGS__)

/* expect_element: found is within `ulps` of expected; otherwise prints `what` and both. */
void expect_element(const char *what, double found, double expected, double ulps, heed_dtype dtype);

/* multiply_by_kernel: y = a b, + bias (or NULL) or, with accumulate, + y, by the kernel of matmul,
 * linear and attention. */
void multiply_by_kernel(const heed_tensor *a, const heed_tensor *b, const heed_tensor *bias,
                        heed_tensor *y, bool accumulate);

/* Error of one rounding: half an ulp, plus slack. */
#define ROUNDED_ONCE 0.5000001

#endif
