/* Rotary positions of one query and one key, and sines added to the same two. */
#include <math.h>

#include "examples/page/onward.h"
#include "examples/page/parts.h"

enum { MOST_FEATURES = 64, MOST_POSITION = 1000 };

/* x (1, d) at positions first, first + 1, ...: (count, d). */
typedef heed_tensor *place_function(heed_tensor *x, int first, int count, double base);

static heed_tensor *rotated(heed_tensor *x, int first, int count, double base)
{
    heed_tensor *positions = heed_arange(first, first + count, 1, HEED_I64);
    heed_tensor *rows = heed_expand(x, HEED_SHAPE(count, -1));
    return heed_rope(rows, positions, .base = base, .interleaved = true);
}

/* Of positions first, first + 1, ...: each pair (1, 0), rotated, is (cos, sin). (count, d) */
static heed_tensor *encodings(int64_t d, int first, int count, double base)
{
    heed_tensor *pair = heed_from_f32((float[]){1, 0}, HEED_SHAPE(1, 2));
    heed_tensor *pairs = heed_flatten(heed_expand(pair, HEED_SHAPE(d / 2, 2)), 0, 1);
    return rotated(heed_unsqueeze(pairs, 0), first, count, base);
}

static heed_tensor *with_sines(heed_tensor *x, int first, int count, double base)
{
    return heed_add(x, encodings(heed_size(x, 1), first, count, base));
}

/* The angles by which heed_rope turns the pairs at position 1. */
static void write_speeds(FILE *json, int d, double base)
{
    float at_1[MOST_FEATURES];
    heed_tensor *pairs = heed_flatten(encodings(d, 1, 1, base), 0, -1);
    if (pairs == NULL || heed_copy_out(pairs, at_1, d) != HEED_OK) {
        return;
    }
    fprintf(json, "\"speeds\":[");
    for (int i = 0; i < d; i += 2) {
        fprintf(json, "%s%.9g", i > 0 ? "," : "", atan2((double)at_1[i + 1], (double)at_1[i]));
    }
    fputs("],", json);
}

/* What is asked. */
typedef struct question {
    heed_tensor *q, *k; /* (1, d) */
    int at_q, at_k, most, pair;
    double base;
} question;

/* q k of each row: of all pairs, or of one. (rows) */
static heed_tensor *score_of(heed_tensor *q, heed_tensor *k, int pair)
{
    heed_tensor *products = heed_mul(q, k);
    return heed_sum_dim(pair < 0 ? products : heed_narrow(products, 1, 2 * pair, 2), -1, false);
}

static void write_way(FILE *json, const char *name, place_function *place, const question *of)
{
    heed_tensor *q = place(of->q, of->at_q, 1, of->base), *k = place(of->k, of->at_k, 1, of->base);
    heed_tensor *moved_q = place(of->q, of->at_q - of->at_k, of->most + 1, of->base),
                *moved_k = place(of->k, 0, of->most + 1, of->base);
    fprintf(json, "\"%s\":{", name);
    write_tensor(json, "\"q\":", q);
    write_tensor(json, ",\"k\":", k);
    write_tensor(json, ",\"score\":", score_of(q, k, of->pair));
    write_tensor(json, ",\"moved\":", score_of(moved_q, moved_k, of->pair));
    fputc('}', json);
}

EXPORT(page_rope)
const char *page_rope(const float *q, const float *k, int d, int at_q, int at_k, int most,
                      double base, int pair)
{
    FILE *json = begin_text();
    if (json == NULL) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    if (d < 2 || d > MOST_FEATURES || d % 2 != 0 || at_q < 0 || at_q > most || at_k < 0 ||
        at_k > most || most > MOST_POSITION || pair < -1 || pair >= d / 2) {
        heed_fail(HEED_ERR_VALUE, "%d features at positions %d and %d of %d, pair %d", d, at_q,
                  at_k, most, pair);
        return end_text(json);
    }
    const question of = {.q = heed_from_f32(q, HEED_SHAPE(1, d)),
                         .k = heed_from_f32(k, HEED_SHAPE(1, d)),
                         .at_q = at_q,
                         .at_k = at_k,
                         .most = most,
                         .pair = pair,
                         .base = base};
    fputc('{', json);
    write_speeds(json, d, base);
    write_way(json, "rotary", rotated, &of);
    fputc(',', json);
    write_way(json, "sines", with_sines, &of);
    fputs("}\n", json);
    return end_text(json);
}
