/* The vocabulary: which tokens there are, and the number of each. */
#ifndef HEED_COMMON_VOCABULARY_H
#define HEED_COMMON_VOCABULARY_H

#include "examples/common/text.h"

enum { VOCABULARY_LIMIT = 8192, VOCABULARY_COUNTED = 8 << 20, VOCABULARY_NONE = -1 };

/* Numbers of tokens, a list that grows; zero is empty. */
typedef struct token_list {
    int64_t *id;
    int64_t count, capacity;
} token_list;

void token_list_add(token_list *list, int64_t id);
void token_list_free(token_list *list);

typedef struct vocabulary_entry {
    size_t start, length; /* in the spelling */
    int64_t uses;         /* in the text that it was made from */
} vocabulary_entry;

typedef struct vocabulary {
    text_level level;
    int64_t unknown; /* the number of <unknown>, which stands for all others; or VOCABULARY_NONE */
    int64_t count;
    text_buffer spelling;      /* of the tokens, each ended by a NUL */
    vocabulary_entry *entries; /* by number */
    int32_t *slots;            /* of a hash table: number + 1, or 0 */
    int64_t capacity, slot_count;
} vocabulary;

/* vocabulary_of_text: <unknown>, and the tokens of a text, the most frequent first; if they are
 * more than `limit` with it, the others are left out. So that a text of any size can be counted,
 * words count that are among the first VOCABULARY_COUNTED bytes of different ones. */
vocabulary vocabulary_of_text(text_level level, const char *bytes, size_t length, int64_t limit);

/* vocabulary_of_characters: the characters of a checked text in the order of their codes, without
 * <unknown>: the i-th is Python's sorted(set(text))[i]. */
vocabulary vocabulary_of_characters(const char *bytes, size_t length);

/* vocabulary_of_list: the tokens of a list as vocabulary_list writes it, in that order, with
 * <unknown> before them if there is one.
 * HEED_ERR_VALUE: nothing that vocabulary_list writes. */
vocabulary vocabulary_of_list(text_level level, bool with_unknown, const char *list);

/* vocabulary_list: the tokens as one text: words with blanks between, characters without. <unknown>
 * is not among them. Ends with a NUL. */
text_buffer vocabulary_list(const vocabulary *v);

/* vocabulary_count: one use more of a token, which gets the next number if it is new, unless the
 * spelling already has `most` bytes; any bytes can be counted. Zero but for .unknown is an empty
 * vocabulary.
 * HEED_ERR_MEMORY: there is none. */
void vocabulary_count(vocabulary *v, const char *token, size_t length, size_t most);

void vocabulary_free(vocabulary *v);

const char *vocabulary_token(const vocabulary *v, int64_t id);

/* vocabulary_id: the number of a token, v->unknown if it has none. */
int64_t vocabulary_id(const vocabulary *v, const char *token, size_t length);

/* vocabulary_encode: the numbers of all tokens of a checked text. *first_unknown (or NULL) is where
 * the first token without a number of its own stands. */
typedef struct token_span {
    const char *bytes; /* NULL: there is none */
    size_t length;
} token_span;
token_list vocabulary_encode(const vocabulary *v, const char *bytes, size_t length,
                             token_span *first_unknown);

#endif
