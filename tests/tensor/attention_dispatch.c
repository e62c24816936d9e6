/* Attention by its kernels compared with its definition, which also gives the weights. */
#include <math.h>

#include "heed.h"
#include "tests/common/reference.h"

/* Sizes around the edges of blocks of queries. */
static const struct sizes {
    int64_t queries, keys, features, values;
} sizes[] = {{1, 1, 1, 1},     {2, 3, 4, 5},      {31, 31, 8, 8},    {32, 32, 8, 8},
             {33, 33, 8, 8},   {64, 64, 32, 32},  {65, 65, 16, 17},  {40, 64, 5, 3},
             {64, 40, 3, 5},   {7, 255, 8, 8},    {7, 256, 8, 8},    {7, 257, 8, 8},
             {129, 5, 8, 8},   {130, 300, 33, 9}, {300, 130, 9, 33}, {200, 200, 64, 64},
             {70, 600, 1, 1},  {0, 3, 2, 2},      {3, 0, 2, 2},      {3, 4, 0, 2},
             {3, 4, 2, 0},     {5, 300, 2, 0},    {300, 300, 0, 3},  {193, 70, 5, 3},
             {33, 4097, 5, 3}, {129, 2100, 5, 3}};
enum { SIZES = sizeof sizes / sizeof *sizes, BATCH = 2, HEADS = 3 };

/* One of q, k and v, (B, H, T, d): as transposed heads of a model, contiguous, or with gaps. */
static heed_tensor *heads_of(int64_t length, int64_t width, heed_dtype dtype, int layout,
                             uint64_t seed)
{
    heed_tensor *x = layout == 0 ? noise(HEED_SHAPE(BATCH, length, HEADS, width), dtype, ROWS, seed)
                                 : noise(HEED_SHAPE(BATCH, HEADS, length, width), dtype,
                                         layout == 1 ? ROWS : STEPPED, seed);
    x = layout == 0 ? heed_transpose(x, 1, 2) : x;
    return heed_set_requires_grad(heed_detach(x), true);
}

static void make_inputs(const struct sizes *s, heed_dtype dtype, int layout, heed_tensor **in)
{
    in[0] = heads_of(s->queries, s->features, dtype, layout, 1);
    in[1] = heads_of(s->keys, s->features, dtype, layout, 2);
    in[2] = heads_of(s->keys, s->values, dtype, layout, 3);
}

/* By kernels or by definition; gives y and the gradients of sum(g y). */
static void run(heed_tensor *const *in, heed_tensor *mask, bool is_causal, bool by_definition,
                heed_tensor **results)
{
    heed_tensor *weights;
    results[0] = heed_scaled_dot_product_attention(in[0], in[1], in[2], mask, 0, is_causal, 0,
                                                   by_definition ? &weights : NULL);
    heed_tensor *g = noise(heed_shape_of_tensor(results[0]), in[0]->dtype, ROTATED, 4);
    heed_grad(heed_sum(heed_mul(results[0], g)), in, 3, results + 1, false);
    expect_no_error();
}

static bool is_of(const heed_tensor *y, const char *operation)
{
    return y->op != NULL && strcmp(y->op->name, operation) == 0;
}

/* NaN and infinities are where `goal` has them; the rest is as close as f32 allows, relative to the
 * largest element. */
static void expect_alike(heed_tensor *x, heed_tensor *goal, const char *what)
{
    const double close = x->dtype == HEED_F32 ? 3e-6 : 1e-12;
    const heed_shape shape = heed_shape_of_tensor(goal);
    expect_kind(heed_detach(x), goal->dtype, shape);
    double largest = 1;
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        const double size = fabs(element(goal, at));
        largest = isfinite(size) && size > largest ? size : largest;
    }
    for (heed_shape at = first_index(shape); at.ndim >= 0; next_index(shape, &at)) {
        const double found = element(x, at), wanted = element(goal, at);
        EXPECT(isfinite(wanted) ? fabs(found - wanted) <= close * largest
               : isnan(wanted)  ? isnan(found)
                                : found == wanted,
               "%s: %.17g, not %.17g", what, found, wanted);
    }
}

static void expect_definition(heed_tensor *const *in, heed_tensor *mask, bool is_causal)
{
    static const char *const names[] = {"y", "dq", "dk", "dv"};
    heed_tensor *results[4], *goals[4];
    run(in, mask, is_causal, false, results);
    run(in, mask, is_causal, true, goals);
    ck_assert(is_of(results[0], "scaled_dot_product_attention") && is_of(goals[0], "matmul"));
    for (int i = 0; i < 4; i++) {
        expect_alike(results[i], goals[i], names[i]);
    }
}

START_TEST(kernels_give_what_the_definition_gives)
{
    for (int layout = 0; layout < 3; layout++) {
        for (int dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
            heed_tensor *in[3];
            make_inputs(&sizes[_i], (heed_dtype)dtype, layout, in);
            expect_definition(in, NULL, false);
            expect_definition(in, NULL, true);
        }
    }
}
END_TEST

START_TEST(masks_are_those_of_the_definition)
{
    const struct sizes *s = &sizes[_i];
    for (int dtype = HEED_F32; dtype <= HEED_F64; dtype++) {
        heed_tensor *in[3];
        make_inputs(s, (heed_dtype)dtype, 0, in);
        heed_tensor *bias = noise(HEED_SHAPE(s->queries, s->keys), (heed_dtype)dtype, ROTATED, 5);
        heed_tensor *keep = heed_gt_scalar(bias, -0.2);
        expect_definition(in, keep, false);
        expect_definition(in, bias, false);
        expect_definition(in, heed_masked_fill(heed_scalar(-HUGE_VAL, (heed_dtype)dtype), keep, 0),
                          false);
        if (s->keys > 0 && s->queries > 0) {
            heed_tensor *some =
                heed_expand(heed_narrow(keep, 0, 0, 1), HEED_SHAPE(BATCH, 1, s->queries, s->keys));
            expect_definition(in, some, false);
            expect_definition(in, heed_narrow(keep, 1, 0, 1), false);
        }
    }
}
END_TEST

/* 0 times NaN gives NaN, in results and in gradients. (is_causal may skip later keys.) */
START_TEST(what_is_not_finite_goes_where_the_definition_has_it)
{
    static const double others[] = {(double)NAN, HUGE_VAL, -HUGE_VAL, 1e30};
    const struct sizes *s = &sizes[_i];
    const int64_t lengths[] = {s->queries, s->keys, s->keys};
    for (int input = 0; input < 3; input++) {
        for (int place = 0; place < 3; place++) {
            heed_tensor *in[3];
            make_inputs(s, HEED_F32, 1, in);
            const int64_t row = (lengths[input] - 1) * place / 2;
            heed_tensor *changed = heed_clone(heed_detach(in[input]));
            heed_fill_into(heed_narrow(heed_narrow(changed, 2, row, 1), 3, 0, 1),
                           others[(input + place) % 4]);
            in[input] = heed_set_requires_grad(changed, true);
            expect_definition(in, NULL, false);
        }
    }
}
END_TEST

/* Results and gradients have the layout of the queries, so that merging the heads is a view. */
START_TEST(results_lie_as_the_queries_do)
{
    heed_tensor *in[3], *results[4];
    make_inputs(&(struct sizes){5, 5, 4, 4}, HEED_F32, 0, in);
    run(in, NULL, true, false, results);
    for (int i = 0; i < 4; i++) {
        ck_assert(heed_is_contiguous(heed_transpose(results[i], 1, 2)));
    }
    make_inputs(&(struct sizes){5, 5, 4, 4}, HEED_F32, 1, in);
    run(in, NULL, true, false, results);
    for (int i = 0; i < 4; i++) {
        ck_assert(heed_is_contiguous(results[i]));
    }
}
END_TEST

/* Nothing of the size of the scores is kept for the backward pass. */
START_TEST(scores_are_not_kept)
{
    enum { LENGTH = 512 };
    heed_tensor *in[3];
    make_inputs(&(struct sizes){LENGTH, LENGTH, 2, 2}, HEED_F32, 1, in);
    const int64_t before = heed_live_bytes();
    heed_tensor *y = heed_scaled_dot_product_attention(in[0], in[1], in[2], .is_causal = true);
    ck_assert(y != NULL && heed_live_bytes() - before < (int64_t)sizeof(float) * LENGTH * LENGTH);
}
END_TEST

void add_attention_dispatch_cases(Suite *suite)
{
    TCase *attend = heed_case(suite, "scaled_dot_product_attention");
    tcase_add_loop_test(attend, kernels_give_what_the_definition_gives, 0, SIZES);
    tcase_add_loop_test(attend, masks_are_those_of_the_definition, 0, SIZES);
    tcase_add_loop_test(attend, what_is_not_finite_goes_where_the_definition_has_it, 1, 12);
    tcase_add_test(attend, results_lie_as_the_queries_do);
    tcase_add_test(attend, scores_are_not_kept);
}
