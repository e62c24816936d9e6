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

enum { FEWEST_SLOTS = 1024 };

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

/* Reads a number followed by `end`, and moves *at past both; -1: not a number, or too large for a
 * token. */
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

/* Reads one line as a merge. */
static bool take_line(bpe *b, const char **at)
{
    const int64_t line = b->count - BPE_BYTES + 1;
    const int32_t left = take_number(at, ' '), right = left >= 0 ? take_number(at, '\n') : -1;
    if (right < 0) {
        heed_fail(HEED_ERR_VALUE, "byte pairs: line %lld is not two token ids", (long long)line);
    } else if (left >= b->count || right >= b->count || b->count == BPE_MOST) {
        heed_fail(HEED_ERR_VALUE,
                  "byte pairs: line %lld merges %d and %d, but only tokens below %lld precede it",
                  (long long)line, left, right, (long long)b->count);
    } else if (pair_number(&b->merges, left, right) != 0) {
        heed_fail(HEED_ERR_VALUE, "byte pairs: line %lld merges %d and %d, as line %d does",
                  (long long)line, left, right,
                  pair_number(&b->merges, left, right) - BPE_BYTES + 1);
    } else if (b->tokens[left].length + b->tokens[right].length > CHUNK_LONGEST) {
        heed_fail(HEED_ERR_VALUE, "byte pairs: line %lld makes a token of more than %d bytes",
                  (long long)line, CHUNK_LONGEST);
    } else {
        return add_merge(b, left, right);
    }
    return false;
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

/* ---- encoding ---- */

enum { NO_MERGE = INT32_MAX };

/* The token that a pair becomes; earlier merges have smaller ids. */
static int32_t merged(const bpe *b, int32_t left, int32_t right)
{
    const int32_t number = pair_number(&b->merges, left, right);
    return number != 0 ? number : NO_MERGE;
}

/* Applies one merge everywhere. into[i] is the token that ids[i] and ids[i + 1] become. Both arrays
 * shrink; returns their new count. */
static int merge_all(const bpe *b, int32_t token, int32_t *ids, int32_t *into, int count)
{
    int to = 0;
    for (int from = 0; from < count; from++) {
        const bool here = into[from] == token; /* false for the last one */
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

int bpe_encode_chunk(const bpe *b, const char *bytes, size_t length, int32_t *ids)
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

/* ---- learning ----
 *
 * The text is reduced to its distinct chunks with a count each; a chunk is a row of tokens. Every
 * pair stores its count and its rows, so a merge visits only those, and a heap yields the next
 * pair. A merge creates new pairs only with the new token, so the counts of old pairs can only
 * fall: the count of a heap entry may be too high, which is corrected when the entry reaches the
 * top. */

/* A pair of tokens. The pair_table stores its index in the list + 1. */
typedef struct pair {
    int32_t left, right;
    int32_t where; /* index of its first place + 1 */
    int64_t count;
} pair;

/* A row that contains, or contained, a pair: a link in that pair's chain. The places of a merged
 * pair are reused. */
typedef struct place {
    int32_t row, next; /* next: index + 1 */
} place;

/* An entry of the heap; its count may be outdated. */
typedef struct entry {
    int64_t count;
    int32_t left, right, pair;
} entry;

/* Items of one type; zero-initialised, a list is empty. */
typedef struct list {
    void *items;
    int64_t count;
    size_t capacity;
} list;

typedef struct row {
    int32_t start, length; /* in the tokens */
} row;

/* A distinct chunk of the text. */
typedef struct chunk {
    size_t start, length; /* in the spelling */
    int64_t uses;
} chunk;

typedef struct trainer {
    chunk *chunks;
    size_t chunk_capacity;
    int64_t chunk_count;
    text_buffer spelling; /* of the chunks */
    int32_t *slots;       /* hash table of chunk + 1, or 0: two slots for each of the capacity */
    row *rows;            /* one for each chunk */
    int32_t *tokens;      /* of all rows; BPE_LEARNT keeps their indices within int32_t */
    pair_table numbers;
    list pairs, places, heap;
    int32_t spare; /* index of the first free place + 1 */
} trainer;

/* The slot of a chunk, or the free slot where it belongs. */
static int32_t *chunk_slot(const trainer *t, const char *bytes, size_t length)
{
    const uint64_t hash = text_hash(bytes, length);
    for (size_t at = (size_t)(hash ^ hash >> 32);; at++) {
        int32_t *slot = &t->slots[at & (2 * t->chunk_capacity - 1)];
        const chunk *c = &t->chunks[*slot - (*slot != 0)];
        if (*slot == 0 ||
            (c->length == length && memcmp(t->spelling.bytes + c->start, bytes, length) == 0)) {
            return slot;
        }
    }
}

static bool grow_chunks(trainer *t)
{
    const size_t before = t->chunk_capacity;
    chunk *chunks =
        list_grow(t->chunks, &t->chunk_capacity, (size_t)t->chunk_count + 1, sizeof *chunks);
    if (chunks == NULL || t->chunk_capacity == before) {
        return chunks != NULL;
    }
    t->chunks = chunks;
    heed_free(t->slots);
    t->slots = heed_alloc_zeroed(2 * t->chunk_capacity * sizeof *t->slots);
    for (int64_t i = 0; t->slots != NULL && i < t->chunk_count; i++) {
        *chunk_slot(t, t->spelling.bytes + chunks[i].start, chunks[i].length) = (int32_t)i + 1;
    }
    return t->slots != NULL;
}

/* Counts one use of a chunk. New ones are ignored once the spelling has BPE_LEARNT bytes. */
static void count_chunk(trainer *t, const char *bytes, size_t length)
{
    if (!grow_chunks(t)) {
        return;
    }
    int32_t *slot = chunk_slot(t, bytes, length);
    if (*slot != 0) {
        t->chunks[*slot - 1].uses++;
    } else if (t->spelling.length < BPE_LEARNT) {
        t->chunks[t->chunk_count] = (chunk){t->spelling.length, length, 1};
        text_append(&t->spelling, bytes, length);
        *slot = (int32_t)++t->chunk_count;
    }
}

/* The next free item; NULL: HEED_ERR_MEMORY is pending. */
static void *add_item(list *l, size_t size)
{
    void *items = list_grow(l->items, &l->capacity, (size_t)l->count + 1, size);
    if (items == NULL) {
        return NULL;
    }
    l->items = items;
    return (char *)items + (size_t)l->count++ * size;
}

/* The next pair to merge is at the top of the heap. */
static bool comes_before(const entry *a, const entry *b)
{
    return a->count != b->count ? a->count > b->count
           : a->left != b->left ? a->left < b->left
                                : a->right < b->right;
}

static void swap(entry *a, entry *b)
{
    const entry was = *a;
    *a = *b;
    *b = was;
}

/* Moves the top entry down to its place. */
static void sink(entry *heap, int64_t count)
{
    for (int64_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && comes_before(&heap[child + 1], &heap[child]);
        if (!comes_before(&heap[child], &heap[at])) {
            return;
        }
        swap(&heap[at], &heap[child]);
    }
}

static void push(trainer *t, int32_t number)
{
    const pair *p = (pair *)t->pairs.items + number;
    if (p->count < 2 || add_item(&t->heap, sizeof(entry)) == NULL) {
        return;
    }
    entry *heap = t->heap.items;
    int64_t at = t->heap.count - 1;
    heap[at] = (entry){p->count, p->left, p->right, number};
    for (; at > 0 && comes_before(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2) {
        swap(&heap[at], &heap[(at - 1) / 2]);
    }
}

/* Takes the most frequent pair off the heap; -1: none occurs twice. */
static int32_t pop(trainer *t)
{
    entry *heap = t->heap.items;
    while (t->heap.count > 0) {
        const entry top = heap[0];
        const int64_t now = ((pair *)t->pairs.items)[top.pair].count;
        if (now == top.count || now < 2) {
            heap[0] = heap[--t->heap.count];
        } else {
            heap[0].count = now;
        }
        sink(heap, t->heap.count);
        if (now == top.count) {
            return top.pair;
        }
    }
    return -1;
}

static void lose(trainer *t, int32_t left, int32_t right, int64_t uses)
{
    ((pair *)t->pairs.items)[pair_number(&t->numbers, left, right) - 1].count -= uses;
}

/* A new pair with the next number. NULL: HEED_ERR_MEMORY is pending. */
static pair *new_pair(trainer *t, int32_t left, int32_t right)
{
    if (!pair_add(&t->numbers, left, right, (int32_t)t->pairs.count + 1)) {
        return NULL;
    }
    pair *p = add_item(&t->pairs, sizeof *p);
    if (p != NULL) {
        *p = (pair){.left = left, .right = right};
    }
    return p;
}

/* Adds `uses` occurrences of a pair in row `in`. */
static void gain(trainer *t, int32_t left, int32_t right, int64_t uses, int32_t in)
{
    const int32_t number = pair_number(&t->numbers, left, right);
    pair *p = number != 0 ? (pair *)t->pairs.items + (number - 1) : new_pair(t, left, right);
    if (p == NULL) {
        return;
    }
    p->count += uses;
    place *places = t->places.items;
    if (p->where != 0 && places[p->where - 1].row == in) {
        return; /* rows are visited in order, so a known row is the latest */
    }
    int32_t at = t->spare;
    if (at != 0) {
        t->spare = places[at - 1].next;
    } else if (add_item(&t->places, sizeof(place)) != NULL) {
        at = (int32_t)t->places.count;
        places = t->places.items;
    } else {
        return;
    }
    places[at - 1] = (place){in, p->where};
    p->where = at;
}

/* Splits the text into rows, and counts their pairs. */
static void count_pairs(trainer *t, const char *bytes, size_t length)
{
    for (size_t at = 0, step; at < length && !heed_error_pending(); at += step) {
        step = chunk_length(bytes + at, length - at);
        count_chunk(t, bytes + at, step);
    }
    if (t->chunk_count == 0 || heed_error_pending()) {
        return;
    }
    t->rows = heed_alloc((size_t)t->chunk_count * sizeof *t->rows);
    t->tokens = heed_alloc(t->spelling.length * sizeof *t->tokens);
    for (size_t i = 0; t->tokens != NULL && i < t->spelling.length; i++) {
        t->tokens[i] = (unsigned char)t->spelling.bytes[i];
    }
    for (int64_t r = 0; r < t->chunk_count && !heed_error_pending(); r++) {
        const chunk *c = &t->chunks[r];
        const int32_t *of = t->tokens + c->start;
        t->rows[r] = (row){(int32_t)c->start, (int32_t)c->length};
        for (size_t i = 0; i + 1 < c->length && !heed_error_pending(); i++) {
            gain(t, of[i], of[i + 1], c->uses, (int32_t)r);
        }
    }
    for (int64_t i = 0; i < t->pairs.count && !heed_error_pending(); i++) {
        push(t, (int32_t)i);
    }
}

static void trainer_free(trainer *t)
{
    heed_free(t->rows);
    heed_free(t->tokens);
    heed_free(t->chunks);
    text_free(&t->spelling);
    heed_free(t->slots);
    pair_table_free(&t->numbers);
    heed_free(t->pairs.items);
    heed_free(t->places.items);
    heed_free(t->heap.items);
}

/* Applies a merge everywhere in one row. The row shrinks to the left: tokens before `to` are new,
 * tokens from `from` on are old. */
static void merge_row(trainer *t, int32_t number, int32_t left, int32_t right, int32_t token)
{
    row *r = &t->rows[number];
    const int64_t uses = t->chunks[number].uses;
    int32_t *of = t->tokens + r->start, to = 0;
    for (int32_t from = 0; from < r->length && !heed_error_pending(); from++) {
        if (from + 1 == r->length || of[from] != left || of[from + 1] != right) {
            of[to++] = of[from];
            continue;
        }
        lose(t, left, right, uses);
        if (to > 0) {
            lose(t, of[to - 1], left, uses);
            gain(t, of[to - 1], token, uses, number);
        }
        from++;
        if (from + 1 < r->length && !heed_error_pending()) {
            lose(t, right, of[from + 1], uses);
            gain(t, token, of[from + 1], uses, number);
        }
        of[to++] = token;
    }
    r->length = to;
}

/* Merges a pair in all of its rows. */
static void merge_everywhere(trainer *t, int32_t number, int32_t token)
{
    const pair p = ((pair *)t->pairs.items)[number];
    const int64_t known = t->pairs.count;
    for (int32_t at = p.where; at != 0 && !heed_error_pending();) {
        const place here = ((place *)t->places.items)[at - 1];
        ((place *)t->places.items)[at - 1].next = t->spare;
        t->spare = at;
        merge_row(t, here.row, p.left, p.right, token);
        at = here.next;
    }
    for (int64_t i = known; i < t->pairs.count && !heed_error_pending(); i++) {
        push(t, (int32_t)i);
    }
}

bpe bpe_train(const char *bytes, size_t length, int64_t size)
{
    bpe b = {.count = 0};
    trainer t = {.spare = 0};
    int32_t next = 0;
    if (heed_error_pending()) {
        return b;
    }
    if (size < BPE_BYTES || size > BPE_MOST) {
        heed_fail(HEED_ERR_VALUE,
                  "byte pairs: a vocabulary of %lld tokens; it must have from %d to %d",
                  (long long)size, BPE_BYTES, BPE_MOST);
        return b;
    }
    if (begin(&b)) {
        count_pairs(&t, bytes, length);
    }
    while (!heed_error_pending() && b.count < size && (next = pop(&t)) >= 0) {
        const pair *p = (pair *)t.pairs.items + next;
        if (add_merge(&b, p->left, p->right)) {
            merge_everywhere(&t, next, (int32_t)b.count - 1);
        }
    }
    trainer_free(&t);
    if (heed_error_pending()) {
        bpe_free(&b);
    }
    return b;
}
