/* Safetensors files: reading, writing, and the modules and training runs in them.
 *
 * A file may be untrusted. Its header is scanned once, in the one form that the safetensors library
 * writes, and accounts for every byte of the data before any is used. Allocations are limited to a
 * few times the size of the file. Tensors are read on demand.
 *
 * The output has the same bytes as the library's: tensors are sorted by element size, largest
 * first, so that all are aligned, and by name within a dtype. */
#include "nn.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LENGTH = 8 /* bytes of the header's length */, MOST_HEADER = 100000000 /* bytes */ };

static const char *const dtypes[HEED_DTYPES] = {"F32", "F64", "I64", "BOOL"};

typedef struct entry {
    const char *name;
    heed_dtype dtype;
    heed_shape shape;
    int64_t begin, end;  /* byte offsets in the data */
    heed_tensor *tensor; /* when writing */
    bool used;           /* when loading: the module has this name */
} entry;

struct heed_safetensors {
    const char *function;   /* for error messages, as is the path that is shown */
    const char *whole_path; /* while the file is opened */
    heed_text path;
    FILE *stream;
    char *header; /* when reading: holds the strings of names and metadata */
    char *at;     /* the next byte to scan; a '\0' follows the header */
    entry *entries;
    heed_metadata *metadata;
    int count, pairs;
    int64_t capacity, pair_capacity;
    int64_t data, data_size; /* the data's offset in the file, and their bytes */
};

/* "function: path: what is wrong" */
#define fail(f, status, format, ...)                                                               \
    heed_raise(status, "%s: %s: " format, (f)->function, (f)->path.text, __VA_ARGS__)

/* Of entries, which begin with their names. */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts the entries by name; a name that appears twice is an error. */
static void sort_entries(const heed_safetensors *f)
{
    if (f->count > 1) { /* an empty list may be NULL, which qsort does not allow */
        qsort(f->entries, (size_t)f->count, sizeof *f->entries, by_name);
    }
    for (int i = 1; i < f->count; i++) {
        if (by_name(&f->entries[i - 1], &f->entries[i]) == 0) {
            fail(f, f->header != NULL ? HEED_ERR_FORMAT : HEED_ERR_VALUE, "'%s' appears twice",
                 heed_show_name(f->entries[i].name).text);
        }
    }
}

/* ---- reading the header ---- */

static _Noreturn void fail_scan(heed_safetensors *f, const char *expected)
{
    fail(f, HEED_ERR_FORMAT,
         "at byte %lld of the header: %s is expected; save it with the safetensors library",
         (long long)(f->at - f->header), expected);
}

static void skip_space(heed_safetensors *f)
{
    f->at += strspn(f->at, " \t\n\r");
}

/* Takes the character if it is the next one, after spaces. */
static bool next_is(heed_safetensors *f, char c)
{
    skip_space(f);
    const bool is = *f->at == c;
    f->at += is;
    return is;
}

/* Takes these characters, with spaces between them. */
static void take(heed_safetensors *f, const char *characters)
{
    for (const char *c = characters; *c != '\0'; c++) {
        if (!next_is(f, *c)) {
            fail_scan(f, characters);
        }
    }
}

/* True if a list has another element; takes the comma before it, or the end of the list. */
static bool has_more(heed_safetensors *f, char end, bool is_first)
{
    const bool ends = next_is(f, end);
    if (!ends && !is_first) {
        take(f, ",");
    }
    return !ends;
}

static const char escapes[] = "\"\\bfnrt", escaped[] = "\"\\\b\f\n\r\t";

/* \n and the like, or \u001f: the escape sequences that the library writes. */
static char scan_escape(heed_safetensors *f)
{
    const char *name = f->at[1] != '\0' ? strchr(escapes, f->at[1]) : NULL;
    if (name != NULL) {
        f->at += 2;
        return escaped[name - escapes];
    }
    const bool is_code = strncmp(f->at, "\\u00", 4) == 0 && isxdigit((unsigned char)f->at[4]) &&
                         isxdigit((unsigned char)f->at[5]);
    const long code = is_code ? strtol((char[]){f->at[4], f->at[5], '\0'}, NULL, 16) : 0;
    if (code < 1 || code > 0x7f) {
        fail_scan(f, "another escape sequence");
    }
    f->at += 6;
    return (char)code;
}

/* Decodes a string in place, where it never becomes longer. */
static const char *scan_string(heed_safetensors *f)
{
    take(f, "\"");
    char *const string = f->at, *to = string;
    while (*f->at != '"') {
        if ((unsigned char)*f->at < 0x20) {
            fail_scan(f, "a string without control characters");
        }
        *to++ = *f->at == '\\' ? scan_escape(f) : *f->at++;
    }
    take(f, "\"");
    *to = '\0';
    if (!heed_is_utf8(string)) {
        fail_scan(f, "valid UTF-8");
    }
    return string;
}

/* An array of at most `most` numbers; returns their count. */
static int scan_numbers(heed_safetensors *f, int64_t *to, int most)
{
    int n = 0;
    take(f, "[");
    while (has_more(f, ']', n == 0)) {
        skip_space(f);
        errno = 0;
        const bool is_number = isdigit((unsigned char)*f->at);
        const int64_t number = is_number ? strtoll(f->at, &f->at, 10) : 0;
        if (!is_number || errno != 0 || n >= most) {
            fail_scan(f, "a list of up to 8 whole numbers below 2^63");
        }
        to[n++] = number;
    }
    return n;
}

/* {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} */
static void scan_tensor(heed_safetensors *f, const char *name)
{
    entry e = {.name = name, .begin = f->data_size};
    int64_t offsets[2] = {-1, -1};
    take(f, "{\"dtype\":");
    const char *dtype = scan_string(f);
    take(f, ",\"shape\":");
    e.shape.ndim = scan_numbers(f, e.shape.size, HEED_MAX_DIMS);
    take(f, ",\"data_offsets\":");
    scan_numbers(f, offsets, 2);
    take(f, "}");
    while (e.dtype < HEED_DTYPES && strcmp(dtypes[e.dtype], dtype) != 0) {
        e.dtype++;
    }
    if (e.dtype == HEED_DTYPES) {
        fail(f, HEED_ERR_FORMAT, "'%s' has dtype '%s', which Heed does not read",
             heed_show_name(name).text, heed_show_name(dtype).text);
    }
    /* Like heed_empty, limits the sizes of empty tensors, too: skips those that are 0. */
    int64_t reach = (int64_t)heed_dtype_size(e.dtype);
    bool overflows = false, empty = false;
    for (int i = 0; i < e.shape.ndim; i++) {
        const int64_t n = e.shape.size[i];
        empty = empty || n == 0;
        overflows = overflows || __builtin_mul_overflow(reach, n == 0 ? 1 : n, &reach);
    }
    overflows = overflows || reach > PTRDIFF_MAX / 4 ||
                __builtin_add_overflow(e.begin, empty ? 0 : reach, &e.end);
    if (overflows || offsets[0] != e.begin || offsets[1] != e.end) {
        fail(f, HEED_ERR_FORMAT, "'%s', %s of %s after %lld bytes, has data_offsets [%lld, %lld]",
             heed_show_name(name).text, heed_shape_text(e.shape.ndim, e.shape.size).text, dtype,
             (long long)e.begin, (long long)offsets[0], (long long)offsets[1]);
    }
    f->entries = heed_grow(f->entries, f->count, &f->capacity, sizeof e);
    f->entries[f->count++] = e;
    f->data_size = e.end;
}

/* The whole header, or the metadata in it. */
static void scan_object(heed_safetensors *f, bool is_metadata)
{
    take(f, "{");
    for (bool is_first = true; has_more(f, '}', is_first); is_first = false) {
        const char *name = scan_string(f);
        take(f, ":");
        if (!is_metadata && strcmp(name, "__metadata__") == 0) {
            scan_object(f, true);
        } else if (!is_metadata) {
            scan_tensor(f, name);
        } else {
            const heed_metadata pair = {name, scan_string(f)};
            f->metadata = heed_grow(f->metadata, f->pairs, &f->pair_capacity, sizeof pair);
            f->metadata[f->pairs++] = pair;
        }
    }
}

static void read_at(const char *function, const heed_safetensors *f, void *to, int64_t size,
                    int64_t at)
{
    if (fseeko(f->stream, (off_t)at, SEEK_SET) != 0 ||
        fread(to, 1, (size_t)size, f->stream) != (size_t)size) {
        heed_raise(HEED_ERR_FILE, "%s: %s: cannot read it: %s", function, f->path.text,
                   ferror(f->stream) ? strerror(errno) : "it has become shorter");
    }
}

static void read_header(heed_safetensors *f, int64_t size)
{
    uint64_t length = 0; /* little-endian: heed.h requires it */
    if (size >= LENGTH) {
        read_at(f->function, f, &length, LENGTH, 0);
    }
    if (size < LENGTH || length > MOST_HEADER || (int64_t)length > size - LENGTH) {
        const bool is_zip = memcmp(&length, "PK\3\4", 4) == 0, is_pickle = (length & 0xff) == 0x80;
        fail(f, HEED_ERR_FORMAT, "it has %lld bytes, its header %llu; %s", (long long)size,
             (unsigned long long)length,
             is_zip || is_pickle ? "torch.save wrote it? Heed reads safetensors.torch.save_file's"
                                 : "is it a safetensors file?");
    }
    f->data = LENGTH + (int64_t)length;
    f->header = heed_alloc_zeroed((size_t)length + 1);
    read_at(f->function, f, f->header, (int64_t)length, LENGTH);
    f->at = f->header;
    scan_object(f, false);
    skip_space(f);
    if (f->at != f->header + length) {
        fail_scan(f, "the end");
    }
    if (f->data_size != size - f->data) {
        fail(f, HEED_ERR_FORMAT, "its tensors take up %lld bytes, but %lld follow the header",
             (long long)f->data_size, (long long)(size - f->data));
    }
    sort_entries(f);
}

/* ---- reading files ---- */

static void read_file(void *context)
{
    heed_safetensors *f = context;
    struct stat about;
    /* stat comes first, because opening a pipe would wait; the size is that of the open file. */
    if (stat(f->whole_path, &about) != 0 ||
        (S_ISREG(about.st_mode) && ((f->stream = fopen(f->whole_path, "rbe")) == NULL ||
                                    fseeko(f->stream, 0, SEEK_END) != 0))) {
        fail(f, HEED_ERR_FILE, "cannot open it: %s", strerror(errno));
    }
    if (f->stream == NULL) {
        fail(f, HEED_ERR_FILE, "%s", "it is not a regular file");
    }
    read_header(f, ftello(f->stream));
}

static heed_safetensors *open_file(const char *function, const char *path)
{
    heed_safetensors *f = heed_check_not_null(function, "the path", path) == HEED_OK
                              ? heed_alloc_zeroed(sizeof *f)
                              : NULL;
    if (f != NULL) {
        f->function = function;
        f->whole_path = path;
        f->path = heed_show_path(path);
        if (heed_try(read_file, f) != HEED_OK) {
            heed_safetensors_close(f);
            return NULL;
        }
    }
    return f;
}

heed_safetensors *heed_safetensors_open(const char *path)
{
    return open_file("safetensors_open", path);
}

void heed_safetensors_close(heed_safetensors *file)
{
    if (file != NULL) {
        if (file->stream != NULL) {
            fclose(file->stream);
        }
        heed_free(file->header);
        heed_free(file->entries);
        heed_free(file->metadata);
        heed_free(file);
    }
}

int heed_safetensors_count(const heed_safetensors *file)
{
    return heed_check_not_null("safetensors_count", "the file", file) == HEED_OK ? file->count : 0;
}

const char *heed_safetensors_name(const heed_safetensors *file, int i)
{
    HEED_DOOR(NULL);
    heed_check_not_null("safetensors_name", "the file", file);
    if (i < 0 || i >= file->count) {
        heed_raise(HEED_ERR_INDEX,
                   "safetensors_name: index %d is out of range for the %d tensors of %s", i,
                   file->count, file->path.text);
    }
    return file->entries[i].name;
}

const char *heed_safetensors_metadata(const heed_safetensors *file, const char *key)
{
    HEED_DOOR(NULL);
    heed_check_not_null("safetensors_metadata", "the file", file);
    heed_check_not_null("safetensors_metadata", "the key", key);
    int i = 0;
    while (i < file->pairs && strcmp(file->metadata[i].key, key) != 0) {
        i++;
    }
    return i < file->pairs ? file->metadata[i].value : NULL;
}

static entry *find_entry(const heed_safetensors *f, const char *name)
{
    return f->count == 0 ? NULL
                         : bsearch(&name, f->entries, (size_t)f->count, sizeof(entry), by_name);
}

static heed_tensor *read_entry(const char *function, const heed_safetensors *f, const entry *e)
{
    heed_tensor *t = heed_empty(e->shape, e->dtype);
    read_at(function, f, t->data, e->end - e->begin, f->data + e->begin);
    unsigned char *truth = t->data;
    for (int64_t i = 0; i < t->numel && e->dtype == HEED_BOOL; i++) {
        truth[i] = truth[i] != 0;
    }
    return t;
}

heed_tensor *heed_safetensors_tensor(const heed_safetensors *file, const char *name)
{
    static const char function[] = "safetensors_tensor";
    HEED_DOOR(NULL);
    heed_check_not_null(function, "the file", file);
    heed_check_scope(function);
    heed_check_not_null(function, "the name", name);
    const entry *e = find_entry(file, name);
    if (e == NULL) {
        heed_raise(HEED_ERR_VALUE, "%s: %s: no tensor '%s'", function, file->path.text,
                   heed_show_name(name).text);
    }
    return read_entry(function, file, e);
}

/* ---- writing ---- */

/* The order in a file: i64, f64, f32, bool; then by name. */
static int by_position(const void *a, const void *b)
{
    static const int order[] = {[HEED_I64] = 0, [HEED_F64] = 1, [HEED_F32] = 2, [HEED_BOOL] = 3};
    const int difference = order[((const entry *)a)->dtype] - order[((const entry *)b)->dtype];
    return difference != 0 ? difference : by_name(a, b);
}

static void check_text(const heed_safetensors *f, const char *text)
{
    if (text == NULL) {
        fail(f, HEED_ERR_NULL, "%s", "a name or a value is NULL");
    }
    if (!heed_is_utf8(text)) {
        fail(f, HEED_ERR_VALUE, "'%s' is not valid UTF-8", heed_show_name(text).text);
    }
}

/* Lists the tensors in the order of the file; copies views into the innermost scope. */
static void list_content(heed_safetensors *f, heed_tensor_list tensors,
                         const heed_metadata *metadata)
{
    for (; metadata != NULL && metadata->key != NULL; metadata++) {
        check_text(f, metadata->key);
        check_text(f, metadata->value);
    }
    f->entries = heed_scratch((size_t)tensors.count * sizeof *f->entries);
    for (int i = 0; i < tensors.count; i++) {
        heed_tensor *t = tensors.tensors[i];
        check_text(f, tensors.names[i]);
        if (strcmp(tensors.names[i], "__metadata__") == 0) {
            fail(f, HEED_ERR_VALUE, "the name '%s' is reserved", tensors.names[i]);
        }
        heed_check_tensor(f->function, "a tensor", t);
        f->entries[f->count++] =
            (entry){.name = tensors.names[i], .dtype = t->dtype, .tensor = heed_contiguous(t)};
    }
    sort_entries(f);
    if (f->count > 1) {
        qsort(f->entries, (size_t)f->count, sizeof *f->entries, by_position);
    }
}

static void put_string(FILE *to, const char *string)
{
    fputc('"', to);
    for (; *string != '\0'; string++) {
        const char *escape = strchr(escaped, *string);
        if (escape != NULL) {
            fprintf(to, "\\%c", escapes[escape - escaped]);
        } else if ((unsigned char)*string < 0x20) {
            fprintf(to, "\\u%04x", (unsigned)*string);
        } else {
            fputc(*string, to);
        }
    }
    fputc('"', to);
}

/* The length of the header is known, and written, last. Too long a header is an error of errno. */
static bool put_content(const heed_safetensors *f, const heed_metadata *metadata, FILE *to)
{
    const bool has_metadata = metadata != NULL && metadata->key != NULL;
    uint64_t length = 0;    /* little-endian: heed.h requires it */
    int64_t begin = 0, end; /* of a tensor's data */
    fwrite(&length, LENGTH, 1, to);
    fputs(has_metadata ? "{\"__metadata__\":{" : "{", to);
    for (int i = 0; has_metadata && metadata[i].key != NULL; i++) {
        fputs(i > 0 ? "," : "", to);
        put_string(to, metadata[i].key);
        fputs(":", to);
        put_string(to, metadata[i].value);
    }
    fputs(!has_metadata ? "" : f->count > 0 ? "}," : "}", to);
    for (int i = 0; i < f->count; i++) {
        const heed_tensor *t = f->entries[i].tensor;
        fputs(i > 0 ? "," : "", to);
        put_string(to, f->entries[i].name);
        fprintf(to, ":{\"dtype\":\"%s\",\"shape\":[", dtypes[t->dtype]);
        for (int j = 0; j < t->ndim; j++) {
            fprintf(to, j > 0 ? ",%lld" : "%lld", (long long)t->shape[j]);
        }
        end = begin + t->numel * (int64_t)heed_dtype_size(t->dtype);
        fprintf(to, "],\"data_offsets\":[%lld,%lld]}", (long long)begin, (long long)end);
        begin = end;
    }
    fputs("}", to);
    fprintf(to, "%*s", (int)(-ftello(to) & 7), ""); /* to a multiple of 8 */
    length = (uint64_t)ftello(to) - LENGTH;
    for (int i = 0; i < f->count; i++) {
        const heed_tensor *t = f->entries[i].tensor;
        fwrite(t->data, heed_dtype_size(t->dtype), (size_t)t->numel, to);
    }
    fseeko(to, 0, SEEK_SET);
    fwrite(&length, LENGTH, 1, to);
    if (length > MOST_HEADER) {
        errno = EFBIG;
    }
    return length <= MOST_HEADER;
}

/* Writes a file next to the old one, and renames it once it is on disk: a crash leaves the old one
 * or the new one. Errors are reported last, because their handler may exit the program. */
static void replace_file(const heed_safetensors *f, const heed_metadata *metadata, const char *path)
{
    char temporary[5000]; /* longer than any path that systems take */
    struct stat old;
    FILE *to = NULL;
    const bool exists = stat(path, &old) == 0;
    if (exists && (!S_ISREG(old.st_mode) || access(path, W_OK) != 0)) {
        fail(f, HEED_ERR_FILE, "%s", "it is not a regular file that may be written");
    }
    for (int i = 0; to == NULL && (i == 0 || errno == EEXIST); i++) {
        snprintf(temporary, sizeof temporary, "%s.tmp.%ld.%d", path, (long)getpid(), i);
        to = fopen(temporary, "wbxe");
    }
    if (to == NULL) {
        fail(f, HEED_ERR_FILE, "cannot create a temporary file next to it: %s", strerror(errno));
    }
    const bool replaced = (!exists || fchmod(fileno(to), old.st_mode & 0777) == 0) &&
                          put_content(f, metadata, to) && fflush(to) == 0 && !ferror(to) &&
                          fsync(fileno(to)) == 0 && rename(temporary, path) == 0;
    const int error = errno;
    fclose(to);
    if (!replaced) {
        unlink(temporary);
        fail(f, HEED_ERR_FILE, "cannot write it: %s", strerror(error));
    }
}

static heed_status save(const char *function, const char *path, heed_tensor_list tensors,
                        const heed_metadata *metadata)
{
    HEED_DOOR(heed_self.error);
    heed_check_not_null(function, "the path", path);
    if (tensors.count < 0 || (tensors.count > 0 && (!tensors.tensors || !tensors.names))) {
        heed_raise(HEED_ERR_NULL, "%s: the list has no tensors or no names", function);
    }
    heed_safetensors f = {.function = function, .path = heed_show_path(path)};
    HEED_SCOPE_NO_GRAD(scope);
    list_content(&f, tensors, metadata);
    replace_file(&f, metadata, path);
    return HEED_OK;
}

heed_status heed_save_file(heed_tensor_list tensors, const char *path,
                           const heed_metadata *metadata)
{
    return save("save_file", path, tensors, metadata);
}

/* ---- modules and training runs ---- */

/* What a file holds: the tensors of a module, and of an optimiser and the generator. */
typedef struct run {
    const char *function, *path;
    heed_module *module;
    heed_optimizer *optimizer; /* or NULL */
    bool has_generator, need_all, use_all;
    const heed_metadata *metadata; /* when saving */
    heed_safetensors *file;        /* when loading */
    heed_tensor_list state;        /* the module's */
    heed_named_tensors all;        /* the module's come first */
} run;

/* The generator of this thread as a tensor: seed, next, has_normal, normal, and the words. */
enum { GENERATOR = 4, GENERATOR_WORDS = 312 };

static heed_tensor *list_generator(void)
{
    const heed_generator g = heed_get_generator();
    int64_t words[GENERATOR + GENERATOR_WORDS] = {(int64_t)g.seed, g.next, g.has_normal};
    memcpy(&words[GENERATOR - 1], &g.normal, sizeof g.normal);
    memcpy(&words[GENERATOR], g.state, sizeof g.state);
    return heed_from_i64(words, HEED_SHAPE(GENERATOR + GENERATOR_WORDS));
}

static void take_generator(const heed_tensor *value)
{
    const int64_t *words = heed_const_data_i64(value);
    heed_generator g = {.seed = (uint64_t)words[0],
                        .next = words[1] >= 0 && words[1] <= INT32_MAX ? (int)words[1] : -1,
                        .has_normal = words[2] != 0,
                        .seeded = true};
    memcpy(&g.normal, &words[GENERATOR - 1], sizeof g.normal);
    memcpy(g.state, &words[GENERATOR], sizeof g.state);
    heed_set_generator(&g);
}

static void list_run(run *r)
{
    heed_set_grad_enabled(false);
    for (int i = 0; i < r->state.count; i++) {
        heed_named_add(&r->all, r->state.tensors[i], "%s", r->state.names[i]);
    }
    if (r->optimizer != NULL) {
        heed_optimizer_list(r->optimizer, "optimizer.", &r->all);
    }
    if (r->has_generator) {
        heed_named_add(&r->all, list_generator(), "rng_state");
    }
}

static heed_status run_work(run *r, void (*work)(void *context))
{
    heed_module_check(r->function, r->module);
    r->state = heed_state_dict(r->module);
    if (!heed_blocked()) {
        heed_try(work, r);
    }
    heed_named_free(&r->all);
    return heed_error_pending();
}

static void save_all(void *context)
{
    run *r = context;
    list_run(r);
    save(r->function, r->path, (heed_tensor_list){r->all.count, r->all.tensors, r->all.names},
         r->metadata);
}

heed_status heed_save_state_dict(void *module, const char *path, const heed_metadata *metadata)
{
    run r = {"save_state_dict", path, module, .metadata = metadata};
    return run_work(&r, save_all);
}

heed_status heed_save_checkpoint(void *module, heed_optimizer *optimizer, const char *path,
                                 const heed_metadata *about)
{
    run r = {"save_checkpoint", path, module, optimizer, .has_generator = true, .metadata = about};
    return run_work(&r, save_all);
}

/* A tensor with several names needs only one of them in the file. */
static bool is_missing(const heed_safetensors *f, const heed_named_tensors *wanted, int i)
{
    bool missing = true;
    for (int j = 0; j < wanted->count && missing; j++) {
        missing =
            wanted->tensors[j] != wanted->tensors[i] || find_entry(f, wanted->names[j]) == NULL;
    }
    return missing;
}

static bool fits(const heed_tensor *t, const entry *e)
{
    const bool floats = heed_is_float(t->dtype) && heed_is_float(e->dtype);
    return heed_has_shape(t, &e->shape) && (floats || t->dtype == e->dtype) && !heed_is_expanded(t);
}

/* Reads the tensors of a list into values; NULL: the file has none of that name. Names of the
 * module that the file lacks are errors if `need_all`, names that only the file has if `use_all`.
 */
static void read_list(const run *r, heed_tensor **values)
{
    const heed_safetensors *f = r->file;
    const char *module = r->module->kind->name;
    for (int i = 0; i < r->all.count; i++) {
        const heed_tensor *t = r->all.tensors[i];
        const heed_text name = heed_show_name(r->all.names[i]);
        entry *e = find_entry(f, r->all.names[i]);
        values[i] = NULL;
        if (e != NULL && fits(t, e)) {
            e->used = true;
            values[i] = read_entry(f->function, f, e);
        } else if (e != NULL) {
            fail(f, HEED_ERR_VALUE, "'%s' is %s %s, but in this %s it is %s %s%s", name.text,
                 dtypes[e->dtype], heed_shape_text(e->shape.ndim, e->shape.size).text, module,
                 heed_dtype_name(t->dtype), heed_shape_text(t->ndim, t->shape).text,
                 heed_is_expanded(t) ? ", expanded" : "");
        } else if (r->need_all && is_missing(f, &r->all, i)) {
            fail(f, HEED_ERR_VALUE, "'%s' is missing", name.text);
        }
    }
    for (int i = 0; i < f->count && r->use_all; i++) {
        if (!f->entries[i].used) {
            fail(f, HEED_ERR_VALUE, "this %s has no '%s'", module,
                 heed_show_name(f->entries[i].name).text);
        }
    }
}

/* Reads and checks everything before anything changes; copies cannot fail. */
static void load_all(void *context)
{
    run *r = context;
    r->file = open_file(r->function, r->path);
    heed_pass_on();
    list_run(r);
    heed_tensor **values = heed_scratch((size_t)r->all.count * sizeof *values);
    read_list(r, values);
    if (r->optimizer != NULL) {
        take_generator(values[r->all.count - 1]);
        heed_optimizer_take(r->function, r->optimizer, values + r->state.count);
    }
    for (int i = 0; i < r->state.count; i++) {
        if (values[i] != NULL) {
            heed_copy_into(r->all.tensors[i], values[i]);
        }
    }
}

static heed_status load_run(run r)
{
    const heed_generator before = heed_get_generator();
    if (run_work(&r, load_all) != HEED_OK) {
        heed_set_generator(&before);
    }
    heed_safetensors_close(r.file);
    return heed_error_pending();
}

heed_status(heed_load_state_dict)(heed_load_state_dict_args args)
{
    const bool strict = !args.no_strict;
    return load_run(
        (run){"load_state_dict", args.path, args.module, .need_all = strict, .use_all = strict});
}

heed_status heed_load_checkpoint(void *module, heed_optimizer *optimizer, const char *path)
{
    const bool whole = optimizer != NULL;
    return load_run((run){"load_checkpoint", path, module, optimizer, .has_generator = whole,
                          .need_all = true, .use_all = whole});
}
