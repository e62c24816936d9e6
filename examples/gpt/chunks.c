#include "examples/gpt/chunks.h"

#include "heed.h"

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

vocabulary chunks_of_text(const char *bytes, size_t length, size_t most)
{
    vocabulary v = {.unknown = VOCABULARY_NONE};
    size_t step;
    for (size_t at = 0; !heed_error_pending() && at < length; at += step) {
        step = chunk_length(bytes + at, length - at);
        vocabulary_count(&v, bytes + at, step, most);
    }
    if (heed_error_pending()) {
        vocabulary_free(&v);
    }
    return v;
}
