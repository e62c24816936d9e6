/* How a text becomes numbers and numbers a text again: by byte, character, word or byte pair. All
 * that it takes can be saved as text, with the model.
 */
#ifndef HEED_GPT_TOKENIZER_H
#define HEED_GPT_TOKENIZER_H

#include "examples/common/vocabulary.h"
#include "examples/gpt/bpe.h"
#include "heed.h"

typedef enum token_level { LEVEL_BYTE, LEVEL_CHAR, LEVEL_WORD, LEVEL_BPE } token_level;
enum { TOKEN_LEVELS = LEVEL_BPE + 1 };

/* token_level_name: "byte", "char", "word", "bpe". token_level_named: the level of that name;
 * false: there is none. */
const char *token_level_name(token_level level);
bool token_level_named(const char *name, token_level *level);

typedef struct tokenizer {
    token_level level;
    int64_t count;         /* of tokens; 0: there is none */
    vocabulary vocabulary; /* by character and by word */
    bpe pairs;             /* by byte pair */
    int32_t ascii[128];    /* by character: the number of each that is ASCII, or VOCABULARY_NONE */
} tokenizer;

/* tokenizer_of_text: the tokens of a text, which `name` is called in messages.
 *
 *     byte    all 256; the text does not matter
 *     char    its characters in the order of their codes, as sorted(set(text)) in Python
 *     word    <unknown>, and its words, the most frequent first: at most `size` together
 *     bpe     the 256 bytes, and the byte pairs that bpe_train learns: at most `size` together
 *
 * By byte and bpe any bytes are a text; by char and word it must be UTF-8 without NUL.
 * HEED_ERR_VALUE: it is not, or is empty, or `size` is below 2 (word) or 256 (bpe). */
tokenizer tokenizer_of_text(token_level level, const char *name, const char *bytes, size_t length,
                            int64_t size);

/* tokenizer_saved: what tokenizer_of_saved makes the same of again, with the level: UTF-8 that ends
 * with a NUL and has no other; by byte it is empty.
 * HEED_ERR_VALUE: tokenizer_saved has not written this. */
text_buffer tokenizer_saved(const tokenizer *t);
tokenizer tokenizer_of_saved(token_level level, const char *saved);

void tokenizer_free(tokenizer *t);

/* tokenizer_encode: the numbers of all tokens of a text. *first_unknown (or NULL) is where the
 * first stands that the vocabulary has not: by word it is <unknown>, number 0; by character it has
 * no number but VOCABULARY_NONE, and tokenizer_refuse says so to the user.
 * HEED_ERR_VALUE: no text, by char and word. */
token_list tokenizer_encode(const tokenizer *t, const char *bytes, size_t length,
                            token_span *first_unknown);

/* tokenizer_refuse: HEED_ERR_VALUE: "NAME: the character 'x' (U+0078) at offset 7 is not among the
 * 5 of the vocabulary". `unknown` lies in `bytes`. */
heed_status tokenizer_refuse(const tokenizer *t, const char *name, const char *bytes,
                             token_span unknown);

/* tokenizer_decode: appends the bytes of one token; by word with the blank before it that the
 * tokens ask for, so begin with the joint {.tight = true}. By byte and bpe a token can be part of a
 * character. An id outside the vocabulary appends nothing. */
void tokenizer_decode(const tokenizer *t, text_joint *joint, int64_t id, text_buffer *to);

/* tokenizer_piece: the tokens of a piece of a text, from any place where a piece can begin; returns
 * the bytes that it has, with blanks before a word. A piece is a chunk (bpe), a word, or a run of
 * characters or bytes. 0: no bytes are left, or they are no text. The cache (or NULL) is for
 * bpe. */
enum { PIECE = CHUNK_LONGEST };
typedef struct token_piece {
    int32_t ids[PIECE];
    int count;
} token_piece;
size_t tokenizer_piece(const tokenizer *t, bpe_cache *cache, const char *bytes, size_t left,
                       token_piece *piece);

/* tokenizer_unknown: where in a piece the first token stands that the vocabulary has not. */
token_span tokenizer_unknown(const tokenizer *t, const char *bytes, size_t length,
                             const token_piece *piece);

#endif
