/* Open addressing, at most half full; slots are looked at one after the other. */
#include "examples/gpt/pairs.h"

#include "heed.h"

enum { FEWEST_SLOTS = 1024 };

/* The slot where a pair is, or where it would go. */
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

int32_t pair_number(const pair_table *t, int32_t left, int32_t right)
{
    return t->slot_count > 0 ? slot_of(t, left, right)->number : 0;
}

static bool grow(pair_table *t)
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

bool pair_add(pair_table *t, int32_t left, int32_t right, int32_t number)
{
    if (2 * (t->used + 1) > t->slot_count && !grow(t)) {
        return false;
    }
    *slot_of(t, left, right) = (pair_slot){left, right, number};
    t->used++;
    return true;
}

void pair_table_free(pair_table *t)
{
    heed_free(t->slots, (size_t)t->slot_count * sizeof *t->slots);
    *t = (pair_table){.used = 0};
}
