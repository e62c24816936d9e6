/* Reading safetensors files. The header is safetensors_header.c's, writing is safetensors_save.c's.
 *
 * The file stays open, and tensors are read at their place (pread), so that several threads can read
 * from one. */
#include "nn/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/file_error.h"
#include "nn/safetensors_header.h"
#include "tensor/alloc.h"
#include "tensor/create.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are little-endian, and so must the machine be"
#endif

enum { LENGTH = 8, MOST_AT_ONCE = 1 << 30 }; /* LENGTH bytes say how long the header is */

static heed_status read_at(const char *function, const heed_safetensors *file, void *to,
                           int64_t size, int64_t at)
{
    while (size > 0) {
        const ssize_t got =
            pread(file->fd, to, (size_t)(size < MOST_AT_ONCE ? size : MOST_AT_ONCE), (off_t)at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return heed_fail_file(function, file->path, "read it", errno);
        }
        if (got == 0) {
            return heed_fail(HEED_ERR_FILE, "%s: %s: it has become shorter: it ends at byte %lld",
                             function, heed_show_path(file->path).text, (long long)at);
        }
        to = (char *)to + got;
        size -= got;
        at += got;
    }
    return HEED_OK;
}

/* ---- opening ---- */

static heed_status open_regular(const char *function, heed_safetensors *file, int64_t *size)
{
    struct stat about;
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    if (file->fd < 0) {
        return heed_fail_file(function, file->path, "open it", errno);
    }
    if (fstat(file->fd, &about) != 0) {
        return heed_fail_file(function, file->path, "look at it", errno);
    }
    if (!S_ISREG(about.st_mode)) {
        return heed_fail(HEED_ERR_FILE, "%s: %s: it is %s", function,
                         heed_show_path(file->path).text,
                         S_ISDIR(about.st_mode) ? "a directory" : "no regular file");
    }
    *size = about.st_size;
    return HEED_OK;
}

static heed_status read_header(const char *function, heed_safetensors *file, int64_t size)
{
    heed_file_header *header = &file->header;
    const char *path = file->path;
    unsigned char bytes[LENGTH];
    uint64_t length = 0;
    if (size < LENGTH) {
        return heed_fail(HEED_ERR_FORMAT, "%s: %s: %lld bytes are too short for a safetensors file",
                         function, heed_show_path(path).text, (long long)size);
    }
    if (read_at(function, file, bytes, LENGTH, 0) != HEED_OK) {
        return heed_error_pending();
    }
    memcpy(&length, bytes, LENGTH);
    if (length > HEED_MOST_HEADER || (int64_t)length > size - LENGTH) {
        return heed_fail(HEED_ERR_FORMAT,
                         "%s: %s: its header would have %llu bytes, more than %s; is it a "
                         "safetensors file?",
                         function, heed_show_path(path).text, (unsigned long long)length,
                         length > HEED_MOST_HEADER ? "the 100 MB that are allowed" : "the file");
    }
    header->text = heed_alloc((size_t)length + 1);
    if (header->text == NULL) {
        return heed_error_pending();
    }
    header->size = (size_t)length;
    header->text[length] = '\0';
    file->data = LENGTH + (int64_t)length;
    if (read_at(function, file, header->text, (int64_t)length, LENGTH) != HEED_OK) {
        return heed_error_pending();
    }
    return heed_file_header_read(header, function, path, size - file->data);
}

heed_safetensors *heed_file_open(const char *function, const char *path)
{
    int64_t size = 0;
    if (heed_error_pending()) {
        return NULL;
    }
    if (path == NULL) {
        heed_fail(HEED_ERR_NULL, "%s: the path is NULL", function);
        return NULL;
    }
    heed_safetensors *file = heed_alloc_zeroed(sizeof *file);
    if (file == NULL) {
        return NULL;
    }
    file->fd = -1;
    file->path = heed_alloc(strlen(path) + 1);
    if (file->path != NULL) {
        strcpy(file->path, path);
        if (open_regular(function, file, &size) == HEED_OK &&
            read_header(function, file, size) == HEED_OK) {
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
    if (file->fd >= 0) {
        close(file->fd);
    }
    if (file->path != NULL) {
        heed_free(file->path, strlen(file->path) + 1);
    }
    heed_file_header_free(&file->header);
    heed_free(file, sizeof *file);
}

/* ---- what is in it ---- */

static heed_status check_file(const char *function, const heed_safetensors *file)
{
    if (!heed_error_pending() && file == NULL) {
        return heed_fail(HEED_ERR_NULL, "%s: the file is NULL", function);
    }
    return heed_error_pending();
}

int heed_safetensors_count(const heed_safetensors *file)
{
    return check_file("safetensors_count", file) == HEED_OK ? file->header.count : 0;
}

const char *heed_safetensors_name(const heed_safetensors *file, int i)
{
    if (check_file("safetensors_name", file) != HEED_OK) {
        return NULL;
    }
    if (i < 0 || i >= file->header.count) {
        heed_fail(HEED_ERR_INDEX, "safetensors_name: %d is outside the %d tensors of %s", i,
                  file->header.count, heed_show_path(file->path).text);
        return NULL;
    }
    return file->header.tensors[i].name;
}

const char *heed_safetensors_metadata(const heed_safetensors *file, const char *key)
{
    if (check_file("safetensors_metadata", file) != HEED_OK) {
        return NULL;
    }
    if (key == NULL) {
        heed_fail(HEED_ERR_NULL, "safetensors_metadata: the key is NULL");
        return NULL;
    }
    for (int i = 0; i < file->header.pairs; i++) {
        if (strcmp(file->header.metadata[i].key, key) == 0) {
            return file->header.metadata[i].value;
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
    return file->header.metadata != NULL ? file->header.metadata : &none;
}

/* ---- tensors ---- */

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Half precision: a sign, 5 bits of exponent and 10 of fraction. */
static float from_f16(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h >> 15) << 31, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 0) {
        const float value = ldexpf((float)fraction, -24); /* zero and what is below 2^-14 */
        return sign != 0 ? -value : value;
    }
    if (exponent == 31) {
        return from_bits(sign | 0x7f800000 | fraction << 13); /* inf and NaN */
    }
    return from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

/* bfloat16 is the upper half of a float. */
static float from_bf16(uint16_t h)
{
    return from_bits((uint32_t)h << 16);
}

/* Reads 16-bit floats, a few hundred at a time. */
static heed_status read_halves(const char *function, const heed_safetensors *file, float *to,
                               const heed_file_tensor *tensor)
{
    const bool brain = tensor->dtype->name[0] == 'B';
    uint16_t halves[512];
    for (int64_t i = 0, n; i < tensor->numel; i += n) {
        n = tensor->numel - i < 512 ? tensor->numel - i : 512;
        if (read_at(function, file, halves, 2 * n, file->data + tensor->begin + 2 * i) != HEED_OK) {
            return heed_error_pending();
        }
        for (int64_t j = 0; j < n; j++) {
            to[i + j] = brain ? from_bf16(halves[j]) : from_f16(halves[j]);
        }
    }
    return HEED_OK;
}

/* A bool is 0 or 1; a byte may be anything. */
static void make_bools(unsigned char *bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        bytes[i] = bytes[i] != 0;
    }
}

heed_tensor *heed_file_read(const char *function, const heed_safetensors *file,
                            const heed_file_tensor *tensor)
{
    const heed_file_dtype *dtype = tensor->dtype;
    if (dtype->as == HEED_DTYPES) {
        heed_fail(HEED_ERR_DTYPE, "%s: %s: '%s' is %s, for which Heed has no dtype", function,
                  heed_show_path(file->path).text, heed_show_name(tensor->name).text, dtype->name);
        return NULL;
    }
    if (tensor->ndim > HEED_MAX_DIMS) {
        heed_fail(HEED_ERR_SHAPE, "%s: %s: '%s' has %d dims; a tensor has up to %d", function,
                  heed_show_path(file->path).text, heed_show_name(tensor->name).text, tensor->ndim,
                  HEED_MAX_DIMS);
        return NULL;
    }
    heed_shape shape = {.ndim = tensor->ndim};
    memcpy(shape.size, tensor->shape, sizeof shape.size);
    heed_tensor *t = heed_empty(shape, dtype->as);
    if (t == NULL) {
        return NULL;
    }
    if (dtype->bits == 16) {
        read_halves(function, file, t->data, tensor);
    } else {
        read_at(function, file, t->data, tensor->end - tensor->begin, file->data + tensor->begin);
    }
    if (dtype->as == HEED_BOOL) {
        make_bools(t->data, t->numel);
    }
    return heed_error_pending() ? NULL : t;
}

heed_tensor *heed_safetensors_tensor(const heed_safetensors *file, const char *name)
{
    static const char function[] = "safetensors_tensor";
    if (check_file(function, file) != HEED_OK || heed_check_scope(function) != HEED_OK) {
        return NULL;
    }
    if (name == NULL) {
        heed_fail(HEED_ERR_NULL, "%s: the name is NULL", function);
        return NULL;
    }
    const heed_file_tensor *tensor = heed_file_tensor_find(&file->header, name);
    if (tensor == NULL) {
        const bool any = file->header.count > 0;
        heed_fail(HEED_ERR_VALUE, "%s: %s: no tensor '%s'%s%s%s", function,
                  heed_show_path(file->path).text, heed_show_name(name).text,
                  any ? "; the first is '" : "",
                  any ? heed_show_name(file->header.tensors[0].name).text : "", any ? "'" : "");
        return NULL;
    }
    return heed_file_read(function, file, tensor);
}
