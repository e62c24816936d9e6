/* Reads the header of a safetensors file. It may come from anywhere: nothing is believed before it
 * is checked, and what is asked of memory stays within a few times the size of the header.
 *
 * Stricter than the reference implementation in what the format says but that one lets pass (a
 * header that begins with white space, names that are there twice), and in what it leaves open
 * (members that it does not have, metadata that is null, zeros inside texts). */
#include "safetensors_header.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../tensor/alloc.h"
#include "file_error.h"
#include "json.h"

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

/* One reading. */
typedef struct reader {
    heed_json json;
    heed_file_header *header;
    const char *function, *path;
    const char *name; /* of the tensor or the metadata that is being read; NULL: none */
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
    heed_fail(HEED_ERR_FORMAT, "%s: %s: %s%s%s%s", r->function, heed_show_path(r->path).text,
              named ? "'" : "", named ? heed_show_name(r->name).text : "", named ? "': " : "",
              what);
    return false;
}

/* Room for one more at the end of a list of `count`; NULL without memory. */
static void *grow(void *list, int count, int *room, size_t size)
{
    if (count < *room) {
        return list;
    }
    const int larger = *room > 0 ? 2 * *room : 16;
    void *grown = heed_grow(list, (size_t)*room * size, (size_t)larger * size);
    *room = grown != NULL ? larger : *room;
    return grown;
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
           (count == 2 || fail(r, "data_offsets are begin and end, not %d numbers", count));
}

/* Do the offsets hold as many bytes as dtype and shape need? */
static bool check_size(reader *r, const heed_file_tensor *t)
{
    const int64_t bits = t->numel * t->dtype->bits;
    if (bits % 8 != 0) {
        return fail(r, "shape %s of %s ends inside a byte",
                    heed_shape_text(t->shape.ndim, t->shape.size).text, t->dtype->name);
    }
    if (t->end < t->begin || t->end - t->begin != bits / 8) {
        return fail(r, "data_offsets [%lld, %lld] are not the %lld bytes of shape %s of %s",
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
            return fail(r, i == 3 ? "unknown member '%s'" : "'%s' is there twice",
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

/* ---- the whole ---- */

static bool read_metadata(reader *r)
{
    heed_file_header *header = r->header;
    if (header->metadata != NULL) {
        return fail(r, "it is there twice");
    }
    heed_json_take(&r->json, '{');
    bool first = true, more;
    do {
        heed_metadata *list =
            grow(header->metadata, header->pairs, &header->pair_room, sizeof *list);
        if (list == NULL) {
            return false;
        }
        header->metadata = list;
        list += header->pairs;
        *list = (heed_metadata){NULL, NULL}; /* the end, unless one more follows */
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
    heed_file_tensor *list = grow(header->tensors, header->count, &header->room, sizeof *list);
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

/* ---- what only all of it together shows ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const heed_file_tensor *)a)->name, ((const heed_file_tensor *)b)->name);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const heed_metadata *)a)->key, ((const heed_metadata *)b)->key);
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
    if (count > 1) { /* an empty list may be NULL, which qsort does not take */
        qsort(list, (size_t)count, size, order);
    }
}

static bool check_names(reader *r)
{
    heed_file_header *h = r->header;
    for (int i = 1; i < h->count; i++) {
        r->name = h->tensors[i].name;
        if (strcmp(h->tensors[i - 1].name, r->name) == 0) {
            return fail(r, "the name is there twice");
        }
    }
    sort(h->metadata, h->pairs, sizeof *h->metadata, by_key);
    for (int i = 1; i < h->pairs; i++) {
        r->name = h->metadata[i].key;
        if (strcmp(h->metadata[i - 1].key, r->name) == 0) {
            return fail(r, "the key is there twice in __metadata__");
        }
    }
    return true;
}

/* Tensors in the order of their offsets lie end to end, and end with the file. */
static bool check_offsets(reader *r, int64_t data)
{
    int64_t end = 0;
    for (int i = 0; i < r->header->count; i++) {
        const heed_file_tensor *t = &r->header->tensors[i];
        r->name = t->name;
        if (t->begin != end) {
            return fail(r, "it begins at byte %lld of the data, the one before it ends at %lld: %s",
                        (long long)t->begin, (long long)end,
                        t->begin < end ? "they overlap" : "there is a hole");
        }
        end = t->end;
    }
    r->name = NULL;
    return end == data || fail(r, "its tensors have %lld bytes, but %lld follow the header",
                               (long long)end, (long long)data);
}

heed_status heed_file_header_read(heed_file_header *header, const char *function, const char *path,
                                  int64_t data)
{
    char *text = header->text;
    reader r = {.json = {.start = text, .at = text, .end = text + header->size},
                .header = header,
                .function = function,
                .path = path};
    if (read_all(&r)) {
        sort(header->tensors, header->count, sizeof *header->tensors, by_name);
        if (check_names(&r)) {
            sort(header->tensors, header->count, sizeof *header->tensors, by_offset);
            check_offsets(&r, data);
            sort(header->tensors, header->count, sizeof *header->tensors, by_name);
        }
    }
    return heed_error_pending();
}

void heed_file_header_free(heed_file_header *header)
{
    if (header->text != NULL) {
        heed_free(header->text, header->size + 1);
    }
    heed_free(header->tensors, (size_t)header->room * sizeof *header->tensors);
    heed_free(header->metadata, (size_t)header->pair_room * sizeof *header->metadata);
}

const heed_file_tensor *heed_file_tensor_find(const heed_file_header *header, const char *name)
{
    const heed_file_tensor wanted = {.name = name};
    return header->count == 0
               ? NULL
               : bsearch(&wanted, header->tensors, (size_t)header->count, sizeof wanted, by_name);
}
