/* Pictures: attention weights, checked before anything is drawn; XML; the end of a picture. */
#include "picture.h"

#include <errno.h>
#include <math.h>

#include "../../tensor/read.h"
#include "../files/file_io.h"

/* ---- attention weights ---- */

static heed_status check_rows(const heed_heads *heads, const char *function)
{
    for (int64_t head = 0; head < heads->count; head++) {
        for (int64_t i = 0; i < heads->queries; i++) {
            double sum = 0;
            for (int64_t j = 0; j < heads->keys; j++) {
                sum += heed_heat_at(heads->weights, head, i, j);
            }
            if (!(fabs(sum - 1) <= 1e-3 || fabs(sum) <= 1e-3)) {
                return heed_fail(
                    HEED_ERR_VALUE,
                    "%s: weights of head %lld, query %lld (from 0) sum to %g, not to 1 "
                    "or, if fully masked, to 0; pass the result of softmax",
                    function, (long long)head, (long long)i, sum);
            }
        }
    }
    return HEED_OK;
}

heed_status heed_heads_of(heed_heads *heads, const char *function, FILE *stream,
                          heed_tensor *weights, const heed_attention_plot_options *options)
{
    if (heed_heat_check(function, stream, weights) != HEED_OK) {
        return heed_error_pending();
    }
    const int ndim = weights->ndim;
    if (ndim != 2 && ndim != 3) {
        return heed_fail(HEED_ERR_SHAPE,
                         "%s: weights have %d dims, not (heads, T, S) or (T, S); pick a sequence "
                         "of the batch with heed_select",
                         function, ndim);
    }
    *heads = (heed_heads){.weights = weights,
                          .count = ndim == 3 ? heed_size(weights, 0) : 1,
                          .queries = heed_size(weights, -2),
                          .keys = heed_size(weights, -1),
                          .query_labels = options->queries,
                          .key_labels = options->keys};
    if (options->keys == NULL && heads->keys == heads->queries) {
        heads->key_labels = options->queries;
    }
    return check_rows(heads, function);
}

/* ---- XML ---- */

static void write_escaped(FILE *stream, heed_glyph glyph)
{
    const char *entity = *glyph.bytes == '&'    ? "&amp;"
                         : *glyph.bytes == '<'  ? "&lt;"
                         : *glyph.bytes == '>'  ? "&gt;"
                         : *glyph.bytes == '"'  ? "&quot;"
                         : *glyph.bytes == '\\' ? "&#92;"
                                                : NULL;
    if (entity != NULL) {
        fputs(entity, stream);
        glyph.bytes++; /* marks may follow */
        glyph.length--;
    }
    fwrite(glyph.bytes, 1, (size_t)glyph.length, stream);
}

void heed_xml_put(FILE *stream, const char *label, int most, unsigned style)
{
    heed_label_write(stream, label, most, style, write_escaped);
}

heed_status heed_picture_end(const char *function, FILE *stream)
{
    errno = 0;
    if (!heed_error_pending() && (fflush(stream) != 0 || ferror(stream))) {
        return heed_fail_file(function, "stream", "write", errno != 0 ? errno : EIO);
    }
    return heed_error_pending();
}
