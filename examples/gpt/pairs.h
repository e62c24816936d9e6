/* A number for each pair of tokens: a hash table that grows; zero is empty. */
#ifndef HEED_GPT_PAIRS_H
#define HEED_GPT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pair_slot {
    int32_t left, right;
    int32_t number; /* 0: the slot is free */
} pair_slot;

typedef struct pair_table {
    pair_slot *slots;
    int64_t slot_count, used;
} pair_table;

/* pair_number: of this pair; 0: it has none. */
int32_t pair_number(const pair_table *t, int32_t left, int32_t right);

/* pair_add: files a pair that has no number under one, which is not 0.
 * HEED_ERR_MEMORY: there is none, and nothing has changed. */
bool pair_add(pair_table *t, int32_t left, int32_t right, int32_t number);
void pair_table_free(pair_table *t);

#endif
