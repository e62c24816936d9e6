/* Files with a row for each step, which a resumed run continues: CSV and JSON lines. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tensor/text.h"
#include "../files/file_io.h"
#include "../files/json.h"
#include "watch_sink.h"

static const char function[] = "watch_new"; /* the only function that opens files */
enum { DEVICE = -1 };                       /* a sink's `end`: there is nothing to cut off */

static heed_status fail(const char *path, const char *what)
{
    return heed_fail_file(function, path, what, errno);
}

typedef struct row_kind {
    const char *begins; /* the first bytes of such a file */
    /* The step of a row, which it may modify; 0: a header; -1: not a row of a watch. */
    int64_t (*step_of)(heed_sink *sink, char *row);
} row_kind;

/* ---- the rows of a resumed run ---- */

/* False if this first line belongs to a different kind of file. */
static bool begins_as(const char *line, size_t length, const char *begins)
{
    const size_t common = strlen(begins) < length ? strlen(begins) : length;
    return memcmp(line, begins, common) == 0;
}

static void fail_foreign(const char *path, int64_t line)
{
    heed_fail_at(HEED_ERR_VALUE, function, path,
                 "line %lld was not written by a watch, so the file cannot be continued or "
                 "replaced; choose another file, or move this one",
                 (long long)line);
}

/* The number at `text`, which a comma or `end` follows; -1 if there is none. */
static int64_t step_at(const char *text, char end)
{
    const size_t digits = strspn(text, "0123456789");
    const bool good = digits > 0 && digits < 19 && (text[digits] == ',' || text[digits] == end);
    return good ? strtoll(text, NULL, 10) : -1;
}

/* The offset after the last row to keep. */
static off_t end_of_rows(FILE *file, heed_sink *sink, int64_t resumed, const row_kind *rows,
                         int64_t *last)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length = 0;
    off_t end = 0;
    int64_t number = 0, before = 0;
    bool whole = true;
    while (whole && (length = getline(&line, &capacity, file)) > 0) {
        whole = line[length - 1] == '\n';
        bool good = number++ > 0 || begins_as(line, (size_t)length, rows->begins);
        if (whole && good) {
            line[length - 1] = '\0';
            const int64_t step =
                strlen(line) == (size_t)length - 1 ? rows->step_of(sink, line) : -1;
            good = number == 1 ? step >= 0 : step > before;
            before = step;
        }
        if (!good) {
            fail_foreign(sink->path, number);
            break;
        }
        if (whole && before <= resumed) {
            end = ftello(file);
            *last = before;
        }
    }
    if (length < 0 && !feof(file)) { /* out of memory, which is no error of the stream */
        fail(sink->path, "read it");
    }
    free(line);
    return end;
}

/* A new run replaces the files of earlier ones only. */
static void check_begin(const char *path, const char *begins)
{
    char line[64];
    const int file = heed_open(path, O_RDONLY);
    const ssize_t length = file >= 0 ? read(file, line, strlen(begins)) : 0;
    if (length > 0 && !begins_as(line, (size_t)length, begins)) {
        fail_foreign(path, 1);
    }
    if (file >= 0) {
        close(file);
    }
}

/* Finds the rows up to step `resumed`. */
static heed_status find_rows(heed_sink *sink, int64_t resumed, const row_kind *rows, int64_t *last)
{
    const int fd = heed_open(sink->path, O_RDONLY);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        fail(sink->path, "read it");
        if (fd >= 0) {
            close(fd);
        }
        return heed_error_pending();
    }
    sink->end = end_of_rows(file, sink, resumed, rows, last);
    fclose(file);
    return heed_error_pending();
}

static bool is_same(const struct stat *about, const char *path)
{
    struct stat other;
    return path != NULL && stat(path, &other) == 0 && other.st_dev == about->st_dev &&
           other.st_ino == about->st_ino;
}

/* Opens the file and finds the end of the rows to keep: of a new run, none; of a resumed one, those
 * up to that step. Later rows, and an incomplete last line left by a killed program, are cut off by
 * begin_rows. *last is set to the step of the last row: 0 for a new file, `resumed` for a device.
 *
 * HEED_ERR_FILE: the system reports an error, or another process writes the file. HEED_ERR_VALUE:
 * the file was not written by a watch, or is `other`. It stays unchanged. */
static heed_status open_file(heed_sink *sink, int64_t resumed, const char *other,
                             const row_kind *rows, int64_t *last)
{
    const char *path = sink->path;
    struct stat about;
    *last = 0;
    const int fd = sink->out.fd = heed_open(path, O_WRONLY | O_CREAT | O_APPEND);
    if (fd < 0 || fstat(fd, &about) != 0) {
        return fail(path, "write it");
    }
    if (!S_ISREG(about.st_mode)) {
        sink->end = DEVICE;
        *last = resumed;
        return HEED_OK;
    }
    if (is_same(&about, other)) {
        return heed_fail_at(HEED_ERR_VALUE, function, path,
                            "csv and jsonl are this file; they need one each");
    }
    if (heed_claim(function, path, fd) == HEED_OK && resumed == 0) {
        check_begin(path, rows->begins);
    } else if (!heed_error_pending()) {
        find_rows(sink, resumed, rows, last);
    }
    heed_sign_claim(fd); /* after find_rows has closed its descriptor */
    return heed_error_pending();
}

static heed_status begin_rows(heed_sink *sink)
{
    return sink->end == DEVICE || ftruncate(sink->out.fd, sink->end) == 0
               ? HEED_OK
               : fail(sink->path, "write it");
}

/* Opens the sink's file, and warns if rows are missing. */
static heed_status open_rows(heed_sink *sink, heed_watch *w, const char *other,
                             const row_kind *rows)
{
    int64_t last;
    if (open_file(sink, w->steps, other, rows, &last) == HEED_OK && last < w->steps) {
        heed_watch_warn(w, "%s: no rows for steps %lld to %lld, which were taken earlier",
                        heed_show_path(sink->path).text, (long long)last + 1, (long long)w->steps);
    }
    return heed_error_pending();
}

/* ---- CSV as in RFC 4180, but with lines that end in \n ---- */

typedef struct csv {
    heed_sink sink;
    heed_watch *watch;
    int columns; /* after the step; they belong to the first series. 0: not known yet */
    bool header; /* has been written */
    bool warned; /* about a name without a column */
} csv;

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

static int64_t csv_step_of(heed_sink *sink, char *row)
{
    csv *c = (csv *)sink;
    int commas = 0;
    if (!c->header) {
        return take_header(c, row);
    }
    for (const char *at = row; *at != '\0'; at++) {
        commas += *at == ',';
    }
    return commas == c->columns ? step_at(row, '\0') : -1;
}

static heed_status csv_open(heed_sink *sink, heed_watch *w)
{
    csv *c = (csv *)sink;
    c->watch = w;
    sink->path = w->options.csv;
    /* jsonl is opened later, and need not compare again */
    return open_rows(sink, w, w->options.jsonl, &(row_kind){"step", csv_step_of});
}

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

const heed_sink_kind heed_csv_sink = {
    .size = sizeof(csv), .open = csv_open, .begin = begin_rows, .step = csv_step};

/* ---- JSON lines: an object for each step; the first text of a step begins its object ---- */

typedef struct jsonl {
    heed_sink sink;
    bool begun; /* the current step's object */
} jsonl;

static const char beginning[] = "{\"step\": ";

static int64_t jsonl_step_of(heed_sink *sink, char *row)
{
    const size_t length = strlen(beginning);
    (void)sink;
    const bool good = strncmp(row, beginning, length) == 0 && row[strlen(row) - 1] == '}';
    return good ? step_at(row + length, '}') : -1;
}

static heed_status jsonl_open(heed_sink *sink, heed_watch *w)
{
    sink->path = w->options.jsonl;
    return open_rows(sink, w, NULL, &(row_kind){beginning, jsonl_step_of});
}

static void put_string(heed_output *out, const char *text)
{
    char buffer[7];
    heed_output_text(out, "\"");
    for (; *text != '\0'; text++) {
        const char *escape = heed_json_escape(*text, buffer);
        heed_output_bytes(out, escape != NULL ? escape : text, escape != NULL ? strlen(escape) : 1);
    }
    heed_output_text(out, "\"");
}

static void begin(jsonl *j, int64_t step)
{
    if (!j->begun) {
        heed_output_print(&j->sink.out, "%s%lld", beginning, (long long)step);
        j->begun = true;
    }
}

static void put_key(heed_output *out, const char *name)
{
    heed_output_text(out, ", ");
    put_string(out, name);
    heed_output_text(out, ": ");
}

static void jsonl_step(heed_sink *sink, heed_watch *w)
{
    jsonl *j = (jsonl *)sink;
    heed_output *out = &sink->out;
    begin(j, w->steps);
    for (int i = 0; i < w->count; i++) {
        const heed_series *s = &w->series[i];
        if (heed_series_is_fresh(w, s)) {
            put_key(out, s->name);
            if (isfinite(s->value)) {
                heed_output_number(out, s->value);
            } else {
                heed_output_text(out, isnan(s->value) ? "\"NaN\""
                                      : s->value > 0  ? "\"Infinity\""
                                                      : "\"-Infinity\"");
            }
        }
    }
    heed_output_text(out, "}\n");
    j->begun = false;
}

static void jsonl_text(heed_sink *sink, const heed_watch *w, const char *name, const char *text)
{
    begin((jsonl *)sink, w->steps + 1);
    put_key(&sink->out, name);
    put_string(&sink->out, text);
}

/* Ends the object of a text after the last step. */
static void jsonl_close(heed_sink *sink, heed_watch *w)
{
    (void)w;
    if (((jsonl *)sink)->begun) {
        heed_output_text(&sink->out, "}\n");
    }
}

const heed_sink_kind heed_jsonl_sink = {.size = sizeof(jsonl),
                                        .open = jsonl_open,
                                        .begin = begin_rows,
                                        .step = jsonl_step,
                                        .text = jsonl_text,
                                        .close = jsonl_close};
