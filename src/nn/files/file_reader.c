/* Reads files with pread, so that threads can share them, and decodes elements: half precision,
 * i32, either byte order. */
#include "file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../arguments.h"
#include "file_error.h"

enum { MOST_AT_ONCE = 1 << 30, CHUNK = 512 };

/* ---- bytes ---- */

static heed_status open_regular(heed_file_reader *in, const char *function)
{
    struct stat about;
    in->fd = open(in->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    if (in->fd < 0) {
        return heed_fail_file(function, in->path, "open it", errno);
    }
    if (fstat(in->fd, &about) != 0) {
        return heed_fail_file(function, in->path, "stat it", errno);
    }
    if (!S_ISREG(about.st_mode)) {
        return heed_fail_at(HEED_ERR_FILE, function, in->path, "it is %s",
                            S_ISDIR(about.st_mode) ? "a directory" : "not a regular file");
    }
    in->size = about.st_size;
    return HEED_OK;
}

heed_status heed_reader_open(heed_file_reader *in, const char *function, const char *path)
{
    *in = (heed_file_reader){.fd = -1, .path = path};
    return heed_check_not_null(function, "the path", path) == HEED_OK ? open_regular(in, function)
                                                                      : heed_error_pending();
}

void heed_reader_close(heed_file_reader *in)
{
    if (in->fd >= 0) {
        close(in->fd);
        in->fd = -1;
    }
}

heed_status heed_reader_read(const heed_file_reader *in, const char *function, void *to,
                             int64_t size, int64_t at)
{
    while (size > 0) {
        const ssize_t got =
            pread(in->fd, to, (size_t)(size < MOST_AT_ONCE ? size : MOST_AT_ONCE), (off_t)at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return heed_fail_file(function, in->path, "read it", errno);
        }
        if (got == 0) {
            return heed_fail_at(HEED_ERR_FILE, function, in->path,
                                "it was truncated while open: it ends at byte %lld", (long long)at);
        }
        to = (char *)to + got;
        size -= got;
        at += got;
    }
    return HEED_OK;
}

/* ---- numbers ---- */

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Half precision: 1 sign bit, 5 exponent bits, 10 fraction bits. */
static float from_f16(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h >> 15) << 31, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 0) {
        const float value = ldexpf((float)fraction, -24); /* zero and subnormals, below 2^-14 */
        return sign != 0 ? -value : value;
    }
    if (exponent == 31) {
        return from_bits(sign | 0x7f800000 | fraction << 13); /* inf and NaN */
    }
    return from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

/* Reverses the bytes of each of `count` elements. */
static void swap_bytes(void *elements, int64_t count, int64_t size)
{
    unsigned char *e = elements;
    for (int64_t i = 0; i < count; i++, e += size) {
        for (int64_t low = 0, high = size - 1; low < high; low++, high--) {
            const unsigned char byte = e[low];
            e[low] = e[high];
            e[high] = byte;
        }
    }
}

heed_status heed_reader_elements(const heed_file_reader *in, const char *function, heed_tensor *to,
                                 const heed_file_dtype *dtype, bool big_endian, int64_t at)
{
    unsigned char chunk[4 * CHUNK];
    const int64_t size = dtype->bits / 8;
    if (dtype->decoding == HEED_DECODE_COPY || dtype->decoding == HEED_DECODE_BOOL) {
        /* The same size in memory as in the file: read in place. */
        if (heed_reader_read(in, function, to->data, to->numel * size, at) != HEED_OK) {
            return heed_error_pending();
        }
        if (big_endian) {
            swap_bytes(to->data, to->numel, size);
        }
        unsigned char *bytes = to->data;
        for (int64_t i = 0; i < to->numel && dtype->decoding == HEED_DECODE_BOOL; i++) {
            bytes[i] = bytes[i] != 0;
        }
        return HEED_OK;
    }
    for (int64_t i = 0, n; i < to->numel; i += n) {
        n = to->numel - i < CHUNK ? to->numel - i : CHUNK;
        if (heed_reader_read(in, function, chunk, n * size, at + i * size) != HEED_OK) {
            return heed_error_pending();
        }
        if (big_endian) {
            swap_bytes(chunk, n, size);
        }
        for (int64_t j = 0; j < n; j++) {
            uint16_t half;
            int32_t whole;
            if (dtype->decoding == HEED_DECODE_I32) {
                memcpy(&whole, chunk + j * size, sizeof whole);
                ((int64_t *)to->data)[i + j] = whole;
            } else { /* bfloat16 is the upper half of a float */
                memcpy(&half, chunk + j * size, sizeof half);
                ((float *)to->data)[i + j] = dtype->decoding == HEED_DECODE_F16
                                                 ? from_f16(half)
                                                 : from_bits((uint32_t)half << 16);
            }
        }
    }
    return HEED_OK;
}

/* ---- sizes ---- */

bool heed_count_dim(heed_dim_count *count, int64_t size)
{
    const int64_t most = INT64_C(1) << 56; /* the number of bits still fits */
    if (size > 0 && __builtin_mul_overflow(count->reach, size, &count->reach)) {
        count->reach = INT64_MAX;
    }
    count->numel = count->numel > 0 && size > 0 ? count->reach : 0;
    return count->reach <= most;
}
