/* A text: read from a file, checked to be UTF-8, cut into tokens and joined again.
 *
 * By character a token is a code point. By word it is a word, a punctuation mark or the end of a
 * line; blanks only part tokens, and joining puts them where a reader expects them.
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

/* Bytes that grow. They belong to the one who holds the struct; zero is empty. */
typedef struct text_buffer {
    char *bytes;
    size_t length, capacity;
} text_buffer;

/* text_append: HEED_ERR_MEMORY is pending afterwards if there is none. */
void text_append(text_buffer *to, const char *bytes, size_t length);
void text_free(text_buffer *t);

/* text_hash: FNV-1a of these bytes, which is the same everywhere. */
uint64_t text_hash(const char *bytes, size_t length);

/* text_read: the whole of a file. A byte order mark is dropped, and the two characters that end a
 * line in some systems become one.
 *
 * HEED_ERR_VALUE: a file that cannot be read, is empty or larger than 1 GiB, or is no text. */
text_buffer text_read(const char *path);

/* utf8_length: how many bytes the character at `bytes` has, 1 to 4, and which it is; 0: the `left`
 * bytes do not begin with UTF-8. */
int utf8_length(const char *bytes, size_t left, uint32_t *code);

/* utf8_write: the bytes of a character; returns how many. */
size_t utf8_write(uint32_t code, char bytes[4]);

/* text_check: are these bytes UTF-8 without a NUL? `name` is what the message calls them.
 * HEED_ERR_VALUE: no, and the offset of the first that is not. */
bool text_check(const char *name, const char *bytes, size_t length);

/* text_next_token: finds the first token at or after `at` in a checked text; returns its length,
 * and *start is where it begins. 0: there is no more. */
size_t text_next_token(text_level level, const char *bytes, size_t length, size_t at,
                       size_t *start);

/* What joining has to remember of the tokens before. */
typedef struct text_joint {
    bool tight;      /* no blank after the last token */
    unsigned quotes; /* which kinds of quotation marks are open */
} text_joint;

/* text_join: appends a token to `to`, with a blank before it if the level and the tokens ask for
 * one. Begin with the joint {.tight = true}. */
void text_join(text_buffer *to, text_level level, text_joint *joint, const char *token);

#endif
