/* For libFuzzer (make fuzz-bpe): arbitrary bytes as text to learn from and encode, and as saved
 * merges. Decoding must invert encoding and loading must invert saving; malformed merges must be
 * rejected. */
#include <stdlib.h>
#include <string.h>

#include "examples/gpt/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* decode(encode(text)) is the text, and the cache gives the same tokens. */
static void check_inverse(const tokenizer *t, bpe_cache *cache, const char *bytes, size_t length)
{
    token_list list = tokenizer_encode(t, bytes, length, NULL);
    text_buffer back = {.length = 0};
    text_joint joint = {.tight = true};
    token_piece piece;
    int64_t at = 0;
    for (int64_t i = 0; i < list.count; i++) {
        tokenizer_decode(t, &joint, list.ids[i], &back);
    }
    must(back.length == length && (length == 0 || memcmp(back.bytes, bytes, length) == 0));
    for (size_t from = 0, step; cache != NULL && from < length; from += step) {
        step = tokenizer_piece(t, cache, bytes + from, length - from, &piece);
        for (int i = 0; i < piece.count; i++, at++) {
            must(at < list.count && piece.ids[i] == list.ids[at]);
        }
    }
    must(cache == NULL || at == list.count);
    text_free(&back);
    token_list_free(&list);
}

static void check_saved(const tokenizer *t)
{
    text_buffer saved = tokenizer_saved(t);
    tokenizer again = tokenizer_of_saved(LEVEL_BPE, saved.bytes);
    must(!heed_error_pending() && again.count == t->count);
    text_buffer resaved = tokenizer_saved(&again);
    must(strcmp(saved.bytes, resaved.bytes) == 0);
    text_free(&saved);
    text_free(&resaved);
    tokenizer_free(&again);
}

/* The first byte chooses how many merges are learnt, and whether the rest is saved merges. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t live = heed_live_bytes();
    const char *text = (const char *)data + 1;
    if (size < 2) {
        return 0;
    }
    const size_t length = size - 1;
    tokenizer t;
    if (data[0] < 64) {
        char *saved = calloc(size, 1);
        memcpy(saved, text, length);
        t = tokenizer_of_saved(LEVEL_BPE, saved);
        must((heed_error() == HEED_OK) == (t.count >= BPE_BYTES));
        free(saved);
    } else {
        const size_t learnt = 1 + length * (data[0] & 3) / 4; /* 1 byte to 3/4 of the text */
        t = tokenizer_of_text(LEVEL_BPE, "it", text, learnt < length ? learnt : length,
                              BPE_BYTES + 2 * (data[0] - 64));
        must(!heed_error_pending());
    }
    if (t.count > 0) {
        const bool cached = data[0] % 16 == 0; /* rarely: zeroing the cache is slow */
        bpe_cache *cache = cached ? heed_alloc_zeroed(sizeof *cache) : NULL;
        check_inverse(&t, cache, text, length);
        check_saved(&t);
        heed_free(cache);
    }
    tokenizer_free(&t);
    must(heed_live_bytes() == live);
    return 0;
}
