/* Texts: read from a file, checked to be UTF-8, cut into tokens and joined again.
 *
 * By character, a token is a code point. By word, it is a word, a punctuation mark or the end of a
 * line; blanks only separate tokens, and joining puts them back where a reader expects them.
 */
#ifndef HEED_COMMON_TEXT_H
#define HEED_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum text_level { TEXT_CHAR, TEXT_WORD } text_level;

/* text_level_name: "char", "word". text_token_name: "character", "word". */
const char *text_level_name(text_level level);
const char *text_token_name(text_level level);

/* ---- memory that grows ---- */

/* list_grow: returns the items of a list, moved if need be, with memory for `needed` items of
 * `size` bytes each. Capacities double, so appending takes constant time on average.
 * NULL: HEED_ERR_MEMORY is pending, and the list is unchanged. */
void *list_grow(void *items, size_t *capacity, size_t needed, size_t size);

/* Bytes that grow; zero is empty. The owner of the struct frees them. */
typedef struct text_buffer {
    char *bytes;
    size_t length, capacity;
} text_buffer;

/* text_append: HEED_ERR_MEMORY is pending afterwards if memory runs out. */
void text_append(text_buffer *to, const char *bytes, size_t length);
void text_free(text_buffer *t);

/* text_hash: FNV-1a of these bytes, the same on every machine. */
uint64_t text_hash(const char *bytes, size_t length);

/* ---- UTF-8 ---- */

/* utf8_length: the length of the character at `bytes`, 1 to 4, and its code; 0: the `left` bytes do
 * not begin with UTF-8. utf8_next: the same, but a byte that is not UTF-8 counts as a character of
 * length 1 and code 0. */
int utf8_length(const char *bytes, size_t left, uint32_t *code);
size_t utf8_next(const char *bytes, size_t left, uint32_t *code);

/* utf8_valid: how many of these bytes precede the first one that is NUL or not UTF-8. */
size_t utf8_valid(const char *bytes, size_t length);

/* utf8_complete: how many of these bytes remain without a last character that is cut off: its other
 * bytes may follow. */
size_t utf8_complete(const char *bytes, size_t length);

/* utf8_write: the bytes of a character; returns how many. */
size_t utf8_write(uint32_t code, char bytes[4]);

/* ---- texts ---- */

/* text_check: are these bytes UTF-8 without a NUL? Messages call them `name`.
 * HEED_ERR_VALUE: no; the message has the offset of the first bad byte. */
bool text_check(const char *name, const char *bytes, size_t length);

/* text_read: a whole file. Drops a byte order mark, and turns \r\n into \n.
 *
 * HEED_ERR_VALUE: the file cannot be read, is empty, larger than 1 GiB or not a text. */
text_buffer text_read(const char *path);

/* text_next_token: finds the first token at or after `at` in a checked text; returns its length and
 * stores where it begins in *start. 0: none is left. */
size_t text_next_token(text_level level, const char *bytes, size_t length, size_t at,
                       size_t *start);

/* What joining remembers of the tokens so far. */
typedef struct text_joint {
    bool tight;      /* no blank after the last token */
    unsigned quotes; /* kinds of quotation marks that are open, a bit each */
} text_joint;

/* text_join: appends a token to `to`, after a blank if the level and the tokens call for one. Begin
 * with the joint {.tight = true}. */
void text_join(text_buffer *to, text_level level, text_joint *joint, const char *token);

#endif
