/* Byte-pair encoding: learns tokens from a text by repeatedly merging the most frequent adjacent
 * pair (Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units",
 * 2016), over bytes, as in GPT-2.
 *
 * Tokens 0 ... 255 are the bytes. Token 256 + i is merge i: two earlier tokens, concatenated. A
 * text is split into chunks, and merges never cross chunks. Encoding a chunk applies the earliest
 * merge that matches, everywhere from left to right, then the next, until none matches. Decoding
 * restores the exact bytes.
 */
#ifndef HEED_GPT_BPE_H
#define HEED_GPT_BPE_H

#include "examples/lab/common/text.h"

/* ---- chunks ----
 *
 * The rule is defined on bytes, so it works for any file: a byte is a letter (a-z, A-Z, and 0x80
 * and above: UTF-8 outside ASCII), a digit, a blank (space, \t \n \v \f \r) or a mark (all others,
 * including NUL). A chunk is
 *
 * - a run of letters, of digits or of marks, with one preceding space if present, or
 * - a run of blanks, without the last one if that is the space of the next chunk,
 *
 * split after CHUNK_LONGEST bytes; the rest becomes another chunk. The end of a chunk depends only
 * on its own bytes and those after it, so splitting can start at the first byte of any chunk.
 * (GPT-2 splits similarly, by a pattern over Unicode classes.) */
enum { CHUNK_LONGEST = 128 };

/* chunk_length: the length of the first chunk in the next `left` bytes; 0: no bytes are left. */
size_t chunk_length(const char *bytes, size_t left);

/* ---- tokens ---- */

enum { BPE_BYTES = 256, BPE_MOST = 1 << 20 };

typedef struct bpe_token {
    int32_t left, right; /* of a merge */
    int64_t start;       /* in the spelling */
    int32_t length;      /* at most CHUNK_LONGEST */
} bpe_token;

/* A number for each pair of tokens; zero-initialised, the table is empty. */
typedef struct pair_slot {
    int32_t left, right;
    int32_t number; /* 0: the slot is free */
} pair_slot;

typedef struct pair_table {
    pair_slot *slots;
    int64_t slot_count, used;
} pair_table;

typedef struct bpe {
    int64_t count; /* of tokens; 0: empty */
    size_t capacity;
    bpe_token *tokens;    /* by id */
    text_buffer spelling; /* of all tokens, concatenated */
    pair_table merges;    /* the token that a pair becomes */
} bpe;

/* bpe_train: learns up to `size` tokens from a text. The most frequent pair is merged first; among
 * equally frequent pairs, the one with the smaller left token, then the one with the smaller right
 * token. Overlapping pairs count, so "aaa" contains "aa" twice. Learning ends early when no pair
 * occurs twice.
 *
 * Learns from the first BPE_LEARNT bytes. The same text gives the same tokens on every machine.
 *
 * HEED_ERR_VALUE: a size below 256 or above BPE_MOST. */
enum { BPE_LEARNT = 8 << 20 };
bpe bpe_train(const char *bytes, size_t length, int64_t size);
void bpe_free(bpe *b);

/* bpe_saved: the merges as NUL-terminated text, a line "left right\n" for each. bpe_of_saved: the
 * same tokens from that text.
 * HEED_ERR_VALUE: malformed text; or a merge uses a later token, occurs twice, or is longer than a
 * chunk. The message names the line. */
text_buffer bpe_saved(const bpe *b);
bpe bpe_of_saved(const char *saved);

/* bpe_bytes: the bytes of a token; NULL, and *length 0, for an id outside the vocabulary. */
const char *bpe_bytes(const bpe *b, int64_t id, size_t *length);

/* bpe_encode_chunk: encodes one chunk of at most CHUNK_LONGEST bytes into `ids`, which has space
 * for `length` tokens; returns their count. */
int bpe_encode_chunk(const bpe *b, const char *bytes, size_t length, int32_t *ids);

#endif
