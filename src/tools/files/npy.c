/* Reads and writes .npy files. The header is a Python dict literal. Like numpy.load, the reader
 * accepts the variants that programs write: the three members in any order, whitespace, trailing
 * commas, either quotation mark, and Python 2's L suffix. It rejects variants that only people
 * would write: comments, escapes, string prefixes, 0x10 and 1_000, long dtype names. Repeated keys
 * are an error. */

#include "npy.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../../autograd/ops/view.h"
#include "../../nn/arguments.h"
#include "../../tensor/alloc.h"
#include "../../tensor/check.h"
#include "../../tensor/create.h"
#include "../../tensor/read.h"
#include "../../tensor/scope.h"
#include "../../tensor/text.h"
#include "file_io.h"
#include "json.h"

static const char loading[] = "load_npy", saving[] = "save_npy";

enum {
    MOST_HEADER = 10000, /* bytes, numpy.load's limit */
    MOST_WRITTEN = 320   /* bytes of a header that Heed writes */
};

/* ---- reading the header ---- */

/* The dtypes that Heed writes come first, in the order of heed_dtype. */
static const heed_file_dtype dtypes[] = {
    {"f4", 32, HEED_F32, HEED_DECODE_COPY}, {"f8", 64, HEED_F64, HEED_DECODE_COPY},
    {"i8", 64, HEED_I64, HEED_DECODE_COPY}, {"b1", 8, HEED_BOOL, HEED_DECODE_BOOL},
    {"f2", 16, HEED_F32, HEED_DECODE_F16},  {"i4", 32, HEED_I64, HEED_DECODE_I32},
};

/* The header as it is written. */
typedef struct members {
    const char *descr;
    bool fortran;
    heed_json_sizes sizes;
} members;

static const heed_json_key keys[] = {
    {"descr", HEED_JSON_STRING, offsetof(members, descr)},
    {"fortran_order", HEED_JSON_BOOL, offsetof(members, fortran)},
    {"shape", HEED_JSON_SIZES, offsetof(members, sizes)},
    {NULL, HEED_JSON_STRING, 0},
};

typedef struct npy_header {
    const heed_file_dtype *dtype;
    bool big_endian, fortran;
    heed_shape shape;
    int64_t data; /* offset of the elements */
} npy_header;

static heed_status fail_dtype(const char *path, const char *what, const char *way_out)
{
    return heed_fail_at(HEED_ERR_DTYPE, loading, path,
                        "its elements are %s, for which Heed has no dtype; save %s", what, way_out);
}

/* Reports a numpy dtype that Heed does not support, or an invalid descr. */
static heed_status refuse_descr(const char *path, const char *descr, const char *type)
{
    static const struct {
        char kind;
        const char *what, *way_out;
    } kinds[] = {
        {'i', "integers", "x.astype('i8')"},
        {'u', "integers", "x.astype('i8')"},
        {'f', "floats", "x.astype('f8')"},
        {'c', "complex numbers", "x.real and x.imag, each in its own file"},
        {'O', "Python objects", "numbers, x.astype('f4')"},
        {'S', "strings", "numbers, x.astype('f4')"},
        {'U', "strings", "numbers, x.astype('f4')"},
        {'M', "dates", "x.astype('i8')"},
        {'m', "time differences", "x.astype('i8')"},
        {'V', "raw bytes", "x.astype('f4')"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (*type == kinds[i].kind && (*type == 'O' || (type[1] >= '0' && type[1] <= '9'))) {
            char what[200];
            snprintf(what, sizeof what, "%s, '%s'", kinds[i].what, heed_show_name(descr).text);
            return fail_dtype(path, what, kinds[i].way_out);
        }
    }
    return heed_fail_at(HEED_ERR_FORMAT, loading, path, "'%s' is not a valid descr",
                        heed_show_name(descr).text);
}

/* '<f4': little-endian floats of 4 bytes. Without the <, or with = or |, the byte order is the
 * machine's, which is little-endian too. */
static heed_status find_dtype(const char *path, const char *descr, npy_header *header)
{
    const char *type = descr + (*descr != '\0' && strchr("<>=|", *descr) != NULL);
    header->big_endian = *descr == '>';
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(type, dtypes[i].name) == 0) {
            header->dtype = &dtypes[i];
            return HEED_OK;
        }
    }
    return refuse_descr(path, descr, type);
}

static heed_status read_dict(heed_json *json, const char *path, npy_header *header, int64_t have)
{
    members m;
    if (!heed_json_members(json, keys, false, &m) || !heed_json_end(json)) {
        const bool descr = json->key != NULL && strcmp(json->key, keys[0].name) == 0;
        return descr && (*json->at == '[' || *json->at == '(')
                   ? fail_dtype(path, "structured", "each field, x['name'], in its own file")
                   : heed_json_fail(json, loading, path, NULL, " of the header");
    }
    if (find_dtype(path, m.descr, header) != HEED_OK) {
        return heed_error_pending();
    }
    if (m.sizes.numel < 0) {
        return heed_fail_at(HEED_ERR_FORMAT, loading, path,
                            "its shape has more elements than a file can hold");
    }
    if (m.sizes.shape.ndim > HEED_MAX_DIMS) {
        return heed_fail_at(HEED_ERR_SHAPE, loading, path, "it has %d dims; Heed supports up to %d",
                            m.sizes.shape.ndim, HEED_MAX_DIMS);
    }
    header->shape = m.sizes.shape;
    header->fortran = m.fortran;
    const int64_t need = m.sizes.numel * (header->dtype->bits / 8);
    return need == have
               ? HEED_OK
               : heed_fail_at(HEED_ERR_FORMAT, loading, path,
                              "its shape %s of %s needs %lld bytes, but %lld follow the header%s",
                              heed_shape_text(header->shape.ndim, header->shape.size).text,
                              header->dtype->name, (long long)need, (long long)have,
                              have > need ? "; save each array in its own file" : "");
}

/* ---- reading ---- */

/* Reads magic bytes, version, length and dict. */
static heed_status read_header(const heed_file_reader *in, npy_header *header)
{
    unsigned char start[12] = {0};
    char text[MOST_HEADER + 1];
    uint32_t length = 0;
    const int64_t size = in->size < 12 ? in->size : 12;
    if (heed_reader_read(in, loading, start, size, 0) != HEED_OK) {
        return heed_error_pending();
    }
    if (size >= 4 && memcmp(start, "PK\3\4", 4) == 0) {
        return heed_fail_at(HEED_ERR_FORMAT, loading, in->path,
                            "it is a zip archive, as written by numpy.savez; unzip it and load a "
                            ".npy file from it");
    }
    if (size < 10 || memcmp(start, "\x93NUMPY", 6) != 0) {
        return heed_fail_at(HEED_ERR_FORMAT, loading, in->path,
                            "it does not begin like a .npy file");
    }
    const int version = start[6], at = version == 1 ? 10 : 12;
    if (version < 1 || version > 3 || start[7] != 0) {
        return heed_fail_at(HEED_ERR_FORMAT, loading, in->path,
                            "version %d.%d of the format is unknown", version, start[7]);
    }
    memcpy(&length, start + 8, version == 1 ? 2 : 4);
    header->data = (int64_t)at + length;
    if (header->data > in->size || length > MOST_HEADER) {
        return heed_fail_at(HEED_ERR_FORMAT, loading, in->path,
                            "its header would have %lld bytes, more than %s", (long long)length,
                            header->data > in->size ? "the file" : "the limit of 10000");
    }
    if (heed_reader_read(in, loading, text, length, at) != HEED_OK) {
        return heed_error_pending();
    }
    text[length] = '\0';
    heed_json json = {
        .start = text, .at = text, .end = text + length, .python = true, .python2 = version < 3};
    return read_dict(&json, in->path, header, in->size - header->data);
}

/* An array in Fortran order is stored as its transpose, with all dims reversed. */
static heed_tensor *read_array(const heed_file_reader *in, const npy_header *header)
{
    const int ndim = header->shape.ndim;
    heed_shape stored = header->shape;
    heed_dims back = {.count = ndim};
    for (int i = 0; i < ndim && header->fortran; i++) {
        stored.size[i] = header->shape.size[ndim - 1 - i];
        back.dim[i] = ndim - 1 - i;
    }
    heed_scope scope;
    heed_scope_begin_no_grad(&scope);
    heed_tensor *x = heed_empty(stored, header->dtype->as);
    if (x != NULL) {
        heed_reader_elements(in, loading, x, header->dtype, header->big_endian, header->data);
    }
    if (header->fortran && ndim > 1) {
        x = heed_contiguous(heed_permute(x, back));
    }
    return heed_scope_end_with(&scope, x);
}

heed_tensor *heed_load_npy(const char *path)
{
    heed_file_reader in;
    npy_header header;
    heed_tensor *x = NULL;
    if (heed_error_pending() || heed_check_scope(loading) != HEED_OK) {
        return NULL;
    }
    if (heed_reader_open(&in, loading, path) == HEED_OK && read_header(&in, &header) == HEED_OK) {
        x = read_array(&in, &header);
    }
    heed_reader_close(&in);
    return x;
}

/* ---- writing ---- */

/* Like numpy, pads with at least one blank and a newline, so that the first size can grow to 21
 * digits and the data starts at a multiple of 64. */
static size_t write_header(char text[MOST_WRITTEN], heed_dtype dtype, heed_shape shape)
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
    length += (size_t)snprintf(text + BEFORE, MOST_WRITTEN - BEFORE,
                               "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s%s), }",
                               dtype == HEED_BOOL ? '|' : '<', dtypes[dtype].name, sizes,
                               shape.ndim == 1 ? "," : "");
    const size_t grown = length + (shape.ndim > 0 ? GROWING - first : 0) + 1;
    const size_t whole = grown + ALIGNED - grown % ALIGNED;
    memset(text + length, ' ', whole - length - 1);
    text[whole - 1] = '\n';
    memcpy(text, "\x93NUMPY\1", 8); /* includes the zero of version 1.0 */
    text[8] = (char)((whole - BEFORE) & 255);
    text[9] = (char)((whole - BEFORE) >> 8);
    return whole;
}

heed_status heed_save_npy(const heed_tensor *x, const char *path)
{
    char header[MOST_WRITTEN];
    heed_atomic_file file;
    if (heed_check_not_null(saving, "x", x) != HEED_OK ||
        heed_check_not_null(saving, "the path", path) != HEED_OK) {
        return heed_error_pending();
    }
    if (x->storage == NULL) {
        return heed_fail_at(HEED_ERR_SCOPE, saving, path,
                            "the value of x has been freed; heed_retain it in its scope");
    }
    const size_t size = heed_write_buffer_size(x);
    void *buffer = heed_alloc(size); /* before the file is created */
    if (buffer == NULL) {
        return heed_error_pending();
    }
    const size_t length = write_header(header, x->dtype, heed_shape_of_tensor(x));
    heed_atomic_begin(&file, saving, path);
    heed_atomic_write(&file, header, length);
    heed_atomic_write_tensor(&file, x, buffer);
    heed_atomic_end(&file);
    heed_free(buffer);
    return heed_error_pending();
}
