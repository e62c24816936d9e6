/* Where each number goes when heads are split and merged. */
#include "examples/page/onward.h"
#include "examples/page/parts.h"

enum { MOST = 10 }; /* so that a number has two digits */

static void write_numbers(FILE *json, const char *name, heed_tensor *t)
{
    float numbers[MOST * MOST];
    int64_t as_written[MOST * MOST];
    if (t == NULL) {
        return;
    }
    heed_copy_out(t, numbers, t->numel);
    for (int64_t i = 0; i < t->numel; i++) {
        as_written[i] = (int64_t)numbers[i];
    }
    fprintf(json, "\"%s\":", name);
    write_list(json, as_written, (int)t->numel);
}

EXPORT(page_split) const char *page_split(int tokens, int d_model, int heads, unsigned breaks)
{
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    if (tokens < 1 || tokens > MOST || d_model < 1 || d_model > MOST || heads < 1 ||
        d_model % heads != 0) {
        heed_fail(HEED_ERR_VALUE,
                  "%d tokens of %d features in %d heads: there are 1 to %d of each, and heads "
                  "divide the features",
                  tokens, d_model, heads, MOST);
        return end_text(json);
    }
    heed_tensor *of_tokens =
        heed_reshape(heed_arange(0, 10.0 * tokens, 10, HEED_F32), HEED_SHAPE(tokens, 1));
    heed_tensor *x = heed_add(of_tokens, heed_arange(0, d_model, 1, HEED_F32));
    heed_tensor *split = forward_split(x, heads, breaks & BREAK_SPLIT_VIEW);
    fputc('{', json);
    write_numbers(json, "x", x);
    fputc(',', json);
    write_numbers(json, "split", split);
    fputc(',', json);
    write_numbers(json, "merged", forward_merge(split, breaks & BREAK_MERGE_VIEW));
    fputs("}\n", json);
    return end_text(json);
}
