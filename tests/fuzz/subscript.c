/* heed_index: any string gives a view of x, each of whose elements occurs once, or an error.
 * Spaces, and an ellipsis or a comma at the end, change nothing. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/common/fuzz.h"

/* The first byte selects the number of dims. */
const fuzz_seed fuzz_seeds[] = {FUZZ_SEED("\0...,None"),
                                FUZZ_SEED("\1-1"),
                                FUZZ_SEED("\2"
                                          "1:, ::2"),
                                FUZZ_SEED("\3"
                                          "0, ..., -1"),
                                FUZZ_SEED("\4None, :-1, -3:9, 1::2"),
                                FUZZ_SEED("\4..., 0, "),
                                FUZZ_SEED("\4:99999999999999999999, 2"),
                                {NULL, 0}};

/* The elements of x are 0, 1, 2, ... */
static void check_view(const heed_tensor *x, heed_tensor *y)
{
    bool seen[1024] = {false};
    must(y->storage == x->storage && y->dtype == HEED_I64 && y->numel <= x->numel);
    const int64_t *place = heed_const_data_i64(heed_contiguous(y));
    for (int64_t i = 0; i < y->numel; i++) {
        must(place[i] >= 0 && place[i] < x->numel && !seen[place[i]]);
        seen[place[i]] = true;
    }
}

/* The text with spaces around each comma and colon, and `end` after it. */
static char *spaced(const char *text, const char *end)
{
    char *more = malloc(3 * strlen(text) + strlen(end) + 1), *to = more;
    for (; *text != '\0'; text++) {
        const bool separates = *text == ',' || *text == ':';
        memcpy(to, separates ? " ? " : "?", separates ? 3 : 1);
        to[separates] = *text;
        to += separates ? 3 : 1;
    }
    strcpy(to, end);
    return more;
}

void fuzz_one(const uint8_t *data, size_t size)
{
    const heed_shape shape = {data[0] % 6, {4, 2, 5, 3, 1}};
    int64_t numel = 1;
    for (int i = 0; i < shape.ndim; i++) {
        numel *= shape.size[i];
    }
    heed_tensor *x = heed_reshape(heed_arange(0, (double)numel, 1, HEED_I64), shape);
    char *text = calloc(size, 1);
    memcpy(text, data + 1, size - 1);
    heed_tensor *y = heed_index(x, text);
    if (y == NULL) {
        must_fail();
    } else {
        const char *comma = strrchr(text, ',');
        const bool ends_with_comma = comma != NULL && comma[1 + strspn(comma + 1, " ")] == '\0';
        char *more = spaced(text, ends_with_comma ? "... , " : " , ... ");
        check_view(x, y);
        must_equal_tensors(y, heed_index(x, more));
        free(more);
    }
    free(text);
}
