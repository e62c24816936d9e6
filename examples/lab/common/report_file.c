/* Reads the data of reports. Files may have been edited, so nothing in them is trusted. */
#include "examples/lab/common/report_file.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char report_signature[] = "<!doctype html>\n<!-- heed report 1 -->\n";
const char report_begins[] = "<script type=\"text/plain\" id=\"run\">\n";
const char report_ends[] = "</script>\n";
const char report_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* ---- curves ---- */

heed_curve curve_new(const char *name, int64_t count)
{
    double *x = heed_alloc_zeroed((size_t)(count > 0 ? count : 1) * sizeof *x);
    double *y = x != NULL ? heed_alloc_zeroed((size_t)(count > 0 ? count : 1) * sizeof *y) : NULL;
    if (y == NULL) {
        heed_free(x);
        return (heed_curve){.name = name};
    }
    return (heed_curve){.name = name, .count = count, .x = x, .y = y, .per_point = 1};
}

void curve_thin(heed_curve *c, int64_t most)
{
    double *x = (double *)c->x, *y = (double *)c->y;
    while (c->count > most) {
        const int64_t half = c->count / 2;
        for (int64_t i = 0; i < half; i++) {
            x[i] = (x[2 * i] + x[2 * i + 1]) / 2;
            y[i] = (y[2 * i] + y[2 * i + 1]) / 2;
        }
        if (c->count % 2 == 1) {
            x[half] = x[c->count - 1];
            y[half] = y[c->count - 1];
        }
        c->count -= half;
        c->per_point = 2 * (c->per_point > 0 ? c->per_point : 1);
    }
}

void curve_free(heed_curve *c)
{
    heed_free((double *)c->x);
    heed_free((double *)c->y);
    heed_free((double *)c->spikes);
    *c = (heed_curve){.name = NULL};
}

const heed_curve *curve_among(const heed_curve *curves, int64_t count, const char *name)
{
    for (int64_t i = 0; i < count; i++) {
        if (strcmp(curves[i].name, name) == 0) {
            return &curves[i];
        }
    }
    return NULL;
}

/* ---- fields ---- */

/* Cuts off the text before the next `separator`; NULL at the end. */
static char *cut(char **at, char separator)
{
    char *start = *at;
    if (start != NULL) {
        char *end = strchr(start, separator);
        *at = end != NULL ? end + 1 : NULL;
        if (end != NULL) {
            *end = '\0';
        }
    }
    return start;
}

static bool read_whole(const char *text, int64_t *number)
{
    char *end;
    if (text == NULL || *text < '0' || *text > '9') {
        return false;
    }
    *number = strtoll(text, &end, 10);
    return *end == '\0' && *number < INT64_MAX;
}

/* Replaces escape sequences in place. */
static char *unescape(char *text)
{
    char *to = text;
    for (const char *at = text; at != NULL && *at != '\0';) {
        char digits[5] = "", *end;
        if (*at != '\\' || at[1] == '\0') {
            *to++ = *at++;
        } else if (at[1] == 'u') {
            strncpy(digits, at + 2, 4);
            const uint32_t code = (uint32_t)strtoul(digits, &end, 16);
            const bool right = code != 0 && end == digits + 4 && (code < 0xD800 || code > 0xDFFF);
            to += utf8_write(right ? code : '?', to);
            at += 2 + strlen(digits);
        } else {
            *to++ = at[1] == 'n' ? '\n' : at[1] == 't' ? '\t' : at[1];
            at += 2;
        }
    }
    if (to != NULL) {
        *to = '\0';
    }
    return text;
}

/* Numbers separated by blanks; their count must be a multiple of `each`. Returns it, or -1. */
static int64_t read_numbers(const char *text, int64_t each, double *numbers)
{
    int64_t count = 0;
    while (*text != '\0') {
        char *end;
        const double number = strtod(text, &end);
        if (end == text || (*end != ' ' && *end != '\0')) {
            return -1;
        }
        if (numbers != NULL) {
            numbers[count] = number;
        }
        count++;
        text = *end == ' ' ? end + 1 : end;
    }
    return count % each == 0 ? count : -1;
}

/* ---- records ---- */

enum { MOST_RECORDS = 1000 }; /* of a kind that is searched by name */

static bool read_state(report_file *f, char *rest)
{
    f->state = cut(&rest, '\t');
    return read_whole(cut(&rest, '\t'), &f->step) && read_whole(cut(&rest, '\t'), &f->steps);
}

static bool read_setting(report_file *f, char *rest)
{
    char *name = cut(&rest, '\t'), *value = cut(&rest, '\t');
    report_setting *all =
        list_grow(f->settings, &f->setting_capacity, (size_t)f->setting_count + 1, sizeof *all);
    if (all != NULL) {
        f->settings = all;
        all[f->setting_count++] = (report_setting){unescape(name), value ? unescape(value) : ""};
    }
    return value != NULL && f->setting_count <= MOST_RECORDS;
}

/* The x of points must be finite and in order. */
static bool read_points(heed_curve *c, const char *points)
{
    double *pairs = heed_alloc_zeroed((size_t)(2 * c->count + 1) * sizeof *pairs);
    bool right = pairs != NULL;
    read_numbers(points, 2, pairs);
    for (int64_t i = 0; right && i < c->count; i++) {
        ((double *)c->x)[i] = pairs[2 * i];
        ((double *)c->y)[i] = pairs[2 * i + 1];
        right = isfinite(c->x[i]) && (i == 0 || c->x[i] >= c->x[i - 1]);
    }
    heed_free(pairs);
    return right;
}

static bool read_curve(report_file *f, char *rest)
{
    char *name = cut(&rest, '\t'), *each = cut(&rest, '\t'), *points = cut(&rest, '\t');
    char *spikes = cut(&rest, '\t');
    int64_t per_point;
    if (spikes == NULL || !read_whole(each, &per_point) || f->curve_count == MOST_RECORDS) {
        return false;
    }
    const int64_t count = read_numbers(points, 2, NULL), marks = read_numbers(spikes, 1, NULL);
    heed_curve *all =
        list_grow(f->curves, &f->curve_capacity, (size_t)f->curve_count + 1, sizeof *all);
    f->curves = all != NULL ? all : f->curves;
    if (count < 0 || marks < 0 || all == NULL) {
        return false;
    }
    heed_curve *c = &all[f->curve_count++];
    *c = curve_new(unescape(name), count / 2);
    double *at = heed_alloc_zeroed((size_t)(marks + 1) * sizeof *at);
    if (at == NULL || c->x == NULL) {
        heed_free(at);
        return false;
    }
    c->per_point = per_point;
    c->spike_count = read_numbers(spikes, 1, at);
    c->spikes = at;
    return read_points(c, points);
}

static bool read_record(report_record **list, int64_t *count, size_t *capacity, char *rest)
{
    int64_t step = 0;
    const bool right = read_whole(cut(&rest, '\t'), &step) && rest != NULL;
    report_record *all = list_grow(*list, capacity, (size_t)*count + 1, sizeof *all);
    if (all != NULL) {
        *list = all;
        all[*count] = (report_record){step, rest};
        *count += right;
    }
    return right;
}

/* Unknown kinds are ignored. */
static bool read_line(report_file *f, char *rest)
{
    const char *kind = cut(&rest, '\t');
    if (rest == NULL) {
        return false;
    } else if (strcmp(kind, "program") == 0) {
        f->program = unescape(rest);
    } else if (strcmp(kind, "state") == 0) {
        return read_state(f, rest);
    } else if (strcmp(kind, "since") == 0) {
        return read_whole(rest, &f->since);
    } else if (strcmp(kind, "setting") == 0) {
        return read_setting(f, rest);
    } else if (strcmp(kind, "curve") == 0) {
        return read_curve(f, rest);
    } else if (strcmp(kind, "text") == 0) {
        return read_record(&f->texts, &f->text_count, &f->text_capacity, rest);
    } else if (strcmp(kind, "shape") == 0) {
        f->shape = rest;
    } else if (strcmp(kind, "tokens") == 0) {
        f->tokens = rest;
    } else if (strcmp(kind, "snapshot") == 0) {
        return read_record(&f->snapshots, &f->snapshot_count, &f->snapshot_capacity, rest);
    }
    return true;
}

/* ---- files ---- */

bool file_begins(const char *path, const char *text)
{
    char begin[64];
    const size_t length = strlen(text);
    const int file = open(path, O_RDONLY | O_CLOEXEC); /* unlike fopen, needs no memory */
    const bool same = file >= 0 && read(file, begin, length) == (ssize_t)length &&
                      memcmp(begin, text, length) == 0;
    if (file >= 0) {
        close(file);
    }
    return same;
}

/* The data, terminated by a NUL; NULL: the text is not a report. */
static char *find_data(text_buffer *page)
{
    text_append(page, "", 1);
    if (heed_error_pending() ||
        strncmp(page->bytes, report_signature, strlen(report_signature)) != 0) {
        return NULL;
    }
    char *data = strstr(page->bytes, report_begins);
    char *end = data != NULL ? strstr(data, report_ends) : NULL;
    if (end == NULL) {
        return NULL;
    }
    *end = '\0';
    return data + strlen(report_begins);
}

/* Some fields are copied to another page unchanged, so they must not contain markup. */
static bool is_harmless(const char *line)
{
    for (; *line != '\0'; line++) {
        if ((unsigned char)*line < ' ' ? *line != '\t' : *line == '<' || *line == 0x7f) {
            return false;
        }
    }
    return true;
}

heed_status report_file_read(report_file *f, const char *path)
{
    *f = (report_file){.program = "", .state = "", .shape = "", .tokens = ""};
    f->bytes = text_read(path);
    char *at = heed_error_pending() ? NULL : find_data(&f->bytes);
    const char *first = cut(&at, '\n');
    if (!heed_error_pending() && (first == NULL || strcmp(first, "heed run 1") != 0)) {
        heed_fail(HEED_ERR_VALUE, "%s: not a report of a training run", path);
    }
    for (int line = 2; !heed_error_pending() && at != NULL && *at != '\0'; line++) {
        char *text = cut(&at, '\n');
        if ((!is_harmless(text) || !read_line(f, text)) && !heed_error_pending()) {
            heed_fail(HEED_ERR_VALUE, "%s: line %d of the data is damaged", path, line);
        }
    }
    return heed_error_pending();
}

void report_file_free(report_file *f)
{
    for (int64_t i = 0; i < f->curve_count; i++) {
        curve_free(&f->curves[i]);
    }
    heed_free(f->settings);
    heed_free(f->curves);
    heed_free(f->texts);
    heed_free(f->snapshots);
    text_free(&f->bytes);
    *f = (report_file){.program = ""};
}
