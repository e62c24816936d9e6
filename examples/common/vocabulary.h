/* The vocabulary: the tokens of a text, numbered from 0. */
#ifndef HEED_COMMON_VOCABULARY_H
#define HEED_COMMON_VOCABULARY_H

#include "examples/common/text.h"

enum { VOCABULARY_LIMIT = 8192, VOCABULARY_COUNTED = 8 << 20, VOCABULARY_NONE = -1 };

/* A list of token ids that grows; zero is empty. */
typedef struct token_list {
    int64_t *ids;
    int64_t count;
    size_t capacity;
} token_list;

void token_list_add(token_list *list, int64_t id);
void token_list_free(token_list *list);

typedef struct vocabulary_entry {
    size_t start, length; /* in the spelling */
    int64_t uses;         /* in the text that the vocabulary was made from */
} vocabulary_entry;

typedef struct vocabulary {
    text_level level;
    int64_t
        unknown; /* the id of <unknown>, which stands for all other tokens; or VOCABULARY_NONE */
    int64_t count;
    text_buffer spelling;      /* of the tokens, each ended by a NUL */
    vocabulary_entry *entries; /* by id */
    size_t capacity;
    int32_t *slots; /* a hash table: id + 1, or 0 */
    int64_t slot_count;
} vocabulary;

/* vocabulary_of_text: <unknown> and the tokens of a text, the most frequent first, at most `limit`
 * in all. To bound the memory that a large text takes, only the first VOCABULARY_COUNTED bytes of
 * different words are counted. */
vocabulary vocabulary_of_text(text_level level, const char *bytes, size_t length, int64_t limit);

/* vocabulary_of_characters: the characters of a checked text in the order of their codes, without
 * <unknown>: token i is sorted(set(text))[i] of Python. */
vocabulary vocabulary_of_characters(const char *bytes, size_t length);

/* vocabulary_of_list: the tokens of a list that vocabulary_list has written, in its order, after
 * <unknown> if wanted.
 * HEED_ERR_VALUE: vocabulary_list does not write such a list. */
vocabulary vocabulary_of_list(text_level level, bool with_unknown, const char *list);

/* vocabulary_list: the tokens except <unknown> as one text, ended by a NUL: words separated by
 * blanks, characters side by side. */
text_buffer vocabulary_list(const vocabulary *v);

/* vocabulary_count: counts one use of a token, which may be any bytes. A new token gets the next
 * id, unless the spelling already has `most` bytes. A vocabulary that is zero except for .unknown
 * is empty.
 * HEED_ERR_MEMORY: out of memory. */
void vocabulary_count(vocabulary *v, const char *token, size_t length, size_t most);

void vocabulary_free(vocabulary *v);

/* vocabulary_token: the spelling of a token; "" for an id outside the vocabulary. */
const char *vocabulary_token(const vocabulary *v, int64_t id);

/* vocabulary_id: the id of a token; v->unknown if the vocabulary does not have it. */
int64_t vocabulary_id(const vocabulary *v, const char *token, size_t length);

/* vocabulary_encode: the ids of all tokens of a checked text. *first_unknown (or NULL) is where the
 * first token stands that the vocabulary does not have. */
typedef struct token_span {
    const char *bytes; /* NULL: none */
    size_t length;
} token_span;
token_list vocabulary_encode(const vocabulary *v, const char *bytes, size_t length,
                             token_span *first_unknown);

#endif
