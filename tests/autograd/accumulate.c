/* Accumulating gradients: adding in place gives the same sums as separate tensors, needs no more
 * memory than the sum, and never changes a tensor that someone else sees. */
#include <math.h>

#include "tests/common/engine_util.h"

/* ---- the same numbers either way ---- */

enum { ROWS = 4, COLUMNS = 6 };

static heed_tensor *weighted(heed_tensor *x, double by)
{
    return heed_sum(heed_mul(heed_mul_scalar(x, by), x));
}

static heed_tensor *sum_parts(heed_tensor *const *parts, int count)
{
    heed_tensor *sum = weighted(parts[0], 1);
    for (int i = 1; i < count; i++) {
        sum = heed_add(sum, weighted(parts[i], i + 1));
    }
    return sum;
}

static heed_tensor *overlapping_steps(heed_tensor *x)
{
    heed_tensor *parts[] = {heed_slice(x, 1, 0, COLUMNS, 2), heed_slice(x, 1, 1, 5, 3),
                            heed_slice(x, 0, -2, ROWS, 1), heed_slice(x, 1, 2, 2, 1), x};
    return sum_parts(parts, 5);
}

static heed_tensor *chunks(heed_tensor *x)
{
    heed_tensor *parts[3];
    return sum_parts(parts, heed_chunk(x, 3, 1, parts));
}

static heed_tensor *split_rows(heed_tensor *x)
{
    heed_tensor *parts[2];
    return sum_parts(parts, heed_split(x, 2, 0, parts, 2));
}

static heed_tensor *each_column(heed_tensor *x)
{
    heed_tensor *parts[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        parts[i] = heed_mul(heed_select(x, 1, i), heed_select(x, -1, -1));
    }
    return sum_parts(parts, COLUMNS);
}

/* x first receives the gradient of the sum itself, which is not x's alone. */
static heed_tensor *shared_first(heed_tensor *x)
{
    heed_tensor *part = heed_slice(x, 0, 1, 3, 1);
    return heed_add(weighted(part, 2), heed_sum(heed_exp(heed_add(x, heed_add(x, x)))));
}

static heed_tensor *transposed_parts(heed_tensor *x)
{
    heed_tensor *t = heed_transpose(x, 0, 1), *last = heed_narrow(t, 0, 3, 3);
    return heed_add(weighted(heed_mul(heed_narrow(t, 0, 0, 3), last), 1), weighted(x, 2));
}

static heed_tensor *products(heed_tensor *x)
{
    heed_tensor *once = heed_matmul(x, heed_transpose(x, 0, 1)); /* both factors are x */
    return heed_add(weighted(once, 0.1), weighted(heed_matmul(once, x), 0.01));
}

/* x is multiplied by batches, as one matrix for all and as a batch of matrices. */
static heed_tensor *batches(heed_tensor *x)
{
    heed_tensor *many = heed_full(HEED_SHAPE(3, 2, ROWS), 0.5, x->dtype);
    heed_tensor *wide = heed_full(HEED_SHAPE(3, COLUMNS, 2), 0.3, x->dtype);
    heed_tensor *column = heed_full(HEED_SHAPE(COLUMNS, 1), 0.2, x->dtype);
    heed_tensor *alone = heed_reshape(x, HEED_SHAPE(1, ROWS, COLUMNS));
    heed_tensor *parts[] = {heed_matmul(many, x),     heed_matmul(x, wide),
                            heed_matmul(x, column),   heed_matmul(alone, wide),
                            heed_matmul(many, alone), heed_matmul(alone, wide)};
    return sum_parts(parts, 6);
}

static heed_tensor *tied(heed_tensor *x)
{
    heed_tensor *ids = heed_from_i64((int64_t[]){3, 0, 3, 1}, HEED_SHAPE(2, 2));
    heed_tensor *rows = heed_embedding(ids, x);
    heed_tensor *again = heed_embedding(heed_select(ids, 0, 1), x);
    heed_tensor *logits = heed_matmul(rows, heed_transpose(x, 0, 1));
    return heed_add(weighted(logits, 0.1), heed_add(weighted(again, 3), weighted(rows, 1)));
}

static heed_tensor *(*const ways[])(heed_tensor *) = {
    overlapping_steps, chunks,   split_rows, each_column, shared_first,
    transposed_parts,  products, batches,    tied};
enum { WAYS = sizeof ways / sizeof *ways };

static heed_tensor *input(heed_dtype dtype)
{
    heed_manual_seed(3);
    return heed_to(heed_add_scalar(heed_rand(HEED_SHAPE(ROWS, COLUMNS), HEED_F32), -0.4), dtype);
}

/* With create_graph nothing is added in place. */
START_TEST(sums_are_those_of_a_pass_with_a_graph)
{
    const heed_dtype dtype = _i % 2 ? HEED_F64 : HEED_F32;
    const double tolerance = dtype == HEED_F64 ? 1e-13 : 2e-5;
    heed_tensor *x = heed_set_requires_grad(input(dtype), true), *plain = NULL, *dx = NULL,
                *both[2];
    heed_grad(ways[_i / 2](x), &x, 1, &plain, true);
    heed_grad(ways[_i / 2](x), &x, 1, &dx, false);
    expect_close(dx, plain, tolerance);
    for (int i = 1; i <= 3; i++) { /* from the second pass on it adds to .grad */
        heed_backward(ways[_i / 2](x));
        expect_close(x->grad, heed_mul_scalar(plain, i), i * tolerance);
    }
    heed_tensor *h = heed_mul_scalar(x, 2), *xs[] = {x, h}, *unlike;
    heed_retain_grad(h);
    heed_tensor *y = ways[_i / 2](h);
    heed_grad(y, &h, 1, &unlike, true);
    heed_grad(y, xs, 2, both, true);
    expect_close(both[1], unlike, 0);
    heed_clear_grad(x);
    heed_backward_retain(y);
    heed_backward(y);
    expect_close(h->grad, heed_mul_scalar(unlike, 2), 2 * tolerance);
    expect_close(x->grad, heed_mul_scalar(unlike, 4), 4 * tolerance);
}
END_TEST

/* ---- added in place ---- */

/* Adding even 0 turns -0 into 0, so elements that are still -0 were not touched. */
static heed_tensor *leaf_with_minus_zeros(void)
{
    heed_tensor *x = heed_set_requires_grad(input(HEED_F64), true);
    heed_set_grad(x, heed_full(HEED_SHAPE(ROWS, COLUMNS), -0.0, HEED_F64));
    return x;
}

static void expect_rows_left_alone(heed_tensor *grad, bool (*is_left)(int row))
{
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const double g = heed_const_data_f64(grad)[i];
        ck_assert(is_left(i / COLUMNS) ? g == 0 && signbit(g) : g != 0);
    }
}

static bool is_inner(int row)
{
    return row == 1 || row == 2;
}

START_TEST(slices_touch_their_part_alone)
{
    heed_tensor *x = leaf_with_minus_zeros(), *first = heed_select(x, 0, 0);
    heed_backward(heed_add(weighted(first, 1), weighted(heed_slice(x, 0, 3, 4, 1), 2)));
    expect_rows_left_alone(x->grad, is_inner);
}
END_TEST

START_TEST(embeddings_touch_their_rows_alone)
{
    heed_tensor *x = leaf_with_minus_zeros();
    heed_tensor *ids = heed_from_i64((int64_t[]){0, 3, 0}, HEED_SHAPE(3));
    heed_backward(weighted(heed_embedding(ids, x), 1));
    expect_rows_left_alone(x->grad, is_inner);
}
END_TEST

/* Of an intermediate tensor: the first part creates zeros, the others add only their elements. */
START_TEST(parts_of_a_result_meet_in_one_gradient)
{
    heed_tensor *x = heed_set_requires_grad(input(HEED_F64), true), *dh;
    heed_tensor *h = heed_neg(x), *parts[ROWS];
    heed_tensor *sum = NULL;
    for (int i = 0; i < heed_split(h, 1, 0, parts, ROWS); i++) {
        heed_tensor *part = heed_sum(heed_mul_scalar(parts[i], i == ROWS - 1 ? -0.0 : i));
        sum = sum != NULL ? heed_add(sum, part) : part;
    }
    heed_grad(sum, &h, 1, &dh, false); /* the last part is processed first, and contains -0 */
    ck_assert(signbit(heed_at(dh, HEED_INDEX(ROWS - 1, 0))));
    ck_assert_double_eq(heed_at(dh, HEED_INDEX(2, 1)), 2);
}
END_TEST

static int64_t requests_of_backward(heed_tensor *y)
{
    heed_empty_cache();
    const int64_t before = heed_system_requests();
    heed_backward_retain(y);
    return heed_system_requests() - before;
}

START_TEST(a_product_is_added_without_a_copy)
{
    heed_tensor *w = heed_set_requires_grad(heed_ones(HEED_SHAPE(100, 90), HEED_F32), true);
    heed_tensor *y = heed_sum(heed_matmul(heed_ones(HEED_SHAPE(3, 2, 100), HEED_F32), w));
    const int64_t first = requests_of_backward(y), second = requests_of_backward(y);
    ck_assert_int_lt(second, first); /* the first pass allocated .grad */
    ck_assert_double_eq(heed_at(w->grad, HEED_INDEX(99, 89)), 12);
}
END_TEST

/* ---- when the engine calls add_gradient ---- */

static int asked, made;

static void twice_backward(const heed_vjp *v)
{
    made++;
    v->grads[0] = heed_mul_scalar(v->g, 2);
}

/* Adds in place, except to tensors of 3 elements, which it leaves to backward. */
static bool twice_add_gradient(const heed_vjp *v, int i, heed_tensor *sum)
{
    asked++;
    ck_assert(i == 0 && heed_same_shape(sum, v->inputs[0]) && heed_is_contiguous(sum));
    if (sum->numel == 3) {
        return false;
    }
    heed_copy_into(sum, heed_add(sum, heed_mul_scalar(v->g, 2)));
    return true;
}

static heed_status twice_forward(const heed_call *call, heed_tensor *y)
{
    return heed_copy_into(y, heed_mul_scalar(call->inputs[0], 2));
}

static heed_tensor *twice(heed_tensor *x)
{
    static const heed_op op = {.name = "twice",
                               .inputs = 1,
                               .forward = twice_forward,
                               .backward = twice_backward,
                               .add_gradient = twice_add_gradient};
    return heed_apply(&op, &x, 1, NULL, 0);
}

static void expect_asked(int times, int then_made)
{
    ck_assert_int_eq(asked, times);
    ck_assert_int_eq(made, then_made);
    asked = made = 0;
}

static heed_tensor *three_times_twice(heed_tensor *x)
{
    asked = made = 0;
    return heed_sum(heed_add(heed_add(twice(x), twice(x)), twice(x)));
}

START_TEST(an_operation_is_asked_where_a_sum_is)
{
    heed_tensor *x = LEAF(1, 2), *odd = LEAF(1, 2, 3), *dx;
    heed_backward(three_times_twice(x));
    expect_asked(2, 1);
    heed_backward(three_times_twice(x));
    expect_asked(3, 0);
    EXPECT_VALUES(x->grad, 0, 12, 12);
    heed_grad(three_times_twice(x), &x, 1, &dx, false);
    expect_asked(2, 1);
    EXPECT_VALUES(dx, 0, 6, 6);
    heed_grad(three_times_twice(x), &x, 1, &dx, true);
    expect_asked(0, 3);
    EXPECT_VALUES(dx, 0, 6, 6);
    EXPECT_VALUES(x->grad, 0, 12, 12);
    heed_backward(three_times_twice(heed_neg(odd)));
    expect_asked(2, 3);
    EXPECT_VALUES(odd->grad, 0, -6, -6, -6);
}
END_TEST

/* h and k first receive the same gradient tensor, that of the sum: adding to h's must not change
 * k's. */
START_TEST(a_gradient_of_others_is_left_alone)
{
    heed_tensor *x = LEAF(1, 2), *xs[2], *grads[2];
    xs[0] = heed_neg(x);
    xs[1] = heed_exp(xs[0]);
    heed_tensor *aside = twice(xs[0]);
    asked = made = 0;
    heed_grad(heed_sum(heed_add(heed_add(xs[0], xs[1]), aside)), xs, 2, grads, false);
    EXPECT_VALUES(grads[1], 0, 1, 1);
    EXPECT_VALUES(grads[0], 1e-12, 3 + exp(-1), 3 + exp(-2));
}
END_TEST

/* ---- a .grad set by the user ---- */

START_TEST(parts_are_added_to_a_given_gradient)
{
    heed_tensor *x = LEAF(1, 2, 3),
                *w = heed_set_requires_grad(heed_ones(HEED_SHAPE(3, 2), HEED_F64), true);
    heed_tensor *flat = heed_zeros(HEED_SHAPE(9), HEED_F64);
    heed_set_grad(x, heed_narrow(flat, 0, 0, 3));
    heed_set_grad(w, heed_reshape(heed_narrow(flat, 0, 3, 6), HEED_SHAPE(3, 2)));
    heed_tensor *row = heed_reshape(x, HEED_SHAPE(1, 3));
    for (int i = 0; i < 2; i++) {
        heed_backward(heed_add(heed_sum(heed_matmul(heed_detach(row), w)),
                               heed_sum(heed_slice(x, 0, 1, 3, 1))));
    }
    EXPECT_VALUES(flat, 0, 0, 2, 2, 2, 2, 4, 4, 6, 6);
}
END_TEST

/* If the derivative reads the memory of the sum, the addition waits until after the read. */
START_TEST(a_gradient_in_the_memory_of_an_input)
{
    enum { N = 40 };
    heed_tensor *a = heed_add_scalar(heed_rand(HEED_SHAPE(N, N), HEED_F64), 1),
                *from = heed_clone(a);
    heed_tensor *w = heed_set_requires_grad(heed_ones(HEED_SHAPE(N, N), HEED_F64), true);
    heed_set_grad(w, a);
    heed_backward(heed_sum(heed_matmul(a, w)));
    expect_close(a, heed_add(from, heed_unsqueeze(heed_sum_dim(from, 0, false), 1)), 1e-12);
    heed_tensor *x = LEAF(1, 2, 3, 4), *part = heed_slice(x, 0, 0, 3, 1);
    heed_set_grad(x, heed_ones(HEED_SHAPE(4), HEED_F64));
    heed_tensor *y = heed_sum(heed_mul(part, heed_narrow(x->grad, 0, 1, 3)));
    heed_backward(y);
    EXPECT_VALUES(x->grad, 0, 2, 2, 2, 1);
}
END_TEST

START_TEST(adding_in_place_raises_the_version)
{
    heed_tensor *x = LEAF(1, 2), *w = LEAF(3, 4);
    heed_set_grad(x, heed_ones(HEED_SHAPE(2), HEED_F64));
    heed_tensor *y = heed_sum(heed_mul(w, x->grad));
    heed_backward(heed_sum(heed_slice(x, 0, 0, 1, 1)));
    EXPECT_VALUES(x->grad, 0, 2, 1);
    heed_backward(y);
    expect_error(HEED_ERR_VERSION, "derivative of mul");
    heed_tensor *table = heed_ones(HEED_SHAPE(2, 2), HEED_F64),
                *ids = heed_from_i64((int64_t[]){1}, HEED_SHAPE(1));
    heed_set_requires_grad(table, true);
    y = heed_sum(heed_embedding(ids, table));
    heed_backward_retain(y);
    heed_data_i64(ids)[0] = 0; /* now it adds in place, but to another row */
    heed_backward(y);
    expect_error(HEED_ERR_VERSION, "derivative of embedding");
    EXPECT_VALUES(table->grad, 0, 0, 0, 1, 1);
}
END_TEST

START_TEST(adding_a_whole_gradient_raises_the_version)
{
    heed_tensor *x = LEAF(1, 2), *w = LEAF(3, 4);
    heed_set_grad(x, heed_ones(HEED_SHAPE(2), HEED_F64));
    heed_tensor *y = heed_sum(heed_mul(w, x->grad));
    heed_backward(heed_sum(heed_mul_scalar(x, 2)));
    EXPECT_VALUES(x->grad, 0, 3, 3);
    heed_backward(y);
    expect_error(HEED_ERR_VERSION, "derivative of mul");
}
END_TEST

/* While add_gradient holds x->grad, x gets another one, as from another thread. Then it fails. */
static heed_tensor *reached_meanwhile;

static bool interrupted_add_gradient(const heed_vjp *v, int i, heed_tensor *sum)
{
    (void)v, (void)i, (void)sum;
    asked++;
    ck_assert_ptr_null(reached_meanwhile->grad);
    heed_set_grad(reached_meanwhile, heed_full(HEED_SHAPE(2), 10, HEED_F64));
    heed_fail(HEED_ERR_VALUE, "interrupted");
    return false;
}

static const heed_op interrupted = {.name = "interrupted",
                                    .inputs = 1,
                                    .forward = twice_forward,
                                    .backward = twice_backward,
                                    .add_gradient = interrupted_add_gradient};

START_TEST(gradients_added_meanwhile_raise_the_version)
{
    heed_tensor *x = LEAF(1, 2), *w = LEAF(3, 4);
    heed_set_grad(x, heed_ones(HEED_SHAPE(2), HEED_F64));
    heed_tensor *y = heed_sum(heed_mul(w, x->grad));
    reached_meanwhile = x;
    asked = 0;
    heed_tensor *z = heed_apply(&interrupted, &x, 1, NULL, 0);
    heed_backward(heed_sum(z));
    expect_error(HEED_ERR_VALUE, "interrupted");
    ck_assert_int_eq(asked, 1);
    EXPECT_VALUES(x->grad, 0, 11, 11);
    heed_backward(y);
    expect_error(HEED_ERR_VERSION, "derivative of mul");
}
END_TEST

/* Whichever allocation fails, .grad stays the same tensor, and later passes add to it. */
START_TEST(a_failure_leaves_the_gradient_in_place)
{
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(ROWS, COLUMNS), HEED_F64), true);
    heed_tensor *flat = heed_zeros(HEED_SHAPE(ROWS, COLUMNS), HEED_F64);
    heed_set_grad(x, flat);
    const heed_tensor *given = x->grad;
    bool failed = true;
    for (int n = 0; failed; n++) {
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_tensor *y = tied(heed_mul_scalar(x, 1)), *z = heed_add(y, chunks(x));
        heed_fail_allocation(n);
        heed_backward(z);
        heed_fail_allocation(-1);
        failed = heed_error() == HEED_ERR_MEMORY;
        heed_scope_end(&scope);
        ck_assert_ptr_eq(x->grad, given);
    }
    ck_assert_int_eq(flat->storage->references, 2);
    heed_fill_into(flat, 0);
    heed_backward(chunks(x));
    EXPECT_VALUES(heed_select(flat, 0, 1), 0, 2, 2, 4, 4, 6, 6);
}
END_TEST

void add_accumulate_cases(Suite *suite)
{
    TCase *sums = heed_case(suite, "sums_in_place");
    tcase_add_loop_test(sums, sums_are_those_of_a_pass_with_a_graph, 0, 2 * WAYS);
    tcase_add_test(sums, slices_touch_their_part_alone);
    tcase_add_test(sums, embeddings_touch_their_rows_alone);
    tcase_add_test(sums, parts_of_a_result_meet_in_one_gradient);
    tcase_add_test(sums, a_product_is_added_without_a_copy);
    TCase *asking = heed_case(suite, "add_gradient");
    tcase_add_test(asking, an_operation_is_asked_where_a_sum_is);
    tcase_add_test(asking, a_gradient_of_others_is_left_alone);
    TCase *given = heed_case(suite, "adding_to_a_given_gradient");
    tcase_add_test(given, parts_are_added_to_a_given_gradient);
    tcase_add_test(given, a_gradient_in_the_memory_of_an_input);
    tcase_add_test(given, adding_in_place_raises_the_version);
    tcase_add_test(given, adding_a_whole_gradient_raises_the_version);
    tcase_add_test(given, gradients_added_meanwhile_raise_the_version);
    tcase_add_test(given, a_failure_leaves_the_gradient_in_place);
}
