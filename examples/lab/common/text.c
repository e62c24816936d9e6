/* Texts: growable memory, UTF-8 and files. Memory comes from the library's allocator. */
#include "examples/lab/common/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "heed.h"

static const size_t most_bytes = (size_t)1 << 30;

/* ---- memory that grows ---- */

void *list_grow(void *items, size_t *capacity, size_t needed, size_t size)
{
    size_t grown = *capacity > 0 ? *capacity : 64;
    while (grown < needed) {
        grown *= 2;
    }
    if (grown == *capacity) {
        return items;
    }
    void *moved = heed_realloc(items, grown * size);
    *capacity = moved != NULL ? grown : *capacity;
    return moved;
}

/* Ensures capacity for `more` bytes after the length. */
static bool reserve(text_buffer *t, size_t more)
{
    char *bytes = list_grow(t->bytes, &t->capacity, t->length + more, 1);
    t->bytes = bytes != NULL ? bytes : t->bytes;
    return bytes != NULL;
}

void text_append(text_buffer *to, const char *bytes, size_t length)
{
    if (length > 0 && reserve(to, length)) {
        memcpy(to->bytes + to->length, bytes, length);
        to->length += length;
    }
}

void text_free(text_buffer *t)
{
    heed_free(t->bytes);
    *t = (text_buffer){.length = 0};
}

uint64_t text_hash(const char *bytes, size_t length)
{
    uint64_t hash = 0xCBF29CE484222325;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001B3;
    }
    return hash;
}

/* ---- UTF-8 ---- */

/* The length of a character from its first byte; 0 for a byte that cannot begin one. */
static int length_by_first(unsigned char first)
{
    return first < 0x80                     ? 1
           : first >= 0xC2 && first <= 0xDF ? 2
           : first >= 0xE0 && first <= 0xEF ? 3
           : first >= 0xF0 && first <= 0xF4 ? 4
                                            : 0;
}

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

size_t utf8_next(const char *bytes, size_t left, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* code point for each length */
    const unsigned char first = (unsigned char)*bytes;
    const int length = length_by_first(first);
    *code = 0;
    if (length == 0 || (size_t)length > left) {
        return 1;
    }
    uint32_t value = length == 1 ? first : first & (0x7Fu >> length);
    for (int i = 1; i < length; i++) {
        if (!continues(bytes[i])) {
            return 1;
        }
        value = value << 6 | ((unsigned char)bytes[i] & 0x3F);
    }
    if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
        return 1; /* overlong, too large, or half of a UTF-16 surrogate pair */
    }
    *code = value;
    return (size_t)length;
}

size_t utf8_valid(const char *bytes, size_t length)
{
    size_t at = 0;
    while (at < length) {
        uint32_t code;
        const size_t step = utf8_next(bytes + at, length - at, &code);
        if (code == 0) {
            break;
        }
        at += step;
    }
    return at;
}

size_t utf8_complete(const char *bytes, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        const char byte = bytes[length - back];
        if (!continues(byte)) {
            const int announced = length_by_first((unsigned char)byte);
            return announced > (int)back ? length - back : length;
        }
    }
    return length;
}

size_t utf8_write(uint32_t code, char bytes[4])
{
    static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0}; /* high bits by length */
    const int length = 1 + (code >= 0x80) + (code >= 0x800) + (code >= 0x10000);
    for (int i = length - 1; i > 0; i--, code >>= 6) {
        bytes[i] = (char)(0x80 | (code & 0x3F));
    }
    bytes[0] = (char)(first[length] | code);
    return (size_t)length;
}

/* ---- files ---- */

bool text_check(const char *name, const char *bytes, size_t length)
{
    const size_t at = utf8_valid(bytes, length);
    if (at < length && bytes[at] == '\0') {
        heed_fail(HEED_ERR_VALUE, "%s: not a text: a NUL byte at offset %zu", name, at);
    } else if (at < length) {
        heed_fail(HEED_ERR_VALUE, "%s: not UTF-8: byte 0x%02X at offset %zu", name,
                  (unsigned char)bytes[at], at);
    }
    return at == length;
}

text_buffer text_read(const char *path)
{
    text_buffer t = {.length = 0};
    FILE *file = fopen(path, "rb");
    size_t count = file != NULL;
    while (count > 0 && t.length <= most_bytes && reserve(&t, 1 << 16)) {
        count = fread(t.bytes + t.length, 1, t.capacity - t.length, file);
        t.length += count;
    }
    if (file == NULL || ferror(file)) {
        heed_fail(HEED_ERR_VALUE, "cannot read %s: %s", path, strerror(errno));
    } else if (t.length > most_bytes) {
        heed_fail(HEED_ERR_VALUE, "%s: larger than 1 GiB", path);
    } else if (t.length == 0) {
        heed_fail(HEED_ERR_VALUE, "%s: empty", path);
    }
    if (file != NULL) {
        fclose(file);
    }
    if (heed_error_pending()) {
        text_free(&t);
    }
    return t;
}
