/* The vocabulary: the tokens of a text, numbered from 0. */
#ifndef HEED_COMMON_VOCABULARY_H
#define HEED_COMMON_VOCABULARY_H

#include "examples/lab/common/text.h"

enum { VOCABULARY_LIMIT = 8192, VOCABULARY_COUNTED = 8 << 20, VOCABULARY_NONE = -1 };

/* A growable list of token ids; zero-initialised, it is empty. */
typedef struct token_list {
    int64_t *ids;
    int64_t count;
    size_t capacity;
} token_list;

void token_list_add(token_list *list, int64_t id);
void token_list_free(token_list *list);

typedef struct vocabulary_entry {
    size_t start, length; /* in the spelling */
    int64_t uses;         /* in the vocabulary's own text */
} vocabulary_entry;

typedef struct vocabulary {
    text_level level;
    int64_t unknown; /* id of <unknown>, which replaces all other tokens; or VOCABULARY_NONE */
    int64_t count;
    text_buffer spelling;      /* of the tokens, each NUL-terminated */
    vocabulary_entry *entries; /* by id */
    size_t capacity;
    int32_t *slots; /* hash table of id + 1, or 0 */
    int64_t slot_count;
} vocabulary;

/* vocabulary_of_text: <unknown> and the tokens of a text, the most frequent first, at most `limit`
 * in all. To bound the memory for a large text, new words are ignored once the distinct words have
 * VOCABULARY_COUNTED bytes in total. */
vocabulary vocabulary_of_text(text_level level, const char *bytes, size_t length, int64_t limit);

/* vocabulary_of_characters: the characters of a checked text in the order of their code points,
 * without <unknown>: token i is sorted(set(text))[i] in Python. */
vocabulary vocabulary_of_characters(const char *bytes, size_t length);

/* vocabulary_of_list: the tokens of a list written by vocabulary_list, in its order, after
 * <unknown> if requested.
 * HEED_ERR_VALUE: the list has an empty or a duplicate token. */
vocabulary vocabulary_of_list(text_level level, bool with_unknown, const char *list);

/* vocabulary_list: the tokens except <unknown> as one NUL-terminated text: words separated by
 * blanks, characters concatenated. */
text_buffer vocabulary_list(const vocabulary *v);

/* vocabulary_count: counts one use of a token, which may be any bytes. A new token gets the next
 * id, unless the spelling already has `most` bytes. A vocabulary that is zero except for .unknown
 * is empty.
 * HEED_ERR_MEMORY: out of memory. */
void vocabulary_count(vocabulary *v, const char *token, size_t length, size_t most);

void vocabulary_free(vocabulary *v);

/* vocabulary_token: the spelling of a token; "" for an id outside the vocabulary. */
const char *vocabulary_token(const vocabulary *v, int64_t id);

/* vocabulary_id: the id of a token; v->unknown if it is not in the vocabulary. */
int64_t vocabulary_id(const vocabulary *v, const char *token, size_t length);

/* vocabulary_encode: the ids of all tokens of a checked text. *first_unknown (or NULL) becomes the
 * first token outside the vocabulary. */
typedef struct token_span {
    const char *bytes; /* NULL: none */
    size_t length;
} token_span;
token_list vocabulary_encode(const vocabulary *v, const char *bytes, size_t length,
                             token_span *first_unknown);

#endif
