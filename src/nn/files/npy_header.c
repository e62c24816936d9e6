/* The header of a .npy file is a dict as Python writes it. Read here is what a program may have
 * written: three members in any order, white space, commas at the end, both quotation marks and the
 * L of Python 2, as numpy.load reads them. What only a person would write, it reads too, and this
 * does not: comments, escapes, prefixes of strings, 0x10 and 1_000, a dtype's long name. A key that
 * is there twice is refused. */
#include "npy_header.h"

#include <stdio.h>
#include <string.h>

#include "file_error.h"

/* In the order of heed_dtype come those that are written. */
static const heed_file_dtype dtypes[] = {
    {"f4", 32, HEED_F32, HEED_DECODE_COPY}, {"f8", 64, HEED_F64, HEED_DECODE_COPY},
    {"i8", 64, HEED_I64, HEED_DECODE_COPY}, {"b1", 8, HEED_BOOL, HEED_DECODE_BOOL},
    {"f2", 16, HEED_F32, HEED_DECODE_F16},  {"i4", 32, HEED_I64, HEED_DECODE_I32},
};

typedef struct reader {
    heed_npy_header *header;
    const char *function, *path;
    char *start, *at, *end; /* *end is '\0' */
    int version;
} reader;

/* HEED_ERR_FORMAT: what is wrong where the reader stands. */
static bool fail(const reader *r, const char *wrong)
{
    heed_fail(HEED_ERR_FORMAT, "%s: %s: at byte %lld of the header: %s", r->function,
              heed_show_path(r->path).text, (long long)(r->at - r->start), wrong);
    return false;
}

/* ---- words of the language ---- */

static void skip_space(reader *r)
{
    while (*r->at == ' ' || (*r->at >= '\t' && *r->at <= '\r' && *r->at != '\v')) {
        r->at++;
    }
}

/* Steps over c, if it comes next. */
static bool next_is(reader *r, char c)
{
    skip_space(r);
    const bool is = *r->at == c;
    r->at += is;
    return is;
}

/* A string, whose closing mark becomes its end; NULL where it is none. */
static const char *read_string(reader *r)
{
    skip_space(r);
    const char mark = *r->at;
    if (mark != '\'' && mark != '"') {
        fail(r, "a string is expected");
        return NULL;
    }
    char *string = ++r->at;
    while (*r->at >= ' ' && *r->at < 0x7f && *r->at != mark && *r->at != '\\') {
        r->at++;
    }
    if (*r->at != mark) {
        fail(r, r->at == r->end ? "it ends inside a string"
                                : "a character that such strings do not have");
        return NULL;
    }
    *r->at++ = '\0';
    return string;
}

/* True or False. */
static bool read_bool(reader *r, bool *value)
{
    static const char *const words[] = {"False", "True"};
    skip_space(r);
    for (int i = 0; i < 2; i++) {
        const size_t length = strlen(words[i]);
        if (strncmp(r->at, words[i], length) == 0) {
            r->at += length;
            *value = i == 1;
            return true;
        }
    }
    return fail(r, "True or False is expected");
}

/* A whole number; Python 2 ends some in L. */
static bool read_size(reader *r, int64_t *size)
{
    skip_space(r);
    const char *first = r->at;
    bool fits = true;
    for (*size = 0; *r->at >= '0' && *r->at <= '9'; r->at++) {
        fits = fits && !__builtin_mul_overflow(*size, 10, size) &&
               !__builtin_add_overflow(*size, *r->at - '0', size);
    }
    if (r->at == first || (*first == '0' && r->at > first + 1)) {
        return fail(r, "a whole number, 0 or more, is expected");
    }
    r->at += *r->at == 'L' && r->version < 3;
    return fits || fail(r, "a number is larger than 2^63 - 1");
}

/* ---- the members ---- */

static bool fail_dtype(const reader *r, const char *what, const char *way_out)
{
    heed_fail(HEED_ERR_DTYPE, "%s: %s: its elements are %s, for which Heed has no dtype; save %s",
              r->function, heed_show_path(r->path).text, what, way_out);
    return false;
}

/* A dtype that numpy has and Heed has not; or nothing of the kind. */
static bool refuse_descr(const reader *r, const char *descr, const char *type)
{
    static const struct {
        char kind;
        const char *what, *way_out;
    } kinds[] = {
        {'i', "integers", "x.astype('i8')"},
        {'u', "integers", "x.astype('i8')"},
        {'f', "floats", "x.astype('f8')"},
        {'c', "complex numbers", "x.real and x.imag, each in a file of its own"},
        {'O', "Python objects", "numbers, x.astype('f4')"},
        {'S', "texts", "numbers, x.astype('f4')"},
        {'U', "texts", "numbers, x.astype('f4')"},
        {'M', "dates", "x.astype('i8')"},
        {'m', "spans of time", "x.astype('i8')"},
        {'V', "bytes without a meaning", "x.astype('f4')"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (*type == kinds[i].kind && (*type == 'O' || (type[1] >= '0' && type[1] <= '9'))) {
            char what[200];
            snprintf(what, sizeof what, "%s, '%s'", kinds[i].what, heed_show_name(descr).text);
            return fail_dtype(r, what, kinds[i].way_out);
        }
    }
    heed_fail(HEED_ERR_FORMAT, "%s: %s: '%s' is no descr of a dtype", r->function,
              heed_show_path(r->path).text, heed_show_name(descr).text);
    return false;
}

/* '<f4': little-endian floats of four bytes. Without a sign, or with = or |, it is the machine's
 * order, which is the same. */
static bool read_descr(reader *r)
{
    skip_space(r);
    if (*r->at == '[' || *r->at == '(') {
        return fail_dtype(r, "structured", "each field in a file of its own, as x['name']");
    }
    const char *descr = read_string(r);
    if (descr == NULL) {
        return false;
    }
    const char *type = descr + (*descr != '\0' && strchr("<>=|", *descr) != NULL);
    r->header->big_endian = *descr == '>';
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(type, dtypes[i].name) == 0) {
            r->header->dtype = &dtypes[i];
            return true;
        }
    }
    return refuse_descr(r, descr, type);
}

static bool read_order(reader *r)
{
    return read_bool(r, &r->header->fortran);
}

/* (), (3,), (2, 3) or (2, 3,); (3) is no tuple. */
static bool read_shape(reader *r)
{
    heed_shape *shape = &r->header->shape;
    heed_dim_count count = HEED_NO_DIMS;
    bool fits = true, comma = false;
    int ndim = 0;
    if (!next_is(r, '(')) {
        return fail(r, "a tuple is expected");
    }
    for (; !next_is(r, ')'); ndim++) {
        int64_t size = 0;
        if (ndim > 0 && !comma) {
            return fail(r, "',' or ')' is expected");
        }
        if (!read_size(r, &size)) {
            return false;
        }
        fits = heed_count_dim(&count, size);
        if (ndim < HEED_MAX_DIMS) {
            shape->size[ndim] = size;
        }
        comma = next_is(r, ',');
    }
    if (ndim == 1 && !comma) {
        return fail(r, "a tuple is expected, and one of a single number has a comma");
    }
    r->header->numel = count.numel;
    shape->ndim = ndim;
    return fits || fail(r, "its shape has more elements than a file can hold");
}

static bool read_member(reader *r, bool seen[3])
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    static bool (*const read[])(reader *) = {read_descr, read_order, read_shape};
    const char *key = read_string(r);
    int i = 0;
    if (key == NULL) {
        return false;
    }
    while (i < 3 && strcmp(keys[i], key) != 0) {
        i++;
    }
    if (i == 3 || seen[i]) {
        heed_fail(HEED_ERR_FORMAT, "%s: %s: %s '%s'%s", r->function, heed_show_path(r->path).text,
                  i == 3 ? "unknown key" : "the key", heed_show_name(key).text,
                  i == 3 ? "" : " is there twice");
        return false;
    }
    seen[i] = true;
    return next_is(r, ':') ? read[i](r) : fail(r, "':' is expected");
}

static bool read_dict(reader *r)
{
    bool seen[3] = {false, false, false}, comma = true;
    if (!next_is(r, '{')) {
        return fail(r, "'{' is expected");
    }
    while (!next_is(r, '}')) {
        if (!comma) {
            return fail(r, "',' or '}' is expected");
        }
        if (!read_member(r, seen)) {
            return false;
        }
        comma = next_is(r, ',');
    }
    skip_space(r);
    if (r->at < r->end) {
        return fail(r, "something follows the closing '}'");
    }
    return (seen[0] && seen[1] && seen[2]) ||
           fail(r, "descr, fortran_order and shape are not all there");
}

heed_status heed_npy_header_read(heed_npy_header *header, const char *function, const char *path,
                                 char *text, size_t length, int version)
{
    reader r = {.header = header,
                .function = function,
                .path = path,
                .start = text,
                .at = text,
                .end = text + length,
                .version = version};
    *header = (heed_npy_header){.dtype = NULL};
    text[length] = '\0';
    if (read_dict(&r) && header->shape.ndim > HEED_MAX_DIMS) {
        heed_fail(HEED_ERR_SHAPE, "%s: %s: it has %d dims; a tensor has up to %d", function,
                  heed_show_path(path).text, header->shape.ndim, HEED_MAX_DIMS);
    }
    return heed_error_pending();
}

/* ---- writing ---- */

/* numpy leaves room for the first size to grow to 21 digits, ends the header in a newline, and makes
 * the data begin at a multiple of 64, after one blank at least. */
size_t heed_npy_header_write(char text[HEED_NPY_WRITTEN], heed_dtype dtype, heed_shape shape)
{
    enum { BEFORE = 10, ALIGNED = 64, GROWING = 21 };
    char sizes[26 * HEED_MAX_DIMS + 1] = "";
    size_t used = 0, first = 0;
    for (int i = 0; i < shape.ndim; i++) {
        used += (size_t)snprintf(sizes + used, sizeof sizes - used, "%s%lld", i > 0 ? ", " : "",
                                 (long long)shape.size[i]);
        first = i == 0 ? used : first;
    }
    size_t length = BEFORE;
    length += (size_t)snprintf(text + BEFORE, HEED_NPY_WRITTEN - BEFORE,
                               "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s%s), }",
                               dtype == HEED_BOOL ? '|' : '<', dtypes[dtype].name, sizes,
                               shape.ndim == 1 ? "," : "");
    const size_t grown = length + (shape.ndim > 0 ? GROWING - first : 0) + 1;
    const size_t whole = grown + ALIGNED - grown % ALIGNED;
    memset(text + length, ' ', whole - length - 1);
    text[whole - 1] = '\n';
    memcpy(text, "\x93NUMPY\1", 8); /* and the zero of version 1.0 */
    text[8] = (char)((whole - BEFORE) & 255);
    text[9] = (char)((whole - BEFORE) >> 8);
    return whole;
}
