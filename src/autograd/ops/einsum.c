/* einsum: two operands are brought into the form of matrices, multiplied, and the product into the
 * order of the result.
 *
 * The labels fall into groups by who has them; dims of size 1 take no part:
 *
 *     batch    a, b and the result       a (batch, rows, inner)
 *     rows     a and the result          b (batch, inner, columns)
 *     columns  b and the result
 *     inner    a and b                   a b (batch, rows, columns)
 *
 * What one operand has alone is summed first. Without inner labels the product is one element by
 * element. */
#include "einsum.h"

#include <string.h>

#include "../../tensor/check.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "elementwise.h"
#include "equation.h"
#include "matmul.h"
#include "promote.h"
#include "reduce.h"
#include "shape.h"

typedef uint64_t label_set;
static const label_set all_labels = ~(label_set)0;
static const label_set ellipsis_labels = ~(((label_set)1 << HEED_LETTERS) - 1);

/* An operand on its way: `labels` are those of t's dims. */
typedef struct operand {
    heed_tensor *t; /* NULL after an error */
    heed_labels labels;
} operand;

/* ---- labels ---- */

static bool is_in(label_set set, int label)
{
    return set >> label & 1;
}

static label_set set_of(const heed_labels *labels)
{
    label_set set = 0;
    for (int i = 0; i < labels->count; i++) {
        set |= (label_set)1 << labels->at[i];
    }
    return set;
}

/* The labels of a tensor's dims, but for those of size 1. */
static label_set present(const operand *x)
{
    label_set set = 0;
    for (int i = 0; i < x->labels.count; i++) {
        set |= (label_set)(x->t->shape[i] != 1) << x->labels.at[i];
    }
    return set;
}

/* The size that x has for a label: 1 if it has none. */
static int64_t size_in(const operand *x, int label)
{
    const unsigned char *at = memchr(x->labels.at, label, (size_t)x->labels.count);
    return at != NULL ? x->t->shape[at - x->labels.at] : 1;
}

/* Appends those of `more` that are in the set. */
static void append(heed_labels *list, const heed_labels *more, label_set set)
{
    for (int i = 0; i < more->count; i++) {
        if (is_in(set, more->at[i])) {
            list->at[list->count++] = more->at[i];
        }
    }
}

/* ---- bringing an operand into order ---- */

static heed_tensor *reshaped(heed_tensor *x, heed_shape shape)
{
    return x != NULL && heed_has_shape(x, &shape) ? x : heed_reshape(x, shape);
}

/* x with its dims in the order of the list, which may name others too; those that it leaves out
 * come last. */
static heed_tensor *arranged(const operand *x, const heed_labels *list)
{
    heed_labels labels = {0};
    heed_dims order = {0};
    bool in_order = true;
    append(&labels, list, set_of(&x->labels));
    append(&labels, &x->labels, ~set_of(list));
    for (int i = 0; i < labels.count; i++) {
        const unsigned char *at = memchr(x->labels.at, labels.at[i], (size_t)x->labels.count);
        order.dim[order.count++] = (int)(at - x->labels.at);
        in_order = in_order && order.dim[i] == i;
    }
    return in_order ? x->t : heed_permute(x->t, order);
}

/* Two dims of one label become one, behind the others: their diagonal. */
static void take_diagonal(operand *x, int first, int second)
{
    heed_labels left = {0};
    for (int i = 0; i < x->labels.count; i++) {
        if (i != first && i != second) {
            left.at[left.count++] = x->labels.at[i];
        }
    }
    left.at[left.count++] = x->labels.at[first];
    *x = (operand){heed_diagonal(x->t, 0, first, second), left};
}

static void take_diagonals(operand *x)
{
    for (int i = 1; i < x->labels.count && x->t != NULL; i++) {
        const unsigned char *at = memchr(x->labels.at, x->labels.at[i], (size_t)i);
        if (at != NULL) {
            take_diagonal(x, (int)(at - x->labels.at), i);
            i = 0;
        }
    }
}

/* Sums over the labels that are not in `kept`; their dims stay, with size 1. */
static void sum_others(operand *x, label_set kept)
{
    heed_dims dims = {0};
    for (int i = 0; i < x->labels.count; i++) {
        if (x->t->shape[i] != 1 && !is_in(kept, x->labels.at[i])) {
            dims.dim[dims.count++] = i;
        }
    }
    x->t = dims.count > 0 ? heed_sum_dims(x->t, dims, true) : x->t;
}

/* ---- multiplying ---- */

/* x with a dim for each label of the result, of size 1 where it has none. */
static heed_tensor *aligned(const operand *x, const heed_labels *y)
{
    heed_shape shape = {.ndim = y->count};
    for (int i = 0; i < y->count; i++) {
        shape.size[i] = size_in(x, y->at[i]);
    }
    return reshaped(arranged(x, y), shape);
}

static heed_tensor *by_elements(const heed_equation *e, const operand *a, const operand *b)
{
    heed_dtype dtype = HEED_F32;
    if (heed_promote("einsum", a->t->dtype, b->t->dtype, &dtype) != HEED_OK) {
        return NULL;
    }
    return heed_mul(aligned(a, &e->y), aligned(b, &e->y));
}

/* The groups of a product of matrices. */
typedef struct groups {
    const heed_equation *equation;
    heed_labels batch, rows, columns, inner;
    bool flat; /* the batch is one dim, because it would be too many */
} groups;

static groups group(const heed_equation *e, const operand *a, const operand *b)
{
    enum { MOST = HEED_MAX_DIMS - 2 };
    const label_set in_a = present(a), in_b = present(b), both = in_a & in_b;
    label_set batch = both | ((in_a | in_b) & ellipsis_labels); /* where matmul broadcasts */
    groups g = {.equation = e};
    append(&g.batch, &e->y, batch);
    if (g.batch.count > MOST) {
        batch = both;
        g.batch.count = 0;
        append(&g.batch, &e->y, batch);
        g.flat = g.batch.count > MOST;
    }
    append(&g.rows, &a->labels, in_a & ~in_b & ~batch);
    append(&g.columns, &b->labels, in_b & ~in_a & ~batch);
    /* In the order of the larger operand, which is the costlier one to copy. */
    const operand *larger = a->t->numel < b->t->numel ? b : a;
    append(&g.inner, &larger->labels, both & ~set_of(&e->y));
    return g;
}

static int64_t product_of(const groups *g, const heed_labels *list)
{
    int64_t product = 1;
    for (int i = 0; i < list->count; i++) {
        product *= g->equation->size[list->at[i]];
    }
    return product;
}

/* An operand as a batch of matrices. */
static heed_tensor *matrices(const groups *g, const operand *x, const heed_labels *rows,
                             const heed_labels *columns)
{
    heed_labels list = g->batch;
    heed_shape shape = {0};
    for (int i = 0; i < g->batch.count && !g->flat; i++) {
        shape.size[shape.ndim++] = size_in(x, g->batch.at[i]);
    }
    if (g->flat) {
        shape.size[shape.ndim++] = product_of(g, &g->batch);
    }
    shape.size[shape.ndim++] = product_of(g, rows);
    shape.size[shape.ndim++] = product_of(g, columns);
    append(&list, rows, all_labels);
    append(&list, columns, all_labels);
    return reshaped(arranged(x, &list), shape);
}

/* The product of matrices in the order of the result: one dim for each label again. */
static heed_tensor *unfolded(const groups *g, heed_tensor *product)
{
    const heed_labels *y = &g->equation->y;
    operand result = {.labels = g->batch};
    append(&result.labels, &g->rows, all_labels);
    append(&result.labels, &g->columns, all_labels);
    append(&result.labels, y, ~set_of(&result.labels)); /* of size 1 */
    heed_shape shape = {.ndim = y->count};
    for (int i = 0; i < y->count; i++) {
        shape.size[i] = g->equation->size[result.labels.at[i]];
    }
    result.t = reshaped(product, shape);
    return arranged(&result, y);
}

static heed_tensor *by_matmul(const heed_equation *e, const operand *a, const operand *b)
{
    if (heed_check_factors("einsum", a->t->dtype, b->t->dtype) != HEED_OK) {
        return NULL;
    }
    const groups g = group(e, a, b);
    return unfolded(
        &g, heed_matmul(matrices(&g, a, &g.rows, &g.inner), matrices(&g, b, &g.inner, &g.columns)));
}

static heed_tensor *multiply(const heed_equation *e, heed_tensor *x, heed_tensor *y)
{
    const label_set result = set_of(&e->y);
    operand a = {x, e->a}, b = {y, e->b};
    take_diagonals(&a);
    take_diagonals(&b);
    if (a.t == NULL || b.t == NULL) {
        return NULL;
    }
    const label_set in_a = present(&a), in_b = present(&b);
    sum_others(&a, result | in_b);
    sum_others(&b, result | in_a);
    if (a.t == NULL || b.t == NULL) {
        return NULL;
    }
    return in_a & in_b & ~result ? by_matmul(e, &a, &b) : by_elements(e, &a, &b);
}

heed_tensor *heed_einsum(const char *equation, heed_tensor *a, heed_tensor *b)
{
    heed_equation e;
    heed_shape shape = {0};
    int64_t numel;
    if (heed_check_operand("einsum", "a", a) != HEED_OK ||
        heed_check_operand("einsum", "b", b) != HEED_OK) {
        return NULL;
    }
    if (equation == NULL) {
        heed_fail(HEED_ERR_NULL, "einsum: the equation is NULL");
        return NULL;
    }
    if (heed_read_equation(equation, a, b, &e) != HEED_OK) {
        return NULL;
    }
    for (int i = 0; i < e.y.count; i++) {
        shape.size[shape.ndim++] = e.size[e.y.at[i]];
    }
    if (heed_count_elements("einsum", shape.ndim, shape.size, a->dtype, &numel) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    return heed_scope_end_with(&scope, multiply(&e, a, b));
}
