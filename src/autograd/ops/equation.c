/* Reads equations such as "bqd,bkd->bqk": first the text alone, then against two shapes. */
#include "equation.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../tensor/shape.h"
#include "../../tensor/thread.h"

/* What stands between the commas and the arrow. */
typedef struct term {
    int letters;                         /* how many; only the first ones are kept */
    unsigned char letter[HEED_MAX_DIMS]; /* as labels */
    int ellipsis;                        /* how many letters stand before it; -1: there is none */
} term;

typedef struct reading {
    const char *text;
    const heed_tensor *tensors[2]; /* a and b */
    term operands[3], result;      /* the third stands for all that are too many */
    int operand_count;
    bool has_result;       /* is there an arrow? */
    int uses[HEED_LABELS]; /* how often each letter stands in the operands */
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

static term *current(reading *r)
{
    return r->has_result          ? &r->result
           : r->operand_count < 3 ? &r->operands[r->operand_count - 1]
                                  : &r->operands[2];
}

static void read_letter(reading *r, char c)
{
    term *t = current(r);
    if (t->letters < HEED_MAX_DIMS) {
        t->letter[t->letters] = label_of(c);
    }
    t->letters++;
    r->uses[label_of(c)] += !r->has_result;
}

static heed_status read_ellipsis(reading *r, int place)
{
    term *t = current(r);
    if (strncmp(r->text + place, "...", 3) != 0) {
        return refuse(r, HEED_ERR_VALUE, "the '.' at place %d is not one of three", place);
    }
    if (t->ellipsis >= 0) {
        return refuse(r, HEED_ERR_VALUE, "the '...' at place %d is the second of one tensor",
                      place);
    }
    t->ellipsis = t->letters;
    return HEED_OK;
}

static heed_status read_text(reading *r)
{
    for (int i = 0; r->text[i] != '\0'; i++) {
        const char c = r->text[i];
        if (is_letter(c)) {
            read_letter(r, c);
        } else if (c == '.') {
            if (read_ellipsis(r, i) != HEED_OK) {
                return heed_self.error;
            }
            i += 2;
        } else if (c == ',' && !r->has_result) {
            r->operand_count++;
        } else if (c == '-' && r->text[i + 1] == '>' && !r->has_result) {
            r->has_result = true;
            i++;
        } else if (c != ' ') {
            return refuse(r, HEED_ERR_VALUE, "'%c' at place %d; %s", c, i,
                          r->has_result ? "behind '->' stand letters and '...' alone"
                                        : "letters, ',', '...' and '->' are all there is");
        }
    }
    return HEED_OK;
}

/* Without an arrow the result has the ellipsis and the letters that stand once, in their order. */
static void complete_result(reading *r)
{
    term *y = &r->result;
    y->ellipsis = r->operands[0].ellipsis >= 0 || r->operands[1].ellipsis >= 0 ? 0 : -1;
    for (int label = 0; label < HEED_LETTERS; label++) {
        if (r->uses[label] == 1) {
            if (y->letters < HEED_MAX_DIMS) {
                y->letter[y->letters] = (unsigned char)label;
            }
            y->letters++;
        }
    }
}

/* What can be said before the shapes are looked at. */
static heed_status check_text(reading *r)
{
    if (r->operand_count != 2) {
        return refuse(r, HEED_ERR_VALUE, "%d operand%s; heed_einsum takes two%s", r->operand_count,
                      r->operand_count == 1 ? "" : "s",
                      r->operand_count > 2 ? ": call it once for each further one" : "");
    }
    if (!r->has_result) {
        complete_result(r);
    }
    const term *y = &r->result;
    for (int i = 0; i < y->letters && i < HEED_MAX_DIMS; i++) {
        if (r->uses[y->letter[i]] == 0) {
            return refuse(r, HEED_ERR_VALUE, "%c of the result stands in no operand",
                          letter_of(y->letter[i]));
        }
        if (memchr(y->letter, y->letter[i], (size_t)i) != NULL) {
            return refuse(r, HEED_ERR_VALUE, "%c stands twice in the result",
                          letter_of(y->letter[i]));
        }
    }
    return HEED_OK;
}

/* ---- the shapes ---- */

/* How many dims an ellipsis takes. */
static int dims_of_ellipsis(const term *t, int ndim)
{
    return t->ellipsis >= 0 && ndim > t->letters ? ndim - t->letters : 0;
}

/* The labels of a term whose ellipsis takes so many dims: at most HEED_MAX_DIMS in all. */
static heed_labels labels_of(const term *t, int of_ellipsis)
{
    heed_labels labels = {0, {0}};
    for (int i = 0; i <= t->letters; i++) {
        for (int j = of_ellipsis; j > 0 && i == t->ellipsis; j--) {
            labels.at[labels.count++] = (unsigned char)(HEED_LETTERS + j - 1);
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
                      t->letters < ndim ? "; '...' would take the others" : "");
    }
    return HEED_OK;
}

static heed_status sizes_differ(const reading *r, int label, int64_t one, int64_t other)
{
    const long long sizes[] = {one, other};
    if (label >= HEED_LETTERS) {
        return refuse(r, HEED_ERR_SHAPE, "dim %d from the end of '...' is %lld in a, %lld in b",
                      label - HEED_LETTERS + 1, sizes[0], sizes[1]);
    }
    return refuse(r, HEED_ERR_SHAPE,
                  "%c is %lld and %lld; only a size of 1 in the other operand "
                  "is repeated",
                  letter_of(label), sizes[0], sizes[1]);
}

/* Puts the sizes of one operand into size[], where -1 means that no other has been seen yet. */
static heed_status bind(const reading *r, int operand, const heed_labels *labels, int64_t *size)
{
    const int64_t *shape = r->tensors[operand]->shape;
    for (int i = 0; i < labels->count; i++) {
        const unsigned char label = labels->at[i];
        const unsigned char *earlier = memchr(labels->at, label, (size_t)i);
        if (earlier != NULL) { /* a diagonal, which has one size */
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

static heed_status fit_to_shapes(const reading *r, heed_equation *e)
{
    const term *a = &r->operands[0], *b = &r->operands[1];
    if (check_count(r, 0) != HEED_OK || check_count(r, 1) != HEED_OK) {
        return heed_self.error;
    }
    const int in_a = dims_of_ellipsis(a, r->tensors[0]->ndim);
    const int in_b = dims_of_ellipsis(b, r->tensors[1]->ndim);
    const int in_y = r->result.ellipsis < 0 ? 0 : in_a > in_b ? in_a : in_b;
    if (r->result.letters + in_y > HEED_MAX_DIMS) {
        return refuse(r, HEED_ERR_SHAPE, "the result would have %d dims; at most %d",
                      r->result.letters + in_y, HEED_MAX_DIMS);
    }
    e->a = labels_of(a, in_a);
    e->b = labels_of(b, in_b);
    e->y = labels_of(&r->result, in_y);
    for (int i = 0; i < HEED_LABELS; i++) {
        e->size[i] = -1;
    }
    return bind(r, 0, &e->a, e->size) == HEED_OK ? bind(r, 1, &e->b, e->size) : heed_self.error;
}

heed_status heed_read_equation(const char *text, const heed_tensor *a, const heed_tensor *b,
                               heed_equation *equation)
{
    reading r = {.text = text, .tensors = {a, b}, .operand_count = 1};
    r.operands[0].ellipsis = r.operands[1].ellipsis = r.operands[2].ellipsis = -1;
    r.result.ellipsis = -1;
    if (read_text(&r) != HEED_OK || check_text(&r) != HEED_OK) {
        return heed_self.error;
    }
    return fit_to_shapes(&r, equation);
}
