/* UTF-8 (internal to nn). */
#ifndef HEED_NN_UTF8_H
#define HEED_NN_UTF8_H

#include <stdbool.h>
#include <stdint.h>

/* heed_utf8_read: the length in bytes, 1 to 4, of the character at `text`, which ends in '\0'; sets
 * *code to its code point. Returns 0 and sets *code to 0 if it is invalid: a wrong first byte,
 * truncated, overlong, a surrogate, or past U+10FFFF. */
int heed_utf8_read(const char *text, uint32_t *code);

/* heed_utf8_write: writes a character (at most 4 bytes, not null-terminated) and returns the
 * end. */
char *heed_utf8_write(char *to, uint32_t code);

/* heed_is_utf8: true if the whole text is valid UTF-8. */
bool heed_is_utf8(const char *text);

#endif
