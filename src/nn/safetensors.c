/* Safetensors files.
 *
 * Reading: files may be untrusted, so everything is validated before use, and allocations are
 * limited to a few times the size of the header. Tensors are read on demand. The reader is stricter
 * than the reference implementation where that deviates from the format (whitespace before the
 * header, repeated names) and where the format is silent (other members, null metadata, zero bytes
 * in strings).
 *
 * Writing: the output has the same bytes as the reference implementation's. Tensors are sorted by
 * element size, largest first, so that all are aligned, and by name within a dtype. */
#include "safetensors.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tensor/alloc.h"
#include "../tensor/create.h"
#include "../tensor/scope.h"
#include "../tensor/text.h"
#include "arguments.h"
#include "file_io.h"
#include "json.h"
#include "match_tensors.h"
#include "safetensors_file.h"

enum {
    LENGTH = 8,             /* bytes of the header's length */
    MOST_HEADER = 100000000 /* bytes, the format's limit */
};

/* ---- reading the header ---- */

/* The dtypes that Heed writes come first, in the order of heed_dtype; those that it does not
 * support come last. */
static const heed_file_dtype dtypes[] = {
    {"F32", 32, HEED_F32, HEED_DECODE_COPY},
    {"F64", 64, HEED_F64, HEED_DECODE_COPY},
    {"I64", 64, HEED_I64, HEED_DECODE_COPY},
    {"BOOL", 8, HEED_BOOL, HEED_DECODE_BOOL},
    {"F16", 16, HEED_F32, HEED_DECODE_F16},
    {"BF16", 16, HEED_F32, HEED_DECODE_BF16},
    {"I32", 32, HEED_I64, HEED_DECODE_I32},
    {"F4", 4, HEED_DTYPES, HEED_DECODE_COPY},
    {"F6_E2M3", 6, HEED_DTYPES, HEED_DECODE_COPY},
    {"F6_E3M2", 6, HEED_DTYPES, HEED_DECODE_COPY},
    {"F8_E5M2", 8, HEED_DTYPES, HEED_DECODE_COPY},
    {"F8_E4M3", 8, HEED_DTYPES, HEED_DECODE_COPY},
    {"F8_E8M0", 8, HEED_DTYPES, HEED_DECODE_COPY},
    {"F8_E4M3FNUZ", 8, HEED_DTYPES, HEED_DECODE_COPY},
    {"F8_E5M2FNUZ", 8, HEED_DTYPES, HEED_DECODE_COPY},
    {"I8", 8, HEED_DTYPES, HEED_DECODE_COPY},
    {"U8", 8, HEED_DTYPES, HEED_DECODE_COPY},
    {"I16", 16, HEED_DTYPES, HEED_DECODE_COPY},
    {"U16", 16, HEED_DTYPES, HEED_DECODE_COPY},
    {"U32", 32, HEED_DTYPES, HEED_DECODE_COPY},
    {"U64", 64, HEED_DTYPES, HEED_DECODE_COPY},
    {"C64", 64, HEED_DTYPES, HEED_DECODE_COPY},
};

typedef struct reader {
    heed_json json;
    heed_safetensors *file;
    const char *name; /* of the tensor or metadata being read; NULL: none */
} reader;

/* HEED_ERR_FORMAT: "function: path: 'name': what is wrong". */
#define FAIL(r, ...)                                                                               \
    (heed_fail_in(HEED_ERR_FORMAT, (r)->file->function, (r)->file->path, (r)->name,                \
                  __VA_ARGS__) == HEED_OK)

/* ---- one tensor: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} ---- */

typedef struct members {
    const char *dtype;
    heed_json_sizes shape, offsets;
} members;

static const heed_json_key keys[] = {
    {"dtype", HEED_JSON_STRING, offsetof(members, dtype)},
    {"shape", HEED_JSON_SIZES, offsetof(members, shape)},
    {"data_offsets", HEED_JSON_SIZES, offsetof(members, offsets)},
    {NULL, HEED_JSON_STRING, 0},
};

static const heed_file_dtype *dtype_named(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            return &dtypes[i];
        }
    }
    return NULL;
}

/* Checks that the offsets span the bytes that dtype and shape need. */
static bool check_size(reader *r, const heed_file_tensor *t)
{
    const int64_t bits = t->numel * t->dtype->bits;
    if (bits % 8 != 0) {
        return FAIL(r, "shape %s of %s ends inside a byte",
                    heed_shape_text(t->offer.shape.ndim, t->offer.shape.size).text, t->dtype->name);
    }
    if (t->end < t->begin || t->end - t->begin != bits / 8) {
        return FAIL(r, "data_offsets [%lld, %lld] do not span the %lld bytes of shape %s of %s",
                    (long long)t->begin, (long long)t->end, (long long)(bits / 8),
                    heed_shape_text(t->offer.shape.ndim, t->offer.shape.size).text, t->dtype->name);
    }
    return true;
}

static bool read_tensor(reader *r, heed_file_tensor *t)
{
    members m;
    if (!heed_json_members(&r->json, keys, &m)) {
        return false;
    }
    t->dtype = dtype_named(m.dtype);
    if (t->dtype == NULL) {
        return FAIL(r, "unknown dtype '%s'", heed_show_name(m.dtype).text);
    }
    if (m.shape.numel < 0) {
        return FAIL(r, "its shape has more elements than a file can hold");
    }
    if (m.offsets.shape.ndim != 2) {
        return FAIL(r, "data_offsets must be begin and end, not %d numbers", m.offsets.shape.ndim);
    }
    t->offer = (heed_offer){r->name, t->dtype->name, t->dtype->as, m.shape.shape};
    t->numel = m.shape.numel;
    t->begin = m.offsets.shape.size[0];
    t->end = m.offsets.shape.size[1];
    return check_size(r, t);
}

/* ---- the whole header ---- */

static bool read_metadata(reader *r)
{
    heed_safetensors *file = r->file;
    if (file->metadata != NULL) {
        return FAIL(r, "it appears twice");
    }
    heed_json_take(&r->json, '{');
    bool first = true, more;
    do {
        heed_metadata *list =
            heed_grow(file->metadata, file->pairs, &file->pair_capacity, sizeof *list);
        if (list == NULL) {
            return false;
        }
        file->metadata = list;
        list += file->pairs;
        *list = (heed_metadata){NULL, NULL}; /* the terminator, unless another pair follows */
        more = heed_json_more(&r->json, '}', &first);
        if (more) {
            list->key = heed_json_string(&r->json);
            heed_json_take(&r->json, ':');
            list->value = heed_json_string(&r->json);
            file->pairs++;
        }
    } while (more);
    return r->json.wrong == NULL;
}

static bool read_member(reader *r)
{
    heed_safetensors *file = r->file;
    const char *key = r->name = heed_json_string(&r->json);
    if (!heed_json_take(&r->json, ':')) {
        return false;
    }
    if (strcmp(key, "__metadata__") == 0) {
        return read_metadata(r);
    }
    heed_file_tensor *list = heed_grow(file->tensors, file->count, &file->capacity, sizeof *list);
    if (list == NULL) {
        return false;
    }
    file->tensors = list;
    heed_file_tensor *t = &list[file->count++];
    return read_tensor(r, t);
}

static bool read_all(reader *r)
{
    if (r->file->text[0] != '{') {
        return FAIL(r, "its header does not begin with '{'; is it a safetensors file?");
    }
    heed_json_take(&r->json, '{');
    for (bool first = true; heed_json_more(&r->json, '}', &first);) {
        if (!read_member(r)) {
            break;
        }
        r->name = NULL;
    }
    if (!heed_error_pending() && !heed_json_end(&r->json)) {
        heed_json_fail(&r->json, r->file->function, r->file->path, r->name, " of the header");
    }
    return !heed_error_pending();
}

/* ---- checks of the whole header ---- */

/* For metadata, tensors and entries: all start with a pointer to their name. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_offset(const void *a, const void *b)
{
    const heed_file_tensor *s = a, *t = b;
    return s->begin != t->begin ? (s->begin < t->begin ? -1 : 1)
                                : (s->end > t->end) - (s->end < t->end);
}

static void sort(void *list, int count, size_t size, int (*order)(const void *, const void *))
{
    if (count > 1) { /* an empty list may be NULL, which qsort does not allow */
        qsort(list, (size_t)count, size, order);
    }
}

/* Sorts by name; returns a name that appears twice, or NULL. */
static const char *sort_names(void *list, int count, size_t size)
{
    sort(list, count, size, by_name);
    for (const char *at = list; count > 1; count--, at += size) {
        if (by_name(at, at + size) == 0) {
            return *(const char *const *)(const void *)at;
        }
    }
    return NULL;
}

static bool check_names(reader *r)
{
    heed_safetensors *h = r->file;
    r->name = sort_names(h->tensors, h->count, sizeof *h->tensors);
    if (r->name != NULL) {
        return FAIL(r, "the name appears twice");
    }
    r->name = sort_names(h->metadata, h->pairs, sizeof *h->metadata);
    return r->name == NULL || FAIL(r, "the key appears twice in __metadata__");
}

/* Sorted by offset, the tensors must cover the data section without gaps or overlaps. */
static bool check_offsets(reader *r, int64_t data)
{
    int64_t end = 0;
    for (int i = 0; i < r->file->count; i++) {
        const heed_file_tensor *t = &r->file->tensors[i];
        r->name = t->offer.name;
        if (t->begin != end) {
            return FAIL(
                r, "it begins at byte %lld of the data, but the one before it ends at %lld: %s",
                (long long)t->begin, (long long)end,
                t->begin < end ? "they overlap" : "there is a gap");
        }
        end = t->end;
    }
    r->name = NULL;
    return end == data || FAIL(r, "its tensors take up %lld bytes, but %lld follow the header",
                               (long long)end, (long long)data);
}

/* ---- opening ---- */

static heed_status read_header(heed_safetensors *file)
{
    const char *function = file->function;
    const char *path = file->path;
    const int64_t size = file->in.size;
    unsigned char bytes[LENGTH];
    uint64_t length = 0;
    if (size < LENGTH) {
        return heed_fail_at(HEED_ERR_FORMAT, function, path,
                            "it is too short for a safetensors file (%lld bytes)", (long long)size);
    }
    if (heed_reader_read(&file->in, function, bytes, LENGTH, 0) != HEED_OK) {
        return heed_error_pending();
    }
    memcpy(&length, bytes, LENGTH);
    if (length > MOST_HEADER || (int64_t)length > size - LENGTH) {
        return heed_fail_at(HEED_ERR_FORMAT, function, path,
                            "its header would have %llu bytes, more than %s; is it a "
                            "safetensors file?",
                            (unsigned long long)length,
                            length > MOST_HEADER ? "the limit of 100 MB" : "the file");
    }
    file->text = heed_alloc((size_t)length + 1);
    if (file->text == NULL) {
        return heed_error_pending();
    }
    file->text[length] = '\0';
    file->data = LENGTH + (int64_t)length;
    if (heed_reader_read(&file->in, function, file->text, (int64_t)length, LENGTH) != HEED_OK) {
        return heed_error_pending();
    }
    reader r = {
        .json = {.start = file->text, .at = file->text, .end = file->text + length},
        .file = file,
    };
    if (read_all(&r) && check_names(&r)) {
        sort(file->tensors, file->count, sizeof *file->tensors, by_offset);
        check_offsets(&r, size - file->data);
        sort(file->tensors, file->count, sizeof *file->tensors, by_name);
    }
    return heed_error_pending();
}

heed_safetensors *heed_file_open(const char *function, const char *path)
{
    heed_safetensors *file = NULL;
    if (heed_check_not_null(function, "the path", path) == HEED_OK) {
        file = heed_alloc_zeroed(sizeof *file);
    }
    if (file == NULL) {
        return NULL;
    }
    file->function = function;
    file->in.fd = -1;
    file->path = heed_alloc(strlen(path) + 1);
    if (file->path != NULL) {
        strcpy(file->path, path);
        if (heed_reader_open(&file->in, function, file->path) == HEED_OK &&
            read_header(file) == HEED_OK) {
            return file;
        }
    }
    heed_safetensors_close(file);
    return NULL;
}

heed_safetensors *heed_safetensors_open(const char *path)
{
    return heed_file_open("safetensors_open", path);
}

void heed_safetensors_close(heed_safetensors *file)
{
    if (file == NULL) {
        return;
    }
    heed_reader_close(&file->in);
    heed_free(file->path);
    heed_free(file->text);
    heed_free(file->tensors);
    heed_free(file->metadata);
    heed_free(file);
}

/* ---- reading tensors ---- */

static heed_tensor *read_values(const char *function, const heed_safetensors *file,
                                const heed_file_tensor *tensor)
{
    const heed_file_dtype *dtype = tensor->dtype;
    if (dtype->as == HEED_DTYPES) {
        heed_fail_at(HEED_ERR_DTYPE, function, file->path,
                     "'%s' is %s, for which Heed has no dtype",
                     heed_show_name(tensor->offer.name).text, dtype->name);
        return NULL;
    }
    if (tensor->offer.shape.ndim > HEED_MAX_DIMS) {
        heed_fail_at(
            HEED_ERR_SHAPE, function, file->path, "'%s' has %d dims; Heed supports up to %d",
            heed_show_name(tensor->offer.name).text, tensor->offer.shape.ndim, HEED_MAX_DIMS);
        return NULL;
    }
    heed_tensor *t = heed_empty(tensor->offer.shape, dtype->as);
    if (t == NULL) {
        return NULL;
    }
    heed_reader_elements(&file->in, function, t, dtype, file->data + tensor->begin);
    return heed_error_pending() ? NULL : t;
}

static heed_tensor *read_offer(const void *context, const heed_offer *offer)
{
    const heed_safetensors *file = context;
    return read_values(file->function, file, (const heed_file_tensor *)offer);
}

heed_offers heed_file_offers(const heed_safetensors *file)
{
    return (heed_offers){file->tensors, file->count, sizeof *file->tensors, read_offer, file};
}

/* ---- the public functions for reading ---- */

static heed_status check_file(const char *function, const heed_safetensors *file)
{
    return heed_check_not_null(function, "the file", file);
}

int heed_safetensors_count(const heed_safetensors *file)
{
    return check_file("safetensors_count", file) == HEED_OK ? file->count : 0;
}

const char *heed_safetensors_name(const heed_safetensors *file, int i)
{
    if (check_file("safetensors_name", file) != HEED_OK) {
        return NULL;
    }
    if (i < 0 || i >= file->count) {
        heed_fail(HEED_ERR_INDEX,
                  "safetensors_name: index %d is out of range for the %d tensors of %s", i,
                  file->count, heed_show_path(file->path).text);
        return NULL;
    }
    return file->tensors[i].offer.name;
}

const char *heed_safetensors_metadata(const heed_safetensors *file, const char *key)
{
    static const char function[] = "safetensors_metadata";
    if (check_file(function, file) != HEED_OK ||
        heed_check_not_null(function, "the key", key) != HEED_OK) {
        return NULL;
    }
    for (int i = 0; i < file->pairs; i++) {
        if (strcmp(file->metadata[i].key, key) == 0) {
            return file->metadata[i].value;
        }
    }
    return NULL;
}

const heed_metadata *heed_safetensors_all_metadata(const heed_safetensors *file)
{
    static const heed_metadata none = {NULL, NULL};
    if (check_file("safetensors_all_metadata", file) != HEED_OK) {
        return NULL;
    }
    return file->metadata != NULL ? file->metadata : &none;
}

heed_tensor *heed_safetensors_tensor(const heed_safetensors *file, const char *name)
{
    static const char function[] = "safetensors_tensor";
    if (check_file(function, file) != HEED_OK || heed_check_scope(function) != HEED_OK ||
        heed_check_not_null(function, "the name", name) != HEED_OK) {
        return NULL;
    }
    const heed_offers offers = heed_file_offers(file);
    const heed_file_tensor *tensor = (const heed_file_tensor *)heed_offer_named(&offers, name);
    if (tensor == NULL) {
        const bool any = file->count > 0;
        heed_fail_at(HEED_ERR_VALUE, function, file->path, "no tensor '%s'%s%s%s",
                     heed_show_name(name).text, any ? "; the first is '" : "",
                     any ? heed_show_name(file->tensors[0].offer.name).text : "", any ? "'" : "");
        return NULL;
    }
    return read_values(function, file, tensor);
}

/* ---- writing: a growable text ---- */

typedef struct text {
    char *data;
    int64_t size, capacity;
} text;

static void add_byte(text *t, char byte)
{
    char *grown = heed_grow(t->data, t->size, &t->capacity, 1);
    if (grown != NULL) {
        t->data = grown;
        grown[t->size++] = byte;
    }
}

static void add(text *t, const char *words)
{
    while (*words != '\0') {
        add_byte(t, *words++);
    }
}

/* Adds formatted text of at most 99 bytes. */
HEED_PRINTF(2, 3)
static void add_format(text *t, const char *format, ...)
{
    char piece[100];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    add(t, piece);
}

static void add_string(text *t, const char *string)
{
    char buffer[7];
    add(t, "\"");
    for (; *string != '\0'; string++) {
        const char *escape = heed_json_escape(*string, buffer);
        if (escape != NULL) {
            add(t, escape);
        } else {
            add_byte(t, *string);
        }
    }
    add(t, "\"");
}

/* ---- writing: the tensors ---- */

typedef struct entry {
    const char *name;
    const heed_tensor *tensor;
} entry;

/* One call of heed_file_save. */
typedef struct saving {
    const char *function, *path;
    entry *entries;
    size_t count;
    text header; /* starts with its length */
} saving;

/* The order in the file: i64, f64, f32, bool; then by name. */
static int by_position(const void *a, const void *b)
{
    static const int order[] = {[HEED_I64] = 0, [HEED_F64] = 1, [HEED_F32] = 2, [HEED_BOOL] = 3};
    const entry *e = a, *f = b;
    const int dtypes_apart = order[e->tensor->dtype] - order[f->tensor->dtype];
    return dtypes_apart != 0 ? dtypes_apart : by_name(a, b);
}

/* "function: path: what 'name' wrong" */
static heed_status fail_saving(const saving *s, heed_status status, const char *what,
                               const char *name, const char *wrong)
{
    return heed_fail_at(status, s->function, s->path, "%s '%s' %s", what, heed_show_name(name).text,
                        wrong);
}

static heed_status check_text(const saving *s, const char *what, const char *name)
{
    return heed_is_utf8(name) ? HEED_OK
                              : fail_saving(s, HEED_ERR_VALUE, what, name, "is not valid UTF-8");
}

static heed_status check_entry(const saving *s, const entry *e)
{
    if (e->name == NULL) {
        return heed_fail_at(HEED_ERR_NULL, s->function, s->path, "a tensor has no name");
    }
    if (e->tensor == NULL) {
        return fail_saving(s, HEED_ERR_NULL, "tensor", e->name, "is NULL");
    }
    if (e->tensor->storage == NULL) {
        return fail_saving(s, HEED_ERR_SCOPE, "the value of tensor", e->name,
                           "has been freed; heed_retain it in its scope");
    }
    if (strcmp(e->name, "__metadata__") == 0) {
        return fail_saving(s, HEED_ERR_VALUE, "name", e->name, "is reserved in safetensors files");
    }
    return check_text(s, "name", e->name);
}

/* Lists the tensors in file order. */
static heed_status list_entries(saving *s, heed_tensor_list tensors)
{
    s->entries = heed_alloc(s->count * sizeof *s->entries);
    for (size_t i = 0; i < s->count && !heed_error_pending(); i++) {
        s->entries[i] = (entry){tensors.names[i], tensors.tensors[i]};
        check_entry(s, &s->entries[i]);
    }
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    const char *twice = sort_names(s->entries, (int)s->count, sizeof *s->entries);
    if (twice != NULL) {
        return fail_saving(s, HEED_ERR_VALUE, "name", twice, "appears twice");
    }
    sort(s->entries, (int)s->count, sizeof *s->entries, by_position);
    return HEED_OK;
}

/* ---- writing: the header ---- */

static void add_metadata(saving *s, const heed_metadata *metadata)
{
    size_t count = 0;
    while (metadata[count].key != NULL) {
        count++;
    }
    heed_metadata *sorted = heed_alloc(count * sizeof *sorted);
    if (sorted == NULL) {
        return;
    }
    memcpy(sorted, metadata, count * sizeof *sorted);
    const char *twice = sort_names(sorted, (int)count, sizeof *sorted);
    if (twice != NULL) {
        fail_saving(s, HEED_ERR_VALUE, "metadata", twice, "appears twice");
    }
    add(&s->header, "\"__metadata__\":{");
    for (size_t i = 0; i < count && !heed_error_pending(); i++) {
        const char *key = sorted[i].key, *value = sorted[i].value;
        if (value == NULL) {
            fail_saving(s, HEED_ERR_NULL, "metadata", key, "has no value");
        } else if (check_text(s, "metadata", key) == HEED_OK &&
                   check_text(s, "the metadata value", value) == HEED_OK) {
            add(&s->header, i > 0 ? "," : "");
            add_string(&s->header, key);
            add(&s->header, ":");
            add_string(&s->header, value);
        }
    }
    add(&s->header, "}");
    heed_free(sorted);
}

static int64_t bytes_of(const heed_tensor *t)
{
    return t->numel * (int64_t)heed_dtype_size(t->dtype);
}

static void add_entry(text *t, const entry *e, int64_t begin)
{
    add_string(t, e->name);
    add_format(t, ":{\"dtype\":\"%s\",\"shape\":[", dtypes[e->tensor->dtype].name);
    for (int i = 0; i < e->tensor->ndim; i++) {
        add_format(t, "%s%lld", i > 0 ? "," : "", (long long)e->tensor->shape[i]);
    }
    add_format(t, "],\"data_offsets\":[%lld,%lld]}", (long long)begin,
               (long long)(begin + bytes_of(e->tensor)));
}

/* Writes the length and the header, up to the start of the data. */
static heed_status make_header(saving *s, const heed_metadata *metadata)
{
    text *t = &s->header;
    uint64_t length = 0;
    int64_t begin = 0;
    add(t, "(length){");
    if (metadata != NULL) {
        add_metadata(s, metadata);
    }
    for (size_t i = 0; i < s->count; i++) {
        add(t, i > 0 || metadata != NULL ? "," : "");
        add_entry(t, &s->entries[i], begin);
        begin += bytes_of(s->entries[i].tensor);
    }
    add(t, "}");
    while (t->size % 8 != 0 && !heed_error_pending()) {
        add(t, " ");
    }
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    length = (uint64_t)t->size - LENGTH;
    if (length > MOST_HEADER) {
        return heed_fail_at(HEED_ERR_VALUE, s->function, s->path,
                            "names and metadata need a header of %llu bytes; the limit is 100 MB",
                            (unsigned long long)length);
    }
    memcpy(t->data, &length, LENGTH); /* little-endian: dtype.h requires it */
    return HEED_OK;
}

/* ---- writing: the file ---- */

heed_status heed_file_save(const char *function, const char *path, heed_tensor_list tensors,
                           const heed_metadata *metadata)
{
    const int count = tensors.count;
    if (heed_check_not_null(function, "the path", path) != HEED_OK ||
        heed_check_named(function, tensors) != HEED_OK) {
        return heed_error_pending();
    }
    saving s = {.function = function, .path = path, .count = (size_t)count};
    void *buffer = NULL; /* for the elements of the largest view */
    size_t size = 0;
    if (list_entries(&s, tensors) == HEED_OK && make_header(&s, metadata) == HEED_OK) {
        for (int i = 0; i < count; i++) {
            const size_t its_size = heed_write_buffer_size(s.entries[i].tensor);
            size = its_size > size ? its_size : size;
        }
        buffer = heed_alloc(size);
    }
    if (buffer != NULL) {
        heed_atomic_file file;
        heed_atomic_begin(&file, function, path);
        heed_atomic_write(&file, s.header.data, (size_t)s.header.size);
        for (int i = 0; i < count && !heed_error_pending(); i++) {
            heed_atomic_write_tensor(&file, s.entries[i].tensor, buffer);
        }
        heed_atomic_end(&file);
    }
    heed_free(s.entries);
    heed_free(s.header.data);
    heed_free(buffer);
    return heed_error_pending();
}

heed_status heed_save_file(heed_tensor_list tensors, const char *path,
                           const heed_metadata *metadata)
{
    return heed_file_save("save_file", path, tensors, metadata);
}
