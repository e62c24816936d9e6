/* Reads a CSV log into a watch, which keeps thinned curves and finds spikes. */
#include "examples/lab/common/run_log.h"

#include <math.h>
#include <string.h>

#include "examples/lab/common/flags.h"

enum { MOST_COLUMNS = 1000, MOST_MISSING = 10000000 }; /* they cost time */

/* Adds the steps up to this one, which is at most `most`; rows may be missing if a run was resumed
 * without its log. */
static heed_status skip_to(heed_watch *w, double step, double most, const char *flag,
                           const char *path)
{
    if (!(step > (double)heed_watch_steps(w) && step <= most && floor(step) == step)) {
        return heed_fail(HEED_ERR_VALUE, "%s: %s: step %.17g does not follow step %lld", flag, path,
                         step, (long long)heed_watch_steps(w));
    }
    while ((double)heed_watch_steps(w) + 1 < step && !heed_error_pending()) {
        heed_watch_step(w);
    }
    return heed_error_pending();
}

static heed_watch *read_rows(heed_tensor *rows, const heed_csv_columns *columns, const char *flag,
                             const char *path)
{
    const double *cell = heed_const_data_f64(rows);
    const int64_t count = heed_size(rows, 0), width = heed_size(rows, 1);
    const double first = cell != NULL ? cell[0] : 1;
    heed_watch *w = heed_watch_new(
        (heed_watch_options){.resumed = first >= 1 && first < 1e15 ? (int64_t)first - 1 : 0});
    const double most = (double)heed_watch_steps(w) + MOST_MISSING;
    for (int64_t row = 0; row < count && !heed_error_pending(); row++, cell += width) {
        skip_to(w, cell[0], most + (double)row, flag, path);
        for (int64_t i = 1; i < width; i++) {
            if (!isnan(cell[i])) {
                heed_watch_value(w, columns->column[i].name, cell[i]);
                flags_blame(flag, HEED_ERR_VALUE); /* the name may be empty */
            }
        }
        heed_watch_step(w);
    }
    return w;
}

heed_watch *run_log_read(const char *flag, const char *path)
{
    heed_watch *w = NULL;
    heed_csv_columns columns = {.count = 0};
    if (heed_error_pending()) {
        return NULL;
    }
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *rows = heed_load_csv(
        path, (heed_csv_options){.dtype = HEED_F64, .missing_nan = true, .columns = &columns});
    flags_blame(flag, HEED_ERR_VALUE);
    if (!heed_error_pending() && strcmp(columns.column[0].name, "step") != 0) {
        heed_fail(HEED_ERR_VALUE, "%s: %s: not a training log, whose first column is step", flag,
                  path);
    }
    if (!heed_error_pending() && columns.count > MOST_COLUMNS) {
        heed_fail(HEED_ERR_VALUE, "%s: %s: %lld columns; a log has at most %d", flag, path,
                  (long long)columns.count, MOST_COLUMNS);
    }
    if (!heed_error_pending() && heed_size(rows, 0) == 0) {
        heed_fail(HEED_ERR_VALUE, "%s: %s: no rows", flag, path);
    }
    if (!heed_error_pending()) {
        w = read_rows(rows, &columns, flag, path);
    }
    heed_csv_columns_free(&columns);
    if (heed_error_pending()) {
        heed_watch_free(w);
        return NULL;
    }
    return w;
}
