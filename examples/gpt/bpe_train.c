/* How byte pairs are learnt. The text becomes its different chunks with a count each; a chunk is a
 * row of tokens. Every pair knows how often it is there and in which chunks, so that a merge visits
 * only those, and a heap says which pair comes next. A merge makes new pairs only with the new
 * token: counts of old ones only fall, so an entry of the heap is at worst too high, which is found
 * out when it comes to the top. */
#include <string.h>

#include "examples/gpt/bpe.h"
#include "heed.h"

/* A pair of tokens. A pair_table has its place + 1. */
typedef struct pair {
    int32_t left, right;
    int32_t where; /* the first of its places + 1 */
    int64_t count;
} pair;

/* A chunk in which a pair is, or was: a link in the chain of that pair. Those of a pair that has
 * been merged are used again. */
typedef struct place {
    int32_t row, next; /* next: place + 1 */
} place;

typedef struct entry {
    int64_t count;
    int32_t left, right, pair;
} entry;

/* A list that grows: `items` of one kind, with `count` of them in use. */
typedef struct list {
    void *items;
    int64_t count, capacity;
} list;

typedef struct row {
    int32_t start, length; /* in the tokens */
} row;

typedef struct trainer {
    vocabulary chunks;
    row *rows;       /* one for each chunk */
    int32_t *tokens; /* of all rows; BPE_LEARNT keeps their places within an int32_t */
    pair_table numbers;
    list pairs, places, heap;
    int32_t spare; /* the first of the places that are free + 1 */
} trainer;

/* ---- lists ---- */

/* The next free item; NULL: no memory. */
static void *add_item(list *l, size_t size)
{
    if (l->count == l->capacity) {
        const int64_t capacity = l->capacity > 0 ? 2 * l->capacity : 1024;
        void *items = heed_grow(l->items, (size_t)l->capacity * size, (size_t)capacity * size);
        if (items == NULL) {
            return NULL;
        }
        l->items = items;
        l->capacity = capacity;
    }
    return (char *)l->items + (size_t)l->count++ * size;
}

static void free_items(list *l, size_t size)
{
    heed_free(l->items, (size_t)l->capacity * size);
}

/* ---- the heap: the pair to be merged next is on top ---- */

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

/* Lets the entry on top sink to where it belongs. */
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

/* The pair that is most frequent, taken off the heap; -1: none is there twice. */
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

/* ---- counts of pairs ---- */

static void lose(trainer *t, int32_t left, int32_t right, int64_t uses)
{
    ((pair *)t->pairs.items)[pair_number(&t->numbers, left, right) - 1].count -= uses;
}

/* A pair that is not known yet, under the next number. NULL: no memory. */
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

/* Row `in` has the pair, once more than before. */
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
        return; /* rows are gone through one by one, so it would be the last */
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

/* ---- beginning ---- */

static void start(trainer *t, const char *bytes, size_t length)
{
    t->chunks = chunks_of_text(bytes, length, BPE_LEARNT);
    if (t->chunks.count == 0) {
        return;
    }
    t->rows = heed_alloc((size_t)t->chunks.count * sizeof *t->rows);
    t->tokens = heed_alloc(t->chunks.spelling.length * sizeof *t->tokens);
    for (size_t i = 0; t->tokens != NULL && i < t->chunks.spelling.length; i++) {
        t->tokens[i] = (unsigned char)t->chunks.spelling.bytes[i];
    }
    for (int64_t r = 0; r < t->chunks.count && !heed_error_pending(); r++) {
        const vocabulary_entry *c = &t->chunks.entries[r];
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
    if (t->rows != NULL) {
        heed_free(t->rows, (size_t)t->chunks.count * sizeof *t->rows);
    }
    if (t->tokens != NULL) {
        heed_free(t->tokens, t->chunks.spelling.length * sizeof *t->tokens);
    }
    vocabulary_free(&t->chunks);
    pair_table_free(&t->numbers);
    free_items(&t->pairs, sizeof(pair));
    free_items(&t->places, sizeof(place));
    free_items(&t->heap, sizeof(entry));
}

/* ---- merging ---- */

/* Makes a merge everywhere in one row. Tokens move to the left as it gets shorter: those before
 * `to` are as they will be, those from `from` on as they were. */
static void merge_row(trainer *t, int32_t number, int32_t left, int32_t right, int32_t token)
{
    row *r = &t->rows[number];
    const int64_t uses = t->chunks.entries[number].uses;
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

/* Makes the merge of a pair in all rows where it is. */
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
                  "byte pairs: %lld tokens; there are %d bytes, and at most %d tokens",
                  (long long)size, BPE_BYTES, BPE_MOST);
        return b;
    }
    if (bpe_start(&b)) {
        start(&t, bytes, length);
    }
    while (!heed_error_pending() && b.count < size && (next = pop(&t)) >= 0) {
        const pair *p = (pair *)t.pairs.items + next;
        if (bpe_merge(&b, p->left, p->right)) {
            merge_everywhere(&t, next, (int32_t)b.count - 1);
        }
    }
    trainer_free(&t);
    if (heed_error_pending()) {
        bpe_free(&b);
    }
    return b;
}
