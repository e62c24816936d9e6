/* Reads a CSV log into a watch, which keeps thinned curves and finds spikes. */
#include "examples/lab/common/run_log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Splits a line at its commas, in place; quotes around a name go. Returns the number of cells. */
static int split_cells(char *line, char **cells)
{
    int count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *next = line; next != NULL && count <= MOST_COLUMNS; count++) {
        char *cell = next;
        const bool quoted = *cell == '"';
        next = strpbrk(cell + quoted, quoted ? "\"" : ",");
        if (quoted && next != NULL) {
            *next++ = '\0';
            next = strchr(next, ',');
        }
        if (next != NULL) {
            *next++ = '\0';
        }
        cells[count] = cell + quoted;
    }
    return count;
}

static void add_row(heed_watch *w, char **names, char **cells, int width)
{
    for (int i = 1; i < width && !heed_error_pending(); i++) {
        char *end;
        const double value = strtod(cells[i], &end);
        if (*end != '\0') {
            heed_fail(HEED_ERR_VALUE, "'%.40s' in column %s is not a number", cells[i], names[i]);
        } else if (end != cells[i] && !isnan(value)) {
            heed_watch_value(w, names[i], value);
        }
    }
    heed_watch_step(w);
}

static heed_watch *read_rows(FILE *file, const char *flag, const char *path)
{
    char *names[MOST_COLUMNS + 1], *cells[MOST_COLUMNS + 1], *head = NULL, *line = NULL;
    size_t head_size = 0, line_size = 0;
    heed_watch *w = NULL;
    double most = MOST_MISSING;
    const int width = getline(&head, &head_size, file) > 0 ? split_cells(head, names) : 0;
    if (width == 0 || strcmp(names[0], "step") != 0) {
        heed_fail(HEED_ERR_VALUE, "%s: %s: not a training log, whose first column is step", flag,
                  path);
    } else if (width > MOST_COLUMNS) {
        heed_fail(HEED_ERR_VALUE, "%s: %s: over %d columns", flag, path, MOST_COLUMNS);
    }
    while (!heed_error_pending() && getline(&line, &line_size, file) > 0) {
        if (split_cells(line, cells) != width) {
            heed_fail(HEED_ERR_VALUE, "%s: %s: a row without %d cells", flag, path, width);
            break;
        }
        const double step = *cells[0] != '\0' ? strtod(cells[0], NULL) : (double)NAN;
        if (w == NULL) {
            const int64_t before = step >= 1 && step < 1e15 ? (int64_t)step - 1 : 0;
            w = heed_watch_new((heed_watch_options){.resumed = before});
            most += (double)before;
        }
        if (skip_to(w, step, most++, flag, path) == HEED_OK) {
            add_row(w, names, cells, width);
            flags_blame(flag, HEED_ERR_VALUE); /* the name may be empty */
        }
    }
    if (w == NULL) {
        heed_fail(HEED_ERR_VALUE, "%s: %s: no rows", flag, path);
    }
    free(head);
    free(line);
    return w;
}

heed_watch *run_log_read(const char *flag, const char *path)
{
    if (heed_error_pending()) {
        return NULL;
    }
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        heed_fail(HEED_ERR_VALUE, "%s: %s: cannot open it: %s", flag, path, strerror(errno));
        return NULL;
    }
    heed_watch *w = read_rows(file, flag, path);
    fclose(file);
    if (heed_error_pending()) {
        heed_watch_free(w);
        return NULL;
    }
    return w;
}
