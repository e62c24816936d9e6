/* Reports: collecting the data and writing the page. Its HTML, style and script are in
 * report_page.c; report_file.h describes the data. */
#include "examples/lab/common/report.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/lab/common/console.h"
#include "examples/lab/common/preflight.h"
#include "examples/lab/common/report_file.h"
#include "examples/lab/common/report_page.h"

enum {
    WEIGHTS = 1 << 15, /* maximum number of attention weights in a snapshot */
    TEXTS = 48,
    LONGEST_TEXT = 4000,
    POINTS = 2 * HEED_WATCH_POINTS, /* per curve, including those of the run being continued */
};

typedef struct kept_text {
    int64_t step;
    text_buffer line;
} kept_text;

struct report {
    report_options options;
    text_buffer settings, tree, outputs, shape, snapshots; /* records */
    kept_text texts[TEXTS];
    int text_count;
    report_file before; /* the report being continued */
    int64_t since, last_snapshot;
    int64_t layers, heads, tokens; /* of the attention; 0: not known yet */
    double written;                /* time of the last write */
    bool news;                     /* a snapshot or text was added since then */
    bool warned;
};

/* ---- records ---- */

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

/* Escapes a text as described in report_file.h. Invalid UTF-8 becomes U+FFFD. */
static void put_escaped(text_buffer *to, const char *bytes, size_t length)
{
    for (size_t at = 0, size; at < length; at += size) {
        uint32_t code;
        size = utf8_next(bytes + at, length - at, &code);
        if (code == 0) {
            put(to, "\\ufffd");
        } else if (code == '\n' || code == '\t' || code == '\\') {
            put(to, "\\%c", code == '\n' ? 'n' : code == '\t' ? 't' : '\\');
        } else if (code < ' ' || (code >= 0x7f && code < 0xa0) || code == '<') {
            put(to, "\\u%04x", (unsigned)code);
        } else {
            text_append(to, bytes + at, size);
        }
    }
}

/* A field, preceded by a tab. */
static void put_field(text_buffer *to, const char *text)
{
    text_append(to, "\t", 1);
    put_escaped(to, text, strlen(text));
}

static void put_pair(text_buffer *to, const char *kind, const char *name, const char *text)
{
    put(to, "%s", kind);
    put_field(to, name);
    put_field(to, text);
    put(to, "\n");
}

static void put_lines(text_buffer *to, const char *const *lines)
{
    for (; *lines != NULL; lines++) {
        text_append(to, *lines, strlen(*lines));
        text_append(to, "\n", 1);
    }
}

/* ---- settings and the model ---- */

static void put_setting(text_buffer *to, const flag_row *f, const void *options)
{
    const flag_value value = flags_rounded(f, options);
    const char *text = value.text;
    if (f->kind == FLAG_STRING || f->kind == FLAG_BARE) {
        memcpy(&text, (const char *)options + f->offset, sizeof text);
    }
    if (text != NULL) {
        put_pair(to, "setting", flags_name(f).text, text);
    }
}

void report_flag(report *r, const char *name, const char *value)
{
    if (r != NULL) {
        put_pair(&r->settings, "setting", name, value);
    }
}

void report_flags(report *r, const flag_table *table, const void *options)
{
    for (int i = 0; r != NULL && i < table->count; i++) {
        put_setting(&r->settings, &table->flags[i], options);
    }
}

static int index_of(heed_tensor_list list, const heed_tensor *t)
{
    int i = 0;
    while (i < list.count && list.tensors[i] != t) {
        i++;
    }
    return i;
}

static void put_tensor(text_buffer *to, heed_tensor_list parameters, const heed_module_entry *e,
                       int depth)
{
    const heed_tensor *t = e->tensor;
    put(to, "%s\t%d", e->is_buffer ? "buffer" : "parameter", depth);
    put_field(to, e->name);
    put_field(to, heed_shape_text(t->ndim, t->shape).text);
    put(to, "\t%lld", (long long)t->numel);
    if (!e->is_buffer) {
        put(to, "\t%d", index_of(parameters, t));
    }
    put(to, "\n");
}

static void put_module(text_buffer *to, heed_tensor_list parameters, const char *name,
                       const heed_module *m, int depth)
{
    char about[256] = "";
    if (m->kind->describe != NULL) {
        m->kind->describe(m, about, sizeof about);
    }
    put(to, "module\t%d", depth);
    put_field(to, name);
    put_field(to, m->kind->name);
    put_field(to, about);
    put(to, "\n");
    for (int i = 0; i < m->count; i++) {
        const heed_module_entry *e = &m->entries[i];
        if (e->child != NULL) {
            put_module(to, parameters, e->name, e->child, depth + 1);
        } else if (e->tensor != NULL) {
            put_tensor(to, parameters, e, depth + 1);
        }
    }
}

static heed_tensor_list parameters_of(const report *r)
{
    return r->options.model != NULL ? heed_parameters(r->options.model)
                                    : (heed_tensor_list){.count = 0};
}

/* ---- snapshots ---- */

/* Norms of the parameters or of their gradients, "-" if missing. */
static void put_norms(text_buffer *to, heed_tensor_list parameters, bool gradients)
{
    for (int i = 0; i < parameters.count; i++) {
        HEED_SCOPE_NO_GRAD(scope);
        heed_tensor *t = parameters.tensors[i];
        t = gradients ? t->grad : t;
        put(to, "%s", i == 0 ? "\t" : " ");
        if (t != NULL) {
            put(to, "%.4g", heed_item(heed_norm(t, 2)));
        } else {
            put(to, "-");
        }
    }
}

static int64_t weights_of(const report *r)
{
    return r->layers * r->heads * (r->tokens * (r->tokens + 1) / 2);
}

/* Determines the number of tokens to show, and writes their records. */
static void take_shape(report *r, const heed_tensor *weights)
{
    const report_options *o = &r->options;
    r->layers = weights != NULL ? weights->shape[0] : 0;
    r->heads = weights != NULL ? weights->shape[1] : 0;
    r->tokens = weights == NULL                  ? 0
                : o->token_count < REPORT_TOKENS ? o->token_count
                                                 : REPORT_TOKENS;
    while (r->tokens > 2 && weights_of(r) > WEIGHTS) {
        r->tokens--;
    }
    put(&r->shape, "shape\t%d\t%lld\t%lld\t%lld\n", parameters_of(r).count, (long long)r->layers,
        (long long)r->heads, (long long)r->tokens);
    for (int64_t i = 0; i < r->tokens; i++) {
        put(&r->shape, "%s", i == 0 ? "tokens" : "");
        put_field(&r->shape, o->tokens[i]);
        put(&r->shape, "%s", i + 1 == r->tokens ? "\n" : "");
    }
}

/* Writes the digits of all weights. */
static void put_attention(report *r, heed_tensor *weights)
{
    const double *all = heed_const_data_f64(weights);
    const int64_t T = r->options.token_count;
    for (int64_t i = 0; all != NULL && i < r->layers * r->heads * r->tokens; i++) {
        const int64_t query = i % r->tokens;
        const double *row = all + (i / r->tokens * T + query) * T;
        for (int64_t key = 0; key <= query; key++) {
            const int value = row[key] > 0 ? (int)lround(4095 * fmin(row[key], 1)) : 0;
            const char digits[2] = {report_digits[value / 64], report_digits[value % 64]};
            text_append(&r->snapshots, digits, 2);
        }
    }
}

static heed_tensor *attention_of(const report *r)
{
    const report_options *o = &r->options;
    if (o->token_count == 0) {
        return NULL;
    }
    heed_tensor *w = heed_contiguous(heed_to(o->attention(o->context), HEED_F64));
    if (w != NULL &&
        (w->ndim != 4 || w->shape[2] != o->token_count || w->shape[3] != w->shape[2])) {
        heed_fail(HEED_ERR_SHAPE, "report: attention has shape %s instead of (layers, heads, T, T)",
                  heed_shape_text(w->ndim, w->shape).text);
    }
    return heed_error_pending() ? NULL : w;
}

static void take_snapshot(report *r, int64_t step)
{
    const heed_tensor_list parameters = parameters_of(r);
    HEED_SCOPE_NO_GRAD(scope);
    heed_tensor *weights = attention_of(r);
    if (step <= r->last_snapshot || r->options.model == NULL || heed_error_pending()) {
        return;
    }
    const size_t length = r->snapshots.length;
    put(&r->snapshots, "snapshot\t%lld", (long long)step);
    put_norms(&r->snapshots, parameters, false);
    put_norms(&r->snapshots, parameters, true);
    put(&r->snapshots, "\t");
    if (weights != NULL) {
        put_attention(r, weights);
    }
    put(&r->snapshots, "\n");
    if (heed_error_pending()) {
        r->snapshots.length = length;
        return;
    }
    r->last_snapshot = step;
    r->news = true;
}

/* ---- texts ---- */

/* When the list is full, every second text is dropped. */
static kept_text *new_text(report *r)
{
    if (r->text_count == TEXTS) {
        for (int i = 0; i < TEXTS; i++) {
            if (i % 2 == 1) {
                text_free(&r->texts[i].line);
            } else {
                r->texts[i / 2] = r->texts[i];
            }
        }
        r->text_count = TEXTS / 2;
    }
    kept_text *text = &r->texts[r->text_count++];
    *text = (kept_text){.step = 0};
    return text;
}

/* ---- the page ---- */

static void put_numbers(text_buffer *to, const double *x, const double *y, int64_t count,
                        const char *before)
{
    for (int64_t i = 0; i < count; i++, before = " ") {
        put(to, "%s%.12g", before, x[i]);
        if (y != NULL) {
            put(to, " %.6g", y[i]);
        }
    }
}

/* A curve: the points of the run being continued (or NULL), then the new ones. */
static void put_curve(text_buffer *to, const char *name, const heed_curve *old,
                      const heed_curve *new)
{
    const heed_curve none = {.count = 0};
    old = old != NULL ? old : &none;
    new = new != NULL ? new : &none;
    const int64_t each = old->per_point > new->per_point ? old->per_point : new->per_point;
    put(to, "curve");
    put_field(to, name);
    put(to, "\t%lld\t", (long long)(each > 0 ? each : 1));
    put_numbers(to, old->x, old->y, old->count, "");
    put_numbers(to, new->x, new->y, new->count, old->count > 0 ? " " : "");
    put(to, "\t");
    put_numbers(to, old->spikes, NULL, old->spike_count, "");
    put_numbers(to, new->spikes, NULL, new->spike_count, old->spike_count > 0 ? " " : "");
    put(to, "\n");
}

static void put_curves(text_buffer *to, const report *r)
{
    const report_file *before = &r->before;
    const heed_curve *curves = NULL;
    const int count = heed_watch_curves(r->options.watch, &curves);
    for (int i = 0; i < count; i++) {
        const char *name = curves[i].name;
        put_curve(to, name, curve_among(before->curves, before->curve_count, name), &curves[i]);
    }
    for (int64_t i = 0; i < before->curve_count; i++) {
        if (curve_among(curves, count, before->curves[i].name) == NULL) {
            put_curve(to, before->curves[i].name, &before->curves[i], NULL);
        }
    }
}

static void put_data(text_buffer *to, const report *r, report_state state)
{
    const char *const states[] = {"training", "finished", "interrupted", "failed"};
    put(to, "heed run 1\nprogram");
    put_field(to, r->options.program);
    put(to, "\nstate\t%s\t%lld\t%lld\nsince\t%lld\n", states[state],
        (long long)heed_watch_steps(r->options.watch), (long long)r->options.steps,
        (long long)r->since);
    if (r->options.step_name != NULL) {
        put(to, "unit");
        put_field(to, r->options.step_name);
        put(to, "\n");
    }
    text_append(to, r->settings.bytes, r->settings.length);
    text_append(to, r->tree.bytes, r->tree.length);
    put_curves(to, r);
    for (int i = 0; i < r->text_count; i++) {
        text_append(to, r->texts[i].line.bytes, r->texts[i].line.length);
    }
    text_append(to, r->outputs.bytes, r->outputs.length);
    text_append(to, r->shape.bytes, r->shape.length);
    text_append(to, r->snapshots.bytes, r->snapshots.length);
}

static void put_page(text_buffer *to, const report *r, report_state state)
{
    put_lines(to, report_head);
    text_append(to, report_begins, strlen(report_begins));
    put_data(to, r, state);
    text_append(to, report_ends, strlen(report_ends));
    put_lines(to, report_tail);
}

/* ---- writing it ---- */

/* Warns once. An error in the report does not affect training. */
static void warn(report *r, const char *reason)
{
    if (!r->warned) {
        r->warned = true;
        heed_watch_pause(r->options.watch);
        fprintf(stderr, "%s: --report: cannot write %s: %s; training continues\n",
                r->options.program, r->options.path, reason);
    }
}

static void warn_of_error(report *r)
{
    char message[512];
    if (heed_error_pending()) {
        heed_error();
        snprintf(message, sizeof message, "%s", heed_error_message());
        warn(r, message);
    }
}

/* Replaces the file, so that readers see either the old page or the new one. Two runs may write one
 * report, each through a temporary file of its own. */
static bool replace_file(const char *path, const char *bytes, size_t length)
{
    char target[LONGEST_PATH], temporary[LONGEST_PATH + 32];
    if (!path_resolve(path, target)) {
        return false;
    }
    snprintf(temporary, sizeof temporary, "%s.new-%ld", target, (long)getpid());
    unlink(temporary); /* left by a killed run whose process number is used again */
    const int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0) {
        return false;
    }
    size_t done = 0;
    while (done < length) {
        const int64_t written = heed_write(file, bytes + done, length - done);
        if (written > 0) {
            done += (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            break;
        }
    }
    const int error = done < length ? errno : 0;
    if (close(file) != 0 || error != 0 || rename(temporary, target) != 0) {
        const int reason = error != 0 ? error : errno;
        unlink(temporary);
        errno = reason;
        return false;
    }
    return true;
}

static void write_report(report *r, report_state state)
{
    text_buffer page = {.length = 0};
    put_page(&page, r, state);
    if (!heed_error_pending() && !replace_file(r->options.path, page.bytes, page.length)) {
        warn(r, strerror(errno));
    }
    warn_of_error(r);
    text_free(&page);
    r->written = console_clock();
    r->news = false;
}

/* ---- continuing a report ---- */

static int64_t count_words(const char *text, const char *end)
{
    int64_t count = end > text;
    for (; text < end; text++) {
        count += *text == ' ';
    }
    return count;
}

/* True if the fields of a snapshot have this run's sizes. */
static bool snapshot_fits(const report *r, const char *fields)
{
    const char *gradients = strchr(fields, '\t');
    const char *attention = gradients != NULL ? strchr(gradients + 1, '\t') : NULL;
    const int64_t count = parameters_of(r).count;
    return attention != NULL && count_words(fields, gradients) == count &&
           count_words(gradients + 1, attention) == count &&
           strspn(fields, "0123456789.+-einfa \t") >= (size_t)(attention + 1 - fields) &&
           (int64_t)strspn(attention + 1, report_digits) == 2 * weights_of(r) &&
           strlen(attention + 1) == (size_t)(2 * weights_of(r));
}

/* True if the old report has the same shape and tokens. */
static bool same_shape(const report *r)
{
    text_buffer old = {.length = 0};
    put(&old, "shape\t");
    text_append(&old, r->before.shape, strlen(r->before.shape));
    put(&old, "\n");
    if (*r->before.tokens != '\0') {
        put(&old, "tokens\t");
        text_append(&old, r->before.tokens, strlen(r->before.tokens));
        put(&old, "\n");
    }
    const bool same =
        old.length == r->shape.length && memcmp(old.bytes, r->shape.bytes, old.length) == 0;
    text_free(&old);
    return same;
}

/* Takes over the old report's data up to the step where this run begins. */
static void take_over(report *r)
{
    report_file *old = &r->before;
    const int64_t resumed = r->options.resumed;
    const bool same = same_shape(r);
    r->since = old->since < resumed ? old->since : resumed;
    for (int64_t i = 0; i < old->curve_count; i++) {
        heed_curve *c = &old->curves[i];
        while (c->count > 0 && c->x[c->count - 1] > (double)resumed) {
            c->count--;
        }
        while (c->spike_count > 0 && c->spikes[c->spike_count - 1] > (double)resumed) {
            c->spike_count--;
        }
        curve_thin(c, POINTS - HEED_WATCH_POINTS);
    }
    for (int64_t i = 0; i < old->text_count && old->texts[i].step <= resumed; i++) {
        kept_text *text = new_text(r);
        text->step = old->texts[i].step;
        put(&text->line, "text\t%lld\t", (long long)text->step);
        text_append(&text->line, old->texts[i].fields, strlen(old->texts[i].fields));
        put(&text->line, "\n");
    }
    for (int64_t i = 0; same && i < old->snapshot_count; i++) {
        const report_record *s = &old->snapshots[i];
        if (s->step <= resumed && s->step > r->last_snapshot && snapshot_fits(r, s->fields)) {
            put(&r->snapshots, "snapshot\t%lld\t", (long long)s->step);
            text_append(&r->snapshots, s->fields, strlen(s->fields));
            put(&r->snapshots, "\n");
            r->last_snapshot = s->step;
        }
    }
}

static void read_before(report *r)
{
    char message[512];
    if (report_file_read(&r->before, r->options.path) == HEED_OK &&
        strtoll(r->before.shape, NULL, 10) != parameters_of(r).count) {
        heed_fail(HEED_ERR_VALUE, "%s: written for another model", r->options.path);
    }
    if (!heed_error_pending()) {
        take_over(r);
    } else if (heed_error_pending() != HEED_ERR_MEMORY) {
        heed_error();
        snprintf(message, sizeof message, "%s", heed_error_message());
        report_file_free(&r->before);
        fprintf(stderr, "%s: --report: %s; the report begins at step %lld\n", r->options.program,
                message, (long long)r->since);
    }
}

/* ---- the report ---- */

static void free_report(report *r)
{
    for (int i = 0; i < r->text_count; i++) {
        text_free(&r->texts[i].line);
    }
    text_free(&r->settings);
    text_free(&r->tree);
    text_free(&r->outputs);
    text_free(&r->shape);
    text_free(&r->snapshots);
    report_file_free(&r->before);
    heed_free(r);
}

report *report_new(report_options options)
{
    const bool old = access(options.path, F_OK) == 0;
    if (old && !file_begins(options.path, report_signature)) {
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
    r->since = options.resumed;
    r->last_snapshot = -1;
    if (options.model != NULL) {
        put_module(&r->tree, parameters_of(r), "", options.model, 0);
    }
    {
        HEED_SCOPE_NO_GRAD(scope);
        take_shape(r, attention_of(r));
    }
    if (old && options.resumed > 0 && !heed_error_pending()) {
        read_before(r);
    }
    take_snapshot(r, options.resumed);
    if (heed_error_pending()) {
        free_report(r);
        return NULL;
    }
    return r;
}

void report_text(report *r, int64_t step, const char *name, const char *text, size_t length)
{
    if (r == NULL || heed_error_pending()) {
        return;
    }
    kept_text *kept = new_text(r);
    kept->step = step;
    put(&kept->line, "text\t%lld", (long long)kept->step);
    put_field(&kept->line, name);
    put(&kept->line, "\t");
    put_escaped(&kept->line, text,
                length > LONGEST_TEXT ? utf8_complete(text, LONGEST_TEXT) : length);
    put(&kept->line, "\n");
    r->news = true;
    if (heed_error_pending()) {
        text_free(&kept->line);
        r->text_count--;
    }
    warn_of_error(r);
}

static void add_output(report *r, const char *kind, const char *title, const char *text)
{
    if (r != NULL && !heed_error_pending()) {
        const size_t length = r->outputs.length;
        put_pair(&r->outputs, kind, title, text);
        r->outputs.length = heed_error_pending() ? length : r->outputs.length;
        r->news = true;
        warn_of_error(r);
    }
}

void report_output(report *r, const char *title, const char *text)
{
    add_output(r, "output", title, text);
}

void report_step(report *r)
{
    if (r == NULL || heed_error_pending()) {
        return;
    }
    const int64_t step = heed_watch_steps(r->options.watch);
    if ((step & (step - 1)) == 0) {
        take_snapshot(r, step);
        warn_of_error(r);
    }
    if (console_clock() - r->written >= (r->news ? 1 : 5)) {
        write_report(r, REPORT_TRAINING);
    }
}

/* Errors from training stay pending. */
void report_end(report *r, report_state state)
{
    if (r == NULL) {
        return;
    }
    char message[1024];
    const heed_status error = heed_error();
    snprintf(message, sizeof message, "%s", heed_error_message());
    take_snapshot(r, heed_watch_steps(r->options.watch));
    warn_of_error(r);
    write_report(r, state);
    free_report(r);
    if (error != HEED_OK) {
        heed_fail(error, "%s", message);
    }
}
