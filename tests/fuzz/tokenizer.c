/* Vocabularies and byte pairs: the input is text to learn from and encode, or saved tokens.
 * Decoding inverts encoding at the levels that preserve every byte, and loading inverts saving. */
#include <stdlib.h>
#include <string.h>

#include "examples/lab/gpt/tokenizer.h"
#include "tests/fuzz/common/fuzz.h"

/* The first byte: 's' or 'p' for saved tokens, 'c' or 'b' for a text; the second chooses the
 * vocabulary's size. */
const fuzz_seed fuzz_seeds[] = {FUZZ_SEED("b\5any bytes: \xFF\xC3\xA9 and any bytes again"),
                                FUZZ_SEED("c\0the caf\xC3\xA9, the caf\xC3\xA9"),
                                FUZZ_SEED("p\0104 101\n256 32\n257 257\n"),
                                FUZZ_SEED("s\0 abc\xC3\xA9"),
                                FUZZ_SEED("s\0"),
                                {NULL, 0}};

static const char texts[] = "cb", lists[] = "sp"; /* by level */

/* Decoding gives the text. */
static void check_encoding(const tokenizer *t, const char *bytes, size_t length)
{
    token_list list = tokenizer_encode(t, "it", bytes, length);
    text_buffer back = {.length = 0};
    if (heed_error_pending()) { /* not UTF-8, or unknown characters */
        must(t->level == LEVEL_CHAR);
        must_fail();
        return;
    }
    for (int64_t i = 0; i < list.count; i++) {
        must(list.ids[i] >= 0 && list.ids[i] < t->count);
        tokenizer_decode(t, list.ids[i], &back);
    }
    must(back.length == length && (length == 0 || memcmp(back.bytes, bytes, length) == 0));
    text_free(&back);
    token_list_free(&list);
}

static void check_saved(const tokenizer *t)
{
    text_buffer saved = tokenizer_saved(t);
    tokenizer again = tokenizer_of_saved(t->level, saved.bytes);
    must(!heed_error_pending() && again.count == t->count);
    text_buffer resaved = tokenizer_saved(&again);
    must(strcmp(saved.bytes, resaved.bytes) == 0);
    text_free(&resaved);
    text_free(&saved);
    tokenizer_free(&again);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    const char *list = memchr(lists, data[0], sizeof lists - 1);
    const char *level = memchr(texts, data[0], sizeof texts - 1);
    if (size < 2 || (list == NULL && level == NULL)) {
        return;
    }
    const size_t length = size - 2;
    char *text = calloc(size, 1);
    memcpy(text, data + 2, length);
    tokenizer t;
    if (list != NULL) {
        t = tokenizer_of_saved((token_level)(list - lists), text);
    } else { /* learns from part of the text, so that the rest has unknown tokens */
        const size_t learnt = length - length * (data[1] & 3) / 4;
        const int64_t base = *level == 'b' ? BPE_BYTES : 2;
        t = tokenizer_of_text((token_level)(level - texts), "it", text, learnt,
                              base + 2 * (data[1] >> 2));
    }
    if (t.count == 0) {
        must_fail();
    } else {
        must(!heed_error_pending());
        check_encoding(&t, text, length);
        check_saved(&t);
    }
    tokenizer_free(&t);
    free(text);
}
