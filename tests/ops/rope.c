/* rope: what rotary positions promise. */
#include "tests/common/test_util.h"

static heed_tensor *rotated(heed_tensor *x, int64_t from, int form)
{
    const int64_t length = heed_size(x, -2);
    heed_tensor *positions = heed_arange((double)from, (double)(from + length), 1, HEED_I64);
    return heed_rope(x, positions, .interleaved = form % 2 != 0);
}

static heed_tensor *scores(heed_tensor *q, heed_tensor *k, int64_t from, int form)
{
    return heed_matmul(rotated(q, from, form), heed_transpose(rotated(k, from, form), -2, -1));
}

/* The score of a query and a key depends on the distance of their positions alone. */
START_TEST(scores_depend_on_distances)
{
    heed_tensor *q = heed_randn(HEED_SHAPE(2, 5, 8), HEED_F64);
    heed_tensor *k = heed_randn(HEED_SHAPE(2, 5, 8), HEED_F64);
    heed_tensor *near = scores(q, k, 0, _i);
    expect_close(scores(q, k, 1000, _i), near, 1e-12);
    expect_close(scores(q, k, -3, _i), near, 1e-12);
    ck_assert(heed_item(heed_amax(
                  heed_abs(heed_sub(near, heed_matmul(q, heed_transpose(k, -2, -1)))))) > 0.1);
}
END_TEST

/* Keys that a cache rotated one by one are those rotated at once, bit for bit. */
START_TEST(a_cache_rotates_the_same)
{
    heed_tensor *x = heed_randn(HEED_SHAPE(2, 3, 6, 4), HEED_F32), *parts[6];
    for (int t = 0; t < 6; t++) {
        parts[t] = rotated(heed_narrow(x, -2, t, 1), t, _i);
    }
    expect_same_bits(heed_cat(parts, 6, -2), rotated(x, 0, _i));
    expect_same_bits(heed_rope(x, NULL, .interleaved = _i != 0), rotated(x, 0, _i));
}
END_TEST

START_TEST(lengths_stay_and_turning_back_undoes)
{
    heed_tensor *x = heed_randn(HEED_SHAPE(5, 6), HEED_F64);
    heed_tensor *at = heed_arange(2, 12, 2, HEED_I64),
                *y = heed_rope(x, at, 100, .interleaved = _i != 0);
    expect_close(heed_sum_dim(heed_square(y), -1, false), heed_sum_dim(heed_square(x), -1, false),
                 1e-12);
    expect_close(heed_rope(y, heed_neg(at), 100, .interleaved = _i != 0), x, 1e-12);
    expect_same_bits(heed_narrow(rotated(x, 0, _i), 0, 0, 1), heed_narrow(x, 0, 0, 1));
}
END_TEST

/* One pair: the angle is the position. */
START_TEST(which_features_are_pairs)
{
    heed_tensor *x = heed_from_f64((double[]){1, 0, 0, 2}, HEED_SHAPE(1, 4));
    heed_tensor *one = heed_ones(HEED_SHAPE(1), HEED_I64);
    expect_close(
        heed_rope(x, one),
        heed_from_f64((double[]){cos(1), -2 * sin(0.01), sin(1), 2 * cos(0.01)}, HEED_SHAPE(1, 4)),
        1e-15);
    expect_close(
        heed_rope(x, one, .interleaved = true),
        heed_from_f64((double[]){cos(1), sin(1), -2 * sin(0.01), 2 * cos(0.01)}, HEED_SHAPE(1, 4)),
        1e-15);
}
END_TEST

START_TEST(x_may_have_the_most_dims)
{
    heed_tensor *x = heed_randn(HEED_SHAPE(6, 5, 4), HEED_F64), *y = rotated(x, 0, _i);
    const heed_shape shape = HEED_SHAPE(1, 2, 1, 3, 1, 1, 5, 4);
    expect_same_bits(rotated(heed_reshape(x, shape), 0, _i), heed_reshape(y, shape));
}
END_TEST

/* In f32, an angle of 1e7 would be off by up to 0.5. */
START_TEST(angles_far_away_are_exact)
{
    for (int64_t position = 10000; position <= 10000019; position += 1110001) {
        heed_tensor *at = heed_full(HEED_SHAPE(1), (double)position, HEED_I64);
        const double a = (double)position, b = a / 100;
        expect_close(heed_rope(heed_from_f64((double[]){1, 1, 0, 0}, HEED_SHAPE(1, 4)), at),
                     heed_from_f64((double[]){cos(a), cos(b), sin(a), sin(b)}, HEED_SHAPE(1, 4)),
                     1e-8);
    }
}
END_TEST

void add_rope_cases(Suite *suite)
{
    TCase *rope = heed_case(suite, "rope");
    tcase_add_loop_test(rope, x_may_have_the_most_dims, 0, 2);
    tcase_add_test(rope, angles_far_away_are_exact);
    tcase_add_loop_test(rope, scores_depend_on_distances, 0, 2);
    tcase_add_loop_test(rope, a_cache_rotates_the_same, 0, 2);
    tcase_add_loop_test(rope, lengths_stay_and_turning_back_undoes, 0, 2);
    tcase_add_test(rope, which_features_are_pairs);
}
