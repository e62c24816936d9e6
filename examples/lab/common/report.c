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

enum {
    WEIGHTS = 1 << 15, /* maximum number of attention weights in a snapshot */
    CURVES = 64,
    POINTS = 1024, /* per curve: even */
    TEXTS = 48,
    LONGEST_TEXT = 4000
};

/* Points are means of `each` values, all but the last, which has `filled`; 0: it is complete. */
typedef struct curve {
    char name[64];
    int64_t each, filled;
    int count;
    double x[POINTS], y[POINTS];
} curve;

struct report {
    report_options options;
    text_buffer settings, outputs, tokens, snapshots; /* JSON, each entry after a comma */
    text_buffer texts[TEXTS];
    curve *curves[CURVES];
    int text_count, curve_count;
    int64_t last_snapshot, layers, heads, shown; /* shown: tokens */
    double written;                              /* time of the last write */
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

static void put_numbers(text_buffer *to, const char *name, const double *x, int count)
{
    put(to, ",\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        put(to, "%s", i > 0 ? "," : "");
        if (isfinite(x[i])) {
            put(to, "%.9g", x[i]);
        } else {
            put(to, "null");
        }
    }
    put(to, "]");
}

/* ,"name":[entries] */
static void put_list(text_buffer *to, const char *name, const text_buffer *entries)
{
    put(to, ",\n\"%s\":[", name);
    if (entries->length > 0) {
        text_append(to, entries->bytes + 1, entries->length - 1);
    }
    put(to, "]");
}

/* ---- collecting ---- */

void report_flag(report *r, const char *name, const char *value)
{
    if (r != NULL) {
        put_pair(&r->settings, name, value);
    }
}

void report_flags(report *r, const flag_table *table, const void *options)
{
    for (int i = 0; r != NULL && i < table->count; i++) {
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

static curve *curve_named(report *r, const char *name)
{
    for (int i = 0; i < r->curve_count; i++) {
        if (strcmp(r->curves[i]->name, name) == 0) {
            return r->curves[i];
        }
    }
    curve *c = r->curve_count < CURVES ? heed_alloc_zeroed(sizeof *c) : NULL;
    if (c != NULL) {
        snprintf(c->name, sizeof c->name, "%s", name);
        c->each = 1;
        r->curves[r->curve_count++] = c;
    }
    return c;
}

/* When a curve is full, neighbouring points are joined. */
static void add_point(curve *c, double x, double y)
{
    if (c->filled == 0 && c->count == POINTS) {
        for (int i = 0; i < POINTS / 2; i++) {
            c->x[i] = c->x[2 * i + 1];
            c->y[i] = (c->y[2 * i] + c->y[2 * i + 1]) / 2;
        }
        c->count = POINTS / 2;
        c->each *= 2;
    }
    if (c->filled == 0) {
        c->y[c->count++] = 0;
    }
    c->filled++;
    c->x[c->count - 1] = x;
    c->y[c->count - 1] += (y - c->y[c->count - 1]) / (double)c->filled;
    c->filled = c->filled == c->each ? 0 : c->filled;
}

void report_value(report *r, heed_watch *w, const char *name, double value)
{
    heed_watch_value(w, name, value);
    curve *c = r != NULL && !heed_error_pending() ? curve_named(r, name) : NULL;
    if (c != NULL) {
        add_point(c, (double)heed_watch_steps(w) + 1, value);
    }
}

void report_text(report *r, int64_t step, const char *text, size_t length)
{
    if (r == NULL || heed_error_pending()) {
        return;
    }
    for (int i = 0; r->text_count == TEXTS && i < TEXTS; i++) { /* drops every second one */
        text_free(i % 2 == 1 ? &r->texts[i] : &(text_buffer){.length = 0});
        r->texts[i / 2] = i % 2 == 0 ? r->texts[i] : r->texts[i / 2];
    }
    r->text_count = r->text_count == TEXTS ? TEXTS / 2 : r->text_count;
    text_buffer *to = &r->texts[r->text_count++];
    *to = (text_buffer){.length = 0};
    put(to, "[%lld,", (long long)step);
    put_string(to, text, length > LONGEST_TEXT ? utf8_complete(text, LONGEST_TEXT) : length);
    put(to, "]");
}

void report_output(report *r, const char *title, const char *text)
{
    if (r != NULL && !heed_error_pending()) {
        put_pair(&r->outputs, title, text);
    }
}

/* ---- attention ---- */

static heed_tensor *attention_of(const report *r)
{
    const report_options *o = &r->options;
    heed_tensor *w =
        o->token_count == 0 ? NULL : heed_contiguous(heed_to(o->attention(o->context), HEED_F64));
    if (w != NULL &&
        (w->ndim != 4 || w->shape[2] != o->token_count || w->shape[3] != w->shape[2])) {
        heed_fail(HEED_ERR_SHAPE, "report: attention has shape %s instead of (layers, heads, T, T)",
                  heed_shape_text(w->ndim, w->shape).text);
    }
    return heed_error_pending() ? NULL : w;
}

/* Determines the number of tokens to show. */
static void take_shape(report *r, const heed_tensor *w)
{
    const int64_t count = r->options.token_count;
    r->layers = w->shape[0];
    r->heads = w->shape[1];
    r->shown = count < REPORT_TOKENS ? count : REPORT_TOKENS;
    while (r->shown > 2 && r->layers * r->heads * r->shown * (r->shown + 1) / 2 > WEIGHTS) {
        r->shown--;
    }
    for (int64_t i = 0; i < r->shown; i++) {
        put(&r->tokens, ",");
        put_string(&r->tokens, r->options.tokens[i], strlen(r->options.tokens[i]));
    }
}

/* ,[step,[weights in thousandths, of each layer, head and query, up to the query]] */
static void take_snapshot(report *r, int64_t step)
{
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *w = step > r->last_snapshot ? attention_of(r) : NULL;
    const double *all = heed_error_pending() || w == NULL ? NULL : heed_const_data_f64(w);
    const int64_t T = r->options.token_count;
    if (all == NULL) {
        return;
    }
    if (r->layers == 0) {
        take_shape(r, w);
    }
    put(&r->snapshots, ",\n[%lld,[", (long long)step);
    for (int64_t i = 0; i < r->layers * r->heads * r->shown; i++) {
        const double *row = all + (i / r->shown * T + i % r->shown) * T;
        for (int64_t key = 0; key <= i % r->shown; key++) {
            put(&r->snapshots, i + key > 0 ? ",%.0f" : "%.0f", row[key] > 0 ? 1000 * row[key] : 0);
        }
    }
    put(&r->snapshots, "]]");
    r->last_snapshot = step;
}

/* ---- the file ---- */

static void put_data(text_buffer *to, const report *r, const char *state)
{
    const report_options *o = &r->options;
    text_buffer texts = {.length = 0};
    put(to, "{\"program\":\"%s\",\"state\":\"%s\",\"step\":%lld,\"steps\":%lld,\"unit\":\"%s\"",
        o->program, state, (long long)heed_watch_steps(o->watch), (long long)o->steps,
        o->step_name != NULL ? o->step_name : "step");
    put_list(to, "settings", &r->settings);
    put(to, ",\n\"curves\":[");
    for (int i = 0; i < r->curve_count; i++) {
        const curve *c = r->curves[i];
        put(to, "%s\n{\"name\":", i > 0 ? "," : "");
        put_string(to, c->name, strlen(c->name));
        put(to, ",\"each\":%lld", (long long)c->each);
        put_numbers(to, "x", c->x, c->count);
        put_numbers(to, "y", c->y, c->count);
        put(to, "}");
    }
    put(to, "]");
    for (int i = 0; i < r->text_count; i++) {
        put(&texts, ",\n");
        text_append(&texts, r->texts[i].bytes, r->texts[i].length);
    }
    put_list(to, "texts", &texts);
    text_free(&texts);
    put_list(to, "outputs", &r->outputs);
    put(to, ",\n\"layers\":%lld,\"heads\":%lld", (long long)r->layers, (long long)r->heads);
    put_list(to, "tokens", &r->tokens);
    put_list(to, "snapshots", &r->snapshots);
    put(to, "}");
}

static void put_page(text_buffer *to, const report *r, const char *state)
{
    for (const char *const *line = view_lines; *line != NULL; line++) {
        const bool here = strncmp(*line, place, sizeof place - 1) == 0;
        put(to, "%s", here ? place : "");
        if (here) {
            put_data(to, r, state);
        }
        const char *rest = *line + (here ? sizeof place - 1 : 0);
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
    r->written = console_clock();
}

/* ---- the report ---- */

static bool is_report(const char *path)
{
    char begin[64] = "";
    const size_t length = strlen(view_lines[0]);
    FILE *file = fopen(path, "r");
    const bool same = file != NULL && fread(begin, 1, length, file) == length &&
                      memcmp(begin, view_lines[0], length) == 0;
    if (file != NULL) {
        fclose(file);
    }
    return same;
}

static void free_report(report *r)
{
    for (int i = 0; i < r->text_count; i++) {
        text_free(&r->texts[i]);
    }
    for (int i = 0; i < r->curve_count; i++) {
        heed_free(r->curves[i]);
    }
    text_free(&r->settings);
    text_free(&r->outputs);
    text_free(&r->tokens);
    text_free(&r->snapshots);
    heed_free(r);
}

report *report_new(report_options options)
{
    if (access(options.path, F_OK) == 0 && !is_report(options.path)) {
        heed_fail(HEED_ERR_VALUE,
                  "--report: %s exists and is not a report, so it is not overwritten; choose "
                  "another file",
                  options.path);
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
    if (console_clock() - r->written >= 3 || heed_error_pending()) {
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
