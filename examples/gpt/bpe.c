/* What tokens there are, as text and in memory, and how chunks are encoded. How they are learnt
 * stands in bpe_train.c. */
#include "examples/gpt/bpe.h"

#include <stdio.h>
#include <string.h>

#include "heed.h"

/* ---- tokens ---- */

static bool add_token(bpe *b, bpe_token token)
{
    if (b->count == b->capacity) {
        const int64_t capacity = b->capacity > 0 ? 2 * b->capacity : 2 * BPE_BYTES;
        bpe_token *tokens = heed_grow(b->tokens, (size_t)b->capacity * sizeof *tokens,
                                      (size_t)capacity * sizeof *tokens);
        if (tokens == NULL) {
            return false;
        }
        b->tokens = tokens;
        b->capacity = capacity;
    }
    b->tokens[b->count++] = token;
    return true;
}

bool bpe_start(bpe *b)
{
    *b = (bpe){.count = 0};
    for (int i = 0; i < BPE_BYTES && !heed_error_pending(); i++) {
        const char byte = (char)i;
        text_append(&b->spelling, &byte, 1);
        add_token(b, (bpe_token){-1, -1, i, 1});
    }
    return !heed_error_pending();
}

/* A token's bytes may move while others are appended, so they go by way of here. */
static void append_spelling(bpe *b, int32_t id)
{
    char bytes[CHUNK_LONGEST];
    const bpe_token *token = &b->tokens[id];
    memcpy(bytes, b->spelling.bytes + token->start, (size_t)token->length);
    text_append(&b->spelling, bytes, (size_t)token->length);
}

bool bpe_merge(bpe *b, int32_t left, int32_t right)
{
    const bpe_token token = {left, right, (int64_t)b->spelling.length,
                             b->tokens[left].length + b->tokens[right].length};
    append_spelling(b, left);
    append_spelling(b, right);
    return !heed_error_pending() && pair_add(&b->merges, left, right, (int32_t)b->count) &&
           add_token(b, token);
}

void bpe_free(bpe *b)
{
    heed_free(b->tokens, (size_t)b->capacity * sizeof *b->tokens);
    text_free(&b->spelling);
    pair_table_free(&b->merges);
    *b = (bpe){.count = 0};
}

const char *bpe_bytes(const bpe *b, int64_t id, size_t *length)
{
    const bool there = id >= 0 && id < b->count;
    *length = there ? (size_t)b->tokens[id].length : 0;
    return there ? b->spelling.bytes + b->tokens[id].start : NULL;
}

/* ---- as text ---- */

text_buffer bpe_saved(const bpe *b)
{
    text_buffer list = {.length = 0};
    char line[32];
    for (int64_t id = BPE_BYTES; id < b->count && !heed_error_pending(); id++) {
        const bpe_token *token = &b->tokens[id];
        const int length = snprintf(line, sizeof line, "%d %d\n", token->left, token->right);
        text_append(&list, line, (size_t)length);
    }
    text_append(&list, "", 1);
    return list;
}

/* Takes a number that ends with `end` off the text; -1: it is none, or too large for a token. */
static int32_t take_number(const char **at, char end)
{
    int32_t number = 0;
    const char *first = *at;
    for (; **at >= '0' && **at <= '9' && number < BPE_MOST; ++*at) {
        number = 10 * number + (**at - '0');
    }
    const bool fine = *at > first && (*first != '0' || *at == first + 1) && **at == end;
    *at += fine;
    return fine ? number : -1;
}

/* One line into one merge. */
static bool take_line(bpe *b, const char **at)
{
    const int64_t line = b->count - BPE_BYTES + 1;
    const int32_t left = take_number(at, ' '), right = left >= 0 ? take_number(at, '\n') : -1;
    if (right < 0) {
        heed_fail(HEED_ERR_VALUE, "byte pairs: line %lld is not two numbers of tokens",
                  (long long)line);
    } else if (left >= b->count || right >= b->count || b->count == BPE_MOST) {
        heed_fail(
            HEED_ERR_VALUE,
            "byte pairs: line %lld joins %d and %d, and only tokens below %lld come before it",
            (long long)line, left, right, (long long)b->count);
    } else if (pair_number(&b->merges, left, right) != 0) {
        heed_fail(HEED_ERR_VALUE, "byte pairs: line %lld joins %d and %d, as line %d does",
                  (long long)line, left, right,
                  pair_number(&b->merges, left, right) - BPE_BYTES + 1);
    } else if (b->tokens[left].length + b->tokens[right].length > CHUNK_LONGEST) {
        heed_fail(HEED_ERR_VALUE, "byte pairs: line %lld makes a token of more than %d bytes",
                  (long long)line, CHUNK_LONGEST);
    } else {
        return bpe_merge(b, left, right);
    }
    return false;
}

bpe bpe_of_saved(const char *saved)
{
    bpe b = {.count = 0};
    if (!heed_error_pending() && bpe_start(&b)) {
        while (*saved != '\0' && take_line(&b, &saved)) {
        }
    }
    if (heed_error_pending()) {
        bpe_free(&b);
    }
    return b;
}

/* ---- encoding ---- */

enum { NO_MERGE = INT32_MAX };

/* What a pair becomes; merges that were learnt first have the smaller numbers. */
static int32_t merged(const bpe *b, int32_t left, int32_t right)
{
    const int32_t number = pair_number(&b->merges, left, right);
    return number != 0 ? number : NO_MERGE;
}

/* Makes one merge everywhere: `ids` become fewer, and `into` (what each id becomes with the one
 * after it) follows. Returns how many are left. */
static int merge_all(const bpe *b, int32_t token, int32_t *ids, int32_t *into, int count)
{
    int to = 0;
    for (int from = 0; from < count; from++) {
        const bool here = into[from] == token; /* never the last */
        ids[to] = here ? token : ids[from];
        from += here;
        into[to++] = into[from];
    }
    for (int i = 0; i + 1 < to; i++) {
        if (ids[i] == token || ids[i + 1] == token) {
            into[i] = merged(b, ids[i], ids[i + 1]);
        }
    }
    return to;
}

static int merge_chunk(const bpe *b, const char *bytes, size_t length, int32_t *ids)
{
    int32_t into[CHUNK_LONGEST];
    int count = (int)length;
    for (int i = 0; i < count; i++) {
        ids[i] = (unsigned char)bytes[i];
        into[i] = NO_MERGE;
    }
    for (int i = 0; i + 1 < count; i++) {
        into[i] = merged(b, ids[i], ids[i + 1]);
    }
    for (;;) {
        int32_t first = NO_MERGE;
        for (int i = 0; i + 1 < count; i++) {
            first = into[i] < first ? into[i] : first;
        }
        if (first == NO_MERGE) {
            return count;
        }
        count = merge_all(b, first, ids, into, count);
    }
}

int bpe_encode_chunk(const bpe *b, bpe_cache *cache, const char *bytes, size_t length, int32_t *ids)
{
    if (cache == NULL || length > CACHED_BYTES) {
        return merge_chunk(b, bytes, length, ids);
    }
    const uint64_t hash = text_hash(bytes, length);
    const size_t at = (hash ^ hash >> 32) & (CACHED_CHUNKS - 1);
    if (cache->chunks[at].length != length || memcmp(cache->chunks[at].bytes, bytes, length) != 0) {
        const int count = merge_chunk(b, bytes, length, ids);
        if (count <= CACHED_TOKENS) {
            cache->chunks[at].length = (uint8_t)length;
            cache->chunks[at].count = (uint8_t)count;
            memcpy(cache->chunks[at].bytes, bytes, length);
            memcpy(cache->chunks[at].ids, ids, (size_t)count * sizeof *ids);
        }
        return count;
    }
    memcpy(ids, cache->chunks[at].ids, (size_t)cache->chunks[at].count * sizeof *ids);
    return cache->chunks[at].count;
}
