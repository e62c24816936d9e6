/* CSV as in RFC 4180, but with lines that end in \n: a row for each step. */
#include <stdlib.h>
#include <string.h>

#include "../files/file_error.h"
#include "watch_sink.h"

typedef struct csv {
    heed_sink sink;
    heed_watch *watch;
    int columns; /* after the step; they belong to the first series. 0: not known yet */
    bool header; /* has been written */
    bool warned; /* about a name without a column */
} csv;

/* ---- the file of a resumed run ---- */

/* Ends the field at `text` and removes its quotes; *next is the start of the next one, NULL after
 * the last. NULL: malformed. */
static char *take_field(char *text, char **next)
{
    if (*text != '"') {
        char *comma = strchr(text, ',');
        *next = comma != NULL ? comma + 1 : NULL;
        if (comma != NULL) {
            *comma = '\0';
        }
        return text;
    }
    char *from = text + 1, *to = text;
    for (; *from != '"' || from[1] == '"'; from++) {
        if (*from == '\0') {
            return NULL;
        }
        from += *from == '"';
        *to++ = *from;
    }
    if (from[1] != ',' && from[1] != '\0') {
        return NULL;
    }
    *next = from[1] == ',' ? from + 2 : NULL;
    *to = '\0';
    return text;
}

/* Creates the first series from the names in the header. */
static int64_t take_header(csv *c, char *row)
{
    char *next = NULL;
    const char *field = take_field(row, &next);
    if (field == NULL || strcmp(field, "step") != 0) {
        return -1;
    }
    while (next != NULL) {
        const int before = c->watch->count;
        field = take_field(next, &next);
        if (field == NULL || heed_watch_name_fault(field) != NULL ||
            heed_watch_name(c->watch, field) != HEED_OK || c->watch->count == before) {
            return -1;
        }
        c->columns++;
    }
    c->header = true;
    return 0;
}

static int64_t step_of(void *context, char *row)
{
    csv *c = context;
    if (!c->header) {
        return take_header(c, row);
    }
    const size_t digits = strspn(row, "0123456789");
    int commas = 0;
    for (const char *at = row; *at != '\0'; at++) {
        commas += *at == ',';
    }
    const bool good = digits > 0 && digits < 19 && (row[digits] == ',' || row[digits] == '\0') &&
                      commas == c->columns;
    return good ? strtoll(row, NULL, 10) : -1;
}

static heed_status csv_open(heed_sink *sink, heed_watch *w)
{
    csv *c = (csv *)sink;
    c->watch = w;
    sink->path = w->options.csv;
    return heed_watch_open_rows(sink, w, &(heed_watch_rows){"step", step_of, c});
}

/* ---- rows ---- */

static void put_name(heed_output *out, const char *name)
{
    const char *quote = strpbrk(name, ",\"") != NULL ? "\"" : "";
    heed_output_text(out, quote);
    for (; *name != '\0'; name++) {
        heed_output_bytes(out, name, 1);
        if (*name == '"') {
            heed_output_bytes(out, name, 1); /* twice */
        }
    }
    heed_output_text(out, quote);
}

static void put_header(csv *c, const heed_watch *w)
{
    heed_output *out = &c->sink.out;
    c->columns = w->count;
    heed_output_text(out, "step");
    for (int i = 0; i < c->columns; i++) {
        heed_output_text(out, ",");
        put_name(out, w->series[i].name);
    }
    heed_output_text(out, "\n");
    c->header = true;
}

static void csv_step(heed_sink *sink, heed_watch *w)
{
    csv *c = (csv *)sink;
    heed_output *out = &sink->out;
    if (!c->header) {
        put_header(c, w);
    }
    if (w->count > c->columns && !c->warned) {
        heed_watch_warn(w,
                        "%s: no column for %s, which first appears after the first row; "
                        "announce it with heed_watch_name",
                        heed_show_path(sink->path).text,
                        heed_show_name(w->series[c->columns].name).text);
        c->warned = true;
    }
    heed_output_print(out, "%lld", (long long)w->steps);
    for (int i = 0; i < c->columns; i++) {
        heed_output_bytes(out, ",", 1);
        if (heed_series_is_fresh(w, &w->series[i])) {
            heed_output_number(out, w->series[i].value);
        }
    }
    heed_output_bytes(out, "\n", 1);
}

const heed_sink_kind heed_csv_sink = {.size = sizeof(csv), .open = csv_open, .step = csv_step};
