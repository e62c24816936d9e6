/* CSV: a table that loads has the same values when read from a file, and when written and read
 * again.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/common/fuzz.h"

/* The first byte selects the options: bits 0 to 2 the flags, bits 3 and 4 the dtype, bit 5 the
 * delimiter. */
const fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("\0a,b\n1,2\n3,-0.5\n"),
    FUZZ_SEED("\1"
              "1,2\r\n+3,4e-3\r\n"),
    FUZZ_SEED("\2a,b\n,2\n3,\n"),
    FUZZ_SEED("\4"
              "a,b\n1,x\n3,y\n3,x\n"),
    FUZZ_SEED("\10\xEF\xBB\xBF\"a\n\"\"b\"\n0.30000000000000000001\n\n1e400\ninf\nnan\n"),
    FUZZ_SEED("\20id\n9223372036854775807\n-12\n"),
    FUZZ_SEED("\46"
              "a;b\n1; 2\t\n;\"3\"\r-1e-320;4\n"),
    {NULL, 0}};

static void must_equal_classes(const heed_csv_columns *a, const heed_csv_columns *b)
{
    must(a->count == b->count);
    for (int64_t i = 0; i < a->count; i++) {
        const heed_csv_column *c = &a->column[i], *d = &b->column[i];
        must((c->name == NULL) == (d->name == NULL) && c->class_count == d->class_count);
        must(c->name == NULL || strcmp(c->name, d->name) == 0);
        for (int64_t j = 0; j < c->class_count; j++) {
            must(strcmp(c->classes[j], d->classes[j]) == 0);
        }
    }
}

/* The values as a table without a header. NaN also represents missing values. */
static heed_tensor *write_and_read(const heed_tensor *x)
{
    const int64_t columns = heed_size(x, 1);
    FILE *out = fopen(fuzz_path("out"), "w");
    must(out != NULL);
    for (int64_t i = 0; i < heed_size(x, 0) * columns; i++) {
        const char *end = (i + 1) % columns == 0 ? "\n" : ",";
        if (x->dtype == HEED_I64) {
            fprintf(out, "%" PRId64 "%s", heed_const_data_i64(x)[i], end);
        } else {
            fprintf(out, "%.17g%s",
                    x->dtype == HEED_F32 ? (double)heed_const_data_f32(x)[i]
                                         : heed_const_data_f64(x)[i],
                    end);
        }
    }
    must(fclose(out) == 0);
    return heed_load_csv(fuzz_path("out"),
                         (heed_csv_options){.no_header = true, .dtype = x->dtype});
}

void fuzz_one(const uint8_t *data, size_t size)
{
    static const heed_dtype dtypes[] = {HEED_F32, HEED_F64, HEED_I64, HEED_BOOL};
    heed_csv_columns columns, again;
    heed_csv_options options = {.no_header = data[0] & 1,
                                .missing_nan = data[0] & 2,
                                .text_classes = data[0] & 4,
                                .dtype = dtypes[data[0] >> 3 & 3],
                                .delimiter = data[0] & 32 ? ';' : '\0',
                                .columns = &columns};
    heed_tensor *x = heed_parse_csv((const char *)data + 1, size - 1, "fuzz", options);
    if (x == NULL) {
        must(columns.count == 0);
        must_fail_printably();
        return;
    }
    options.columns = &again;
    heed_tensor *y = heed_load_csv(fuzz_file("in", data + 1, size - 1, "", 0), options);
    must(y != NULL);
    must_equal_tensors(x, y);
    must_equal_classes(&columns, &again);
    heed_csv_columns_free(&columns);
    heed_csv_columns_free(&again);
    if (heed_size(x, 0) > 0) {
        must_equal_tensors(x, write_and_read(x));
    }
}
