/* Byte-pair encoding: tokens that are learnt from a text by joining the two that most often stand
 * side by side (Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword
 * Units", 2016), over bytes, as GPT-2 does.
 *
 * Tokens 0 ... 255 are the bytes. Token 256 + i is the i-th merge: two earlier tokens side by side.
 * A text is cut into chunks (chunks.h), and merges never cross them. To encode a chunk, the merge
 * learnt first is made wherever it can be, from left to right, then the next that can be, until
 * none can; so what is decoded again are the same bytes, whatever they are.
 */
#ifndef HEED_GPT_BPE_H
#define HEED_GPT_BPE_H

#include "examples/gpt/chunks.h"
#include "examples/gpt/pairs.h"

enum { BPE_BYTES = 256, BPE_MOST = 1 << 20 };

typedef struct bpe_token {
    int32_t left, right; /* of a merge */
    int64_t start;       /* in the spelling */
    int32_t length;      /* at most CHUNK_LONGEST */
} bpe_token;

typedef struct bpe {
    int64_t count, capacity; /* count 0: there is none */
    bpe_token *tokens;       /* by number */
    text_buffer spelling;    /* of all tokens, one after the other */
    pair_table merges;       /* which token a pair becomes */
} bpe;

/* bpe_train: learns up to `size` tokens from a text. The most frequent pair is joined first; of
 * equally many, the one whose left number is smaller, then whose right number is. Pairs are counted
 * as they stand side by side, so "aaa" has "aa" twice. It ends early when no pair is there twice.
 *
 * Memory grows with the chunks that differ: of those, the first BPE_LEARNT bytes are learnt from.
 * From the same text the same is learnt everywhere.
 *
 * HEED_ERR_VALUE: a size below 256 or above BPE_MOST. */
enum { BPE_LEARNT = 4 << 20 };
bpe bpe_train(const char *bytes, size_t length, int64_t size);

/* bpe_saved: the merges as text, a line "left right\n" for each, ended by a NUL; bpe_of_saved: the
 * same from that text.
 * HEED_ERR_VALUE: no such text; a merge names a token that comes later, is there twice, or is
 * longer than a chunk. The sentence has the line. */
text_buffer bpe_saved(const bpe *b);
bpe bpe_of_saved(const char *saved);

void bpe_free(bpe *b);

/* bpe_start, bpe_merge: how one is made: the bytes alone, then a merge at a time. False: an error
 * is pending. */
bool bpe_start(bpe *b);
bool bpe_merge(bpe *b, int32_t left, int32_t right);

/* bpe_bytes: the bytes of a token; NULL, and *length 0, if there is no such token. */
const char *bpe_bytes(const bpe *b, int64_t id, size_t *length);

/* Chunks that have been encoded before, so that most of a text is looked up. One encodes faster
 * with it and the same without (NULL); it belongs to one encoder. heed_alloc_zeroed makes an empty
 * one. */
enum { CACHED_BYTES = 22, CACHED_TOKENS = 10, CACHED_CHUNKS = 1 << 15 };
typedef struct bpe_cache {
    struct {
        uint8_t length, count;
        char bytes[CACHED_BYTES];
        int32_t ids[CACHED_TOKENS];
    } chunks[CACHED_CHUNKS];
} bpe_cache;

/* bpe_encode_chunk: the tokens of one chunk, of at most CHUNK_LONGEST bytes, into `ids`, which has
 * room for as many; returns how many. Each pass over the chunk makes one merge everywhere, so the
 * cost is bounded by CHUNK_LONGEST squared. */
int bpe_encode_chunk(const bpe *b, bpe_cache *cache, const char *bytes, size_t length,
                     int32_t *ids);

#endif
