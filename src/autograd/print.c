/* Formats tensors exactly like torch's repr; torch/_tensor_str.py is the reference for the
 * behaviour. Lives here and not in tensor/ because grad_fn names the operation.
 *
 * Two passes over the elements to be shown determine their common notation and width; a third one
 * writes them to a sink. Nothing is allocated, and the tensor is not modified. */

#include "../tensor/tensor.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { PREFIX_LENGTH = sizeof "tensor(" - 1, TEXT_SIZE = 256, THRESHOLD = 1000, EDGE_ITEMS = 3 };

typedef struct printer {
    const heed_tensor *t;
    int precision, linewidth;
    FILE *stream; /* or NULL: writes to `buffer` */
    char *buffer; /* `size` bytes, plus one for the terminating 0 */
    size_t size;
    size_t length; /* total length, including truncated text */
    size_t column; /* in the current line */
    bool is_whole, is_scientific;
    double largest, smallest; /* magnitudes of the finite non-zero elements; 0 if there are none */
    int width; /* shorter elements are padded to it; NaN and infinities may be longer */
} printer;

HEED_PRINTF(2, 3)
static void put(printer *p, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const size_t count = strlen(text), left = p->size > p->length ? p->size - p->length : 0;
    if (p->stream != NULL) {
        fputs(text, p->stream);
    } else if (left > 0) {
        memcpy(p->buffer + p->length, text, count < left ? count : left);
    }
    p->length += count;
    p->column += count;
}

static void put_new_lines(printer *p, int count, int indent)
{
    for (int i = 0; i < count; i++) {
        put(p, "\n");
    }
    p->column = 0;
    put(p, "%*s", indent, "");
}

/* ---- elements ---- */

static void write_element(char *text, const printer *p, int64_t offset)
{
    const double value = heed_number_at(p->t, offset);
    if (p->t->dtype == HEED_I64) {
        snprintf(text, TEXT_SIZE, "%lld", (long long)((const int64_t *)p->t->data)[offset]);
    } else if (p->t->dtype == HEED_BOOL) {
        strcpy(text, value != 0 ? "True" : "False");
    } else if (isnan(value)) { /* printf would print its sign */
        strcpy(text, "nan");
    } else if (isinf(value)) {
        strcpy(text, value < 0 ? "-inf" : "inf");
    } else if (p->is_scientific) {
        snprintf(text, TEXT_SIZE, "%.*e", p->precision, value);
    } else {
        snprintf(text, TEXT_SIZE, p->is_whole ? "%#.*f" : "%.*f", p->is_whole ? 0 : p->precision,
                 value);
    }
}

/* The index shown after `i` in a dim of this size. */
static int64_t next_shown(const printer *p, int64_t size, int64_t i)
{
    const bool is_cut = p->t->numel > THRESHOLD && size > 2 * EDGE_ITEMS;
    return is_cut && i + 1 == EDGE_ITEMS ? size - EDGE_ITEMS : i + 1;
}

/* Calls `visit` for the elements shown along `dim` and the dims after it. Recurses at most
 * HEED_MAX_DIMS deep. Floats that are 0, NaN or infinite affect neither notation nor width. */
static void survey(printer *p, void (*visit)(printer *p, int64_t offset), int dim, int64_t offset)
{
    if (dim < p->t->ndim) {
        const int64_t size = p->t->shape[dim];
        for (int64_t i = 0; i < size; i = next_shown(p, size, i)) {
            survey(p, visit, dim + 1, offset + i * p->t->strides[dim]);
        }
        return;
    }
    const double value = heed_number_at(p->t, offset);
    if (!heed_is_float(p->t->dtype) || (isfinite(value) && value != 0)) {
        visit(p, offset);
    }
}

static void note_range(printer *p, int64_t offset)
{
    const double value = heed_number_at(p->t, offset), magnitude = fabs(value);
    p->largest = fmax(p->largest, magnitude);
    p->smallest = p->smallest == 0 ? magnitude : fmin(p->smallest, magnitude);
    p->is_whole = p->is_whole && value == ceil(value);
}

static void note_width(printer *p, int64_t offset)
{
    char text[TEXT_SIZE];
    write_element(text, p, offset);
    p->width = (int)strlen(text) > p->width ? (int)strlen(text) : p->width;
}

/* Chooses scientific notation if the range is wide, or if numbers are very large or very small. */
static void choose_format(printer *p)
{
    p->is_whole = true;
    survey(p, note_range, 0, 0);
    p->is_scientific = p->largest != 0 && (p->largest / p->smallest > 1000.0 ||
                                           p->largest > 1.0e8 || p->smallest < 1.0e-4);
    p->width = 1;
    survey(p, note_width, 0, 0);
}

/* Writes the separator after the first `count` items of a dim. Each row begins a new line, matrices
 * are separated by an empty line, and so on. Elements of a row fill lines of the given width,
 * computed as torch does: an element longer than p->width overflows its line. */
static void separate(printer *p, int dim, int64_t count)
{
    const int indent = PREFIX_LENGTH + dim, dims_inside = p->t->ndim - 1 - dim;
    const int64_t per_line = (p->linewidth - indent) / (p->width + 2);
    if (count == 0) {
        return;
    }
    if (dims_inside == 0 && per_line > 1 && count % per_line != 0) {
        put(p, ", ");
        return;
    }
    put(p, ",");
    put_new_lines(p, dims_inside > 0 ? dims_inside : 1, indent + 1);
}

/* Writes the elements shown along `dim` and the dims after it. Recurses at most HEED_MAX_DIMS
 * deep. */
static void put_items(printer *p, int dim, int64_t offset)
{
    if (dim == p->t->ndim) {
        char text[TEXT_SIZE];
        write_element(text, p, offset);
        put(p, "%*s", p->width, text);
        return;
    }
    int64_t size = p->t->shape[dim], count = 0, before = -1;
    put(p, "[");
    for (int64_t i = 0; i < size; before = i, i = next_shown(p, size, i)) {
        if (i != before + 1) {
            separate(p, dim, count++);
            put(p, dim == p->t->ndim - 1 ? " ..." : "...");
        }
        separate(p, dim, count++);
        put_items(p, dim + 1, offset + i * p->t->strides[dim]);
    }
    put(p, "]");
}

/* ---- after the elements: size, dtype, graph ---- */

/* Continues the line if the text fits, else starts a new one. `slack` is 2 until the first new
 * line: torch overestimates the length of the last line of elements by 2. */
static void put_suffix(printer *p, size_t *slack, const char *before, const char *name,
                       const char *after)
{
    const size_t length = strlen(before) + strlen(name) + strlen(after);
    if (p->column + *slack + length + 2 > (size_t)p->linewidth) {
        put(p, ",");
        put_new_lines(p, 1, PREFIX_LENGTH);
        *slack = 0;
    } else {
        put(p, ", ");
    }
    put(p, "%s%s%s", before, name, after);
}

/* log_softmax becomes LogSoftmax, log1p becomes Log1P: a letter not preceded by a letter is
 * capitalised, and underscores are dropped. */
static void write_class(char *text, const heed_op *op)
{
    size_t length = 0;
    bool in_word = false;
    for (const char *c = op->torch != NULL ? op->torch : op->name; *c != '\0'; c++) {
        const bool letter = *c >= 'a' && *c <= 'z';
        if (*c != '_' && length + 1 < TEXT_SIZE / 2) {
            text[length++] = letter && !in_word ? (char)(*c - 'a' + 'A') : *c;
        }
        in_word = letter;
    }
    text[length] = '\0';
}

static void print_tensor(printer *p)
{
    static const char *const dtypes[] = {"float32", "float64", "int64", "bool"};
    const heed_tensor *t = p->t;
    size_t slack = 2;
    put(p, "tensor(");
    if (t->numel == 0) {
        put(p, "[]");
    } else {
        choose_format(p);
        put_items(p, 0, 0);
    }
    if (t->numel == 0 && t->ndim != 1) {
        put_suffix(p, &slack, "size=", HEED_TEXT(t), "");
    }
    if (t->dtype == HEED_F64 || (t->numel == 0 && t->dtype != HEED_F32)) {
        put_suffix(p, &slack, "dtype=torch.", dtypes[t->dtype], "");
    }
    if (t->op != NULL) {
        char name[TEXT_SIZE / 2];
        write_class(name, t->op);
        put_suffix(p, &slack, "grad_fn=<", name, "Backward0>");
    } else if (t->requires_grad) {
        put_suffix(p, &slack, "requires_grad=True", "", "");
    }
    put(p, ")");
}

/* ---- the public functions ---- */

/* Returns the length of the text; 0 after an error. */
static size_t print(const char *function, printer p)
{
    if (heed_check_tensor(function, "t", p.t) != HEED_OK) {
        return 0;
    }
    if (p.precision < 0 || p.precision > 17 || p.linewidth < 0) {
        heed_fail(HEED_ERR_VALUE,
                  "%s: precision %d, linewidth %d; neither may be negative, and precision is at "
                  "most 17",
                  function, p.precision, p.linewidth);
        return 0;
    }
    p.precision = p.precision != 0 ? p.precision : 4;
    p.linewidth = p.linewidth != 0 ? p.linewidth : 80;
    print_tensor(&p);
    return p.length;
}

/* Locks the stream so that output from several threads does not interleave. */
static heed_status print_to(const char *function, heed_fprint_args a, const char *end)
{
    if (a.stream == NULL || heed_blocked()) {
        return heed_fail(HEED_ERR_NULL, "%s: stream is NULL", function);
    }
    flockfile(a.stream);
    const size_t length = print(function, (printer){.stream = a.stream,
                                                    .t = a.t,
                                                    .precision = a.precision,
                                                    .linewidth = a.linewidth});
    fputs(length > 0 ? end : "", a.stream);
    funlockfile(a.stream);
    return heed_error_pending();
}

heed_status heed_print(const heed_tensor *t)
{
    return print_to("print", (heed_fprint_args){.stream = stdout, .t = t}, "\n");
}

heed_status(heed_fprint)(heed_fprint_args args)
{
    return print_to("fprint", args, "");
}

size_t(heed_snprint)(heed_snprint_args a)
{
    const size_t space = a.buffer != NULL && a.size > 0 ? a.size - 1 : 0;
    const size_t length = print("snprint", (printer){.buffer = a.buffer,
                                                     .size = space,
                                                     .t = a.t,
                                                     .precision = a.precision,
                                                     .linewidth = a.linewidth});
    if (a.buffer != NULL && a.size > 0) {
        a.buffer[length < space ? length : space] = '\0';
    }
    return length;
}
