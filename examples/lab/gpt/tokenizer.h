/* The tokenizer: converts text to token ids and back, by byte, character, word or byte pair. It can
 * be saved as text, alongside the model. */
#ifndef HEED_GPT_TOKENIZER_H
#define HEED_GPT_TOKENIZER_H

#include "examples/lab/common/vocabulary.h"
#include "examples/lab/gpt/bpe.h"
#include "heed.h"

typedef enum token_level { LEVEL_BYTE, LEVEL_CHAR, LEVEL_WORD, LEVEL_BPE } token_level;
enum { TOKEN_LEVELS = LEVEL_BPE + 1 };

/* token_level_name: "byte", "char", "word", "bpe". token_level_named: the level of that name;
 * false: no such level. */
const char *token_level_name(token_level level);
bool token_level_named(const char *name, token_level *level);

/* token_level_is_spelt: true if the tokens are characters or words, which requires UTF-8 texts;
 * false if a text can be any bytes. */
bool token_level_is_spelt(token_level level);

typedef struct tokenizer {
    token_level level;
    int64_t count;         /* of tokens; 0: empty */
    vocabulary vocabulary; /* by character and by word */
    bpe pairs;             /* by byte pair */
    int32_t ascii[128];    /* by character: the ids of ASCII, or VOCABULARY_NONE */
} tokenizer;

/* tokenizer_of_text: a tokenizer for a text; errors name the text `name`. Its tokens are
 *
 *     byte    all 256 bytes, whatever the text
 *     char    the characters of the text, ordered by code point, like sorted(set(text)) in Python
 *     word    <unknown> and the words of the text, the most frequent first: at most `size` in all
 *     bpe     the 256 bytes and the merges that bpe_train learns: at most `size` in all
 *
 * At levels byte and bpe a text can be any bytes; at char and word it must be UTF-8 without NUL.
 * HEED_ERR_VALUE: it is not, or is empty, or `size` is below 2 (word) or 256 (bpe). */
tokenizer tokenizer_of_text(token_level level, const char *name, const char *bytes, size_t length,
                            int64_t size);

/* tokenizer_saved: the tokens as NUL-terminated text, which is empty at level byte.
 * tokenizer_of_saved: the same tokenizer from its level and that text.
 * HEED_ERR_VALUE: not a text from tokenizer_saved. */
text_buffer tokenizer_saved(const tokenizer *t);
tokenizer tokenizer_of_saved(token_level level, const char *saved);

void tokenizer_free(tokenizer *t);

/* tokenizer_encode: the ids of all tokens of a text. *first_unknown (or NULL) becomes the first
 * token outside the vocabulary. Its id is that of <unknown> at level word, and VOCABULARY_NONE at
 * char, for which tokenizer_refuse raises an error.
 * HEED_ERR_VALUE: at levels char and word, not a text. */
token_list tokenizer_encode(const tokenizer *t, const char *bytes, size_t length,
                            token_span *first_unknown);

/* tokenizer_refuse: HEED_ERR_VALUE: "NAME: the character 'x' (U+0078) at offset 7 is not in the
 * vocabulary of 5". `unknown` points into `bytes`. */
heed_status tokenizer_refuse(const tokenizer *t, const char *name, const char *bytes,
                             token_span unknown);

/* tokenizer_decode: appends the bytes of one token; at level word after a blank if the tokens
 * require one. Begin with the joint {.tight = true}. At levels byte and bpe a token may be part of
 * a character. An id outside the vocabulary appends nothing. */
void tokenizer_decode(const tokenizer *t, text_joint *joint, int64_t id, text_buffer *to);

/* tokenizer_piece: the tokens of the next piece of a text; returns its length in bytes, which
 * includes blanks before a word. A piece is a chunk (bpe), a word, or a run of characters or bytes;
 * reading can start at any piece. 0: no bytes are left, or they are not text. The cache (or NULL)
 * is for bpe. */
enum { PIECE = CHUNK_LONGEST };
typedef struct token_piece {
    int32_t ids[PIECE];
    int count;
} token_piece;
size_t tokenizer_piece(const tokenizer *t, bpe_cache *cache, const char *bytes, size_t left,
                       token_piece *piece);

/* tokenizer_unknown: the first token of a piece that is not in the vocabulary. */
token_span tokenizer_unknown(const tokenizer *t, const char *bytes, size_t length,
                             const token_piece *piece);

#endif
