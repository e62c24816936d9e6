/* softmax and log_softmax of many long lines and columns, compared with plain loops in double;
 * subnormal probabilities; safe_softmax's lines of -inf alone. */

#include <float.h>
#include <math.h>

#include "tensor/kernels/kernels.h"
#include "tests/common/reference.h"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#define INF HUGE_VAL
#define NaN (double)NAN

/* clang-format off */
static const heed_shape shapes[] = {
    {1, {700}}, {2, {3, 600}}, {2, {600, 3}}, {4, {2, 3, 4, 5}}, {8, {2, 1, 2, 2, 1, 2, 3, 2}},
};
/* clang-format on */
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- softmax, log_softmax ---- */

static void check_softmax(heed_shape shape, heed_dtype dtype, enum layout layout, int dim)
{
    heed_tensor *x = heed_mul_scalar(noise(shape, dtype, layout, 9), 4);
    x = lay_out(heed_const_data_f64(heed_to(x, HEED_F64)), shape, dtype, layout);
    heed_tensor *y = heed_softmax(x, dim % 2 ? dim : dim - shape.ndim);
    heed_tensor *z = heed_log_softmax(x, dim);
    expect_kind(y, dtype, shape);
    expect_kind(z, dtype, shape);
    const double epsilon = dtype == HEED_F32 ? 0x1p-23 : 0x1p-52;
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        double total = 0, n = (double)shape.size[dim];
        heed_shape other = at;
        for (other.size[dim] = 0; other.size[dim] < shape.size[dim]; other.size[dim]++) {
            total += exp(element(x, other) - element(x, at));
        }
        expect_element("softmax", element(y, at), 1 / total, dtype == HEED_F32 ? 8 : 64, dtype);
        double found = element(z, at), goal = -log(total);
        EXPECT(fabs(found - goal) <= 2 * epsilon * (fabs(goal) + log(n) + 8),
               "log_softmax is %.17g, not %.17g", found, goal);
    }
}

START_TEST(softmax_over_all_dims)
{
    for (enum layout layout = 0; layout < LAYOUTS; layout++) {
        for (heed_dtype dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
            for (int dim = 0; dim < shapes[_i].ndim; dim++) {
                check_softmax(shapes[_i], dtype, layout, dim);
            }
        }
    }
}
END_TEST

START_TEST(softmax_of_scalars)
{
    heed_tensor *x = heed_scalar(-7, HEED_F32);
    ck_assert_double_eq(heed_item(heed_softmax(x, 0)), 1);
    ck_assert_double_eq(heed_item(heed_log_softmax(x, -1)), 0);
    ck_assert_ptr_null(heed_softmax(x, 1));
    expect_error(HEED_ERR_DIM, "softmax: dim 1");
}
END_TEST

/* ---- subnormal probabilities ---- */

enum { RARE = 300 };

/* A row with scores 0 ... -110, or 1e-5 apart at the least score whose exponential is normal; its
 * largest scores, `large` of them, give totals of 1 and more. */
static heed_tensor *rare_row(int large, bool at_limit, double lowest)
{
    heed_tensor *x = heed_empty(HEED_SHAPE(RARE), HEED_F32);
    float *score = heed_data_f32(x);
    for (int i = 0; i < RARE; i++) {
        score[i] = i < large  ? (float)-i / 16
                   : at_limit ? -87.3350f - (float)i * 1e-5f
                              : (float)lowest * (float)i / RARE;
    }
    return x;
}

/* Within a unit in the last place, 2^-149 at least, of the exact quotient, or the error of exp. */
START_TEST(softmax_of_rare_scores)
{
    for (int large = 1; large < 40; large++) {
        for (int at_limit = 0; at_limit < 2; at_limit++) {
            const heed_tensor *x = rare_row(large, at_limit, -110),
                              *y = heed_softmax((heed_tensor *)x, 0);
            double total = 0;
            for (int i = 0; i < RARE; i++) {
                total += exp((double)heed_const_data_f32(x)[i]);
            }
            for (int i = 0; i < RARE; i++) {
                const double goal = exp((double)heed_const_data_f32(x)[i]) / total;
                const double found = (double)heed_const_data_f32(y)[i];
                EXPECT(fabs(found - goal) <= 0x1.8p-149 + goal * 0x1p-21, "%a, not %a", found,
                       goal);
            }
        }
    }
}
END_TEST

/* NaN and infinite scores reach all probabilities, as in other rows. */
START_TEST(softmax_of_rare_scores_and_nan)
{
    for (int k = 0; k < 2; k++) {
        heed_tensor *x = rare_row(3, false, -110);
        heed_data_f32(x)[k == 0 ? 7 : RARE - 1] = k == 0 ? NAN : INFINITY;
        const heed_tensor *y = heed_softmax(x, 0);
        for (int i = 0; i < RARE; i++) {
            ck_assert(isnan(heed_const_data_f32(y)[i]) || (k == 1 && i < RARE - 1));
        }
    }
}
END_TEST

/* Multiplying subnormal numbers is slow on many processors; the flags of the processor show whether
 * an operation read one, or rounded to one. The baseline does; valgrind keeps no flags. */
START_TEST(softmax_multiplies_no_subnormal_numbers)
{
    heed_tensor *x = rare_row(2, false, -110);
    for (int i = 2; i < RARE; i++) { /* no quotient's remainder is subnormal */
        const float score = heed_data_f32(x)[i];
        heed_data_f32(x)[i] = score > -87.3f && score < -55 ? -55 : score;
    }
#ifdef __SSE2__
    _MM_SET_EXCEPTION_STATE(0);
    const heed_tensor *y = heed_softmax(x, 0);
    const unsigned flags = _MM_GET_EXCEPTION_STATE();
    ck_assert(heed_chosen_isa == 0 || (flags & (_MM_EXCEPT_DENORM | _MM_EXCEPT_UNDERFLOW)) == 0);
    ck_assert(heed_const_data_f32(y)[250] > 0 && heed_const_data_f32(y)[250] < FLT_MIN);
#endif
    const bool flushes = heed_set_flush_denormal(true);
    const heed_tensor *flushed = heed_softmax(x, 0);
    heed_set_flush_denormal(false); /* in the mode, subnormal numbers equal 0 */
    ck_assert(!flushes || heed_const_data_f32(flushed)[250] == 0);
}
END_TEST

/* ---- safe_softmax ---- */

/* In long lines: a single element other than -inf, at any index, gives softmax's result. */
START_TEST(safe_softmax_looks_at_the_whole_line)
{
    enum { LENGTH = 67 };
    const heed_dtype dtype = (heed_dtype)_i;
    for (int place = 0; place < LENGTH; place++) {
        double values[3][LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            values[0][i] = i == place ? -3 : -INF;
            values[1][i] = i == place ? NaN : -INF;
            values[2][i] = -INF;
        }
        heed_tensor *x =
            lay_out(values[0], HEED_SHAPE(3, LENGTH), dtype, place % 2 ? ROWS : COLUMNS);
        heed_tensor *y = heed_safe_softmax(x, 1);
        for (int64_t i = 0; i < LENGTH; i++) {
            EXPECT(element(y, HEED_INDEX(0, i)) == (i == place), "a number at %d", place);
            EXPECT(isnan(element(y, HEED_INDEX(1, i))), "NaN at %d", place);
            EXPECT(element(y, HEED_INDEX(2, i)) == 0, "nothing but -inf");
        }
    }
}
END_TEST

void add_softmax_cases(Suite *suite)
{
    TCase *softmax = heed_case(suite, "softmax");
    tcase_add_loop_test(softmax, softmax_over_all_dims, 0, SHAPES);
    tcase_add_test(softmax, softmax_of_scalars);
    tcase_add_test(softmax, softmax_of_rare_scores);
    tcase_add_test(softmax, softmax_of_rare_scores_and_nan);
    tcase_add_test(softmax, softmax_multiplies_no_subnormal_numbers);
    TCase *safe_softmax = heed_case(suite, "safe_softmax");
    tcase_add_loop_test(safe_softmax, safe_softmax_looks_at_the_whole_line, HEED_F32, HEED_F64 + 1);
}
