/* An ordered set of tensors: an array, and a hash table with linear probing that finds a tensor's
 * index. The table is at most half full. */
#include "tensor_set.h"

#include "../../tensor/alloc.h"

/* The slot of t in the table, or the free slot for it. Fibonacci hashing (Knuth, The Art of
 * Computer Programming, volume 3, section 6.4). */
static int64_t *place_of(const heed_tensor_set *set, const heed_tensor *t)
{
    const uint64_t mask = 2 * (uint64_t)set->capacity - 1; /* the capacity is a power of two */
    uint64_t at = (uint64_t)(uintptr_t)t * UINT64_C(0x9E3779B97F4A7C15) >> 32 & mask;
    while (set->table[at] != 0 && set->tensors[set->table[at] - 1] != t) {
        at = (at + 1) & mask;
    }
    return &set->table[at];
}

static heed_status grow(heed_tensor_set *set)
{
    const int64_t larger = set->capacity > 0 ? 2 * set->capacity : 64;
    heed_tensor **tensors = heed_realloc(set->tensors, (size_t)larger * sizeof *tensors);
    if (tensors == NULL) {
        return heed_error_pending();
    }
    set->tensors = tensors;
    int64_t *table = heed_alloc_zeroed(2 * (size_t)larger * sizeof *table);
    if (table == NULL) {
        return heed_error_pending();
    }
    heed_free(set->table);
    set->table = table;
    set->capacity = larger;
    for (int64_t i = 0; i < set->count; i++) {
        *place_of(set, tensors[i]) = i + 1;
    }
    return HEED_OK;
}

int64_t heed_tensor_set_find(const heed_tensor_set *set, const heed_tensor *t)
{
    return set->count > 0 ? *place_of(set, t) - 1 : -1;
}

int64_t heed_tensor_set_add(heed_tensor_set *set, heed_tensor *t)
{
    const int64_t known = heed_tensor_set_find(set, t);
    if (known >= 0 || (set->count == set->capacity && grow(set) != HEED_OK)) {
        return known;
    }
    set->tensors[set->count++] = t;
    *place_of(set, t) = set->count;
    return set->count - 1;
}

void heed_tensor_set_free(heed_tensor_set *set)
{
    heed_free(set->tensors);
    heed_free(set->table);
    *set = (heed_tensor_set){0};
}
