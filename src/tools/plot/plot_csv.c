/* Curves and attention weights as CSV, with the quoting of RFC 4180. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../tensor/alloc.h"
#include "curves.h"
#include "picture.h"

static void put_text(FILE *stream, const char *text)
{
    if (text == NULL || text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text != NULL ? text : "", stream);
        return;
    }
    fputc('"', stream);
    for (; *text != '\0'; text++) {
        fputs(*text == '"' ? "\"" : "", stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

/* The fewest digits that read back as the same number. */
static void put_number(FILE *stream, double value, bool is_f32)
{
    char text[40] = "";
    if (isnan(value)) { /* printf would print its sign */
        fputs("nan", stream);
        return;
    }
    if (value == floor(value) && fabs(value) < 1e15) { /* %g would print 10 as 1e+01 */
        fprintf(stream, "%.0f", value);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        const double read = strtod(text, NULL);
        if (is_f32 ? (float)read == (float)value : read == value) {
            break;
        }
    }
    fputs(text, stream);
}

/* ---- curves ---- */

/* Finds the smallest x not yet written; false after the last row. `at`: the next point of each
 * curve. Points whose x is NaN are skipped. */
static bool next_x(const heed_curve *curves, int count, int64_t *at, double *x)
{
    bool found = false;
    for (int c = 0; c < count; c++) {
        while (at[c] < curves[c].count && isnan(curves[c].x[at[c]])) {
            at[c]++;
        }
        if (at[c] < curves[c].count && (!found || curves[c].x[at[c]] < *x)) {
            *x = curves[c].x[at[c]];
            found = true;
        }
    }
    return found;
}

heed_status heed_plot_csv(FILE *stream, const heed_curve *curves, int count)
{
    HEED_DECIMAL_POINT;
    if (heed_curves_check("plot_csv", stream, curves, count, 0) != HEED_OK) {
        return heed_error_pending();
    }
    int64_t *at = heed_alloc_zeroed((size_t)(count > 0 ? count : 1) * sizeof *at);
    if (at == NULL) {
        return heed_error_pending();
    }
    fputs("step", stream);
    for (int c = 0; c < count; c++) {
        fputc(',', stream);
        put_text(stream, curves[c].name);
    }
    fputc('\n', stream);
    for (double x = 0; next_x(curves, count, at, &x);) {
        put_number(stream, x, false);
        for (int c = 0; c < count; c++) {
            fputc(',', stream);
            if (at[c] < curves[c].count && curves[c].x[at[c]] == x) {
                put_number(stream, curves[c].y[at[c]++], false);
            }
        }
        fputc('\n', stream);
    }
    heed_free(at);
    return heed_picture_end("plot_csv", stream);
}

/* ---- attention ---- */

heed_status heed_attention_csv(FILE *stream, heed_tensor *weights,
                               heed_attention_plot_options options)
{
    HEED_DECIMAL_POINT;
    heed_heads heads;
    if (heed_heads_of(&heads, "attention_csv", stream, weights, &options) != HEED_OK) {
        return heed_error_pending();
    }
    fputs("head,query,key,query_label,key_label,weight\n", stream);
    for (int64_t head = 0; head < heads.count; head++) {
        for (int64_t i = 0; i < heads.queries; i++) {
            for (int64_t j = 0; j < heads.keys; j++) {
                fprintf(stream, "%lld,%lld,%lld,", (long long)head + 1, (long long)i + 1,
                        (long long)j + 1);
                put_text(stream, heads.query_labels != NULL ? heads.query_labels[i] : "");
                fputc(',', stream);
                put_text(stream, heads.key_labels != NULL ? heads.key_labels[j] : "");
                fputc(',', stream);
                put_number(stream, heed_heat_at(weights, head, i, j), weights->dtype == HEED_F32);
                fputc('\n', stream);
            }
        }
    }
    return heed_picture_end("attention_csv", stream);
}
