/* Signatures: the line that documents the shapes and dtypes of an operation (heed_op.signature in
 * heed.h has the notation) also checks its inputs and describes its result.
 *
 * heed_register parses a signature once. One that is malformed, or belongs to an operation that is
 * not registered, is parsed at each call, which reports the fault. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "autograd.h"

enum { MOST_INPUTS = 8, MOST_SIZES = 16, NEW = 0x80 };

#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

/* The dtypes of an operand: those in a bit set, or, for IS_SAME, that of the first input. */
typedef enum kind { IS_FLOAT, IS_NUMBER, IS_INTEGER, IS_TRUTH, IS_ANY, IS_SAME } kind;

static const struct {
    const char *word, *article;
    unsigned dtypes;
    const char *cast; /* the dtype to cast others to */
} kinds[] = {{"float", "a ", 1u << HEED_F32 | 1u << HEED_F64, "HEED_F32"},
             {"number", "a ", 1u << HEED_F32 | 1u << HEED_F64 | 1u << HEED_I64, "HEED_I64"},
             {"i64", "", 1u << HEED_I64, "HEED_I64"},
             {"bool", "", 1u << HEED_BOOL, "HEED_BOOL"},
             {"any", "", ~0u, ""}};

/* "weight (out, in) float" */
typedef struct operand {
    const char *text;            /* in the signature */
    uint8_t name_length, length; /* of "weight", of "weight (out, in)" */
    uint8_t kind, dtypes;        /* dtypes: a bit set; 0 for IS_SAME */
    bool has_shape, has_batch;   /* there are parentheses; they begin with "..." */
    bool is_first_batch;         /* no input before has "..." */
    uint8_t ndim;                /* number of sizes, without "..." */
    uint8_t size[HEED_MAX_DIMS]; /* which sizes of the signature; | NEW: none before is the same */
} operand;

struct heed_pattern {
    int required, count; /* inputs */
    operand inputs[MOST_INPUTS], result;
};

/* ---- parsing: each function returns false at a fault, and leaves `at` there ---- */

typedef struct reader {
    const char *at;
    bool has_batch; /* an input has "..." */
    int count;
    const char *sizes[MOST_SIZES];
    size_t lengths[MOST_SIZES]; /* of the names of the sizes */
} reader;

/* Moves past the token, if it is next, and past spaces. */
static bool accept(reader *r, const char *token)
{
    const size_t length = strlen(token);
    const bool is_next = strncmp(r->at, token, length) == 0;
    r->at += is_next ? length : 0;
    r->at += strspn(r->at, " ");
    return is_next;
}

static bool read_size(reader *r, bool of_result, uint8_t *size)
{
    const size_t length = strspn(r->at, WORD);
    int i = 0;
    while (i < r->count && (r->lengths[i] != length || strncmp(r->sizes[i], r->at, length) != 0)) {
        i++;
    }
    if (length == 0 || *r->at <= '9' || i == MOST_SIZES || (of_result && i == r->count)) {
        return false;
    }
    const bool is_new = i == r->count;
    r->sizes[i] = r->at;
    r->lengths[i] = length;
    r->count += is_new;
    r->at += length;
    *size = (uint8_t)(is_new ? i | NEW : i);
    return true;
}

/* "(..., out, in)", or nothing. */
static bool read_shape(reader *r, bool of_result, operand *o)
{
    o->has_shape = accept(r, "(");
    o->has_batch = o->has_shape && accept(r, "...");
    o->is_first_batch = o->has_batch && !r->has_batch;
    r->has_batch = r->has_batch || o->has_batch;
    if (of_result && o->is_first_batch) {
        return false;
    }
    if (!o->has_shape || accept(r, ")")) {
        return true;
    }
    if (o->has_batch && !accept(r, ",")) {
        return false;
    }
    do {
        if (o->ndim == HEED_MAX_DIMS || !read_size(r, of_result, &o->size[o->ndim++])) {
            return false;
        }
    } while (accept(r, ","));
    return accept(r, ")");
}

static bool read_kind(reader *r, operand *o)
{
    const size_t length = strspn(r->at, WORD);
    o->kind = IS_SAME;
    for (int i = 0; i < IS_SAME && o->kind == IS_SAME; i++) {
        if (strlen(kinds[i].word) == length && accept(r, kinds[i].word)) {
            o->kind = (uint8_t)i;
            o->dtypes = (uint8_t)kinds[i].dtypes;
        }
    }
    return o->kind != IS_SAME || length == 0;
}

static bool read_input(reader *r, heed_pattern *p)
{
    operand *o = &p->inputs[p->count];
    o->text = r->at;
    o->name_length = (uint8_t)strspn(r->at, WORD);
    r->at += o->name_length;
    const bool is_optional = accept(r, "?");
    if (o->name_length == 0 || (!is_optional && p->required < p->count++) ||
        !read_shape(r, false, o)) {
        return false;
    }
    p->required += !is_optional;
    p->count += is_optional;
    o->length = (uint8_t)(r->at - o->text);
    while (o->text[o->length - 1] == ' ') {
        o->length--;
    }
    return read_kind(r, o);
}

/* "x (...) -> (...)" says no more than "x", unless other inputs broadcast with x. */
static void drop_lone_batch(heed_pattern *p)
{
    operand *x = &p->inputs[0], *y = &p->result;
    bool is_alone = x->has_batch && x->ndim == 0 && y->has_batch == y->has_shape && y->ndim == 0;
    for (int i = 1; i < p->count; i++) {
        is_alone = is_alone && !p->inputs[i].has_batch;
    }
    if (is_alone) {
        x->has_shape = y->has_shape = false;
    }
}

/* Reads a whole signature. *at: the fault, if there is one. */
static bool parse(const char *signature, heed_pattern *p, const char **at)
{
    reader r = {.at = signature};
    bool fits = strlen(signature) <= UINT8_MAX;
    *p = (heed_pattern){.result.kind = IS_SAME};
    do {
        fits = fits && p->count < MOST_INPUTS && read_input(&r, p);
    } while (fits && accept(&r, ","));
    if (fits && accept(&r, "->")) {
        fits = read_shape(&r, true, &p->result) && read_kind(&r, &p->result);
    }
    drop_lone_batch(p);
    *at = r.at;
    return fits && *r.at == '\0';
}

/* Before main, so without errors: what fails here is parsed at each call. */
void heed_parse_signature(heed_op *op)
{
    heed_pattern p;
    const char *at;
    op->pattern = NULL;
    if (op->signature != NULL && parse(op->signature, &p, &at) &&
        (op->pattern = malloc(sizeof p)) != NULL) {
        *op->pattern = p;
        op->inputs = p.required == p.count ? p.count : HEED_ANY_COUNT;
    }
}

heed_text heed_input_name(const heed_op *op, int i)
{
    heed_text name;
    heed_pattern p;
    const char *at;
    if (op->signature != NULL && parse(op->signature, &p, &at) && i < p.count) {
        snprintf(name.text, sizeof name.text, "%.*s", p.inputs[i].name_length, p.inputs[i].text);
    } else {
        snprintf(name.text, sizeof name.text, "input %d", i);
    }
    return name;
}

/* ---- matching ---- */

/* Matches all sizes but those in place of "...". */
static inline bool fits_sizes(const operand *o, int ndim, const int64_t *shape, int64_t *sizes)
{
    const int before = ndim - o->ndim;
    if (before != 0 && (before < 0 || !o->has_batch)) {
        return false;
    }
    shape += before;
    for (int i = 0; i < o->ndim; i++) {
        const unsigned which = o->size[i];
        if (which & NEW) {
            sizes[which & ~NEW] = shape[i];
        } else if (sizes[which] != shape[i]) {
            return false;
        }
    }
    return true;
}

/* Broadcasts the dims of t in place of "..." with `batch`, those of the inputs before it. */
static inline bool broadcast_batch(const operand *o, const heed_tensor *t, heed_shape *batch)
{
    const int ndim = t->ndim - o->ndim;
    bool same = batch->ndim == ndim;
    for (int i = 0; same && i < ndim; i++) {
        same = batch->size[i] == t->shape[i];
    }
    if (same) {
        return true;
    }
    const heed_shape before = *batch;
    heed_shape dims = heed_shape_of_tensor(t);
    dims.ndim = ndim;
    const bool fits = heed_shapes_broadcast(&before, &dims);
    if (fits) {
        heed_broadcast("", &before, &dims, batch);
    }
    return fits;
}

/* ---- errors ---- */

typedef struct operand_list {
    char text[600];
} operand_list;

/* "x (2, 8, 64), weight (12, 63)", without input `but`; without tensors "x (..., in), ..." */
static operand_list list_operands(const heed_pattern *p, heed_tensor *const *tensors, int count,
                                  int but)
{
    operand_list list = {""};
    size_t at = 0;
    for (int i = 0; i < count && at < sizeof list.text; i++) {
        if (i == but) {
            continue;
        }
        const operand *o = &p->inputs[i];
        const char *comma = at > 0 ? ", " : "";
        if (tensors != NULL) {
            at += (size_t)snprintf(list.text + at, sizeof list.text - at, "%s%.*s %s", comma,
                                   o->name_length, o->text, HEED_TEXT(tensors[i]));
        } else {
            at += (size_t)snprintf(list.text + at, sizeof list.text - at, "%s%.*s", comma,
                                   o->length, o->text);
        }
    }
    return list;
}

/* True if the first `count` inputs fit after the last two dims of input i are swapped. */
static bool fits_transposed(const heed_pattern *p, heed_tensor *const *inputs, int count, int i)
{
    int64_t sizes[MOST_SIZES];
    bool fits = inputs[i]->ndim >= 2 && p->inputs[i].ndim == 2;
    for (int j = 0; fits && j < count; j++) {
        heed_shape shape = heed_shape_of_tensor(inputs[j]);
        if (i == j) {
            shape.size[shape.ndim - 1] = inputs[j]->shape[shape.ndim - 2];
            shape.size[shape.ndim - 2] = inputs[j]->shape[shape.ndim - 1];
        }
        fits = !p->inputs[j].has_shape || fits_sizes(&p->inputs[j], shape.ndim, shape.size, sizes);
    }
    return fits;
}

/* Input i has the wrong shape. `batch`: the dims in place of "..." so far, if these do not
 * broadcast. */
_Noreturn static void fail_shape(const heed_call *call, const heed_pattern *p, int i,
                                 const heed_shape *batch)
{
    const operand *o = &p->inputs[i];
    const heed_tensor *t = call->inputs[i];
    const heed_text path = heed_module_path();
    char hint[500] = "";
    if (batch != NULL) {
        snprintf(hint, sizeof hint,
                 "; \"...\" is %s and %s, which do not broadcast: make their sizes equal or "
                 "one of them 1; heed_unsqueeze, heed_expand and heed_flatten repeat a dim",
                 heed_shape_text(batch->ndim, batch->size).text,
                 heed_shape_text(t->ndim - o->ndim, t->shape).text);
    }
    for (int j = i; batch == NULL && *hint == '\0' && j >= 0; j--) {
        if (fits_transposed(p, call->inputs, i + 1, j)) {
            snprintf(hint, sizeof hint, "; did you mean heed_transpose(%s, -2, -1)?",
                     heed_input_name(call->op, j).text);
        }
    }
    heed_raise(HEED_ERR_SHAPE, "%s%s%s: %.*s %s does not fit%s%s: takes %s%s", call->op->name,
               *path.text != '\0' ? " in " : "", path.text, o->name_length, o->text, HEED_TEXT(t),
               call->count > 1 ? " " : "", list_operands(p, call->inputs, call->count, i).text,
               list_operands(p, NULL, call->count, -1).text, hint);
}

_Noreturn static void fail_dtype(const heed_call *call, const heed_pattern *p, int i)
{
    const operand *o = &p->inputs[i];
    const heed_text name = heed_input_name(call->op, i), path = heed_module_path();
    const char *in = *path.text != '\0' ? " in " : "";
    const char *dtype = heed_dtype_name(call->inputs[i]->dtype);
    if (o->kind == IS_SAME) {
        heed_raise(HEED_ERR_DTYPE, "%s%s%s: %s is %s and %s %s; cast one of them with heed_to",
                   call->op->name, in, path.text, heed_input_name(call->op, 0).text,
                   heed_dtype_name(call->inputs[0]->dtype), name.text, dtype);
    }
    heed_raise(HEED_ERR_DTYPE, "%s%s%s: %s is %s, not %s%s; heed_to(%s, %s)", call->op->name, in,
               path.text, name.text, dtype, kinds[o->kind].article, kinds[o->kind].word, name.text,
               kinds[o->kind].cast);
}

/* ---- a call ---- */

static heed_dtype result_dtype(const heed_call *call, int kind_of_y)
{
    const heed_dtype first = call->inputs[0]->dtype;
    switch (kind_of_y) {
    case IS_SAME:
        return first;
    case IS_FLOAT:
        for (int i = 0; i < call->count; i++) {
            if (heed_is_float(call->inputs[i]->dtype)) {
                return call->inputs[i]->dtype;
            }
        }
        return HEED_F32;
    case IS_NUMBER:
        return first == HEED_BOOL ? HEED_I64 : first;
    case IS_INTEGER:
        return HEED_I64;
    case IS_TRUTH:
        return HEED_BOOL;
    default:
        return first;
    }
}

static inline void match(const heed_call *call, const heed_pattern *p, heed_result *result)
{
    int64_t sizes[MOST_SIZES];
    heed_shape *shape = &result->shape; /* of "...", until all inputs are matched */
    const unsigned same = 1u << call->inputs[0]->dtype;
    for (int i = 0; i < call->count; i++) {
        const operand *o = &p->inputs[i];
        const heed_tensor *t = call->inputs[i];
        if (!((o->dtypes != 0 ? o->dtypes : same) >> t->dtype & 1)) {
            fail_dtype(call, p, i);
        }
        if (!o->has_shape) {
            continue;
        }
        if (!fits_sizes(o, t->ndim, t->shape, sizes)) {
            fail_shape(call, p, i, NULL);
        }
        if (o->is_first_batch) {
            shape->ndim = t->ndim - o->ndim;
            for (int j = 0; j < shape->ndim; j++) {
                shape->size[j] = t->shape[j];
            }
        } else if (o->has_batch && !broadcast_batch(o, t, shape)) {
            fail_shape(call, p, i, shape);
        }
    }
    const operand *y = &p->result;
    result->dtype = result_dtype(call, y->kind);
    if (!y->has_shape) {
        heed_get_shape(call->inputs[0], shape);
        return;
    }
    shape->ndim = y->has_batch ? shape->ndim : 0;
    if (shape->ndim + y->ndim > HEED_MAX_DIMS) {
        heed_raise(HEED_ERR_SHAPE, "%s: the result of %s would have %d dims; at most %d",
                   call->op->name, list_operands(p, call->inputs, call->count, -1).text,
                   shape->ndim + y->ndim, HEED_MAX_DIMS);
    }
    for (int i = 0; i < y->ndim; i++) {
        shape->size[shape->ndim++] = sizes[y->size[i]];
    }
}

void heed_match(const heed_call *call, heed_result *result)
{
    const heed_op *op = call->op;
    heed_pattern parsed;
    const heed_pattern *p = op->pattern;
    const char *at;
    if (p == NULL && !parse(op->signature, &parsed, &at)) {
        heed_raise(HEED_ERR_VALUE, "%s: malformed signature \"%s\", at \"%s\"", op->name,
                   op->signature, at);
    }
    p = p != NULL ? p : &parsed;
    if (call->count < p->required || call->count > p->count) {
        heed_raise(HEED_ERR_VALUE, "%s: got %d tensors; takes %s", op->name, call->count,
                   list_operands(p, NULL, p->count, -1).text);
    }
    match(call, p, result);
}
