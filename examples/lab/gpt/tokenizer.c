/* The tokenizer: dispatches on the level. Byte pairs are in bpe.c, vocabularies in
 * common/vocabulary.c, and the splitting of a text into words in common/text.c. */
#include "examples/lab/gpt/tokenizer.h"

#include <stdio.h>
#include <string.h>

static const char *const names[TOKEN_LEVELS] = {"byte", "char", "word", "bpe"};

const char *token_level_name(token_level level)
{
    return names[level];
}

bool token_level_named(const char *name, token_level *level)
{
    for (int i = 0; i < TOKEN_LEVELS; i++) {
        if (strcmp(name, names[i]) == 0) {
            *level = (token_level)i;
            return true;
        }
    }
    return false;
}

bool token_level_is_spelt(token_level level)
{
    return level == LEVEL_CHAR || level == LEVEL_WORD;
}

/* ---- making one ---- */

/* Sets the count and the ids of ASCII. Frees everything if an error is pending. */
static tokenizer complete(tokenizer t)
{
    if (heed_error_pending()) {
        tokenizer_free(&t);
        return t;
    }
    t.count = t.level == LEVEL_BYTE  ? BPE_BYTES
              : t.level == LEVEL_BPE ? t.pairs.count
                                     : t.vocabulary.count;
    for (int i = 0; i < 128 && t.level == LEVEL_CHAR; i++) {
        const char character = (char)i;
        t.ascii[i] = (int32_t)vocabulary_id(&t.vocabulary, &character, 1);
    }
    return t;
}

tokenizer tokenizer_of_text(token_level level, const char *name, const char *bytes, size_t length,
                            int64_t size)
{
    tokenizer t = {.level = level};
    if (heed_error_pending()) {
        return t;
    }
    if (length == 0) {
        heed_fail(HEED_ERR_VALUE, "%s: empty", name);
    } else if (level == LEVEL_WORD && size < 2) {
        heed_fail(HEED_ERR_VALUE,
                  "%s: a vocabulary of %lld words; the minimum is 2, including <unknown>", name,
                  (long long)size);
    } else if (token_level_is_spelt(level) && !text_check(name, bytes, length)) {
        return t;
    } else if (level == LEVEL_CHAR) {
        t.vocabulary = vocabulary_of_characters(bytes, length);
    } else if (level == LEVEL_WORD) {
        t.vocabulary = vocabulary_of_text(TEXT_WORD, bytes, length, size);
    } else if (level == LEVEL_BPE) {
        t.pairs = bpe_train(bytes, length, size);
    }
    heed_empty_cache(); /* frees the memory used for counting a large text */
    return complete(t);
}

text_buffer tokenizer_saved(const tokenizer *t)
{
    text_buffer none = {.length = 0};
    if (t->level == LEVEL_BYTE) {
        text_append(&none, "", 1);
        return none;
    }
    return t->level == LEVEL_BPE ? bpe_saved(&t->pairs) : vocabulary_list(&t->vocabulary);
}

tokenizer tokenizer_of_saved(token_level level, const char *saved)
{
    tokenizer t = {.level = level};
    const char *name = level == LEVEL_WORD ? "the words" : "the characters";
    if (heed_error_pending()) {
        return t;
    }
    if (saved == NULL) {
        heed_fail(HEED_ERR_NULL, "the vocabulary is NULL");
    } else if (level == LEVEL_BPE) {
        t.pairs = bpe_of_saved(saved);
    } else if (level == LEVEL_BYTE && *saved != '\0') {
        heed_fail(HEED_ERR_VALUE,
                  "a byte vocabulary is saved without a list, but a list is present");
    } else if (level != LEVEL_BYTE && *saved == '\0') {
        heed_fail(HEED_ERR_VALUE, "the vocabulary is empty");
    } else if (level != LEVEL_BYTE && text_check(name, saved, strlen(saved))) {
        t.vocabulary = vocabulary_of_list(level == LEVEL_CHAR ? TEXT_CHAR : TEXT_WORD,
                                          level == LEVEL_WORD, saved);
    }
    return complete(t);
}

void tokenizer_free(tokenizer *t)
{
    vocabulary_free(&t->vocabulary);
    bpe_free(&t->pairs);
    t->count = 0;
}

/* ---- encoding ---- */

static size_t piece_of_bytes(const char *bytes, size_t left, token_piece *piece)
{
    piece->count = left < PIECE ? (int)left : PIECE;
    for (int i = 0; i < piece->count; i++) {
        piece->ids[i] = (unsigned char)bytes[i];
    }
    return (size_t)piece->count;
}

static size_t piece_of_characters(const tokenizer *t, const char *bytes, size_t left,
                                  token_piece *piece)
{
    size_t at = 0;
    for (piece->count = 0; at < left && piece->count < PIECE; piece->count++) {
        uint32_t code = (unsigned char)bytes[at];
        if (code < 0x80) {
            piece->ids[piece->count] = t->ascii[code];
            at++;
            continue;
        }
        const int step = utf8_length(bytes + at, left - at, &code);
        if (step == 0) {
            return 0;
        }
        piece->ids[piece->count] = (int32_t)vocabulary_id(&t->vocabulary, bytes + at, (size_t)step);
        at += (size_t)step;
    }
    return at;
}

/* Blanks without a word after them are a piece without tokens. A NUL is rejected, since it would
 * count as a blank. */
static size_t piece_of_words(const tokenizer *t, const char *bytes, size_t left, token_piece *piece)
{
    size_t start = 0;
    const size_t length = text_next_token(TEXT_WORD, bytes, left, 0, &start);
    if (memchr(bytes, '\0', start) != NULL) {
        return 0;
    }
    piece->count = length > 0;
    piece->ids[0] = length > 0 ? (int32_t)vocabulary_id(&t->vocabulary, bytes + start, length) : 0;
    return length > 0 || start == left ? start + length : 0;
}

size_t tokenizer_piece(const tokenizer *t, bpe_cache *cache, const char *bytes, size_t left,
                       token_piece *piece)
{
    if (t->level == LEVEL_BPE) {
        const size_t length = chunk_length(bytes, left);
        piece->count = bpe_encode_chunk(&t->pairs, cache, bytes, length, piece->ids);
        return length;
    }
    return t->level == LEVEL_BYTE   ? piece_of_bytes(bytes, left, piece)
           : t->level == LEVEL_CHAR ? piece_of_characters(t, bytes, left, piece)
                                    : piece_of_words(t, bytes, left, piece);
}

token_span tokenizer_unknown(const tokenizer *t, const char *bytes, size_t length,
                             const token_piece *piece)
{
    const text_level level = t->level == LEVEL_CHAR ? TEXT_CHAR : TEXT_WORD;
    token_span found = {NULL, 0};
    int at = 0;
    while (at < piece->count && piece->ids[at] != t->vocabulary.unknown) {
        at++;
    }
    if (at == piece->count || !token_level_is_spelt(t->level)) {
        return found;
    }
    for (size_t from = 0, start = 0; at >= 0; at--, from = start + found.length) {
        found.length = text_next_token(level, bytes, length, from, &start);
        found.bytes = bytes + start;
    }
    return found;
}

token_list tokenizer_encode(const tokenizer *t, const char *bytes, size_t length,
                            token_span *first_unknown)
{
    token_list list = {.count = 0};
    token_span unknown = {NULL, 0};
    token_piece piece;
    size_t step;
    if (heed_error_pending() ||
        (token_level_is_spelt(t->level) && !text_check("tokenizer_encode", bytes, length))) {
        return list;
    }
    for (size_t at = 0; at < length && !heed_error_pending(); at += step) {
        step = tokenizer_piece(t, NULL, bytes + at, length - at, &piece);
        unknown = unknown.bytes != NULL ? unknown : tokenizer_unknown(t, bytes + at, step, &piece);
        for (int i = 0; i < piece.count; i++) {
            token_list_add(&list, piece.ids[i]);
        }
    }
    if (first_unknown != NULL) {
        *first_unknown = unknown;
    }
    if (heed_error_pending()) {
        token_list_free(&list);
    }
    return list;
}

heed_status tokenizer_refuse(const tokenizer *t, const char *name, const char *bytes,
                             token_span unknown)
{
    uint32_t code = 0;
    char quoted[80] = "";
    utf8_length(unknown.bytes, unknown.length, &code);
    if (code >= ' ' && (code < 0x7F || code >= 0xA0)) { /* others could control a terminal */
        snprintf(quoted, sizeof quoted, "'%.*s' ", (int)(unknown.length < 70 ? unknown.length : 70),
                 unknown.bytes);
    }
    return heed_fail(HEED_ERR_VALUE,
                     "%s: the %s %s(U+%04X) at offset %zu is not in the vocabulary of %lld", name,
                     t->level == LEVEL_CHAR ? "character" : "word", quoted, (unsigned)code,
                     (size_t)(unknown.bytes - bytes), (long long)t->count);
}

/* ---- decoding ---- */

void tokenizer_decode(const tokenizer *t, text_joint *joint, int64_t id, text_buffer *to)
{
    const char byte = (char)(id & 0xFF);
    size_t length = 1;
    if (heed_error_pending() || id < 0 || id >= t->count) {
        return;
    }
    if (token_level_is_spelt(t->level)) {
        text_join(to, t->vocabulary.level, joint, vocabulary_token(&t->vocabulary, id));
    } else {
        const char *bytes = t->level == LEVEL_BPE ? bpe_bytes(&t->pairs, id, &length) : &byte;
        text_append(to, bytes, length);
        joint->tight = true;
    }
}
