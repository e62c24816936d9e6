/* The vocabulary: entries in the order of their ids, and a hash table that finds them. text.c
 * splits texts into tokens. */
#include "examples/lab/common/vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "heed.h"

static const char unknown_token[] = "<unknown>";

/* ---- lists of ids ---- */

void token_list_add(token_list *list, int64_t id)
{
    int64_t *ids = list_grow(list->ids, &list->capacity, (size_t)list->count + 1, sizeof *ids);
    if (ids != NULL) {
        list->ids = ids;
        list->ids[list->count++] = id;
    }
}

void token_list_free(token_list *list)
{
    heed_free(list->ids);
    *list = (token_list){.count = 0};
}

/* ---- the hash table ---- */

/* The slot of a token, or the free slot where it belongs; the table is at most half full. */
static int64_t slot_of(const vocabulary *v, const char *token, size_t length)
{
    const uint64_t hash = text_hash(token, length);
    int64_t slot = (int64_t)((hash ^ hash >> 32) & (uint64_t)(v->slot_count - 1));
    for (; v->slots[slot] != 0; slot = (slot + 1) & (v->slot_count - 1)) {
        const vocabulary_entry *entry = &v->entries[v->slots[slot] - 1];
        if (entry->length == length &&
            memcmp(v->spelling.bytes + entry->start, token, length) == 0) {
            break;
        }
    }
    return slot;
}

static const char *spelling_of(const vocabulary *v, int64_t id)
{
    return v->spelling.bytes + v->entries[id].start;
}

/* Resizes the hash table to two slots per entry of capacity. */
static bool rehash(vocabulary *v)
{
    const size_t slot_count = 2 * v->capacity;
    int32_t *slots = heed_alloc_zeroed(slot_count * sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    heed_free(v->slots);
    v->slots = slots;
    v->slot_count = (int64_t)slot_count;
    for (int64_t id = 0; id < v->count; id++) {
        slots[slot_of(v, spelling_of(v, id), v->entries[id].length)] = (int32_t)id + 1;
    }
    return true;
}

/* Ensures capacity for one more entry. */
static bool reserve(vocabulary *v)
{
    vocabulary_entry *entries =
        list_grow(v->entries, &v->capacity, (size_t)v->count + 1, sizeof *entries);
    if (entries == NULL) {
        return false;
    }
    v->entries = entries;
    return (size_t)v->slot_count == 2 * v->capacity || rehash(v);
}

void vocabulary_count(vocabulary *v, const char *token, size_t length, size_t most)
{
    if (!reserve(v)) {
        return;
    }
    const int64_t slot = slot_of(v, token, length);
    if (v->slots[slot] != 0) {
        v->entries[v->slots[slot] - 1].uses++;
    } else if (v->spelling.length < most) {
        v->entries[v->count] = (vocabulary_entry){v->spelling.length, length, 1};
        text_append(&v->spelling, token, length);
        text_append(&v->spelling, "", 1);
        v->slots[slot] = (int32_t)++v->count;
    }
}

/* ---- making one ---- */

static vocabulary start(text_level level, bool with_unknown)
{
    vocabulary v = {.level = level, .unknown = with_unknown ? 0 : VOCABULARY_NONE};
    if (with_unknown) {
        vocabulary_count(&v, unknown_token, sizeof unknown_token - 1, SIZE_MAX);
    }
    return v;
}

/* By decreasing number of uses, then by first appearance. */
static int by_uses(const void *left, const void *right)
{
    const vocabulary_entry *a = left, *b = right;
    if (a->uses != b->uses) {
        return a->uses > b->uses ? -1 : 1;
    }
    return a->start < b->start ? -1 : a->start > b->start;
}

/* Copies the first entries, so that the memory of the many others in a long text can be freed. */
static vocabulary first_of(const vocabulary *all, int64_t count)
{
    vocabulary v = {.level = all->level, .unknown = all->unknown};
    for (int64_t id = 0; id < count && !heed_error_pending(); id++) {
        vocabulary_count(&v, spelling_of(all, id), all->entries[id].length, SIZE_MAX);
        if (v.count > id) {
            v.entries[id].uses = all->entries[id].uses;
        }
    }
    if (heed_error_pending()) {
        vocabulary_free(&v);
    }
    return v;
}

vocabulary vocabulary_of_text(text_level level, const char *bytes, size_t length, int64_t limit)
{
    vocabulary v = start(level, true);
    size_t at = 0, token = 0, step;
    while (!heed_error_pending() &&
           (step = text_next_token(level, bytes, length, at, &token)) > 0) {
        vocabulary_count(&v, bytes + token, step, VOCABULARY_COUNTED);
        at = token + step;
    }
    if (heed_error_pending()) {
        vocabulary_free(&v);
        return v;
    }
    qsort(v.entries + 1, (size_t)v.count - 1, sizeof *v.entries, by_uses);
    vocabulary kept = first_of(&v, v.count < limit ? v.count : limit);
    vocabulary_free(&v);
    return kept;
}

vocabulary vocabulary_of_characters(const char *bytes, size_t length)
{
    enum { CODES = 0x110000 };
    vocabulary v = start(TEXT_CHAR, false);
    unsigned char *seen = heed_alloc_zeroed(CODES);
    size_t at = 0;
    for (int step; seen != NULL && at < length; at += (size_t)step) {
        uint32_t code = (unsigned char)bytes[at];
        step = code < 0x80 ? 1 : utf8_length(bytes + at, length - at, &code);
        if (step == 0) {
            break; /* the text was not checked */
        }
        seen[code] = 1;
    }
    for (uint32_t code = 0; seen != NULL && code < CODES && !heed_error_pending(); code++) {
        char character[4];
        if (seen[code]) {
            vocabulary_count(&v, character, utf8_write(code, character), SIZE_MAX);
        }
    }
    heed_free(seen);
    if (heed_error_pending()) {
        vocabulary_free(&v);
    }
    return v;
}

vocabulary vocabulary_of_list(text_level level, bool with_unknown, const char *list)
{
    enum { LONGEST = 4 }; /* bytes of a character; a NUL ends it earlier */
    vocabulary v = start(level, with_unknown);
    uint32_t code;
    while (*list != '\0' && !heed_error_pending()) {
        const size_t length =
            level == TEXT_WORD ? strcspn(list, " ") : (size_t)utf8_length(list, LONGEST, &code);
        const int64_t count = v.count;
        if (length > 0) {
            vocabulary_count(&v, list, length, SIZE_MAX);
        }
        if (v.count == count) {
            heed_fail(HEED_ERR_VALUE, "the vocabulary has an empty or a duplicate token");
        }
        list += length;
        list += level == TEXT_WORD && *list == ' ';
    }
    if (heed_error_pending()) {
        vocabulary_free(&v);
    }
    return v;
}

text_buffer vocabulary_list(const vocabulary *v)
{
    text_buffer list = {.length = 0};
    const int64_t first = v->unknown == 0;
    for (int64_t id = first; id < v->count; id++) {
        text_append(&list, " ", v->level == TEXT_WORD && id > first);
        text_append(&list, spelling_of(v, id), v->entries[id].length);
    }
    text_append(&list, "", 1);
    return list;
}

void vocabulary_free(vocabulary *v)
{
    text_free(&v->spelling);
    heed_free(v->entries);
    heed_free(v->slots);
    *v = (vocabulary){.level = v->level, .unknown = v->unknown};
}

/* ---- using it ---- */

const char *vocabulary_token(const vocabulary *v, int64_t id)
{
    return id >= 0 && id < v->count ? spelling_of(v, id) : "";
}

int64_t vocabulary_id(const vocabulary *v, const char *token, size_t length)
{
    const int32_t found = v->count > 0 ? v->slots[slot_of(v, token, length)] : 0;
    return found != 0 ? found - 1 : v->unknown;
}

token_list vocabulary_encode(const vocabulary *v, const char *bytes, size_t length,
                             token_span *first_unknown)
{
    token_list list = {.count = 0};
    token_span unknown = {NULL, 0};
    size_t at = 0, start_of_token = 0, step;
    while (!heed_error_pending() &&
           (step = text_next_token(v->level, bytes, length, at, &start_of_token)) > 0) {
        const int64_t id = vocabulary_id(v, bytes + start_of_token, step);
        if (id == v->unknown && unknown.bytes == NULL) {
            unknown = (token_span){bytes + start_of_token, step};
        }
        token_list_add(&list, id);
        at = start_of_token + step;
    }
    if (first_unknown != NULL) {
        *first_unknown = unknown;
    }
    return list;
}
