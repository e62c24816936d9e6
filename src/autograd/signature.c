/* Signatures: the line that documents the shapes and dtypes of an operation (heed_op.signature in
 * heed.h has the notation) also checks its inputs and describes its result.
 *
 * heed_register parses a signature once. One that is malformed, or belongs to an operation that is
 * not registered, is parsed at each call, which reports the fault. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "autograd.h"

enum { MOST_INPUTS = 8, MOST_SIZES = 16, NEW = 0x80 };

/* The dtypes of an operand: those in a bit set, or, for IS_SAME, that of the first input. */
typedef enum kind { IS_FLOAT, IS_NUMBER, IS_INTEGER, IS_TRUTH, IS_ANY, IS_SAME } kind;

static const struct {
    const char *word, *article;
    unsigned dtypes;
    const char *cast; /* the dtype to cast others to */
} kinds[] = {{"float", "a ", 1u << HEED_F32 | 1u << HEED_F64, "HEED_F32"},
             {"number", "a ", 1u << HEED_F32 | 1u << HEED_F64 | 1u << HEED_I64, "HEED_F32"},
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
    uint8_t size[HEED_MAX_DIMS]; /* indices in heed_pattern.sizes; | NEW: no input before has it */
} operand;

struct heed_pattern {
    int required, count; /* inputs */
    operand inputs[MOST_INPUTS], result;
    bool has_batch; /* an input has "..." */
    int size_count;
    const char *sizes[MOST_SIZES]; /* their names, in the signature */
    const char *at;                /* the next byte to parse: in the end, a fault or "" */
};

/* ---- parsing: each function returns false at a fault ---- */

/* strspn would make a table at each call: half of the instructions before main. */
size_t heed_word_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_') {
        length++;
    }
    return length;
}

/* Moves past the token, if it is next, and past spaces. */
static bool accept(heed_pattern *p, const char *token)
{
    const size_t length = strlen(token);
    const bool is_next = strncmp(p->at, token, length) == 0;
    p->at += is_next ? length : 0;
    p->at += strspn(p->at, " ");
    return is_next;
}

static bool read_size(heed_pattern *p, bool of_result, uint8_t *size)
{
    const size_t length = heed_word_length(p->at);
    int i = 0;
    while (i < p->size_count &&
           (heed_word_length(p->sizes[i]) != length || strncmp(p->sizes[i], p->at, length) != 0)) {
        i++;
    }
    const bool is_new = i == p->size_count;
    if (length == 0 || *p->at <= '9' || i == MOST_SIZES || (of_result && is_new)) {
        return false;
    }
    p->sizes[i] = p->at;
    p->size_count += is_new;
    p->at += length;
    *size = (uint8_t)(is_new ? i | NEW : i);
    return true;
}

/* "(..., out, in)", or nothing. */
static bool read_shape(heed_pattern *p, bool of_result, operand *o)
{
    o->has_shape = accept(p, "(");
    o->has_batch = o->has_shape && accept(p, "...");
    o->is_first_batch = o->has_batch && !p->has_batch;
    p->has_batch = p->has_batch || o->has_batch;
    if (of_result && o->is_first_batch) {
        return false;
    }
    if (!o->has_shape || accept(p, ")")) {
        return true;
    }
    if (o->has_batch && !accept(p, ",")) {
        return false;
    }
    do {
        if (o->ndim == HEED_MAX_DIMS || !read_size(p, of_result, &o->size[o->ndim++])) {
            return false;
        }
    } while (accept(p, ","));
    return accept(p, ")");
}

static bool read_kind(heed_pattern *p, operand *o)
{
    const size_t length = heed_word_length(p->at);
    for (o->kind = 0; o->kind < IS_SAME; o->kind++) {
        if (strlen(kinds[o->kind].word) == length && accept(p, kinds[o->kind].word)) {
            o->dtypes = (uint8_t)kinds[o->kind].dtypes;
            return true;
        }
    }
    return length == 0;
}

static bool read_input(heed_pattern *p)
{
    operand *o = &p->inputs[p->count++];
    o->text = p->at;
    o->name_length = (uint8_t)heed_word_length(p->at);
    p->at += o->name_length;
    const bool is_required = !accept(p, "?");
    p->required += is_required;
    if (o->name_length == 0 || (is_required && p->required < p->count) ||
        !read_shape(p, false, o)) {
        return false;
    }
    o->length = (uint8_t)(p->at - o->text);
    while (o->text[o->length - 1] == ' ') {
        o->length--;
    }
    return read_kind(p, o);
}

static bool parse(const char *signature, heed_pattern *p)
{
    bool fits = strlen(signature) <= UINT8_MAX;
    *p = (heed_pattern){.at = signature, .result.kind = IS_SAME};
    do {
        fits = fits && p->count < MOST_INPUTS && read_input(p);
    } while (fits && accept(p, ","));
    if (fits && accept(p, "->")) {
        fits = read_shape(p, true, &p->result) && read_kind(p, &p->result);
    }
    return fits && *p->at == '\0';
}

/* Before main, so without errors: what fails here is parsed at each call. */
void heed_parse_signature(heed_op *op)
{
    heed_pattern p;
    op->pattern = NULL;
    if (op->signature != NULL && parse(op->signature, &p) &&
        (op->pattern = malloc(sizeof p)) != NULL) {
        *op->pattern = p;
        op->inputs = p.required == p.count ? p.count : HEED_ANY_COUNT;
    }
}

/* The pattern of an operation, which may be parsed into *p; NULL: the signature is malformed. */
static inline const heed_pattern *find_pattern(const heed_op *op, heed_pattern *p)
{
    return op->pattern != NULL ? op->pattern : parse(op->signature, p) ? p : NULL;
}

heed_text heed_input_name(const heed_op *op, int i)
{
    heed_text name;
    heed_pattern parsed;
    const bool has = op != NULL && op->signature != NULL;
    const heed_pattern *p = has ? find_pattern(op, &parsed) : NULL;
    if (p != NULL && i < p->count) {
        snprintf(name.text, sizeof name.text, "%.*s", p->inputs[i].name_length, p->inputs[i].text);
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
    if (batch->ndim == ndim &&
        memcmp(batch->size, t->shape, sizeof *t->shape * (size_t)ndim) == 0) {
        return true;
    }
    heed_shape dims = heed_shape_of_tensor(t), joined;
    dims.ndim = ndim;
    const bool fits = heed_broadcast(NULL, batch, &dims, &joined);
    *batch = fits ? joined : *batch;
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

/* A weight of the module whose forward runs: the caller cannot change it, but the input. */
static bool is_parameter(const heed_tensor *t)
{
    return heed_self.place != NULL && t->op == NULL && t->requires_grad;
}

/* Input i has the wrong shape. `batch`: the dims in place of "..." so far, if these do not
 * broadcast. */
_Noreturn static void fail_shape(const heed_call *call, const heed_pattern *p, int i,
                                 const heed_shape *batch)
{
    const int blamed = is_parameter(call->inputs[i]) ? 0 : i;
    const operand *o = &p->inputs[blamed];
    const heed_tensor *t = call->inputs[blamed];
    char hint[500] = "";
    if (batch != NULL) {
        snprintf(hint, sizeof hint,
                 "; \"...\" is %s and %s, which do not broadcast: make their sizes equal or "
                 "one of them 1; heed_unsqueeze, heed_expand and heed_flatten repeat a dim",
                 heed_shape_text(batch->ndim, batch->size).text,
                 heed_shape_text(call->inputs[i]->ndim - p->inputs[i].ndim, call->inputs[i]->shape)
                     .text);
    }
    for (int j = i; batch == NULL && *hint == '\0' && j >= 0; j--) {
        if (!is_parameter(call->inputs[j]) && fits_transposed(p, call->inputs, i + 1, j)) {
            snprintf(hint, sizeof hint, "; did you mean heed_transpose(%.*s, -2, -1)?",
                     p->inputs[j].name_length, p->inputs[j].text);
        }
    }
    heed_raise(HEED_ERR_SHAPE, "%s%s: %.*s %s does not fit%s%s: takes %s%s", call->op->name,
               heed_place_text(heed_module_path()).text, o->name_length, o->text, HEED_TEXT(t),
               call->count > 1 ? " " : "", list_operands(p, call->inputs, call->count, blamed).text,
               list_operands(p, NULL, call->count, -1).text, hint);
}

_Noreturn static void fail_dtype(const heed_call *call, const heed_pattern *p, int i)
{
    const operand *o = &p->inputs[i], *first = &p->inputs[0];
    const heed_tensor *t = call->inputs[i], *x = call->inputs[0];
    const heed_text path = heed_place_text(heed_module_path());
    if (o->kind == IS_SAME) {
        heed_raise(HEED_ERR_DTYPE, "%s%s: %.*s is %s and %.*s %s; cast %s with heed_to%s",
                   call->op->name, path.text, first->name_length, first->text,
                   heed_dtype_name(x->dtype), o->name_length, o->text, heed_dtype_name(t->dtype),
                   is_parameter(t) ? "it" : "one of them",
                   is_parameter(t) ? ", or the module with heed_module_to" : "");
    }
    heed_raise(HEED_ERR_DTYPE, "%s%s: %.*s is %s, not %s%s; heed_to(%.*s, %s)", call->op->name,
               path.text, o->name_length, o->text, heed_dtype_name(t->dtype),
               kinds[o->kind].article, kinds[o->kind].word, o->name_length, o->text,
               kinds[o->kind].cast);
}

/* ---- a call ---- */

static inline heed_dtype result_dtype(const heed_call *call, int kind_of_y)
{
    const heed_dtype first = call->inputs[0]->dtype;
    switch (kind_of_y) {
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

void heed_match(const heed_call *call, heed_result *result)
{
    const heed_op *op = call->op;
    heed_pattern parsed;
    const heed_pattern *p = find_pattern(op, &parsed);
    if (p == NULL) {
        heed_raise(HEED_ERR_VALUE, "%s: malformed signature \"%s\", at \"%s\"", op->name,
                   op->signature, parsed.at);
    }
    if (call->count < p->required || call->count > p->count) {
        heed_raise(HEED_ERR_VALUE, "%s: got %d tensors; takes %s", op->name, call->count,
                   list_operands(p, NULL, p->count, -1).text);
    }
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
