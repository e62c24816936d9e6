/* Lesson 6: how heed_backward works. my_backward, below, computes the same gradients: first of
 * y = tanh(w * x + b), then of SelfAttention.
 *
 *     build/lesson6_autograd
 *
 * The result of an operation points to the operation (op), to the tensors it was computed from
 * (inputs) and to its other arguments (args). These pointers are the graph. my_backward needs only
 * them and the tensors' values.
 *
 * Source: inspired by micrograd by Andrej Karpathy (https://github.com/karpathy/micrograd). */
#include <stdio.h>
#include <string.h>

#include "heed.h"

enum { MOST_NODES = 64 };

typedef struct node {
    heed_tensor *tensor;
    heed_tensor *gradient; /* dy/dtensor; NULL until one is received */
    const char *name;      /* of a leaf */
} node;

typedef struct graph {
    node nodes[MOST_NODES]; /* each after its inputs */
    int count;
} graph;

static int find(const graph *g, const heed_tensor *t)
{
    int i = g->count - 1;
    while (i >= 0 && g->nodes[i].tensor != t) {
        i--;
    }
    return i; /* -1: not found */
}

/* ---- my_backward ---- */

/* Appends t after everything that it was computed from: a topological order. */
static void sort(graph *g, heed_tensor *t, const char *name)
{
    for (int i = 0; i < t->input_count; i++) {
        if (find(g, t->inputs[i]) < 0) {
            sort(g, t->inputs[i], "constant");
        }
    }
    if (g->count == MOST_NODES) {
        heed_fail(HEED_ERR_VALUE, "my_backward: more than %d nodes", MOST_NODES);
        return;
    }
    g->nodes[g->count++] = (node){t, NULL, name};
}

/* A tensor that is used twice receives two gradients, which are added. */
static void accumulate(graph *g, const heed_tensor *t, heed_tensor *gradient)
{
    heed_tensor **sum = &g->nodes[find(g, t)].gradient;
    gradient = heed_sum_to_size(gradient, heed_shape_of_tensor(t)); /* if t was broadcast */
    *sum = *sum == NULL ? gradient : heed_add(*sum, gradient);
}

static bool made_by(const char *op, const heed_tensor *y)
{
    return strcmp(y->op->name, op) == 0;
}

/* The chain rule at one node: from dy, the gradient of y = op(a, b), those of a and b. The first
 * three rules suffice for tanh(w * x + b); SelfAttention needs the others too. Each reads only the
 * values that Heed's own derivative reads, because the rest may have been released. */
static void differentiate(graph *g, heed_tensor *y, heed_tensor *dy)
{
    heed_tensor *a = y->inputs[0], *b = y->input_count > 1 ? y->inputs[1] : NULL;
    if (made_by("add", y)) {
        accumulate(g, a, dy);
        accumulate(g, b, dy);
    } else if (made_by("mul", y)) {
        accumulate(g, a, heed_mul(dy, b));
        accumulate(g, b, heed_mul(dy, a));
    } else if (made_by("tanh", y)) { /* dy (1 - y^2) */
        accumulate(g, a, heed_sub(dy, heed_mul(dy, heed_mul(y, y))));
    } else if (made_by("linear", y)) { /* y = a b^T */
        accumulate(g, a, heed_matmul(dy, b));
        accumulate(g, b, heed_matmul(heed_transpose(dy, 0, 1), a));
    } else if (made_by("matmul", y)) { /* y = a b */
        accumulate(g, a, heed_matmul(dy, heed_transpose(b, 0, 1)));
        accumulate(g, b, heed_matmul(heed_transpose(a, 0, 1), dy));
    } else if (made_by("transpose", y)) {
        const int *dims = y->args;
        accumulate(g, a, heed_transpose(dy, dims[0], dims[1]));
    } else if (made_by("div_scalar", y)) {
        const double *divisor = y->args;
        accumulate(g, a, heed_div_scalar(dy, *divisor));
    } else if (made_by("safe_softmax", y)) { /* y (dy - sum(y dy)), the sum along dim */
        const int *dim = y->args;
        accumulate(g, a, heed_mul(y, heed_sub(dy, heed_sum_dim(heed_mul(y, dy), *dim, true))));
    } else if (made_by("sum", y)) {
        accumulate(g, a, heed_expand(dy, heed_shape_of_tensor(a)));
    } else {
        heed_fail(HEED_ERR_VALUE, "my_backward has no rule for %s", y->op->name);
    }
}

static void my_backward(graph *g, heed_tensor *y)
{
    const bool enabled = heed_set_grad_enabled(false); /* gradients need no graph of their own */
    sort(g, y, "y");
    accumulate(g, y, heed_ones_like(y)); /* dy/dy = 1 */
    for (int i = g->count - 1; i >= 0; i--) {
        if (g->nodes[i].tensor->op != NULL) { /* not a leaf */
            differentiate(g, g->nodes[i].tensor, g->nodes[i].gradient);
        }
    }
    heed_set_grad_enabled(enabled);
}

/* ---- my_backward and heed_backward side by side ---- */

/* One line per tensor. SelfAttention releases the values that no derivative will read. */
static void print_graph(const graph *g)
{
    for (int i = 0; i < g->count; i++) {
        const heed_tensor *t = g->nodes[i].tensor, *gradient = g->nodes[i].gradient;
        int width = printf("  #%-3d%s", i, t->op != NULL ? t->op->name : g->nodes[i].name);
        for (int j = 0; j < t->input_count; j++) {
            width += printf("%s#%d", j == 0 ? "(" : ", ", find(g, t->inputs[j]));
        }
        printf("%-*s", 28 - width, t->op != NULL ? ")" : "");
        if (t->storage == NULL) {
            printf("%s   value released\n", heed_shape_text(t->ndim, t->shape).text);
        } else if (t->numel != 1 || gradient == NULL) {
            printf("%s\n", heed_shape_text(t->ndim, t->shape).text);
        } else {
            printf("value %8.4f   gradient %8.4f\n", heed_item(t), heed_item(gradient));
        }
    }
}

/* Prints both gradients of a leaf; true if they match. */
static bool compare(const node *n)
{
    const double *mine = heed_const_data_f64(heed_contiguous(n->gradient));
    const double *heeds = heed_const_data_f64(n->tensor->grad);
    const int64_t numel = n->gradient->numel, columns = numel > 1 ? heed_size(n->gradient, -1) : 1;
    for (int64_t i = 0; i < numel; i += columns) {
        printf("  %-11s", i == 0 ? n->name : "");
        for (int64_t j = 0; j < 2 * columns; j++) {
            printf("%s%11.4f", j == columns ? "   |" : "",
                   j < columns ? mine[i + j] : heeds[i + j - columns]);
        }
        printf("\n");
    }
    return heed_allclose(n->gradient, n->tensor->grad, 1e-12, 1e-12, false);
}

/* my_backward runs first: heed_backward releases the values that it reads. */
static bool show(const char *title, graph *g, heed_tensor *y)
{
    bool same = true;
    printf("%s\n\n", title);
    my_backward(g, y);
    print_graph(g);
    heed_backward(y);
    printf("\n  gradients: my_backward | heed_backward\n");
    for (int i = 0; i < g->count; i++) {
        same = (g->nodes[i].tensor->grad == NULL || compare(&g->nodes[i])) && same;
    }
    printf("  the same: %s\n\n", same ? "yes" : "no");
    return same;
}

/* A tensor whose gradient we want. */
static heed_tensor *leaf(graph *g, const char *name, heed_tensor *t)
{
    sort(g, t, name);
    return heed_set_requires_grad(t, true);
}

int main(void)
{
    heed_on_error(heed_die);
    HEED_SCOPE(scope);

    graph neuron = {.count = 0};
    heed_tensor *w = leaf(&neuron, "w", heed_scalar(0.5, HEED_F64));
    heed_tensor *x = leaf(&neuron, "x", heed_scalar(2, HEED_F64));
    heed_tensor *b = leaf(&neuron, "b", heed_scalar(-0.4, HEED_F64));
    heed_tensor *y = heed_tanh(heed_add(heed_mul(w, x), b));
    bool same = show("y = tanh(w * x + b)", &neuron, y);

    graph attention = {.count = 0};
    const double encodings[] = {1.16, 0.23, 0.57, 1.36, 4.41, -2.16};
    heed_tensor *tokens = leaf(&attention, "tokens", heed_from_f64(encodings, HEED_SHAPE(3, 2)));
    heed_manual_seed(42);
    struct heed_self_attention *m = heed_self_attention_new(2, 0, 1);
    heed_module_to(m, HEED_F64);
    const heed_tensor_list weights = heed_parameters(m); /* W_q, W_k, W_v */
    for (int i = 0; i < weights.count; i++) {
        leaf(&attention, weights.names[i], weights.tensors[i]);
    }
    heed_tensor *output = heed_self_attention_forward(m, tokens, NULL);
    heed_tensor *loss = heed_sum(heed_mul(output, output));
    same = show("loss = sum(output^2), output = SelfAttention(tokens)", &attention, loss) && same;

    heed_module_free(m);
    return !same || ferror(stdout) || fflush(stdout) != 0;
}
