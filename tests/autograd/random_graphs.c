/* Random graphs of small operations: their gradients compared with finite differences. */
#include <math.h>

#include "tests/common/engine_util.h"

enum { LEAVES = 4, NODES = 14, GRAPHS = 25, ROUNDS = 20 };

/* Random choices, the same at each evaluation of a graph (Lehmer's generator, 48271 mod 2^31 -
 * 1). */
typedef struct dice {
    uint32_t state;
} dice;

static int roll(dice *d, int sides)
{
    d->state = (uint32_t)((uint64_t)d->state * 48271u % 2147483647u);
    return (int)(d->state >> 8) % sides;
}

/* Any two of these broadcast, and every result has one of them. */
static heed_shape shape_of(int i)
{
    const heed_shape shapes[LEAVES] = {HEED_SHAPE(3, 3), HEED_SHAPE(3), HEED_SHAPE(3, 1),
                                       HEED_SCALAR};
    return shapes[i];
}

static heed_tensor *unary(dice *d, heed_tensor *x)
{
    switch (roll(d, 8)) {
    case 0:
        return heed_neg(x);
    case 1:
        return heed_tanh(x);
    case 2:
        return heed_sigmoid(x);
    case 3:
        return heed_relu(x);
    case 4:
        return heed_exp(heed_tanh(x));
    case 5:
        return heed_log(heed_add_scalar(heed_mul(x, x), 1));
    case 6:
        return heed_pow_scalar(heed_tanh(x), 3);
    default:
        return heed_add_scalar(heed_mul_scalar(x, -0.7), 0.2);
    }
}

static heed_tensor *binary(dice *d, heed_tensor *a, heed_tensor *b)
{
    switch (roll(d, 7)) {
    case 0:
        return heed_add(a, b);
    case 1:
        return heed_sub(a, b);
    case 2:
        return heed_mul(heed_tanh(a), b);
    case 3:
        return heed_div(a, heed_add_scalar(heed_mul(b, b), 1));
    case 4:
        return heed_maximum(a, b);
    case 5:
        return heed_where(heed_le_scalar(heed_arange(0, 3, 1, HEED_I64), roll(d, 3)), a, b);
    default:
        return heed_pow(heed_add_scalar(heed_sigmoid(a), 0.5), heed_tanh(b));
    }
}

/* Operations that change shapes: x is broadcast to (3, 3) first. */
static heed_tensor *shaped(dice *d, heed_tensor *x, heed_tensor *y)
{
    const heed_shape square = HEED_SHAPE(3, 3);
    x = heed_expand(x, square);
    y = heed_expand(y, square);
    switch (roll(d, 9)) {
    case 0:
        return heed_transpose(x, 0, 1);
    case 1:
        return heed_softmax(x, roll(d, 2));
    case 2:
        return heed_log_softmax(heed_tanh(x), roll(d, 2));
    case 3:
        return heed_matmul(heed_tanh(x), heed_tanh(y));
    case 4:
        return heed_mean_dim(x, roll(d, 2), true);
    case 5:
        return heed_sum_dim(heed_tanh(x), 0, false);
    case 6:
        return heed_slice(heed_cat((heed_tensor *[]){x, y, x}, 3, 0), 0, roll(d, 3), INT64_MAX, 3);
    case 7:
        return heed_reshape(heed_transpose(x, 0, 1), square);
    default:
        return heed_tril(x, roll(d, 3) - 1);
    }
}

/* A scalar computed from the leaves by NODES random operations. */
static heed_tensor *evaluate(heed_tensor *const *leaves, void *context)
{
    dice d = *(const dice *)context;
    heed_tensor *nodes[LEAVES + NODES];
    for (int i = 0; i < LEAVES; i++) {
        nodes[i] = leaves[i];
    }
    for (int i = LEAVES; i < LEAVES + NODES; i++) {
        heed_tensor *a = nodes[roll(&d, i)], *b = nodes[roll(&d, i)];
        const int kind = roll(&d, 3);
        nodes[i] = kind == 0 ? unary(&d, a) : kind == 1 ? binary(&d, a, b) : shaped(&d, a, b);
    }
    heed_tensor *total = heed_sum(nodes[LEAVES + NODES - 1]);
    for (int i = 0; i < LEAVES + NODES - 1; i += 3) {
        total = heed_add(total, heed_mul_scalar(heed_sum(heed_mul(nodes[i], nodes[i])), 0.1 * i));
    }
    return total;
}

static void make_leaves(heed_tensor **leaves)
{
    for (int i = 0; i < LEAVES; i++) {
        leaves[i] = heed_empty(shape_of(i), HEED_F64);
        heed_uniform_into(leaves[i], -1.5, 1.5);
        heed_set_requires_grad(leaves[i], true);
    }
}

START_TEST(random_graphs)
{
    for (int i = 0; i < GRAPHS; i++) {
        const int graph = _i * GRAPHS + i;
        dice d = {(uint32_t)graph * 7919u + 1};
        HEED_SCOPE(scope);
        heed_manual_seed((uint64_t)graph);
        heed_tensor *leaves[LEAVES];
        make_leaves(leaves);
        heed_gradcheck(evaluate, &d, leaves, LEAVES, .unused = HEED_ALL_INPUTS, .atol = 1e-6,
                       .rtol = 1e-6);
        ck_assert_msg(!heed_error_pending(), "graph %d: %s", graph, heed_error_message());
    }
}
END_TEST

/* The same gradients by heed_grad, all leaves at once, with and without create_graph. */
START_TEST(all_ways_agree)
{
    for (int graph = 0; graph < 100; graph++) {
        dice d = {(uint32_t)graph * 7919u + 1};
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_tensor *leaves[LEAVES], *by_kernels[LEAVES], *by_text[LEAVES];
        make_leaves(leaves);
        heed_tensor *y = evaluate(leaves, &d);
        heed_grad(y, leaves, LEAVES, by_text, true);
        heed_backward_retain(y);
        heed_grad(y, leaves, LEAVES, by_kernels, false);
        for (int i = 0; i < LEAVES; i++) {
            expect_close(by_text[i], by_kernels[i], 1e-11);
            if (leaves[i]->grad != NULL) {
                expect_close(leaves[i]->grad, by_kernels[i], 0);
            }
        }
        ck_assert_int_eq(heed_scope_end(&scope), HEED_OK);
    }
}
END_TEST

START_TEST(second_derivatives)
{
    for (int i = 0; i < 3; i++) {
        dice d = {(uint32_t)(_i * 3 + i) * 7919u + 1};
        heed_scope scope;
        heed_scope_begin(&scope);
        heed_manual_seed((uint64_t)(_i * 3 + i));
        heed_tensor *leaves[LEAVES];
        make_leaves(leaves);
        heed_gradgradcheck(evaluate, &d, leaves, LEAVES, .unused = HEED_ALL_INPUTS,
                           .linear = HEED_ALL_INPUTS, .eps = 1e-5, .atol = 1e-5, .rtol = 1e-5);
        ck_assert_msg(!heed_error_pending(), "graph %d: %s", _i * 3 + i, heed_error_message());
        heed_scope_end(&scope);
    }
}
END_TEST

void add_random_graphs_cases(Suite *suite)
{
    TCase *graphs = heed_case(suite, "random_graphs");
    tcase_add_loop_test(graphs, random_graphs, 0, ROUNDS);
    tcase_add_test(graphs, all_ways_agree);
    tcase_add_loop_test(graphs, second_derivatives, 0, ROUNDS);
}
