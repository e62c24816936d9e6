/* Byte pairs: splits a text into chunks, encodes chunks, saves merges as text, and learns them.
 * Memory comes from the library's allocator; no I/O. */
#include "examples/lab/gpt/bpe.h"

#include <stdio.h>
#include <string.h>

#include "heed.h"

/* ---- chunks ---- */

typedef enum kind { LETTER, DIGIT, BLANK, MARK } kind;

static kind kind_of(char byte)
{
    const unsigned char c = (unsigned char)byte, small = c | 0x20;
    return c >= 0x80 || (small >= 'a' && small <= 'z') ? LETTER
           : c >= '0' && c <= '9'                      ? DIGIT
           : c == ' ' || (c >= '\t' && c <= '\r')      ? BLANK
                                                       : MARK;
}

size_t chunk_length(const char *bytes, size_t left)
{
    if (left == 0) {
        return 0;
    }
    const size_t most = left < CHUNK_LONGEST ? left : CHUNK_LONGEST;
    const bool led = left > 1 && bytes[0] == ' ' && kind_of(bytes[1]) != BLANK;
    const kind is = kind_of(bytes[led]);
    size_t length = (size_t)led + 1;
    while (length < most && kind_of(bytes[length]) == is) {
        length++;
    }
    const bool lends = is == BLANK && length > 1 && length < left && bytes[length - 1] == ' ' &&
                       kind_of(bytes[length]) != BLANK;
    return length - lends;
}

/* ---- pairs: a hash table with open addressing, at most half full ---- */

enum { FEWEST_SLOTS = 1024, CHUNK_END = -1 };

/* The slot of a pair, or the free slot where it belongs. */
static pair_slot *slot_of(const pair_table *t, int32_t left, int32_t right)
{
    uint64_t hash = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    for (int64_t at = (int64_t)(hash & (uint64_t)(t->slot_count - 1));;
         at = (at + 1) & (t->slot_count - 1)) {
        pair_slot *slot = &t->slots[at];
        if (slot->number == 0 || (slot->left == left && slot->right == right)) {
            return slot;
        }
    }
}

/* The number of a pair; 0: none. */
static int32_t pair_number(const pair_table *t, int32_t left, int32_t right)
{
    return t->slot_count > 0 ? slot_of(t, left, right)->number : 0;
}

static void pair_table_free(pair_table *t)
{
    heed_free(t->slots);
    *t = (pair_table){.used = 0};
}

static bool grow_table(pair_table *t)
{
    pair_table grown = {.slot_count = t->slot_count > 0 ? 2 * t->slot_count : FEWEST_SLOTS};
    grown.slots = heed_alloc_zeroed((size_t)grown.slot_count * sizeof *grown.slots);
    if (grown.slots == NULL) {
        return false;
    }
    for (int64_t i = 0; i < t->slot_count; i++) {
        const pair_slot *slot = &t->slots[i];
        if (slot->number != 0) {
            *slot_of(&grown, slot->left, slot->right) = *slot;
        }
    }
    grown.used = t->used;
    pair_table_free(t);
    *t = grown;
    return true;
}

/* Assigns a number, not 0, to a pair that has none. False: HEED_ERR_MEMORY is pending, and the
 * table is unchanged. */
static bool pair_add(pair_table *t, int32_t left, int32_t right, int32_t number)
{
    if (2 * (t->used + 1) > t->slot_count && !grow_table(t)) {
        return false;
    }
    *slot_of(t, left, right) = (pair_slot){left, right, number};
    t->used++;
    return true;
}

/* Adds to the count of a pair, whose number is 1 + its count. */
static void count_pair(pair_table *t, int32_t left, int32_t right, int32_t change)
{
    if (left == CHUNK_END || right == CHUNK_END || heed_error_pending()) {
        return;
    }
    if (pair_number(t, left, right) == 0) {
        pair_add(t, left, right, 1 + change);
    } else {
        slot_of(t, left, right)->number += change;
    }
}

/* ---- tokens ---- */

static bool add_token(bpe *b, bpe_token token)
{
    bpe_token *tokens = list_grow(b->tokens, &b->capacity, (size_t)b->count + 1, sizeof *tokens);
    if (tokens == NULL) {
        return false;
    }
    b->tokens = tokens;
    b->tokens[b->count++] = token;
    return true;
}

/* Adds the tokens of the 256 bytes. False: an error is pending. */
static bool begin(bpe *b)
{
    *b = (bpe){.count = 0};
    for (int i = 0; i < BPE_BYTES && !heed_error_pending(); i++) {
        const char byte = (char)i;
        text_append(&b->spelling, &byte, 1);
        add_token(b, (bpe_token){-1, -1, i, 1});
    }
    return !heed_error_pending();
}

/* Appending may move the spelling, so the token's bytes are copied first. */
static void append_spelling(bpe *b, int32_t id)
{
    char bytes[CHUNK_LONGEST];
    const bpe_token *token = &b->tokens[id];
    memcpy(bytes, b->spelling.bytes + token->start, (size_t)token->length);
    text_append(&b->spelling, bytes, (size_t)token->length);
}

/* Adds a merge. False: an error is pending. */
static bool add_merge(bpe *b, int32_t left, int32_t right)
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
    heed_free(b->tokens);
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

/* Reads one line as a merge. */
static bool take_line(bpe *b, const char **at)
{
    int left = -1, right = -1, length = 0;
    char line[32];
    if (sscanf(*at, "%7d %7d%n", &left, &right, &length) == 2) {
        snprintf(line, sizeof line, "%d %d\n", left, right);
        length++;
    }
    if (length == 0 || strncmp(*at, line, (size_t)length) != 0 || left < 0 || right < 0 ||
        left >= b->count || right >= b->count || b->count == BPE_MOST ||
        pair_number(&b->merges, left, right) != 0 ||
        b->tokens[left].length + b->tokens[right].length > CHUNK_LONGEST) {
        heed_fail(HEED_ERR_VALUE, "byte pairs: line %lld is not a merge of two earlier tokens",
                  (long long)(b->count - BPE_BYTES + 1));
        return false;
    }
    *at += length;
    return add_merge(b, left, right);
}

bpe bpe_of_saved(const char *saved)
{
    bpe b = {.count = 0};
    if (!heed_error_pending() && begin(&b)) {
        while (*saved != '\0' && take_line(&b, &saved)) {
        }
    }
    if (heed_error_pending()) {
        bpe_free(&b);
    }
    return b;
}

/* ---- merging, in place; returns the new count of tokens ---- */

static int64_t merge_all(int32_t *ids, int64_t count, pair_slot pair, int32_t token,
                         pair_table *counts)
{
    int64_t to = 0;
    for (int64_t from = 0; from < count; from++) {
        if (from + 1 == count || ids[from] != pair.left || ids[from + 1] != pair.right) {
            ids[to++] = ids[from];
            continue;
        }
        from++;
        if (counts != NULL) {
            const int32_t before = to > 0 ? ids[to - 1] : CHUNK_END;
            const int32_t after = from + 1 < count ? ids[from + 1] : CHUNK_END;
            count_pair(counts, pair.left, pair.right, -1);
            count_pair(counts, before, pair.left, -1);
            count_pair(counts, before, token, 1);
            count_pair(counts, pair.right, after, -1);
            count_pair(counts, token, after, 1);
        }
        ids[to++] = token;
    }
    return to;
}

int bpe_encode_chunk(const bpe *b, const char *bytes, size_t length, int32_t *ids)
{
    int64_t count = (int64_t)length;
    for (int64_t i = 0; i < count; i++) {
        ids[i] = (unsigned char)bytes[i];
    }
    for (;;) {
        pair_slot first = {.number = INT32_MAX}; /* earlier merges have smaller ids */
        for (int64_t i = 0; i + 1 < count; i++) {
            const int32_t token = pair_number(&b->merges, ids[i], ids[i + 1]);
            if (token != 0 && token < first.number) {
                first = (pair_slot){ids[i], ids[i + 1], token};
            }
        }
        if (first.number == INT32_MAX) {
            return (int)count;
        }
        count = merge_all(ids, count, first, first.number, NULL);
    }
}

/* ---- learning ---- */

/* The most frequent pair, the next to merge; its number is 1 + its count. */
static pair_slot most_frequent(const pair_table *counts)
{
    pair_slot best = {.number = 0};
    for (int64_t i = 0; i < counts->slot_count; i++) {
        const pair_slot *s = &counts->slots[i];
        if (s->number > best.number ||
            (s->number == best.number &&
             (s->left < best.left || (s->left == best.left && s->right < best.right)))) {
            best = *s;
        }
    }
    return best;
}

/* The bytes of the text, with CHUNK_END after each chunk. */
static int64_t split(int32_t *ids, const char *bytes, size_t length, pair_table *counts)
{
    int64_t count = 0;
    for (size_t at = 0, step; (step = chunk_length(bytes + at, length - at)) > 0; at += step) {
        for (size_t i = 0; i < step; i++) {
            ids[count++] = (unsigned char)bytes[at + i];
            if (i > 0) {
                count_pair(counts, ids[count - 2], ids[count - 1], 1);
            }
        }
        ids[count++] = CHUNK_END;
    }
    return count;
}

bpe bpe_train(const char *bytes, size_t length, int64_t size)
{
    bpe b = {.count = 0};
    pair_table counts = {.used = 0};
    if (heed_error_pending()) {
        return b;
    }
    if (size < BPE_BYTES || size > BPE_MOST) {
        heed_fail(HEED_ERR_VALUE,
                  "byte pairs: a vocabulary of %lld tokens; it must have from %d to %d",
                  (long long)size, BPE_BYTES, BPE_MOST);
        return b;
    }
    length = length < BPE_LEARNT ? length : BPE_LEARNT;
    int32_t *ids = heed_alloc(2 * length * sizeof *ids);
    int64_t count = ids != NULL && begin(&b) ? split(ids, bytes, length, &counts) : 0;
    while (!heed_error_pending() && b.count < size) {
        const pair_slot next = most_frequent(&counts);
        if (next.number < 1 + 2 || !add_merge(&b, next.left, next.right)) {
            break;
        }
        count = merge_all(ids, count, next, (int32_t)b.count - 1, &counts);
    }
    heed_free(ids);
    pair_table_free(&counts);
    if (heed_error_pending()) {
        bpe_free(&b);
    }
    return b;
}
