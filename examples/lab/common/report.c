/* Reports: the data are collected as JSON, and written into the page of view.html. */
#include "examples/lab/common/report.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/text.h"

/* The lines of view.html, ending with NULL; the Makefile writes them. */
extern const char *const view_lines[];
static const char place[] = "<script type=\"application/json\" id=\"run\">"; /* of the data */

/* Lists of JSON, each entry after a comma. */
enum { SETTINGS, POINTS, TEXTS, OUTPUTS, TOKENS, SNAPSHOTS, LISTS };
static const char *const lists[LISTS] = {"settings", "points", "texts",
                                         "outputs",  "tokens", "snapshots"};

struct report {
    report_options options;
    text_buffer lists[LISTS];
    int64_t last_snapshot, layers, heads;
    double next; /* time of the next write */
    bool warned;
};

/* ---- JSON ---- */

static void put(text_buffer *to, const char *format, ...) HEED_PRINTF(2, 3);
static void put(text_buffer *to, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    text_append(to, text, length < (int)sizeof text ? (size_t)length : sizeof text - 1);
}

/* A string. Invalid UTF-8 becomes U+FFFD, and '<' is escaped, which would end the data. */
static void put_string(text_buffer *to, const char *bytes, size_t length)
{
    put(to, "\"");
    for (size_t at = 0, size; at < length; at += size) {
        uint32_t code;
        size = utf8_next(bytes + at, length - at, &code);
        if (code < ' ' || code == '<' || code == '"' || code == '\\' || code == 0x7f) {
            put(to, "\\u%04x", code == 0 ? 0xfffd : (unsigned)code);
        } else {
            text_append(to, bytes + at, size);
        }
    }
    put(to, "\"");
}

/* ,["name","text"] */
static void put_pair(text_buffer *to, const char *name, const char *text)
{
    put(to, ",\n[");
    put_string(to, name, strlen(name));
    put(to, ",");
    put_string(to, text, strlen(text));
    put(to, "]");
}

/* ---- collecting ---- */

void report_flag(report *r, const char *name, const char *value)
{
    if (r != NULL) {
        put_pair(&r->lists[SETTINGS], name, value);
    }
}

void report_flags(report *r, const flag_table *table, const void *options)
{
    for (int i = 0; i < table->count; i++) {
        const flag_row *f = &table->flags[i];
        const flag_value value = flags_rounded(f, options);
        const char *text = value.text;
        if (f->kind == FLAG_STRING || f->kind == FLAG_BARE) {
            memcpy(&text, (const char *)options + f->offset, sizeof text);
        }
        if (text != NULL) {
            report_flag(r, flags_name(f).text, text);
        }
    }
}

void report_value(report *r, heed_watch *w, const char *name, double value)
{
    heed_watch_value(w, name, value);
    if (r != NULL && isfinite(value) && !heed_error_pending()) {
        put(&r->lists[POINTS], ",\n[\"%s\",%lld,%.6g]", name, (long long)heed_watch_steps(w) + 1,
            value);
    }
}

void report_text(report *r, int64_t step, const char *text, size_t length)
{
    if (r != NULL && !heed_error_pending()) {
        put(&r->lists[TEXTS], ",\n[%lld,", (long long)step);
        put_string(&r->lists[TEXTS], text, length);
        put(&r->lists[TEXTS], "]");
    }
}

void report_output(report *r, const char *title, const char *text)
{
    if (r != NULL && !heed_error_pending()) {
        put_pair(&r->lists[OUTPUTS], title, text);
    }
}

/* ,[step,[weights in thousandths, of each layer, head and query, up to the query]] */
static void take_snapshot(report *r, int64_t step)
{
    const report_options *o = &r->options;
    const int64_t T = o->token_count, shown = T < REPORT_TOKENS ? T : REPORT_TOKENS;
    if (T == 0 || step <= r->last_snapshot) {
        return;
    }
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *w = heed_contiguous(heed_to(o->attention(o->context), HEED_F64));
    const double *all = heed_const_data_f64(w);
    if (all == NULL) {
        return;
    }
    r->layers = w->shape[0];
    r->heads = w->shape[1];
    for (int64_t i = 0; r->last_snapshot < 0 && i < shown; i++) {
        put(&r->lists[TOKENS], ",");
        put_string(&r->lists[TOKENS], o->tokens[i], strlen(o->tokens[i]));
    }
    put(&r->lists[SNAPSHOTS], ",\n[%lld,[", (long long)step);
    for (int64_t i = 0; i < r->layers * r->heads * shown; i++) {
        const double *row = all + (i / shown * T + i % shown) * T;
        for (int64_t key = 0; key <= i % shown; key++) {
            put(&r->lists[SNAPSHOTS], i + key > 0 ? ",%.0f" : "%.0f",
                row[key] > 0 ? 1000 * row[key] : 0);
        }
    }
    put(&r->lists[SNAPSHOTS], "]]");
    r->last_snapshot = step;
}

/* ---- the file ---- */

static void put_data(text_buffer *to, const report *r, const char *state)
{
    const report_options *o = &r->options;
    put(to, "{\"program\":\"%s\",\"state\":\"%s\",\"step\":%lld,\"steps\":%lld,\"unit\":\"%s\"",
        o->program, state, (long long)heed_watch_steps(o->watch), (long long)o->steps,
        o->step_name != NULL ? o->step_name : "step");
    put(to, ",\"layers\":%lld,\"heads\":%lld", (long long)r->layers, (long long)r->heads);
    for (int i = 0; i < LISTS; i++) {
        const text_buffer *list = &r->lists[i];
        put(to, ",\n\"%s\":[", lists[i]);
        if (list->length > 0) {
            text_append(to, list->bytes + 1, list->length - 1);
        }
        put(to, "]");
    }
    put(to, "}");
}

static void put_page(text_buffer *to, const report *r, const char *state)
{
    for (const char *const *line = view_lines; *line != NULL; line++) {
        const char *rest = *line;
        if (strncmp(rest, place, strlen(place)) == 0) {
            put(to, "%s", place);
            put_data(to, r, state);
            rest += strlen(place);
        }
        text_append(to, rest, strlen(rest));
        put(to, "\n");
    }
}

/* Readers see either the old page or the new one. */
static bool replace_file(const char *path, const text_buffer *page)
{
    char beside[4096];
    snprintf(beside, sizeof beside, "%s.new-%ld", path, (long)getpid());
    FILE *file = fopen(beside, "w");
    bool good = file != NULL && fwrite(page->bytes, 1, page->length, file) == page->length;
    good = file != NULL && fclose(file) == 0 && good && rename(beside, path) == 0;
    if (!good) {
        const int error = errno;
        unlink(beside);
        errno = error;
    }
    return good;
}

/* An error in the report does not affect training: it is read here, and warned of once. */
static void write_report(report *r, const char *state)
{
    char message[512] = "";
    const double begin = console_clock();
    text_buffer page = {.length = 0};
    put_page(&page, r, state);
    if (heed_error_pending()) {
        heed_error();
        snprintf(message, sizeof message, "%s", heed_error_message());
    } else if (!replace_file(r->options.path, &page)) {
        snprintf(message, sizeof message, "%s", strerror(errno));
    }
    if (*message != '\0' && !r->warned) {
        r->warned = true;
        heed_watch_pause(r->options.watch);
        fprintf(stderr, "%s: --report: cannot write %s: %s; training continues\n",
                r->options.program, r->options.path, message);
    }
    text_free(&page);
    r->next = console_clock() + 3 + 20 * (console_clock() - begin);
}

/* ---- the report ---- */

/* True if a file exists there that is not a report: a resumed run replaces its report only. */
static bool is_other_file(const char *path)
{
    char first[256];
    FILE *file = fopen(path, "r");
    const bool other = file != NULL && fgets(first, sizeof first, file) != NULL &&
                       strncmp(first, view_lines[0], strlen(view_lines[0])) != 0;
    if (file != NULL) {
        fclose(file);
    }
    return other;
}

static void free_report(report *r)
{
    for (int i = 0; i < LISTS; i++) {
        text_free(&r->lists[i]);
    }
    heed_free(r);
}

report *report_new(report_options options)
{
    if (!heed_error_pending() && is_other_file(options.path)) {
        heed_fail(HEED_ERR_VALUE, "--report: %s exists and is not a report", options.path);
    }
    report *r = heed_error_pending() ? NULL : heed_alloc_zeroed(sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    r->options = options;
    r->last_snapshot = -1;
    take_snapshot(r, heed_watch_steps(options.watch));
    if (heed_error_pending()) {
        free_report(r);
        return NULL;
    }
    return r;
}

void report_step(report *r)
{
    if (r == NULL || heed_error_pending()) {
        return;
    }
    const int64_t step = heed_watch_steps(r->options.watch);
    if ((step & (step - 1)) == 0) {
        take_snapshot(r, step);
    }
    if (console_clock() >= r->next || heed_error_pending()) {
        write_report(r, "training");
    }
}

void report_end(report *r, const char *state)
{
    if (r == NULL) {
        return;
    }
    char message[1024];
    const heed_status error = heed_error();
    snprintf(message, sizeof message, "%s", heed_error_message());
    take_snapshot(r, heed_watch_steps(r->options.watch));
    write_report(r, state);
    free_report(r);
    if (error != HEED_OK) {
        heed_fail(error, "%s", message);
    }
}
