/* Reads a CSV log row by row into a watch, which keeps thinned curves and finds spikes. */
#include "examples/common/run_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 64, MOST_MISSING = 10000000 };

typedef struct reader {
    const char *flag, *path;
    int64_t line;
    char *header; /* the names point into it */
    const char *names[MOST_COLUMNS];
    int count;
    heed_watch *watch;
} reader;

static void refuse(const reader *r, const char *why)
{
    heed_fail(HEED_ERR_VALUE, "%s: %s: line %lld: %s", r->flag, r->path, (long long)r->line, why);
}

/* Splits "step,loss,..." at the commas. */
static void read_header(reader *r, char *line)
{
    static const char first[] = "step,";
    r->header = line;
    if (strncmp(line, first, strlen(first)) != 0 || strchr(line, '"') != NULL) {
        refuse(r, "not the log of a run, whose first line is step,loss,...");
        return;
    }
    for (char *at = line + strlen(first) - 1; at != NULL; at = strchr(at, ',')) {
        *at++ = '\0';
        if (r->count == MOST_COLUMNS) {
            refuse(r, "too many columns");
            return;
        }
        r->names[r->count++] = at;
    }
}

/* Skips to the step before; rows may be missing where a run was resumed without its log. */
static void skip_to(reader *r, int64_t step)
{
    if (r->watch == NULL) {
        r->watch = heed_watch_new((heed_watch_options){.resumed = step - 1});
    }
    if (step <= heed_watch_steps(r->watch) || step - heed_watch_steps(r->watch) > MOST_MISSING) {
        refuse(r, "its step does not follow that of the line before");
    }
    while (heed_watch_steps(r->watch) + 1 < step && !heed_error_pending()) {
        heed_watch_step(r->watch);
    }
}

static void read_row(reader *r, char *line)
{
    char *at;
    const long long step = strtoll(line, &at, 10);
    if (at == line || *at != ',' || step < 1) {
        refuse(r, "it does not begin with the number of a step");
        return;
    }
    skip_to(r, step);
    for (int i = 0; i < r->count && !heed_error_pending(); i++) {
        char *end = *at == ',' ? at + 1 : at;
        const double value = *end != ',' && *end != '\0' ? strtod(at + 1, &end) : 0;
        if (*at != ',' || (*end != ',' && *end != '\0')) {
            refuse(r, "a column is missing or is not a number");
        } else if (end > at + 1) {
            heed_watch_value(r->watch, r->names[i], value);
        }
        at = end;
    }
    if (*at != '\0') {
        refuse(r, "more columns than the first line");
    }
    heed_watch_step(r->watch);
}

/* A last line without its end was cut when its program was killed. */
static void read_lines(reader *r, FILE *file)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    while (!heed_error_pending() && (length = getline(&line, &capacity, file)) > 0 &&
           line[length - 1] == '\n') {
        line[length - 1] = '\0';
        r->line++;
        if (r->line == 1) {
            read_header(r, line);
            line = NULL; /* the header keeps it */
            capacity = 0;
        } else {
            read_row(r, line);
        }
    }
    free(line);
}

heed_watch *run_log_read(const char *flag, const char *path)
{
    reader r = {.flag = flag, .path = path};
    FILE *file = heed_error_pending() ? NULL : fopen(path, "r");
    if (file != NULL) {
        read_lines(&r, file);
    }
    if ((file == NULL || !feof(file)) && !heed_error_pending()) {
        heed_fail(errno == ENOMEM ? HEED_ERR_MEMORY : HEED_ERR_VALUE, "%s: cannot read %s: %s",
                  flag, path, strerror(errno));
    } else if (r.watch == NULL && !heed_error_pending()) {
        heed_fail(HEED_ERR_VALUE, "%s: %s: no steps; it is not the log of a run", flag, path);
    }
    if (file != NULL) {
        fclose(file);
    }
    free(r.header);
    if (heed_error_pending()) {
        heed_watch_free(r.watch);
        return NULL;
    }
    return r.watch;
}
