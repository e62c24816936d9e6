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

#include "operations.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../tensor/check.h"
#include "../../tensor/scope.h"
#include "../../tensor/shape.h"
#include "../../tensor/thread.h"
#include "operand_checks.h"

/* ---- labels ----
 *
 * Every dim of an operand or of the result has a label: its letter, or a digit for the dims of the
 * ellipsis, counted from its end, as in broadcasting. */

/* An ordered list of labels, usually of a tensor's dims. Large enough for several joined lists. */
typedef struct label_list {
    char at[4 * HEED_MAX_DIMS + 1]; /* a string */
} label_list;

static bool has(const label_list *list, char label)
{
    return strchr(list->at, label) != NULL;
}

static void append(label_list *list, char label)
{
    list->at[strlen(list->at)] = label;
}

/* Appends the labels of `more` that are in `in` and not in `but`, each if it is not NULL. */
static void append_all(label_list *list, const label_list *more, const label_list *in,
                       const label_list *but)
{
    for (const char *label = more->at; *label != '\0'; label++) {
        if ((in == NULL || has(in, *label)) && (but == NULL || !has(but, *label))) {
            append(list, *label);
        }
    }
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_of_ellipsis(char label)
{
    return label < 'A';
}

/* ---- the text ---- */

enum { A, B, SURPLUS, RESULT, TERMS }; /* SURPLUS collects all operands after the second */

typedef struct reading {
    const char *text;
    const heed_tensor *tensors[2];
    label_list terms[TERMS]; /* as written: at most HEED_MAX_DIMS letters, and '.' for "..." */
    int letters[TERMS];      /* how many are written */
    int operands;
    bool has_result;       /* has "->" */
    int uses['z' + 1];     /* occurrences of each letter in the operands */
    int64_t size['z' + 1]; /* broadcast size of each label; -1: none */
    label_list a, b, y;    /* the labels of all dims */
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

static void add_letter(reading *r, int term, char letter)
{
    if (r->letters[term]++ < HEED_MAX_DIMS) {
        append(&r->terms[term], letter);
    }
}

static heed_status read_text(reading *r)
{
    int term = A;
    r->operands = 1;
    for (int i = 0; r->text[i] != '\0'; i++) {
        const char c = r->text[i];
        if (is_letter(c)) {
            add_letter(r, term, c);
            r->uses[(int)c] += !r->has_result;
        } else if (c == '.') {
            if (strncmp(r->text + i, "...", 3) != 0) {
                return refuse(r, HEED_ERR_VALUE, "the '.' at position %d is not part of '...'", i);
            }
            if (has(&r->terms[term], '.')) {
                return refuse(r, HEED_ERR_VALUE,
                              "the '...' at position %d is the second in one tensor", i);
            }
            append(&r->terms[term], '.');
            i += 2;
        } else if (c == ',' && !r->has_result) {
            term = ++r->operands > 2 ? SURPLUS : B;
        } else if (c == '-' && r->text[i + 1] == '>' && !r->has_result) {
            r->has_result = true;
            term = RESULT;
            i++;
        } else if (c != ' ') {
            return refuse(r, HEED_ERR_VALUE, "'%c' at position %d; %s", c, i,
                          r->has_result ? "after '->' only letters and '...' are allowed"
                                        : "only letters, ',', '...' and '->' are allowed");
        }
    }
    return HEED_OK;
}

/* The implicit result: the ellipsis, then the letters that appear once, A to Z before a to z. */
static void complete_result(reading *r)
{
    if (has(&r->terms[A], '.') || has(&r->terms[B], '.')) {
        append(&r->terms[RESULT], '.');
    }
    for (char c = 'A'; c <= 'z'; c++) {
        if (r->uses[(int)c] == 1) {
            add_letter(r, RESULT, c);
        }
    }
}

/* Checks that do not need the shapes. */
static heed_status check_text(reading *r)
{
    if (r->operands != 2) {
        return refuse(r, HEED_ERR_VALUE, "%d operand%s; heed_einsum takes two%s", r->operands,
                      r->operands == 1 ? "" : "s",
                      r->operands > 2 ? ": call it again for each additional one" : "");
    }
    if (!r->has_result) {
        complete_result(r);
    }
    for (int term = A; term < TERMS; term++) {
        const char *text = r->terms[term].at;
        for (const char *c = text; *c != '\0'; c++) {
            if (term == RESULT && *c != '.' && r->uses[(int)*c] == 0) {
                return refuse(r, HEED_ERR_VALUE, "%c of the result is in no operand", *c);
            }
            if (strchr(text, *c) != c) {
                return refuse(r, HEED_ERR_VALUE, "%c appears twice in %s", *c,
                              term == RESULT ? "the result" : "one operand");
            }
        }
    }
    return HEED_OK;
}

/* ---- the shapes ---- */

/* The labels of a term whose ellipsis matches `of_ellipsis` dims. */
static label_list labels_of(const label_list *term, int of_ellipsis)
{
    label_list labels = {0};
    for (const char *c = term->at; *c != '\0'; c++) {
        for (int j = of_ellipsis; j > 0 && *c == '.'; j--) {
            append(&labels, (char)('0' + j - 1));
        }
        if (*c != '.') {
            append(&labels, *c);
        }
    }
    return labels;
}

/* Checks the number of an operand's dims. Finds how many its ellipsis matches. */
static heed_status count_dims(const reading *r, int operand, int *of_ellipsis)
{
    const int ndim = r->tensors[operand]->ndim, letters = r->letters[operand];
    *of_ellipsis = ndim - letters;
    if (letters > ndim || (letters < ndim && !has(&r->terms[operand], '.'))) {
        return refuse(r, HEED_ERR_SHAPE, "%s has %d dim%s, not %d%s", operand == A ? "a" : "b",
                      ndim, ndim == 1 ? "" : "s", letters,
                      letters < ndim ? "; '...' would match the others" : "");
    }
    return HEED_OK;
}

static heed_status sizes_differ(const reading *r, char label, int64_t one, int64_t other)
{
    if (is_of_ellipsis(label)) {
        return refuse(r, HEED_ERR_SHAPE, "dim %d from the end of '...' is %lld in a, %lld in b",
                      label - '0' + 1, (long long)one, (long long)other);
    }
    return refuse(r, HEED_ERR_SHAPE, "%c is %lld and %lld; only size 1 broadcasts", label,
                  (long long)one, (long long)other);
}

/* Enters the sizes of one operand. */
static heed_status bind(reading *r, int operand, const label_list *labels)
{
    const int64_t *shape = r->tensors[operand]->shape;
    for (int i = 0; labels->at[i] != '\0'; i++) {
        const char label = labels->at[i];
        int64_t *size = &r->size[(int)label];
        if (*size == -1 || *size == 1) {
            *size = shape[i];
        } else if (shape[i] != 1 && shape[i] != *size) {
            return sizes_differ(r, label, *size, shape[i]);
        }
    }
    return HEED_OK;
}

/* Parses the text and matches it to the shapes of a and b. Errors show the text, both shapes and
 * the cause. */
static heed_status read_equation(reading *r)
{
    int in_a, in_b;
    if (read_text(r) != HEED_OK || check_text(r) != HEED_OK || count_dims(r, A, &in_a) != HEED_OK ||
        count_dims(r, B, &in_b) != HEED_OK) {
        return heed_self.error;
    }
    const int in_y = !has(&r->terms[RESULT], '.') ? 0 : in_a > in_b ? in_a : in_b;
    if (r->letters[RESULT] + in_y > HEED_MAX_DIMS) {
        return refuse(r, HEED_ERR_SHAPE, "the result would have %d dims; at most %d are allowed",
                      r->letters[RESULT] + in_y, HEED_MAX_DIMS);
    }
    r->a = labels_of(&r->terms[A], in_a);
    r->b = labels_of(&r->terms[B], in_b);
    r->y = labels_of(&r->terms[RESULT], in_y);
    for (int i = 0; i <= 'z'; i++) {
        r->size[i] = -1;
    }
    return bind(r, A, &r->a) == HEED_OK ? bind(r, B, &r->b) : heed_self.error;
}

/* ---- rearranging operands ---- */

/* An operand being rearranged; `labels` names t's dims. */
typedef struct operand {
    heed_tensor *t; /* NULL after an error */
    label_list labels;
} operand;

/* The labels of x's dims, except dims of size 1. */
static label_list present(const operand *x)
{
    label_list labels = {0};
    for (int i = 0; x->labels.at[i] != '\0'; i++) {
        if (x->t->shape[i] != 1) {
            append(&labels, x->labels.at[i]);
        }
    }
    return labels;
}

/* The size of a label in x; 1 if x does not have it. */
static int64_t size_in(const operand *x, char label)
{
    const char *at = strchr(x->labels.at, label);
    return at != NULL ? x->t->shape[at - x->labels.at] : 1;
}

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
    append_all(&labels, list, &x->labels, NULL);
    append_all(&labels, &x->labels, NULL, list);
    for (; labels.at[order.count] != '\0'; order.count++) {
        order.dim[order.count] = (int)(strchr(x->labels.at, labels.at[order.count]) - x->labels.at);
    }
    return strcmp(labels.at, x->labels.at) == 0 ? x->t : heed_permute(x->t, order);
}

/* Sums over labels that are in neither list, keeping their dims with size 1. */
static void sum_others(operand *x, const label_list *y, const label_list *other)
{
    heed_dims dims = {0};
    for (int i = 0; x->labels.at[i] != '\0'; i++) {
        if (x->t->shape[i] != 1 && !has(y, x->labels.at[i]) && !has(other, x->labels.at[i])) {
            dims.dim[dims.count++] = i;
        }
    }
    x->t = dims.count > 0 ? heed_sum_dims(x->t, dims, true) : x->t;
}

/* ---- multiplying ---- */

/* x with one dim per label of the result, of size 1 for labels that x does not have. */
static heed_tensor *aligned(const operand *x, const label_list *y)
{
    heed_shape shape = {0};
    for (const char *label = y->at; *label != '\0'; label++) {
        shape.size[shape.ndim++] = size_in(x, *label);
    }
    return reshaped(arranged(x, y), shape);
}

/* The label groups of a matrix product. */
typedef struct groups {
    const reading *equation;
    label_list batch, rows, columns, inner;
} groups;

static groups group(const reading *r, const operand *a, const operand *b)
{
    const label_list in_a = present(a), in_b = present(b);
    label_list both = {0}, batch = {0}, one = {0};
    append_all(&both, &in_a, &in_b, NULL);
    append_all(&one, &in_a, NULL, &in_b);
    append_all(&one, &in_b, NULL, &in_a);
    batch = both;
    for (const char *label = one.at; *label != '\0'; label++) {
        if (is_of_ellipsis(*label)) { /* matmul broadcasts these */
            append(&batch, *label);
        }
    }
    groups g = {.equation = r};
    append_all(&g.batch, &r->y, &batch, NULL);
    append_all(&g.rows, &in_a, NULL, &batch);
    append_all(&g.columns, &in_b, NULL, &batch);
    /* In the order of the larger operand, which costs more to copy. */
    append_all(&g.inner, a->t->numel < b->t->numel ? &in_b : &in_a, &both, &r->y);
    return g;
}

static int64_t product_of(const groups *g, const label_list *list)
{
    int64_t product = 1;
    for (const char *label = list->at; *label != '\0'; label++) {
        product *= g->equation->size[(int)*label];
    }
    return product;
}

/* x as a batch of matrices. */
static heed_tensor *matrices(const groups *g, const operand *x, const label_list *rows,
                             const label_list *columns)
{
    label_list list = g->batch;
    heed_shape shape = {0};
    for (const char *label = g->batch.at; *label != '\0'; label++) {
        shape.size[shape.ndim++] = size_in(x, *label);
    }
    shape.size[shape.ndim++] = product_of(g, rows);
    shape.size[shape.ndim++] = product_of(g, columns);
    append_all(&list, rows, NULL, NULL);
    append_all(&list, columns, NULL, NULL);
    return reshaped(arranged(x, &list), shape);
}

/* The product in the order of the result, with one dim per label again. */
static heed_tensor *unfolded(const groups *g, heed_tensor *product)
{
    const label_list *y = &g->equation->y;
    operand result = {.labels = g->batch};
    append_all(&result.labels, &g->rows, NULL, NULL);
    append_all(&result.labels, &g->columns, NULL, NULL);
    append_all(&result.labels, y, NULL, &result.labels); /* dims of size 1 */
    heed_shape shape = {0};
    for (; result.labels.at[shape.ndim] != '\0'; shape.ndim++) {
        shape.size[shape.ndim] = g->equation->size[(int)result.labels.at[shape.ndim]];
    }
    result.t = reshaped(product, shape);
    return arranged(&result, y);
}

static heed_tensor *multiply(const reading *r, operand a, operand b)
{
    const label_list in_a = present(&a), in_b = present(&b);
    label_list inner = {0};
    append_all(&inner, &in_a, &in_b, &r->y);
    sum_others(&a, &r->y, &in_b);
    sum_others(&b, &r->y, &in_a);
    if (a.t == NULL || b.t == NULL) {
        return NULL;
    }
    if (inner.at[0] == '\0') { /* elementwise */
        heed_dtype dtype;
        const heed_status status = heed_common_dtype("einsum", a.t->dtype, b.t->dtype, &dtype);
        return status == HEED_OK ? heed_mul(aligned(&a, &r->y), aligned(&b, &r->y)) : NULL;
    }
    if (heed_check_factors("einsum", a.t->dtype, b.t->dtype) != HEED_OK) {
        return NULL;
    }
    const groups g = group(r, &a, &b);
    if (strlen(g.batch.at) > HEED_MAX_DIMS - 2) {
        refuse(r, HEED_ERR_SHAPE, "%d dims of a batch; at most %d are allowed",
               (int)strlen(g.batch.at), HEED_MAX_DIMS - 2);
        return NULL;
    }
    heed_tensor *product =
        heed_matmul(matrices(&g, &a, &g.rows, &g.inner), matrices(&g, &b, &g.inner, &g.columns));
    return unfolded(&g, product);
}

heed_tensor *heed_einsum(const char *equation, heed_tensor *a, heed_tensor *b)
{
    reading r = {.text = equation, .tensors = {a, b}};
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
    if (read_equation(&r) != HEED_OK) {
        return NULL;
    }
    for (; r.y.at[shape.ndim] != '\0'; shape.ndim++) {
        shape.size[shape.ndim] = r.size[(int)r.y.at[shape.ndim]];
    }
    if (heed_count_elements("einsum", shape.ndim, shape.size, a->dtype, &numel) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    return heed_scope_end_with(&scope, multiply(&r, (operand){a, r.a}, (operand){b, r.b}));
}
