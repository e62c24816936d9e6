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
#include "safetensors_format.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tensor/alloc.h"
#include "../../tensor/create.h"
#include "../arguments.h"
#include "atomic_file.h"
#include "file_error.h"
#include "json.h"
#include "utf8.h"

enum {
    LENGTH = 8,             /* bytes of the header's length */
    MOST_HEADER = 100000000 /* bytes, the format's limit */
};

/* ---- reading the header ---- */

/* The dtypes that Heed writes come first, in the order of heed_dtype. */
static const heed_file_dtype dtypes[] = {
    {"F32", 32, HEED_F32, HEED_DECODE_COPY},
    {"F64", 64, HEED_F64, HEED_DECODE_COPY},
    {"I64", 64, HEED_I64, HEED_DECODE_COPY},
    {"BOOL", 8, HEED_BOOL, HEED_DECODE_BOOL},
    {"F16", 16, HEED_F32, HEED_DECODE_F16},
    {"BF16", 16, HEED_F32, HEED_DECODE_BF16},
#define NOT_IN_HEED(name, bits)                                                                    \
    {                                                                                              \
        name, bits, HEED_DTYPES, HEED_DECODE_COPY                                                  \
    }
    NOT_IN_HEED("F4", 4),
    NOT_IN_HEED("F6_E2M3", 6),
    NOT_IN_HEED("F6_E3M2", 6),
    NOT_IN_HEED("F8_E5M2", 8),
    NOT_IN_HEED("F8_E4M3", 8),
    NOT_IN_HEED("F8_E8M0", 8),
    NOT_IN_HEED("F8_E4M3FNUZ", 8),
    NOT_IN_HEED("F8_E5M2FNUZ", 8),
    NOT_IN_HEED("I8", 8),
    NOT_IN_HEED("U8", 8),
    NOT_IN_HEED("I16", 16),
    NOT_IN_HEED("U16", 16),
    NOT_IN_HEED("I32", 32),
    NOT_IN_HEED("U32", 32),
    NOT_IN_HEED("U64", 64),
    NOT_IN_HEED("C64", 64),
};

typedef struct reader {
    heed_json json;
    heed_file_header *header;
    const char *function, *path;
    const char *name; /* of the tensor or metadata being read; NULL: none */
} reader;

/* HEED_ERR_FORMAT: "function: path: 'name': what is wrong". */
HEED_PRINTF(2, 3)
static bool fail(const reader *r, const char *format, ...)
{
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const bool named = r->name != NULL;
    heed_fail_at(HEED_ERR_FORMAT, r->function, r->path, "%s%s%s%s", named ? "'" : "",
                 named ? heed_show_name(r->name).text : "", named ? "': " : "", what);
    return false;
}

/* ---- one tensor: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} ---- */

static bool read_dtype(reader *r, heed_file_tensor *t)
{
    const char *name = heed_json_string(&r->json);
    for (size_t i = 0; name != NULL && i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(dtypes[i].name, name) == 0) {
            t->dtype = &dtypes[i];
            return true;
        }
    }
    return name != NULL && fail(r, "unknown dtype '%s'", heed_show_name(name).text);
}

static bool read_shape(reader *r, heed_file_tensor *t)
{
    heed_dim_count count = HEED_NO_DIMS;
    heed_shape *shape = &t->shape;
    bool fits = true;
    heed_json_take(&r->json, '[');
    for (bool first = true; heed_json_more(&r->json, ']', &first); shape->ndim++) {
        const int64_t size = heed_json_number(&r->json);
        fits = heed_count_dim(&count, size);
        if (shape->ndim < HEED_MAX_DIMS) {
            shape->size[shape->ndim] = size;
        }
    }
    t->numel = count.numel;
    return r->json.wrong == NULL &&
           (fits || fail(r, "its shape has more elements than a file can hold"));
}

static bool read_offsets(reader *r, heed_file_tensor *t)
{
    int64_t *to[] = {&t->begin, &t->end};
    int count = 0;
    heed_json_take(&r->json, '[');
    for (bool first = true; heed_json_more(&r->json, ']', &first); count++) {
        const int64_t offset = heed_json_number(&r->json);
        if (count < 2) {
            *to[count] = offset;
        }
    }
    return r->json.wrong == NULL &&
           (count == 2 || fail(r, "data_offsets must be begin and end, not %d numbers", count));
}

/* Checks that the offsets span the bytes that dtype and shape need. */
static bool check_size(reader *r, const heed_file_tensor *t)
{
    const int64_t bits = t->numel * t->dtype->bits;
    if (bits % 8 != 0) {
        return fail(r, "shape %s of %s ends inside a byte",
                    heed_shape_text(t->shape.ndim, t->shape.size).text, t->dtype->name);
    }
    if (t->end < t->begin || t->end - t->begin != bits / 8) {
        return fail(r, "data_offsets [%lld, %lld] do not span the %lld bytes of shape %s of %s",
                    (long long)t->begin, (long long)t->end, (long long)(bits / 8),
                    heed_shape_text(t->shape.ndim, t->shape.size).text, t->dtype->name);
    }
    return true;
}

static bool read_tensor(reader *r, heed_file_tensor *t)
{
    static const char *const members[] = {"dtype", "shape", "data_offsets"};
    static bool (*const read[])(reader *, heed_file_tensor *) = {read_dtype, read_shape,
                                                                 read_offsets};
    bool seen[3] = {false, false, false};
    heed_json_take(&r->json, '{');
    for (bool first = true; heed_json_more(&r->json, '}', &first);) {
        const char *key = heed_json_string(&r->json);
        int i = 0;
        while (key != NULL && i < 3 && strcmp(members[i], key) != 0) {
            i++;
        }
        if (!heed_json_take(&r->json, ':')) {
            return false;
        }
        if (i == 3 || seen[i]) {
            return fail(r, i == 3 ? "unknown member '%s'" : "'%s' appears twice",
                        heed_show_name(key).text);
        }
        seen[i] = true;
        if (!read[i](r, t)) {
            return false;
        }
    }
    for (int i = 0; i < 3 && r->json.wrong == NULL; i++) {
        if (!seen[i]) {
            return fail(r, "it has no %s", members[i]);
        }
    }
    return r->json.wrong == NULL && check_size(r, t);
}

/* ---- the whole header ---- */

static bool read_metadata(reader *r)
{
    heed_file_header *header = r->header;
    if (header->metadata != NULL) {
        return fail(r, "it appears twice");
    }
    heed_json_take(&r->json, '{');
    bool first = true, more;
    do {
        heed_metadata *list =
            heed_grow(header->metadata, header->pairs, &header->pair_capacity, sizeof *list);
        if (list == NULL) {
            return false;
        }
        header->metadata = list;
        list += header->pairs;
        *list = (heed_metadata){NULL, NULL}; /* the terminator, unless another pair follows */
        more = heed_json_more(&r->json, '}', &first);
        if (more) {
            list->key = heed_json_string(&r->json);
            heed_json_take(&r->json, ':');
            list->value = heed_json_string(&r->json);
            header->pairs++;
        }
    } while (more);
    return r->json.wrong == NULL;
}

static bool read_member(reader *r)
{
    heed_file_header *header = r->header;
    const char *key = r->name = heed_json_string(&r->json);
    if (!heed_json_take(&r->json, ':')) {
        return false;
    }
    if (strcmp(key, "__metadata__") == 0) {
        return read_metadata(r);
    }
    heed_file_tensor *list =
        heed_grow(header->tensors, header->count, &header->capacity, sizeof *list);
    if (list == NULL) {
        return false;
    }
    header->tensors = list;
    heed_file_tensor *t = &list[header->count++];
    *t = (heed_file_tensor){.name = key};
    return read_tensor(r, t);
}

static bool read_all(reader *r)
{
    if (r->header->text[0] != '{') {
        return fail(r, "its header does not begin with '{'; is it a safetensors file?");
    }
    heed_json_take(&r->json, '{');
    for (bool first = true; heed_json_more(&r->json, '}', &first);) {
        if (!read_member(r)) {
            break;
        }
        r->name = NULL;
    }
    return !heed_error_pending() && (heed_json_end(&r->json) ||
                                     fail(r, "at byte %lld of the header: %s",
                                          (long long)(r->json.at - r->json.start), r->json.wrong));
}

/* ---- checks of the whole header ---- */

/* For metadata, tensors and entries: all start with a pointer to their name. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_offset(const void *a, const void *b)
{
    const heed_file_tensor *s = a, *t = b;
    const int begins = compare(s->begin, t->begin);
    return begins != 0 ? begins : compare(s->end, t->end);
}

static void sort(void *list, int count, size_t size, int (*order)(const void *, const void *))
{
    if (count > 1) { /* an empty list may be NULL, which qsort does not allow */
        qsort(list, (size_t)count, size, order);
    }
}

static bool check_names(reader *r)
{
    heed_file_header *h = r->header;
    for (int i = 1; i < h->count; i++) {
        r->name = h->tensors[i].name;
        if (strcmp(h->tensors[i - 1].name, r->name) == 0) {
            return fail(r, "the name appears twice");
        }
    }
    sort(h->metadata, h->pairs, sizeof *h->metadata, by_name);
    for (int i = 1; i < h->pairs; i++) {
        r->name = h->metadata[i].key;
        if (strcmp(h->metadata[i - 1].key, r->name) == 0) {
            return fail(r, "the key appears twice in __metadata__");
        }
    }
    return true;
}

/* Sorted by offset, the tensors must cover the data section without gaps or overlaps. */
static bool check_offsets(reader *r, int64_t data)
{
    int64_t end = 0;
    for (int i = 0; i < r->header->count; i++) {
        const heed_file_tensor *t = &r->header->tensors[i];
        r->name = t->name;
        if (t->begin != end) {
            return fail(
                r, "it begins at byte %lld of the data, but the one before it ends at %lld: %s",
                (long long)t->begin, (long long)end,
                t->begin < end ? "they overlap" : "there is a gap");
        }
        end = t->end;
    }
    r->name = NULL;
    return end == data || fail(r, "its tensors take up %lld bytes, but %lld follow the header",
                               (long long)end, (long long)data);
}

const heed_file_tensor *heed_file_tensor_find(const heed_file_header *header, const char *name)
{
    const heed_file_tensor wanted = {.name = name};
    return header->count == 0
               ? NULL
               : bsearch(&wanted, header->tensors, (size_t)header->count, sizeof wanted, by_name);
}

/* ---- opening ---- */

static heed_status read_header(const char *function, heed_safetensors *file)
{
    heed_file_header *header = &file->header;
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
    header->text = heed_alloc((size_t)length + 1);
    if (header->text == NULL) {
        return heed_error_pending();
    }
    header->size = (size_t)length;
    header->text[length] = '\0';
    file->data = LENGTH + (int64_t)length;
    if (heed_reader_read(&file->in, function, header->text, (int64_t)length, LENGTH) != HEED_OK) {
        return heed_error_pending();
    }
    reader r = {
        .json = {.start = header->text, .at = header->text, .end = header->text + length},
        .header = header,
        .function = function,
        .path = path,
    };
    if (read_all(&r)) {
        sort(header->tensors, header->count, sizeof *header->tensors, by_name);
        if (check_names(&r)) {
            sort(header->tensors, header->count, sizeof *header->tensors, by_offset);
            check_offsets(&r, size - file->data);
            sort(header->tensors, header->count, sizeof *header->tensors, by_name);
        }
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
    file->in.fd = -1;
    file->path = heed_alloc(strlen(path) + 1);
    if (file->path != NULL) {
        strcpy(file->path, path);
        if (heed_reader_open(&file->in, function, file->path) == HEED_OK &&
            read_header(function, file) == HEED_OK) {
            return file;
        }
    }
    heed_file_close(file);
    return NULL;
}

void heed_file_close(heed_safetensors *file)
{
    if (file == NULL) {
        return;
    }
    heed_reader_close(&file->in);
    heed_free(file->path);
    heed_file_header *header = &file->header;
    heed_free(header->text);
    heed_free(header->tensors);
    heed_free(header->metadata);
    heed_free(file);
}

/* ---- reading tensors ---- */

heed_tensor *heed_file_read(const char *function, const heed_safetensors *file,
                            const heed_file_tensor *tensor)
{
    const heed_file_dtype *dtype = tensor->dtype;
    if (dtype->as == HEED_DTYPES) {
        heed_fail_at(HEED_ERR_DTYPE, function, file->path,
                     "'%s' is %s, for which Heed has no dtype", heed_show_name(tensor->name).text,
                     dtype->name);
        return NULL;
    }
    if (tensor->shape.ndim > HEED_MAX_DIMS) {
        heed_fail_at(HEED_ERR_SHAPE, function, file->path,
                     "'%s' has %d dims; Heed supports up to %d", heed_show_name(tensor->name).text,
                     tensor->shape.ndim, HEED_MAX_DIMS);
        return NULL;
    }
    heed_tensor *t = heed_empty(tensor->shape, dtype->as);
    if (t == NULL) {
        return NULL;
    }
    heed_reader_elements(&file->in, function, t, dtype, false, file->data + tensor->begin);
    return heed_error_pending() ? NULL : t;
}

/* ---- writing: a growable text ---- */

typedef struct text {
    char *data;
    size_t size, capacity;
} text;

static void add_bytes(text *t, const char *bytes, size_t size)
{
    if (heed_error_pending()) {
        return;
    }
    if (size > t->capacity - t->size) {
        const size_t larger = 2 * t->capacity + size + 256;
        char *grown = heed_realloc(t->data, larger);
        if (grown == NULL) {
            return;
        }
        t->data = grown;
        t->capacity = larger;
    }
    memcpy(t->data + t->size, bytes, size);
    t->size += size;
}

static void add(text *t, const char *words)
{
    add_bytes(t, words, strlen(words));
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
    for (const char *from = string; *from != '\0'; from = string) {
        const char *escape = NULL;
        while (*string != '\0' && (escape = heed_json_escape(*string, buffer)) == NULL) {
            string++;
        }
        add_bytes(t, from, (size_t)(string - from));
        if (escape != NULL) {
            add(t, escape);
            string++;
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
    qsort(s->entries, s->count, sizeof *s->entries, by_name);
    for (size_t i = 1; i < s->count; i++) {
        if (strcmp(s->entries[i - 1].name, s->entries[i].name) == 0) {
            return fail_saving(s, HEED_ERR_VALUE, "name", s->entries[i].name, "appears twice");
        }
    }
    qsort(s->entries, s->count, sizeof *s->entries, by_position);
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
    qsort(sorted, count, sizeof *sorted, by_name);
    add(&s->header, "\"__metadata__\":{");
    for (size_t i = 0; i < count && !heed_error_pending(); i++) {
        const char *key = sorted[i].key, *value = sorted[i].value;
        if (value == NULL) {
            fail_saving(s, HEED_ERR_NULL, "metadata", key, "has no value");
        } else if (i > 0 && strcmp(sorted[i - 1].key, key) == 0) {
            fail_saving(s, HEED_ERR_VALUE, "metadata", key, "appears twice");
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
    add_bytes(t, (const char *)&length, sizeof length); /* not known yet */
    add(t, "{");
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
    length = t->size - sizeof length;
    if (length > MOST_HEADER) {
        return heed_fail_at(HEED_ERR_VALUE, s->function, s->path,
                            "names and metadata need a header of %llu bytes; the limit is 100 MB",
                            (unsigned long long)length);
    }
    memcpy(t->data, &length, sizeof length); /* little-endian: dtype.h requires it */
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
        heed_atomic_write(&file, s.header.data, s.header.size);
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
