/* Inputs that lie in memory in all ways, and values by plain loops to hold results against: nothing
 * here calls an operation of the library. */
#ifndef HEED_TESTS_REFERENCE_H
#define HEED_TESTS_REFERENCE_H

#include "tests/test_util.h"

/* ---- indices ---- */

/* Every index into a shape, row by row:
 *
 *     for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at))
 */
heed_shape first_index(heed_shape shape);
void next_index(heed_shape shape, heed_shape *index);
int64_t count_of(heed_shape shape);

/* ---- tensors ---- */

/* How the elements of a tensor lie: row by row; the first dim innermost, as transposed; the last
 * dim outermost; with gaps in every dim, behind an offset. */
enum layout { ROWS, COLUMNS, ROTATED, STEPPED, LAYOUTS };

/* lay_out: a tensor with these elements, row by row. What lies between them in memory is 77. */
heed_tensor *lay_out(const double *values, heed_shape shape, heed_dtype dtype, enum layout layout);

/* noise: elements that any seed draws alike: floats in [-2, 2) with all their digits, whole numbers
 * from -9 to 9, true and false. */
heed_tensor *noise(heed_shape shape, heed_dtype dtype, enum layout layout, uint64_t seed);

/* whole_noise: whole numbers from -9 to 9 in any dtype: sums of products of them are exact. */
heed_tensor *whole_noise(heed_shape shape, heed_dtype dtype, enum layout layout, uint64_t seed);

/* element: t at an index into a shape that t broadcasts to; rank: how many elements of `shape` come
 * before the index. */
double element(const heed_tensor *t, heed_shape index);
int64_t rank(heed_shape shape, heed_shape index);

/* ---- comparing ---- */

/* within_ulps: is `found`, an element of `dtype`, at most so many units in the last place away from
 * what it should be? Integers and bools must be equal, NaN meets NaN. */
bool within_ulps(double found, double expected, double ulps, heed_dtype dtype);

/* expect_kind: y is there, of this dtype and shape, and without a graph. */
void expect_kind(const heed_tensor *y, heed_dtype dtype, heed_shape shape);

/* EXPECT: as ck_assert_msg, for inner loops: Check writes a note each time that one of its own is
 * reached. */
#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            ck_abort_msg(__VA_ARGS__);                                                             \
        }                                                                                          \
    } while (false)

/* expect_element: found is expected, to so many ulps; else `what` and both are printed. */
void expect_element(const char *what, double found, double expected, double ulps, heed_dtype dtype);

/* expect_same_order: y holds the elements of x, row by row. */
void expect_same_order(const char *what, heed_tensor *y, heed_tensor *x);

/* Half a unit in the last place: what rounding once costs. */
#define ROUNDED_ONCE 0.5000001

#endif
