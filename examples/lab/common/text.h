/* Texts: read from a file and validated as UTF-8. */
#ifndef HEED_COMMON_TEXT_H
#define HEED_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- memory that grows ---- */

/* list_grow: returns the items of a list, moved if necessary, with memory for `needed` items of
 * `size` bytes each. Capacities double, so appending takes amortised constant time.
 * NULL: HEED_ERR_MEMORY is pending, and the list is unchanged. */
void *list_grow(void *items, size_t *capacity, size_t needed, size_t size);

/* A growable byte buffer; zero-initialised, it is empty. */
typedef struct text_buffer {
    char *bytes;
    size_t length, capacity;
} text_buffer;

/* text_append: appends bytes. HEED_ERR_MEMORY: out of memory. */
void text_append(text_buffer *to, const char *bytes, size_t length);
void text_free(text_buffer *t);

/* text_hash: FNV-1a of these bytes; the same on every machine. */
uint64_t text_hash(const char *bytes, size_t length);

/* ---- UTF-8 ---- */

/* utf8_next: the length of the first character of `left` > 0 bytes, 1 to 4, and its code point. A
 * byte that is not valid UTF-8 counts as a character of length 1 and code 0. */
size_t utf8_next(const char *bytes, size_t left, uint32_t *code);

/* utf8_valid: the number of bytes before the first one that is NUL or not UTF-8. */
size_t utf8_valid(const char *bytes, size_t length);

/* utf8_complete: the number of bytes without a truncated last character, whose other bytes may
 * follow. */
size_t utf8_complete(const char *bytes, size_t length);

/* utf8_write: writes the bytes of a character; returns their number. */
size_t utf8_write(uint32_t code, char bytes[4]);

/* ---- texts ---- */

/* text_check: checks that the bytes are UTF-8 without a NUL. Errors name the text `name`.
 * HEED_ERR_VALUE: they are not; the message gives the offset of the first bad byte. */
bool text_check(const char *name, const char *bytes, size_t length);

/* text_read: reads a whole file.
 * HEED_ERR_VALUE: it cannot be read, is empty, or is larger than 1 GiB. */
text_buffer text_read(const char *path);

#endif
