/* The tokenizer: converts text to token ids and back, by character or byte pair. It can be saved as
 * text, alongside the model. */
#ifndef HEED_GPT_TOKENIZER_H
#define HEED_GPT_TOKENIZER_H

#include "examples/lab/gpt/bpe.h"
#include "heed.h"

typedef enum token_level { LEVEL_CHAR, LEVEL_BPE } token_level;

/* token_level_name: "char", "bpe". */
const char *token_level_name(token_level level);

typedef struct tokenizer {
    token_level level;
    int64_t count;   /* of tokens; 0: empty */
    uint32_t *codes; /* by character: the code points, ascending */
    bpe pairs;       /* by byte pair */
} tokenizer;

/* A growable list of token ids; zero-initialised, it is empty. */
typedef struct token_list {
    int64_t *ids;
    int64_t count;
    size_t capacity;
} token_list;
void token_list_free(token_list *list);

/* tokenizer_of_text: a tokenizer for a text; errors name the text `name`. Its tokens are
 *
 *     char    the characters of the text, ordered by code point, like sorted(set(text)) in Python
 *     bpe     the 256 bytes and the merges that bpe_train learns: at most `size` in all
 *
 * At level bpe a text can be any bytes; at char it must be UTF-8 without NUL.
 * HEED_ERR_VALUE: it is not, or is empty, or `size` is below 256. */
tokenizer tokenizer_of_text(token_level level, const char *name, const char *bytes, size_t length,
                            int64_t size);

/* tokenizer_saved: the tokens as NUL-terminated text. tokenizer_of_saved: the same tokenizer from
 * its level and that text. HEED_ERR_VALUE: not a text from tokenizer_saved. */
text_buffer tokenizer_saved(const tokenizer *t);
tokenizer tokenizer_of_saved(token_level level, const char *saved);

void tokenizer_free(tokenizer *t);

/* tokenizer_encode: the ids of all tokens of a text, which errors name `name`.
 * HEED_ERR_VALUE: at level char, not a text, or "NAME: the character 'x' (U+0078) at offset 7 is
 * not in the vocabulary of 5". */
token_list tokenizer_encode(const tokenizer *t, const char *name, const char *bytes, size_t length);

/* tokenizer_decode: appends the bytes of one token, which may be part of a character. An id outside
 * the vocabulary appends nothing. */
void tokenizer_decode(const tokenizer *t, int64_t id, text_buffer *to);

#endif
