/* Writing safetensors files: the same bytes as the reference implementation writes. Tensors lie in
 * the file by the size of their elements, the largest first, so that each is aligned; and among
 * those of one dtype by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tensor/alloc.h"
#include "atomic_file.h"
#include "file_error.h"
#include "json.h"
#include "safetensors_header.h"

/* ---- text that grows ---- */

typedef struct text {
    char *data;
    size_t size, room;
} text;

static void add_bytes(text *t, const char *bytes, size_t size)
{
    if (heed_error_pending()) {
        return;
    }
    if (size > t->room - t->size) {
        const size_t larger = 2 * t->room + size + 256;
        char *grown = heed_grow(t->data, t->room, larger);
        if (grown == NULL) {
            return;
        }
        t->data = grown;
        t->room = larger;
    }
    memcpy(t->data + t->size, bytes, size);
    t->size += size;
}

static void add(text *t, const char *words)
{
    add_bytes(t, words, strlen(words));
}

static void add_number(text *t, int64_t n)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)n);
    add(t, digits);
}

static void add_string(text *t, const char *string)
{
    char room[7];
    add(t, "\"");
    for (const char *from = string; *from != '\0'; from = string) {
        const char *escape = NULL;
        while (*string != '\0' && (escape = heed_json_escape(*string, room)) == NULL) {
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

/* ---- what is to be written ---- */

typedef struct entry {
    const char *name;
    const heed_tensor *tensor;
} entry;

/* One call of heed_file_save. */
typedef struct saving {
    const char *function, *path;
    entry *entries;
    size_t count;
    text header; /* with its length before it */
    void *room;  /* for the elements of the largest view */
    size_t room_size;
} saving;

/* Tensors lie in the order i64, f64, f32, bool. */
static const struct {
    const char *name;
    int place;
} dtypes[] = {[HEED_I64] = {"I64", 0},
              [HEED_F64] = {"F64", 1},
              [HEED_F32] = {"F32", 2},
              [HEED_BOOL] = {"BOOL", 3}};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static int by_place(const void *a, const void *b)
{
    const entry *e = a, *f = b;
    const int places = dtypes[e->tensor->dtype].place - dtypes[f->tensor->dtype].place;
    return places != 0 ? places : by_name(a, b);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const heed_metadata *)a)->key, ((const heed_metadata *)b)->key);
}

/* "function: path: what 'name' wrong" */
static heed_status fail(const saving *s, heed_status status, const char *what, const char *name,
                        const char *wrong)
{
    return heed_fail(status, "%s: %s: %s '%s' %s", s->function, heed_show_path(s->path).text, what,
                     heed_show_name(name).text, wrong);
}

static heed_status check_text(const saving *s, const char *what, const char *name)
{
    return heed_is_utf8(name) ? HEED_OK : fail(s, HEED_ERR_VALUE, what, name, "is no UTF-8");
}

static heed_status check_entry(const saving *s, const entry *e)
{
    if (e->name == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: %s: a tensor has no name", s->function,
                         heed_show_path(s->path).text);
    }
    if (e->tensor == NULL) {
        return fail(s, HEED_ERR_NULL, "tensor", e->name, "is NULL");
    }
    if (e->tensor->storage == NULL) {
        return fail(s, HEED_ERR_SCOPE, "the value of tensor", e->name,
                    "has been let go; heed_retain it in its scope");
    }
    if (strcmp(e->name, "__metadata__") == 0) {
        return fail(s, HEED_ERR_VALUE, "name", e->name, "means something else in such files");
    }
    return check_text(s, "name", e->name);
}

/* Lists the tensors with their names, in the order of the file. */
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
            return fail(s, HEED_ERR_VALUE, "name", s->entries[i].name, "is there twice");
        }
    }
    qsort(s->entries, s->count, sizeof *s->entries, by_place);
    return HEED_OK;
}

/* ---- the header ---- */

/* Writes pairs that are sorted by key. */
static void add_pairs(saving *s, const heed_metadata *pairs, size_t count)
{
    add(&s->header, "\"__metadata__\":{");
    for (size_t i = 0; i < count && !heed_error_pending(); i++) {
        const char *key = pairs[i].key, *value = pairs[i].value;
        if (value == NULL) {
            fail(s, HEED_ERR_NULL, "metadata", key, "has no value");
        } else if (i > 0 && strcmp(pairs[i - 1].key, key) == 0) {
            fail(s, HEED_ERR_VALUE, "metadata", key, "is there twice");
        } else if (check_text(s, "metadata", key) == HEED_OK &&
                   check_text(s, "the text of metadata", value) == HEED_OK) {
            add(&s->header, i > 0 ? "," : "");
            add_string(&s->header, key);
            add(&s->header, ":");
            add_string(&s->header, value);
        }
    }
    add(&s->header, "}");
}

static void add_metadata(saving *s, const heed_metadata *metadata)
{
    size_t count = 0;
    while (metadata[count].key != NULL) {
        count++;
    }
    heed_metadata *sorted = heed_alloc(count * sizeof *sorted);
    if (sorted != NULL) {
        memcpy(sorted, metadata, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_key);
        add_pairs(s, sorted, count);
        heed_free(sorted, count * sizeof *sorted);
    }
}

static int64_t bytes_of(const heed_tensor *t)
{
    return t->numel * (int64_t)heed_dtype_size(t->dtype);
}

static void add_entry(text *t, const entry *e, int64_t begin)
{
    add_string(t, e->name);
    add(t, ":{\"dtype\":\"");
    add(t, dtypes[e->tensor->dtype].name);
    add(t, "\",\"shape\":[");
    for (int i = 0; i < e->tensor->ndim; i++) {
        add(t, i > 0 ? "," : "");
        add_number(t, e->tensor->shape[i]);
    }
    add(t, "],\"data_offsets\":[");
    add_number(t, begin);
    add(t, ",");
    add_number(t, begin + bytes_of(e->tensor));
    add(t, "]}");
}

/* The length and the header, up to where the data begins. */
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
    if (length > HEED_MOST_HEADER) {
        return heed_fail(HEED_ERR_VALUE,
                         "%s: %s: names and metadata make a header of %llu bytes; 100 MB are "
                         "allowed",
                         s->function, heed_show_path(s->path).text, (unsigned long long)length);
    }
    memcpy(t->data, &length, sizeof length); /* little-endian: safetensors.c sees to that */
    return HEED_OK;
}

/* ---- the file ---- */

static heed_status make_room(saving *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const size_t size = heed_room_to_write(s->entries[i].tensor);
        s->room_size = size > s->room_size ? size : s->room_size;
    }
    s->room = heed_alloc(s->room_size);
    return heed_error_pending();
}

static void write_file(const saving *s)
{
    heed_atomic_file file;
    heed_atomic_begin(&file, s->function, s->path);
    heed_atomic_write(&file, s->header.data, s->header.size);
    for (size_t i = 0; i < s->count && !heed_error_pending(); i++) {
        heed_atomic_write_tensor(&file, s->entries[i].tensor, s->room);
    }
    heed_atomic_end(&file);
}

heed_status heed_file_save(const char *function, const char *path, heed_tensor_list tensors,
                           const heed_metadata *metadata)
{
    const int count = tensors.count;
    if (heed_error_pending()) {
        return heed_error_pending();
    }
    if (path == NULL || count < 0 ||
        (count > 0 && (tensors.tensors == NULL || tensors.names == NULL))) {
        return heed_fail(HEED_ERR_NULL, "%s: %s", function,
                         path == NULL ? "the path is NULL" : "the list has no tensors or no names");
    }
    saving s = {.function = function, .path = path, .count = (size_t)count};
    if (list_entries(&s, tensors) == HEED_OK && make_header(&s, metadata) == HEED_OK &&
        make_room(&s) == HEED_OK) {
        write_file(&s);
    }
    heed_free(s.entries, s.count * sizeof *s.entries);
    heed_free(s.header.data, s.header.room);
    heed_free(s.room, s.room_size);
    return heed_error_pending();
}

heed_status heed_save_file(heed_tensor_list tensors, const char *path,
                           const heed_metadata *metadata)
{
    return heed_file_save("save_file", path, tensors, metadata);
}
