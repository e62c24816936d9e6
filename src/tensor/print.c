/* Formats tensors exactly like torch's repr; torch/_tensor_str.py is the reference for the
 * behaviour.
 *
 * A first pass over the elements to be shown determines their common notation and width. A second
 * pass writes them to a sink. Nothing is allocated, the cost is linear in the output, and the
 * tensor is not modified. */

#include "print.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "handle.h"
#include "shape.h"
#include "text.h"
#include "thread.h"

enum { PREFIX_LENGTH = sizeof "tensor(" - 1, ELEMENT_SIZE = 64, MAX_PRECISION = 17 };

/* ---- the sink: a stream, a buffer, or neither, to measure only ---- */

typedef struct sink {
    FILE *stream;
    char *buffer; /* `size` bytes, plus one for the terminating 0 */
    size_t size;
    size_t length; /* total length, including truncated text */
    size_t column; /* in the current line */
} sink;

static void put_bytes(sink *out, const char *text, size_t count)
{
    if (out->stream != NULL) {
        fwrite(text, 1, count, out->stream);
    } else if (out->length < out->size) {
        size_t left = out->size - out->length;
        memcpy(out->buffer + out->length, text, count < left ? count : left);
    }
    out->length += count;
    out->column += count;
}

static void put(sink *out, const char *text)
{
    put_bytes(out, text, strlen(text));
}

static void put_spaces(sink *out, int count)
{
    for (int i = 0; i < count; i++) {
        put_bytes(out, " ", 1);
    }
}

static void put_new_lines(sink *out, int count, int indent)
{
    for (int i = 0; i < count; i++) {
        put_bytes(out, "\n", 1);
    }
    out->column = 0;
    put_spaces(out, indent);
}

/* ---- elements and their notation ---- */

typedef enum notation {
    WHOLE,      /* "3." or an i64: no digits after the point */
    FIXED,      /* "3.1400" */
    SCIENTIFIC, /* "3.1400e+00" */
} notation;

typedef struct printer {
    sink *out;
    const heed_tensor *t;
    heed_print_options options;
    bool summarised;
    notation notation;
    int width; /* shorter elements are padded to it; some may be longer */
} printer;

/* True if a dim of this size is truncated to edgeitems at each end. */
static bool cut(const printer *p, int64_t size)
{
    return p->summarised && size > 2LL * p->options.edgeitems;
}

/* The index shown after `i` in a dim of this size. */
static int64_t next_shown(const printer *p, int64_t size, int64_t i)
{
    return cut(p, size) && i + 1 == p->options.edgeitems ? size - p->options.edgeitems : i + 1;
}

static void write_float(char *text, const printer *p, double value)
{
    if (isnan(value)) { /* printf would print its sign */
        strcpy(text, "nan");
    } else if (isinf(value)) {
        strcpy(text, value < 0 ? "-inf" : "inf");
    } else if (p->notation == WHOLE) {
        snprintf(text, ELEMENT_SIZE, "%.0f.", value);
    } else {
        const char *format = p->notation == FIXED ? "%.*f" : "%.*e";
        snprintf(text, ELEMENT_SIZE, format, p->options.precision, value);
    }
}

static void write_element(char *text, const printer *p, int64_t offset)
{
    switch (p->t->dtype) {
    case HEED_I64:
        snprintf(text, ELEMENT_SIZE, "%lld", (long long)((const int64_t *)p->t->data)[offset]);
        break;
    case HEED_BOOL:
        strcpy(text, ((const bool *)p->t->data)[offset] ? "True" : "False");
        break;
    default:
        write_float(text, p, heed_number_at(p->t, offset));
    }
}

/* ---- first pass: notation and width ---- */

/* Extremes of the finite non-zero elements. In any notation, the longest text among elements of one
 * sign is that of the largest or the smallest magnitude (whose exponent may be longer), so these
 * four determine the width. Index 1 is for negative elements. */
typedef struct extent {
    double largest[2], smallest[2]; /* magnitudes; 0 if no element has this sign */
    bool fractions;
} extent;

static void note_width(printer *p, const char *text)
{
    int length = (int)strlen(text);
    p->width = length > p->width ? length : p->width;
}

/* Visits the elements shown along `dim` and the dims after it. Recurses at most HEED_MAX_DIMS
 * deep. */
static void survey(printer *p, extent *seen, int dim, int64_t offset)
{
    char text[ELEMENT_SIZE];
    if (dim < p->t->ndim) {
        int64_t size = p->t->shape[dim];
        for (int64_t i = 0; i < size; i = next_shown(p, size, i)) {
            survey(p, seen, dim + 1, offset + i * p->t->strides[dim]);
        }
        return;
    }
    if (!heed_is_float(p->t->dtype)) {
        write_element(text, p, offset);
        note_width(p, text);
        return;
    }
    const double value = heed_number_at(p->t, offset), magnitude = fabs(value);
    if (isfinite(value) && value != 0) {
        double *largest = &seen->largest[value < 0], *smallest = &seen->smallest[value < 0];
        *largest = fmax(*largest, magnitude);
        *smallest = *smallest == 0 ? magnitude : fmin(*smallest, magnitude);
        seen->fractions = seen->fractions || value != ceil(value);
    }
}

/* Chooses scientific notation if the range is wide, or if numbers are very large or very small.
 * Zeros, NaN and infinities affect neither notation nor width. */
static void choose_format(printer *p)
{
    extent seen = {{0}, {0}, false};
    p->width = 1;
    survey(p, &seen, 0, 0);
    const double largest = fmax(seen.largest[0], seen.largest[1]);
    double smallest = seen.smallest[0];
    if (smallest == 0 || (seen.smallest[1] != 0 && seen.smallest[1] < smallest)) {
        smallest = seen.smallest[1];
    }
    p->notation = seen.fractions ? FIXED : WHOLE;
    if (largest != 0 && (largest / smallest > 1000.0 || largest > 1.0e8 || smallest < 1.0e-4)) {
        p->notation = SCIENTIFIC;
    }
    for (int sign = 0; sign < 2; sign++) {
        double ends[2] = {seen.smallest[sign], seen.largest[sign]};
        for (int i = 0; i < 2 && ends[i] != 0; i++) {
            char text[ELEMENT_SIZE];
            write_float(text, p, sign ? -ends[i] : ends[i]);
            note_width(p, text);
        }
    }
}

/* ---- second pass: the text ---- */

/* Writes the separator after the first `count` items of a dim. Each row begins a new line, matrices
 * are separated by an empty line, and so on. Elements of a row fill lines of the given width,
 * computed as torch does: an element longer than p->width overflows its line. */
static void separate(printer *p, int dim, int64_t count)
{
    int indent = PREFIX_LENGTH + dim;
    int dims_inside = p->t->ndim - 1 - dim;
    int64_t per_line = (p->options.linewidth - indent) / (p->width + 2);
    if (count == 0) {
        return;
    }
    if (dims_inside > 0) {
        put(p->out, ",");
        put_new_lines(p->out, dims_inside, indent + 1);
    } else if (per_line <= 1 || count % per_line == 0) {
        put(p->out, ",");
        put_new_lines(p->out, 1, indent + 1);
    } else {
        put(p->out, ", ");
    }
}

/* Writes the elements shown along `dim` and the dims after it. Recurses at most HEED_MAX_DIMS
 * deep. */
static void put_items(printer *p, int dim, int64_t offset)
{
    if (dim == p->t->ndim) {
        char text[ELEMENT_SIZE];
        write_element(text, p, offset);
        put_spaces(p->out, p->width - (int)strlen(text));
        put(p->out, text);
        return;
    }
    int64_t size = p->t->shape[dim], count = 0, before = -1;
    put(p->out, "[");
    for (int64_t i = 0; i < size; before = i, i = next_shown(p, size, i)) {
        if (i != before + 1) {
            separate(p, dim, count++);
            put(p->out, dim == p->t->ndim - 1 ? " ..." : "...");
        }
        separate(p, dim, count++);
        put_items(p, dim + 1, offset + i * p->t->strides[dim]);
    }
    put(p->out, "]");
}

/* ---- after the elements: size, dtype, graph ---- */

static void put_size(sink *out, const heed_tensor *t)
{
    put(out, "size=");
    put(out, HEED_TEXT(t));
}

static void put_dtype(sink *out, const heed_tensor *t)
{
    static const char *const names[] = {"float32", "float64", "int64", "bool"};
    put(out, "dtype=torch.");
    put(out, names[t->dtype]);
}

/* log_softmax becomes LogSoftmaxBackward0, log1p becomes Log1PBackward0: a letter not preceded by a
 * letter is capitalised, and underscores are dropped. struct heed_op is defined in the layer above,
 * which guarantees that its first members are the name, and torch's name or NULL. */
static void put_graph(sink *out, const heed_tensor *t)
{
    if (t->op == NULL) {
        put(out, "requires_grad=True");
        return;
    }
    const char *const *names = (const char *const *)t->op;
    bool in_word = false;
    put(out, "grad_fn=<");
    for (const char *c = names[1] != NULL ? names[1] : names[0]; *c != '\0'; c++) {
        bool letter = *c >= 'a' && *c <= 'z';
        char shown = letter && !in_word ? (char)(*c - 'a' + 'A') : *c;
        put_bytes(out, &shown, *c == '_' ? 0 : 1);
        in_word = letter;
    }
    put(out, "Backward0>");
}

/* Continues the line if the text fits, else starts a new one. `slack` is 2 until the first new
 * line: torch overestimates the length of the last line of elements by 2. */
static void put_suffix(printer *p, void (*write)(sink *, const heed_tensor *), size_t *slack)
{
    sink measure = {0};
    write(&measure, p->t);
    if (p->out->column + *slack + measure.length + 2 > (size_t)p->options.linewidth) {
        put(p->out, ",");
        put_new_lines(p->out, 1, PREFIX_LENGTH);
        *slack = 0;
    } else {
        put(p->out, ", ");
    }
    write(p->out, p->t);
}

/* ---- the public functions ---- */

static heed_status check(const char *function, const heed_tensor *t, heed_print_options *options)
{
    if (heed_blocked() || heed_check_tensor(function, "t", t) != HEED_OK) {
        return heed_self.error;
    }
    if (options->precision < 0 || options->precision > MAX_PRECISION || options->threshold < 0 ||
        options->edgeitems < 0 || options->linewidth < 0) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: precision %d, threshold %d, edgeitems %d, linewidth %d; none may be "
                         "negative, and precision is at most %d",
                         function, options->precision, options->threshold, options->edgeitems,
                         options->linewidth, MAX_PRECISION);
    }
    options->precision = options->precision != 0 ? options->precision : 4;
    options->threshold = options->threshold != 0 ? options->threshold : 1000;
    options->edgeitems = options->edgeitems != 0 ? options->edgeitems : 3;
    options->linewidth = options->linewidth != 0 ? options->linewidth : 80;
    return HEED_OK;
}

static void print_into(sink *out, const heed_tensor *t, heed_print_options options)
{
    HEED_DECIMAL_POINT; /* as in Python */
    printer p = {.out = out, .t = t, .options = options};
    p.summarised = t->numel > options.threshold;
    put(out, "tensor(");
    if (t->numel == 0) {
        put(out, "[]");
    } else {
        choose_format(&p);
        put_items(&p, 0, 0);
    }
    size_t slack = 2;
    if (t->numel == 0 && t->ndim != 1) {
        put_suffix(&p, put_size, &slack);
    }
    if (t->dtype == HEED_F64 || (t->numel == 0 && t->dtype != HEED_F32)) {
        put_suffix(&p, put_dtype, &slack);
    }
    if (t->op != NULL || t->requires_grad) {
        put_suffix(&p, put_graph, &slack);
    }
    put(out, ")");
}

/* Locks the stream so that output from several threads does not interleave. */
static heed_status print_to(const char *function, FILE *stream, const heed_tensor *t,
                            heed_print_options options, const char *end)
{
    if (check(function, t, &options) != HEED_OK) {
        return heed_self.error;
    }
    if (stream == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: stream is NULL", function);
    }
    sink out = {.stream = stream};
    flockfile(stream);
    print_into(&out, t, options);
    put(&out, end);
    funlockfile(stream);
    return HEED_OK;
}

heed_status heed_print(const heed_tensor *t)
{
    return print_to("print", stdout, t, (heed_print_options){0}, "\n");
}

heed_status heed_fprint(FILE *stream, const heed_tensor *t)
{
    return heed_fprint_with(stream, t, (heed_print_options){0});
}

heed_status heed_fprint_with(FILE *stream, const heed_tensor *t, heed_print_options options)
{
    return print_to("fprint", stream, t, options, "");
}

size_t heed_snprint(char *buffer, size_t size, const heed_tensor *t)
{
    return heed_snprint_with(buffer, size, t, (heed_print_options){0});
}

size_t heed_snprint_with(char *buffer, size_t size, const heed_tensor *t,
                         heed_print_options options)
{
    sink out = {.buffer = buffer, .size = buffer != NULL && size > 0 ? size - 1 : 0};
    if (check("snprint", t, &options) == HEED_OK) {
        print_into(&out, t, options);
    }
    if (buffer != NULL && size > 0) {
        buffer[out.length < out.size ? out.length : out.size] = '\0';
    }
    return out.length;
}
