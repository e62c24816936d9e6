/* The tokenizer: characters here, byte pairs in bpe.c. */
#include "examples/lab/gpt/tokenizer.h"

#include <stdio.h>
#include <string.h>

enum { CODES = 0x110000 };

const char *token_level_name(token_level level)
{
    return level == LEVEL_CHAR ? "char" : "bpe";
}

void token_list_free(token_list *list)
{
    heed_free(list->ids);
    *list = (token_list){.count = 0};
}

static bool reserve(token_list *list, size_t more)
{
    int64_t *ids =
        list_grow(list->ids, &list->capacity, (size_t)list->count + more, sizeof *list->ids);
    list->ids = ids != NULL ? ids : list->ids;
    return ids != NULL;
}

/* ---- making one ---- */

/* The characters of a checked text, by code point. */
static void take_characters(tokenizer *t, const char *bytes, size_t length)
{
    unsigned char *seen = heed_alloc_zeroed(CODES);
    uint32_t code;
    if (seen == NULL) {
        return;
    }
    for (size_t at = 0; at < length; seen[code] = 1) {
        at += utf8_next(bytes + at, length - at, &code);
    }
    for (code = 0; code < CODES; code++) {
        t->count += seen[code];
    }
    t->codes = heed_alloc((size_t)t->count * sizeof *t->codes);
    for (code = 0, t->count = 0; t->codes != NULL && code < CODES; code++) {
        if (seen[code]) {
            t->codes[t->count++] = code;
        }
    }
    heed_free(seen);
}

static tokenizer complete(tokenizer t)
{
    t.count = t.level == LEVEL_BPE ? t.pairs.count : t.count;
    if (heed_error_pending()) {
        tokenizer_free(&t);
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
    } else if (level == LEVEL_BPE) {
        t.pairs = bpe_train(bytes, length, size);
    } else if (text_check(name, bytes, length)) {
        take_characters(&t, bytes, length);
    }
    return complete(t);
}

text_buffer tokenizer_saved(const tokenizer *t)
{
    text_buffer list = {.length = 0};
    if (t->level == LEVEL_BPE) {
        return bpe_saved(&t->pairs);
    }
    for (int64_t id = 0; id < t->count; id++) {
        tokenizer_decode(t, id, &list);
    }
    text_append(&list, "", 1);
    return list;
}

tokenizer tokenizer_of_saved(token_level level, const char *saved)
{
    tokenizer t = {.level = level};
    if (heed_error_pending()) {
        return t;
    }
    if (level == LEVEL_BPE) {
        t.pairs = bpe_of_saved(saved);
    } else if (text_check("the characters", saved, strlen(saved))) {
        take_characters(&t, saved, strlen(saved));
        text_buffer same = tokenizer_saved(&t);
        if (!heed_error_pending() && (t.count == 0 || strcmp(same.bytes, saved) != 0)) {
            heed_fail(HEED_ERR_VALUE, "the characters are not in order, or there are none");
        }
        text_free(&same);
    }
    return complete(t);
}

void tokenizer_free(tokenizer *t)
{
    heed_free(t->codes);
    bpe_free(&t->pairs);
    *t = (tokenizer){.level = t->level};
}

/* ---- encoding ---- */

static int64_t id_of(const tokenizer *t, uint32_t code)
{
    int64_t first = 0, end = t->count;
    while (first < end) {
        const int64_t middle = (first + end) / 2;
        if (t->codes[middle] < code) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first < t->count && t->codes[first] == code ? first : -1;
}

static void refuse(const tokenizer *t, const char *name, const char *bytes, size_t at, size_t step,
                   uint32_t code)
{
    char quoted[8] = "";
    if (code >= ' ' && (code < 0x7F || code >= 0xA0)) { /* others could control a terminal */
        snprintf(quoted, sizeof quoted, "'%.*s' ", (int)step, bytes + at);
    }
    heed_fail(HEED_ERR_VALUE,
              "%s: the character %s(U+%04X) at offset %zu is not in the vocabulary of %lld", name,
              quoted, (unsigned)code, at, (long long)t->count);
}

/* Appends the tokens of the next piece, a character or a chunk; returns its length. */
static size_t encode_piece(const tokenizer *t, const char *name, const char *bytes, size_t length,
                           size_t at, token_list *list)
{
    int32_t ids[CHUNK_LONGEST];
    uint32_t code;
    if (t->level == LEVEL_CHAR) {
        const size_t step = utf8_next(bytes + at, length - at, &code);
        list->ids[list->count] = id_of(t, code);
        if (list->ids[list->count++] < 0) {
            refuse(t, name, bytes, at, step, code);
        }
        return step;
    }
    const size_t step = chunk_length(bytes + at, length - at);
    const int count = bpe_encode_chunk(&t->pairs, bytes + at, step, ids);
    for (int i = 0; i < count; i++) {
        list->ids[list->count++] = ids[i];
    }
    return step;
}

token_list tokenizer_encode(const tokenizer *t, const char *name, const char *bytes, size_t length)
{
    token_list list = {.count = 0};
    if (heed_error_pending() || (t->level == LEVEL_CHAR && !text_check(name, bytes, length))) {
        return list;
    }
    for (size_t at = 0; at < length && !heed_error_pending();) {
        if (reserve(&list, CHUNK_LONGEST)) {
            at += encode_piece(t, name, bytes, length, at, &list);
        }
    }
    if (heed_error_pending()) {
        token_list_free(&list);
    }
    return list;
}

void tokenizer_decode(const tokenizer *t, int64_t id, text_buffer *to)
{
    char character[4];
    size_t length = 0;
    if (heed_error_pending() || id < 0 || id >= t->count) {
        return;
    }
    if (t->level == LEVEL_BPE) {
        const char *bytes = bpe_bytes(&t->pairs, id, &length);
        text_append(to, bytes, length);
    } else {
        text_append(to, character, utf8_write(t->codes[id], character));
    }
}
