/* Rotary positions of one query and one key, and sines added to the same two. */
#include "examples/page/onward.h"
#include "examples/page/parts.h"

enum { MOST_FEATURES = 64, MOST_POSITION = 1000 };

static void write_floats(FILE *json, const char *name, heed_tensor *t)
{
    float values[MOST_POSITION + 1];
    if (t == NULL || heed_copy_out(t, values, t->numel) != HEED_OK) {
        return;
    }
    fprintf(json, "\"%s\":[", name);
    for (int64_t i = 0; i < t->numel; i++) {
        fprintf(json, "%s%.9g", i > 0 ? "," : "", (double)values[i]);
    }
    fputs("]", json);
}

/* x (1, d) at positions first, first + 1, ...: (count, d). */
typedef heed_tensor *place_function(heed_tensor *x, int first, int count, double base);

static heed_tensor *rotated(heed_tensor *x, int first, int count, double base)
{
    heed_tensor *positions = heed_arange(first, first + count, 1, HEED_I64);
    heed_tensor *rows = heed_expand(x, HEED_SHAPE(count, -1));
    return heed_rope(rows, positions, (heed_rope_options){.base = base, .interleaved = true});
}

/* A pair (1, 0), rotated, is (cos, sin): the encodings of positions. */
static heed_tensor *with_sines(heed_tensor *x, int first, int count, double base)
{
    const int64_t d = heed_size(x, 1);
    heed_tensor *pair = heed_from_f32((float[]){1, 0}, HEED_SHAPE(1, 2));
    heed_tensor *ones = heed_flatten(heed_expand(pair, HEED_SHAPE(d / 2, 2)), 0, 1);
    return heed_add(x, rotated(heed_unsqueeze(ones, 0), first, count, base));
}

/* q and k at their positions, the sum of their products for each pair, and the scores if both move
 * so that the key is at 0, 1, ... most. */
static void write_way(FILE *json, const char *name, place_function *place, heed_tensor *q,
                      heed_tensor *k, int at_q, int at_k, int most, double base)
{
    heed_tensor *q_there = place(q, at_q, 1, base), *k_there = place(k, at_k, 1, base);
    heed_tensor *products = heed_unflatten(heed_mul(q_there, k_there), 1, HEED_SHAPE(-1, 2));
    heed_tensor *moved =
        heed_mul(place(q, at_q - at_k, most + 1, base), place(k, 0, most + 1, base));
    fprintf(json, "\"%s\":{", name);
    write_floats(json, "q", q_there);
    fputc(',', json);
    write_floats(json, "k", k_there);
    fputc(',', json);
    write_floats(json, "pairs", heed_sum_dim(products, -1, false));
    fputc(',', json);
    write_floats(json, "score", heed_sum(products));
    fputc(',', json);
    write_floats(json, "moved", heed_sum_dim(moved, -1, false));
    fputc('}', json);
}

EXPORT(page_rope)
const char *page_rope(const float *q, const float *k, int d, int at_q, int at_k, int most,
                      double base)
{
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    if (d < 2 || d > MOST_FEATURES || d % 2 != 0 || at_q < 0 || at_q > most || at_k < 0 ||
        at_k > most || most > MOST_POSITION) {
        heed_fail(HEED_ERR_VALUE, "%d features at positions %d and %d of %d", d, at_q, at_k, most);
        return end_text(json);
    }
    heed_tensor *query = heed_from_f32(q, HEED_SHAPE(1, d)),
                *key = heed_from_f32(k, HEED_SHAPE(1, d));
    fputc('{', json);
    write_way(json, "rotary", rotated, query, key, at_q, at_k, most, base);
    fputc(',', json);
    write_way(json, "sines", with_sines, query, key, at_q, at_k, most, base);
    fputs("}\n", json);
    return end_text(json);
}
