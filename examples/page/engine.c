/* The engine of the page: errors, memory and texts. */
#include "examples/page/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/page/gpt_map.h"
#include "examples/page/parts.h"
#include "examples/page/story.h"

EXPORT(page_error) const char *page_error(void)
{
    static char message[4096];
    if (!heed_error_pending()) {
        return NULL;
    }
    snprintf(message, sizeof message, "%s", heed_error_message());
    heed_error();
    return message;
}

EXPORT(page_alloc) void *page_alloc(size_t size)
{
    void *block = malloc(size > 0 ? size : 1);
    if (block == NULL) {
        heed_fail(HEED_ERR_MEMORY, "the page: no memory for %zu bytes", size);
    }
    return block;
}

EXPORT(page_free) void page_free(void *block)
{
    free(block);
}

/* ---- texts ---- */

static struct {
    char *text;
    size_t size;
} last;

static void free_text(void)
{
    free(last.text);
    last.text = NULL;
}

FILE *begin_text(void)
{
    if (heed_error_pending()) {
        return NULL;
    }
    free_text();
    FILE *stream = open_memstream(&last.text, &last.size);
    if (stream == NULL) {
        heed_fail(HEED_ERR_MEMORY, "the page: no memory for a result");
    }
    return stream;
}

const char *end_text(FILE *stream)
{
    if (fclose(stream) != 0) {
        heed_fail(HEED_ERR_MEMORY, "the page: no memory for a result");
    }
    return heed_error_pending() ? NULL : last.text;
}

void write_list(FILE *json, const int64_t *values, int count)
{
    for (int i = 0; i < count; i++) {
        fprintf(json, "%c%lld", i > 0 ? ',' : '[', (long long)values[i]);
    }
    fputs(count > 0 ? "]" : "[]", json);
}

void write_tensor(FILE *json, const char *before, const heed_tensor *t)
{
    heed_tensor *flat = t != NULL ? heed_contiguous((heed_tensor *)t) : NULL;
    fprintf(json, "%s[", before);
    for (int64_t i = 0; flat != NULL && i < flat->numel; i++) {
        fprintf(json, "%s%.9g", i > 0 ? "," : "", (double)heed_const_data_f32(flat)[i]);
    }
    fputc(']', json);
}

/* ---- arguments ---- */

bool is_seed(double seed)
{
    const bool is = seed >= 0 && seed < 0x1p53 && seed == floor(seed);
    if (!is) {
        heed_fail(HEED_ERR_VALUE, "seed %g: the seed is a whole number below 2^53", seed);
    }
    return is;
}

heed_tensor *mask_of(const uint8_t *blocked, int64_t count)
{
    heed_tensor *mask = heed_zeros(HEED_SHAPE(count, count), HEED_BOOL);
    for (int64_t i = 0; mask != NULL && i < count * count; i++) {
        ((bool *)mask->data)[i] = blocked[i] != 0;
    }
    return mask;
}

EXPORT(page_end) void page_end(void)
{
    run_end();
    pass_end();
    story_end();
    gpt_map_end();
    free_text();
}
