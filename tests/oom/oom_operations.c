/* Out of memory in every row of the gradcheck table, in the gradient checks and in the engine: the
 * suites in this folder (oom.h). */
#include "tensor/tensor.h"
#include "tests/oom/oom.h"
#include "tests/ops/table.h"

#include <string.h>

/* ---- the rows of the gradcheck table ---- */

/* sum(y u) for fixed values u that are not all equal; NULL if y needs no gradient. */
static heed_tensor *weighed_sum(heed_tensor *y)
{
    if (y == NULL || !y->requires_grad) {
        return NULL;
    }
    heed_tensor *u = heed_arange(0, (double)y->numel, 1, y->dtype);
    return heed_sum(heed_mul(heed_reshape(y, HEED_SHAPE(y->numel)), u));
}

/* The inputs of a row that require a gradient. */
static int leaves_of(heed_tensor *const *inputs, int count, heed_tensor **leaves)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        if (inputs[i] != NULL && inputs[i]->requires_grad) {
            leaves[found++] = inputs[i];
        }
    }
    return found;
}

/* Forward and two backward passes without create_graph; the second adds to the gradients. */
static uint64_t first_derivatives(const operation_row *row, heed_tensor *const *inputs,
                                  uint64_t sum)
{
    for (int pass = 0; pass < 2; pass++) {
        heed_tensor *y = row->f(inputs, NULL), *loss = weighed_sum(y);
        sum = hash_of(y, sum);
        if (loss != NULL) {
            heed_backward(loss);
        }
    }
    return sum;
}

/* A backward pass that records its graph, and a second one through it. */
static uint64_t second_derivatives(const operation_row *row, heed_tensor *const *inputs, int count,
                                   uint64_t sum)
{
    heed_tensor *leaves[ROW_INPUTS], *grads[ROW_INPUTS], *squares = NULL;
    const int found = leaves_of(inputs, count, leaves);
    heed_tensor *loss = weighed_sum(row->f(inputs, NULL));
    if (loss == NULL || heed_grad(loss, leaves, found, grads, true) != HEED_OK) {
        return sum;
    }
    for (int i = 0; i < found; i++) {
        sum = hash_of(grads[i], sum);
        if (grads[i] != NULL && grads[i]->requires_grad) {
            heed_tensor *square = heed_sum(heed_square(grads[i]));
            squares = squares == NULL ? square : heed_add(squares, square);
        }
    }
    if (squares != NULL) {
        heed_backward(squares);
    }
    return sum;
}

static uint64_t run_row(const void *context)
{
    const operation_row *row = context;
    heed_tensor *inputs[ROW_INPUTS];
    uint64_t sum = FNV_BASIS;
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    const int count = row_inputs(row, inputs);
    if (!heed_error_pending()) {
        sum = first_derivatives(row, inputs, sum);
        sum = second_derivatives(row, inputs, count, sum);
        for (int i = 0; i < count; i++) {
            sum = hash_of(inputs[i]->grad, sum);
        }
    }
    return sum;
}

START_TEST(operations)
{
    const operation_row *row = &operation_rows[_i];
    char name[200];
    snprintf(name, sizeof name, "%s, %s", row->operation, row->form);
    starve(name, run_row, row, FEW);
}
END_TEST

/* ---- the gradient checks themselves ---- */

static heed_tensor *softmax_of_product(heed_tensor *const *inputs, void *context)
{
    (void)context;
    return heed_softmax(heed_matmul(inputs[0], inputs[1]), -1);
}

static uint64_t run_gradchecks(const void *context)
{
    (void)context;
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    heed_tensor *inputs[] = {
        heed_set_requires_grad(heed_rand(HEED_SHAPE(1, 2), HEED_F64), true),
        heed_set_requires_grad(heed_rand(HEED_SHAPE(2, 2), HEED_F64), true),
    };
    if (!heed_error_pending()) {
        heed_gradcheck(softmax_of_product, NULL, inputs, 2);
        heed_gradgradcheck(softmax_of_product, NULL, inputs, 2);
    }
    return hash_of(inputs[1], hash_of(inputs[0], FNV_BASIS)); /* restored */
}

START_TEST(gradient_checks)
{
    starve("gradient checks", run_gradchecks, NULL, MANY);
}
END_TEST

/* ---- functions without a row ---- */

/* More inputs and nodes than fit in the engine's stack arrays, some of them used twice. */
static uint64_t run_wide_graph(const void *context)
{
    enum { PARTS = 40 };
    (void)context;
    HEED_SCOPE(scope);
    heed_tensor *x = heed_set_requires_grad(heed_ones(HEED_SHAPE(3), HEED_F64), true);
    heed_tensor *parts[PARTS], *grad = NULL;
    for (int i = 0; i < PARTS; i++) {
        parts[i] = i % 3 == 0 ? x : heed_retain_grad(heed_mul_scalar(parts[i - 1], 1.1));
    }
    heed_tensor *y = heed_sum(heed_square(heed_cat(parts, PARTS, 0)));
    heed_backward_retain(y);
    heed_tensor *once = heed_error_pending() ? NULL : parts[1]->grad;
    uint64_t sum = hash_of(once, hash_of(x != NULL ? x->grad : NULL, FNV_BASIS));
    if (heed_grad(y, &x, 1, &grad, true) == HEED_OK) {
        heed_backward(heed_sum(grad));
        sum = hash_of(x->grad, hash_of(grad, sum));
    }
    return sum;
}

START_TEST(wide_graph)
{
    starve("wide graph", run_wide_graph, NULL, MANY);
}
END_TEST

static uint64_t run_random(const void *context)
{
    (void)context;
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    uint64_t sum = hash_of(heed_randperm(9), FNV_BASIS);
    sum = hash_of(heed_randint(-3, 9, HEED_SHAPE(4, 5)), sum);
    heed_tensor *p = heed_rand(HEED_SHAPE(3, 6), HEED_F32);
    sum = hash_of(heed_multinomial(p, 4), sum);
    heed_tensor *x = heed_empty(HEED_SHAPE(5, 20), HEED_F64);
    heed_normal_into(x, 1, 2);
    sum = hash_of(heed_get_rng_state(), hash_of(x, sum));
    heed_uniform_into(x, 1, 2);
    return hash_of(x, sum);
}

START_TEST(random_numbers)
{
    starve("random numbers", run_random, NULL, MANY);
}
END_TEST

static uint64_t run_printing(const void *context)
{
    (void)context;
    char text[4000] = "";
    HEED_SCOPE(scope);
    heed_manual_seed(3);
    heed_tensor *x = heed_randn(HEED_SHAPE(3, 40), HEED_F32);
    heed_snprint(text, sizeof text / 2, heed_slice(x, 1, 0, 40, 3));
    FILE *stream = fmemopen(text + sizeof text / 2, sizeof text / 2, "w");
    heed_heat_map(stream, heed_softmax(heed_narrow(x, 1, 0, 3), -1),
                  (const char *const[]){"a", "b", "c"}, NULL, HEED_COLOR_NEVER);
    fclose(stream);
    return heed_error_pending() ? 0 : fnv(text, sizeof text, FNV_BASIS);
}

START_TEST(printing)
{
    starve("printing", run_printing, NULL, MANY);
}
END_TEST

static uint64_t run_masks(const void *context)
{
    (void)context;
    HEED_SCOPE(scope);
    heed_tensor *lengths = heed_from_i64((const int64_t[]){1, 4}, HEED_SHAPE(2));
    heed_tensor *mask = heed_padding_block_mask(lengths, 5);
    heed_tensor *both = heed_logical_or(mask, heed_causal_block_mask(5));
    return hash_of(heed_masked_fill(heed_scalar(0, HEED_F64), both, -HUGE_VAL), FNV_BASIS);
}

START_TEST(masks)
{
    starve("masks", run_masks, NULL, MANY);
}
END_TEST

void add_oom_operations_cases(Suite *suite)
{
    TCase *rows = oom_case(suite, "operations");
    for (int i = 0; i < operation_row_count; i++) {
        if (operation_rows[i].derivative != NOT_CHECKED) {
            add_row(rows, operations, i, row_name(i));
        }
    }
    TCase *rest = oom_case(suite, "other_functions");
    tcase_add_test(rest, gradient_checks);
    tcase_add_test(rest, wide_graph);
    tcase_add_test(rest, random_numbers);
    tcase_add_test(rest, printing);
    tcase_add_test(rest, masks);
}
