/* einsum: parses the equation, checks it against the two shapes, arranges the operands as matrices,
 * multiplies, and puts the dims of the product in the order of the result. It has no kernel or
 * derivative of its own: it is composed of other operations.
 *
 * Labels are grouped by where they occur; dims of size 1 are left out:
 *
 *     batch    a, b and the result       a (batch, rows, inner)
 *     rows     a and the result          b (batch, inner, columns)
 *     columns  b and the result
 *     inner    a and b                   a b (batch, rows, columns)
 *
 * Labels that occur in only one operand and not in the result are summed first. Without inner
 * labels, the product is elementwise. */

#include "einsum.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../tensor/check.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "elementwise.h"
#include "matmul.h"
#include "operand_checks.h"
#include "reductions.h"
#include "slice.h"
#include "view.h"

/* ---- the equation ----
 *
 * Every dim of an operand or of the result has a label. Labels below LETTERS are letters, A to Z
 * and then a to z, which is also the order of dims in an implicit result. The others are dims of
 * the ellipsis, counted from its end, as in broadcasting. */

enum { LETTERS = 52, LABELS = LETTERS + HEED_MAX_DIMS };

/* An ordered list of labels, usually of a tensor's dims. Large enough for several joined lists. */
typedef struct label_list {
    int count;
    unsigned char at[2 * HEED_MAX_DIMS];
} label_list;

typedef struct parsed {
    label_list a, b, y;
    int64_t size[LABELS]; /* broadcast size of each label that occurs */
} parsed;

/* One operand or the result, as written in the equation. */
typedef struct term {
    int letters;                         /* count; only the first HEED_MAX_DIMS are stored */
    unsigned char letter[HEED_MAX_DIMS]; /* as labels */
    int ellipsis;                        /* number of letters before "..."; -1: no "..." */
} term;

typedef struct reading {
    const char *text;
    const heed_tensor *tensors[2]; /* a and b */
    term operands[3], result;      /* the third collects all surplus operands */
    int operand_count;
    bool has_result;  /* has "->" */
    int uses[LABELS]; /* occurrences of each letter in the operands */
} reading;

static heed_status refuse(const reading *r, heed_status status, const char *format, ...)
    HEED_PRINTF(3, 4);

static heed_status refuse(const reading *r, heed_status status, const char *format, ...)
{
    char what[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return heed_fail(status, "einsum: '%.100s' of %s and %s: %s", r->text, HEED_TEXT(r->tensors[0]),
                     HEED_TEXT(r->tensors[1]), what);
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static unsigned char label_of(char letter)
{
    return (unsigned char)(letter <= 'Z' ? letter - 'A' : letter - 'a' + 26);
}

static char letter_of(int label)
{
    return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

/* ---- the text ---- */

static void add_letter(term *t, unsigned char label)
{
    if (t->letters < HEED_MAX_DIMS) {
        t->letter[t->letters] = label;
    }
    t->letters++;
}

static heed_status read_ellipsis(const reading *r, int place, term *t)
{
    if (strncmp(r->text + place, "...", 3) != 0) {
        return refuse(r, HEED_ERR_VALUE, "the '.' at position %d is not part of '...'", place);
    }
    if (t->ellipsis >= 0) {
        return refuse(r, HEED_ERR_VALUE, "the '...' at position %d is the second in one tensor",
                      place);
    }
    t->ellipsis = t->letters;
    return HEED_OK;
}

static heed_status read_text(reading *r)
{
    term *t = &r->operands[0];
    for (int i = 0; r->text[i] != '\0'; i++) {
        const char c = r->text[i];
        if (is_letter(c)) {
            add_letter(t, label_of(c));
            r->uses[label_of(c)] += !r->has_result;
        } else if (c == '.') {
            if (read_ellipsis(r, i, t) != HEED_OK) {
                return heed_self.error;
            }
            i += 2;
        } else if (c == ',' && !r->has_result) {
            t = &r->operands[r->operand_count < 2 ? r->operand_count : 2];
            r->operand_count++;
        } else if (c == '-' && r->text[i + 1] == '>' && !r->has_result) {
            r->has_result = true;
            t = &r->result;
            i++;
        } else if (c != ' ') {
            return refuse(r, HEED_ERR_VALUE, "'%c' at position %d; %s", c, i,
                          r->has_result ? "after '->' only letters and '...' are allowed"
                                        : "only letters, ',', '...' and '->' are allowed");
        }
    }
    return HEED_OK;
}

/* The implicit result: the ellipsis, then the letters that appear once, in label order. */
static void complete_result(reading *r)
{
    term *y = &r->result;
    y->ellipsis = r->operands[0].ellipsis >= 0 || r->operands[1].ellipsis >= 0 ? 0 : -1;
    for (int label = 0; label < LETTERS; label++) {
        if (r->uses[label] == 1) {
            add_letter(y, (unsigned char)label);
        }
    }
}

/* Checks that do not need the shapes. */
static heed_status check_text(reading *r)
{
    if (r->operand_count != 2) {
        return refuse(r, HEED_ERR_VALUE, "%d operand%s; heed_einsum takes two%s", r->operand_count,
                      r->operand_count == 1 ? "" : "s",
                      r->operand_count > 2 ? ": call it again for each additional one" : "");
    }
    if (!r->has_result) {
        complete_result(r);
    }
    const term *y = &r->result;
    for (int i = 0; i < y->letters && i < HEED_MAX_DIMS; i++) {
        if (r->uses[y->letter[i]] == 0) {
            return refuse(r, HEED_ERR_VALUE, "%c of the result is in no operand",
                          letter_of(y->letter[i]));
        }
        if (memchr(y->letter, y->letter[i], (size_t)i) != NULL) {
            return refuse(r, HEED_ERR_VALUE, "%c appears twice in the result",
                          letter_of(y->letter[i]));
        }
    }
    return HEED_OK;
}

/* ---- the shapes ---- */

/* Number of dims that the ellipsis matches. */
static int dims_of_ellipsis(const term *t, int ndim)
{
    return t->ellipsis >= 0 && ndim > t->letters ? ndim - t->letters : 0;
}

/* The labels of a term whose ellipsis matches `of_ellipsis` dims; at most HEED_MAX_DIMS in
 * total. */
static label_list labels_of(const term *t, int of_ellipsis)
{
    label_list labels = {0, {0}};
    for (int i = 0; i <= t->letters; i++) {
        for (int j = of_ellipsis; j > 0 && i == t->ellipsis; j--) {
            labels.at[labels.count++] = (unsigned char)(LETTERS + j - 1);
        }
        if (i < t->letters) {
            labels.at[labels.count++] = t->letter[i];
        }
    }
    return labels;
}

static heed_status check_count(const reading *r, int operand)
{
    const term *t = &r->operands[operand];
    const int ndim = r->tensors[operand]->ndim;
    if (t->letters > ndim || (t->letters < ndim && t->ellipsis < 0)) {
        return refuse(r, HEED_ERR_SHAPE, "%s has %d dim%s, not %d%s", operand == 0 ? "a" : "b",
                      ndim, ndim == 1 ? "" : "s", t->letters,
                      t->letters < ndim ? "; '...' would match the others" : "");
    }
    return HEED_OK;
}

static heed_status sizes_differ(const reading *r, int label, int64_t one, int64_t other)
{
    const long long sizes[] = {one, other};
    if (label >= LETTERS) {
        return refuse(r, HEED_ERR_SHAPE, "dim %d from the end of '...' is %lld in a, %lld in b",
                      label - LETTERS + 1, sizes[0], sizes[1]);
    }
    return refuse(r, HEED_ERR_SHAPE, "%c is %lld and %lld; only size 1 broadcasts",
                  letter_of(label), sizes[0], sizes[1]);
}

/* Enters the sizes of one operand into size[], where -1 means not seen yet. */
static heed_status bind(const reading *r, int operand, const label_list *labels, int64_t *size)
{
    const int64_t *shape = r->tensors[operand]->shape;
    for (int i = 0; i < labels->count; i++) {
        const unsigned char label = labels->at[i];
        const unsigned char *earlier = memchr(labels->at, label, (size_t)i);
        if (earlier != NULL) { /* a diagonal: both sizes must be equal */
            const int64_t first = shape[earlier - labels->at];
            if (first != shape[i]) {
                return sizes_differ(r, label, first, shape[i]);
            }
        } else if (size[label] == -1 || size[label] == 1) {
            size[label] = shape[i];
        } else if (shape[i] != 1 && shape[i] != size[label]) {
            return sizes_differ(r, label, size[label], shape[i]);
        }
    }
    return HEED_OK;
}

/* Parses the text and matches it to the shapes of a and b. Errors show the text, both shapes and
 * the cause. */
static heed_status read_equation(const char *text, const heed_tensor *a, const heed_tensor *b,
                                 parsed *e)
{
    reading r = {.text = text, .tensors = {a, b}, .operand_count = 1};
    const term *of_a = &r.operands[0], *of_b = &r.operands[1], *y = &r.result;
    r.operands[0].ellipsis = r.operands[1].ellipsis = r.operands[2].ellipsis = -1;
    r.result.ellipsis = -1;
    if (read_text(&r) != HEED_OK || check_text(&r) != HEED_OK || check_count(&r, 0) != HEED_OK ||
        check_count(&r, 1) != HEED_OK) {
        return heed_self.error;
    }
    const int in_a = dims_of_ellipsis(of_a, a->ndim), in_b = dims_of_ellipsis(of_b, b->ndim);
    const int in_y = y->ellipsis < 0 ? 0 : in_a > in_b ? in_a : in_b;
    if (y->letters + in_y > HEED_MAX_DIMS) {
        return refuse(&r, HEED_ERR_SHAPE, "the result would have %d dims; at most %d are allowed",
                      y->letters + in_y, HEED_MAX_DIMS);
    }
    e->a = labels_of(of_a, in_a);
    e->b = labels_of(of_b, in_b);
    e->y = labels_of(y, in_y);
    for (int i = 0; i < LABELS; i++) {
        e->size[i] = -1;
    }
    return bind(&r, 0, &e->a, e->size) == HEED_OK ? bind(&r, 1, &e->b, e->size) : heed_self.error;
}

/* ---- operands ---- */

typedef uint64_t label_set;
static const label_set all_labels = ~(label_set)0;
static const label_set ellipsis_labels = ~(((label_set)1 << LETTERS) - 1);

/* An operand being rearranged; `labels` names t's dims. */
typedef struct operand {
    heed_tensor *t; /* NULL after an error */
    label_list labels;
} operand;

/* ---- labels ---- */

static bool is_in(label_set set, int label)
{
    return set >> label & 1;
}

static label_set set_of(const label_list *labels)
{
    label_set set = 0;
    for (int i = 0; i < labels->count; i++) {
        set |= (label_set)1 << labels->at[i];
    }
    return set;
}

/* The labels of x's dims, except dims of size 1. */
static label_set present(const operand *x)
{
    label_set set = 0;
    for (int i = 0; i < x->labels.count; i++) {
        set |= (label_set)(x->t->shape[i] != 1) << x->labels.at[i];
    }
    return set;
}

/* The size of a label in x; 1 if x does not have it. */
static int64_t size_in(const operand *x, int label)
{
    const unsigned char *at = memchr(x->labels.at, label, (size_t)x->labels.count);
    return at != NULL ? x->t->shape[at - x->labels.at] : 1;
}

/* Appends the labels of `more` that are in the set. */
static void append(label_list *list, const label_list *more, label_set set)
{
    for (int i = 0; i < more->count; i++) {
        if (is_in(set, more->at[i])) {
            list->at[list->count++] = more->at[i];
        }
    }
}

/* ---- rearranging operands ---- */

static heed_tensor *reshaped(heed_tensor *x, heed_shape shape)
{
    return x != NULL && heed_has_shape(x, &shape) ? x : heed_reshape(x, shape);
}

/* x with its dims in the order of the list, which may contain other labels too. Dims not in the
 * list come last. */
static heed_tensor *arranged(const operand *x, const label_list *list)
{
    label_list labels = {0};
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

/* Replaces each pair of dims that share a label by their diagonal, which becomes the last dim. */
static void take_diagonals(operand *x)
{
    for (int i = 1; i < x->labels.count && x->t != NULL; i++) {
        const unsigned char label = x->labels.at[i];
        const unsigned char *first = memchr(x->labels.at, label, (size_t)i);
        if (first != NULL) {
            label_list left = {0};
            for (int j = 0; j < x->labels.count; j++) {
                if (j != i && j != first - x->labels.at) {
                    left.at[left.count++] = x->labels.at[j];
                }
            }
            left.at[left.count++] = label;
            *x = (operand){heed_diagonal(x->t, 0, (int)(first - x->labels.at), i), left};
            i = 0;
        }
    }
}

/* Sums over labels that are not in `kept`, keeping their dims with size 1. */
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

/* x with one dim per label of the result, of size 1 for labels that x does not have. */
static heed_tensor *aligned(const operand *x, const label_list *y)
{
    heed_shape shape = {.ndim = y->count};
    for (int i = 0; i < y->count; i++) {
        shape.size[i] = size_in(x, y->at[i]);
    }
    return reshaped(arranged(x, y), shape);
}

/* The label groups of a matrix product. */
typedef struct groups {
    const parsed *equation;
    label_list batch, rows, columns, inner;
    bool flat; /* the batch has too many dims and is flattened into one */
} groups;

static groups group(const parsed *e, const operand *a, const operand *b)
{
    enum { MOST = HEED_MAX_DIMS - 2 };
    const label_set in_a = present(a), in_b = present(b), both = in_a & in_b;
    label_set batch = both | ((in_a | in_b) & ellipsis_labels); /* matmul broadcasts these */
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
    /* In the order of the larger operand, which costs more to copy. */
    const operand *larger = a->t->numel < b->t->numel ? b : a;
    append(&g.inner, &larger->labels, both & ~set_of(&e->y));
    return g;
}

static int64_t product_of(const groups *g, const label_list *list)
{
    int64_t product = 1;
    for (int i = 0; i < list->count; i++) {
        product *= g->equation->size[list->at[i]];
    }
    return product;
}

/* x as a batch of matrices. */
static heed_tensor *matrices(const groups *g, const operand *x, const label_list *rows,
                             const label_list *columns)
{
    label_list list = g->batch;
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

/* The product in the order of the result, with one dim per label again. */
static heed_tensor *unfolded(const groups *g, heed_tensor *product)
{
    const label_list *y = &g->equation->y;
    operand result = {.labels = g->batch};
    append(&result.labels, &g->rows, all_labels);
    append(&result.labels, &g->columns, all_labels);
    append(&result.labels, y, ~set_of(&result.labels)); /* dims of size 1 */
    heed_shape shape = {.ndim = y->count};
    for (int i = 0; i < y->count; i++) {
        shape.size[i] = g->equation->size[result.labels.at[i]];
    }
    result.t = reshaped(product, shape);
    return arranged(&result, y);
}

static heed_tensor *multiply(const parsed *e, heed_tensor *x, heed_tensor *y)
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
    if ((in_a & in_b & ~result) == 0) { /* elementwise */
        heed_dtype dtype;
        const heed_status status = heed_common_dtype("einsum", a.t->dtype, b.t->dtype, &dtype);
        return status == HEED_OK ? heed_mul(aligned(&a, &e->y), aligned(&b, &e->y)) : NULL;
    }
    if (heed_check_factors("einsum", a.t->dtype, b.t->dtype) != HEED_OK) {
        return NULL;
    }
    const groups g = group(e, &a, &b);
    heed_tensor *product =
        heed_matmul(matrices(&g, &a, &g.rows, &g.inner), matrices(&g, &b, &g.inner, &g.columns));
    return unfolded(&g, product);
}

heed_tensor *heed_einsum(const char *equation, heed_tensor *a, heed_tensor *b)
{
    parsed e;
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
    if (read_equation(equation, a, b, &e) != HEED_OK) {
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
