/* einsum: reads the equation, gives every dim a label, and computes one product of matrices, or of
 * elements, with other operations. It has no kernel or derivative of its own.
 *
 * A label is a letter of the equation, or a digit for a dim of the ellipsis, counted from its end
 * as in broadcasting. Labels are grouped by where they occur:
 *
 *     batch    a, b and the result       a (batch..., rows, inner)
 *     rows     a and the result          b (batch..., inner, columns)
 *     columns  b and the result
 *     inner    a and b                   a b (batch..., rows, columns)
 *
 * Labels of one operand that are not in the result are summed first. Without inner labels, the
 * product is elementwise. */
#include <string.h>

#include "../autograd.h"

enum { A, B, SURPLUS, RESULT, TERMS }; /* SURPLUS collects all operands after the second */

/* A string of labels, long enough for those of both operands and of the result. */
typedef struct labels {
    char at[4 * HEED_MAX_DIMS + 1];
} labels;

typedef struct equation {
    const char *text;
    heed_tensor *tensors[2];
    labels terms[TERMS]; /* as written, with '.' for "..."; then a label per dim */
    int letters[TERMS];  /* number of letters; terms have the first HEED_MAX_DIMS */
    int operands;
    bool has_result;
    int uses['z' + 1]; /* in the operands */
    int64_t size['z' + 1];
} equation;

static bool has(const labels *list, char label)
{
    return strchr(list->at, label) != NULL;
}

static void append(labels *list, char label)
{
    list->at[strlen(list->at)] = label;
}

/* Appends the labels of `more` that are in `in` and not in `but`; NULL: any. */
static void append_all(labels *list, const labels *more, const labels *in, const labels *but)
{
    for (const char *label = more->at; *label != '\0'; label++) {
        if ((in == NULL || has(in, *label)) && (but == NULL || !has(but, *label))) {
            append(list, *label);
        }
    }
}

/* ---- the equation ---- */

#define REFUSE(status, format, ...)                                                                \
    heed_fail(status, "einsum: '%.100s' of %s and %s: " format, e->text, HEED_TEXT(e->tensors[A]), \
              HEED_TEXT(e->tensors[B]), __VA_ARGS__)

static void add_letter(equation *e, int term, char letter)
{
    if (e->letters[term]++ < HEED_MAX_DIMS) {
        append(&e->terms[term], letter);
    }
    e->uses[(int)letter] += term != RESULT;
}

static heed_status read_text(equation *e)
{
    int term = A;
    e->operands = 1;
    for (int i = 0; e->text[i] != '\0'; i++) {
        const char c = e->text[i];
        if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) {
            add_letter(e, term, c);
        } else if (c == '.') {
            if (strncmp(e->text + i, "...", 3) != 0) {
                return REFUSE(HEED_ERR_VALUE, "the '.' at position %d is not part of '...'", i);
            }
            if (has(&e->terms[term], '.')) {
                return REFUSE(HEED_ERR_VALUE,
                              "the '...' at position %d is the second in one tensor", i);
            }
            append(&e->terms[term], '.');
            i += 2;
        } else if (c == ',' && !e->has_result) {
            term = ++e->operands > 2 ? SURPLUS : B;
        } else if (c == '-' && e->text[i + 1] == '>' && !e->has_result) {
            e->has_result = true;
            term = RESULT;
            i++;
        } else if (c != ' ') {
            return REFUSE(HEED_ERR_VALUE, "'%c' at position %d; %s", c, i,
                          e->has_result ? "after '->' only letters and '...' are allowed"
                                        : "only letters, ',', '...' and '->' are allowed");
        }
    }
    if (e->operands != 2) {
        return REFUSE(HEED_ERR_VALUE, "%d operand%s; heed_einsum takes two%s", e->operands,
                      e->operands == 1 ? "" : "s",
                      e->operands > 2 ? ": call it again for each additional one" : "");
    }
    if (!e->has_result) { /* the ellipsis, then the letters that appear once, A-Z before a-z */
        if (has(&e->terms[A], '.') || has(&e->terms[B], '.')) {
            append(&e->terms[RESULT], '.');
        }
        for (char c = 'A'; c <= 'z'; c++) {
            if (e->uses[(int)c] == 1) {
                add_letter(e, RESULT, c);
            }
        }
    }
    return HEED_OK;
}

static heed_status check_letters(const equation *e)
{
    for (int term = A; term < TERMS; term++) {
        const char *text = e->terms[term].at;
        for (const char *c = text; *c != '\0'; c++) {
            if (term == RESULT && *c != '.' && e->uses[(int)*c] == 0) {
                return REFUSE(HEED_ERR_VALUE, "%c of the result is in no operand", *c);
            }
            if (strchr(text, *c) != c) {
                return REFUSE(HEED_ERR_VALUE, "%c appears twice in %s", *c,
                              term == RESULT ? "the result" : "one operand");
            }
        }
    }
    return HEED_OK;
}

/* Replaces the '.' of a term by the labels of `dims` dims. */
static void spell_ellipsis(labels *term, int dims)
{
    const labels written = *term;
    *term = (labels){""};
    for (const char *c = written.at; *c != '\0'; c++) {
        for (int i = dims; *c == '.' && i > 0; i--) {
            append(term, (char)('0' + i - 1));
        }
        if (*c != '.') {
            append(term, *c);
        }
    }
}

/* Gives each dim its label, and finds the sizes of the labels. */
static heed_status match_shapes(equation *e)
{
    int most = 0; /* dims of an ellipsis */
    for (int i = 0; i < 2; i++) {
        const int ndim = e->tensors[i]->ndim, letters = e->letters[i];
        if (letters > ndim || (letters < ndim && !has(&e->terms[i], '.'))) {
            return REFUSE(HEED_ERR_SHAPE, "%s has %d dim%s, not %d%s", i == A ? "a" : "b", ndim,
                          ndim == 1 ? "" : "s", letters,
                          letters < ndim ? "; '...' would match the others" : "");
        }
        spell_ellipsis(&e->terms[i], ndim - letters);
        most = ndim - letters > most ? ndim - letters : most;
    }
    const int dims = e->letters[RESULT] + (has(&e->terms[RESULT], '.') ? most : 0);
    if (dims > HEED_MAX_DIMS) {
        return REFUSE(HEED_ERR_SHAPE, "the result would have %d dims; at most %d are allowed", dims,
                      HEED_MAX_DIMS);
    }
    spell_ellipsis(&e->terms[RESULT], most);
    memset(e->size, -1, sizeof e->size);
    for (int i = 0; i < 2; i++) {
        for (int dim = 0; dim < e->tensors[i]->ndim; dim++) {
            const char label = e->terms[i].at[dim];
            int64_t *size = &e->size[(int)label], other = e->tensors[i]->shape[dim];
            if (*size != -1 && *size != 1 && other != 1 && *size != other) {
                return label < 'A'
                           ? REFUSE(HEED_ERR_SHAPE,
                                    "dim %d from the end of '...' is %lld in a, %lld in b",
                                    label - '0' + 1, (long long)*size, (long long)other)
                           : REFUSE(HEED_ERR_SHAPE, "%c is %lld and %lld; only size 1 broadcasts",
                                    label, (long long)*size, (long long)other);
            }
            *size = *size == -1 || *size == 1 ? other : *size;
        }
    }
    return HEED_OK;
}

static heed_shape sizes_of(const equation *e, const labels *list)
{
    heed_shape shape = {0};
    for (; list->at[shape.ndim] != '\0'; shape.ndim++) {
        shape.size[shape.ndim] = e->size[(int)list->at[shape.ndim]];
    }
    return shape;
}

/* ---- the product ---- */

/* x with its dims, which `from` labels, in the order of `to`. */
static heed_tensor *permuted(heed_tensor *x, const labels *from, const labels *to)
{
    heed_dims order = {0};
    for (; to->at[order.count] != '\0'; order.count++) {
        order.dim[order.count] = (int)(strchr(from->at, to->at[order.count]) - from->at);
    }
    return strcmp(from->at, to->at) == 0 ? x : heed_permute(x, order);
}

static heed_tensor *reshaped(heed_tensor *x, heed_shape shape)
{
    return x != NULL && heed_has_shape(x, &shape) ? x : heed_reshape(x, shape);
}

/* Operand i, summed over the labels that are neither in the result nor in the other operand. */
static heed_tensor *sum_others(equation *e, int i)
{
    const labels before = e->terms[i];
    heed_dims dims = {0};
    e->terms[i] = (labels){""};
    for (int dim = 0; before.at[dim] != '\0'; dim++) {
        if (has(&e->terms[RESULT], before.at[dim]) || has(&e->terms[1 - i], before.at[dim])) {
            append(&e->terms[i], before.at[dim]);
        } else {
            dims.dim[dims.count++] = dim;
        }
    }
    return dims.count > 0 ? heed_sum_dims(e->tensors[i], dims, false) : e->tensors[i];
}

/* Operand i with a dim for each label of the result, of size 1 for labels that it does not have. */
static heed_tensor *aligned(const equation *e, int i)
{
    labels order = {""};
    append_all(&order, &e->terms[RESULT], &e->terms[i], NULL);
    heed_tensor *x = permuted(e->tensors[i], &e->terms[i], &order);
    heed_shape shape = {0};
    for (int dim = 0; x != NULL && e->terms[RESULT].at[shape.ndim] != '\0'; shape.ndim++) {
        const bool present = has(&order, e->terms[RESULT].at[shape.ndim]);
        shape.size[shape.ndim] = present ? x->shape[dim++] : 1;
    }
    return reshaped(x, shape);
}

static int64_t product_of(const equation *e, const labels *list)
{
    int64_t product = 1;
    for (const char *label = list->at; *label != '\0'; label++) {
        product *= e->size[(int)*label];
    }
    return product;
}

/* Operand i as a batch of matrices. */
static heed_tensor *matrices(const equation *e, int i, const labels *batch, const labels *rows,
                             const labels *columns)
{
    labels order = *batch;
    append_all(&order, rows, NULL, NULL);
    append_all(&order, columns, NULL, NULL);
    heed_tensor *x = permuted(e->tensors[i], &e->terms[i], &order);
    const heed_shape sizes = sizes_of(e, &order);
    x = x != NULL && heed_has_shape(x, &sizes) ? x : heed_expand(x, sizes);
    heed_shape shape = {0};
    for (const char *label = batch->at; *label != '\0'; label++) {
        if (e->size[(int)*label] != 1) {
            shape.size[shape.ndim++] = e->size[(int)*label];
        }
    }
    shape.size[shape.ndim++] = product_of(e, rows);
    shape.size[shape.ndim++] = product_of(e, columns);
    return reshaped(x, shape);
}

static heed_tensor *multiply(equation *e)
{
    const labels *a = &e->terms[A], *b = &e->terms[B], *y = &e->terms[RESULT];
    labels both = {""}, batch = {""}, rows = {""}, columns = {""}, inner = {""};
    e->tensors[A] = sum_others(e, A);
    e->tensors[B] = sum_others(e, B);
    if (e->tensors[A] == NULL || e->tensors[B] == NULL) {
        return NULL;
    }
    append_all(&both, a, b, NULL);
    append_all(&batch, y, &both, NULL);
    append_all(&rows, a, NULL, &both);
    append_all(&columns, b, NULL, &both);
    /* In the order of the larger operand, which costs more to copy. */
    append_all(&inner, e->tensors[A]->numel < e->tensors[B]->numel ? b : a, &both, y);
    const heed_dtype of_a = e->tensors[A]->dtype, of_b = e->tensors[B]->dtype;
    heed_dtype common;
    if (inner.at[0] == '\0') {
        const heed_status status = heed_common_dtype("einsum", of_a, of_b, &common);
        return status == HEED_OK ? heed_mul(aligned(e, A), aligned(e, B)) : NULL;
    }
    if (heed_check_factors("einsum", of_a, of_b) != HEED_OK) {
        return NULL;
    }
    const int most = HEED_MAX_DIMS - 2;
    int dims = 0;
    for (const char *label = batch.at; *label != '\0'; label++) {
        dims += e->size[(int)*label] != 1;
    }
    if (dims > most) {
        REFUSE(HEED_ERR_SHAPE, "%d dims of a batch; at most %d are allowed", dims, most);
        return NULL;
    }
    heed_tensor *product = heed_matmul(matrices(e, A, &batch, &rows, &inner),
                                       matrices(e, B, &batch, &inner, &columns));
    append_all(&batch, &rows, NULL, NULL);
    append_all(&batch, &columns, NULL, NULL);
    return permuted(reshaped(product, sizes_of(e, &batch)), &batch, y);
}

heed_tensor *heed_einsum(const char *text, heed_tensor *a, heed_tensor *b)
{
    equation e = {.text = text, .tensors = {a, b}};
    int64_t numel;
    if (heed_check_operand("einsum", "a", a) != HEED_OK ||
        heed_check_operand("einsum", "b", b) != HEED_OK) {
        return NULL;
    }
    if (text == NULL) {
        heed_fail(HEED_ERR_NULL, "einsum: the equation is NULL");
        return NULL;
    }
    if (read_text(&e) != HEED_OK || check_letters(&e) != HEED_OK || match_shapes(&e) != HEED_OK) {
        return NULL;
    }
    const heed_shape shape = sizes_of(&e, &e.terms[RESULT]);
    if (heed_count_elements("einsum", shape.ndim, shape.size, a->dtype, &numel) != HEED_OK) {
        return NULL;
    }
    heed_scope scope;
    heed_scope_begin(&scope);
    return heed_scope_end_with(&scope, multiply(&e));
}
